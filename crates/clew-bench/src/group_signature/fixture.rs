//! A group of BBS04 with a member, one revocation, and packets to sign.

use super::forgery;
use crate::groups::{EPOCH, PACKET, rng};
use clew_group::bbs04::{
    IncrementalSignature, IssuerKey, MemberKey, Nonces, OpenerKey, PublicKey, Revocation,
    Signature, SigningKey, VerifyingKey,
};
use clew_group::curve::Scalar;

/// What all cases work on.
pub struct Fixture {
    pub group: PublicKey,
    pub member: MemberKey,
    pub opener: OpenerKey,
    pub signer: SigningKey,
    pub verifier: VerifyingKey,
    pub revocation: Revocation,
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
        let (opener, opening) = OpenerKey::generate(&[7; 32], &mut rng);
        let (issuer, issuing) = IssuerKey::generate(&mut rng);
        let group = PublicKey::genesis(&opening, &issuing);
        let member = issuer.issue_random(&group, &mut rng);
        let signer = SigningKey::new(&group, EPOCH, member.clone()).expect("the issuer's own key");
        let incremental = signer.precursor_from(nonces()).sign_incremental(&[PACKET]);
        let revocation = issuer.revoke(&group, Scalar::random(&mut rng));
        Self {
            signature: incremental.signature().clone(),
            one_wrong: core::array::from_fn(|i| {
                forgery::one_wrong(i, &incremental, &member, &nonces())
            }),
            all_wrong: forgery::all_wrong(&incremental),
            verifier: VerifyingKey::new(&group, EPOCH),
            revocation: revocation.expect("a random x is not -gamma"),
            incremental,
            group,
            member,
            opener,
            signer,
        }
    }
}

/// The nonces of the fixture's signature, which an attacker on the inside would know.
fn nonces() -> Nonces {
    Nonces::random(&mut rng(2))
}
