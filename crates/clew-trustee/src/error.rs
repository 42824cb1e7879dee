//! Why a trustee gives no share.

use crate::rules::Limit;
use clew_evidence::{CombineError, Fault};
use clew_group::quorum::QuorumError;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a trustee gives no share.
#[derive(Debug)]
pub enum TrusteeError {
    /// The key is of another group.
    OtherGroup,
    /// The packet's epoch has another sharing than the key's.
    OtherSharing {
        /// Since when the key's counts.
        key: u32,
        /// Since when the packet's counts.
        packet: u32,
    },
    /// What was shown does not hold.
    Fault(Fault),
    /// The shares of the step before do not fit.
    Combine(CombineError),
    /// A proof, a set or a share does not fit.
    Quorum(QuorumError),
    /// The ledger refuses.
    Ledger {
        /// The ledger.
        path: PathBuf,
        /// Why.
        error: LedgerError,
    },
    /// This trustee did not begin this match, or finished it.
    NotUnderWay,
    /// The group's scheme has no matches.
    NoMatches,
    /// The system refused.
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
}

impl fmt::Display for TrusteeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherGroup => f.write_str("the trustee's key belongs to another group"),
            Self::OtherSharing { key, packet } => write!(
                f,
                "need a trustee key in force since epoch {packet}, have one in force since epoch \
                 {key}"
            ),
            Self::Fault(fault) => write!(f, "{fault}"),
            Self::Combine(error) => write!(f, "{error}"),
            Self::Quorum(error) => write!(f, "{error}"),
            Self::Ledger { path, error } => write!(f, "{}: {error}", path.display()),
            Self::NotUnderWay => f.write_str(
                "this trustee does not have a match in progress with the others, or already gave \
                 its share",
            ),
            Self::NoMatches => f.write_str("bbs04 groups do not support matches"),
            Self::Io { path, error } => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for TrusteeError {}

impl From<Fault> for TrusteeError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<CombineError> for TrusteeError {
    fn from(error: CombineError) -> Self {
        Self::Combine(error)
    }
}

impl From<QuorumError> for TrusteeError {
    fn from(error: QuorumError) -> Self {
        Self::Quorum(error)
    }
}

/// Why the ledger refuses a request.
#[derive(Debug)]
pub enum LedgerError {
    /// The request exceeds a limit.
    Limit(Limit),
    /// A line is not one of a ledger.
    Damaged(usize),
    /// The system refused.
    Io(io::Error),
}

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit(limit) => limit.fmt(f),
            Self::Damaged(line) => write!(f, "line {line} is not a valid entry"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LedgerError {}

impl From<Limit> for LedgerError {
    fn from(limit: Limit) -> Self {
        Self::Limit(limit)
    }
}

impl From<io::Error> for LedgerError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
