//! Bringing a member key to the epochs in force and announced, without the manager.

use crate::witness_file::Need;
use crate::{HeldEpoch, MAX_HELD_EPOCHS, MemberKeyFile};
use clew_evidence::{Change, CheckedGroup, Follow, GroupFile, GroupId, WallTime};
use clew_group::curve::Scalar;
use clew_group::{Scheme, Witness};
use std::ops::RangeInclusive;
use thiserror::Error;

/// Why a member key was not updated. It stays as it was.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UpdateError {
    /// The key belongs to another group.
    #[error("key belongs to group {key}, group file to group {file}")]
    OtherGroup {
        /// The key's group.
        key: GroupId,
        /// The file's group.
        file: GroupId,
    },
    /// The key holds an epoch that the group file does not have yet.
    #[error("need a group file with epoch {key}, have one up to epoch {file}")]
    KeyIsNewer {
        /// The newest epoch of the key.
        key: u32,
        /// The newest epoch of the file.
        file: u32,
    },
    /// The key and the file know different histories of the group.
    #[error(
        "key and group file differ about epoch {epoch}: someone shows two histories of the group; do \
         not sign"
    )]
    OtherHistory {
        /// The first held epoch for which they differ.
        epoch: u32,
    },
    /// This machine was revoked, and the epoch that locks it out is in force.
    #[error("this machine was revoked in epoch {epoch}")]
    Revoked {
        /// The epoch from which it is locked out.
        epoch: u32,
    },
    /// The group ended: nobody signs in it any more.
    #[error("the group ended in epoch {epoch}")]
    Ended {
        /// The epoch that ended it.
        epoch: u32,
    },
    /// A rebase lies between the epochs that the key holds and one that it needs.
    #[error(
        "need the witness of row {index} in epoch {epoch}, which only the manager can give",
        index = .0.index, epoch = .0.epoch
    )]
    NeedsWitness(Need),
    /// The group file's values do not lead to a key that signs: it must not be used.
    #[error("the updated key does not work in epoch {epoch}")]
    BadUpdate {
        /// The epoch of the bad key.
        epoch: u32,
    },
}

/// A key that was brought up to date.
#[derive(Clone, Debug)]
pub struct Updated {
    /// The key, with the epoch in force and those announced.
    pub key: MemberKeyFile,
    /// The announced epoch that will lock this machine out.
    pub revoked: Option<u32>,
}

/// Where an update finds witnesses beside the key.
pub trait Witnesses {
    /// Looks for one.
    fn find(&mut self, need: &Need) -> Option<Witness>;

    /// Witnesses of this machine that the manager gave again, with their epochs.
    fn given(&self) -> &[(u32, Witness)] {
        &[]
    }
}

/// No witnesses beside the key.
#[derive(Clone, Copy, Debug)]
pub struct NoWitnesses;

impl Witnesses for NoWitnesses {
    fn find(&mut self, _: &Need) -> Option<Witness> {
        None
    }
}

/// Brings a key to the epoch in force at `now` (nanoseconds since 1970) and those announced after
/// it, at most [`MAX_HELD_EPOCHS`], the nearest first.
///
/// The key never moves past what is in force. A wrong clock harms nothing: with a right one the same
/// call leads back, over a rebase with the help of `witnesses`. Each epoch of the result was checked
/// as signing checks it: a bad update would mark whoever signs with it.
///
/// # Errors
/// [`UpdateError`]; the key is to stay as it was.
pub fn update(
    key: &MemberKeyFile,
    group: &CheckedGroup,
    now: u64,
    witnesses: &mut dyn Witnesses,
) -> Result<Updated, UpdateError> {
    check_same_history(key, group)?;
    let wanted = held_epochs(group, now);
    let revoked = revoked_in(key, group);
    if let Some(epoch) = revoked.filter(|epoch| epoch <= wanted.start()) {
        return Err(UpdateError::Revoked { epoch });
    }
    let end = group.end().map(|(epoch, _)| epoch);
    if let Some(epoch) = end.filter(|epoch| epoch <= wanted.start()) {
        return Err(UpdateError::Ended { epoch });
    }
    let last = revoked.into_iter().chain(end).min();
    let before = |epoch: &u32| last.is_none_or(|last| *epoch < last);
    let epochs = Sources::new(key, group, witnesses).all(wanted.filter(before))?;
    let key = MemberKeyFile {
        epochs,
        ..key.clone()
    };
    match key
        .epochs
        .iter()
        .find(|held| key.signing_key(held).is_err())
    {
        Some(HeldEpoch { epoch, .. }) => Err(UpdateError::BadUpdate { epoch: *epoch }),
        None => Ok(Updated { key, revoked }),
    }
}

/// The epoch in force at `now` and those announced after it, as many as a key holds.
pub fn held_epochs(group: &GroupFile, now: u64) -> RangeInclusive<u32> {
    let in_force = group.epoch_at(WallTime::from_nanos(now));
    let last = in_force.saturating_add(MAX_HELD_EPOCHS as u32 - 1);
    in_force..=last.min(group.newest_epoch())
}

/// Witnesses that are at hand, and where to find others.
struct Sources<'a> {
    group: &'a CheckedGroup,
    x: &'a Scalar,
    need: Need,
    known: Vec<(u32, Witness)>,
    beside: &'a mut dyn Witnesses,
}

impl<'a> Sources<'a> {
    fn new(key: &'a MemberKeyFile, group: &'a CheckedGroup, beside: &'a mut dyn Witnesses) -> Self {
        let held = key
            .epochs
            .iter()
            .map(|held| (held.epoch, held.witness.clone()));
        let known = held.chain(beside.given().iter().cloned()).collect();
        Self {
            group,
            x: key.key.x(),
            need: Need {
                group: key.group,
                epoch: 0,
                index: key.index,
            },
            known,
            beside,
        }
    }

    fn all(&mut self, epochs: impl Iterator<Item = u32>) -> Result<Vec<HeldEpoch>, UpdateError> {
        let mut held = Vec::new();
        for epoch in epochs {
            let witness = self.witness(epoch)?;
            self.known.push((epoch, witness.clone()));
            let bad = UpdateError::BadUpdate { epoch };
            held.push(HeldEpoch::of(self.group, epoch, witness).ok_or(bad)?);
        }
        Ok(held)
    }

    fn witness(&mut self, epoch: u32) -> Result<Witness, UpdateError> {
        let revoked = |_| UpdateError::Revoked { epoch };
        match self.nearest(epoch) {
            Some((witness, Follow::Steps(steps))) => witness.after(self.x, steps).map_err(revoked),
            Some((witness, Follow::Back(steps))) => Ok(witness.before(self.x, steps)),
            _ => self.rebased(epoch),
        }
    }

    /// The known witness with the fewest steps to `epoch`, without a rebase between.
    fn nearest(&self, epoch: u32) -> Option<(&Witness, Follow<'a>)> {
        let ways = self.known.iter().filter_map(|(from, witness)| {
            let way = self.group.path(*from, epoch)?;
            let steps = match way {
                Follow::Steps(steps) | Follow::Back(steps) => steps.len(),
                Follow::Rebase { .. } => return None,
            };
            Some((steps, (witness, way)))
        });
        ways.min_by_key(|(steps, _)| *steps).map(|(_, way)| way)
    }

    /// By the manager's witness of the last rebase.
    fn rebased(&mut self, epoch: u32) -> Result<Witness, UpdateError> {
        let base = self.group.hashed_since(epoch);
        let need = Need {
            epoch: base,
            ..self.need
        };
        let found = self.beside.find(&need);
        let witness = found.ok_or(UpdateError::NeedsWitness(need))?;
        match self.group.path(base, epoch) {
            Some(Follow::Steps(steps)) => {
                let after = witness.after(self.x, steps);
                after.map_err(|_| UpdateError::Revoked { epoch })
            }
            _ => Err(UpdateError::BadUpdate { epoch }),
        }
    }
}

/// The epoch of the file that revokes the key's machine.
fn revoked_in(key: &MemberKeyFile, group: &GroupFile) -> Option<u32> {
    let x = match key.scheme() {
        Scheme::Xr => Some(key.key.x().to_bytes()),
        Scheme::Bbs04 => None, // no x* is ever published
    };
    let revokes = |change: &Change| match change {
        Change::Steps(steps) => x.is_some_and(|x| steps.iter().any(|step| same(&step[..32], &x))),
        Change::Rebase { revoked } => revoked.binary_search(&key.index).is_ok(),
        Change::Sharing(_) | Change::Log(_) | Change::End(_) => false,
    };
    let mut records = group.epochs().iter();
    records
        .find(|record| revokes(&record.change))
        .map(|record| record.epoch)
}

/// Whether both are equal, in time that does not depend on where they differ.
fn same(one: &[u8], other: &[u8; 32]) -> bool {
    let differing = one.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b));
    std::hint::black_box(differing) == 0
}

fn check_same_history(key: &MemberKeyFile, group: &GroupFile) -> Result<(), UpdateError> {
    if key.group != group.id() {
        return Err(UpdateError::OtherGroup {
            key: key.group,
            file: group.id(),
        });
    }
    let file = group.newest_epoch();
    if let Some(newer) = key.epochs.iter().find(|held| held.epoch > file) {
        let key = key.newest().map_or(newer.epoch, |held| held.epoch);
        return Err(UpdateError::KeyIsNewer { key, file });
    }
    match key.epochs.iter().find(|held| !is_of(held, group)) {
        Some(held) => Err(UpdateError::OtherHistory { epoch: held.epoch }),
        None => Ok(()),
    }
}

/// Whether the file has this epoch with this record and this public key.
fn is_of(held: &HeldEpoch, group: &GroupFile) -> bool {
    let public = group.public_key(held.epoch).and_then(Result::ok);
    group.epoch_id(held.epoch) == Some(held.id) && public.as_ref() == Some(&held.public)
}
