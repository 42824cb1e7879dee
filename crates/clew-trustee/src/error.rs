//! Why a trustee gives no share.

use crate::approval::{BEFORE, Unapproved};
use crate::rules::Limit;
use clew_evidence::{CombineError, Fault};
use clew_group::quorum::QuorumError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a trustee gives no share.
#[derive(Debug, Error)]
pub enum TrusteeError {
    /// The key is of another group.
    #[error("the trustee's key belongs to another group")]
    OtherGroup,
    /// The packet's epoch has another sharing than the key's.
    #[error(
        "need a trustee key in force since epoch {packet}, have one in force since epoch {key}"
    )]
    OtherSharing {
        /// Since when the key's counts.
        key: u32,
        /// Since when the packet's counts.
        packet: u32,
    },
    /// What was shown does not hold.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// The shares of the step before do not fit.
    #[error(transparent)]
    Combine(#[from] CombineError),
    /// A proof, a set or a share does not fit.
    #[error(transparent)]
    Quorum(#[from] QuorumError),
    /// Nobody allowed it, or nobody can see it.
    #[error("{}", .0.with_name())]
    Unapproved(Unapproved),
    /// The key that would sign the decision is not the one of the policy.
    #[error("the author key is not the one of the policy")]
    Author,
    /// The ledger refuses.
    #[error("{path}: {error}")]
    Ledger {
        /// The ledger.
        path: PathBuf,
        /// Why.
        error: LedgerError,
    },
    /// This trustee did not begin this match, or finished it.
    #[error(
        "this trustee does not have a match in progress with the others, or already gave its share"
    )]
    NotUnderWay,
    /// The group's scheme has no matches.
    #[error("bbs04 groups do not support matches")]
    NoMatches,
    /// The system refused.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
}

impl TrusteeError {
    /// Returns the number of the rule by which a request is refused (`spec/opening.md` 3.1). Returns
    /// `None` if nothing is wrong with the request.
    pub fn number(&self) -> Option<u8> {
        let before = |at: usize| Some(BEFORE[at].0);
        match self {
            Self::Unapproved(rule) => Some(rule.number()),
            Self::Fault(_) => before(1),
            Self::OtherGroup | Self::OtherSharing { .. } | Self::NoMatches => before(2),
            Self::Ledger {
                error: LedgerError::Limit(_),
                ..
            } => before(3),
            _ => None,
        }
    }
}

impl From<Unapproved> for TrusteeError {
    fn from(rule: Unapproved) -> Self {
        Self::Unapproved(rule)
    }
}

/// Why the ledger refuses a request.
#[derive(Debug, Error)]
pub enum LedgerError {
    /// The request exceeds a limit.
    #[error(transparent)]
    Limit(#[from] Limit),
    /// A line is not one of a ledger.
    #[error("line {0} is not a valid entry")]
    Damaged(usize),
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
}
