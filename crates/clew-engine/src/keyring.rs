//! The groups that a verifier was given, with keys prepared when they are first needed.

use clew_evidence::{GroupFile, GroupFileError, WallTime, short_epoch_id};
use clew_group::{Scheme, VerifyingKey};
use clew_packet::{GroupTag, KeySource, Timestamp, Unknown};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{error, fmt};

/// Most prepared keys that are kept: 64 epochs, 29 MB.
pub const PREPARED_MAX: usize = 64;

/// Group files, one of each group, and the prepared keys of the epochs used last.
#[derive(Default)]
pub struct Keyring {
    groups: Vec<GroupFile>,
    prepared: Mutex<VecDeque<Prepared>>,
}

struct Prepared {
    group: GroupTag,
    epoch: u32,
    key: Result<Arc<VerifyingKey>, GroupFileError>,
}

/// Two files show two histories of one group (`spec/group-file.md` section 4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TwoHistories {
    /// The first epoch for which they differ.
    pub epoch: u32,
    /// The short forms of its ids, of the file that came first and of the other.
    pub ids: [String; 2],
}

impl fmt::Display for TwoHistories {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (epoch, [one, other]) = (self.epoch, &self.ids);
        write!(
            f,
            "group files differ about epoch {epoch}, {one} and {other}: someone shows two \
             histories of the group"
        )
    }
}

impl error::Error for TwoHistories {}

impl From<GroupFile> for Keyring {
    /// Returns a keyring of one group.
    fn from(group: GroupFile) -> Self {
        Self {
            groups: vec![group],
            ..Self::default()
        }
    }
}

impl Keyring {
    /// Adds a group file. Of files with one history the newest counts, in whatever order they come.
    ///
    /// # Errors
    /// Another file of this group has another history. The keyring stays as it is.
    pub fn add(&mut self, group: GroupFile) -> Result<(), TwoHistories> {
        let tag = group.id().tag();
        let Some(held) = self.groups.iter_mut().find(|held| held.id().tag() == tag) else {
            self.groups.push(group);
            return Ok(());
        };
        compare(held, &group)?;
        if age(&group) > age(held) {
            *held = group;
            self.prepared().clear();
        }
        Ok(())
    }

    /// Returns the group with that tag.
    pub fn group(&self, tag: GroupTag) -> Option<&GroupFile> {
        self.groups.iter().find(|group| group.id().tag() == tag)
    }

    /// Returns what is wrong with keys that were needed lately. Their epochs count as unknown.
    pub fn defects(&self) -> Vec<GroupFileError> {
        let prepared = self.prepared();
        let defects = prepared.iter().filter_map(|p| p.key.as_ref().err());
        defects.cloned().collect()
    }

    fn prepared(&self) -> MutexGuard<'_, VecDeque<Prepared>> {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn prepare(
        &self,
        group: GroupTag,
        epoch: u32,
    ) -> Option<Result<Arc<VerifyingKey>, GroupFileError>> {
        let group = self.group(group)?;
        let id = group.epoch_id(epoch)?;
        let key = group.public_key(epoch)?;
        Some(key.map(|public| Arc::new(VerifyingKey::new(&public, id))))
    }
}

/// Compares the epochs that both files have.
fn compare(one: &GroupFile, other: &GroupFile) -> Result<(), TwoHistories> {
    let common = 0..=one.newest_epoch().min(other.newest_epoch());
    let ids = common.map(|epoch| (epoch, one.epoch_id(epoch), other.epoch_id(epoch)));
    let Some((epoch, one, other)) = { ids }.find(|(_, one, other)| one != other) else {
        return Ok(());
    };
    let ids = [one, other].map(|id| id.map_or_else(String::new, |id| short_epoch_id(&id)));
    Err(TwoHistories { epoch, ids })
}

/// Orders the files of one history by their age.
fn age(group: &GroupFile) -> (u32, u32, WallTime) {
    let register = group.register();
    (group.newest_epoch(), register.machines, register.time)
}

impl KeySource for Keyring {
    fn scheme(&self, group: GroupTag) -> Result<Scheme, Unknown> {
        Ok(self.group(group).ok_or(Unknown::Group)?.scheme())
    }

    fn successor_start(&self, group: GroupTag, epoch: u32) -> Result<Option<Timestamp>, Unknown> {
        let group = self.group(group).ok_or(Unknown::Group)?;
        let is_end = group.end().is_some_and(|(end, _)| end == epoch);
        if epoch > group.newest_epoch() || is_end {
            return Err(Unknown::Epoch);
        }
        let start = group.start(epoch + 1);
        Ok(start.map(|start| Timestamp(start.as_nanos())))
    }

    fn key(&self, group: GroupTag, epoch: u32) -> Option<Arc<VerifyingKey>> {
        let mut prepared = self.prepared();
        let mut known = prepared.iter();
        if let Some(found) = known.find(|p| p.group == group && p.epoch == epoch) {
            return found.key.clone().ok();
        }
        let key = self.prepare(group, epoch)?;
        if prepared.len() == PREPARED_MAX {
            prepared.pop_front();
        }
        let usable = key.clone().ok();
        prepared.push_back(Prepared { group, epoch, key });
        usable
    }
}
