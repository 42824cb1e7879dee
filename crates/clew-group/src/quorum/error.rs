//! What goes wrong among trustees, and whose fault it is.

use super::Trustee;
use crate::DecodeError;
use core::fmt;

/// The rule of section 5 that was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuorumError {
    /// A value does not decode, or is zero or the identity where it must not be.
    Decode(DecodeError),
    /// Not 1 <= t <= n <= 32.
    Quorum {
        /// t, as given.
        threshold: u8,
        /// n, as given.
        trustees: u8,
    },
    /// An index of zero, above n, or outside the set of those who were asked.
    Index {
        /// The index, as given.
        index: u8,
    },
    /// A trustee's contribution was given twice.
    Repeated {
        /// Who is there twice.
        trustee: Trustee,
    },
    /// Fewer trustees than are needed.
    TooFew {
        /// How many there are.
        given: u8,
        /// How many it takes.
        needed: u8,
    },
    /// One of the set gave nothing.
    Missing {
        /// Whose contribution is not there.
        trustee: Trustee,
    },
    /// A secret share that does not belong to its share key.
    SecretShare {
        /// Whose share it says it is.
        trustee: Trustee,
    },
    /// A decryption whose proof does not hold.
    Decryption {
        /// Who gave it.
        trustee: Trustee,
    },
    /// A dealer's commitments are for another number of trustees or another threshold.
    Commitments {
        /// The dealer.
        trustee: Trustee,
    },
    /// A dealer's proof that it knows its constant term does not hold.
    Possession {
        /// The dealer.
        trustee: Trustee,
    },
    /// A dealer of a resharing deals something else than its share.
    Constant {
        /// The dealer.
        trustee: Trustee,
    },
    /// A dealer's share for a trustee does not fit its commitments.
    DealtShare {
        /// The dealer.
        trustee: Trustee,
    },
    /// The dealers' contributions cancel each other out.
    Cancelled,
    /// The set's values come in another number than the set has trustees.
    Count {
        /// How many there are.
        given: usize,
        /// The size of the set.
        needed: usize,
    },
    /// The signature's T2 is the base asked for: a match has no answer.
    NoAnswer,
    /// A blind is not the one committed to.
    Revealed {
        /// Who gave it.
        trustee: Trustee,
    },
    /// A blind whose proof does not hold.
    Blind {
        /// Who gave it.
        trustee: Trustee,
    },
    /// The trustee's own commitment or blind is not among those it was shown.
    OwnBlind,
    /// The product of the blinds is the identity.
    Product,
}

impl QuorumError {
    /// Returns the trustee whose contribution breaks the rule, where it is one's: the work starts
    /// again without it.
    pub fn culprit(&self) -> Option<Trustee> {
        match *self {
            Self::Decryption { trustee }
            | Self::Commitments { trustee }
            | Self::Possession { trustee }
            | Self::Constant { trustee }
            | Self::DealtShare { trustee }
            | Self::Revealed { trustee }
            | Self::Blind { trustee } => Some(trustee),
            Self::Decode(_)
            | Self::Quorum { .. }
            | Self::Index { .. }
            | Self::Repeated { .. }
            | Self::TooFew { .. }
            | Self::Missing { .. }
            | Self::SecretShare { .. }
            | Self::Cancelled
            | Self::Count { .. }
            | Self::NoAnswer
            | Self::OwnBlind
            | Self::Product => None,
        }
    }
}

impl fmt::Display for QuorumError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decode(error) => error.fmt(f),
            Self::Quorum {
                threshold,
                trustees,
            } => write!(
                f,
                "need 1 to 32 trustees and a threshold of at most their number, have {threshold} \
                 of {trustees}"
            ),
            Self::Index { index } => write!(f, "trustee {index} does not exist"),
            Self::Repeated { trustee } => write!(f, "{trustee}: given twice"),
            Self::TooFew { given, needed } => {
                write!(f, "need {needed} trustees, have {given}")
            }
            Self::Missing { trustee } => write!(f, "{trustee}: missing"),
            Self::SecretShare { trustee } => {
                write!(f, "{trustee}: key is not its share of this opening key")
            }
            Self::Decryption { trustee } => {
                write!(f, "{trustee}: decryption proof invalid")
            }
            Self::Commitments { trustee } => {
                write!(f, "{trustee}: deal is for another quorum")
            }
            Self::Possession { trustee } => {
                write!(f, "{trustee}: deal lacks a valid proof of possession")
            }
            Self::Constant { trustee } => write!(f, "{trustee}: deal is not of its old share"),
            Self::DealtShare { trustee } => {
                write!(f, "{trustee}: share does not match its commitments")
            }
            Self::Cancelled => f.write_str("the deals cancel each other out: start again"),
            Self::Count { given, needed } => {
                write!(f, "need values of {needed} trustees, have {given}")
            }
            Self::NoAnswer => f.write_str("a match cannot answer: the signature hides nothing"),
            Self::Revealed { trustee } => {
                write!(f, "{trustee}: blind does not match its commitment")
            }
            Self::Blind { trustee } => {
                write!(f, "{trustee}: blind proof invalid")
            }
            Self::OwnBlind => f.write_str("this trustee's own blind is missing"),
            Self::Product => f.write_str("the blinds cancel each other out: start again"),
        }
    }
}

impl core::error::Error for QuorumError {}

impl From<DecodeError> for QuorumError {
    fn from(error: DecodeError) -> Self {
        Self::Decode(error)
    }
}
