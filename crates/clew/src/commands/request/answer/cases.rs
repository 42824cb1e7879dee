//! Which case of a topic counts, and which key it is about.

use super::Answering;
use super::log_view::{self, LogView};
use crate::commands::request::matter::Asked;
use crate::failure::Failure;
use clew_evidence::{CheckedGroup, Request, WallTime};
use clew_keys::TrusteeKeyFile;
use clew_log::entry::{Body, Logged};
use clew_service::log::LogClientError;
use clew_trustee::Responder;
use clew_trustee::request::{CaseFile, Message, Posted};
use std::collections::BTreeMap;

/// Most case files of one author in one topic that are compared with the log.
const CASES_MAX: usize = 8;

/// The first case of a topic whose author filed the topic's request in the log. One that is about another
/// request counts only if there is no other, so that nobody can push himself before the requester.
pub async fn case(
    answering: &Answering<'_>,
    topic: &[u8; 32],
    posts: &[Posted],
    responder: &Responder<'_>,
) -> Result<Option<(CaseFile, [u8; 32], WallTime)>, Failure> {
    let (mut view, mut other, mut seen) = (None, None, BTreeMap::new());
    for post in posts {
        let (author, Message::Case(case)) = (post.author, &post.message) else {
            continue;
        };
        let of_author: &mut usize = seen.entry(author).or_default();
        *of_author += 1;
        if *of_author > CASES_MAX {
            continue;
        }
        if view.is_none() {
            view = Some(LogView::new(answering, responder).await?);
        }
        let Some(view) = &view else { break };
        let proof = match view.find(case.place.get()).await {
            Err(LogClientError::Answer(_)) => continue, // a place that the log does not have
            proof => proof.map_err(log_view::unreachable)?,
        };
        let logged = proof.extra.as_deref().and_then(Logged::decode);
        let of = logged.filter(|logged| match &logged.entry.body {
            Body::Request(filed) => filed.request == *topic && logged.entry.author == author,
            _ => false,
        });
        let Some(logged) = of else { continue };
        let found = (case.as_ref().clone(), author, logged.logged);
        let request = asked_of(answering.group, case)?;
        if request.is_some_and(|request| request.logged_id() == *topic) {
            return Ok(Some(found));
        }
        other.get_or_insert(found);
    }
    Ok(other)
}

/// The request that a case makes, as far as the case can be read.
///
/// # Errors
/// The disk: that says nothing about the case.
fn asked_of(group: &CheckedGroup, case: &CaseFile) -> Result<Option<Request>, Failure> {
    let path = tempfile::NamedTempFile::new().map_err(Failure::new)?;
    std::fs::write(path.path(), &case.capture).map_err(|error| Failure::io(path.path(), &error))?;
    let machine = case.machine.clone();
    let asked = Asked::new(
        group,
        &case.warrant,
        path.path(),
        case.frame.into(),
        machine,
    );
    Ok(asked.ok().map(|asked| asked.request))
}

/// The key that has a share of the epoch of the case's packet, as far as the case can be read.
///
/// # Errors
/// As [`asked_of`].
pub fn key_of<'a>(
    answering: &Answering<'a>,
    case: &CaseFile,
) -> Result<Option<&'a (std::path::PathBuf, TrusteeKeyFile)>, Failure> {
    let Some(request) = asked_of(answering.group, case)? else {
        return Ok(None);
    };
    let sharing = answering.group.sharing(request.epoch);
    let since = sharing.and_then(|sharing| Some(sharing.ok()?.since));
    let mut keys = answering.keys.iter();
    Ok(since.and_then(|since| keys.find(|(_, key)| key.since == since)))
}
