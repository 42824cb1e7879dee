//! Who spoilt a join, and how.

use core::fmt;

/// Why a join came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinError {
    /// The device did not prove, in this session, that it knows the y of its C = h0^y.
    DeviceDoesNotKnowY,
    /// The issuer drew zero or -gamma: nobody's fault, and it draws another x.
    UnfitX,
    /// The issuer did not prove, in this session, that it knows the x of its D = A^x.
    IssuerDoesNotKnowX,
    /// The issuer's A is not a credential on the device's C under the group's key.
    IssuerOfferedNoCredential,
    /// The issuer sent another x than the one it had proved to know.
    IssuerChangedX,
    /// The issuer sent an A that is not the offered one in the present epoch.
    IssuerChangedCredential,
    /// The issuer's public key of the present epoch is one that the credential does not fit.
    IssuerChangedPublicKey,
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DeviceDoesNotKnowY => {
                "the device did not prove that it knows the secret it commits to"
            }
            Self::UnfitX => "this x fits no member; draw another",
            Self::IssuerDoesNotKnowX => {
                "the issuer did not prove that it knows the x of the credential it offers"
            }
            Self::IssuerOfferedNoCredential => {
                "the issuer offers a point that is no credential on the device's secret"
            }
            Self::IssuerChangedX => "the issuer sent another x than that of its offer",
            Self::IssuerChangedCredential => {
                "the issuer sent another credential than that of its offer"
            }
            Self::IssuerChangedPublicKey => {
                "the issuer's credential does not fit the public key of this epoch"
            }
        })
    }
}

impl core::error::Error for JoinError {}
