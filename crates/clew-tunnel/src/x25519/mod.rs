//! X25519 (RFC 7748, section 5): many shared secrets and many public keys at once. Where the processor
//! multiplies 52 bits (AVX-512 IFMA), eight to a vector, and few of them one by one with four
//! multiplications to a vector; elsewhere one by one by `curve25519-dalek`.
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

#[cfg(target_arch = "x86_64")]
mod ifma;
#[cfg(target_arch = "x86_64")]
mod lanes;
#[cfg(target_arch = "x86_64")]
mod number;
mod portable;
#[cfg(test)]
mod tests;

use core::fmt;

use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Bytes of a secret, of a public key and of what two sides share.
pub const BYTES: usize = 32;

/// Jobs that are looked at together: as many as a vector has lanes.
const LANES: usize = 8;

/// From so many jobs on eight lanes take less than one by one (measured on Sapphire Rapids;
/// `tunnel-crypto` in the README of `clew-bench`).
const SHARED_WORTH: usize = 3;

/// The same for public keys, for which the crate has tables: they are made by it one by one.
const PUBLIC_WORTH: usize = 4;

/// The u of the base point, as a public key (RFC 7748, section 4.1).
#[cfg(any(target_arch = "x86_64", test))]
const BASE: Public = {
    let mut bytes = [0; BYTES];
    bytes[0] = 9;
    Public(bytes)
};

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

/// What the two sides of each job share, in the place of the job, in the way that is the fastest here;
/// None where the public key is of small order. Which jobs have none is no secret; nothing else shows
/// in the time this takes.
///
/// # Panics
///
/// If `out` is not as long as `jobs`.
pub fn shared(jobs: &[Job<'_>], out: &mut [Option<Shared>]) {
    assert_eq!(jobs.len(), out.len(), "a place for each job");
    for (jobs, out) in jobs.chunks(LANES).zip(out.chunks_mut(LANES)) {
        Path::of_shared(jobs.len()).shared(jobs, out);
    }
}

/// The public keys of the secrets, each in the place of its secret, in the way that is the fastest here.
///
/// # Panics
///
/// If `out` is not as long as `secrets`.
pub fn public_keys(secrets: &[&Secret], out: &mut [Public]) {
    assert_eq!(secrets.len(), out.len(), "a place for each secret");
    for (secrets, out) in secrets.chunks(LANES).zip(out.chunks_mut(LANES)) {
        Path::of_public_keys(secrets.len()).public_keys(secrets, out);
    }
}

/// How a machine multiplies points. All ways give the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    #[cfg(target_arch = "x86_64")]
    Ifma,
    #[cfg(target_arch = "x86_64")]
    IfmaOne,
    Portable,
}

impl Path {
    /// The ways that this machine has. The last one is everywhere.
    pub fn all() -> impl Iterator<Item = Self> {
        let kinds = [
            #[cfg(target_arch = "x86_64")]
            (Kind::Ifma, ifma::available()),
            #[cfg(target_arch = "x86_64")]
            (Kind::IfmaOne, ifma::available()),
            (Kind::Portable, true),
        ];
        let here = kinds.into_iter().filter(|(_, available)| *available);
        here.map(|(kind, _)| Self(kind))
    }

    /// The fastest for so many jobs.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(unused_variables, reason = "without lanes there is no choice")
    )]
    fn of_shared(jobs: usize) -> Self {
        #[cfg(target_arch = "x86_64")]
        if ifma::available() {
            return Self(if jobs < SHARED_WORTH {
                Kind::IfmaOne
            } else {
                Kind::Ifma
            });
        }
        Self(Kind::Portable)
    }

    /// The fastest for so many secrets.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(unused_variables, reason = "without lanes there is no choice")
    )]
    fn of_public_keys(secrets: usize) -> Self {
        #[cfg(target_arch = "x86_64")]
        if ifma::available() && secrets >= PUBLIC_WORTH {
            return Self(Kind::Ifma);
        }
        Self(Kind::Portable)
    }

    /// Its name: `ifma` (eight to a vector), `ifma-one` or `portable`.
    pub const fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Kind::Ifma => "ifma",
            #[cfg(target_arch = "x86_64")]
            Kind::IfmaOne => "ifma-one",
            Kind::Portable => "portable",
        }
    }

    /// [`shared`] in this way, whatever is faster: for tests and measurements.
    ///
    /// # Panics
    ///
    /// If `out` is not as long as `jobs`.
    pub fn shared(self, jobs: &[Job<'_>], out: &mut [Option<Shared>]) {
        assert_eq!(jobs.len(), out.len(), "a place for each job");
        let each: fn(&Job<'_>) -> Option<Shared> = match self.0 {
            #[cfg(target_arch = "x86_64")]
            Kind::Ifma => return lanes::shared(jobs, out),
            #[cfg(target_arch = "x86_64")]
            Kind::IfmaOne => |(secret, public)| {
                Shared::unless_zero(&mut ifma::one::product(&secret.0, &public.0))
            },
            Kind::Portable => portable::shared,
        };
        for (job, out) in jobs.iter().zip(out) {
            *out = each(job);
        }
    }

    /// [`public_keys`] in this way, whatever is faster: for tests and measurements.
    ///
    /// # Panics
    ///
    /// If `out` is not as long as `secrets`.
    pub fn public_keys(self, secrets: &[&Secret], out: &mut [Public]) {
        assert_eq!(secrets.len(), out.len(), "a place for each secret");
        let each: fn(&Secret) -> Public = match self.0 {
            #[cfg(target_arch = "x86_64")]
            Kind::Ifma => return lanes::public_keys(secrets, out),
            #[cfg(target_arch = "x86_64")]
            Kind::IfmaOne => |secret| Public(ifma::one::product(&secret.0, &BASE.0)),
            Kind::Portable => portable::public_key,
        };
        for (secret, out) in secrets.iter().zip(out) {
            *out = each(secret);
        }
    }
}
