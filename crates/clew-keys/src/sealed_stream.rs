//! Files of any length, encrypted with the same secrets as key files (`spec/key-file.md` section 5.1).
//!
//! STREAM (Hoang, Reyhanitabar, Rogaway, Vizár, CRYPTO 2015) over XChaCha20-Poly1305: chunks of 64 KiB,
//! each with its place, and the last one marked. What was cut off, moved or exchanged does not decrypt.

use crate::encryption::{self, HEAD_BYTES, NONCE_AT, Secret};
use aead_stream::{DecryptorBE32, EncryptorBE32, Nonce, StreamBE32};
use chacha20poly1305::XChaCha20Poly1305;
use chacha20poly1305::aead::Payload;
use rand_core::CryptoRng;
use std::io::{self, Read, Write};
use std::mem;
use zeroize::Zeroizing;

/// How such a file begins.
pub const SEALED_HEADER: &[u8] = b"clew-sealed-stream-1\n";

/// Plaintext of each chunk but the last.
const CHUNK: usize = 1 << 16;
/// What the authentication adds.
const TAG: usize = 16;
/// Random bytes of the nonce; the rest counts chunks.
const PREFIX: usize = 19;

type Prefix = Nonce<XChaCha20Poly1305, StreamBE32<XChaCha20Poly1305>>;

/// Encrypts what is written to it. Without [`SealedWriter::finish`] the file does not decrypt.
pub struct SealedWriter<W> {
    to: W,
    head: [u8; HEAD_BYTES],
    stream: EncryptorBE32<XChaCha20Poly1305>,
    waiting: Zeroizing<Vec<u8>>,
}

impl<W: Write> SealedWriter<W> {
    /// Begins the file. With a passphrase this takes 64 MiB of memory.
    ///
    /// # Errors
    /// The writer's.
    pub fn new(mut to: W, secret: &Secret, rng: &mut impl CryptoRng) -> io::Result<Self> {
        let head = encryption::new_head(secret, rng);
        let cipher = encryption::cipher(&head, secret).map_err(io::Error::other)?;
        to.write_all(SEALED_HEADER)?;
        to.write_all(&head)?;
        Ok(Self {
            to,
            head,
            stream: EncryptorBE32::from_aead(cipher, &prefix(&head)),
            waiting: Zeroizing::new(Vec::with_capacity(CHUNK)),
        })
    }

    /// Ends the file, and returns the writer.
    ///
    /// # Errors
    /// The writer's.
    pub fn finish(self) -> io::Result<W> {
        let Self {
            mut to,
            head,
            stream,
            waiting,
        } = self;
        let last = stream.encrypt_last(payload(&waiting, &head));
        to.write_all(&last.map_err(io::Error::other)?)?;
        Ok(to)
    }
}

impl<W: Write> Write for SealedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.waiting.len() == CHUNK && !bytes.is_empty() {
            let chunk = payload(&self.waiting, &self.head);
            let sealed = self.stream.encrypt_next(chunk).map_err(io::Error::other)?;
            self.waiting.clear();
            self.to.write_all(&sealed)?;
        }
        let taken = bytes.len().min(CHUNK - self.waiting.len());
        self.waiting.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    /// Chunks are written when they are full.
    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Decrypts what is read from a file behind its [`SEALED_HEADER`].
pub struct SealedReader<R> {
    from: R,
    head: [u8; HEAD_BYTES],
    /// `None` once the last chunk was read.
    stream: Option<DecryptorBE32<XChaCha20Poly1305>>,
    /// The chunk to come.
    ahead: Vec<u8>,
    plain: Zeroizing<Vec<u8>>,
    /// How much of it was read.
    at: usize,
}

impl<R: Read> SealedReader<R> {
    /// Reads the head. With a passphrase this takes as much memory as the file says, 1 GiB at most.
    ///
    /// # Errors
    /// The reader's; [`io::ErrorKind::InvalidData`] if the secret is of the other kind, or the head is
    /// damaged.
    pub fn new(mut from: R, secret: &Secret) -> io::Result<Self> {
        let mut head = [0; HEAD_BYTES];
        from.read_exact(&mut head)?;
        let cipher = encryption::cipher(&head, secret);
        let cipher = cipher.map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))?;
        let stream = DecryptorBE32::from_aead(cipher, &prefix(&head));
        let ahead = chunk(&mut from)?;
        Ok(Self {
            from,
            head,
            stream: Some(stream),
            ahead,
            plain: Zeroizing::new(Vec::new()),
            at: 0,
        })
    }

    fn next(&mut self) -> io::Result<()> {
        let Some(mut stream) = self.stream.take() else {
            return Ok(());
        };
        let current = mem::take(&mut self.ahead);
        // A full chunk may be the last one: then nothing follows.
        if current.len() == CHUNK + TAG {
            self.ahead = chunk(&mut self.from)?;
        }
        let chunk = payload(&current, &self.head);
        let plain = match self.ahead.is_empty() {
            true => stream.decrypt_last(chunk),
            false => {
                let plain = stream.decrypt_next(chunk);
                self.stream = Some(stream);
                plain
            }
        };
        let wrong = "wrong passphrase or unlock file, or a damaged or shortened file";
        let plain = plain.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, wrong))?;
        (self.plain, self.at) = (Zeroizing::new(plain), 0);
        Ok(())
    }
}

impl<R: Read> Read for SealedReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.plain.len() && self.stream.is_some() {
            self.next()?;
        }
        let rest = &self.plain[self.at..];
        let taken = rest.len().min(into.len());
        into[..taken].copy_from_slice(&rest[..taken]);
        self.at += taken;
        Ok(taken)
    }
}

/// The next chunk as it stands in the file; shorter than others at its end.
fn chunk(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(CHUNK + TAG);
    from.take((CHUNK + TAG) as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn prefix(head: &[u8; HEAD_BYTES]) -> Prefix {
    let mut prefix = Prefix::default();
    prefix.copy_from_slice(&head[NONCE_AT..NONCE_AT + PREFIX]);
    prefix
}

fn payload<'m>(msg: &'m [u8], head: &'m [u8; HEAD_BYTES]) -> Payload<'m, 'm> {
    Payload { msg, aad: head }
}

/// What a file needs whose first byte behind [`SEALED_HEADER`] is this one. Returns `None` if it is
/// damaged.
pub fn stream_needs(first: u8) -> Option<encryption::Needs> {
    encryption::kind_of(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;

    fn sealed(plain: &[u8]) -> Vec<u8> {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let mut writer = SealedWriter::new(Vec::new(), &secret(7), &mut rng).unwrap();
        writer.write_all(plain).unwrap();
        writer.finish().unwrap()
    }

    fn secret(byte: u8) -> Secret {
        Secret::KeyFile(Zeroizing::new(vec![byte; 32]))
    }

    fn opened(sealed: &[u8], with: u8) -> io::Result<Vec<u8>> {
        let mut plain = Vec::new();
        let behind = sealed.strip_prefix(SEALED_HEADER).unwrap();
        SealedReader::new(behind, &secret(with))?.read_to_end(&mut plain)?;
        Ok(plain)
    }

    #[test]
    fn what_was_written_is_read_and_nothing_else() {
        for length in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 5] {
            let plain: Vec<u8> = (0..length).map(|i| (i / 7) as u8).collect();
            let file = sealed(&plain);
            assert_eq!(opened(&file, 7).unwrap(), plain, "{length}");
            assert!(opened(&file, 8).is_err());
            for cut in [1, TAG, CHUNK + TAG, 2 * (CHUNK + TAG)] {
                if let Some(rest) = file.len().checked_sub(cut)
                    && rest >= SEALED_HEADER.len()
                {
                    assert!(opened(&file[..rest], 7).is_err(), "{length} less {cut}");
                }
            }
            assert!(opened(&[&file[..], &[0]].concat(), 7).is_err());
            for at in [
                SEALED_HEADER.len(),
                SEALED_HEADER.len() + 50,
                file.len() - 1,
            ] {
                let mut damaged = file.clone();
                damaged[at] ^= 1;
                assert!(opened(&damaged, 7).is_err(), "{length} at {at}");
            }
        }
    }

    #[test]
    fn chunks_do_not_change_places() {
        let file = sealed(&vec![5; 3 * CHUNK]);
        let first = SEALED_HEADER.len() + HEAD_BYTES;
        let mut moved = file.clone();
        let (one, two) = moved[first..].split_at_mut(CHUNK + TAG);
        one.swap_with_slice(&mut two[..CHUNK + TAG]);
        assert!(opened(&file, 7).is_ok() && opened(&moved, 7).is_err());
    }
}
