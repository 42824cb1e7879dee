//! Proofs that an epoch is in the group's log, for members (`spec/manager-service.md` section 4).

use super::log::ManagedLog;
use super::sender::Sent;
use crate::http::Problem;
use crate::log::LogClientError;
use axum::body::Bytes;
use axum::http::StatusCode;
use clew_log::Policy;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// How long a proof is shown before a newer checkpoint is looked for.
const SHOWN: Duration = Duration::from_secs(5);
/// How long a request waits for an epoch that is not in the log yet.
const WAIT: Duration = Duration::from_secs(10);
/// How often a log is asked for a checkpoint that has the epoch.
const AGAIN: Duration = Duration::from_millis(250);

/// The proof of the newest epoch, made anew when it is old.
#[derive(Debug)]
pub(super) struct Proofs {
    pub log: ManagedLog,
    pub sent: Sent,
    made: Mutex<Option<Made>>,
}

#[derive(Debug)]
struct Made {
    epoch: u32,
    at: Instant,
    text: Bytes,
}

impl Proofs {
    pub fn new(log: ManagedLog, sent: Sent) -> Self {
        Self {
            log,
            sent,
            made: Mutex::new(None),
        }
    }

    /// The proof of an epoch's entry, under the log's newest published checkpoint. Waits a little if the
    /// log does not have it yet.
    pub async fn of(&self, epoch: u32) -> Result<Bytes, Problem> {
        let end = Instant::now() + WAIT;
        let place = self.place(epoch).await?;
        loop {
            match self.proof(epoch, place).await {
                Ok(text) => return Ok(text),
                Err(_) if Instant::now() >= end => return Err(unproved()),
                Err(_) => tokio::time::sleep(AGAIN).await,
            }
        }
    }

    /// The epoch's place in the log. Epoch 0 is the group itself.
    async fn place(&self, epoch: u32) -> Result<u64, Problem> {
        if epoch == 0 {
            return Ok(0);
        }
        let mut logged = self.sent.logged.clone();
        let has = logged.wait_for(|logged| logged.contains_key(&epoch));
        let found = match tokio::time::timeout(WAIT, has).await {
            Ok(Ok(logged)) => logged.get(&epoch).copied(),
            _ => None,
        };
        let why = "the log does not have this epoch yet";
        found.ok_or_else(|| Problem::new(StatusCode::NOT_FOUND, "not-logged", why))
    }

    /// One request makes the proof, and the others take it.
    async fn proof(&self, epoch: u32, place: u64) -> Result<Bytes, LogClientError> {
        let mut made = self.made.lock().await;
        if let Some(made) = &*made
            && made.epoch == epoch
            && made.at.elapsed() < SHOWN
        {
            return Ok(made.text.clone());
        }
        // Whose word counts is the reader's choice.
        let anybody = Policy {
            log: self.log.key.clone(),
            witnesses: Vec::new(),
            threshold: 0,
            max_age: None,
        };
        let proof = self.log.client.prove(place, &anybody, 0).await?;
        let text = Bytes::from(proof.to_string());
        let at = Instant::now();
        *made = Some(Made {
            epoch,
            at,
            text: text.clone(),
        });
        Ok(text)
    }
}

fn unproved() -> Problem {
    let why = "no cosigned checkpoint has this epoch yet";
    Problem::new(StatusCode::NOT_FOUND, "not-logged", why)
}
