//! The log as a trustee looks at it: all proofs of one answer under one checkpoint, which continues the
//! one that the trustee remembers.

use super::Answering;
use crate::clock;
use crate::failure::Failure;
use clew_log::{AddCheckpoint, Checkpoint, Note, Policy, Proof};
use clew_service::log::LogClientError;
use clew_trustee::Responder;

/// A published checkpoint, and the proof that it continues the remembered one.
pub struct LogView<'a> {
    answering: &'a Answering<'a>,
    note: Note,
    policy: Policy,
    /// At most one proof.
    pub consistency: Vec<AddCheckpoint>,
}

impl<'a> LogView<'a> {
    /// Fetches the newest checkpoint. It is checked when a proof under it is.
    ///
    /// # Errors
    /// The log does not answer; the group has none.
    pub async fn new(
        answering: &'a Answering<'a>,
        responder: &Responder<'_>,
    ) -> Result<Self, Failure> {
        let note = answering.exchange.log.checkpoint().await;
        let note = note.map_err(unreachable)?;
        let size = Checkpoint::parse(note.text()).map_or(0, |own| own.size);
        let seen = responder.seen(answering.group).map_err(Failure::new)?;
        let mut consistency = Vec::new();
        // Of another log, or of one that went back, there is nothing to prove: the rules say so.
        if let Some(seen) = seen.filter(|seen| seen.size > 0 && seen.size < size) {
            let hashes = answering.exchange.log.consistency(seen.size, size).await;
            consistency.push(AddCheckpoint {
                old_size: seen.size,
                hashes: hashes.map_err(unreachable)?,
                checkpoint: note.clone(),
            });
        }
        Ok(Self {
            policy: policy(answering)?,
            answering,
            note,
            consistency,
        })
    }

    /// Fetches the proof of an entry under the checkpoint.
    ///
    /// # Errors
    /// The log does not answer, or its proof does not hold.
    pub async fn proof(&self, place: u64) -> Result<Proof, Failure> {
        self.find(place).await.map_err(unreachable)
    }

    /// The same, with the client's own error.
    ///
    /// # Errors
    /// [`LogClientError::Answer`] if the log is not that long.
    pub async fn find(&self, place: u64) -> Result<Proof, LogClientError> {
        let (log, now) = (
            &self.answering.exchange.log,
            clock::now_ns() / 1_000_000_000,
        );
        let proof = log.prove_under(self.note.clone(), place, &self.policy, now);
        proof.await
    }

    /// By what proofs of this log are judged.
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }
}

/// By what the trustee judges proofs of the group's log.
///
/// # Errors
/// The group has no log.
pub fn policy(answering: &Answering<'_>) -> Result<Policy, Failure> {
    let group = answering.group;
    let log = group.log_at(group.epoch_at(clock::wall_time()));
    let log = log.ok_or_else(|| Failure::new("the group has no log"))?;
    Ok(answering.policy.of_log(log))
}

pub fn unreachable(error: LogClientError) -> Failure {
    Failure::new(format!("the log: {error}"))
}
