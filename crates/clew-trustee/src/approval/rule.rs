//! The rules about warrants and logs, each with its name and number (`spec/opening.md` section 3.1).

use clew_evidence::WarrantRule;
use clew_log::ProofError;
use thiserror::Error;

/// The rules of `spec/opening.md` section 3 about warrants and logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unapproved {
    /// The trustee knows a later epoch of this group.
    #[error("the group file is older than one that this trustee used, or the clock is behind")]
    GroupOlder,
    /// The group file has another history than one before.
    #[error("the group file has another history than one that this trustee used")]
    GroupFork,
    /// The group has a log, and the trustee no policy.
    #[error("the group has a log: the trustee needs a policy")]
    NoPolicy,
    /// The group had a log, and has none now.
    #[error("the group had a log and gave it up: only the trustee's own policy can accept that")]
    LogGivenUp,
    /// No warrant was shown, or another than the request's.
    #[error("the request's warrant was not shown")]
    WarrantMissing,
    /// The file is no warrant, or a rule of warrants is broken.
    #[error("{0}")]
    Warrant(WarrantRule),
    /// The warrant's file is of another kind.
    #[error("the warrant's file is not a warrant that clew warrant sign wrote")]
    WarrantText,
    /// The policy does not name the issuer.
    #[error("the policy does not let this key issue warrants")]
    WarrantIssuer,
    /// Somebody else than the warrant names filed the request.
    #[error("the warrant names another requester than the one who filed the request")]
    WarrantRequester,
    /// The group has a log, and the proof of the request is missing.
    #[error("the group has a log: need the proof that it has the request")]
    LogMissing,
    /// The request names a place in a log, and the group has none.
    #[error("the request names a log, and the group has none")]
    LogUnexpected,
    /// The policy names no witness, or not the trustee's own author key.
    #[error(
        "the policy needs witnesses and the trustee's own author key, because the group has a log"
    )]
    LogPolicy,
    /// The proof does not hold.
    #[error("the log's proof: {0}")]
    LogProof(ProofError),
    /// The entry is not that of this request.
    #[error("the log's entry is not the entry of this request")]
    LogEntry,
    /// The checkpoint is smaller than one that the trustee saw.
    #[error("the log's checkpoint is older than one that this trustee saw")]
    LogOlder,
    /// Nothing shows that the checkpoint continues the one that the trustee saw.
    #[error("the log's checkpoint is not proved to continue the one that this trustee saw")]
    LogConsistency,
    /// The log does not have the trustee's own yes.
    #[error("the log does not have this trustee's decision yet")]
    LogDecision,
    /// The trustee's operator says no.
    #[error("the trustee's operator refused")]
    Operator,
}

impl Unapproved {
    /// Returns the name that the specification gives the rule.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::GroupOlder => "group-older",
            Self::GroupFork => "group-fork",
            Self::NoPolicy => "no-policy",
            Self::LogGivenUp => "log-given-up",
            Self::WarrantMissing => "warrant-missing",
            Self::Warrant(rule) => rule.as_str(),
            Self::WarrantText => "warrant-text",
            Self::WarrantIssuer => "warrant-issuer",
            Self::WarrantRequester => "warrant-requester",
            Self::LogMissing => "log-missing",
            Self::LogUnexpected => "log-unexpected",
            Self::LogPolicy => "log-policy",
            Self::LogProof(_) => "log-proof",
            Self::LogEntry => "log-entry",
            Self::LogOlder => "log-older",
            Self::LogConsistency => "log-consistency",
            Self::LogDecision => "log-decision",
            Self::Operator => "operator",
        }
    }
}

impl Unapproved {
    /// Returns the number of the rule in `spec/opening.md` 3.1: the answer that the log gets.
    pub fn number(&self) -> u8 {
        match self {
            Self::GroupOlder => 2,
            Self::GroupFork => 3,
            Self::NoPolicy => 4,
            Self::LogGivenUp => 32,
            Self::WarrantMissing => 5,
            Self::WarrantText => 6,
            Self::Warrant(rule) => of_warrant(*rule),
            Self::WarrantIssuer => 11,
            Self::LogMissing => 18,
            Self::LogPolicy => 19,
            Self::LogProof(_) => 20,
            Self::LogOlder => 21,
            Self::LogConsistency => 22,
            Self::LogEntry => 23,
            Self::WarrantRequester => 24,
            Self::LogDecision => 25,
            Self::LogUnexpected => 26,
            Self::Operator => 27,
        }
    }

    /// Returns the sentence with the rule's name.
    pub fn with_name(&self) -> String {
        match self {
            Self::Warrant(rule) => rule.to_string(), // has its name
            rule => format!("{rule} (rule {})", rule.as_str()),
        }
    }
}

/// Returns the name of the rule with that number: of this module's rules, and of those before them
/// (`spec/opening.md` 3.1). Returns `None` for numbers that this version does not know.
pub fn rule_name(number: u8) -> Option<&'static str> {
    let of_warrants = WarrantRule::ALL.map(Unapproved::Warrant);
    let others = [
        Unapproved::GroupOlder,
        Unapproved::GroupFork,
        Unapproved::NoPolicy,
        Unapproved::LogGivenUp,
        Unapproved::WarrantMissing,
        Unapproved::WarrantText,
        Unapproved::WarrantIssuer,
        Unapproved::LogMissing,
        Unapproved::LogPolicy,
        Unapproved::LogProof(ProofError::Origin),
        Unapproved::LogOlder,
        Unapproved::LogConsistency,
        Unapproved::LogEntry,
        Unapproved::WarrantRequester,
        Unapproved::LogDecision,
        Unapproved::LogUnexpected,
        Unapproved::Operator,
    ];
    let all = others.iter().chain(&of_warrants);
    let named = all.map(|rule| (rule.number(), rule.as_str()));
    named
        .chain(BEFORE)
        .find(|(of, _)| *of == number)
        .map(|(_, name)| name)
}

/// Returns the number of the rule with that name. Returns `None` if there is no such rule.
pub fn rule_number(name: &str) -> Option<u8> {
    (2..=u8::MAX).find(|number| rule_name(*number) == Some(name))
}

/// The numbers of rules that come before those of warrants and logs.
pub(crate) const BEFORE: [(u8, &str); 5] = [
    (28, "case"),
    (29, "packet"),
    (30, "trustee-key"),
    (31, "ledger"),
    (33, "queue"),
];

/// Returns whether the rule with that number may hold later though the request stays the same: it is about the
/// trustee's clock, its copy of the group file or of the log, its policy, its keys, or its other work.
pub const fn may_pass(number: u8) -> bool {
    matches!(number, 2 | 4 | 11 | 16 | 18..=22 | 30 | 31 | 33)
}

fn of_warrant(rule: WarrantRule) -> u8 {
    match rule {
        WarrantRule::Layout => 7,
        WarrantRule::Time => 8,
        WarrantRule::Scope => 9,
        WarrantRule::Signature => 10,
        WarrantRule::Group => 12,
        WarrantRule::Question => 13,
        WarrantRule::Packet => 14,
        WarrantRule::Machine => 15,
        WarrantRule::Early => 16,
        WarrantRule::Expired => 17,
    }
}

impl From<WarrantRule> for Unapproved {
    fn from(rule: WarrantRule) -> Self {
        Self::Warrant(rule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECIFICATION: &str = include_str!("../../../../spec/opening.md");

    /// Each rule has the number of its row, and each row is a rule.
    #[test]
    fn rules_have_the_numbers_of_the_specification() {
        let all = [
            Unapproved::GroupOlder,
            Unapproved::GroupFork,
            Unapproved::NoPolicy,
            Unapproved::LogGivenUp,
            Unapproved::WarrantMissing,
            Unapproved::WarrantText,
            Unapproved::WarrantIssuer,
            Unapproved::LogMissing,
            Unapproved::LogPolicy,
            Unapproved::LogProof(ProofError::Origin),
            Unapproved::LogOlder,
            Unapproved::LogConsistency,
            Unapproved::LogEntry,
            Unapproved::WarrantRequester,
            Unapproved::LogDecision,
            Unapproved::LogUnexpected,
            Unapproved::Operator,
        ];
        for rule in &all {
            let row = format!("| {} | `{}` |", rule.number(), rule.as_str());
            assert!(SPECIFICATION.contains(&row), "{row}");
        }
        let of_warrants = WarrantRule::ALL.map(Unapproved::Warrant);
        let numbers = all.iter().chain(&of_warrants).map(Unapproved::number);
        let mut numbers: Vec<u8> = numbers.collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (2..=27).chain([32]).collect::<Vec<_>>());
        let spec = SPECIFICATION.lines();
        let of_passing = spec
            .clone()
            .find_map(|line| line.strip_prefix("These rules may hold later: "));
        let of_passing = of_passing.unwrap();
        for number in 2..=33 {
            let name = format!("`{}`", rule_name(number).unwrap());
            assert_eq!(of_passing.contains(&name), may_pass(number), "{name}");
        }
        for number in 2..=33 {
            let name = rule_name(number).unwrap();
            let row = format!("| {number} | `{name}` |");
            assert!(
                SPECIFICATION.contains(&row) || (7..=17).contains(&number),
                "{row}"
            );
        }
        assert_eq!(rule_name(34), None);
        assert_eq!(rule_number("operator"), Some(27));
        assert_eq!(rule_number("yes"), None);
    }
}
