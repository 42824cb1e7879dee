//! The rules of spec section 3.

use core::fmt;

/// A rule of spec section 3, and the part (from 0) that broke it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupFileError {
    /// The part, counted from 0.
    pub part: usize,
    /// The rule.
    pub rule: Rule,
}

pub(super) fn at(part: usize, rule: Rule) -> GroupFileError {
    GroupFileError { part, rule }
}

/// The rules that a group file can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// It does not start as a group file does.
    Header,
    /// It ends within a part, or before the register.
    Truncated,
    /// A part is longer than any may be.
    TooLong,
    /// A part is of another kind than its place asks.
    Kind,
    /// Something follows the register.
    TrailingBytes,
    /// A body does not have the length or the values of its fields.
    Layout,
    /// The manager's signature does not hold.
    Signature,
    /// Epochs do not count up by one.
    Epoch,
    /// A record does not name the one before it.
    Chain,
    /// A record was made before the one before it, or starts before it was made.
    Start,
    /// More epochs than a group may have.
    TooManyEpochs,
    /// A step revokes an x* again, or a rebase a row.
    RevokedTwice,
    /// More steps since epoch 0 or the last rebase than are safe.
    Steps,
    /// The register's sizes do not grow, a proof does not lead from one to the next, or a record has a
    /// size that is not a checkpoint.
    Checkpoint,
    /// A public key or a step does not decode, or does not belong to this group.
    PublicKey,
    /// The commitments of a shared opening key do not decode.
    Sharing,
}

impl Rule {
    /// The name that the specification gives it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Truncated => "truncated",
            Self::TooLong => "too-long",
            Self::Kind => "kind",
            Self::TrailingBytes => "trailing-bytes",
            Self::Layout => "layout",
            Self::Signature => "signature",
            Self::Epoch => "epoch",
            Self::Chain => "chain",
            Self::Start => "start",
            Self::TooManyEpochs => "too-many-epochs",
            Self::RevokedTwice => "revoked-twice",
            Self::Steps => "steps",
            Self::Checkpoint => "checkpoint",
            Self::PublicKey => "public-key",
            Self::Sharing => "sharing",
        }
    }

    /// What is wrong, for people.
    fn sentence(self) -> &'static str {
        match self {
            Self::Header => "this is not a group file",
            Self::Truncated => "it ends too early",
            Self::TooLong => "a part is longer than any may be",
            Self::Kind => "a part of another kind was expected",
            Self::TrailingBytes => "something follows the register",
            Self::Layout => "its fields do not have the right lengths or values",
            Self::Signature => "the manager's signature does not hold",
            Self::Epoch => "epochs do not count up by one",
            Self::Chain => "it does not name the record before it",
            Self::Start => "its time is before the record before it, or its start before its time",
            Self::TooManyEpochs => "it has more epochs than a group may have",
            Self::RevokedTwice => "it revokes what was revoked before",
            Self::Steps => "more steps than are safe without a rebase",
            Self::Checkpoint => "its size of the register does not fit the other ones of the file",
            Self::PublicKey => "its public key or a step of its chain is not one of this group",
            Self::Sharing => "its opening key is not shared as it says",
        }
    }
}

impl fmt::Display for GroupFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} (part {}, rule {})",
            self.rule.sentence(),
            self.part,
            self.rule.as_str()
        )
    }
}

impl core::error::Error for GroupFileError {}
