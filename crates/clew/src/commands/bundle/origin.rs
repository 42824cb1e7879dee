//! Where a bundle's packets come from, as its maker says.

use serde::{Deserialize, Serialize};

/// Longest name of a capture's file, in bytes.
const NAME_MAX: usize = 255;

/// The capture that packets were copied from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The version of clew that made the bundle.
    pub clew: String,
    /// Name of the capture's file.
    pub capture: String,
    /// SHA-256 of it.
    #[serde(with = "hash")]
    pub sha256: [u8; 32],
    /// Frame numbers there of the frames copied, ascending.
    pub frames: Vec<u64>,
}

impl Origin {
    /// Writes it as one line of JSON.
    pub fn encode(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }

    /// Reads such a line. Returns `None` if it is another, the version has other characters than versions
    /// have, or the capture's name is longer than a file's may be.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let read: Self = serde_json::from_slice(bytes).ok()?;
        let is_name = (1..=NAME_MAX).contains(&read.capture.len());
        (read.encode() == bytes && is_version(&read.clew) && is_name).then_some(read)
    }
}

/// Whether a text may be a version: the bundle's maker chose it, and it is shown.
fn is_version(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
    (1..=32).contains(&text.len()) && text.bytes().all(fits)
}

/// A hash in hexadecimal.
mod hash {
    use clew_wire::Hex;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(hash: &[u8; 32], to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&Hex(hash))
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<[u8; 32], D::Error> {
        let text = String::deserialize(from)?;
        let digits = text.as_bytes().as_chunks::<2>();
        let byte = |pair: &[u8; 2]| {
            let pair = std::str::from_utf8(pair).ok()?;
            u8::from_str_radix(pair, 16).ok()
        };
        let bytes: Option<Vec<u8>> = digits.0.iter().map(byte).collect();
        let hash = bytes.and_then(|bytes| bytes.try_into().ok());
        hash.ok_or_else(|| D::Error::custom("not a SHA-256"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_capture_is_bounded() {
        for (length, is_good) in [(0, false), (1, true), (255, true), (256, false)] {
            let origin = Origin {
                clew: "1".to_owned(),
                capture: "a".repeat(length),
                sha256: [1; 32],
                frames: vec![1],
            };
            let read = Origin::decode(&origin.encode());
            assert_eq!(read.is_some(), is_good, "{length}");
        }
    }
}
