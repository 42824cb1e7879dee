//! Who spoilt a join, and how.

use core::fmt;

/// Why a join came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinError {
    /// The device did not prove, in this session, that it knows the y' of its C' = h0^y'.
    DeviceDoesNotKnowY,
    /// The issuer drew an x of zero or -gamma. It draws another.
    UnfitX,
    /// The issuer drew the s for which y = y' + s is zero. It draws another.
    UnfitS,
    /// The issuer's A is not a credential on the device's secret under the group's key.
    IssuerOfferedNoCredential,
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DeviceDoesNotKnowY => {
                "the device did not prove that it knows the secret it commits to"
            }
            Self::UnfitX => "this x fits no member; draw another",
            Self::UnfitS => "this s cancels the device's secret; draw another",
            Self::IssuerOfferedNoCredential => {
                "the issuer offers a point that is not a credential on the device's secret"
            }
        })
    }
}

impl core::error::Error for JoinError {}
