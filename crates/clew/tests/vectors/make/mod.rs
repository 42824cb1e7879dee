//! The generator of the vectors. All randomness is from labels, so that a new case changes no other.

mod bbs04_bad;
mod bbs04_group;
mod bbs04_keys;
mod bbs04_signatures;
mod ceremony;
mod damage;
mod effs;
mod effs_bad;
mod flow_carriage;
mod flow_effs;
mod flow_evidence;
mod flow_manifest;
mod flow_signature;
mod flow_signature_bad;
mod group_file;
mod group_file_bad;
mod key_file;
mod key_file_join;
mod key_file_sealed;
mod key_file_witness;
mod matching;
mod opening;
mod opening_bad;
mod opening_match;
mod opening_register;
mod opening_share;
mod packet_bad;
mod packet_coded;
mod packet_good;
mod packet_modes;
mod packet_trailer;
mod packet_xr;
mod quorum;
mod records;
#[allow(dead_code, reason = "each test program uses its part")]
#[path = "../../../../clew-tunnel/tests/all/engine/rogue.rs"]
#[rustfmt::skip]
mod rogue;
mod strange;
mod tunnel;
mod tunnel_answers;
mod tunnel_node;
mod tunnel_puzzle;
mod tunnel_record;
mod tunnel_rekey;
mod tunnel_run;
mod tunnel_sequence;
mod tunnel_trace;
mod xr_group;
mod xr_join;
mod xr_keys;
mod xr_signatures;
mod xr_steps;
mod xr_verify;

use clew_group::curve::Scalar;
use clew_group::{bbs04, xr};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
use sha2::{Digest, Sha256};

use crate::case::Case;

/// Every case, in the order of the specifications.
pub fn all() -> Vec<Case> {
    flat([
        xr_keys::all(),
        xr_join::all(),
        xr_signatures::all(),
        xr_verify::all(),
        xr_steps::all(),
        bbs04_keys::all(),
        bbs04_signatures::all(),
        bbs04_bad::all(),
        quorum::all(),
        ceremony::all(),
        matching::all(),
        packet_good::all(),
        packet_xr::all(),
        packet_modes::all(),
        packet_coded::all(),
        packet_bad::all(),
        group_file::all(),
        group_file_bad::all(),
        opening_share::all(),
        opening::all(),
        opening_bad::all(),
        opening_match::all(),
        opening_register::all(),
        key_file::all(),
        key_file_join::all(),
        key_file_witness::all(),
        key_file_sealed::all(),
        flow_carriage::all(),
        effs::all(),
        effs_bad::all(),
        flow_signature::all(),
        flow_signature_bad::all(),
        flow_effs::all(),
        flow_evidence::all(),
        flow_manifest::all(),
        tunnel::all(),
        tunnel_record::all(),
        tunnel_trace::all(),
        tunnel_rekey::all(),
        tunnel_puzzle::all(),
        tunnel_sequence::all(),
        tunnel_answers::all(),
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
    case.hex("nonce", records::NONCE).hex("founding-key", founding).hex("v", v)
}
