//! The rule for a group file that takes the place of another one: same group, same history, not older.

use crate::failure::Failure;
use crate::groups::read_group_file;
use clew_engine::TwoHistories;
use clew_evidence::{GroupFile, short_epoch_id};
use clew_group::EpochId;
use clew_packet::GroupTag;
use std::path::Path;
use std::{error, fmt};

/// How new a group file is: its newest epoch, and when its register was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Newest {
    /// The group.
    pub group: GroupTag,
    /// The newest epoch.
    pub epoch: u32,
    /// That epoch's id, which another history of the group cannot have.
    pub id: EpochId,
    /// When the register was written, in nanoseconds.
    pub time: u64,
}

/// Why a group file does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoSuccessor {
    /// It is another group's.
    OtherGroup {
        /// The group of the file that is known.
        known: GroupTag,
        /// The group of this one.
        found: GroupTag,
    },
    /// It has another history.
    TwoHistories(TwoHistories),
    /// It is older. Its newest epoch, and the one that is known.
    Older(u32, u32),
}

impl fmt::Display for NoSuccessor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherGroup { known, found } => write!(
                f,
                "this is another group's file now: group {found} in the place of group {known}"
            ),
            Self::TwoHistories(two) => two.fmt(f),
            Self::Older(has, known) if has == known => {
                write!(
                    f,
                    "this file is older than one read before, of epoch {known}, too"
                )
            }
            Self::Older(has, known) => write!(
                f,
                "this file is older than one read before: it ends with epoch {has}, and epoch {known} \
                 is known"
            ),
        }
    }
}

impl error::Error for NoSuccessor {}

impl Newest {
    /// Returns how new a file is.
    pub fn of(group: &GroupFile) -> Option<Self> {
        let epoch = group.newest_epoch();
        Some(Self {
            group: group.id().tag(),
            epoch,
            id: group.epoch_id(epoch)?,
            time: group.register().time.as_nanos(),
        })
    }

    /// Checks that a file may take the place of the one that this was read from.
    ///
    /// # Errors
    /// It is another group's, has another history, or is older.
    pub fn check(&self, group: &GroupFile) -> Result<(), NoSuccessor> {
        let (known, found) = (self.group, group.id().tag());
        if found != known {
            return Err(NoSuccessor::OtherGroup { known, found });
        }
        let (has, known) = (group.newest_epoch(), self.epoch);
        let Some(id) = group.epoch_id(known) else {
            return Err(NoSuccessor::Older(has, known));
        };
        if id != self.id {
            return Err(NoSuccessor::TwoHistories(TwoHistories {
                epoch: known,
                ids: [self.id, id].map(|id| short_epoch_id(&id)),
            }));
        }
        match has == known && group.register().time.as_nanos() < self.time {
            true => Err(NoSuccessor::Older(has, known)),
            false => Ok(()),
        }
    }
}

/// Reads a group file that follows one that was read before.
///
/// # Errors
/// It cannot be read, or may not take the place of that one.
pub fn read_successor(path: &Path, known: &Newest) -> Result<GroupFile, Failure> {
    let group = read_group_file(path)?;
    follows(path, known, &group)?;
    Ok(group)
}

/// Checks that a file that was read follows one that was read before.
///
/// # Errors
/// It may not take the place of that one.
pub fn follows(path: &Path, known: &Newest, group: &GroupFile) -> Result<(), Failure> {
    known.check(group).map_err(|refused| {
        let failure = Failure::file(path, &refused);
        match refused {
            NoSuccessor::OtherGroup { .. } => failure,
            NoSuccessor::TwoHistories(_) => {
                failure.hint("compare the ids with those of other machines")
            }
            NoSuccessor::Older(..) => failure.hint("get the newest group file"),
        }
    })
}
