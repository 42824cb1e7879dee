//! The log that a group writes into, as a record names it (spec 2.6).

use crate::signed::strict_key;
use alloc::vec::Vec;
use clew_log::{KeyKind, VerifierKey};
use clew_wire::{Name, Reader};
use core::fmt;

const NO_LOG: u8 = 0;
const LOG: u8 = 1;

/// The transparency log of a group: its origin, which has the form of names, and its Ed25519 key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupLog(VerifierKey);

/// Why a verifier key cannot be that of a group's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadLog {
    /// It is a witness's key.
    Kind,
    /// The origin is not a name ([`Name`]).
    Origin,
}

impl fmt::Display for BadLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kind => "the verifier key is a witness's, not a log's",
            Self::Origin => "the origin must be 1 to 64 bytes without invisible characters",
        })
    }
}

impl core::error::Error for BadLog {}

impl GroupLog {
    /// Names the log with that verifier key.
    ///
    /// # Errors
    /// [`BadLog`].
    pub fn new(key: VerifierKey) -> Result<Self, BadLog> {
        match (key.kind(), key.name().parse::<Name>()) {
            (KeyKind::Witness, _) => Err(BadLog::Kind),
            (KeyKind::Log, Err(_)) => Err(BadLog::Origin),
            (KeyKind::Log, Ok(_)) => Ok(Self(key)),
        }
    }

    /// Returns the log's key. Its name is the log's origin.
    pub fn key(&self) -> &VerifierKey {
        &self.0
    }

    /// Writes a log or none: 0, or 1, origin, key (32).
    pub(super) fn write(log: Option<&Self>, out: &mut Vec<u8>) {
        let Some(Self(key)) = log else {
            return out.push(NO_LOG);
        };
        out.extend_from_slice(&[LOG, key.name().len() as u8]);
        out.extend_from_slice(key.name().as_bytes());
        out.extend_from_slice(key.key().as_bytes());
    }

    /// Reads what [`Self::write`] wrote. Returns `None` if it breaks a rule of the layout.
    pub(super) fn read(fields: &mut Reader<'_>) -> Option<Option<Self>> {
        match fields.u8()? {
            NO_LOG => Some(None),
            LOG => {
                let origin = Name::read(fields)?;
                let key = strict_key(&fields.array()?)?;
                let key = VerifierKey::new(origin.as_str(), KeyKind::Log, key).ok()?;
                Some(Some(Self(key)))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ed25519_dalek::SigningKey;

    fn key(name: &str, kind: KeyKind) -> VerifierKey {
        let key = SigningKey::from_bytes(&[1; 32]).verifying_key();
        VerifierKey::new(name, kind, key).unwrap()
    }

    fn read(bytes: &[u8]) -> Option<Option<GroupLog>> {
        let mut fields = Reader(bytes);
        GroupLog::read(&mut fields).filter(|_| fields.0.is_empty())
    }

    #[test]
    fn a_log_has_a_name_and_a_strict_key() {
        let log = GroupLog::new(key("example.com/acme", KeyKind::Log)).unwrap();
        let mut good = Vec::new();
        GroupLog::write(Some(&log), &mut good);
        assert_eq!(good[..18], *b"\x01\x10example.com/acme");
        assert_eq!(read(&good), Some(Some(log)));
        assert_eq!(read(&[0]), Some(None));
        for (at, value) in [(0, 2), (1, 0), (2, b'+'), (2, b' '), (3, b' '), (2, 0xff)] {
            let mut bad = good.clone();
            bad[at] = value;
            assert_eq!(read(&bad), None, "byte {at}");
        }
        let mut weak = good.clone();
        weak[18..].fill(0);
        assert_eq!(read(&weak), None, "a key of small order");
        assert_eq!(read(&good[..49]), None);
    }

    #[test]
    fn other_keys_are_refused() {
        let witness = GroupLog::new(key("example.com/acme", KeyKind::Witness));
        assert_eq!(witness, Err(BadLog::Kind));
        let long = GroupLog::new(key(&"x".repeat(65), KeyKind::Log));
        assert_eq!(long, Err(BadLog::Origin));
        let invisible = GroupLog::new(key("a\u{ad}b", KeyKind::Log));
        assert_eq!(invisible, Err(BadLog::Origin));
        assert!(GroupLog::new(key(&"x".repeat(64), KeyKind::Log)).is_ok());
    }
}
