//! What the code says about a vector. Nothing here knows how the vectors were made.

mod group_file;
mod group_signature;
mod key_file;
mod packet_trailer;

use clew_evidence::{GroupFileError, Rule};
use clew_group::Revoked;
use clew_group::{DecodeError, Invalid};
use clew_manager::keys::KeyError;
use clew_packet::{Reason, Replay};

use crate::case::Case;

/// Why a vector is not `valid`.
#[derive(Debug)]
pub enum Stop {
    /// The rule that it broke.
    Rule(&'static str),
    /// The file itself is wrong: a value is missing, or is not what the code computes.
    Wrong(String),
}

pub fn judge(case: &Case) -> Result<(), Stop> {
    match case.folder() {
        "group-signature" => group_signature::judge(case),
        "packet-trailer" => packet_trailer::judge(case),
        "group-file" => group_file::judge(case),
        "key-file" => key_file::judge(case),
        other => Err(Stop::Wrong(format!("nobody judges {other}"))),
    }
}

/// Everything that the files of a folder have to expect, each at least once.
pub fn rules(folder: &str) -> Vec<&'static str> {
    match folder {
        "group-signature" => vec![
            "valid", "length", "point", "subgroup", "identity", "scalar", "invalid", "revoked",
        ],
        "packet-trailer" => {
            let of_readers = |reason: &Reason| reason.verdict(Replay::Flag).is_some();
            let reasons = Reason::ALL.into_iter().filter(of_readers);
            let name = |reason: Reason| match reason {
                Reason::Ok => "valid",
                _ => reason.as_str(),
            };
            reasons.map(name).collect()
        }
        // Not `too-many-epochs`, for which a file would have 500 MB.
        "group-file" => vec![
            "valid",
            "header",
            "truncated",
            "too-long",
            "kind",
            "trailing-bytes",
            "layout",
            "signature",
            "epoch",
            "chain",
            "start",
            "public-key",
        ],
        _ => vec!["valid", "not-a-key", "label", "damaged", "wrong-secret"],
    }
}

impl From<DecodeError> for Stop {
    fn from(error: DecodeError) -> Self {
        Self::Rule(error.as_str())
    }
}

impl From<Invalid> for Stop {
    fn from(_: Invalid) -> Self {
        Self::Rule("invalid")
    }
}

impl From<Revoked> for Stop {
    fn from(_: Revoked) -> Self {
        Self::Rule("revoked")
    }
}

impl From<Rule> for Stop {
    fn from(rule: Rule) -> Self {
        Self::Rule(rule.as_str())
    }
}

impl From<GroupFileError> for Stop {
    fn from(error: GroupFileError) -> Self {
        error.rule.into()
    }
}

impl From<KeyError> for Stop {
    fn from(error: KeyError) -> Self {
        Self::Rule(error.as_str())
    }
}

/// A claim about the vector that is not an encoding of its own.
fn holds(claim: bool, what: &str) -> Result<(), Stop> {
    if claim {
        Ok(())
    } else {
        Err(Stop::Wrong(format!("not so: {what}")))
    }
}
