//! Encryption of key files, on request, by a passphrase or by an unlock file.
//!
//! Passphrase: Argon2id (RFC 9106). Key file: HKDF-SHA-256 (RFC 5869) over its content. Either gives
//! the key of XChaCha20-Poly1305 over the text of the key file, with everything before the
//! ciphertext as associated data. The format is `spec/key-file.md` section 5.

use argon2::{Algorithm, Argon2, Params, Version};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use clew_evidence::TextError;
use clew_evidence::armor::{self, MAX_TEXT_BYTES};
use hkdf::Hkdf;
use rand_core::CryptoRng;
use sha2::Sha256;
use thiserror::Error;
use zeroize::Zeroizing;

const LABEL: &str = "clew-sealed-1";
const BY_PASSPHRASE: u8 = 1;
const BY_KEY_FILE: u8 = 2;
const HKDF_INFO: &[u8] = b"clew-sealed-1 key file";

/// RFC 9106 section 4, the second recommended option: 64 MiB, 3 passes, 4 lanes.
const MEMORY_KIB: u32 = 64 * 1024;
const PASSES: u32 = 3;
const LANES: u32 = 4;

/// Bounds on what an encrypted file may ask of its reader: 1 GiB, 16 passes, 16 lanes.
const MAX_MEMORY_KIB: u32 = 1024 * 1024;
const MAX_PASSES: u32 = 16;
const MAX_LANES: u32 = 16;

/// Shortest key file: 16 bytes of entropy at the least.
pub const MIN_KEY_FILE_BYTES: usize = 16;

/// kind (1), salt (16), memory (4), passes (4), lanes (4), nonce (24)
pub(crate) const HEAD_BYTES: usize = 53;
pub(crate) const NONCE_AT: usize = 29;

/// What encrypts and decrypts a key file.
pub enum Secret {
    /// A passphrase.
    Passphrase(Zeroizing<String>),
    /// The content of a key file, at least [`MIN_KEY_FILE_BYTES`].
    KeyFile(Zeroizing<Vec<u8>>),
}

/// What a key file needs before it can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing: it is in clear.
    Nothing,
    /// The passphrase.
    Passphrase,
    /// The key file.
    KeyFile,
}

/// Why a key file was not decrypted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DecryptError {
    /// Its text is not that of such a key.
    #[error(transparent)]
    Text(#[from] TextError),
    /// The passphrase or unlock file does not decrypt it.
    #[error("wrong passphrase or unlock file")]
    WrongSecret,
}

impl DecryptError {
    const DAMAGED: Self = Self::Text(TextError::Damaged);

    /// The rule's name in `spec/key-file.md` section 7.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Text(error) => error.as_str(),
            Self::WrongSecret => "wrong-secret",
        }
    }
}

/// Returns what the text of a key file needs.
///
/// # Errors
/// [`TextError`] if it is not a file of clew, or an encrypted one that is damaged.
pub fn needs(text: &str) -> Result<Needs, TextError> {
    if armor::label(text)? != LABEL {
        return Ok(Needs::Nothing);
    }
    let kind = armor::decode(text, LABEL)?.first().copied();
    kind.and_then(kind_of).ok_or(TextError::Damaged)
}

/// What a head that begins with this byte needs.
pub(crate) fn kind_of(first: u8) -> Option<Needs> {
    match first {
        BY_PASSPHRASE => Some(Needs::Passphrase),
        BY_KEY_FILE => Some(Needs::KeyFile),
        _ => None,
    }
}

/// Encrypts the text of a key file under `comment`. With a passphrase this takes 64 MiB of memory.
pub fn encrypt(
    text: &str,
    comment: &str,
    secret: &Secret,
    rng: &mut impl CryptoRng,
) -> Zeroizing<String> {
    let head = new_head(secret, rng);
    let cipher = cipher(&head, secret).expect("our own parameters are in bounds");
    let ciphertext = cipher
        .encrypt(
            &nonce(&head),
            Payload {
                msg: text.as_bytes(),
                aad: &head,
            },
        )
        .expect("a key file is far below the cipher's limit");
    armor::encode(
        &format!("{comment} Encrypted."),
        LABEL,
        &[&head, ciphertext.as_slice()].concat(),
    )
}

/// The head of what is encrypted with a secret: its salt and nonce are fresh.
pub(crate) fn new_head(secret: &Secret, rng: &mut impl CryptoRng) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[0] = match secret {
        Secret::Passphrase(_) => BY_PASSPHRASE,
        Secret::KeyFile(_) => BY_KEY_FILE,
    };
    rng.fill_bytes(&mut head[1..17]);
    for (at, value) in [(17, MEMORY_KIB), (21, PASSES), (25, LANES)] {
        head[at..at + 4].copy_from_slice(&value.to_be_bytes());
    }
    rng.fill_bytes(&mut head[NONCE_AT..]);
    head
}

/// Decrypts the text of an encrypted key file. With a passphrase this takes as much memory as the file
/// says, 1 GiB at most.
///
/// # Errors
/// [`DecryptError::WrongSecret`] if the secret is another one or of the other kind; [`DecryptError::Text`] if
/// the text is not an encrypted file, is damaged, or asks for more than it may.
pub fn decrypt(text: &str, secret: &Secret) -> Result<Zeroizing<String>, DecryptError> {
    let payload = armor::decode(text, LABEL)?;
    let (head, ciphertext) = payload.split_first_chunk().ok_or(DecryptError::DAMAGED)?;
    if ciphertext.len() > MAX_TEXT_BYTES {
        return Err(DecryptError::DAMAGED);
    }
    let plain = cipher(head, secret)?
        .decrypt(
            &nonce(head),
            Payload {
                msg: ciphertext,
                aad: head,
            },
        )
        .map_err(|_| DecryptError::WrongSecret)?;
    String::from_utf8(plain)
        .map(Zeroizing::new)
        .map_err(|_| DecryptError::DAMAGED)
}

fn nonce(head: &[u8; HEAD_BYTES]) -> XNonce {
    let mut nonce = XNonce::default();
    nonce.copy_from_slice(&head[NONCE_AT..]);
    nonce
}

pub(crate) fn cipher(
    head: &[u8; HEAD_BYTES],
    secret: &Secret,
) -> Result<XChaCha20Poly1305, DecryptError> {
    let salt = &head[1..17];
    let mut key = Zeroizing::new([0; 32]);
    match (head[0], secret) {
        (BY_PASSPHRASE, Secret::Passphrase(passphrase)) => argon2(head)?
            .hash_password_into(passphrase.as_bytes(), salt, key.as_mut_slice())
            .map_err(|_| DecryptError::DAMAGED)?,
        (BY_KEY_FILE, Secret::KeyFile(content)) => Hkdf::<Sha256>::new(Some(salt), content)
            .expand(HKDF_INFO, key.as_mut_slice())
            .map_err(|_| DecryptError::DAMAGED)?,
        _ => return Err(DecryptError::WrongSecret),
    }
    XChaCha20Poly1305::new_from_slice(key.as_slice()).map_err(|_| DecryptError::DAMAGED)
}

fn argon2(head: &[u8; HEAD_BYTES]) -> Result<Argon2<'static>, DecryptError> {
    let word = |at: usize| {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&head[at..at + 4]);
        u32::from_be_bytes(bytes)
    };
    let (memory, passes, lanes) = (word(17), word(21), word(25));
    if memory > MAX_MEMORY_KIB || passes > MAX_PASSES || lanes > MAX_LANES {
        return Err(DecryptError::DAMAGED);
    }
    let params = Params::new(memory, passes, lanes, None).map_err(|_| DecryptError::DAMAGED)?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}
