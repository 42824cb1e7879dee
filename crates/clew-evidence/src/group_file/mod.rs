//! The group file (`spec/group-file.md`): what it says, once every rule is checked.

mod checked;
mod read;
mod revoked;
mod rule;

pub use checked::{CheckedGroup, Follow};
pub use read::{GroupFileReader, HEADER, MAX_EPOCHS};
pub use revoked::MAX_STEPS;
pub use rule::{GroupFileError, Rule};

use crate::parts::{
    Change, Checkpoint, End, EpochRecord, Genesis, GroupLog, NewOpeningKey, Origin, RegisterHead,
    SharingRecord,
};
use crate::register::RegisterEntry;
use alloc::vec;
use alloc::vec::Vec;
use clew_group::curve::{G1, Scalar};
use clew_group::quorum::{Quorum, Sharing};
use clew_group::{DecodeError, EpochId, PublicKey, Scheme};
use clew_packet::GroupId;
use clew_wire::WallTime;
use read::Read;
use revoked::Revoked;
use rule::at;

/// A group file whose layout, signatures, chain and first key were checked.
///
/// This is enough for a verifier of packets that trusts the group's manager. It is not enough to
/// open, judge, match, update a key or give a share: V of later epochs stands on the manager's
/// signature only, and a manager with a V of its own choice can frame a machine. These take a
/// [`CheckedGroup`].
#[derive(Clone, Debug)]
pub struct GroupFile {
    id: GroupId,
    genesis: Genesis,
    first_key: PublicKey,
    epochs: Vec<EpochRecord>,
    /// Effective starts of epochs 1 and later.
    starts: Vec<WallTime>,
    /// The epochs that move V, those that do it by a rebase, and those with a new sharing, ascending.
    moves: Vec<u32>,
    rebases: Vec<u32>,
    sharings: Vec<u32>,
    /// The epochs that set another log or none, ascending.
    logs: Vec<u32>,
    revoked: Revoked,
    checkpoints: Vec<Checkpoint>,
    register: RegisterHead,
}

/// How the opening key of some epochs is shared.
#[derive(Clone, Debug)]
pub struct EpochSharing {
    /// The first epoch that it serves.
    pub since: u32,
    /// Where the key comes from.
    pub origin: Origin,
    /// t of n.
    pub quorum: Quorum,
    /// One sharing for each secret, in the order of a decryption's parts: xi with `xr`, xi1 and xi2
    /// with `bbs04`.
    pub parts: Vec<Sharing>,
}

impl GroupFile {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// The first rule of `spec/group-file.md` section 3 that fails, with the number of the part.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, GroupFileError> {
        let mut reader = GroupFileReader::default();
        reader.push(bytes)?;
        reader.finish()
    }

    fn of(read: Read) -> Self {
        let Read {
            genesis,
            epochs,
            checkpoints,
            register,
            revoked,
            first_key,
        } = read;
        let of = |wanted: fn(&Change) -> bool| {
            let records = epochs.iter().filter(|record| wanted(&record.change));
            records.map(|record| record.epoch).collect()
        };
        Self {
            id: genesis.group_id(),
            moves: of(Change::moves_v),
            rebases: of(|change| matches!(change, Change::Rebase { .. })),
            sharings: of(|change| matches!(change, Change::Sharing(_))),
            logs: of(|change| matches!(change, Change::Log(_))),
            starts: effective_starts(&epochs),
            genesis,
            first_key,
            epochs,
            revoked,
            checkpoints,
            register,
        }
    }

    /// Replaces the register's head by another one of the same epochs and checkpoints: what a reader of
    /// the whole file with that head would have, without reading the rest again.
    ///
    /// # Errors
    /// The rule that the part breaks, with its number. The file is as it was.
    pub fn set_head(&mut self, part: &[u8]) -> Result<(), GroupFileError> {
        let number = 1 + self.epochs.len() + self.checkpoints.len();
        let head = read::head(self, part).map_err(|rule| at(number, rule))?;
        self.register = head;
        Ok(())
    }

    /// Returns the group id.
    pub fn id(&self) -> GroupId {
        self.id
    }

    /// Returns the scheme with which members sign.
    pub fn scheme(&self) -> Scheme {
        self.genesis.scheme
    }

    /// Returns record 0.
    pub fn genesis(&self) -> &Genesis {
        &self.genesis
    }

    /// Returns the records of epochs 1 and later.
    pub fn epochs(&self) -> &[EpochRecord] {
        &self.epochs
    }

    /// Returns earlier sizes of the register, smallest first.
    pub fn checkpoints(&self) -> &[Checkpoint] {
        &self.checkpoints
    }

    /// Returns the register's head.
    pub fn register(&self) -> &RegisterHead {
        &self.register
    }

    /// Returns the number of the newest epoch.
    pub fn newest_epoch(&self) -> u32 {
        self.epochs.len() as u32
    }

    /// Returns the record of an epoch. Returns `None` for epoch 0 and for epochs that are not in
    /// the file.
    pub fn record(&self, epoch: u32) -> Option<&EpochRecord> {
        self.epochs.get((epoch as usize).checked_sub(1)?)
    }

    /// Returns the effective start of `epoch`.
    ///
    /// It is the least start of this and all later records: an urgent epoch brings a planned one
    /// forward. Returns `None` for epoch 0 and for epochs that are not in the file.
    pub fn start(&self, epoch: u32) -> Option<WallTime> {
        let index = (epoch as usize).checked_sub(1)?;
        self.starts.get(index).copied()
    }

    /// Returns the epoch that ends the group, and what it says. Returns `None` if the group goes on.
    pub fn end(&self) -> Option<(u32, &End)> {
        read::end_of(&self.epochs).map(|(last, end)| (last.epoch, end))
    }

    /// Returns the epoch in force at a time: the last whose effective start is not after it, else
    /// epoch 0.
    pub fn epoch_at(&self, time: WallTime) -> u32 {
        self.starts.partition_point(|start| *start <= time) as u32
    }

    /// Returns the epoch id of `epoch`. Returns `None` if the file has no such epoch.
    ///
    /// A member whose key has another id for this epoch has seen another history of the group.
    pub fn epoch_id(&self, epoch: u32) -> Option<EpochId> {
        match self.epochs.get(epoch as usize) {
            Some(successor) => Some(successor.previous),
            None if epoch == self.newest_epoch() => Some(self.last_id()),
            None => None,
        }
    }

    /// Returns the epoch id of the newest epoch.
    pub fn last_id(&self) -> EpochId {
        self.register.last
    }

    /// Returns the epoch with that id. Looks at every epoch, newest first.
    pub fn epoch_of(&self, id: &EpochId) -> Option<u32> {
        (0..=self.newest_epoch())
            .rev()
            .find(|epoch| self.epoch_id(*epoch).as_ref() == Some(id))
    }

    /// Returns the public key of epoch 0.
    pub fn first_public_key(&self) -> &PublicKey {
        &self.first_key
    }

    /// Returns the public key of an epoch. Returns `None` if the file has no such epoch.
    ///
    /// Its V stands on the manager's signature alone unless this is a [`CheckedGroup`]: enough to
    /// verify packets.
    ///
    /// # Errors
    /// Rule `public-key` if V or a new opening key does not decode, h_w is not h^gamma, or g1 V is
    /// the identity.
    pub fn public_key(&self, epoch: u32) -> Option<Result<PublicKey, GroupFileError>> {
        if epoch > self.newest_epoch() || self.end().is_some_and(|(end, _)| end == epoch) {
            return None;
        }
        let key = self.with_opening_of(epoch).and_then(|key| {
            let v = self.v_of(epoch)?;
            key.in_epoch(&v).map_err(|_| DecodeError::Identity)
        });
        Some(key.map_err(|_| at(epoch as usize, Rule::PublicKey)))
    }

    /// Returns how the opening key of an epoch is shared. Returns `None` if the file has no such
    /// epoch.
    ///
    /// # Errors
    /// Rule `sharing` if a commitment does not decode, `public-key` as for [`Self::public_key`].
    pub fn sharing(&self, epoch: u32) -> Option<Result<EpochSharing, GroupFileError>> {
        let (since, record) = self.sharing_record(epoch)?;
        let part = since as usize;
        let Ok(key) = self.with_opening_of(epoch) else {
            return Some(Err(at(part, Rule::PublicKey)));
        };
        let sharing = sharings(&key, record).map(|parts| EpochSharing {
            since,
            origin: record.origin,
            quorum: record.quorum,
            parts,
        });
        Some(sharing.map_err(|_| at(part, Rule::Sharing)))
    }

    /// Returns the sharing of an epoch as it stands in a record, unchecked, and the epoch of that
    /// record.
    pub fn sharing_record(&self, epoch: u32) -> Option<(u32, &SharingRecord)> {
        if epoch > self.newest_epoch() {
            return None;
        }
        Some(match self.new_opening_key(epoch) {
            Some((since, new)) => (since, &new.sharing),
            None => (0, &self.genesis.sharing),
        })
    }

    /// Returns the log that the group writes into in `epoch`; in an epoch after the newest, that of
    /// the newest. Returns `None` if the group has no log then.
    pub fn log_at(&self, epoch: u32) -> Option<&GroupLog> {
        match last_not_after(&self.logs, epoch).and_then(|since| self.record(since)) {
            Some(record) => record.change.log(),
            None => self.genesis.log.as_ref(),
        }
    }

    /// Returns the log that the group writes into from its newest epoch on. Returns `None` if it has
    /// none then.
    pub fn newest_log(&self) -> Option<&GroupLog> {
        self.log_at(self.newest_epoch())
    }

    /// Returns every log that the group has written into, oldest first: evidence is judged by the
    /// log of its time.
    pub fn logs(&self) -> impl Iterator<Item = &GroupLog> {
        let later = self.logs.iter().filter_map(|since| self.record(*since));
        let first = self.genesis.log.as_ref();
        first
            .into_iter()
            .chain(later.filter_map(|record| record.change.log()))
    }

    /// Returns whether the group had a log in some epoch up to `epoch`. If [`Self::log_at`] has none
    /// then, the group gave it up.
    pub fn had_log(&self, epoch: u32) -> bool {
        let later = self.logs.iter().take_while(|since| **since <= epoch);
        let mut later = later.filter_map(|since| self.record(*since));
        self.genesis.log.is_some() || later.any(|record| record.change.log().is_some())
    }

    /// Returns the epoch from which the group has no log any more. Returns `None` if it has one from its
    /// newest epoch on, or never had one.
    pub fn log_given_up(&self) -> Option<u32> {
        let has_none = |since: &&u32| {
            let record = self.record(**since);
            record.is_some_and(|record| record.change.log().is_none())
        };
        let since = self.logs.iter().rev().take_while(has_none).last();
        since.copied().filter(|_| self.logs().next().is_some())
    }

    /// Returns the last rebase that is not after `epoch`, else 0: the epoch whose V is hashed, and
    /// from which the steps up to `epoch` count.
    pub fn hashed_since(&self, epoch: u32) -> u32 {
        last_not_after(&self.rebases, epoch).unwrap_or(0)
    }

    /// Returns the epoch from which a machine is revoked, without a pairing.
    ///
    /// With `xr`, `x` is looked for among the x* of steps; the row's index among the lists of rebases
    /// with both schemes. Returns `None` if it is not revoked in this file.
    pub fn revoked_in(&self, entry: &RegisterEntry, x: Option<&Scalar>) -> Option<u32> {
        let by_x = x.and_then(|x| self.revoked.x(&x.to_bytes()));
        let by_row = self.revoked.row(entry.index);
        [by_x, by_row].into_iter().flatten().min()
    }

    /// Returns the root of the register when it had that many machines: of the head or of a
    /// checkpoint.
    pub fn register_root(&self, machines: u32) -> Option<&[u8; 32]> {
        if machines == self.register.machines {
            return Some(&self.register.root);
        }
        let found = self
            .checkpoints
            .binary_search_by_key(&machines, |c| c.machines);
        Some(&self.checkpoints[found.ok()?].root)
    }

    fn new_opening_key(&self, epoch: u32) -> Option<(u32, &NewOpeningKey)> {
        let record = self.record(last_not_after(&self.sharings, epoch)?)?;
        match &record.change {
            Change::Sharing(new) => Some((record.epoch, new)),
            _ => None,
        }
    }

    /// The first key with the opening key of an epoch.
    fn with_opening_of(&self, epoch: u32) -> Result<PublicKey, DecodeError> {
        match (&self.first_key, self.new_opening_key(epoch)) {
            (PublicKey::Xr(first), Some((_, new))) => {
                let (h, h_w) = (G1::from_bytes(&new.h)?, G1::from_bytes(&new.h_w)?);
                let next = first.with_opening(&h, &h_w);
                next.map(PublicKey::Xr).map_err(|_| DecodeError::Point)
            }
            (first, _) => Ok(first.clone()),
        }
    }

    /// V of an epoch, by the manager's word.
    fn v_of(&self, epoch: u32) -> Result<G1, DecodeError> {
        let moved = last_not_after(&self.moves, epoch).unwrap_or(0);
        match self.record(moved).map(|record| &record.change) {
            Some(Change::Steps(steps)) => {
                let last = steps.last().ok_or(DecodeError::Length)?;
                G1::from_bytes(&last[32..])
            }
            _ => Ok(self.hashed_v(moved)),
        }
    }

    /// V of epoch 0, or of a rebase, which its record's id goes into: a store that was restored makes
    /// another V with the same number.
    ///
    /// # Panics
    /// The file has no such epoch.
    fn hashed_v(&self, epoch: u32) -> G1 {
        let (scheme, nonce) = (self.scheme(), &self.genesis.nonce);
        if epoch == 0 {
            return PublicKey::first_v(scheme, nonce);
        }
        let id = self
            .epoch_id(epoch)
            .expect("a rebase is an epoch of the file");
        PublicKey::rebased_v(scheme, nonce, epoch, &id)
    }
}

fn sharings(key: &PublicKey, record: &SharingRecord) -> Result<Vec<Sharing>, DecodeError> {
    let rest = &record.commitments[..];
    match key {
        PublicKey::Xr(key) => {
            let of_xi = Sharing::from_parts(key.u(), key.h(), rest, record.quorum)?;
            Ok(vec![of_xi])
        }
        PublicKey::Bbs04(key) => {
            let (in_u, in_v) = rest.split_at(rest.len() / 2);
            Ok(key.sharings([in_u, in_v], record.quorum)?.to_vec())
        }
    }
}

/// The last of `epochs` (ascending) that is not after `epoch`.
fn last_not_after(epochs: &[u32], epoch: u32) -> Option<u32> {
    let after = epochs.partition_point(|e| *e <= epoch);
    Some(epochs[after.checked_sub(1)?])
}

/// The least start of each record and all later ones.
fn effective_starts(epochs: &[EpochRecord]) -> Vec<WallTime> {
    let mut starts: Vec<WallTime> = epochs.iter().map(|record| record.start).collect();
    for i in (1..starts.len()).rev() {
        starts[i - 1] = starts[i - 1].min(starts[i]);
    }
    starts
}
