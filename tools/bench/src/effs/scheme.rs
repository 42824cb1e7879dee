//! What all schemes have: signing and verifying the digest of a message.

use md5::Md5;
use sha2::Sha256;
use std::cell::RefCell;
use std::rc::Rc;

/// A signature scheme with a pair of keys.
pub trait Scheme {
    /// Signs a digest: from bytes to bytes.
    fn sign(&mut self, digest: &[u8]) -> Vec<u8>;

    /// Whether a signature of a digest is good.
    fn verify(&self, digest: &[u8], signature: &[u8]) -> bool;

    /// Bytes of the signing key, the verification key and a signature, counted as the paper does.
    fn sizes(&self) -> [usize; 3];
}

/// A scheme that several rows measure.
pub type Shared = Rc<RefCell<dyn Scheme>>;

/// The paper's message digest, and today's where the modulus is today's.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Hash {
    Md5,
    Sha256,
}

impl Hash {
    /// What goes with a modulus of so many bits.
    pub fn of(bits: usize) -> Self {
        match bits {
            0..=1024 => Self::Md5,
            _ => Self::Sha256,
        }
    }

    /// The digest of the parts in turn.
    pub fn digest<'a>(self, parts: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
        fn all<'a, D: md5::Digest>(parts: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
            let add = |hash: D, part: &[u8]| hash.chain_update(part);
            parts.into_iter().fold(D::new(), add).finalize().to_vec()
        }
        match self {
            Self::Md5 => all::<Md5>(parts),
            Self::Sha256 => all::<Sha256>(parts),
        }
    }
}

/// Tests of any scheme.
#[cfg(test)]
pub mod tests {
    use super::*;

    /// That it signs and verifies, and takes nothing that was changed.
    pub fn holds(scheme: &mut dyn Scheme, hash: Hash) {
        let [digest, other] = [&b"one"[..], b"another"].map(|m| hash.digest([m]));
        for _ in 0..4 {
            let signature = scheme.sign(&digest);
            assert_eq!(signature.len(), scheme.sizes()[2]);
            assert!(scheme.verify(&digest, &signature));
            assert!(!scheme.verify(&other, &signature), "another message");
            let short = &signature[1..];
            assert!(!scheme.verify(&digest, short), "a part of it");
            let zero = vec![0; signature.len()];
            assert!(!scheme.verify(&digest, &zero), "zeros");
            for place in (0..signature.len()).step_by(7) {
                let mut changed = signature.clone();
                changed[place] ^= 4;
                assert!(!scheme.verify(&digest, &changed), "byte {place} changed");
            }
        }
    }
}
