//! The group's board: signed posts by topic (`spec/board.md`). It keeps them, and believes nothing.

use crate::error::StoreError;
use crate::storage::{self, Database, NewPost, Transaction};
use crate::store;
use clew_keys::post::{BoardId, POST_BODY_MAX, Post};
use clew_log::entry::Role;
use clew_trustee::dkg::Proposal;
use clew_trustee::request::CASE_KIND;
use std::ops::RangeInclusive;
use std::path::Path;
use thiserror::Error;

/// The kind of a plan's post, which names who may post in its topic. The only kind that the board reads.
pub const POST_PLAN: u8 = 1;

/// Most bytes of all posts together: 16 GiB. Then the board takes none until an operator acts.
pub const BOARD_BYTES_MAX: u64 = 16 << 30;

/// Bytes of posts in one answer, about: a reader asks again behind the last one. They are in memory while
/// he takes them.
const ANSWER_BYTES: usize = 512 << 10;
/// Most posts in one list of news.
const NEWS_MAX: u32 = 1_000;
const DAY_NS: u64 = 86_400_000_000_000;

/// Kinds of a request that trustees alone post, and that every requester in the topic reads.
const OF_TRUSTEES: RangeInclusive<u8> = 33..=36;
/// Most cases of one author in one topic: as many as trustees look at.
const CASES_MAX: u64 = 8;

/// What one author may post. Only plans and cases are long: a deal for 32 trustees has 7 KiB.
struct Allowance {
    /// Bytes of a body that is neither a plan nor a case.
    body: usize,
    /// Kinds that are another role's: with seats all are the topic's.
    others: &'static [RangeInclusive<u8>],
    /// Posts in one topic.
    posts: u64,
    /// Topics begun on one day.
    topics: u64,
    /// Bytes posted on one day.
    bytes: u64,
}

/// The manager's own operator begins topics, and is not strangers' prey: its bounds stop programs that
/// run wild.
const MANAGER: Allowance = Allowance {
    body: POST_BODY_MAX,
    others: &[],
    posts: 1_024,
    topics: 1_024,
    bytes: 1 << 30,
};
/// A court files requests, each a topic with a case.
const REQUESTER: Allowance = Allowance {
    body: 64 << 10,
    others: &[OF_TRUSTEES],
    posts: 64,
    topics: 256,
    bytes: 256 << 20,
};
/// A trustee answers, and begins nothing.
const TRUSTEE: Allowance = Allowance {
    body: 64 << 10,
    others: &[CASE_KIND..=CASE_KIND, 37..=38],
    posts: 64,
    topics: 0,
    bytes: 64 << 20,
};

/// Why a board does not take a post, or does not show one.
#[derive(Debug, Error)]
pub enum BoardError {
    /// The bytes are not a post.
    #[error("not a post of this version")]
    Layout,
    /// The post is for another board.
    #[error("the post is for another board")]
    Board,
    /// The author or reader is not admitted, nor named in the topic's plan.
    #[error("this key may not use the board, or not this topic")]
    Author,
    /// The signature does not hold.
    #[error("the signature does not hold")]
    Signature,
    /// The kind is one that another role posts.
    #[error("posts of this kind are not this author's")]
    Kind,
    /// The body is longer than this author's may be.
    #[error("a body of this author has at most {0} bytes")]
    TooLong(usize),
    /// The topic is not the hash of its plan, or began already; or the plan is not the manager's.
    #[error("a plan is the manager's first post in the topic that it names")]
    Topic,
    /// The author posted too much in this topic or today.
    #[error("this author has posted its maximum of {0}")]
    TooMany(&'static str),
    /// The reader knows a later post than there is.
    #[error("the board has fewer posts: an older copy of it was restored")]
    After,
    /// The board is full.
    #[error("the board is full")]
    Full,
    /// The store's.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl BoardError {
    /// The rule's name in `spec/board.md` section 3.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Layout => "layout",
            Self::Board => "board",
            Self::Author => "author",
            Self::Kind => "kind",
            Self::Signature => "signature",
            Self::TooLong(_) => "too-long",
            Self::Topic => "topic",
            Self::TooMany(_) => "too-many",
            Self::After => "after",
            Self::Full => "full",
            Self::Store(_) => "store",
        }
    }
}

/// The board of one group, open beside its [`Store`](crate::Store).
pub struct Board {
    db: Box<dyn Database>,
    id: BoardId,
    manager: [u8; 32],
}

impl std::fmt::Debug for Board {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Board")
    }
}

impl Board {
    /// Opens the board of a group's directory.
    ///
    /// # Errors
    /// [`StoreError`] if the directory is not a store of this layout.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let db = storage::open(dir)?;
        let group = store::read_group(&*db)?;
        Ok(Self {
            db,
            id: BoardId::of_group(group.id()),
            manager: group.genesis().manager,
        })
    }

    /// Which board it is.
    pub const fn id(&self) -> BoardId {
        self.id
    }

    /// Adds a post, and returns its place in its topic, from 1: it is on the disk then. The same post
    /// has the same place again. `now` is in nanoseconds since 1970.
    ///
    /// # Errors
    /// [`BoardError`] by the first rule that fails; then nothing is added.
    pub fn post(&mut self, post: &Post, now: u64) -> Result<u64, BoardError> {
        if post.board != self.id {
            return Err(BoardError::Board);
        }
        // Strangers cost one look-up.
        let allowance = self.allowance(post)?;
        if allowance
            .others
            .iter()
            .any(|kinds| kinds.contains(&post.kind))
        {
            return Err(BoardError::Kind);
        }
        let longest = match post.kind {
            CASE_KIND => POST_BODY_MAX,
            _ => allowance.body,
        };
        if post.body.len() > longest {
            return Err(BoardError::TooLong(longest));
        }
        if !post.is_signed() {
            return Err(BoardError::Signature);
        }
        let (bytes, id) = (post.encode(), post.id());
        let transaction = self.db.begin()?;
        if let Some(place) = transaction.post_place(&id)? {
            return Ok(place);
        }
        let day = now / DAY_NS;
        let place = transaction.count_posts(&post.topic, None)? + 1;
        check_allowance(&*transaction, post, &allowance, place, day, bytes.len())?;
        if post.kind == POST_PLAN {
            let plan = Proposal::decode(&post.body).filter(|plan| plan.topic() == post.topic);
            let first = plan.filter(|_| place == 1 && post.author == self.manager);
            for seat in first.ok_or(BoardError::Topic)?.seats() {
                transaction.add_seat(&post.topic, seat.author.signs.as_bytes())?;
            }
        }
        transaction.add_post(&NewPost {
            topic: &post.topic,
            place,
            author: &post.author,
            kind: post.kind,
            id: &id,
            now,
            day,
            bytes: &bytes,
        })?;
        transaction.commit()?;
        Ok(place)
    }

    /// What the author may post in that topic. A topic with a plan is for those whom it names.
    fn allowance(&self, post: &Post) -> Result<Allowance, BoardError> {
        if post.author == self.manager {
            return Ok(MANAGER);
        }
        if self.db.count_seats(&post.topic)? > 0 {
            let seated = self.db.is_seated(Some(&post.topic), &post.author)?;
            return seated.then_some(TRUSTEE).ok_or(BoardError::Author);
        }
        match self.db.author(&post.author)?.map(|known| known.role) {
            Some(Role::Trustee(_)) => Ok(TRUSTEE),
            Some(Role::Requester) => Ok(REQUESTER),
            _ => Err(BoardError::Author),
        }
    }

    /// Checks that a key may use the board at all: cheap, before more of its request is read.
    ///
    /// # Errors
    /// [`BoardError::Author`] if it may not.
    pub fn check_user(&self, key: &[u8; 32]) -> Result<(), BoardError> {
        let may = self.is_reader(key)? || self.db.is_seated(None, key)?;
        may.then_some(()).ok_or(BoardError::Author)
    }

    /// Returns posts of a topic with their places, from the one behind `after` on, some 512 KiB of them;
    /// none if there is none yet. A requester gets its own, and in topics in which it posted a case those
    /// that trustees alone post.
    ///
    /// # Errors
    /// [`BoardError::Author`] if the reader may not read this topic.
    pub fn read(
        &self,
        reader: &[u8; 32],
        topic: &[u8; 32],
        after: u64,
    ) -> Result<Vec<(u64, Vec<u8>)>, BoardError> {
        if !self.is_reader(reader)? && !self.db.is_seated(Some(topic), reader)? {
            return Err(BoardError::Author);
        }
        // Another's case has the warrant and the packets of a request, which may be sealed.
        let role = self.db.author(reader)?.map(|known| known.role);
        if role != Some(Role::Requester) || self.db.is_seated(Some(topic), reader)? {
            return Ok(self.db.posts(topic, after, ANSWER_BYTES)?);
        }
        let kinds = match self.db.count_kind(topic, reader, CASE_KIND)? {
            0 => 0..=0,
            _ => OF_TRUSTEES,
        };
        let of = (reader, kinds);
        Ok(self.db.posts_for(topic, after, ANSWER_BYTES, of)?)
    }

    /// Returns the numbers and topics of the posts behind number `after` on the whole board, at most
    /// 1,000. A reader that has seats alone gets those of its topics.
    ///
    /// # Errors
    /// [`BoardError::Author`] if the reader may not read any topic; [`BoardError::After`] if the board
    /// has no post of that number any more.
    pub fn news(&self, reader: &[u8; 32], after: u64) -> Result<Vec<(u64, [u8; 32])>, BoardError> {
        let seated = match self.is_reader(reader)? {
            true => None,
            false if self.db.is_seated(None, reader)? => Some(reader),
            false => return Err(BoardError::Author),
        };
        match after > self.db.last_post()? {
            true => Err(BoardError::After),
            false => Ok(self.db.news(after, NEWS_MAX, seated)?),
        }
    }

    /// Returns numbers and topics of the posts of a kind before number `before`, the newest first, at most
    /// `most`.
    ///
    /// # Errors
    /// [`BoardError::Author`] if the reader may not read all topics.
    pub fn posts_of(
        &self,
        reader: &[u8; 32],
        kind: u8,
        before: u64,
        most: u32,
    ) -> Result<Vec<(u64, [u8; 32])>, BoardError> {
        if !self.is_reader(reader)? {
            return Err(BoardError::Author);
        }
        let before = before.min(i64::MAX as u64); // numbers of the database have a sign
        Ok(self.db.posts_of(kind, before, most)?)
    }

    /// Returns the topics of all plans, oldest first.
    ///
    /// # Errors
    /// The database's.
    pub fn plans(&self) -> Result<Vec<[u8; 32]>, StoreError> {
        self.db.topics_of(POST_PLAN)
    }

    /// The number of the newest post, 0 if there is none.
    ///
    /// # Errors
    /// The database's.
    pub fn last(&self) -> Result<u64, StoreError> {
        self.db.last_post()
    }

    /// Whether a key reads all topics. Observers read none: a topic may hold a sealed warrant.
    fn is_reader(&self, reader: &[u8; 32]) -> Result<bool, StoreError> {
        let role = self.db.author(reader)?.map(|known| known.role);
        let admitted = matches!(role, Some(Role::Trustee(_) | Role::Requester));
        Ok(admitted || *reader == self.manager)
    }
}

fn check_allowance(
    transaction: &dyn Transaction,
    post: &Post,
    allowance: &Allowance,
    place: u64,
    day: u64,
    length: usize,
) -> Result<(), BoardError> {
    let length = length as u64;
    if transaction.posted(&[], 0)?.1 + length > BOARD_BYTES_MAX {
        return Err(BoardError::Full);
    }
    let (topics, bytes) = transaction.posted(&post.author, day)?;
    if place == 1 && topics >= allowance.topics {
        return Err(BoardError::TooMany("topics of a day"));
    }
    if bytes + length > allowance.bytes {
        return Err(BoardError::TooMany("bytes of a day"));
    }
    if transaction.count_posts(&post.topic, Some(&post.author))? >= allowance.posts {
        return Err(BoardError::TooMany("posts in a topic"));
    }
    let is_case = post.kind == CASE_KIND;
    if is_case && transaction.count_kind(&post.topic, &post.author, CASE_KIND)? >= CASES_MAX {
        return Err(BoardError::TooMany("cases in a topic"));
    }
    Ok(())
}
