//! The generator of the vectors. All randomness is from labels, so that a new case changes no other.

mod group;
mod group_file;
mod group_signature;
mod key_file;
mod packet_trailer;

use clew_group::bbs04::Nonces;
use clew_group::curve::Scalar;
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
use sha2::{Digest, Sha256};

use crate::case::Case;

/// Every case, in the order of the specifications.
pub fn all() -> Vec<Case> {
    let folders = [
        group_signature::all(),
        packet_trailer::all(),
        group_file::all(),
        key_file::all(),
    ];
    folders.into_iter().flatten().collect()
}

fn hash(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

fn rng(label: &str) -> ChaCha20Rng {
    ChaCha20Rng::from_seed(hash(label.as_bytes()))
}

fn scalar(label: &str) -> Scalar {
    Scalar::random(&mut rng(label))
}

fn nonces(label: &str) -> Nonces {
    Nonces::random(&mut rng(label))
}

/// The nonces as lines of a case.
fn with_nonces(case: Case, label: &str) -> Case {
    let n = nonces(label);
    case.hex("alpha", n.alpha.to_bytes())
        .hex("beta", n.beta.to_bytes())
        .hex("r-alpha", n.r_alpha.to_bytes())
        .hex("r-beta", n.r_beta.to_bytes())
        .hex("r-x", n.r_x.to_bytes())
        .hex("r-delta1", n.r_delta1.to_bytes())
        .hex("r-delta2", n.r_delta2.to_bytes())
}

/// The bytes with one changed: counted from the end if `at` is negative.
fn patched(bytes: &[u8], at: isize, value: u8) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let at = if at < 0 {
        bytes.len() - at.unsigned_abs()
    } else {
        at.unsigned_abs()
    };
    assert_ne!(bytes[at], value, "nothing changes");
    bytes[at] = value;
    bytes
}

/// The bytes with `value` written at `at`.
fn replaced(bytes: &[u8], at: usize, value: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + value.len()].copy_from_slice(value);
    bytes
}
