//! What is hashed: `spec/effs.md` section 4.

use alloc::vec::Vec;
use sha2::{Digest as _, Sha256};

use super::parameters::{Form, Size};
use super::public::PublicKey;
use clew_simd::mont::words;

const DOMAIN: &[u8; 12] = b"clew/effs/v1";
const COMMITMENT_DOMAIN: &[u8; 16] = b"clew/effs/v1/com";

/// Appends X_i of x_i, i from 0.
pub fn write_part(key: &PublicKey, i: usize, x: &[u64], out: &mut Vec<u8>) {
    let size = key.parameters().size().bytes();
    let mut whole = [0; Size::N3072.bytes()];
    let whole = &mut whole[..size];
    words::write(whole, x);
    match key.parameters().form() {
        Form::Paper => out.extend_from_slice(whole),
        Form::Compact => {
            let hash = Sha256::new_with_prefix(COMMITMENT_DOMAIN)
                .chain_update(key.id())
                .chain_update([i as u8 + 1])
                .chain_update(whole);
            out.extend(hash.finalize());
        }
    }
}

/// Returns the challenge of a message and all X_i, one after the other; its first k t bits count.
pub fn challenge(key: &PublicKey, message: &[u8], parts: [&[u8]; 2]) -> [u8; 32] {
    let [.., columns, rows] = key.parameters().header();
    let mut head = [0; DOMAIN.len() + 2 + 32 + 8];
    let fields: [&[u8]; 4] = [
        DOMAIN,
        &[columns, rows],
        key.id(),
        &(message.len() as u64).to_be_bytes(),
    ];
    let mut at = 0;
    for field in fields {
        head[at..][..field.len()].copy_from_slice(field);
        at += field.len();
    }
    let hash = Sha256::new_with_prefix(head).chain_update(message);
    let [first, others] = parts;
    hash.chain_update(first)
        .chain_update(others)
        .finalize()
        .into()
}
