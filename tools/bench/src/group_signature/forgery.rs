//! Bad incremental signatures of BBS04 that pass the hash test, so that the equations must find them.

use crate::groups::{EPOCH, PACKET};
use clew_group::bbs04::{
    INCREMENTAL_BYTES, IncrementalSignature, MemberKey, Nonces, SIGNATURE_BYTES,
};
use clew_group::curve::Scalar;
use sha2::{Digest, Sha256};

type Bytes = [u8; INCREMENTAL_BYTES];

const T_BYTES: usize = 144;
const SCALAR_BYTES: usize = 32;

/// The last byte of R1..R5 in an incremental signature.
const ENDS: [usize; 5] = [383, 431, 1007, 1055, 1103];

/// What anybody can send: one R changed and c made to fit. Since c changed, no equation holds.
pub fn all_wrong(good: &IncrementalSignature) -> IncrementalSignature {
    decode(&other_r1(good.to_bytes(), PACKET))
}

/// The same of an encoded signature over `message`.
pub fn other_r1(mut bytes: Bytes, message: &[u8]) -> Bytes {
    bytes[ENDS[0]] ^= 1;
    refit_challenge(&mut bytes, message);
    bytes
}

/// What only the signer itself can send: one R changed, c and all responses made to fit, so that
/// the other four equations hold.
pub fn one_wrong(
    which: usize,
    good: &IncrementalSignature,
    member: &MemberKey,
    nonces: &Nonces,
) -> IncrementalSignature {
    let mut bytes = good.to_bytes();
    bytes[ENDS[which]] ^= 1;
    let c = refit_challenge(&mut bytes, PACKET);
    let x = Scalar::from_bytes(&member.to_bytes()[48..]).expect("a member key");
    let responses = [
        nonces.r_alpha + c * nonces.alpha,
        nonces.r_beta + c * nonces.beta,
        nonces.r_x + c * x,
        nonces.r_delta1 + c * x * nonces.alpha,
        nonces.r_delta2 + c * x * nonces.beta,
    ];
    let places = bytes[T_BYTES + SCALAR_BYTES..].chunks_exact_mut(SCALAR_BYTES);
    for (place, response) in places.zip(responses) {
        place.copy_from_slice(&response.to_bytes());
    }
    decode(&bytes)
}

/// Writes the c that the R's in `bytes` hash to.
fn refit_challenge(bytes: &mut Bytes, message: &[u8]) -> Scalar {
    let mut hash = Sha256::new_with_prefix(b"clew-bbs04-sig-1");
    hash.update(EPOCH);
    hash.update(&bytes[..T_BYTES]);
    hash.update(&bytes[SIGNATURE_BYTES..]);
    hash.update(message);
    let mut digest: [u8; SCALAR_BYTES] = hash.finalize().into();
    digest[0] &= 0x3f;
    bytes[T_BYTES..][..SCALAR_BYTES].copy_from_slice(&digest);
    Scalar::from_bytes(&digest).expect("254 bits are below the group order")
}

fn decode(bytes: &Bytes) -> IncrementalSignature {
    IncrementalSignature::from_bytes(bytes).expect("only scalars and R's changed")
}
