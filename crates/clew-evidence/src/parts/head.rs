//! The register's head (spec 2.3).

use super::{KIND_REGISTER, Part, signed_message};
use crate::signed::{SIGNATURE_BYTES, holds};
use crate::wire::Fields;
use clew_group::EpochId;
use ed25519_dalek::{Signer, SigningKey, VerifyingKey};

/// The register's head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterHead {
    /// The epoch id of the newest epoch.
    pub last: EpochId,
    /// Nanoseconds since 1970 at which it was made.
    pub time: u64,
    /// Number of entries, revoked ones included.
    pub machines: u32,
    /// Merkle tree hash over the entries.
    pub root: [u8; 32],
}

impl RegisterHead {
    /// Encodes the body.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![KIND_REGISTER];
        out.extend_from_slice(&self.last.0);
        out.extend_from_slice(&self.time.to_be_bytes());
        out.extend_from_slice(&self.machines.to_be_bytes());
        out.extend_from_slice(&self.root);
        out
    }

    pub(crate) fn decode(body: &[u8]) -> Option<Self> {
        let mut fields = Fields(body.strip_prefix(&[KIND_REGISTER])?);
        let (last, time, machines) = (fields.array()?, fields.u64()?, fields.u32()?);
        let root = fields.array()?;
        fields.0.is_empty().then_some(Self {
            last: EpochId(last),
            time,
            machines,
            root,
        })
    }

    /// Signs it.
    pub fn seal(self, manager: &SigningKey) -> SealedHead {
        let signature = manager.sign(&signed_message(&self.encode())).to_bytes();
        SealedHead {
            head: self,
            signature,
        }
    }
}

/// A register's head with the manager's signature: the last part of a group file, and a part of
/// every proof that an entry is in the register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedHead {
    /// The head.
    pub head: RegisterHead,
    /// The manager's signature over it.
    pub signature: [u8; SIGNATURE_BYTES],
}

impl SealedHead {
    /// Encodes as a part: length, body, signature.
    pub fn encode(&self) -> Vec<u8> {
        let body = self.head.encode();
        let mut out = (body.len() as u32).to_be_bytes().to_vec();
        out.extend_from_slice(&body);
        out.extend_from_slice(&self.signature);
        out
    }

    pub(crate) fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let part = Part::read(fields).ok()?;
        Some(Self {
            head: RegisterHead::decode(part.body)?,
            signature: part.signature,
        })
    }

    pub(crate) fn is_of(&self, manager: &VerifyingKey) -> bool {
        holds(
            manager,
            &signed_message(&self.head.encode()),
            &self.signature,
        )
    }
}
