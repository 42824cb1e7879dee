//! BBS04.

use super::super::valgrind;
use super::{Draws, EPOCH, Operation, followed, nothing, random};
use clew_group::bbs04::{
    IssuerKey, MEMBER_KEY_BYTES, MemberKey, Nonces, OpenerKey, PublicKey, Signature, SigningKey,
};
use clew_group::curve::{G1, Scalar};
use clew_group::{WITNESS_BYTES, Witness};

const NONCE: [u8; 32] = [7; 32];

pub struct Fixture {
    group: PublicKey,
    issuer: IssuerKey,
    signature: Signature,
    /// Its key is followed.
    signer: SigningKey,
}

/// A member key and its witness, encoded.
type Member = ([u8; MEMBER_KEY_BYTES], [u8; WITNESS_BYTES]);

impl Fixture {
    pub fn new() -> Self {
        let mut rng = random(1);
        let (_, opening) = OpenerKey::generate(&NONCE, &mut rng);
        let (issuer, issuing) = IssuerKey::generate(&mut rng);
        let group = PublicKey::genesis(&NONCE, &opening, &issuing);
        // What others see is of a member whose secrets are not followed.
        let other = signing_key(&group, issue(&issuer, &group, &mut rng));
        let mut member = issue(&issuer, &group, &mut rng);
        valgrind::mark_secret(&mut member);
        Self {
            signature: other.precursor(&mut rng).sign(&[b"opened"]),
            signer: signing_key(&group, member),
            group,
            issuer,
        }
    }
}

fn issue(issuer: &IssuerKey, group: &PublicKey, rng: &mut impl rand_core::CryptoRng) -> Member {
    let key = issuer.issue_random(rng);
    let witness = issuer.in_epoch(group, []).witness(key.x());
    let mut bytes = [0; MEMBER_KEY_BYTES];
    bytes.copy_from_slice(&key.to_bytes());
    (bytes, witness.expect("nobody is revoked").to_bytes())
}

fn member_key(bytes: &[u8]) -> MemberKey {
    MemberKey::from_bytes(bytes).expect("its own bytes")
}

fn signing_key(group: &PublicKey, (key, witness): Member) -> SigningKey {
    let witness = Witness::from_bytes(&witness).expect("its own bytes");
    let signer = SigningKey::new(group, EPOCH, member_key(&key), &witness);
    signer.expect("the issuer's own key")
}
