//! What a trustee has read of a topic: the case that counts, and what was posted about it.

use super::Answering;
use super::log_view::{self, LogView};
use crate::commands::request::exchange::{Reading, Thread};
use crate::commands::request::matter::Asked;
use crate::failure::Failure;
use clew_evidence::{CheckedGroup, Request, WallTime};
use clew_keys::TrusteeKeyFile;
use clew_log::entry::{Body, Logged};
use clew_service::log::LogClientError;
use clew_trustee::Responder;
use clew_trustee::request::{CaseFile, Message, Posted};
use std::collections::BTreeMap;
use std::time::Duration;

/// Most case files of one author in one topic that are compared with the log: as many as a board takes.
const CASES_MAX: usize = 8;
/// Cases that wait for that comparison: what one answer of the board can have.
const WAITING_MAX: usize = 64;

/// A case whose author filed the topic's request in the log.
#[derive(Clone)]
pub struct Found {
    pub case: CaseFile,
    pub requester: [u8; 32],
    /// The log's time of the entry.
    pub logged: WallTime,
    /// Whether the case is about the topic's request: else it counts only if no other does, so that nobody
    /// can push himself before the requester.
    is_right: bool,
}

/// A topic as far as it was read. Cases that do not count are not kept.
#[derive(Default)]
pub struct Topic {
    thread: Thread,
    waiting: Vec<([u8; 32], CaseFile)>,
    cases_of: BTreeMap<[u8; 32], usize>,
    found: Option<Found>,
}

impl Reading for Topic {
    fn last(&self) -> u64 {
        self.thread.last()
    }

    fn take(&mut self, place: u64, posted: Option<(Posted, usize)>) {
        let Some((posted, length)) = posted else {
            return self.thread.take(place, None);
        };
        let author = posted.author;
        match posted.message {
            Message::Case(case) => {
                self.thread.take(place, None);
                let of_author = self.cases_of.entry(author).or_default();
                *of_author += 1;
                let is_done = self.found.as_ref().is_some_and(|found| found.is_right);
                if *of_author <= CASES_MAX && !is_done && self.waiting.len() < WAITING_MAX {
                    self.waiting.push((author, *case));
                }
            }
            message => {
                let posted = Posted { author, message };
                self.thread.take(place, Some((posted, length)));
            }
        }
    }
}

impl Topic {
    /// Reads what is new.
    ///
    /// # Errors
    /// The board or the log.
    pub async fn read(
        &mut self,
        answering: &Answering<'_>,
        topic: &[u8; 32],
        responder: &Responder<'_>,
    ) -> Result<(), Failure> {
        answering.exchange.read(topic, self, Duration::ZERO).await?;
        self.look(answering, topic, responder).await
    }

    /// What was posted about the request.
    pub fn posts(&self) -> &[Posted] {
        &self.thread.posts
    }

    /// The case that counts.
    pub const fn found(&self) -> Option<&Found> {
        self.found.as_ref()
    }

    /// Compares the cases that came with the log.
    async fn look(
        &mut self,
        answering: &Answering<'_>,
        topic: &[u8; 32],
        responder: &Responder<'_>,
    ) -> Result<(), Failure> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let view = LogView::new(answering, responder).await?;
        while let Some((author, case)) = self.waiting.first() {
            if let Some(logged) = filed(&view, topic, (author, case)).await? {
                let request = asked_of(answering.group, case)?;
                let is_right = request.is_some_and(|request| request.logged_id() == *topic);
                if is_right || self.found.is_none() {
                    self.found = Some(Found {
                        case: case.clone(),
                        requester: *author,
                        logged,
                        is_right,
                    });
                }
                if is_right {
                    self.waiting.clear();
                    break;
                }
            }
            self.waiting.remove(0);
        }
        Ok(())
    }
}

/// When the log added the request that a case names, if its author filed it and it is the topic's.
async fn filed(
    view: &LogView<'_>,
    topic: &[u8; 32],
    (author, case): (&[u8; 32], &CaseFile),
) -> Result<Option<WallTime>, Failure> {
    let proof = match view.find(case.place.get()).await {
        Err(LogClientError::Answer(_)) => return Ok(None), // a place that the log does not have
        proof => proof.map_err(log_view::unreachable)?,
    };
    let logged = proof.extra.as_deref().and_then(Logged::decode);
    let of = logged.filter(|logged| match &logged.entry.body {
        Body::Request(filed) => filed.request == *topic && logged.entry.author == *author,
        _ => false,
    });
    Ok(of.map(|logged| logged.logged))
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
