//! NaCl's boxes (Bernstein, *Cryptography in NaCl*, 2009): XSalsa20-Poly1305 with nonces of 24 bytes,
//! under a key or between two X25519 keys, and for many packets at once.
//!
//! A box is a tag of 16 bytes and the ciphertext behind it, as `crypto_secretbox_easy` and
//! `crypto_box_easy` have it. Packets of one tunnel have the first 16 bytes of their nonces in common:
//! [`Stream`] is the key for those.
//!
//! ```
//! use clew_tunnel::boxes::{Key, Packet, decrypt, seal};
//!
//! let stream = Key::from_bytes([1; 32]).stream(b"minimaLT and TID");
//! let mut datagrams = [*b"room for the tag+one", *b"room for the tag+two"];
//! let mut packets: Vec<_> = (0u64..)
//!     .zip(&mut datagrams)
//!     .filter_map(|(n, datagram)| Packet::new(&stream, n.to_be_bytes(), datagram))
//!     .collect();
//! seal(&mut packets);
//!
//! *packets[0].tag = [0; 16];
//! let mut are_good = [false; 2];
//! decrypt(&mut packets, &mut are_good);
//! assert_eq!((are_good, &*packets[1].text), ([false, true], &b"+two"[..]));
//! ```

mod batch;
#[cfg(test)]
mod tests;

use core::fmt;

use clew_simd::{Backend, poly1305, salsa20};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::x25519::Shared;

/// Bytes of a tag: what a box is longer than its text.
pub const TAG: usize = poly1305::TAG;

/// Bytes of a key.
pub const KEY: usize = 32;

/// Bytes of a nonce.
pub const NONCE: usize = 24;

/// A key for boxes: of `crypto_secretbox`, or of `crypto_box_beforenm`.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Key([u32; 8]);

impl Key {
    /// The key of these bytes.
    pub fn from_bytes(bytes: [u8; KEY]) -> Self {
        Self(salsa20::words(&bytes))
    }

    /// The key of two sides, of what they share: HSalsa20 of it (`crypto_box_beforenm`).
    pub fn between(shared: &Shared) -> Self {
        let mut words = salsa20::words(shared.as_bytes());
        let key = Self(salsa20::hsalsa20(&words, &[0; 16]));
        words.zeroize();
        key
    }

    /// Its bytes, for whoever hashes keys.
    pub fn to_bytes(&self) -> [u8; KEY] {
        let mut bytes = [0; KEY];
        for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(self.0) {
            *bytes = word.to_le_bytes();
        }
        bytes
    }

    /// The key for all nonces that begin with these 16 bytes: HSalsa20 of key and bytes.
    pub fn stream(&self, start: &[u8; 16]) -> Stream {
        Stream(salsa20::hsalsa20(&self.0, start))
    }

    /// Encrypts what stands behind the first 16 bytes of `boxed`, and writes the tag there. False if
    /// there are no 16 bytes.
    ///
    /// A nonce is for one text only.
    #[must_use]
    pub fn seal(&self, nonce: &[u8; NONCE], boxed: &mut [u8]) -> bool {
        self.with_packet(nonce, boxed, |packet| seal(&mut [packet]))
            .is_some()
    }

    /// Decrypts what stands behind the tag in the first 16 bytes of `boxed`. False for a box that was not
    /// encrypted so, which remains as it is.
    #[must_use]
    pub fn decrypt(&self, nonce: &[u8; NONCE], boxed: &mut [u8]) -> bool {
        let mut is_good = [false];
        self.with_packet(nonce, boxed, |packet| decrypt(&mut [packet], &mut is_good));
        is_good[0]
    }

    fn with_packet(
        &self,
        nonce: &[u8; NONCE],
        boxed: &mut [u8],
        work: impl FnOnce(Packet<'_>),
    ) -> Option<()> {
        let (start, end) = nonce.split_first_chunk()?;
        let stream = self.stream(start);
        work(Packet::new(&stream, *end.first_chunk()?, boxed)?);
        Some(())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// A key for all nonces that begin with the same 16 bytes: Salsa20-Poly1305 with the other 8.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Stream([u32; 8]);

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stream(..)")
    }
}

/// A box to be encrypted or decrypted where it stands.
#[derive(Debug)]
pub struct Packet<'a> {
    /// Its key.
    pub stream: &'a Stream,
    /// The last 8 bytes of its nonce, which is for one text only.
    pub nonce: [u8; 8],
    /// Written by [`seal`], compared by [`decrypt`].
    pub tag: &'a mut [u8; TAG],
    /// Text or ciphertext.
    pub text: &'a mut [u8],
}

impl<'a> Packet<'a> {
    /// The box in these bytes, tag first. None if there is no room for a tag.
    pub fn new(stream: &'a Stream, nonce: [u8; 8], boxed: &'a mut [u8]) -> Option<Self> {
        let (tag, text) = boxed.split_first_chunk_mut()?;
        Some(Self {
            stream,
            nonce,
            tag,
            text,
        })
    }
}

/// Encrypts the texts and writes the tags of all packets, by the best [`Backend`].
pub fn seal(packets: &mut [Packet<'_>]) {
    seal_with(Backend::best(), packets);
}

/// Decrypts the packets whose tags are right, and says which ones these are; the others remain as they
/// are. Which ones are right is no secret; nothing else shows in the time this takes.
///
/// # Panics
///
/// If `are_good` is not as long as `packets`.
pub fn decrypt(packets: &mut [Packet<'_>], are_good: &mut [bool]) {
    decrypt_with(Backend::best(), packets, are_good);
}

/// As [`seal`], by a named backend: for tests and measurements.
///
/// # Panics
///
/// If this machine does not have the backend.
pub fn seal_with(backend: Backend, packets: &mut [Packet<'_>]) {
    for group in packets.chunks_mut(batch::GROUP) {
        batch::seal(backend, group);
    }
}

/// As [`decrypt`], by a named backend: for tests and measurements.
///
/// # Panics
///
/// If `are_good` is not as long as `packets`, or this machine does not have the backend.
pub fn decrypt_with(backend: Backend, packets: &mut [Packet<'_>], are_good: &mut [bool]) {
    assert_eq!(packets.len(), are_good.len(), "a place for each packet");
    let groups = packets.chunks_mut(batch::GROUP);
    for (group, are_good) in groups.zip(are_good.chunks_mut(batch::GROUP)) {
        batch::decrypt(backend, group, are_good);
    }
}
