//! Record e: a later epoch (spec 2.2).

use super::{GroupLog, KIND_EPOCH, SharingRecord, body_hash, read_size, read_time, write_size};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use clew_group::{EpochId, STEP_BYTES, Scheme, Step, xr};
use clew_wire::{Reader, WallTime};

const CHANGE_STEPS: u8 = 1;
const CHANGE_SHARING: u8 = 2;
const CHANGE_REBASE: u8 = 3;
const CHANGE_LOG: u8 = 4;
const CHANGE_END: u8 = 5;

/// Most steps of one record.
pub const MAX_STEPS_PER_RECORD: usize = 48;

/// Most rows that one rebase revokes.
pub const MAX_REBASE_ROWS: usize = 900;

/// Record e: a later epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpochRecord {
    /// Its number, from 1.
    pub epoch: u32,
    /// The epoch id of the epoch before.
    pub previous: EpochId,
    /// When the record was made.
    pub made: WallTime,
    /// From when on signers use this epoch, unless a later epoch starts before
    /// ([`crate::GroupFile::start`]).
    pub start: WallTime,
    /// Number of entries that the register had when the record was made: the epoch id binds them.
    pub machines: u32,
    /// Merkle tree hash over these entries; zeros if there were none.
    pub root: [u8; 32],
    /// What is new in it.
    pub change: Change,
}

/// What an epoch changes; all else is as in the epoch before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Machines are revoked by steps of the chain (`xr`): x* and V of each, encoded.
    Steps(Vec<[u8; STEP_BYTES]>),
    /// The group gets another opening key, or other trustees (`xr`). V stays.
    Sharing(Box<NewOpeningKey>),
    /// V starts anew from the nonce. Machines need new witnesses from the manager.
    Rebase {
        /// The register rows that this rebase revokes, by index, strictly increasing.
        revoked: Vec<u32>,
    },
    /// The group writes into another log, or into none. V stays.
    Log(Option<Box<GroupLog>>),
    /// The group ends: no packet is valid in this epoch, and no record follows.
    End(End),
}

/// Why and for what a group ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// From when on somebody else may have had the manager's keys. `None` if nobody had.
    pub stolen_since: Option<WallTime>,
    /// Epoch id of epoch 0 of the group that comes after this one, if there is one. It is the word of
    /// whoever had the manager's key: a reader compares it with its operator's before it uses that group.
    pub successor: Option<EpochId>,
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
    ///
    /// More than [`MAX_STEPS_PER_RECORD`] steps or [`MAX_REBASE_ROWS`] rows make a body that no
    /// reader accepts.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![KIND_EPOCH];
        out.extend_from_slice(&self.epoch.to_be_bytes());
        out.extend_from_slice(&self.previous.0);
        out.extend_from_slice(&self.made.as_nanos().to_be_bytes());
        out.extend_from_slice(&self.start.as_nanos().to_be_bytes());
        write_size(&mut out, (self.machines, self.root));
        self.change.write(&mut out);
        out
    }

    pub(crate) fn decode(scheme: Scheme, body: &[u8]) -> Option<Self> {
        let mut fields = Reader(body.strip_prefix(&[KIND_EPOCH])?);
        let (epoch, previous) = (fields.u32()?, fields.array()?);
        let (made, start) = (read_time(&mut fields)?, read_time(&mut fields)?);
        let (machines, root) = read_size(&mut fields)?;
        let change = Change::read(scheme, &mut fields)?;
        fields.0.is_empty().then_some(Self {
            epoch,
            previous: EpochId(previous),
            made,
            start,
            machines,
            root,
            change,
        })
    }

    /// Returns the epoch id of this epoch.
    pub fn epoch_id(&self) -> EpochId {
        EpochId(body_hash(&self.encode()))
    }
}

impl Change {
    /// Revocations by steps, in the order of the chain.
    pub fn steps<'a>(steps: impl IntoIterator<Item = &'a Step>) -> Self {
        Self::Steps(steps.into_iter().map(Step::to_bytes).collect())
    }

    /// Creates a new opening key: that of the epoch's public key, or the same with other trustees.
    pub fn sharing(next: &xr::PublicKey, sharing: SharingRecord) -> Self {
        Self::Sharing(Box::new(NewOpeningKey {
            h: next.h().to_bytes(),
            h_w: next.h_w().to_bytes(),
            sharing,
        }))
    }

    /// Returns whether V is another than in the epoch before.
    pub fn moves_v(&self) -> bool {
        matches!(self, Self::Steps(_) | Self::Rebase { .. })
    }

    /// Returns the log that it sets. Returns `None` if it sets none.
    pub(crate) fn log(&self) -> Option<&GroupLog> {
        match self {
            Self::Log(log) => log.as_deref(),
            _ => None,
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Steps(steps) => {
                out.extend_from_slice(&[CHANGE_STEPS, steps.len() as u8]);
                out.extend_from_slice(steps.as_flattened());
            }
            Self::Sharing(new) => {
                out.push(CHANGE_SHARING);
                out.extend_from_slice(&new.h);
                out.extend_from_slice(&new.h_w);
                new.sharing.write(out);
            }
            Self::Rebase { revoked } => {
                out.push(CHANGE_REBASE);
                out.extend_from_slice(&(revoked.len() as u16).to_be_bytes());
                out.extend(revoked.iter().flat_map(|row| row.to_be_bytes()));
            }
            Self::Log(log) => {
                out.push(CHANGE_LOG);
                GroupLog::write(log.as_deref(), out);
            }
            Self::End(end) => {
                out.push(CHANGE_END);
                let since = end.stolen_since.map_or(0, WallTime::as_nanos);
                out.extend_from_slice(&since.to_be_bytes());
                out.extend_from_slice(&end.successor.map_or([0; 32], |id| id.0));
            }
        }
    }

    fn read(scheme: Scheme, fields: &mut Reader<'_>) -> Option<Self> {
        match (fields.u8()?, scheme) {
            (CHANGE_STEPS, Scheme::Xr) => read_steps(fields),
            (CHANGE_SHARING, Scheme::Xr) => Some(Self::Sharing(Box::new(NewOpeningKey {
                h: fields.array()?,
                h_w: fields.array()?,
                sharing: SharingRecord::read(scheme, fields)?,
            }))),
            (CHANGE_REBASE, _) => read_rebase(fields),
            (CHANGE_LOG, _) => Some(Self::Log(GroupLog::read(fields)?.map(Box::new))),
            (CHANGE_END, _) => Some(Self::End(End {
                stolen_since: match fields.u64()? {
                    0 => None,
                    since => Some(WallTime::from_nanos(since)),
                },
                successor: Some(EpochId(fields.array()?)).filter(|id| id.0 != [0; 32]),
            })),
            _ => None,
        }
    }
}

fn read_steps(fields: &mut Reader<'_>) -> Option<Change> {
    let count = usize::from(fields.u8()?);
    let allowed = (1..=MAX_STEPS_PER_RECORD).contains(&count);
    let (steps, _) = fields.take(count * STEP_BYTES)?.as_chunks();
    allowed.then(|| Change::Steps(steps.to_vec()))
}

fn read_rebase(fields: &mut Reader<'_>) -> Option<Change> {
    let count = usize::from(fields.u16()?);
    let (rows, _) = fields.take(4 * count)?.as_chunks();
    let revoked: Vec<u32> = rows.iter().copied().map(u32::from_be_bytes).collect();
    let increasing = revoked.is_sorted_by(|a, b| a < b);
    (count <= MAX_REBASE_ROWS && increasing).then_some(Change::Rebase { revoked })
}
