//! The rules of `spec/warrant.md`.

use crate::armor::TextError;
use core::fmt;

/// The rules that a warrant, or what is asked under it, can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarrantRule {
    /// A field does not decode, or something is left over.
    Layout,
    /// It does not expire after it was issued, or it is in force for more than 366 days.
    Time,
    /// It covers no signature or too many, digests do not increase, or the machine is missing.
    Scope,
    /// The issuer's signature does not hold.
    Signature,
    /// The request is about another group.
    Group,
    /// The request asks for a match, and the warrant allows openings; or the other way round.
    Question,
    /// The warrant does not cover the signature of the packet.
    Packet,
    /// The request compares with another machine.
    Machine,
    /// The warrant is not in force yet.
    Early,
    /// The warrant is not in force any more.
    Expired,
}

impl WarrantRule {
    /// Every rule, in the order of the specification.
    pub const ALL: [Self; 10] = [
        Self::Layout,
        Self::Time,
        Self::Scope,
        Self::Signature,
        Self::Group,
        Self::Question,
        Self::Packet,
        Self::Machine,
        Self::Early,
        Self::Expired,
    ];

    /// Returns the name that the specification gives it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Layout => "warrant-layout",
            Self::Time => "warrant-time",
            Self::Scope => "warrant-scope",
            Self::Signature => "warrant-signature",
            Self::Group => "warrant-group",
            Self::Question => "warrant-question",
            Self::Packet => "warrant-packet",
            Self::Machine => "warrant-machine",
            Self::Early => "warrant-early",
            Self::Expired => "warrant-expired",
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            Self::Layout => "fields of the warrant have invalid lengths or values",
            Self::Time => "the warrant must be in force for 1 ns to 366 days",
            Self::Scope => "the warrant must cover 1 to 256 signatures, each once",
            Self::Signature => "invalid signature of the warrant's issuer",
            Self::Group => "the warrant is for another group",
            Self::Question => "the warrant allows another question (opening or match)",
            Self::Packet => "the warrant does not cover this packet's signature",
            Self::Machine => "the warrant allows a match with another machine",
            Self::Early => "the warrant is not in force yet",
            Self::Expired => "the warrant has expired",
        }
    }
}

impl fmt::Display for WarrantRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (rule {})", self.sentence(), self.as_str())
    }
}

impl core::error::Error for WarrantRule {}

/// Why a text was not read as a warrant or a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WarrantError {
    /// The text is none.
    Text(TextError),
    /// What it says breaks a rule.
    Rule(WarrantRule),
}

impl WarrantError {
    /// Returns the name that the specification gives the rule.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Text(error) => error.as_str(),
            Self::Rule(rule) => rule.as_str(),
        }
    }
}

impl fmt::Display for WarrantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(error) => error.fmt(f),
            Self::Rule(rule) => rule.fmt(f),
        }
    }
}

impl core::error::Error for WarrantError {}

impl From<TextError> for WarrantError {
    fn from(error: TextError) -> Self {
        Self::Text(error)
    }
}

impl From<WarrantRule> for WarrantError {
    fn from(rule: WarrantRule) -> Self {
        Self::Rule(rule)
    }
}
