//! What a trustee keeps of one request: a folder of small files, each written whole and synced.

use crate::failure::Failure;
use clew_keys::files::{IfExists, MODE_SECRET, directory, sync_directory, write_atomically};
use clew_log::Proof;
use clew_log::entry::{Answer, Body, Entry, Logged};
use clew_trustee::approval::may_pass;
use clew_trustee::request::Message;
use clew_wire::Hex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const REVIEW: &str = "review.json";
const PACKETS: &str = "packets";
const ORDER: &str = "order";
const TROUBLE: &str = "trouble";
const TOLD: &str = "told";
const FROM: &str = "from";
const OVER: &str = "over";
/// Longest file that is read here.
const FILE_MAX: u64 = 1 << 20;
/// Most keys that are kept of those who showed a case.
const FROM_MAX: usize = 64;

/// Names of the posts of a request, each the body of one.
pub const REVIEWED: &str = "reviewed";
pub const DECISION: &str = "decision";
pub const SHARE: &str = "share";

/// First and longest time until a request is checked again whose rule may hold later.
const AGAIN: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(6 * 3_600)];

/// Where a trustee keeps requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Those that may need a turn.
    Open,
    /// Those about which nothing is left to do.
    Filed,
}

impl Place {
    /// The folder's name.
    pub const fn folder(self) -> &'static str {
        match self {
            Self::Open => super::REQUESTS,
            Self::Filed => super::FILED,
        }
    }
}

/// The folder of one request.
pub struct Record {
    folder: PathBuf,
}

/// What a trustee found, for its operator. The facts of the warrant are there if it could be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reviewed {
    /// The request's id, in hexadecimal.
    pub id: String,
    /// Place of its entry in the log.
    pub place: u64,
    /// When the log added it, nanoseconds since 1970.
    pub logged: u64,
    /// The first epoch of the opening key that opens the packet.
    pub since: u32,
    /// The trustee's index among its trustees.
    pub trustee: u8,
    /// Fingerprint of the key that filed it.
    pub requester: String,
    /// 1 if all checks passed, else the number of the rule (`spec/opening.md` 3.1).
    pub answer: u8,
    /// The reason, if a check failed.
    pub why: Option<String>,
    /// When it was checked, nanoseconds since 1970.
    pub checked: u64,
    /// How often it was checked, and how often something new of that was posted.
    #[serde(default)]
    pub looks: u32,
    #[serde(default)]
    pub posted: u32,
    /// What the warrant says.
    pub warrant: Option<Facts>,
}

/// What a warrant says, and what it covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// `opening` or `match`.
    pub asks: String,
    /// Its reference.
    pub reference: String,
    /// Name of the requester.
    pub requester: String,
    /// Name of the court, in its own words.
    pub issuer: String,
    /// Fingerprint of the court's key.
    pub issuer_key: String,
    /// From when it is in force, nanoseconds since 1970. Older records do not say.
    #[serde(default)]
    pub issued: Option<u64>,
    /// Until when.
    pub expires: u64,
    /// When the packet was signed, as it states.
    #[serde(default)]
    pub signed: Option<u64>,
    /// How many signatures it covers.
    pub signatures: usize,
    /// Which packets this signature covers.
    pub covers: String,
    /// Numbers of the packets that this signature covers, in the capture: the first ones.
    #[serde(default)]
    pub packets: Vec<u64>,
    /// The packet's number in the requester's own capture, in its word; 0 if it does not say.
    #[serde(default)]
    pub original: u32,
    /// Name of the machine of a match, the requester's word until the row is checked.
    pub machine: Option<String>,
}

impl Record {
    /// The folder of a topic in a trustee's directory, wherever it is. Nothing is made.
    pub fn at(dir: &Path, topic: &[u8; 32]) -> Self {
        let of = |place: Place| dir.join(place.folder()).join(Hex(topic).to_string());
        let (open, filed) = (of(Place::Open), of(Place::Filed));
        let folder = if filed.exists() && !open.exists() {
            filed
        } else {
            open
        };
        Self { folder }
    }

    /// Why it was filed away, if it was.
    pub fn over(&self) -> Result<Option<String>, Failure> {
        let bytes = self.get(OVER)?;
        Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
    }

    /// Files it away: what nobody needs any more is removed.
    pub fn file_away(&self, dir: &Path, topic: &[u8; 32], why: &str) -> Result<(), Failure> {
        self.put(OVER, why.as_bytes())?;
        self.remove(PACKETS)?;
        self.move_to(dir, topic, Place::Filed)
    }

    /// Opens it again: everything is looked at anew.
    pub fn bring_back(&self, dir: &Path, topic: &[u8; 32]) -> Result<(), Failure> {
        self.remove(REVIEW)?;
        self.remove(OVER)?;
        self.move_to(dir, topic, Place::Open)
    }

    fn move_to(&self, dir: &Path, topic: &[u8; 32], place: Place) -> Result<(), Failure> {
        let all = dir.join(place.folder());
        let failed = |error| Failure::io(&all, &error);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&all)
            .map_err(failed)?;
        fs::rename(&self.folder, all.join(Hex(topic).to_string())).map_err(failed)?;
        sync_directory(&all).map_err(failed)?;
        sync_directory(directory(&self.folder)).map_err(failed)
    }

    /// The keys that showed a case, as far as they were kept.
    pub fn from(&self) -> Result<BTreeSet<[u8; 32]>, Failure> {
        let bytes = self.get(FROM)?.unwrap_or_default();
        let (keys, _) = bytes.as_chunks::<32>();
        Ok(keys.iter().copied().collect())
    }

    /// Makes the folder, and keeps who showed a case: nobody waits behind the requests of another.
    pub fn create_from(&self, keys: &BTreeSet<[u8; 32]>) -> Result<(), Failure> {
        self.create()?;
        let mut all = self.from()?;
        let known = all.len();
        all.extend(keys.iter().take(FROM_MAX.saturating_sub(known)));
        match all.len() > known {
            true => self.put(FROM, all.into_iter().collect::<Vec<_>>().as_flattened()),
            false => Ok(()),
        }
    }

    /// Whether a share was given.
    pub fn has_given(&self) -> Result<bool, Failure> {
        let messages = self.messages()?;
        let mut messages = messages.iter();
        Ok(messages.any(|message| matches!(message, Message::Share { .. })))
    }

    /// Whether the folder is there.
    pub fn exists(&self) -> bool {
        self.folder.is_dir()
    }

    /// Makes the folder.
    pub fn create(&self) -> Result<(), Failure> {
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(&self.folder);
        made.and_then(|()| self.folder.parent().map_or(Ok(()), sync_directory))
            .map_err(|error| Failure::io(&self.folder, &error))
    }

    /// Removes the folder if nothing but the names of those who posted is in it.
    pub fn forget(&self) {
        if matches!(self.review(), Ok(None)) {
            let _ = fs::remove_file(self.folder.join(FROM));
            let _ = fs::remove_dir(&self.folder);
        }
    }

    /// The capture of the case.
    pub fn packets(&self) -> PathBuf {
        self.folder.join(PACKETS)
    }

    /// Keeps the capture.
    pub fn put_packets(&self, bytes: &[u8]) -> Result<(), Failure> {
        self.put(PACKETS, bytes)
    }

    /// What was found, once the request was checked.
    pub fn review(&self) -> Result<Option<Reviewed>, Failure> {
        let Some(bytes) = self.get(REVIEW)? else {
            return Ok(None);
        };
        let read = serde_json::from_slice(&bytes);
        let path = self.folder.join(REVIEW);
        read.map(Some).map_err(|error| Failure::file(&path, error))
    }

    /// Keeps what was found.
    pub fn put_review(&self, review: &Reviewed) -> Result<(), Failure> {
        let bytes = serde_json::to_vec_pretty(review).map_err(Failure::new)?;
        self.put(REVIEW, &bytes)
    }

    /// The operator's decision, signed with the trustee's author key.
    pub fn order(&self) -> Result<Option<Entry>, Failure> {
        let bytes = self.get(ORDER)?;
        Ok(bytes.and_then(|bytes| Entry::decode(&bytes)))
    }

    /// Keeps the operator's decision, synced. What kept an earlier one from being done is over.
    pub fn put_order(&self, order: &Entry) -> Result<(), Failure> {
        self.put(ORDER, &order.encode())?;
        self.put_trouble(None).map(drop)
    }

    /// Why the last turn could not do what was ordered.
    pub fn trouble(&self) -> Result<Option<String>, Failure> {
        let bytes = self.get(TROUBLE)?;
        Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
    }

    /// Keeps that, or that it is over. Returns whether it is news.
    pub fn put_trouble(&self, why: Option<&str>) -> Result<bool, Failure> {
        if self.trouble()?.as_deref() == why {
            return Ok(false);
        }
        match why {
            Some(why) => self.put(TROUBLE, why.as_bytes())?,
            None => self.remove(TROUBLE)?,
        }
        Ok(true)
    }

    /// Whether a notice told of it.
    pub fn is_told(&self) -> bool {
        self.folder.join(TOLD).exists()
    }

    /// Keeps that a notice told of it.
    pub fn set_told(&self) -> Result<(), Failure> {
        self.put(TOLD, b"")
    }

    /// A message that was made, by the name of its file.
    pub fn message(&self, name: &str) -> Result<Option<Message>, Failure> {
        let bytes = self.get(name)?;
        Ok(bytes.and_then(|bytes| {
            let (kind, body) = bytes.split_first()?;
            Message::decode(*kind, body)
        }))
    }

    /// Keeps a message before it is posted.
    pub fn put_message(&self, name: &str, message: &Message) -> Result<(), Failure> {
        let body = message.encode();
        let body = body.ok_or_else(|| Failure::new("longer than a post may be"))?;
        self.put(name, &[&[message.kind()], &body[..]].concat())
    }

    /// The decision that the log has, with its place.
    pub fn decision(&self) -> Result<Option<(u64, Answer)>, Failure> {
        Ok(match self.message(DECISION)? {
            Some(Message::Decision(proof)) => answer(&proof).map(|answer| (proof.index, answer)),
            _ => None,
        })
    }

    /// Whether something is to do though the board has nothing new: the operator decided something that is
    /// not in the log yet, or it is time to check again. `retries` says whether what could not be done is tried
    /// again: a clock or a cache may be right by then.
    pub fn is_pending(&self, now: u64, retries: bool) -> Result<bool, Failure> {
        let order = self.order()?.map(|order| order.body);
        let order = match order {
            Some(Body::Decision { answer, .. }) => Some(answer),
            _ => None,
        };
        let decision = self.decision()?.map(|(_, answer)| answer);
        let is_open = order.is_some() && decision != order && decision != Some(Answer::Yes);
        if self.trouble()?.is_some() {
            return Ok(retries);
        }
        let is_due = match self.review()? {
            None => retries,
            Some(review) => order.is_none() && decision.is_none() && review.is_due(now),
        };
        Ok(is_open || is_due)
    }

    /// Whether the requester waits for this trustee: it was checked, and nobody decided.
    pub fn is_undecided(&self, now: u64) -> Result<bool, Failure> {
        let Some(review) = self.review()? else {
            return Ok(false);
        };
        let expires = review
            .warrant
            .as_ref()
            .map_or(u64::MAX, |facts| facts.expires);
        let is_open = self.order()?.is_none() && self.decision()?.is_none();
        Ok(is_open && expires > now && review.answer != super::RULE_QUEUE)
    }

    /// All messages that were made.
    pub fn messages(&self) -> Result<Vec<Message>, Failure> {
        let mut names = vec![REVIEWED.to_owned(), DECISION.to_owned(), SHARE.to_owned()];
        for attempt in 1..=clew_trustee::request::ATTEMPTS_MAX {
            let of = |step: &str| format!("{step}-{attempt}");
            names.extend([of("commitment"), of("blind"), of(SHARE)]);
        }
        let mut messages = Vec::new();
        for name in names {
            messages.extend(self.message(&name)?);
        }
        Ok(messages)
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let path = self.folder.join(name);
        write_atomically(&path, bytes, MODE_SECRET, IfExists::Replace)
            .map_err(|error| Failure::io(&path, &error))
    }

    fn remove(&self, name: &str) -> Result<(), Failure> {
        let path = self.folder.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Failure::io(&path, &error)),
            _ => sync_directory(&self.folder).map_err(|error| Failure::io(&path, &error)),
        }
    }

    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, Failure> {
        let path = self.folder.join(name);
        let file = match fs::File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file.map_err(|error| Failure::io(&path, &error))?,
        };
        let mut bytes = Vec::new();
        let read = file.take(FILE_MAX).read_to_end(&mut bytes);
        read.map_err(|error| Failure::io(&path, &error))?;
        Ok(Some(bytes))
    }
}

impl Reviewed {
    /// Whether it is to be checked again: a rule may hold by now that did not.
    pub fn is_due(&self, now: u64) -> bool {
        let [first, longest] = AGAIN;
        let doubled = first * 2_u32.saturating_pow(self.looks.saturating_sub(1).min(12));
        let wait = u64::try_from(doubled.min(longest).as_nanos()).unwrap_or(u64::MAX);
        // A clock that went back says nothing of how long ago that was.
        let is_time = now < self.checked || now - self.checked >= wait;
        may_pass(self.answer) && is_time
    }
}

/// What the decision of a proof says.
fn answer(proof: &Proof) -> Option<Answer> {
    match Logged::decode(proof.extra.as_deref()?)?.entry.body {
        Body::Decision { answer, .. } => Some(answer),
        _ => None,
    }
}

/// The topics that have folders.
pub fn topics(all: &Path) -> Result<Vec<[u8; 32]>, Failure> {
    let failed = |error| Failure::io(all, &error);
    let entries = match fs::read_dir(all) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut topics = Vec::new();
    for entry in entries {
        let name = entry.map_err(failed)?.file_name();
        topics.extend(name.to_str().and_then(topic));
    }
    topics.sort_unstable();
    Ok(topics)
}

/// Reads a topic in hexadecimal.
pub fn topic(text: &str) -> Option<[u8; 32]> {
    let salt: crate::cli::Salt = text.parse().ok()?;
    Some(salt.0)
}
