//! The key of somebody who writes into a group's log: a trustee, a court, an observer, an operator.

use crate::TextFile;
use clew_evidence::Name;
use clew_evidence::signed::strict_key;
use clew_evidence::wire::Reader;
use ed25519_dalek::{SigningKey, VerifyingKey};
use hkdf::Hkdf;
use sha2::Sha256;
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::Zeroizing;

const SIGNS: &[u8] = b"clew-author-1 ed25519";
const RECEIVES: &[u8] = b"clew-author-1 x25519";

/// The secret of an author: one seed, from which both of its keys are made.
pub struct AuthorKeyFile {
    seed: Zeroizing<[u8; 32]>,
    name: Name,
}

impl AuthorKeyFile {
    /// Makes a key of a seed: 32 random bytes.
    pub fn new(seed: Zeroizing<[u8; 32]>, name: Name) -> Self {
        Self { seed, name }
    }

    /// Returns the author's name.
    pub const fn name(&self) -> &Name {
        &self.name
    }

    /// Returns the key that signs.
    pub fn signing_key(&self) -> SigningKey {
        SigningKey::from_bytes(&self.derived(SIGNS))
    }

    /// Returns the X25519 secret by which the author reads what is encrypted to it.
    pub fn receiving_key(&self) -> Zeroizing<[u8; 32]> {
        self.derived(RECEIVES)
    }

    /// Returns what others know of it.
    pub fn public(&self) -> Author {
        let receives = StaticSecret::from(*self.receiving_key());
        Author {
            signs: self.signing_key().verifying_key(),
            receives: PublicKey::from(&receives).to_bytes(),
            name: self.name.clone(),
        }
    }

    fn derived(&self, info: &[u8]) -> Zeroizing<[u8; 32]> {
        let mut key = Zeroizing::new([0; 32]);
        Hkdf::<Sha256>::new(None, self.seed.as_slice())
            .expand(info, key.as_mut_slice())
            .expect("32 bytes are one block");
        key
    }
}

clew_wire::opaque!(AuthorKeyFile);

impl TextFile for AuthorKeyFile {
    const LABEL: &'static str = "clew-author-key-1";

    fn comment(&self) -> String {
        let name = &self.name;
        format!(
            "clew author key of {name}. SECRET: it signs as {name} and reads what is for {name}."
        )
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.seed.as_slice());
        self.name.write(out);
    }

    fn read(fields: &mut Reader<'_>) -> Option<Self> {
        let mut seed = Zeroizing::new([0; 32]);
        seed.copy_from_slice(fields.take(32)?);
        Some(Self {
            seed,
            name: Name::read(fields)?,
        })
    }
}

/// The public keys of an author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    /// The Ed25519 key that signs.
    pub signs: VerifyingKey,
    /// The X25519 key to which others encrypt.
    pub receives: [u8; 32],
    /// The author's name, in its own words.
    pub name: Name,
}

impl TextFile for Author {
    const LABEL: &'static str = "clew-author-1";

    fn comment(&self) -> String {
        format!("clew public author key of {}.", self.name)
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.signs.as_bytes());
        out.extend_from_slice(&self.receives);
        self.name.write(out);
    }

    fn read(fields: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            signs: strict_key(&fields.array()?)?,
            receives: fields.array().filter(|key| is_contributory(*key))?,
            name: Name::read(fields)?,
        })
    }
}

/// Returns whether others' secrets matter with this X25519 key: with a point of small order they do
/// not.
pub fn is_contributory(key: [u8; 32]) -> bool {
    let any = StaticSecret::from([1; 32]);
    any.diffie_hellman(&PublicKey::from(key)).was_contributory()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> AuthorKeyFile {
        AuthorKeyFile::new(Zeroizing::new([7; 32]), "court".parse().unwrap())
    }

    #[test]
    fn keys_are_read_as_they_were_written() {
        let read = AuthorKeyFile::decode(&key().encode()).unwrap();
        assert_eq!(read.public(), key().public());
        let public = key().public();
        assert_eq!(Author::decode(&public.encode()), Ok(public));
    }

    /// Computed with Python's hmac.
    #[test]
    fn both_keys_come_from_the_seed() {
        let hex = |bytes: &[u8]| clew_wire::Hex(bytes).to_string();
        assert_eq!(hex(key().signing_key().as_bytes()), SIGNING);
        assert_eq!(hex(key().receiving_key().as_slice()), RECEIVING);
    }

    const SIGNING: &str = "c5a3a6118106fec367503454487c8b3dd726184b883a977c1ebb3af0cb6d6b28";
    const RECEIVING: &str = "98f00e7a994c20c4884bdf2985354160aee0bbb166cb0a97f9dffa24460c27ef";

    #[test]
    fn weak_keys_are_refused() {
        let good = key().public().payload();
        assert!(Author::from_payload(&good).is_some());
        for (from, weak) in [(0, 1), (32, 0), (32, 1)] {
            let mut bad = good.clone();
            bad[from..from + 32].fill(0);
            bad[from] = weak;
            assert_eq!(Author::from_payload(&bad), None, "{from} {weak}");
        }
        assert_eq!(Author::from_payload(&good[..good.len() - 1]), None);
    }

    #[test]
    fn a_secret_is_not_printed() {
        assert!(!format!("{:?}", key()).contains('7'));
    }
}
