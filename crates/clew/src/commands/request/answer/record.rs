//! What a trustee keeps of one request: a folder of small files, each written whole and synced.

use crate::failure::Failure;
use clew_keys::files::{IfExists, MODE_SECRET, sync_directory, write_atomically};
use clew_log::Proof;
use clew_log::entry::{Answer, Body, Entry, Logged};
use clew_trustee::request::Message;
use clew_wire::Hex;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

const REVIEW: &str = "review.json";
const PACKETS: &str = "packets";
const ORDER: &str = "order";
const TROUBLE: &str = "trouble";
const TOLD: &str = "told";
/// Longest file that is read here.
const FILE_MAX: u64 = 1 << 20;

/// Names of the posts of a request, each the body of one.
pub const REVIEWED: &str = "reviewed";
pub const DECISION: &str = "decision";
pub const SHARE: &str = "share";

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
    /// The trustee's index.
    pub trustee: u8,
    /// Fingerprint of the key that filed it.
    pub requester: String,
    /// 1 if all checks passed, else the number of the rule (`spec/opening.md` 3.1).
    pub answer: u8,
    /// The reason, if a check failed.
    pub why: Option<String>,
    /// When it was checked, nanoseconds since 1970.
    pub checked: u64,
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
    /// Name of the machine of a match, the requester's word until the row is checked.
    pub machine: Option<String>,
}

impl Record {
    /// The folder of a topic, below the folder of all. Nothing is made.
    pub fn new(all: &Path, topic: &[u8; 32]) -> Self {
        Self {
            folder: all.join(Hex(topic).to_string()),
        }
    }

    /// The folder of a topic in a trustee's directory. Nothing is made.
    pub fn at(dir: &Path, topic: &[u8; 32]) -> Self {
        Self::new(&dir.join(super::REQUESTS), topic)
    }

    /// Whether a share was given.
    pub fn has_given(&self) -> Result<bool, Failure> {
        let messages = self.messages()?;
        let mut messages = messages.iter();
        Ok(messages.any(|message| matches!(message, Message::Share { .. })))
    }

    /// Makes the folder.
    pub fn create(&self) -> Result<(), Failure> {
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(&self.folder);
        made.and_then(|()| self.folder.parent().map_or(Ok(()), sync_directory))
            .map_err(|error| Failure::io(&self.folder, &error))
    }

    /// Removes the folder if nothing is in it.
    pub fn forget(&self) {
        let _ = fs::remove_dir(&self.folder);
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

    /// Keeps the operator's decision, synced.
    pub fn put_order(&self, order: &Entry) -> Result<(), Failure> {
        self.put(ORDER, &order.encode())
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

    /// Whether the operator decided something that is not in the log yet, nothing was checked yet, or the last
    /// turn could not do what was ordered.
    pub fn is_pending(&self) -> Result<bool, Failure> {
        let order = self.order()?.map(|order| order.body);
        let order = match order {
            Some(Body::Decision { answer, .. }) => Some(answer),
            _ => None,
        };
        let decision = self.decision()?.map(|(_, answer)| answer);
        let is_open = order.is_some() && decision != order && decision != Some(Answer::Yes);
        // What could not be done is tried again: a clock or a cache may be right by then.
        Ok(is_open || self.review()?.is_none() || self.trouble()?.is_some())
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
