//! What goes wrong while trustees make a key, and whose fault it is.

use clew_group::quorum::{QuorumError, Trustee};
use thiserror::Error;

/// The rule of `spec/opening-key.md` section 6 that was broken. Nothing was written or lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DkgError {
    /// The group signs with a scheme whose opening key only a trusted dealer makes.
    #[error(
        "a bbs04 group requires a trusted dealer: distributed key generation (DKG) is not possible"
    )]
    Scheme,
    /// The plan founds a group, and one that exists is to change; or the other way round.
    #[error("the plan has another purpose")]
    Purpose,
    /// A hello, a deal or a state belongs to another plan.
    #[error("this file belongs to another plan")]
    OtherPlan,
    /// The group file is of another group than the plan.
    #[error("group file and plan belong to different groups")]
    OtherGroup,
    /// The group file does not continue the history that the plan was made for.
    #[error("the group file does not continue the epochs that the plan was made for")]
    OtherHistory,
    /// The opening key changed after the plan was made.
    #[error("the opening key changed after the plan was made")]
    Stale,
    /// The plan gives no such part to a trustee of this index.
    #[error("the plan does not include trustee {index} in this role")]
    Role {
        /// The index, as given.
        index: u8,
    },
    /// Two hellos are for one trustee.
    #[error("{trustee}: two hellos given")]
    TwoHellos {
        /// The trustee.
        trustee: Trustee,
    },
    /// No hello is there for a trustee.
    #[error("{trustee}: hello missing")]
    NoHello {
        /// The trustee.
        trustee: Trustee,
    },
    /// Two hellos have the same key.
    #[error("{trustee}: hello has the key of another hello")]
    SameKey {
        /// The second trustee with that key.
        trustee: Trustee,
    },
    /// A hello is not signed by the key that it holds.
    #[error("{trustee}: hello signature invalid")]
    HelloSignature {
        /// Whose hello it says it is.
        trustee: Trustee,
    },
    /// A hello's key is a point that no share can be encrypted to.
    #[error("{trustee}: hello key invalid")]
    HelloKey {
        /// Whose hello it is.
        trustee: Trustee,
    },
    /// The hello in the place of this trustee's own is another one.
    #[error(
        "this trustee's hello does not match its state: someone swapped it, or this is another state"
    )]
    OwnHello,
    /// A deal was made for other hellos than this trustee's, or than the other deals.
    #[error("{trustee}: deal is for other hellos: someone swapped one, or a trustee made two")]
    Hellos {
        /// The dealer.
        trustee: Trustee,
    },
    /// A deal is not signed by its dealer.
    #[error("{trustee}: deal signature invalid")]
    DealSignature {
        /// The dealer that it names.
        trustee: Trustee,
    },
    /// This trustee has dealt already, to other hellos.
    #[error("this trustee already dealt to other hellos, and can deal only once")]
    DealtBefore,
    /// The deal in the place of this trustee's own is another one.
    #[error(
        "this trustee's deal does not match its state: someone swapped it, or this is another state"
    )]
    OwnDeal,
    /// The old key is not one of the sharing that the plan hands on.
    #[error("the old key is not a share of the plan's opening key")]
    OldKey,
    /// An encrypted share does not decrypt, or holds something else than a share.
    #[error("{trustee}: share for this trustee does not decrypt")]
    SealedShare {
        /// The dealer.
        trustee: Trustee,
    },
    /// This trustee only hands its share on, and gets none.
    #[error("this trustee hands its share on and does not get a new one")]
    NoShare,
    /// The group file has no record with the commitments that were dealt.
    #[error("the group file does not record this opening key")]
    Record,
    /// A rule of the quorum.
    #[error("{}", quorum_message(.0))]
    Quorum(#[from] QuorumError),
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

/// What a broken rule of the quorum is called here.
fn quorum_message(error: &QuorumError) -> String {
    match error {
        QuorumError::Missing { trustee } => format!("{trustee}: deal missing"),
        QuorumError::Repeated { trustee } => format!("{trustee}: two deals given"),
        QuorumError::TooFew { given, needed } => {
            format!("need {needed} old trustees to hand the opening key on, have {given}")
        }
        error => error.to_string(),
    }
}
