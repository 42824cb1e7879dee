//! A log's side of `c2sp.org/tlog-witness`: one task for each witness.

use super::service::Shared;
use super::store::{Signed, read_signed};
use crate::http::{Client, ClientError, ServiceUrl};
use clew_log::{AddCheckpoint, Note, NoteSignature, VerifierKey, tree};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// Longest wait for a witness.
const WAIT: Duration = Duration::from_secs(10);
/// Wait after a failure: doubled up to the second.
const RETRY: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));
/// Most bytes of an answer.
const ANSWER_MAX: usize = 1 << 17;

/// A witness: its key, and where it is.
#[derive(Clone, Debug)]
pub struct WitnessAddress {
    /// Its key.
    pub key: VerifierKey,
    /// Its submission and monitoring prefix.
    pub url: ServiceUrl,
}

/// What witnesses are asked to cosign.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) turn: u64,
    pub(super) signed: Signed,
}

/// What a witness's task tells.
#[derive(Debug)]
pub(super) enum Report {
    /// It cosigned a checkpoint of this size.
    Cosigned(usize, u64, NoteSignature),
    /// It did not.
    Failed(usize, String),
    /// It has a checkpoint with this log's signature and other entries.
    Halt(String),
}

/// Why a witness did not do its part.
enum Failure {
    Error(String),
    Fork(String),
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        Self::Error(error.to_string())
    }
}

pub(super) struct Witness {
    number: usize,
    address: WitnessAddress,
    shared: Arc<Shared>,
    reports: mpsc::Sender<Report>,
    last: u64,
}

impl Witness {
    pub(super) fn new(
        number: usize,
        address: WitnessAddress,
        shared: Arc<Shared>,
        reports: mpsc::Sender<Report>,
    ) -> Self {
        Self {
            number,
            address,
            shared,
            reports,
            last: 0,
        }
    }

    /// Asks for what it has, then for each target's cosignature, until nobody listens.
    pub(super) async fn run(mut self, mut targets: watch::Receiver<Target>) {
        let mut wait = RETRY.0;
        let client = loop {
            let begun = async {
                let client = Client::new(&self.address.url)?;
                self.last = self.newest(&client).await?;
                Ok(client)
            };
            match begun.await {
                Ok(client) => break client,
                Err(failure) => {
                    if self.failed(failure).await.is_none() {
                        return;
                    }
                    tokio::time::sleep(wait).await;
                    wait = (2 * wait).min(RETRY.1);
                }
            }
        };
        let mut wait = RETRY.0;
        loop {
            let target = targets.borrow_and_update().clone();
            match self.cosign(&client, &target.signed).await {
                Ok(line) => {
                    let size = target.signed.size;
                    (self.last, wait) = (size, RETRY.0);
                    let report = Report::Cosigned(self.number, size, line);
                    if self.reports.send(report).await.is_err() || targets.changed().await.is_err()
                    {
                        return;
                    }
                }
                Err(failure) => {
                    if self.failed(failure).await.is_none() {
                        return;
                    }
                    tokio::time::sleep(wait).await;
                    wait = (2 * wait).min(RETRY.1);
                }
            }
        }
    }

    /// Tells of a failure. Returns `None` if there is nothing to go on for.
    async fn failed(&self, failure: Failure) -> Option<()> {
        match failure {
            Failure::Error(why) => {
                let why = format!("witness {}: {why}", self.address.key.name());
                self.reports
                    .send(Report::Failed(self.number, why))
                    .await
                    .ok()
            }
            Failure::Fork(why) => {
                let why = format!("witness {}: {why}", self.address.key.name());
                let _ = self.reports.send(Report::Halt(why)).await;
                None
            }
        }
    }

    /// The size of the newest checkpoint that the witness cosigned, which has to be one of this log's
    /// entries: else the log is an old copy, or has a second one.
    async fn newest(&self, client: &Client) -> Result<u64, Failure> {
        let origin = Sha256::digest(self.shared.key.name());
        let path = format!("{}/checkpoint", clew_wire::Hex(&origin));
        let note = match client.get(&path, None, ANSWER_MAX, WAIT).await {
            Ok(answer) => answer.body,
            Err(ClientError::Refused { problem, .. }) if problem.status == 404 => return Ok(0),
            Err(error) => return Err(error.into()),
        };
        let note = String::from_utf8(note).ok();
        let seen = note.and_then(|note| read_signed(&note, &self.shared.key));
        // Anybody can claim; only what this log's key signed says something about it.
        let seen = seen.ok_or_else(|| {
            Failure::Error("its newest checkpoint does not have this log's signature".to_owned())
        })?;
        let own = self.shared.newest.borrow().size;
        if seen.size > own {
            return Err(Failure::Fork(format!(
                "this log signed a checkpoint of {} entries and has {own}: it is an old copy",
                seen.size
            )));
        }
        let root = self
            .shared
            .read(move |storage| storage.root(seen.size))
            .await;
        match root {
            Ok(root) if root == seen.root => Ok(seen.size),
            Ok(_) => Err(Failure::Fork(format!(
                "this log signed two checkpoints of {} entries: it has a second copy",
                seen.size
            ))),
            Err(error) => Err(Failure::Error(error.to_string())),
        }
    }

    async fn cosign(&mut self, client: &Client, signed: &Signed) -> Result<NoteSignature, Failure> {
        match self.ask(client, signed).await {
            Err(ClientError::Refused { problem, .. }) if matches!(problem.status, 409 | 422) => {
                self.last = self.newest(client).await?;
                if self.last > signed.size {
                    // A newer checkpoint of this log came first; the next target is that one.
                    let why = "it cosigned a newer checkpoint already".to_owned();
                    return Err(Failure::Error(why));
                }
                self.read(signed, &self.ask(client, signed).await?)
            }
            answer => self.read(signed, &answer?),
        }
    }

    async fn ask(&self, client: &Client, signed: &Signed) -> Result<Vec<u8>, ClientError> {
        let (old_size, size) = (self.last, signed.size);
        let hashes = match old_size {
            0 => Ok(Vec::new()),
            old => {
                let proof = move |storage: &super::storage::Storage| {
                    storage.with_nodes(|node| tree::consistency(old, size, node))
                };
                self.shared.read(proof).await
            }
        };
        let hashes = hashes.map_err(|error| ClientError::Unreachable {
            url: self.address.url.to_string(),
            reason: error.to_string(),
        })?;
        let body = AddCheckpoint {
            old_size,
            hashes,
            checkpoint: signed.note.clone(),
        };
        let body = body.to_string().into_bytes();
        let answer = client
            .post("add-checkpoint", body, ANSWER_MAX, WAIT)
            .await?;
        Ok(answer.body)
    }

    /// The witness's own line, which has to hold. All others are passed over.
    fn read(&self, signed: &Signed, answer: &[u8]) -> Result<NoteSignature, Failure> {
        let lines = str::from_utf8(answer).ok();
        let read = lines.and_then(|lines| {
            let mut note = Note::new(signed.note.text().to_owned()).ok()?;
            note.add_lines(lines).ok()?;
            note.signature(&self.address.key).ok().cloned()
        });
        let missing = || Failure::Error("its cosignature is missing or does not hold".to_owned());
        read.ok_or_else(missing)
    }
}
