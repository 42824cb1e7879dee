//! What goes wrong while trustees make a key, and whose fault it is.

use clew_group::quorum::{QuorumError, Trustee};
use std::fmt;

/// The rule of `spec/opening-key.md` section 6 that was broken. Nothing was written or lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DkgError {
    /// The group signs with a scheme whose opening key only a trusted dealer makes.
    Scheme,
    /// The plan founds a group, and one that exists is to change; or the other way round.
    Purpose,
    /// A hello, a deal or a state belongs to another plan.
    OtherPlan,
    /// The group file is of another group than the plan.
    OtherGroup,
    /// The group file does not continue the history that the plan was made for.
    OtherHistory,
    /// The opening key changed after the plan was made.
    Stale,
    /// The plan gives no such part to a trustee of this index.
    Role {
        /// The index, as given.
        index: u8,
    },
    /// Two hellos are for one trustee.
    TwoHellos {
        /// The trustee.
        trustee: Trustee,
    },
    /// No hello is there for a trustee.
    NoHello {
        /// The trustee.
        trustee: Trustee,
    },
    /// Two hellos have the same key.
    SameKey {
        /// The second trustee with that key.
        trustee: Trustee,
    },
    /// A hello is not signed by the key that it holds.
    HelloSignature {
        /// Whose hello it says it is.
        trustee: Trustee,
    },
    /// A hello's key is a point that no share can be encrypted to.
    HelloKey {
        /// Whose hello it is.
        trustee: Trustee,
    },
    /// The hello in the place of this trustee's own is another one.
    OwnHello,
    /// A deal was made for other hellos than this trustee's, or than the other deals.
    Hellos {
        /// The dealer.
        trustee: Trustee,
    },
    /// A deal is not signed by its dealer.
    DealSignature {
        /// The dealer that it names.
        trustee: Trustee,
    },
    /// This trustee has dealt already, to other hellos.
    DealtBefore,
    /// The deal in the place of this trustee's own is another one.
    OwnDeal,
    /// The old key is not one of the sharing that the plan hands on.
    OldKey,
    /// An encrypted share does not decrypt, or holds something else than a share.
    SealedShare {
        /// The dealer.
        trustee: Trustee,
    },
    /// This trustee only hands its share on, and gets none.
    NoShare,
    /// The group file has no record with the commitments that were dealt.
    Record,
    /// A rule of the quorum.
    Quorum(QuorumError),
}

impl DkgError {
    /// The rule's name in the specification.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Scheme => "scheme",
            Self::Purpose => "purpose",
            Self::OtherPlan => "other-plan",
            Self::OtherGroup => "other-group",
            Self::OtherHistory => "other-history",
            Self::Stale => "stale",
            Self::Role { .. } => "role",
            Self::TwoHellos { .. } => "two-hellos",
            Self::NoHello { .. } => "no-hello",
            Self::SameKey { .. } => "same-key",
            Self::HelloSignature { .. } => "hello-signature",
            Self::HelloKey { .. } => "hello-key",
            Self::OwnHello => "own-hello",
            Self::Hellos { .. } => "hellos",
            Self::DealSignature { .. } => "deal-signature",
            Self::DealtBefore => "dealt-before",
            Self::OwnDeal => "own-deal",
            Self::OldKey => "old-key",
            Self::SealedShare { .. } => "sealed-share",
            Self::NoShare => "no-share",
            Self::Record => "record",
            Self::Quorum(error) => quorum_rule(error),
        }
    }

    /// The trustee whose keys broke a rule. If its check code is the same as this trustee's, those are
    /// its own keys, and the others make a new plan without it.
    pub fn culprit(&self) -> Option<Trustee> {
        match *self {
            Self::SealedShare { trustee } | Self::HelloKey { trustee } => Some(trustee),
            Self::Quorum(error) => error.culprit(),
            _ => None,
        }
    }
}

/// The names of the quorum's rules that can be broken here.
fn quorum_rule(error: &QuorumError) -> &'static str {
    match error {
        QuorumError::Repeated { .. } => "two-deals",
        QuorumError::Missing { .. } => "no-deal",
        QuorumError::Commitments { .. } => "commitments",
        QuorumError::Possession { .. } => "possession",
        QuorumError::Constant { .. } => "constant",
        QuorumError::DealtShare { .. } => "dealt-share",
        QuorumError::Cancelled => "cancelled",
        _ => "quorum",
    }
}

impl fmt::Display for DkgError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scheme => f.write_str(
                "a bbs04 group requires a trusted dealer: distributed key generation (DKG) is not \
                 possible",
            ),
            Self::Purpose => f.write_str("the plan has another purpose"),
            Self::OtherPlan => f.write_str("this file belongs to another plan"),
            Self::OtherGroup => f.write_str("group file and plan belong to different groups"),
            Self::OtherHistory => f.write_str(
                "the group file does not continue the epochs that the plan was made for",
            ),
            Self::Stale => f.write_str("the opening key changed after the plan was made"),
            Self::Role { index } => {
                write!(f, "the plan does not include trustee {index} in this role")
            }
            Self::TwoHellos { trustee } => write!(f, "{trustee}: two hellos given"),
            Self::NoHello { trustee } => write!(f, "{trustee}: hello missing"),
            Self::SameKey { trustee } => {
                write!(f, "{trustee}: hello has the key of another hello")
            }
            Self::HelloSignature { trustee } => write!(f, "{trustee}: hello signature invalid"),
            Self::HelloKey { trustee } => {
                write!(f, "{trustee}: hello key invalid")
            }
            Self::OwnHello => f.write_str(
                "this trustee's hello does not match its state: someone swapped it, or this is \
                 another state",
            ),
            Self::Hellos { trustee } => write!(
                f,
                "{trustee}: deal is for other hellos: someone swapped one, or a trustee made two"
            ),
            Self::DealSignature { trustee } => write!(f, "{trustee}: deal signature invalid"),
            Self::DealtBefore => {
                f.write_str("this trustee already dealt to other hellos, and can deal only once")
            }
            Self::OwnDeal => f.write_str(
                "this trustee's deal does not match its state: someone swapped it, or this is \
                 another state",
            ),
            Self::OldKey => f.write_str("the old key is not a share of the plan's opening key"),
            Self::SealedShare { trustee } => {
                write!(f, "{trustee}: share for this trustee does not decrypt")
            }
            Self::NoShare => {
                f.write_str("this trustee hands its share on and does not get a new one")
            }
            Self::Record => f.write_str("the group file does not record this opening key"),
            Self::Quorum(QuorumError::Missing { trustee }) => {
                write!(f, "{trustee}: deal missing")
            }
            Self::Quorum(QuorumError::Repeated { trustee }) => {
                write!(f, "{trustee}: two deals given")
            }
            Self::Quorum(QuorumError::TooFew { given, needed }) => write!(
                f,
                "need {needed} old trustees to hand the opening key on, have {given}"
            ),
            Self::Quorum(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for DkgError {}

impl From<QuorumError> for DkgError {
    fn from(error: QuorumError) -> Self {
        Self::Quorum(error)
    }
}
