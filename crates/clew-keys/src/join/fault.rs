//! Why a device does not go on with a join.

use clew_evidence::GroupId;
use clew_group::xr::JoinError;
use std::fmt;

/// Why a device does not take what it was given. Nothing of what it keeps was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JoinFault {
    /// Machines of a `bbs04` group do not join: the issuer makes their keys.
    NoJoin,
    /// The invitation is to another group than the group file's.
    OtherGroup {
        /// The invitation's group.
        invitation: GroupId,
        /// The group file's.
        file: GroupId,
    },
    /// The group's manager did not sign the invitation.
    NotTheManagers,
    /// The file answers another invitation than the one that this device has.
    OtherJoin,
    /// The device has accepted another offer.
    OtherOffer,
    /// The device has not accepted an offer yet.
    NoOffer,
    /// The offer is for a join on the issuer's host, or for an attested device key.
    How,
    /// The group file does not have this epoch yet.
    NoSuchEpoch {
        /// The epoch.
        epoch: u32,
        /// The newest epoch of the file.
        newest: u32,
    },
    /// The issuer's record of this epoch is not the group file's.
    OtherHistory {
        /// The epoch.
        epoch: u32,
    },
    /// The issuer's values do not hold for the request in this state.
    Join(JoinError),
    /// A witness is not that of this machine in this epoch.
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

impl From<JoinError> for JoinFault {
    fn from(error: JoinError) -> Self {
        Self::Join(error)
    }
}

impl fmt::Display for JoinFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoJoin => {
                f.write_str("machines cannot join a bbs04 group: the issuer generates their keys")
            }
            Self::OtherGroup { invitation, file } => write!(
                f,
                "invitation belongs to group {invitation}, group file to group {file}"
            ),
            Self::NotTheManagers => f.write_str("the group's manager did not sign this invitation"),
            Self::OtherJoin => f.write_str("belongs to another join"),
            Self::OtherOffer => f.write_str("this device has accepted another offer"),
            Self::NoOffer => f.write_str("this device has not accepted an offer yet"),
            Self::How => f.write_str("the offer is not for a join from the device's own host"),
            Self::NoSuchEpoch { epoch, newest } => write!(
                f,
                "need a group file with epoch {epoch}, have one up to epoch {newest}"
            ),
            Self::OtherHistory { epoch } => write!(
                f,
                "issuer and group file differ about epoch {epoch}: someone shows two histories of \
                 the group"
            ),
            Self::Join(_) => f.write_str("the offer does not match this state's request"),
            Self::Witness { epoch } => {
                write!(f, "the witness of epoch {epoch} is not this machine's")
            }
        }
    }
}

impl std::error::Error for JoinFault {}
