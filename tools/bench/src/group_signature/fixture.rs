//! A group of BBS04 with a member, and packets to sign.

use super::forgery;
use crate::groups::{EPOCH, NONCE, PACKET, rng};
use clew_group::Witness;
use clew_group::bbs04::{
    IncrementalSignature, IssuerKey, MemberKey, Nonces, OpenerKey, PublicKey, Signature,
    SigningKey, VerifyingKey,
};

/// What all cases work on.
pub struct Fixture {
    pub group: PublicKey,
    pub member: MemberKey,
    pub witness: Witness,
    pub opener: OpenerKey,
    pub signer: SigningKey,
    pub verifier: VerifyingKey,
    pub signature: Signature,
    pub incremental: IncrementalSignature,
    /// Signature i passes the hash test, and R(i+1) alone is wrong.
    pub one_wrong: [IncrementalSignature; 5],
    /// Passes the hash test, and every R is wrong.
    pub all_wrong: IncrementalSignature,
}

impl Fixture {
    pub fn new() -> Self {
        let mut rng = rng(1);
        let (opener, opening) = OpenerKey::generate(&NONCE, &mut rng);
        let (issuer, issuing) = IssuerKey::generate(&mut rng);
        let group = PublicKey::genesis(&NONCE, &opening, &issuing);
        let member = issuer.issue_random(&mut rng);
        let witness = issuer.in_epoch(&group, []).witness(member.x());
        let witness = witness.expect("nobody is revoked");
        let signer = SigningKey::new(&group, EPOCH, member.clone(), &witness);
        let signer = signer.expect("the issuer's own key");
        let incremental = signer.precursor_from(&nonces()).sign_incremental(&[PACKET]);
        Self {
            signature: incremental.signature().clone(),
            one_wrong: core::array::from_fn(|i| {
                forgery::one_wrong(i, &incremental, &member, &nonces())
            }),
            all_wrong: forgery::all_wrong(&incremental),
            verifier: VerifyingKey::new(&group, EPOCH),
            incremental,
            group,
            member,
            witness,
            opener,
            signer,
        }
    }
}

/// The nonces of the fixture's signature, which an attacker on the inside would know.
fn nonces() -> Nonces {
    Nonces::random(&mut rng(2))
}
