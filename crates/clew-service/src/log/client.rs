//! Clients of a log.

use super::service::LogService;
use crate::http::{Client, ClientError, ServiceUrl};
use clew_log::entry::{self, Logged};
use clew_log::tile::{self, Tile, WIDTH};
use clew_log::tree::{self, Frontier};
use clew_log::{Hash, Note, Policy, Proof, ProofError};
use clew_wire::WallTime;
use serde::Deserialize;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use thiserror::Error;

/// Longest wait for an answer. A log waits less for its witnesses.
const WAIT: Duration = Duration::from_secs(45);
/// Most bytes of a checkpoint, or of an entry's proof with the entry.
const TEXT_MAX: usize = 1 << 18;
/// Most bytes of a bundle of entries.
const BUNDLE_MAX: usize = (WIDTH as usize) * (2 + tile::ENTRY_BYTES_MAX);
/// Bytes of a full tile of hashes.
const TILE_MAX: usize = 32 * WIDTH as usize;

/// Why a log did not answer, or answered something else.
#[derive(Debug, Error)]
pub enum LogClientError {
    /// There is no answer, or it is a refusal.
    #[error(transparent)]
    Http(#[from] ClientError),
    /// The answer is not what was asked for.
    #[error("the log's answer is not {0}")]
    Answer(&'static str),
    /// The checkpoint or proof is not good enough.
    #[error(transparent)]
    Proof(#[from] ProofError),
}

impl LogClientError {
    /// Returns the rule by which the log refuses, if that is why.
    pub fn rule(&self) -> Option<&str> {
        match self {
            Self::Http(ClientError::Refused { problem, .. }) => Some(&problem.title),
            _ => None,
        }
    }
}

type Result<T> = std::result::Result<T, LogClientError>;

/// A client of one log. It believes nothing that a policy did not check.
#[derive(Clone, Debug)]
pub struct LogClient {
    http: Client,
}

#[derive(Deserialize)]
struct Added {
    place: u64,
    logged: u64,
}

impl LogClient {
    /// A client of the log at this address. Nothing is sent.
    ///
    /// # Errors
    /// TLS cannot be set up.
    pub fn new(url: &ServiceUrl) -> Result<Self> {
        let http = Client::new(url)?;
        Ok(Self { http })
    }

    /// A client of a log in this process, which has the `url` for others.
    pub fn here(url: &ServiceUrl, log: &LogService) -> Self {
        let http = Client::here(url, log.router());
        Self { http }
    }

    /// Returns what it asks the log with, for whoever passes requests on.
    pub(crate) fn http(&self) -> &Client {
        &self.http
    }

    /// Adds an entry. Returns its place, and the time that the log gave it: on the log's disk, and
    /// not yet cosigned. An entry that the log has already gets the place that it has.
    ///
    /// # Errors
    /// The log refuses, or does not answer.
    pub async fn add(&self, entry: &entry::Entry) -> Result<(u64, WallTime)> {
        let answer = self
            .http
            .post("add", entry.encode(), TEXT_MAX, WAIT)
            .await?;
        let added = serde_json::from_slice::<Added>(&answer.body);
        let added = added.map_err(|_| LogClientError::Answer("a place"))?;
        Ok((added.place, WallTime::from_nanos(added.logged)))
    }

    /// Adds an entry, and waits until witnesses cosigned it. Returns its proof, which has the entry as
    /// the log keeps it as `extra`. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// As [`add`](Self::add); the proof does not hold under the policy.
    pub async fn add_cosigned(
        &self,
        entry: &entry::Entry,
        policy: &Policy,
        now: u64,
    ) -> Result<Proof> {
        let (path, body) = ("add?cosigned", entry.encode());
        let answer = self.http.post(path, body, TEXT_MAX, WAIT).await?;
        let proof = text(answer.body).and_then(|text| Proof::parse(&text));
        let proof = proof.ok_or(LogClientError::Answer("a proof"))?;
        let logged = check(&proof, policy, now)?;
        match logged.entry.statement() == entry.statement() {
            true => Ok(proof),
            false => Err(LogClientError::Answer("a proof of this entry")),
        }
    }

    /// Fetches the newest published checkpoint, without checking it.
    ///
    /// # Errors
    /// The log does not answer.
    pub async fn checkpoint(&self) -> Result<Note> {
        let answer = self.http.get("checkpoint", None, TEXT_MAX, WAIT).await?;
        let note = text(answer.body).and_then(|text| Note::parse(&text).ok());
        note.ok_or(LogClientError::Answer("a checkpoint"))
    }

    /// Fetches entries from `first` on, of a log of `size`: at most those of one bundle. They are not
    /// checked: their leaves have to lead to a checkpoint's root.
    ///
    /// # Errors
    /// The log does not answer, or has other entries.
    pub async fn entries(&self, first: u64, size: u64) -> Result<Vec<Vec<u8>>> {
        let index = first / WIDTH;
        let tile = Tile {
            level: None,
            index,
            width: WIDTH.min(size.saturating_sub(index * WIDTH)),
        };
        let bundle = self.tile(&tile, BUNDLE_MAX).await?;
        let entries = tile::entries(&bundle);
        let entries = entries.filter(|entries| entries.len() as u64 == tile.width);
        let entries = entries.ok_or(LogClientError::Answer("a bundle of entries"))?;
        let from = (first % WIDTH) as usize;
        Ok(entries
            .iter()
            .skip(from)
            .map(|entry| entry.to_vec())
            .collect())
    }

    /// Proves that an entry is in the log, under its newest checkpoint. The proof has the entry as
    /// `extra`, and holds under the policy. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// The log does not answer, has no such entry, or the proof does not hold.
    pub async fn prove(&self, place: u64, policy: &Policy, now: u64) -> Result<Proof> {
        let note = self.checkpoint().await?;
        self.prove_under(note, place, policy, now).await
    }

    /// Proves that an entry is in the log, under a checkpoint of it. See [`Self::prove`].
    ///
    /// # Errors
    /// As [`Self::prove`].
    pub async fn prove_under(
        &self,
        note: Note,
        place: u64,
        policy: &Policy,
        now: u64,
    ) -> Result<Proof> {
        let size = policy.checkpoint(&note, now)?.size;
        if place >= size {
            return Err(LogClientError::Answer("that long: it has no such entry"));
        }
        let entry = self.entries(place, size).await?.into_iter().next();
        let hashes = self.with_nodes(size, |node| tree::inclusion(place, size, node));
        let proof = Proof {
            extra: Some(entry.ok_or(LogClientError::Answer("a bundle of entries"))?),
            index: place,
            hashes: hashes.await?,
            checkpoint: note,
        };
        check(&proof, policy, now)?;
        Ok(proof)
    }

    /// Makes the proof that the log's first `before` entries are a prefix of its first `size`, from
    /// tiles. It is not checked: see [`tree::leads`].
    ///
    /// # Errors
    /// The log does not answer.
    pub async fn consistency(&self, before: u64, size: u64) -> Result<Vec<Hash>> {
        self.with_nodes(size, |node| tree::consistency(before, size, node))
            .await
    }

    /// Returns whether a checkpoint continues an earlier one: `false` is a fork. Each is a size and a root.
    ///
    /// # Errors
    /// The log does not answer, or its tiles are not those of the newer checkpoint, which proves nothing.
    pub async fn continues(&self, old: (u64, Hash), new: (u64, Hash)) -> Result<bool> {
        if old.0 == new.0 {
            return Ok(old.1 == new.1);
        }
        let made = self.with_nodes(new.0, |node| tree::both_roots(old.0, new.0, node));
        let (before, now) = made.await?;
        match now == new.1 {
            true => Ok(before == old.1),
            false => Err(LogClientError::Answer("a tile of its checkpoint's tree")),
        }
    }

    /// The edge of the first `before` entries, by the tiles of a log with `size` entries. Its root is what
    /// the log says: the caller compares it.
    ///
    /// # Errors
    /// The log does not answer, or serves too few nodes.
    pub async fn edge(&self, before: u64, size: u64) -> Result<Frontier> {
        self.with_nodes(size, |node| Frontier::at(before, node))
            .await
    }

    /// Makes something of the nodes of a log of that size: once to learn which, then with them.
    async fn with_nodes<T>(
        &self,
        size: u64,
        make: impl Fn(&mut dyn FnMut(u32, u64) -> Option<Hash>) -> Option<T>,
    ) -> Result<T> {
        let mut needed = BTreeSet::new();
        make(&mut |level, place| {
            needed.insert((level, place));
            Some([0; 32])
        });
        let mut tiles = BTreeMap::new();
        for tile in needed
            .iter()
            .map(|(level, place)| tile_of(*level, *place, size))
        {
            if let Entry::Vacant(missing) = tiles.entry((tile.level, tile.index)) {
                missing.insert(self.tile(&tile, TILE_MAX).await?);
            }
        }
        let made = make(&mut |level, place| {
            let tile = tile_of(level, place, size);
            let (above, first) = (level % 8, tile.index * WIDTH);
            let bytes = tiles.get(&(tile.level, tile.index))?;
            tile::node_within(bytes, above, place - (first >> above))
        });
        made.ok_or(LogClientError::Answer("a tile of its tree"))
    }

    async fn tile(&self, tile: &Tile, limit: usize) -> Result<Vec<u8>> {
        Ok(self.http.get(&tile.path(), None, limit, WAIT).await?.body)
    }
}

/// Checks a proof that carries its entry, and returns that. `now` is in seconds since 1970.
///
/// # Errors
/// It has none, or does not hold.
pub fn check(proof: &Proof, policy: &Policy, now: u64) -> Result<Logged> {
    let bytes = proof.extra.as_deref();
    let bytes = bytes.ok_or(LogClientError::Answer("a proof with its entry"))?;
    policy.check(proof, tree::leaf(bytes), now)?;
    let logged = Logged::decode(bytes).filter(|logged| logged.entry.is_signed());
    logged.ok_or(LogClientError::Answer(
        "an entry with its author's signature",
    ))
}

/// The tile that has a node, of a log of that size.
fn tile_of(level: u32, place: u64, size: u64) -> Tile {
    let (of, above) = (level / 8, level % 8);
    let index = (place << above) / WIDTH;
    let hashes = size.unbounded_shr(8 * of);
    Tile {
        level: Some(of),
        index,
        width: WIDTH.min(hashes.saturating_sub(index * WIDTH)),
    }
}

fn text(bytes: Vec<u8>) -> Option<String> {
    String::from_utf8(bytes).ok()
}
