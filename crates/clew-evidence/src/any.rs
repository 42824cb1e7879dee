//! Stand-in for `clew_group::PublicKey` until the branch that has it is merged.

use clew_group::{DecodeError, Invalid, Scheme, bbs04, xr};

/// The group public key of one epoch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PublicKey {
    /// Of BBS04.
    Bbs04(bbs04::PublicKey),
    /// Of XR.
    Xr(xr::PublicKey),
}

impl PublicKey {
    /// Decodes, with the checks of every point.
    pub fn from_bytes(scheme: Scheme, bytes: &[u8]) -> Result<Self, DecodeError> {
        match scheme {
            Scheme::Bbs04 => bbs04::PublicKey::from_bytes(bytes).map(Self::Bbs04),
            Scheme::Xr => xr::PublicKey::from_bytes(bytes).map(Self::Xr),
        }
    }

    /// Encodes.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Bbs04(key) => key.to_bytes().to_vec(),
            Self::Xr(key) => key.to_bytes().to_vec(),
        }
    }

    /// Checks that this is a later epoch of the group whose first key is `genesis`.
    pub fn check_descends_from(&self, genesis: &Self) -> Result<(), Invalid> {
        match (self, genesis) {
            (Self::Bbs04(key), Self::Bbs04(genesis)) => key.check_descends_from(genesis),
            (Self::Xr(key), Self::Xr(genesis)) => key.check_descends_from(genesis),
            _ => Err(Invalid),
        }
    }
}
