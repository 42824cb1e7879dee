//! The text form of keys: comment lines for people, then one line `LABEL BASE64`.
//!
//! The base64 (RFC 4648, with padding) holds the payload and, last, the first 8 bytes of
//! SHA-256(label || payload), so that a damaged file is told from one of another kind.

use crate::keys::KeyError;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

const CHECKSUM_BYTES: usize = 8;

/// Longest key file that is read, in bytes.
pub(crate) const MAX_TEXT_BYTES: usize = 16 * 1024;

pub(crate) fn encode(comment: &str, label: &str, payload: &[u8]) -> Zeroizing<String> {
    let mut bytes = Zeroizing::new(payload.to_vec());
    bytes.extend_from_slice(&checksum(label, payload));
    let base64 = Zeroizing::new(STANDARD.encode(&*bytes));
    Zeroizing::new(format!("# {comment}\n{label} {}\n", *base64))
}

/// The label of the key line, whatever it is.
pub(crate) fn label(text: &str) -> Result<&str, KeyError> {
    key_line(text).map(|(label, _)| label)
}

/// The payload, if the key line has this label and its checksum holds.
pub(crate) fn decode(text: &str, label: &str) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let (found, base64) = key_line(text)?;
    if found != label {
        return Err(KeyError::Label {
            found: printable(found),
            wanted: label.to_owned(),
        });
    }
    let mut bytes = Zeroizing::new(STANDARD.decode(base64).map_err(|_| KeyError::Damaged)?);
    let split = bytes
        .len()
        .checked_sub(CHECKSUM_BYTES)
        .ok_or(KeyError::Damaged)?;
    if bytes[split..] != checksum(label, &bytes[..split]) {
        return Err(KeyError::Damaged);
    }
    bytes.truncate(split);
    Ok(bytes)
}

fn key_line(text: &str) -> Result<(&str, &str), KeyError> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(KeyError::NotAKey);
    }
    let mut lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let (label, base64) = lines
        .next()
        .and_then(|line| line.split_once(' '))
        .ok_or(KeyError::NotAKey)?;
    let ours = label.starts_with("clew-") && lines.next().is_none();
    if ours {
        Ok((label, base64.trim()))
    } else {
        Err(KeyError::NotAKey)
    }
}

fn printable(label: &str) -> String {
    label.chars().filter(|c| !c.is_control()).take(40).collect()
}

fn checksum(label: &str, payload: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let digest = Sha256::new_with_prefix(label)
        .chain_update(payload)
        .finalize();
    let mut out = [0; CHECKSUM_BYTES];
    out.copy_from_slice(&digest[..CHECKSUM_BYTES]);
    out
}
