//! The text form of keys, shares, openings and matches (`spec/key-file.md` section 1): comment lines
//! for people, then one line `LABEL BASE64`.
//!
//! The base64 (RFC 4648, with padding) holds the payload and, last, the first 8 bytes of
//! SHA-256(label || payload), so that a damaged file is told from one of another kind.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use base64::engine::general_purpose::STANDARD;
use base64::{Engine, decoded_len_estimate};
use core::fmt;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

const CHECKSUM_BYTES: usize = 8;

/// Longest text that is read, in bytes.
pub const MAX_TEXT_BYTES: usize = 16 * 1024;

/// Why a text was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextError {
    /// It is none of clew's texts.
    NotAKey,
    /// It is one of another kind.
    Label {
        /// The kind it says it is.
        found: String,
        /// The kind that was asked for.
        wanted: &'static str,
    },
    /// It was changed: base64, checksum or a field is wrong.
    Damaged,
}

impl TextError {
    /// Returns the rule's name in `spec/key-file.md` section 7.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::NotAKey => "not-a-key",
            Self::Label { .. } => "label",
            Self::Damaged => "damaged",
        }
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAKey => f.write_str("not a clew file"),
            Self::Label { found, wanted } => {
                write!(f, "need a {wanted}, have a {found}")
            }
            Self::Damaged => f.write_str("the file is damaged"),
        }
    }
}

impl core::error::Error for TextError {}

/// Returns the text of a payload: the comment, each of its lines with `#` before it, and the line
/// itself.
///
/// The payload may be secret: no copy of it stays in memory but the text.
pub fn encode(comment: &str, label: &str, payload: &[u8]) -> Zeroizing<String> {
    // Each buffer is sized once: one that grows leaves a copy behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(payload.len() + CHECKSUM_BYTES));
    bytes.extend_from_slice(payload);
    bytes.extend_from_slice(&checksum(label, payload));
    let comment = comment.replace(['\n', '\r'], "\n# ");
    let head = format!("# {comment}\n{label} ");
    let length = head.len() + bytes.len().div_ceil(3) * 4 + 1;
    let mut text = Zeroizing::new(vec![b'\n'; length]);
    let (front, base64) = text.split_at_mut(head.len());
    front.copy_from_slice(head.as_bytes());
    let written = STANDARD.encode_slice(&*bytes, base64);
    written.expect("four characters for each three bytes");
    let text = String::from_utf8(core::mem::take(&mut *text));
    Zeroizing::new(text.expect("a string and base64"))
}

/// Returns the label of the line, whatever it is.
pub fn label(text: &str) -> Result<&str, TextError> {
    one_line(text).map(|(label, _)| label)
}

/// Returns the payload, if the line has this label and its checksum holds.
pub fn decode(text: &str, label: &'static str) -> Result<Zeroizing<Vec<u8>>, TextError> {
    let (found, base64) = one_line(text)?;
    if found != label {
        return Err(TextError::Label {
            found: printable(found),
            wanted: label,
        });
    }
    let mut bytes = Zeroizing::new(vec![0; decoded_len_estimate(base64.len())]);
    let decoded = STANDARD.decode_slice(base64, &mut bytes);
    bytes.truncate(decoded.map_err(|_| TextError::Damaged)?);
    let (payload, found) = bytes
        .split_last_chunk::<CHECKSUM_BYTES>()
        .ok_or(TextError::Damaged)?;
    if *found != checksum(label, payload) {
        return Err(TextError::Damaged);
    }
    let length = payload.len();
    bytes.truncate(length);
    Ok(bytes)
}

fn one_line(text: &str) -> Result<(&str, &str), TextError> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(TextError::NotAKey);
    }
    let mut lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let (label, base64) = lines
        .next()
        .and_then(|line| line.split_once(' '))
        .ok_or(TextError::NotAKey)?;
    let ours = label.starts_with("clew-") && lines.next().is_none();
    if ours {
        Ok((label, base64.trim()))
    } else {
        Err(TextError::NotAKey)
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    const LABEL: &str = "clew-test-1";

    #[test]
    fn what_was_written_is_read() {
        let text = encode("for people\nwho read", LABEL, b"payload");
        assert!(text.starts_with("# for people\n# who read\nclew-test-1 "));
        assert_eq!(label(&text), Ok(LABEL));
        assert_eq!(&**decode(&text, LABEL).unwrap(), b"payload");
        let spaced = format!("\r\n# more\r\n  {}\r\n\r\n", text.lines().last().unwrap());
        assert_eq!(&**decode(&spaced, LABEL).unwrap(), b"payload");
    }

    #[test]
    fn not_a_key() {
        let line = encode("", LABEL, b"payload");
        let long = format!("{}#{}", *line, "x".repeat(MAX_TEXT_BYTES));
        for text in ["", "# only", "clew-test-1", "ssh-rsa AAAA", &long] {
            assert_eq!(decode(text, LABEL), Err(TextError::NotAKey), "{text:.40}");
        }
        let twice = format!("{0}{0}", *line);
        assert_eq!(decode(&twice, LABEL), Err(TextError::NotAKey));
    }

    #[test]
    fn label_of_another_kind() {
        let text = encode("", "clew-other-1", b"payload");
        let error = decode(&text, LABEL).unwrap_err();
        assert_eq!(error.as_str(), "label");
        assert_eq!(error.to_string(), "need a clew-test-1, have a clew-other-1");
    }

    #[test]
    fn damaged() {
        let text = encode("", LABEL, b"payload");
        let other_label = text.replace(LABEL, "clew-test-2");
        assert_eq!(
            decode(&other_label, "clew-test-2"),
            Err(TextError::Damaged),
            "the checksum binds the label"
        );
        for line in ["clew-test-1 AAAA", "clew-test-1 A", "clew-test-1 ä"] {
            assert_eq!(decode(line, LABEL), Err(TextError::Damaged), "{line}");
        }
    }
}
