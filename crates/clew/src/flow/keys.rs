//! Keys of flows: the signer's, and the descriptor that receivers need (`spec/key-file.md`).

use super::ed25519;
use super::schemes::{Signer, check_instance, instance};
use crate::failure::Failure;
use crate::random;
use crate::secrets;
use clew_evidence::wire::Reader;
use clew_evidence::{TextError, armor};
use clew_flow::effs::{self, Parameters, PublicKey};
use clew_flow::{Algorithm, BadDescriptor, BlockSigner, Chaining, Descriptor, FlowSender};
use clew_wire::Hex;
use rand_core::Rng;
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::path::Path;
use zeroize::Zeroizing;

const KEY_LABEL: &str = "clew-flow-key-1";
const DESCRIPTOR_LABEL: &str = "clew-flow-1";

/// Which key is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Ed25519.
    Ed25519,
    /// eFFS with these parameters.
    Effs(Parameters),
}

/// What signs a flow.
pub struct FlowKey {
    descriptor: Descriptor,
    /// As it stands in the file.
    secret: Zeroizing<Vec<u8>>,
    signer: Signer,
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
    /// The name is too long or has control characters; a block of no packets or too many; signatures that
    /// are too long for packets.
    pub fn generate(scheme: Scheme, chaining: Chaining, name: &str) -> Result<Self, BadDescriptor> {
        let (secret, signer) = match scheme {
            Scheme::Ed25519 => {
                let mut secret = Zeroizing::new(vec![0; 32]);
                random::os().fill_bytes(secret.as_mut_slice());
                let signer = ed25519_signer(&secret).ok_or(BadDescriptor)?;
                (secret, signer)
            }
            Scheme::Effs(parameters) => {
                let key = effs::SecretKey::generate(parameters, &mut random::os());
                (
                    key.to_bytes(),
                    Signer::Effs(effs::Signer::new(&key, instance)),
                )
            }
        };
        let public = signer.public_key();
        let descriptor = Descriptor::new(chaining, signer.algorithm(), &public, name)?;
        Ok(Self {
            descriptor,
            secret,
            signer,
        })
    }

    /// What receivers need.
    pub const fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// A sender of the flow, with a tag of its own.
    ///
    /// # Errors
    /// It signs with eFFS, and the boot id cannot be read.
    pub fn sender(&self) -> Result<FlowSender<Signer>, Failure> {
        let signer = self.signer.clone();
        if matches!(signer, Signer::Effs(_)) {
            check_instance()?;
        }
        let sender = FlowSender::new(self.descriptor.clone(), signer, &mut random::os());
        Ok(sender.expect("the descriptor has this key: it was made or read with it"))
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
    pub fn decode(text: &str) -> Result<Self, TextError> {
        let payload = armor::decode(text, KEY_LABEL)?;
        Self::from_payload(&payload).ok_or(TextError::Damaged)
    }

    fn from_payload(payload: &[u8]) -> Option<Self> {
        let mut fields = Reader(payload);
        let length = u16::from_be_bytes(fields.array()?);
        let descriptor = Descriptor::from_bytes(fields.take(length.into())?).ok()?;
        let secret = Zeroizing::new(fields.0.to_vec());
        let signer = match descriptor.algorithm() {
            Algorithm::Ed25519 => ed25519_signer(&secret)?,
            Algorithm::Effs => {
                let public = PublicKey::from_bytes(descriptor.public_key()).ok()?;
                let key = effs::SecretKey::from_bytes(&public, &secret).ok()?;
                Signer::Effs(effs::Signer::new(&key, instance))
            }
        };
        let same = signer.public_key() == descriptor.public_key();
        same.then_some(Self {
            descriptor,
            secret,
            signer,
        })
    }
}

fn ed25519_signer(secret: &[u8]) -> Option<Signer> {
    let secret = secret.try_into().ok()?;
    Some(Signer::Ed25519(ed25519::Signer::from_secret(secret)))
}

/// What signs a flow, in a word.
pub fn scheme(descriptor: &Descriptor) -> String {
    match descriptor.effs() {
        Some(parameters) => parameters.to_string(),
        None => "ed25519".into(),
    }
}

/// The public key, or of a long one the start of its digest.
pub fn fingerprint(descriptor: &Descriptor) -> String {
    let key = descriptor.public_key();
    match key.len() {
        ..=32 => Hex(key).to_string(),
        _ => format!("SHA-256 {}", Hex(&Sha256::digest(key)[..16])),
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
pub fn decode(text: &str) -> Result<Descriptor, TextError> {
    let payload = armor::decode(text, DESCRIPTOR_LABEL)?;
    Descriptor::from_bytes(&payload).map_err(|_| TextError::Damaged)
}

/// Reads a descriptor's file.
pub fn read(path: &Path) -> Result<Descriptor, Failure> {
    let text = secrets::read_text(path)?;
    decode(&text).map_err(|e| Failure::file(path, e).hint("use NAME.flow of clew flow keygen"))
}

/// What people call a flow: its name, and the start of its descriptor's digest.
pub fn title(descriptor: &Descriptor) -> String {
    let id = descriptor.key_id().0;
    let id = Hex(&id);
    match descriptor.name() {
        "" => id.to_string(),
        name => format!("{name} ({id})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generate(scheme: Scheme, name: &str) -> Result<FlowKey, BadDescriptor> {
        FlowKey::generate(scheme, Chaining::default(), name)
    }

    const EFFS: [&str; 3] = ["effs-2048(128,1)", "effs-3072(128,2)", "effs-3072(256,1)"];

    #[test]
    fn what_was_written_is_read() {
        let effs = EFFS.map(|name| Scheme::Effs(name.parse().unwrap()));
        for scheme in [[Scheme::Ed25519].as_slice(), &effs].concat() {
            round_trip(&generate(scheme, "camera 7").unwrap());
        }
    }

    fn round_trip(key: &FlowKey) {
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
        let one = generate(Scheme::Ed25519, "one").unwrap();
        let mut payload = one.descriptor().to_bytes();
        let length = (payload.len() as u16).to_be_bytes();
        payload.splice(..0, length);
        payload.extend([7; 32]);
        let text = armor::encode("", KEY_LABEL, &payload);
        assert_eq!(FlowKey::decode(&text).unwrap_err(), TextError::Damaged);
        assert!(generate(Scheme::Ed25519, "a\nb").is_err());
        let too_long = Scheme::Effs("effs-3072(32,4)".parse().unwrap());
        assert!(generate(too_long, "one").is_err());
    }
}
