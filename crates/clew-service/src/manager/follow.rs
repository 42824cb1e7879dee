//! A group file, brought to what a feed has.

use super::feed::{BUNDLE_RECORDS, cut, joined};
use super::{FeedError, FeedHead, ManagerClient};
use crate::http::ClientError;
use clew_evidence::{GroupFile, GroupFileError, GroupFileReader, GroupId, HEADER, short_epoch_id};
use thiserror::Error;

/// What came of it.
#[derive(Debug)]
pub enum Followed {
    /// The feed has nothing that the file has not.
    Current,
    /// The file as it is to be: checked, of the same history, and newer.
    Newer(Box<GroupFile>, Vec<u8>),
}

/// Why a group file stays as it is.
#[derive(Debug, Error)]
pub enum FollowError {
    /// The feed cannot be fetched.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The feed is of another group.
    #[error("this feed is of group {feed}, not of group {file}")]
    OtherGroup {
        /// The feed's group.
        feed: GroupId,
        /// The file's.
        file: GroupId,
    },
    /// The feed ends before the file.
    #[error(
        "rollback: this feed ends with epoch {feed} and {has} checkpoints, but epoch {file} and \
         {had} checkpoints are known"
    )]
    Rollback {
        /// The feed's newest epoch.
        feed: u32,
        /// The file's.
        file: u32,
        /// The feed's checkpoints.
        has: u32,
        /// The file's.
        had: usize,
    },
    /// The feed has another history.
    #[error(
        "fork: epoch {epoch} has id {feed} in this feed, and id {file} in the file: someone shows two \
         histories of the group; do not sign"
    )]
    Fork {
        /// The file's newest epoch.
        epoch: u32,
        /// Its id in the feed.
        feed: String,
        /// Its id in the file.
        file: String,
    },
    /// The parts of the feed do not make a group file.
    #[error("what the feed has is not a group file: {0}")]
    File(#[from] GroupFileError),
    /// The feed's layout.
    #[error(transparent)]
    Feed(#[from] FeedError),
}

impl FollowError {
    /// Whether the feed shows something that an honest manager never does.
    pub fn is_no(&self) -> bool {
        matches!(
            self,
            Self::OtherGroup { .. } | Self::Rollback { .. } | Self::Fork { .. }
        )
    }
}

/// Fetches what a feed with this head has more than a group file that was read from `bytes`, and checks
/// all of it.
///
/// # Errors
/// [`FollowError`]; the file is to stay.
pub async fn follow(
    client: &ManagerClient,
    head: &FeedHead,
    group: &GroupFile,
    bytes: &[u8],
) -> Result<Followed, FollowError> {
    let (newest, had) = (group.newest_epoch(), group.checkpoints().len());
    if head.group != group.id() {
        return Err(FollowError::OtherGroup {
            feed: head.group,
            file: group.id(),
        });
    }
    if head.records <= newest || (head.checkpoints as usize) < had {
        return Err(FollowError::Rollback {
            feed: head.records - 1,
            file: newest,
            has: head.checkpoints,
            had,
        });
    }
    let (mut bundles, _) = cut(bytes)?;
    let known = newest as usize / BUNDLE_RECORDS; // the bundle of the newest record
    bundles.truncate(known);
    // Each bundle is checked as it comes: nobody signed how many there are.
    let mut reader = GroupFileReader::of_feed();
    reader.push(HEADER)?;
    bundles
        .iter()
        .try_for_each(|known| known.read(&mut reader))?;
    let full = head.records as usize / BUNDLE_RECORDS;
    for number in known..full {
        let bundle = client.bundle(number, BUNDLE_RECORDS, None).await?;
        bundle.read(&mut reader)?;
        bundles.push(bundle);
    }
    let before: usize = bundles.iter().map(|bundle| bundle.checkpoints.len()).sum();
    let left = (head.checkpoints as usize)
        .checked_sub(before)
        .ok_or(FeedError::Head)?;
    let records = head.records as usize - full * BUNDLE_RECORDS;
    if records + left > 0 {
        let bundle = client.bundle(full, records, Some(left)).await?;
        bundle.read(&mut reader)?;
        bundles.push(bundle);
    }
    reader.push(&head.register)?;
    let newer = reader.finish()?;
    let bytes = joined(&bundles, &head.register);
    check(group, &newer)?;
    let is_current = newer.newest_epoch() == newest && newer.checkpoints().len() == had;
    match is_current {
        true => Ok(Followed::Current),
        false => Ok(Followed::Newer(Box::new(newer), bytes)),
    }
}

/// Checks that a file follows another one.
fn check(group: &GroupFile, newer: &GroupFile) -> Result<(), FollowError> {
    let epoch = group.newest_epoch();
    if newer.id() != group.id() {
        return Err(FollowError::OtherGroup {
            feed: newer.id(),
            file: group.id(),
        });
    }
    let found = newer.epoch_id(epoch);
    if found == Some(group.last_id()) {
        return Ok(());
    }
    Err(FollowError::Fork {
        epoch,
        feed: found.map_or_else(String::new, |id| short_epoch_id(&id)),
        file: short_epoch_id(&group.last_id()),
    })
}
