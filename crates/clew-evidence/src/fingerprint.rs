//! Short forms by which people compare keys and epochs.

use alloc::string::String;
use alloc::vec::Vec;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use clew_group::EpochId;
use core::fmt;
use core::str::FromStr;
use sha2::{Digest, Sha256};

const PREFIX: &str = "SHA256:";
const BASE32: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// SHA-256 of a device's Ed25519 public key, shown as `SHA256:` and base64 without padding.
///
/// ```
/// use clew_evidence::DeviceFingerprint;
/// let fingerprint = DeviceFingerprint::of(&[7; 32]);
/// let text = fingerprint.to_string();
/// assert!(text.starts_with("SHA256:") && text.len() == 50);
/// assert_eq!(text.parse(), Ok(fingerprint));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceFingerprint(pub [u8; 32]);

/// Not the text of a [`DeviceFingerprint`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadFingerprint;

impl DeviceFingerprint {
    /// Returns the fingerprint of an Ed25519 public key (32 bytes).
    pub fn of(key: &[u8; 32]) -> Self {
        Self(Sha256::digest(key).into())
    }
}

impl fmt::Display for DeviceFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", STANDARD_NO_PAD.encode(self.0))
    }
}

impl FromStr for DeviceFingerprint {
    type Err = BadFingerprint;

    fn from_str(text: &str) -> Result<Self, BadFingerprint> {
        let base64 = text.strip_prefix(PREFIX).ok_or(BadFingerprint)?;
        let bytes = STANDARD_NO_PAD.decode(base64).map_err(|_| BadFingerprint)?;
        bytes.try_into().map(Self).map_err(|_| BadFingerprint)
    }
}

impl fmt::Display for BadFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "must be {PREFIX} followed by 43 characters of base64")
    }
}

impl core::error::Error for BadFingerprint {}

/// Returns the short form of an epoch id: 160 bits in lower-case base32 (RFC 4648), in 8 groups of
/// 4.
///
/// 160 bits because the manager itself could look for two histories with one short form (2^80).
///
/// ```
/// use clew_evidence::short_epoch_id;
/// let text = short_epoch_id(&clew_group::EpochId([0; 32]));
/// assert_eq!(text, "aaaa-aaaa-aaaa-aaaa-aaaa-aaaa-aaaa-aaaa");
/// ```
pub fn short_epoch_id(id: &EpochId) -> String {
    short_form(&id.0)
}

/// Returns the short form of any SHA-256 that people compare.
pub fn short_form(hash: &[u8; 32]) -> String {
    let (fives, _) = hash[..20].as_chunks::<5>();
    let groups = fives.iter().flat_map(|five| {
        let bits = five
            .iter()
            .fold(0, |bits, byte| bits << 8 | u64::from(*byte));
        [bits >> 20, bits & 0xf_ffff]
    });
    let groups: Vec<String> = groups.map(four_characters).collect();
    groups.join("-")
}

/// 20 bits.
fn four_characters(bits: u64) -> String {
    let digit = |shift: u32| char::from(BASE32[(bits >> shift & 31) as usize]);
    [15, 10, 5, 0].map(digit).iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn short_forms_are_base32_of_rfc_4648() {
        let mut id = [0xff; 32];
        id[..10].copy_from_slice(b"foobarfoob");
        // BASE32("foobarfoob") = MZXW6YTBOJTG633C
        let text = short_epoch_id(&EpochId(id));
        assert_eq!(text, "mzxw-6ytb-ojtg-633c-7777-7777-7777-7777");
        id[20..].fill(0);
        assert_eq!(
            short_epoch_id(&EpochId(id)),
            text,
            "the first 20 bytes count"
        );
    }

    #[test]
    fn fingerprints_are_those_that_openssl_prints() {
        // SHA-256 of 32 zero bytes.
        let text = "SHA256:Zmh6rfhivXdsj8GLjp+OIAiXFIVu4jOzkCpZHQ1fKSU";
        assert_eq!(DeviceFingerprint::of(&[0; 32]).to_string(), text);
        let fingerprint: DeviceFingerprint = text.parse().unwrap();
        assert_eq!(fingerprint, DeviceFingerprint::of(&[0; 32]));
        let padded = format!("{text}=");
        for bad in ["", "SHA256:", &text[7..], &text[..49], &padded, "MD5:00"] {
            assert_eq!(
                bad.parse::<DeviceFingerprint>(),
                Err(BadFingerprint),
                "{bad}"
            );
        }
    }
}
