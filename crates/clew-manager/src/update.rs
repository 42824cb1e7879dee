//! Bringing a member key to the current epoch, without the manager.

use crate::keys::MemberKeyFile;
use clew_evidence::{GroupChange, GroupFile, GroupFileError, GroupId};
use clew_group::{EpochId, MemberKey, PublicKey, SigningKey};
use std::fmt;

/// Why a member key was not updated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpdateError {
    /// The key belongs to another group.
    OtherGroup {
        /// The key's group.
        key: GroupId,
        /// The file's group.
        file: GroupId,
    },
    /// The key is of an epoch that the group file does not have yet.
    KeyIsNewer {
        /// The key's epoch.
        key: u32,
        /// The newest epoch of the file.
        file: u32,
    },
    /// The key and the file know different histories of the group.
    OtherHistory {
        /// The epoch of the key, for which they differ.
        epoch: u32,
    },
    /// This machine was revoked.
    Revoked {
        /// The epoch from which it is locked out.
        epoch: u32,
    },
    /// The file's values do not lead to a key that signs: it must not be used.
    BadUpdate,
    /// The group file is wrong.
    GroupFile(GroupFileError),
}

impl fmt::Display for UpdateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherGroup { key, file } => {
                write!(
                    f,
                    "the key is of group {key}, the group file of group {file}"
                )
            }
            Self::KeyIsNewer { key, file } => {
                write!(
                    f,
                    "the key is of epoch {key}, the group file ends at epoch {file}"
                )
            }
            Self::OtherHistory { epoch } => write!(
                f,
                "the key and the group file have different records of epoch {epoch}: somebody shows \
                 two histories of this group, do not sign"
            ),
            Self::Revoked { epoch } => write!(f, "this machine was revoked in epoch {epoch}"),
            Self::BadUpdate => f.write_str("the group file's update does not give a working key"),
            Self::GroupFile(error) => write!(f, "group file: {error}"),
        }
    }
}

impl std::error::Error for UpdateError {}

impl From<GroupFileError> for UpdateError {
    fn from(error: GroupFileError) -> Self {
        Self::GroupFile(error)
    }
}

/// Follows every change since the key's epoch, and checks the result before it is ever used: a bad
/// update would tag whoever signs with it.
pub fn update(key: &MemberKeyFile, group: &GroupFile) -> Result<MemberKeyFile, UpdateError> {
    check_same_history(key, group)?;
    let mut member = key.key.clone();
    for epoch in key.epoch + 1..=group.newest_epoch() {
        let change = group.change(epoch).ok_or(UpdateError::BadUpdate)??;
        member = follow(&member, &change, epoch)?;
    }
    let epoch = group.newest_epoch();
    let (public, id) = public_key(group, epoch)?;
    SigningKey::new(&public, id, member.clone()).map_err(|_| UpdateError::BadUpdate)?;
    Ok(MemberKeyFile {
        epoch,
        id,
        public,
        key: member,
        ..key.clone()
    })
}

/// The member key after the change that made `epoch`.
fn follow(member: &MemberKey, change: &GroupChange, epoch: u32) -> Result<MemberKey, UpdateError> {
    let followed = match (member, change) {
        (MemberKey::Bbs04(key), GroupChange::RevocationBbs04(revocation)) => {
            key.after(revocation).map(MemberKey::Bbs04)
        }
        (MemberKey::Xr(key), GroupChange::RevocationXr(revocation)) => {
            key.after(revocation).map(MemberKey::Xr)
        }
        (member, GroupChange::Sharing) => Ok(member.clone()),
        _ => return Err(UpdateError::BadUpdate),
    };
    followed.map_err(|_| UpdateError::Revoked { epoch })
}

fn public_key(group: &GroupFile, epoch: u32) -> Result<(PublicKey, EpochId), UpdateError> {
    let public = group.public_key(epoch).ok_or(UpdateError::BadUpdate)??;
    Ok((public, group.epoch_id(epoch).ok_or(UpdateError::BadUpdate)?))
}

fn check_same_history(key: &MemberKeyFile, group: &GroupFile) -> Result<(), UpdateError> {
    if key.group != group.id() {
        return Err(UpdateError::OtherGroup {
            key: key.group,
            file: group.id(),
        });
    }
    let newest = group.newest_epoch();
    let known = group.epoch_id(key.epoch).ok_or(UpdateError::KeyIsNewer {
        key: key.epoch,
        file: newest,
    })?;
    let (public, _) = public_key(group, key.epoch)?;
    if known == key.id && public == key.public {
        Ok(())
    } else {
        Err(UpdateError::OtherHistory { epoch: key.epoch })
    }
}
