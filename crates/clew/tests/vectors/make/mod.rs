//! The generator of the vectors. All randomness is from labels, so that a new case changes no other.

mod carriers;
mod damage;
mod effs;
mod flow;
mod group_file;
mod group_signature;
mod groups;
mod key_file;
mod opening;
mod packet;
mod tunnel;
mod warrant;

use clew_group::curve::Scalar;
use clew_group::{bbs04, xr};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
use sha2::{Digest, Sha256};

use crate::case::Case;

/// Every case, in the order of the specifications.
pub fn all() -> Vec<Case> {
    flat([
        group_signature::all(),
        packet::all(),
        carriers::all(),
        group_file::all(),
        opening::all(),
        warrant::all(),
        key_file::all(),
        flow::all(),
        effs::all(),
        tunnel::all(),
    ])
}

/// The rows of several tables.
fn flat<T, const N: usize>(tables: [Vec<T>; N]) -> Vec<T> {
    tables.into_iter().flatten().collect()
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

fn nonces(label: &str) -> bbs04::Nonces {
    bbs04::Nonces::random(&mut rng(label))
}

fn xr_nonces(label: &str) -> xr::Nonces {
    xr::Nonces::random(&mut rng(label))
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

/// The same for xr.
fn with_xr_nonces(case: Case, label: &str) -> Case {
    let n = xr_nonces(label);
    case.hex("alpha", n.alpha.to_bytes())
        .hex("ra", n.ra.to_bytes())
        .hex("rx", n.rx.to_bytes())
        .hex("rd", n.rd.to_bytes())
        .hex("ry", n.ry.to_bytes())
}

/// A public key of either scheme.
trait Key {
    /// Founding key and V.
    fn parts(&self) -> ([u8; 192], [u8; 48]);
}

impl Key for xr::PublicKey {
    fn parts(&self) -> ([u8; 192], [u8; 48]) {
        (self.founding_bytes(), self.v().to_bytes())
    }
}

impl Key for bbs04::PublicKey {
    fn parts(&self) -> ([u8; 192], [u8; 48]) {
        (self.founding_bytes(), self.v().to_bytes())
    }
}

/// A public key of an epoch as lines of a case, of a group with the nonce of all vectors.
fn with_key(case: Case, key: &impl Key) -> Case {
    let (founding, v) = key.parts();
    case.hex("nonce", groups::records::NONCE).hex("founding-key", founding).hex("v", v)
}
