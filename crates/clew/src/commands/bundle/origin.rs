//! Where a bundle's packets come from, as its maker says.

use serde::{Deserialize, Serialize};

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

    /// Reads such a line. Returns `None` if it is another, or the version has other characters than
    /// versions have.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let read: Self = serde_json::from_slice(bytes).ok()?;
        (read.encode() == bytes && is_version(&read.clew)).then_some(read)
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
