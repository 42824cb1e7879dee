//! Record e: a later epoch (spec 2.2).

use super::{KIND_EPOCH, SharingRecord, body_hash};
use crate::wire::Fields;
use clew_group::{EpochId, Scheme, bbs04, xr};

const CHANGE_REVOCATION: u8 = 1;
const CHANGE_SHARING: u8 = 2;

/// Record e: a later epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpochRecord {
    /// Its number, from 1.
    pub epoch: u32,
    /// The epoch id of the epoch before.
    pub previous: EpochId,
    /// Nanoseconds since 1970 from which signers use this epoch.
    pub start: u64,
    /// What is new in it.
    pub change: Change,
}

/// What an epoch changes; all else is as in the epoch before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A machine of a `bbs04` group is revoked.
    Bbs04Revocation {
        /// The revocation, encoded.
        revocation: Box<[u8; bbs04::REVOCATION_BYTES]>,
        /// w of this epoch, encoded.
        w: Box<[u8; 96]>,
    },
    /// A machine of an `xr` group is revoked, with the revocation, encoded.
    XrRevocation(Box<[u8; xr::REVOCATION_BYTES]>),
    /// An `xr` group gets another opening key, or other trustees.
    Sharing(Box<NewOpeningKey>),
}

/// The opening key of an epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewOpeningKey {
    /// h, encoded.
    pub h: [u8; 48],
    /// h_w, encoded.
    pub h_w: [u8; 48],
    /// How the key is shared.
    pub sharing: SharingRecord,
}

impl EpochRecord {
    /// Encodes the body.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![KIND_EPOCH];
        out.extend_from_slice(&self.epoch.to_be_bytes());
        out.extend_from_slice(&self.previous.0);
        out.extend_from_slice(&self.start.to_be_bytes());
        self.change.write(&mut out);
        out
    }

    pub(crate) fn decode(scheme: Scheme, body: &[u8]) -> Option<Self> {
        let mut fields = Fields(body.strip_prefix(&[KIND_EPOCH])?);
        let (epoch, previous, start) = (fields.u32()?, fields.array()?, fields.u64()?);
        let change = Change::read(scheme, &mut fields)?;
        fields.0.is_empty().then_some(Self {
            epoch,
            previous: EpochId(previous),
            start,
            change,
        })
    }

    /// The epoch id of this epoch.
    pub fn epoch_id(&self) -> EpochId {
        EpochId(body_hash(&self.encode()))
    }
}

impl Change {
    /// The revocation that leads to the epoch with this public key.
    pub fn revocation_bbs04(revocation: &bbs04::Revocation, next: &bbs04::PublicKey) -> Self {
        Self::Bbs04Revocation {
            revocation: Box::new(revocation.to_bytes()),
            w: Box::new(next.w_bytes()),
        }
    }

    /// A revocation.
    pub fn revocation_xr(revocation: &xr::Revocation) -> Self {
        Self::XrRevocation(Box::new(revocation.to_bytes()))
    }

    /// A new opening key: that of the epoch's public key, or the same with other trustees.
    pub fn sharing(next: &xr::PublicKey, sharing: SharingRecord) -> Self {
        Self::Sharing(Box::new(NewOpeningKey {
            h: next.h().to_bytes(),
            h_w: next.h_w().to_bytes(),
            sharing,
        }))
    }

    /// Whether a machine is revoked.
    pub fn is_revocation(&self) -> bool {
        !matches!(self, Self::Sharing(_))
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Bbs04Revocation { revocation, w } => {
                out.push(CHANGE_REVOCATION);
                out.extend_from_slice(&revocation[..]);
                out.extend_from_slice(&w[..]);
            }
            Self::XrRevocation(revocation) => {
                out.push(CHANGE_REVOCATION);
                out.extend_from_slice(&revocation[..]);
            }
            Self::Sharing(new) => {
                out.push(CHANGE_SHARING);
                out.extend_from_slice(&new.h);
                out.extend_from_slice(&new.h_w);
                new.sharing.write(out);
            }
        }
    }

    fn read(scheme: Scheme, fields: &mut Fields<'_>) -> Option<Self> {
        Some(match (fields.u8()?, scheme) {
            (CHANGE_REVOCATION, Scheme::Bbs04) => Self::Bbs04Revocation {
                revocation: Box::new(fields.array()?),
                w: Box::new(fields.array()?),
            },
            (CHANGE_REVOCATION, Scheme::Xr) => Self::XrRevocation(Box::new(fields.array()?)),
            (CHANGE_SHARING, Scheme::Xr) => Self::Sharing(Box::new(NewOpeningKey {
                h: fields.array()?,
                h_w: fields.array()?,
                sharing: SharingRecord::read(scheme, fields)?,
            })),
            _ => return None,
        })
    }
}
