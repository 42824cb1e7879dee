//! Record 0: the group (spec 2.1).

use super::{GroupLog, KIND_GENESIS, SharingRecord, body_hash, read_time};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use clew_group::{EpochId, FOUNDING_BYTES, Scheme};
use clew_packet::GroupId;
use clew_wire::Name;
use clew_wire::{Reader, WallTime};

/// Record 0: the group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Genesis {
    /// How its members sign.
    pub scheme: Scheme,
    /// When the group was founded.
    pub created: WallTime,
    /// Generators and the bases V of epochs are derived from it.
    pub nonce: [u8; 32],
    /// Ed25519 public key of the manager.
    pub manager: [u8; 32],
    /// The group's transparency log in epoch 0, if it has one.
    pub log: Option<GroupLog>,
    /// Name of the group.
    pub name: Name,
    /// The founding key: `h || h_w || w` with `xr`, `u || v || w` with `bbs04`. All else of the public
    /// key is derived from the nonce.
    pub founding: Box<[u8; FOUNDING_BYTES]>,
    /// Proof that the issuer knows gamma (`xr`). `None` with `bbs04`.
    pub issuer_proof: Option<[u8; 64]>,
    /// How the opening key is shared.
    pub sharing: SharingRecord,
}

impl Genesis {
    /// Encodes the body.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![KIND_GENESIS, self.scheme.code()];
        out.extend_from_slice(&self.created.as_nanos().to_be_bytes());
        out.extend_from_slice(&self.nonce);
        out.extend_from_slice(&self.manager);
        GroupLog::write(self.log.as_ref(), &mut out);
        self.name.write(&mut out);
        out.extend_from_slice(&self.founding[..]);
        out.extend_from_slice(self.issuer_proof.as_ref().map_or(&[], |proof| proof));
        self.sharing.write(&mut out);
        out
    }

    pub(crate) fn decode(body: &[u8]) -> Option<Self> {
        let mut fields = Reader(body.strip_prefix(&[KIND_GENESIS])?);
        let scheme = Scheme::from_code(fields.u8()?)?;
        let (created, nonce, manager) = (read_time(&mut fields)?, fields.array()?, fields.array()?);
        let log = GroupLog::read(&mut fields)?;
        let name = Name::read(&mut fields)?;
        let founding = Box::new(fields.array()?);
        let issuer_proof = match scheme {
            Scheme::Bbs04 => None,
            Scheme::Xr => Some(fields.array()?),
        };
        let sharing = SharingRecord::read(scheme, &mut fields)?;
        fields.0.is_empty().then_some(Self {
            scheme,
            created,
            nonce,
            manager,
            log,
            name,
            founding,
            issuer_proof,
            sharing,
        })
    }

    /// Returns the id of the group that this record founds.
    pub fn group_id(&self) -> GroupId {
        let mut id = [0; 16];
        id.copy_from_slice(&self.epoch_id().0[..16]);
        GroupId(id)
    }

    /// Returns the epoch id of epoch 0.
    pub fn epoch_id(&self) -> EpochId {
        EpochId(body_hash(&self.encode()))
    }
}
