//! Hashes of many messages at once, one in each lane of a vector: BLAKE3 with a key and SHA-256, as
//! anybody computes them, and faster than one after the other (`docs/decisions/0007-hash-lanes.md`).

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod blake3;
#[cfg(target_arch = "x86_64")]
mod kernel;
#[cfg(target_arch = "x86_64")]
mod lane;
mod portable;
#[cfg(target_arch = "x86_64")]
mod sha256;
#[cfg(test)]
mod tests;

use crate::Backend;
#[cfg(target_arch = "x86_64")]
use crate::backend::has_sha;

/// A digest of BLAKE3 or SHA-256.
pub type Digest = [u8; 32];

/// How many blocks of BLAKE3 take as long one by one as one in each lane does, beside one for the call
/// (measured, as those of SHA-256: `hash-lanes` in the README of `clew-bench`).
const BLAKE3_WORTH: usize = 3;

/// So many inputs go to the lanes whatever their lengths are.
const BLAKE3_ALWAYS: usize = 16;

/// What is hashed: the concatenation of three parts. The body is read where it stands, and its blocks
/// need not lie as the message's do; the others are best shorter than a block.
#[derive(Clone, Copy, Debug, Default)]
pub struct Input<'a> {
    /// Before the packet.
    pub head: &'a [u8],
    /// The packet.
    pub body: &'a [u8],
    /// Behind the packet.
    pub tail: &'a [u8],
}

impl<'a> Input<'a> {
    /// Returns the three parts of the input, in order.
    pub fn parts(&self) -> [&'a [u8]; 3] {
        [self.head, self.body, self.tail]
    }

    fn len(&self) -> usize {
        self.parts().iter().map(|part| part.len()).sum()
    }
}

/// Writes the keyed BLAKE3 digest of each input to its place in `out`, in the fastest way of this
/// machine.
///
/// # Panics
///
/// If there are not as many digests as inputs.
pub fn blake3_keyed(key: &[u8; 32], inputs: &[Input<'_>], out: &mut [Digest]) {
    for_blake3(inputs).blake3_keyed(key, inputs, out);
}

/// Writes the keyed BLAKE3 digests of blocks to `out`, as [`blake3_keyed`] does. The first `len`
/// bytes of a block count, at most 64; zeros follow.
///
/// # Panics
///
/// If there are not as many digests as inputs, or they are longer.
pub fn blake3_blocks(key: &[u8; 32], blocks: &[[u8; 64]], len: usize, out: &mut [Digest]) {
    let backend = match blocks.len() >= BLAKE3_WORTH {
        true => Backend::best(),
        false => Backend::Portable,
    };
    backend.blake3_blocks(key, blocks, len, out);
}

/// Writes the SHA-256 digest of each input to its place in `out`, in the fastest way of this
/// machine.
///
/// # Panics
///
/// If there are not as many digests as inputs.
pub fn sha256(inputs: &[Input<'_>], out: &mut [Digest]) {
    let backend = Backend::best();
    match backend.sha256_worth() {
        worth if inputs.len() <= worth => Backend::Portable.sha256(inputs, out),
        worth => backend.sha256_where_worth(worth, inputs, out),
    }
}

/// Returns the backends of this machine that hash in different ways.
pub fn backends() -> impl Iterator<Item = Backend> {
    Backend::all().filter(|backend| *backend != Backend::Avx512Ifma)
}

/// The best backend, or the portable one for so few inputs that they take less alone.
fn for_blake3(inputs: &[Input<'_>]) -> Backend {
    let blocks = inputs.iter().map(|input| input.len().div_ceil(64).max(1));
    let longest_chunk = || blocks.clone().max().unwrap_or(0).min(16);
    let are_many = inputs.len() >= BLAKE3_ALWAYS;
    match are_many || blocks.clone().sum::<usize>() > BLAKE3_WORTH * longest_chunk() + 1 {
        true => Backend::best(),
        false => Backend::Portable,
    }
}

impl Backend {
    /// How many blocks of SHA-256 take as long one by one as one in each lane does.
    fn sha256_worth(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Ifma | Self::Avx512 if has_sha() => 7,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 if has_sha() => 8,
            _ => 2,
        }
    }

    /// Computes [`blake3_keyed`] with this backend, even if another is faster: for tests and
    /// measurements.
    ///
    /// # Panics
    ///
    /// If there are not as many digests as inputs.
    pub fn blake3_keyed(self, key: &[u8; 32], inputs: &[Input<'_>], out: &mut [Digest]) {
        assert_eq!(inputs.len(), out.len(), "a digest for each input");
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Ifma | Self::Avx512 => blake3::in_lanes(avx512::blake3, key, inputs, out),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => blake3::in_lanes(avx2::blake3, key, inputs, out),
            _ => portable::blake3_keyed(key, inputs, out),
        }
    }

    /// Computes [`blake3_blocks`] with this backend, even if another is faster: for tests and
    /// measurements.
    ///
    /// # Panics
    ///
    /// If there are not as many digests as inputs, or they are longer than 64 bytes.
    pub fn blake3_blocks(
        self,
        key: &[u8; 32],
        blocks: &[[u8; 64]],
        len: usize,
        out: &mut [Digest],
    ) {
        assert_eq!(blocks.len(), out.len(), "a digest for each input");
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Ifma | Self::Avx512 => {
                blake3::blocks_in_lanes(avx512::blake3, key, blocks, len, out)
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => blake3::blocks_in_lanes(avx2::blake3, key, blocks, len, out),
            _ => portable::blake3_blocks(key, blocks, len, out),
        }
    }

    /// Computes [`sha256`] with this backend, even if another is faster: for tests and
    /// measurements.
    ///
    /// # Panics
    ///
    /// If there are not as many digests as inputs.
    pub fn sha256(self, inputs: &[Input<'_>], out: &mut [Digest]) {
        self.sha256_where_worth(0, inputs, out);
    }

    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(unused_variables, reason = "without lanes there is no choice")
    )]
    fn sha256_where_worth(self, worth: usize, inputs: &[Input<'_>], out: &mut [Digest]) {
        assert_eq!(inputs.len(), out.len(), "a digest for each input");
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Ifma | Self::Avx512 => sha256::in_lanes(avx512::sha256, worth, inputs, out),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => sha256::in_lanes(avx2::sha256, worth, inputs, out),
            _ => portable::sha256(inputs, out),
        }
    }
}
