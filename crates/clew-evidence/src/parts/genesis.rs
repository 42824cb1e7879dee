//! Record 0: the group (spec 2.1).

use super::{KIND_GENESIS, SharingRecord, body_hash};
use crate::name::Name;
use crate::wire::Fields;
use clew_group::{EpochId, Scheme, bbs04, xr};
use clew_packet::GroupId;

/// This group has no transparency log: the only value so far.
const NO_LOG: u8 = 0;

/// Record 0: the group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Genesis {
    /// How its members sign.
    pub scheme: Scheme,
    /// Nanoseconds since 1970.
    pub created: u64,
    /// From which generators are derived.
    pub nonce: [u8; 32],
    /// Ed25519 public key of the manager.
    pub manager: [u8; 32],
    /// Name of the group.
    pub name: Name,
    /// Public key of epoch 0, encoded.
    pub public_key: Vec<u8>,
    /// With `xr`, that the issuer knows gamma; nothing with `bbs04`.
    pub issuer_proof: Option<[u8; 64]>,
    /// Of the opening key.
    pub sharing: SharingRecord,
}

impl Genesis {
    /// Encodes the body.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![KIND_GENESIS, self.scheme.code()];
        out.extend_from_slice(&self.created.to_be_bytes());
        out.extend_from_slice(&self.nonce);
        out.extend_from_slice(&self.manager);
        out.push(NO_LOG);
        self.name.write(&mut out);
        out.extend_from_slice(&self.public_key);
        out.extend_from_slice(self.issuer_proof.as_ref().map_or(&[], |proof| proof));
        self.sharing.write(&mut out);
        out
    }

    pub(crate) fn decode(body: &[u8]) -> Option<Self> {
        let mut fields = Fields(body.strip_prefix(&[KIND_GENESIS])?);
        let scheme = Scheme::from_code(fields.u8()?)?;
        let (created, nonce, manager) = (fields.u64()?, fields.array()?, fields.array()?);
        fields.array().filter(|log| *log == [NO_LOG])?;
        let name = Name::read(&mut fields)?;
        let (public_key, issuer_proof) = match scheme {
            Scheme::Bbs04 => (fields.take(bbs04::PUBLIC_KEY_BYTES)?, None),
            Scheme::Xr => (fields.take(xr::PUBLIC_KEY_BYTES)?, Some(fields.array()?)),
        };
        let public_key = public_key.to_vec();
        let sharing = SharingRecord::read(scheme, &mut fields)?;
        fields.0.is_empty().then_some(Self {
            scheme,
            created,
            nonce,
            manager,
            name,
            public_key,
            issuer_proof,
            sharing,
        })
    }

    /// The id of the group that this record founds.
    pub fn group_id(&self) -> GroupId {
        let mut id = [0; 16];
        id.copy_from_slice(&self.epoch_id().0[..16]);
        GroupId(id)
    }

    /// The epoch id of epoch 0.
    pub fn epoch_id(&self) -> EpochId {
        EpochId(body_hash(&self.encode()))
    }
}
