//! Bringing a member key to the current epoch, without the manager.

use crate::keys::MemberKeyFile;
use clew_evidence::{GroupFile, GroupFileError, GroupId};
use clew_group::bbs04::SigningKey;
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
    /// The key's own public key is not the one that the file has for its epoch.
    OtherPublicKey,
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
            Self::OtherPublicKey => {
                f.write_str("the key's public key is not the group file's for that epoch")
            }
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

/// Follows every revocation since the key's epoch, and checks the result before it is ever used:
/// a bad update would tag whoever signs with it.
pub fn update(key: &MemberKeyFile, group: &GroupFile) -> Result<MemberKeyFile, UpdateError> {
    check_same_group(key, group)?;
    let mut member = key.key.clone();
    for (epoch, revocation) in (key.epoch + 1..).zip(group.revocations_after(key.epoch)) {
        member = member
            .after(&revocation?)
            .map_err(|_| UpdateError::Revoked { epoch })?;
    }
    let epoch = group.newest_epoch();
    let public = group.public_key(epoch).ok_or(UpdateError::BadUpdate)??;
    SigningKey::new(&public, member.clone()).map_err(|_| UpdateError::BadUpdate)?;
    Ok(MemberKeyFile {
        epoch,
        public,
        key: member,
        ..key.clone()
    })
}

fn check_same_group(key: &MemberKeyFile, group: &GroupFile) -> Result<(), UpdateError> {
    if key.group != group.id() {
        return Err(UpdateError::OtherGroup {
            key: key.group,
            file: group.id(),
        });
    }
    let newest = group.newest_epoch();
    let public = group
        .public_key(key.epoch)
        .ok_or(UpdateError::KeyIsNewer {
            key: key.epoch,
            file: newest,
        })??;
    if public == key.public {
        Ok(())
    } else {
        Err(UpdateError::OtherPublicKey)
    }
}
