//! A request's topic on the board, and the group's log, as one author uses them.

use crate::clock;
use crate::commands::group::{NEEDS_PIN, lacks_pin};
use crate::failure::Failure;
use clew_evidence::{CheckedGroup, GroupFile};
use clew_keys::AuthorKeyFile;
use clew_keys::post::BoardId;
use clew_log::entry::{Body, Entry};
use clew_log::{Policy, Proof};
use clew_service::board::BoardClient;
use clew_service::http::{ClientError, ServiceUrl};
use clew_service::log::{LogClient, LogClientError};
use clew_trustee::request::{Message, Posted};
use std::collections::BTreeMap;
use std::time::Duration;

/// Most answers of the board that one look at a topic reads: some 32 MiB. The next look goes on behind them.
const PAGES_MAX: usize = 64;
/// Most messages of a topic that are kept, and of one author: as many as honest ones have.
const KEPT_MAX: usize = 4_096;
const OF_AUTHOR_MAX: usize = 96;
/// Most bytes of them.
const BYTES_MAX: usize = 64 << 20;
/// How often a busy log is asked again, and after how long.
const ATTEMPTS: u32 = 5;
const AGAIN: Duration = Duration::from_secs(1);

/// What takes the posts of a topic in their order, and knows how far it has come.
pub trait Reading {
    /// The place of the last post that it took.
    fn last(&self) -> u64;
    /// Takes the next one: a message with its length, or `None` if it is not one of a request.
    fn take(&mut self, place: u64, posted: Option<(Posted, usize)>);
}

/// What a topic has so far, in bounded memory: posts are only added, so each is read once.
#[derive(Default)]
pub struct Thread {
    /// The messages that are kept, in the board's order.
    pub posts: Vec<Posted>,
    last: u64,
    bytes: usize,
    of_author: BTreeMap<[u8; 32], usize>,
}

impl Reading for Thread {
    fn last(&self) -> u64 {
        self.last
    }

    fn take(&mut self, place: u64, posted: Option<(Posted, usize)>) {
        self.last = place;
        let Some((posted, length)) = posted else {
            return;
        };
        let of_author = self.of_author.entry(posted.author).or_default();
        let is_kept = *of_author < OF_AUTHOR_MAX
            && self.posts.len() < KEPT_MAX
            && self.bytes + length <= BYTES_MAX;
        if is_kept {
            *of_author += 1;
            self.bytes += length;
            self.posts.push(posted);
        }
    }
}

/// An author at the board and the log.
pub struct Exchange<'k> {
    /// The board.
    pub board: BoardClient,
    /// The log.
    pub log: LogClient,
    key: &'k AuthorKeyFile,
    group: [u8; 16],
}

impl<'k> Exchange<'k> {
    /// An author of a group. Nothing is sent.
    ///
    /// # Errors
    /// TLS cannot be set up.
    pub fn new(
        manager: &ServiceUrl,
        log: &ServiceUrl,
        group: &GroupFile,
        key: &'k AuthorKeyFile,
    ) -> Result<Self, Failure> {
        let id = BoardId::of_group(group.id());
        let board = BoardClient::new(manager, id, key, clock::now_ns);
        Ok(Self {
            board: board.map_err(Failure::new)?,
            log: LogClient::new(log).map_err(Failure::new)?,
            group: group.id().0,
            key,
        })
    }

    /// The author's key.
    pub const fn key(&self) -> &AuthorKeyFile {
        self.key
    }

    /// Posts a message. Again it is the same post.
    pub async fn say(&self, topic: [u8; 32], message: &Message) -> Result<(), Failure> {
        let body = message.encode();
        let post = body.and_then(|body| self.board.sign(topic, message.kind(), body));
        let post = post.ok_or_else(|| Failure::new("longer than a post may be"))?;
        self.board.post(&post).await.map_err(refused)?;
        Ok(())
    }

    /// Reads what is new of a topic. If it has nothing new, waits for it, up to `wait`. Returns whether there
    /// may be more behind: a board without end, which one call does not follow to it.
    pub async fn read(
        &self,
        topic: &[u8; 32],
        into: &mut impl Reading,
        wait: Duration,
    ) -> Result<bool, Failure> {
        let mut wait = wait;
        for _ in 0..PAGES_MAX {
            let next = self.board.topic(topic, into.last(), wait).await;
            let next = next.map_err(refused)?;
            if next.is_empty() {
                return Ok(false);
            }
            for placed in next {
                let (author, kind) = (placed.post.author, placed.post.kind);
                let message = Message::decode(kind, &placed.post.body);
                let length = placed.post.body.len();
                let posted = message.map(|message| Posted { author, message });
                into.take(placed.place, posted.map(|posted| (posted, length)));
            }
            wait = Duration::ZERO;
        }
        Ok(true)
    }

    /// Has an entry logged, and returns the log's proof of it, which holds under the policy. An entry that
    /// the log has is not added again.
    pub async fn log(&self, body: &Body, policy: &Policy) -> Result<Proof, LogClientError> {
        let (mut left, signing) = (ATTEMPTS, self.key.signing_key());
        loop {
            let entry = Entry::sign(self.group, clock::wall_time(), body.clone(), &signing);
            let entry = entry.ok_or(LogClientError::Answer("an entry: it is too long"))?;
            let now = clock::now_ns() / 1_000_000_000;
            match self.log.add_cosigned(&entry, policy, now).await {
                Err(error) if error.rule() == Some("busy") && left > 0 => left -= 1,
                answer => return answer,
            }
            tokio::time::sleep(AGAIN).await;
        }
    }
}

/// The log of a manager: below its own address.
pub fn log_url(manager: &ServiceUrl) -> Result<ServiceUrl, Failure> {
    manager.at("log").map_err(Failure::new)
}

/// Whether a group has a log now.
///
/// # Errors
/// It has none.
pub fn check_log(group: &CheckedGroup) -> Result<(), Failure> {
    match group.log_at(group.epoch_at(clock::wall_time())) {
        Some(_) => Ok(()),
        None => Err(
            Failure::new("the group has no log, which trustees over the network need")
                .hint("ask each trustee for a file: clew help share"),
        ),
    }
}

/// Why the board refused.
pub fn refused(error: ClientError) -> Failure {
    let failure = Failure::unanswered(&error);
    match &error {
        ClientError::Refused { problem, .. } if problem.title == "author" => {
            failure.hint("ask the manager: clew manager admit DIR --key FILE.pub ...")
        }
        error if lacks_pin(error) => failure.hint(NEEDS_PIN),
        _ => failure,
    }
}

/// Why the log refused.
pub fn unlogged(error: &LogClientError) -> Failure {
    let failure = match error {
        LogClientError::Http(error) => Failure::unanswered(error),
        error => Failure::new(error),
    };
    match error.rule() {
        _ if matches!(error, LogClientError::Http(error) if lacks_pin(error)) => {
            failure.hint(NEEDS_PIN)
        }
        Some("author") => {
            failure.hint("ask the manager: clew manager admit DIR --key FILE.pub ...")
        }
        Some("time") => failure.hint("set the clock of this host"),
        _ => failure,
    }
}
