//! The row of an opened packet, from the manager: checked as a judge checks it.

use super::exchange::Exchange;
use super::folder::Folder;
use crate::failure::Failure;
use crate::groups::check;
use clew_evidence::armor::MAX_TEXT_BYTES;
use clew_evidence::{
    CheckedGroup, CombineError, GroupFile, Judgement, Opening, Refused, Request, RowQuestion,
    Share, combine_opening, judge_opening,
};
use clew_service::manager::{ManagerClient, ROW_PATH};
use std::path::Path;
use std::time::Duration;

/// Longest wait for a row: the manager may have to search its whole register.
const WAIT: Duration = Duration::from_secs(600);

/// An opening, the group file under which it holds, and whose shares were left out.
pub struct Answered {
    pub opening: Opening,
    pub judgement: Judgement,
    pub group: CheckedGroup,
    pub refused: Vec<Refused>,
}

/// Combines shares, and asks the manager for the row. The group file of the manager is kept in the
/// request's directory once it continues the one that the request was filed with.
///
/// # Errors
/// [`CombineError`] within: too few shares are good. The manager does not answer, or its answer does
/// not hold.
pub async fn ask(
    exchange: &Exchange<'_>,
    folder: &Folder,
    request: &Request,
    shares: &[Share],
) -> Result<Result<Answered, CombineError>, Failure> {
    let packet = folder.asked.evidence.packet();
    let refused = match combine_opening(&folder.group, request, shares, &packet, |_| None) {
        Err(CombineError::NoRow { refused, .. }) => refused, // the row is what is asked for
        Err(error) => return Ok(Err(error)),
        Ok(opened) => opened.refused,
    };
    let url = folder.manager()?;
    let client = ManagerClient::new(&url).map_err(Failure::new)?;
    let question = RowQuestion::new(&packet, shares).and_then(|question| question.encode());
    let question =
        question.ok_or_else(|| Failure::new("the packet is too long to be asked about"))?;
    let asked = exchange.board.ask(ROW_PATH, question, MAX_TEXT_BYTES, WAIT);
    let text = String::from_utf8(asked.await.map_err(|error| Failure::unanswered(&error))?);
    let text = text.map_err(|_| Failure::new(format!("{url}: the answer is not text")).no())?;
    let bytes = client
        .group()
        .await
        .map_err(|error| Failure::unanswered(&error))?;
    let group = GroupFile::from_bytes(&bytes);
    let group = group.map_err(|error| Failure::new(format!("{url}: {error}")).no())?;
    let group = check(Path::new(&url.to_string()), group)?;
    continues(&folder.group, &group)?;
    let opening = Opening::decode(&text, &group);
    let opening = opening.map_err(|error| Failure::new(format!("{url}: {error}")).no())?;
    if opening.request != *request {
        let why = "the manager answers another question";
        return Err(Failure::new(format!("{url}: {why}")).no());
    }
    let judgement = judge_opening(&group, &opening, &packet);
    let judgement = judgement.map_err(|fault| Failure::new(format!("{url}: {fault}")).no())?;
    folder.put_group_bytes(&bytes)?;
    Ok(Ok(Answered {
        opening,
        judgement,
        group,
        refused,
    }))
}

/// Checks that a group file has the history of an earlier one.
fn continues(earlier: &CheckedGroup, later: &CheckedGroup) -> Result<(), Failure> {
    let newest = earlier.newest_epoch();
    let is_same = later.id() == earlier.id()
        && newest <= later.newest_epoch()
        && later.epoch_id(newest) == earlier.epoch_id(newest);
    match is_same {
        true => Ok(()),
        false => Err(
            Failure::new("the manager shows another history of the group")
                .hint("compare epoch ids: clew group list GROUPFILE")
                .no(),
        ),
    }
}
