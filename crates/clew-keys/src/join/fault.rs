//! Why a device does not go on with a join.

use clew_evidence::GroupId;
use clew_group::xr::JoinError;
use thiserror::Error;

/// Why a device does not take what it was given. Nothing of what it keeps was changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JoinFault {
    /// Machines of a `bbs04` group do not join: the issuer makes their keys.
    #[error("machines cannot join a bbs04 group: the issuer generates their keys")]
    NoJoin,
    /// The invitation is to another group than the group file's.
    #[error("invitation belongs to group {invitation}, group file to group {file}")]
    OtherGroup {
        /// The invitation's group.
        invitation: GroupId,
        /// The group file's.
        file: GroupId,
    },
    /// The group's manager did not sign the invitation.
    #[error("the group's manager did not sign this invitation")]
    NotTheManagers,
    /// The file answers another invitation than the one that this device has.
    #[error("belongs to another join")]
    OtherJoin,
    /// The device has accepted another offer.
    #[error("this device has accepted another offer")]
    OtherOffer,
    /// The device has not accepted an offer yet.
    #[error("this device has not accepted an offer yet")]
    NoOffer,
    /// The offer is for a join on the issuer's host, or for an attested device key.
    #[error("the offer is not for a join from the device's own host")]
    How,
    /// The group file does not have this epoch yet.
    #[error("need a group file with epoch {epoch}, have one up to epoch {newest}")]
    NoSuchEpoch {
        /// The epoch.
        epoch: u32,
        /// The newest epoch of the file.
        newest: u32,
    },
    /// The issuer's record of this epoch is not the group file's.
    #[error(
        "issuer and group file differ about epoch {epoch}: someone shows two histories of the group"
    )]
    OtherHistory {
        /// The epoch.
        epoch: u32,
    },
    /// The issuer's values do not hold for the request in this state.
    #[error("the offer does not match this state's request")]
    Join(#[from] JoinError),
    /// A witness is not that of this machine in this epoch.
    #[error("the witness of epoch {epoch} is not this machine's")]
    Witness {
        /// The epoch.
        epoch: u32,
    },
}

impl JoinFault {
    /// The name of the rule.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::NoJoin => "no-join",
            Self::OtherGroup { .. } => "other-group",
            Self::NotTheManagers => "not-the-managers",
            Self::OtherJoin => "other-join",
            Self::OtherOffer => "other-offer",
            Self::NoOffer => "no-offer",
            Self::How => "how",
            Self::NoSuchEpoch { .. } => "no-such-epoch",
            Self::OtherHistory { .. } => "other-history",
            Self::Join(_) => "join",
            Self::Witness { .. } => "witness",
        }
    }
}
