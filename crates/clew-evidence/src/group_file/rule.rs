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
    /// Something follows the end of the group, or the end starts later than it was made.
    Ended,
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
    /// Returns the name that the specification gives it.
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
            Self::Ended => "ended",
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
            Self::Header => "not a group file",
            Self::Truncated => "truncated",
            Self::TooLong => "a part is too long",
            Self::Kind => "a part has an unexpected kind",
            Self::TrailingBytes => "unexpected bytes after the register",
            Self::Layout => "fields have invalid lengths or values",
            Self::Signature => "invalid signature of the manager",
            Self::Epoch => "epochs do not increase by one",
            Self::Chain => "does not refer to the previous record",
            Self::Start => "time is before the previous record, or start is before its time",
            Self::Ended => "follows the group's end, or ends the group later than its time",
            Self::TooManyEpochs => "too many epochs",
            Self::RevokedTwice => "revokes an already revoked machine",
            Self::Steps => "more steps than are safe without a rebase",
            Self::Checkpoint => "register size does not match the others of the file",
            Self::PublicKey => "public key or chain step does not belong to this group",
            Self::Sharing => "opening key is not shared as stated",
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
