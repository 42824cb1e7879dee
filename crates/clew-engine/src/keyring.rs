//! The groups that a verifier was given, with keys prepared when they are first needed.

use clew_evidence::{GroupFile, GroupFileError};
use clew_group::{Scheme, VerifyingKey};
use clew_packet::{GroupTag, KeySource, Timestamp, Unknown};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most prepared keys that are kept: 64 epochs, 29 MB.
pub const PREPARED_MAX: usize = 64;

/// Group files, and the prepared keys of the epochs used last.
pub struct Keyring {
    groups: Vec<GroupFile>,
    prepared: Mutex<VecDeque<Prepared>>,
}

struct Prepared {
    group: GroupTag,
    epoch: u32,
    key: Result<Arc<VerifyingKey>, GroupFileError>,
}

impl Keyring {
    /// Returns a keyring of these groups.
    pub fn new(groups: Vec<GroupFile>) -> Self {
        Self {
            groups,
            prepared: Mutex::new(VecDeque::new()),
        }
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

impl KeySource for Keyring {
    fn scheme(&self, group: GroupTag) -> Result<Scheme, Unknown> {
        Ok(self.group(group).ok_or(Unknown::Group)?.scheme())
    }

    fn successor_start(&self, group: GroupTag, epoch: u32) -> Result<Option<Timestamp>, Unknown> {
        let group = self.group(group).ok_or(Unknown::Group)?;
        if epoch > group.newest_epoch() {
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
