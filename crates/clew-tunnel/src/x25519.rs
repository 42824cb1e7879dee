//! X25519 (RFC 7748, section 5): many shared secrets and many public keys at once.
//!
//! ```
//! use clew_tunnel::x25519::{Public, Secret, public_keys, shared};
//!
//! let secrets = [[1; 32], [2; 32]].map(Secret::from_bytes);
//! let mut publics = [Public([0; 32]); 2];
//! public_keys(&[&secrets[0], &secrets[1]], &mut publics);
//!
//! let mut out = [None, None];
//! shared(&[(&secrets[0], &publics[1]), (&secrets[1], &publics[0])], &mut out);
//! let [Some(ours), Some(theirs)] = out else { panic!("both keys are good") };
//! assert_eq!(ours.as_bytes(), theirs.as_bytes());
//! ```

#[cfg(test)]
mod tests;

use core::fmt;

use clew_simd::Backend;
use clew_simd::x25519::{self as kernel, BASE, LANES};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Bytes of a secret, of a public key and of what two sides share.
pub const BYTES: usize = kernel::BYTES;

/// A secret key: any 32 bytes, drawn at random. It is clamped when it is used.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Secret([u8; BYTES]);

impl Secret {
    /// The secret of these bytes.
    pub const fn from_bytes(bytes: [u8; BYTES]) -> Self {
        Self(bytes)
    }

    /// Its bytes, for whoever keeps keys.
    pub const fn as_bytes(&self) -> &[u8; BYTES] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// A public key: the u-coordinate of a point, little-endian. All 32 bytes are taken; the topmost bit is
/// ignored and a u of 2^255 - 19 or more stands for its remainder, as RFC 7748 has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Public(pub [u8; BYTES]);

/// What two sides share: to be hashed before it is a key ([`Key::between`](crate::boxes::Key::between)).
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Shared([u8; BYTES]);

impl Shared {
    /// Its bytes.
    pub const fn as_bytes(&self) -> &[u8; BYTES] {
        &self.0
    }

    /// None for zeros: the other side sent a point of small order, and anybody can compute what comes
    /// of it (RFC 7748, section 6.1). The comparison takes the same time whatever the bytes are.
    /// A function of its own, by whose name `clew-ct` knows the one branch that is allowed.
    #[inline(never)]
    fn unless_zero(bytes: &mut [u8; BYTES]) -> Option<Self> {
        let is_zero = bool::from(bytes.ct_eq(&[0; BYTES]));
        let shared = (!is_zero).then(|| Self(*bytes));
        bytes.zeroize();
        shared
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared(..)")
    }
}

/// One side's secret and the other side's public key.
pub type Job<'a> = (&'a Secret, &'a Public);

/// What the two sides of each job share, in the place of the job, by the best [`Backend`]; None where
/// the public key is of small order. Which jobs have none is no secret; nothing else shows in the time
/// this takes.
///
/// # Panics
///
/// If `out` is not as long as `jobs`.
pub fn shared(jobs: &[Job<'_>], out: &mut [Option<Shared>]) {
    assert_eq!(jobs.len(), out.len(), "a place for each job");
    for (jobs, out) in jobs.chunks(LANES).zip(out.chunks_mut(LANES)) {
        let mut pairs = [(&BASE, &BASE); LANES];
        for (pair, (secret, public)) in pairs.iter_mut().zip(jobs) {
            *pair = (&secret.0, &public.0);
        }
        let mut products = [[0; BYTES]; LANES];
        let products = &mut products[..jobs.len()];
        kernel::products(Backend::best(), &pairs[..jobs.len()], products);
        for (out, product) in out.iter_mut().zip(products) {
            *out = Shared::unless_zero(product);
        }
    }
}

/// The public keys of the secrets, each in the place of its secret, by the best [`Backend`].
///
/// # Panics
///
/// If `out` is not as long as `secrets`.
pub fn public_keys(secrets: &[&Secret], out: &mut [Public]) {
    assert_eq!(secrets.len(), out.len(), "a place for each secret");
    for (secrets, out) in secrets.chunks(LANES).zip(out.chunks_mut(LANES)) {
        let mut bytes = [&BASE; LANES];
        for (bytes, secret) in bytes.iter_mut().zip(secrets) {
            *bytes = &secret.0;
        }
        let mut keys = [[0; BYTES]; LANES];
        let n = secrets.len();
        kernel::public_keys(Backend::best(), &bytes[..n], &mut keys[..n]);
        for (out, key) in out.iter_mut().zip(keys) {
            *out = Public(key);
        }
    }
}
