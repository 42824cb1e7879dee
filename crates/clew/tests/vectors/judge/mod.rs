//! What the code says about a vector. Nothing here knows how the vectors were made.

mod bbs04;
mod carriers;
mod dkg;
mod effs;
mod fixed;
mod flow_carriage;
mod flow_manifest;
mod flow_signature;
mod group_file;
mod join;
mod join_file;
mod key_file;
mod matching;
mod opening;
mod packet_trailer;
mod quorum;
mod register_file;
mod share;
mod tunnel;
mod tunnel_run;
mod warrant;
mod xr;

use clew_evidence::{Fault, GroupFileError, ReadError, RegisterFileError, Rule, TextError, WarrantError, WarrantRule};
use clew_group::quorum::QuorumError;
use clew_group::xr::JoinError;
use clew_group::{DecodeError, Invalid, Revoked};
use clew_keys::encryption::DecryptError;
use clew_keys::join::JoinFault;
use clew_packet::Reason;

use crate::case::Case;

/// Why a vector is not `valid`.
#[derive(Debug)]
pub enum Stop {
    /// The rule that it broke.
    Rule(&'static str),
    /// The rule, and the index of the trustee to blame.
    Blames(&'static str, u8),
    /// The case itself is wrong: a value is missing, or is not what the code computes.
    Wrong(String),
}

/// Answers one question about a case.
type Check = fn(&Case) -> Result<(), Stop>;

pub fn judge(case: &Case) -> Result<(), Stop> {
    let outcome = match case.format.as_str() {
        "group-signature" => group_signature(case),
        "packet-trailer" => packet_trailer::judge(case),
        "carriers" => carriers::judge(case),
        "group-file" => group_file::judge(case),
        "opening" => opening::judge(case),
        "warrant" => warrant::judge(case),
        "key-file" => key_file::judge(case),
        "flow-carriage" => flow_carriage::judge(case),
        "effs" => effs::judge(case),
        "flow-signature" => flow_signature::judge(case),
        "flow-manifest" => flow_manifest::judge(case),
        "tunnel" => tunnel::judge(case),
        other => Err(Stop::Wrong(format!("nobody judges {other}"))),
    };
    match outcome {
        Err(Stop::Blames(rule, culprit)) => {
            case.check("culprit", [culprit])?;
            Err(Stop::Rule(rule))
        }
        Err(Stop::Rule(_)) if case.has("culprit") => Err(Stop::Wrong("nobody is to blame".to_owned())),
        other => other,
    }
}

fn group_signature(case: &Case) -> Result<(), Stop> {
    let wanted = case.word("check")?;
    let all = [&bbs04::CHECKS[..], &xr::CHECKS, &join::CHECKS, &quorum::CHECKS, &dkg::CHECKS, &matching::CHECKS];
    let check = all.into_iter().flatten().find(|(name, _)| *name == wanted);
    check.ok_or(Stop::Wrong("no such check".to_owned()))?.1(case)
}

/// A case of this or another format.
fn other(format: &str, name: &str) -> Result<Case, Stop> {
    let mut lines = crate::FILES[format].lines();
    let line = lines.find(|line| line.starts_with(&Case::head(name)));
    let case = line.and_then(|line| Case::parse(format, line));
    case.ok_or_else(|| Stop::Wrong(format!("no {format}/{name}")))
}

/// Reasons that no packet with a trailer has.
const OF_CARRIERS: [Reason; 6] = [
    Reason::UnknownCarrier,
    Reason::BadCarrier,
    Reason::BadCarrierLength,
    Reason::BadFragment,
    Reason::MissingFragment,
    Reason::Cookie,
];

/// Everything that the cases of a format have to expect, each at least once.
pub fn rules(format: &str) -> Vec<&'static str> {
    match format {
        "group-signature" => vec![
            "valid",
            "length",
            "point",
            "subgroup",
            "identity",
            "scalar",
            "invalid",
            "revoked",
            "index",
            "quorum",
            "too-few",
            "missing",
            "cancelled",
            "no-answer",
        ],
        "packet-trailer" => {
            // The files have single packets: nothing vouches for them.
            let reasons = Reason::ALL.into_iter().filter(|reason| *reason != Reason::Vouched && !OF_CARRIERS.contains(reason));
            let name = |reason: Reason| match reason {
                Reason::Ok => "valid",
                _ => reason.as_str(),
            };
            reasons.map(name).collect()
        }
        "carriers" => carriers::RULES.split_whitespace().collect(),
        "warrant" => {
            let rules = WarrantRule::ALL.map(WarrantRule::as_str);
            ["valid", "not-a-key", "label", "damaged"].into_iter().chain(rules).collect()
        }
        // Not `too-many-epochs`, for which a file would have 500 MB, nor `steps`: 5 MB.
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
            "revoked-twice",
            "ended",
            "checkpoint",
            "public-key",
            "sharing",
        ],
        "opening" => vec![
            "valid",
            "not-a-key",
            "label",
            "damaged",
            "layout",
            "group",
            "packet",
            "signature",
            "share",
            "register",
            "device",
            "credential",
            "signer",
            "blind",
            "device-pin",
            "header",
            "too-long",
            "truncated",
        ],
        "flow-carriage" => flow_carriage::RULES.to_vec(),
        "effs" => effs::RULES.to_vec(),
        "flow-signature" => flow_signature::rules(),
        "flow-manifest" => flow_manifest::RULES.to_vec(),
        "tunnel" => tunnel::RULES.split(' ').filter(|rule| !rule.is_empty()).collect(),
        _ => key_file::RULES.to_vec(),
    }
}

impl From<DecodeError> for Stop {
    fn from(error: DecodeError) -> Self {
        Self::Rule(error.as_str())
    }
}

impl From<WarrantError> for Stop {
    fn from(error: WarrantError) -> Self {
        Self::Rule(error.as_str())
    }
}

impl From<Invalid> for Stop {
    fn from(_: Invalid) -> Self {
        Self::Rule("invalid")
    }
}

impl From<JoinError> for Stop {
    fn from(_: JoinError) -> Self {
        Self::Rule("invalid")
    }
}

impl From<Revoked> for Stop {
    fn from(_: Revoked) -> Self {
        Self::Rule("revoked")
    }
}

impl From<QuorumError> for Stop {
    fn from(error: QuorumError) -> Self {
        if let Some(trustee) = error.culprit() {
            return Self::Blames("invalid", trustee.index());
        }
        Self::Rule(match error {
            QuorumError::Decode(error) => error.as_str(),
            QuorumError::Index { .. } | QuorumError::Repeated { .. } => "index",
            QuorumError::Quorum { .. } => "quorum",
            QuorumError::TooFew { .. } | QuorumError::Count { .. } => "too-few",
            QuorumError::Missing { .. } => "missing",
            QuorumError::Cancelled | QuorumError::Product => "cancelled",
            QuorumError::NoAnswer => "no-answer",
            _ => "invalid",
        })
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        let rule = fault.rule.as_str();
        match fault.trustee {
            Some(trustee) => Self::Blames(rule, trustee.index()),
            None => Self::Rule(rule),
        }
    }
}

impl From<TextError> for Stop {
    fn from(error: TextError) -> Self {
        Self::Rule(error.as_str())
    }
}

impl From<ReadError> for Stop {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Text(error) => error.into(),
            ReadError::Fault(fault) => fault.into(),
            ReadError::LaterEpoch { .. } => Self::Rule(error.as_str()),
        }
    }
}

impl From<RegisterFileError> for Stop {
    fn from(error: RegisterFileError) -> Self {
        Self::Rule(error.as_str())
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

impl From<JoinFault> for Stop {
    fn from(fault: JoinFault) -> Self {
        Self::Rule(fault.as_str())
    }
}

impl From<DecryptError> for Stop {
    fn from(error: DecryptError) -> Self {
        Self::Rule(error.as_str())
    }
}

/// A claim about the vector that is not an encoding of its own.
fn holds(claim: bool, what: &str) -> Result<(), Stop> {
    if claim { Ok(()) } else { Err(Stop::Wrong(format!("not so: {what}"))) }
}

/// The values of a name are these, in this order.
fn check_all<T: AsRef<[u8]>>(case: &Case, name: &str, computed: impl IntoIterator<Item = T>) -> Result<(), Stop> {
    let computed: Vec<T> = computed.into_iter().collect();
    let same = case.all(name).into_iter().eq(computed.iter().map(AsRef::as_ref));
    holds(same, name)
}
