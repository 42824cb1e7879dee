//! The key of a log or of a witness.

use crate::TextFile;
use clew_evidence::Name;
use clew_evidence::wire::Reader;
use clew_log::{KeyKind, VerifierKey};
use ed25519_dalek::SigningKey;
use zeroize::Zeroizing;

/// The secret of a log, which signs checkpoints, or of a witness, which cosigns them.
///
/// Two programs with one such key can show two histories: it is on one host, and its backup without
/// the database beside it is worth nothing.
pub struct LogKeyFile {
    seed: Zeroizing<[u8; 32]>,
    public: VerifierKey,
}

impl LogKeyFile {
    /// Makes a key of a seed: 32 random bytes. Returns `None` if the name has a space or `+`.
    pub fn new(kind: KeyKind, seed: Zeroizing<[u8; 32]>, name: &Name) -> Option<Self> {
        let key = SigningKey::from_bytes(&seed).verifying_key();
        let public = VerifierKey::new(name.as_str(), kind, key).ok()?;
        Some(Self { seed, public })
    }

    /// Returns the key that signs.
    pub fn signing_key(&self) -> SigningKey {
        SigningKey::from_bytes(&self.seed)
    }

    /// Returns the public key with its name.
    pub const fn public(&self) -> &VerifierKey {
        &self.public
    }
}

clew_wire::opaque!(LogKeyFile);

impl TextFile for LogKeyFile {
    const LABEL: &'static str = "clew-log-key-1";

    fn comment(&self) -> String {
        let (name, what) = match self.public.kind() {
            KeyKind::Log => (self.public.name(), "log"),
            KeyKind::Witness => (self.public.name(), "witness"),
        };
        format!("clew key of the {what} {name}. SECRET: keep it on one host only.")
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(self.public.kind() as u8);
        out.extend_from_slice(self.seed.as_slice());
        if let Ok(name) = self.public.name().parse::<Name>() {
            name.write(out);
        }
    }

    fn read(fields: &mut Reader<'_>) -> Option<Self> {
        let kind = match fields.u8()? {
            1 => KeyKind::Log,
            4 => KeyKind::Witness,
            _ => return None,
        };
        let mut seed = Zeroizing::new([0; 32]);
        seed.copy_from_slice(fields.take(32)?);
        Self::new(kind, seed, &Name::read(fields)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(kind: KeyKind, name: &str) -> Option<LogKeyFile> {
        LogKeyFile::new(kind, Zeroizing::new([7; 32]), &name.parse().unwrap())
    }

    #[test]
    fn keys_are_read_as_they_were_written() {
        for kind in [KeyKind::Log, KeyKind::Witness] {
            let key = key(kind, "log.example/acme").unwrap();
            let read = LogKeyFile::decode(&key.encode()).unwrap();
            assert_eq!(read.public(), key.public());
            assert_eq!(read.signing_key(), key.signing_key());
            let mut other = key.payload();
            other[0] = 2;
            assert!(LogKeyFile::from_payload(&other).is_none());
        }
        assert!(key(KeyKind::Log, "a+b").is_none());
        assert!(key(KeyKind::Log, "a b").is_none());
    }
}
