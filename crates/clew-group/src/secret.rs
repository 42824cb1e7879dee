//! Secrets in memory: boxes that are wiped, and stack frames that are overwritten after use.

use crate::DecodeError;
use crate::curve::{SCALAR_BYTES, Scalar};
use crate::wire::Values;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::array;
use core::hint::black_box;
use core::ops::{Deref, DerefMut};
use rand_core::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

/// A secret on the heap. A move copies its pointer only; a drop wipes it.
pub(crate) struct Secret<T: Zeroize>(Box<T>);

impl<T: Zeroize> Secret<T> {
    /// Takes what `make` returns. Overwrites the stack on which it was made.
    pub(crate) fn new(make: impl FnOnce() -> T) -> Self {
        shielded(|| Self(Box::new(make())))
    }

    /// Does the same for a value that may fail.
    pub(crate) fn try_new<E>(make: impl FnOnce() -> Result<T, E>) -> Result<Self, E> {
        shielded(|| make().map(|value| Self(Box::new(value))))
    }
}

impl Secret<Scalar> {
    /// Draws a scalar that is not zero.
    pub(crate) fn random(rng: &mut impl CryptoRng) -> Self {
        Self::new(|| Scalar::random_secret(rng))
    }

    /// Decodes 32 bytes; zero is [`DecodeError::Scalar`].
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        Self::try_new(|| Values::exactly(SCALAR_BYTES, bytes)?.secret())
    }

    /// Encodes as 32 bytes. Secret.
    pub(crate) fn encode(&self) -> Zeroizing<Vec<u8>> {
        shielded_shallow(|| secret_bytes(&[Zeroizing::new(self.to_bytes()).as_slice()]))
    }
}

/// What turns a challenge c into the responses of a proof: blinding + c * witness.
#[derive(Zeroize)]
pub(crate) struct Prover<const N: usize> {
    pub(crate) blinding: [Scalar; N],
    pub(crate) witness: [Scalar; N],
}

impl<const N: usize> Prover<N> {
    /// The responses, which are public.
    pub(crate) fn responses(&self, c: &Scalar) -> [Scalar; N] {
        array::from_fn(|i| self.blinding[i] + *c * self.witness[i])
    }
}

impl<T: Zeroize + Clone> Clone for Secret<T> {
    fn clone(&self) -> Self {
        Self::new(|| T::clone(self))
    }
}

impl<T: Zeroize> Deref for Secret<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Zeroize> DerefMut for Secret<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Zeroize> Drop for Secret<T> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// Words of the stack that [`shielded`] overwrites: 32 kB. Pairings and products need less.
const DEEP: usize = 4096;

/// Words of the stack that [`shielded_shallow`] overwrites: 4 kB.
const SHALLOW: usize = 512;

/// Runs `f`, then overwrites the stack that it used. What it returns must not hold a secret by
/// value, because moves of that leave copies behind.
pub(crate) fn shielded<T>(f: impl FnOnce() -> T) -> T {
    let out = run(f);
    overwrite::<DEEP>();
    out
}

/// Does the same for an `f` that only hashes and computes with scalars.
pub(crate) fn shielded_shallow<T>(f: impl FnOnce() -> T) -> T {
    let out = run(f);
    overwrite::<SHALLOW>();
    out
}

/// Gives `f` a frame of its own, which begins where that of [`overwrite`] does.
#[inline(never)]
fn run<T>(f: impl FnOnce() -> T) -> T {
    f()
}

#[inline(never)]
fn overwrite<const WORDS: usize>() {
    black_box(&mut [0u64; WORDS]);
}

/// Writes secret parts one behind the other, on the heap, without a second allocation.
pub(crate) fn secret_bytes(parts: &[&[u8]]) -> Zeroizing<Vec<u8>> {
    let length = parts.iter().map(|part| part.len()).sum();
    let mut out = Zeroizing::new(Vec::with_capacity(length));
    parts.iter().for_each(|part| out.extend_from_slice(part));
    out
}
