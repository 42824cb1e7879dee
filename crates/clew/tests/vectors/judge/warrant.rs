//! Vectors of warrants.

use clew_evidence::{Question, Request, WallTime, Warrant, WarrantError};
use clew_group::{EpochId, Scheme};

use super::{Stop, check_all, holds};
use crate::case::Case;

pub fn judge(case: &Case) -> Result<(), Stop> {
    let text = case.joined("line")?;
    let warrant = Warrant::decode(&text)?;
    if case.has("asked-time") {
        return asked(case, &warrant);
    }
    let again = warrant.encode();
    holds(again.lines().last() == text.lines().last(), "the same line again")?;
    let draft = warrant.draft();
    let (asks, machine) = match draft.scope.question {
        Question::Opening => (1, None),
        Question::Match { machine } => (2, Some(machine)),
    };
    case.check("group", draft.group.0)?;
    case.check("asks", [asks])?;
    case.check("issued", draft.issued.as_nanos().to_be_bytes())?;
    case.check("expires", draft.expires.as_nanos().to_be_bytes())?;
    case.check("nonce", draft.nonce)?;
    case.check("reference", draft.reference.as_str())?;
    case.check("requester", draft.requester.key)?;
    case.check("encryption", draft.requester.encryption)?;
    case.check("requester-name", draft.requester.name.as_str())?;
    check_all(case, "machine", machine)?;
    check_all(case, "digest", &draft.scope.digests)?;
    case.check("issuer", warrant.issuer())?;
    case.check("issuer-name", warrant.issuer_name().as_str())
}

fn asked(case: &Case, warrant: &Warrant) -> Result<(), Stop> {
    let machine = case.array("asked-machine")?;
    let request = Request {
        question: match case.array("asked-asks")? {
            [1] => Question::Opening,
            _ => Question::Match { machine },
        },
        scheme: Scheme::Xr,
        group: clew_evidence::GroupId(case.array("asked-group")?),
        epoch: 0,
        epoch_id: EpochId([0; 32]),
        signature_digest: case.array("asked-digest")?,
        asked_packet: [0; 32],
        warrant: None,
        log: None,
    };
    warrant.check_request(&request).map_err(WarrantError::Rule)?;
    let time = WallTime::from_nanos(case.u64("asked-time")?);
    Ok(warrant.check_time(time).map_err(WarrantError::Rule)?)
}
