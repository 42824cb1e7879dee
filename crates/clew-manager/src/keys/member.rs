//! A machine's key.

use super::{KeyError, scheme, whole};
use clew_evidence::armor;
use clew_evidence::wire::Fields;
use clew_evidence::{GroupId, Name};
use clew_group::{EpochId, MemberKey, PublicKey, Scheme};
use ed25519_dalek::SigningKey;
use zeroize::Zeroizing;

const LABEL: &str = "clew-member-key-1";

/// A machine's key with what signing needs to know about its group.
#[derive(Clone, Debug)]
pub struct MemberKeyFile {
    /// The group.
    pub group: GroupId,
    /// The epoch that the key signs in.
    pub epoch: u32,
    /// The id of that epoch.
    pub id: EpochId,
    /// Name of the machine, for its owner's eyes.
    pub machine: Name,
    /// Public key of that epoch.
    pub public: PublicKey,
    /// The secret.
    pub key: MemberKey,
    /// xr: the device's own key, which vouched for the credential.
    pub device: Option<SigningKey>,
}

impl MemberKeyFile {
    /// The text of the file. Secret.
    pub fn encode(&self) -> Zeroizing<String> {
        let mut out = Zeroizing::new(vec![self.public.scheme().code()]);
        out.extend_from_slice(&self.group.0);
        out.extend_from_slice(&self.epoch.to_be_bytes());
        out.extend_from_slice(&self.id.0);
        self.machine.write(&mut out);
        out.extend_from_slice(&self.public.to_bytes());
        out.extend_from_slice(&self.key.to_bytes());
        if let Some(device) = &self.device {
            out.extend_from_slice(Zeroizing::new(device.to_bytes()).as_slice());
        }
        armor::encode(&self.comment(), LABEL, &out)
    }

    /// What the file's first line says.
    pub fn comment(&self) -> String {
        format!(
            "clew member key of machine {}, group {}, epoch {}. SECRET: it signs as this machine.",
            self.machine, self.group, self.epoch
        )
    }

    /// Reads the text of a file.
    pub fn decode(text: &str) -> Result<Self, KeyError> {
        let payload = armor::decode(text, LABEL)?;
        Self::from_payload(&payload).ok_or(KeyError::DAMAGED)
    }

    fn from_payload(payload: &[u8]) -> Option<Self> {
        let mut fields = Fields(payload);
        let scheme = scheme(&mut fields)?;
        let (group, epoch, id) = (fields.array()?, fields.u32()?, fields.array()?);
        let machine = Name::read(&mut fields)?;
        let public = fields.take(scheme.public_key_bytes())?;
        let key = fields.take(scheme.member_key_bytes())?;
        let device = match scheme {
            Scheme::Bbs04 => None,
            Scheme::Xr => Some(Zeroizing::new(fields.array()?)),
        };
        let read = Self {
            group: GroupId(group),
            epoch,
            id: EpochId(id),
            machine,
            public: PublicKey::from_bytes(scheme, public).ok()?,
            key: MemberKey::from_bytes(scheme, key).ok()?,
            device: device.map(|seed| SigningKey::from_bytes(&seed)),
        };
        whole(&fields, read)
    }
}
