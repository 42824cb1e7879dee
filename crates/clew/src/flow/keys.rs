//! Keys of flows: the signer's, and the descriptor that receivers need (`spec/key-file.md`).

use super::ed25519::Signer;
use crate::failure::Failure;
use crate::random;
use clew_evidence::armor;
use clew_evidence::wire::Fields;
use clew_flow::{Algorithm, BadDescriptor, BlockSigner, Chaining, Descriptor, FlowSender};
use clew_manager::keys::KeyError;
use rand_core::Rng;
use std::fmt;
use std::path::Path;
use zeroize::Zeroizing;

const KEY_LABEL: &str = "clew-flow-key-1";
const DESCRIPTOR_LABEL: &str = "clew-flow-1";

/// Size of the secret of an Ed25519 key.
const SECRET_BYTES: usize = 32;

/// What signs a flow.
pub struct FlowKey {
    descriptor: Descriptor,
    secret: Zeroizing<[u8; SECRET_BYTES]>,
}

impl fmt::Debug for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secret = &"..";
        f.debug_struct("FlowKey")
            .field("descriptor", &self.descriptor)
            .field("secret", secret)
            .finish()
    }
}

impl FlowKey {
    /// A new key for a flow of that name.
    ///
    /// # Errors
    /// The name is too long or has control characters; a block of no packets or too many.
    pub fn generate(chaining: Chaining, name: &str) -> Result<Self, BadDescriptor> {
        let mut secret = Zeroizing::new([0; SECRET_BYTES]);
        random::os().fill_bytes(secret.as_mut_slice());
        let public = Signer::from_secret(&secret).public_key();
        let descriptor = Descriptor::new(chaining, Algorithm::Ed25519, &public, name)?;
        Ok(Self { descriptor, secret })
    }

    /// What receivers need.
    pub const fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// A sender of the flow, with a tag of its own.
    pub fn sender(&self) -> FlowSender<Signer> {
        let signer = Signer::from_secret(&self.secret);
        FlowSender::new(self.descriptor.clone(), signer, &mut random::os())
            .expect("the descriptor has this key: it was made or read with it")
    }

    /// The text of the key file. Secret.
    pub fn encode(&self) -> Zeroizing<String> {
        let descriptor = self.descriptor.to_bytes();
        let mut out = Zeroizing::new((descriptor.len() as u16).to_be_bytes().to_vec());
        out.extend_from_slice(&descriptor);
        out.extend_from_slice(self.secret.as_slice());
        armor::encode(&self.comment(), KEY_LABEL, &out)
    }

    /// What the file's first line says.
    pub fn comment(&self) -> String {
        format!(
            "clew flow key of {}. SECRET: it signs packets of this flow.",
            title(&self.descriptor)
        )
    }

    /// Reads the text of a key file.
    ///
    /// # Errors
    /// It is none, or its public key is not that of its secret.
    pub fn decode(text: &str) -> Result<Self, KeyError> {
        let payload = armor::decode(text, KEY_LABEL)?;
        Self::from_payload(&payload).ok_or(KeyError::DAMAGED)
    }

    fn from_payload(payload: &[u8]) -> Option<Self> {
        let mut fields = Fields(payload);
        let length = u16::from_be_bytes(fields.array()?);
        let descriptor = Descriptor::from_bytes(fields.take(length.into())?).ok()?;
        let secret = Zeroizing::new(fields.array()?);
        let public = Signer::from_secret(&secret).public_key();
        let whole = fields.0.is_empty() && public == descriptor.public_key();
        whole.then_some(Self { descriptor, secret })
    }
}

/// The text of a descriptor's file.
pub fn encode(descriptor: &Descriptor) -> String {
    let comment = format!(
        "clew flow {}. Public: who has it verifies packets.",
        title(descriptor)
    );
    armor::encode(&comment, DESCRIPTOR_LABEL, &descriptor.to_bytes()).to_string()
}

/// Reads the text of a descriptor's file.
///
/// # Errors
/// It is none.
pub fn decode(text: &str) -> Result<Descriptor, KeyError> {
    let payload = armor::decode(text, DESCRIPTOR_LABEL)?;
    Descriptor::from_bytes(&payload).map_err(|_| KeyError::DAMAGED)
}

/// Reads a descriptor's file.
pub fn read(path: &Path) -> Result<Descriptor, Failure> {
    let length = path.metadata().map_or(0, |metadata| metadata.len());
    if length > armor::MAX_TEXT_BYTES as u64 {
        return Err(Failure::file(path, clew_evidence::TextError::NotAKey));
    }
    let text = std::fs::read_to_string(path).map_err(|e| Failure::file(path, e))?;
    decode(&text).map_err(|e| Failure::file(path, e).hint("clew flow keygen writes NAME.flow"))
}

/// What people call a flow: its name, and the start of its descriptor's digest.
pub fn title(descriptor: &Descriptor) -> String {
    let id = crate::report::hex(&descriptor.key_id().0);
    match descriptor.name() {
        "" => id,
        name => format!("{name} ({id})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let key = FlowKey::generate(Chaining::default(), "camera 7").unwrap();
        let text = key.encode();
        assert!(text.starts_with("# clew flow key of camera 7 ("));
        let read = FlowKey::decode(&text).unwrap();
        assert_eq!(read.descriptor(), key.descriptor());
        assert_eq!(read.secret, key.secret);
        let public = encode(key.descriptor());
        assert_eq!(decode(&public).as_ref(), Ok(key.descriptor()));
        assert!(decode(&text).is_err() && FlowKey::decode(&public).is_err());
        assert!(!format!("{key:?}").contains(&format!("{:?}", key.secret)));
    }

    #[test]
    fn a_secret_of_another_flow_is_damage() {
        let one = FlowKey::generate(Chaining::default(), "one").unwrap();
        let mut payload = one.descriptor().to_bytes();
        let length = (payload.len() as u16).to_be_bytes();
        payload.splice(..0, length);
        payload.extend([7; SECRET_BYTES]);
        let text = armor::encode("", KEY_LABEL, &payload);
        assert_eq!(FlowKey::decode(&text).unwrap_err(), KeyError::DAMAGED);
        assert!(FlowKey::generate(Chaining::default(), "a\nb").is_err());
    }
}
