//! What a member waits for before it signs in a new epoch: that the group's log has it, under a fresh
//! checkpoint that the member's witnesses cosigned (`spec/log.md` section 5).

use super::ManagerClient;
use crate::http::ClientError;
use crate::log::{LogClient, LogClientError, check};
use clew_evidence::GroupFile;
use clew_log::entry::{Body, Entry, Logged};
use clew_log::{Checkpoint, Cosignature, Note, Policy, Proof, ProofError, VerifierKey, tree};
use std::fmt::{self, Display};
use std::str::FromStr;
use std::time::Duration;
use thiserror::Error;

/// How old the cosignatures that a member needs may be.
pub const FRESH: Duration = Duration::from_secs(86_400);
/// Most witnesses of a policy: no note has more signatures.
const WITNESSES_MAX: usize = clew_log::SIGNATURES_MAX;

const HEADER: &str = "clew-log-seen-1";
const READS: &str = "reads entries";

/// Which witnesses a member believes, and the newest checkpoint that it saw. As text it is kept beside
/// the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogMemory {
    /// The witnesses' keys.
    pub witnesses: Vec<VerifierKey>,
    /// How many of them have to have cosigned, at least 1.
    pub threshold: usize,
    /// Whether the member reads all entries that the log adds, and so finds epochs that the feed leaves out.
    /// It costs 32 bytes for each machine that is enrolled.
    pub reads: bool,
    /// The newest checkpoint, with its signatures.
    pub last: Option<Note>,
}

impl Display for LogMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}\nthreshold {}", self.threshold)?;
        if self.reads {
            writeln!(f, "{READS}")?;
        }
        let mut witnesses = self.witnesses.iter();
        witnesses.try_for_each(|key| writeln!(f, "witness {key}"))?;
        match &self.last {
            Some(note) => write!(f, "\n{note}"),
            None => Ok(()),
        }
    }
}

/// The text is not that of a [`LogMemory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a file of witnesses and the checkpoint that was seen last")]
pub struct NotSeen;

impl FromStr for LogMemory {
    type Err = NotSeen;

    fn from_str(text: &str) -> Result<Self, NotSeen> {
        let (head, last) = match text.split_once("\n\n") {
            Some((head, note)) => (head, Some(Note::parse(note).map_err(|_| NotSeen)?)),
            None => (text, None),
        };
        let mut lines = head.lines();
        if lines.next() != Some(HEADER) {
            return Err(NotSeen);
        }
        let threshold = lines
            .next()
            .and_then(|line| line.strip_prefix("threshold "));
        let threshold = threshold.and_then(|number| number.parse().ok());
        let mut lines = lines.peekable();
        let reads = lines.next_if_eq(&READS).is_some();
        let key = |line: &str| line.strip_prefix("witness ")?.parse().ok();
        let witnesses: Option<Vec<VerifierKey>> = lines.map(key).collect();
        let (threshold, witnesses) = threshold.zip(witnesses).ok_or(NotSeen)?;
        let is_policy = (1..=witnesses.len()).contains(&threshold);
        match is_policy && witnesses.len() <= WITNESSES_MAX {
            true => Ok(Self {
                witnesses,
                threshold,
                reads,
                last,
            }),
            false => Err(NotSeen),
        }
    }
}

/// Why a member does not sign in an epoch.
#[derive(Debug, Error)]
pub enum NotAccepted {
    /// The manager or its log does not answer, or the log does not have the epoch yet.
    #[error("the epoch is not shown to be in the group's log: {0}")]
    Client(#[from] ClientError),
    /// The group has no log, or gave it up.
    #[error("the group has no log: nobody could notice if it had two histories")]
    NoLog,
    /// What the manager shows is not a proof of this epoch.
    #[error("the manager does not prove that epoch {0} is in the group's log")]
    Answer(u32),
    /// The proof does not hold under the member's policy.
    #[error("epoch {epoch} in the group's log: {error}")]
    Proof {
        /// The epoch.
        epoch: u32,
        /// What does not hold.
        error: ProofError,
    },
    /// The newest checkpoint is old: the manager withholds newer ones, or the log stands still.
    #[error(
        "frozen: no checkpoint of the group's log was cosigned within the last day: the manager may \
         withhold epochs, or this host's clock is wrong"
    )]
    Frozen {
        /// When the newest one was cosigned, in seconds since 1970. 0: not by these witnesses.
        newest: u64,
        /// The member's clock.
        now: u64,
    },
    /// Enough witnesses cosigned, but later than the member's clock says that it is.
    #[error("this host's clock is behind those of the witnesses of the group's log")]
    ClockBehind {
        /// When the newest of them cosigned, in seconds since 1970.
        cosigned: u64,
        /// The member's clock.
        now: u64,
    },
    /// The manager shows an older checkpoint than it did before.
    #[error("rollback: the log has {shown} entries here, and had {seen} before")]
    Older {
        /// How many entries it shows now.
        shown: u64,
        /// How many it had.
        seen: u64,
    },
    /// The log has an epoch that the feed does not have.
    #[error("withheld: the log has epoch {0}, and the manager does not show it")]
    Withheld(u32),
    /// What the manager serves of the log is not of its checkpoints.
    #[error("what the manager serves of the log does not lead to the log's checkpoint")]
    Entries,
    /// The log shows two histories.
    #[error(
        "fork: the log's checkpoint of {} entries does not continue the one of {} entries that was \
         seen before; do not sign", new.1, old.1
    )]
    Fork {
        /// The checkpoint that was seen before, and its size.
        old: (Box<Note>, u64),
        /// The one that does not fit.
        new: (Box<Note>, u64),
    },
    /// The log has the epoch with another id.
    #[error("fork: epoch {epoch} has another id in the log than in the feed; do not sign")]
    OtherEpoch {
        /// The epoch.
        epoch: u32,
        /// The log's entry with its proof.
        proof: Box<Proof>,
    },
}

impl NotAccepted {
    /// Returns the texts that prove that somebody shows two histories: signed by the log. Empty if it
    /// is not that.
    pub fn evidence(&self) -> Vec<String> {
        match self {
            Self::Fork { old, new } => vec![old.0.to_string(), new.0.to_string()],
            Self::OtherEpoch { proof, .. } => vec![proof.to_string()],
            _ => Vec::new(),
        }
    }

    /// Returns whether it may be another answer later.
    pub fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::Client(_)
                | Self::Answer(_)
                | Self::Proof { .. }
                | Self::Frozen { .. }
                | Self::ClockBehind { .. }
                | Self::Older { .. }
                | Self::Withheld(_)
                | Self::Entries
        )
    }
}

impl LogMemory {
    /// Checks that the log has the group's newest epoch, as the manager proves. Returns what is to be kept,
    /// before anything is signed in the epoch. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// [`NotAccepted`].
    pub async fn check(
        &self,
        manager: &ManagerClient,
        group: &GroupFile,
        now: u64,
    ) -> Result<Self, NotAccepted> {
        let epoch = group.newest_epoch();
        let log = group.newest_log().ok_or(NotAccepted::NoLog)?.key();
        let proof = manager.epoch_proof(epoch).await;
        let proof = proof.map_err(|error| match self.frozen(now) {
            Some(frozen) => frozen,
            None => NotAccepted::Client(error),
        })?;
        let proof = Proof::parse(&proof).ok_or(NotAccepted::Answer(epoch))?;
        let checkpoint = self.holds(group, log, &proof, now)?;
        let (note, new) = (proof.checkpoint, (checkpoint.size, checkpoint.root));
        if let Some((last, old)) = self.last_of(log) {
            if new.0 < old.0 {
                let (shown, seen) = (new.0, old.0);
                return Err(NotAccepted::Older { shown, seen });
            }
            let served = served_log(manager)?;
            if !leads(&served, old, new).await? {
                let (old, new) = ((Box::new(last), old.0), (Box::new(note), new.0));
                return Err(NotAccepted::Fork { old, new });
            }
            if self.reads {
                read_on(&served, group, old, new).await?;
            }
        }
        let last = Some(note);
        Ok(Self {
            last,
            ..self.clone()
        })
    }

    /// The refusal if the newest checkpoint that was seen is older than a day.
    fn frozen(&self, now: u64) -> Option<NotAccepted> {
        let newest = self.newest(self.last.as_ref()?);
        let is_frozen = now.saturating_sub(newest) > FRESH.as_secs();
        is_frozen.then_some(NotAccepted::Frozen { newest, now })
    }

    /// When a witness cosigned a checkpoint last, in seconds since 1970. 0: none did.
    fn newest(&self, checkpoint: &Note) -> u64 {
        let lines = self
            .witnesses
            .iter()
            .filter_map(|key| checkpoint.signature(key).ok());
        let times = lines.filter_map(|line| Cosignature::decode(&line.bytes));
        times.map(|own| own.time).max().unwrap_or(0)
    }

    /// Checks the proof, but for the checkpoint that was seen before.
    fn holds(
        &self,
        group: &GroupFile,
        log: &VerifierKey,
        proof: &Proof,
        now: u64,
    ) -> Result<Checkpoint, NotAccepted> {
        let epoch = group.newest_epoch();
        let fresh = Policy {
            log: log.clone(),
            witnesses: self.witnesses.clone(),
            threshold: self.threshold,
            max_age: Some(FRESH.as_secs()),
        };
        let of_any_age = Policy {
            max_age: None,
            ..fresh.clone()
        };
        let cosigned = self.newest(&proof.checkpoint);
        let unfit = |error| match error {
            // With a later clock it holds.
            LogClientError::Proof(ProofError::Witnesses { .. })
                if check(proof, &of_any_age, u64::MAX).is_ok() =>
            {
                NotAccepted::ClockBehind { cosigned, now }
            }
            LogClientError::Proof(error) => NotAccepted::Proof { epoch, error },
            _ => NotAccepted::Answer(epoch),
        };
        let logged = check(proof, &of_any_age, now).map_err(unfit)?;
        if !is_of(&logged.entry, group) {
            let is_other = matches!(logged.entry.body, Body::Epoch { epoch: own, .. } if own == epoch)
                && is_managers(&logged.entry, group);
            return match is_other {
                true => Err(NotAccepted::OtherEpoch {
                    epoch,
                    proof: Box::new(proof.clone()),
                }),
                false => Err(NotAccepted::Answer(epoch)),
            };
        }
        let checkpoint = fresh.checkpoint(&proof.checkpoint, now);
        let newest = cosigned;
        checkpoint.map_err(|_| NotAccepted::Frozen { newest, now })
    }

    /// The checkpoint that was seen last, if it is this log's: a group may change its log.
    fn last_of(&self, log: &VerifierKey) -> Option<(Note, (u64, clew_log::Hash))> {
        let last = self.last.clone()?;
        last.signature(log).ok()?;
        let stated = Checkpoint::parse(last.text()).ok()?;
        (stated.origin == log.name()).then_some((last, (stated.size, stated.root)))
    }
}

/// The log as the manager serves it.
fn served_log(manager: &ManagerClient) -> Result<LogClient, NotAccepted> {
    let url = manager.url().at("log").map_err(ClientError::from)?;
    LogClient::new(&url).map_err(unanswered)
}

/// What an answer that does not fit shows: nothing about the log, since anybody may serve it.
fn unanswered(error: LogClientError) -> NotAccepted {
    match error {
        LogClientError::Http(error) => NotAccepted::Client(error),
        _ => NotAccepted::Entries,
    }
}

/// Size and root.
type Size = (u64, clew_log::Hash);

/// Whether one checkpoint continues another, by the tiles that the manager serves.
async fn leads(log: &LogClient, old: Size, new: Size) -> Result<bool, NotAccepted> {
    log.continues(old, new).await.map_err(unanswered)
}

/// Reads the entries between two checkpoints, some 256 at once, and looks for epochs that the group file
/// does not have.
async fn read_on(
    log: &LogClient,
    group: &GroupFile,
    old: Size,
    new: Size,
) -> Result<(), NotAccepted> {
    if old.0 == new.0 {
        return Ok(());
    }
    let mut edge = log.edge(old.0, new.0).await.map_err(unanswered)?;
    if edge.root() != old.1 {
        return Err(NotAccepted::Entries);
    }
    let mut withheld = None;
    while edge.entries() < new.0 {
        let before = edge.entries();
        for bytes in log.entries(before, new.0).await.map_err(unanswered)? {
            edge.push(tree::leaf(&bytes)).ok_or(NotAccepted::Entries)?;
            let entry = Logged::decode(&bytes).ok_or(NotAccepted::Entries)?.entry;
            if let Body::Epoch { epoch, .. } = entry.body
                && epoch > group.newest_epoch()
            {
                withheld = Some(epoch);
            }
        }
        if edge.entries() == before {
            return Err(NotAccepted::Entries);
        }
    }
    match (edge.root() == new.1, withheld) {
        (false, _) => Err(NotAccepted::Entries),
        (true, Some(epoch)) => Err(NotAccepted::Withheld(epoch)),
        (true, None) => Ok(()),
    }
}

fn is_managers(entry: &Entry, group: &GroupFile) -> bool {
    entry.group == group.id().0 && entry.author == group.genesis().manager
}

/// Whether an entry says that there is the group's newest epoch, with the id that the file has.
fn is_of(entry: &Entry, group: &GroupFile) -> bool {
    let newest = group.last_id().0;
    let says = match entry.body {
        Body::Group { record } => group.newest_epoch() == 0 && record == newest,
        Body::Epoch { epoch, id, .. } => epoch == group.newest_epoch() && id == newest,
        _ => false,
    };
    says && is_managers(entry, group)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clew_log::KeyKind;

    #[test]
    fn what_was_seen_is_read_as_it_was_written() {
        let secret = ed25519_dalek::SigningKey::from_bytes(&[7; 32]);
        let key = VerifierKey::new("w", KeyKind::Witness, secret.verifying_key()).unwrap();
        let text = format!("{HEADER}\nthreshold 1\nwitness {key}\n");
        let seen: LogMemory = text.parse().unwrap();
        assert_eq!((seen.threshold, seen.witnesses.len()), (1, 1));
        assert_eq!(seen.to_string(), text);
        let reading = text.replace("threshold 1\n", "threshold 1\nreads entries\n");
        let reads: LogMemory = reading.parse().unwrap();
        assert!(reads.reads && !seen.reads);
        assert_eq!(reads.to_string(), reading);
        let bad = [
            String::new(),
            text.replace("seen-1", "seen-2"),
            text.replace("threshold 1", "threshold 0"),
            text.replace("threshold 1", "threshold 2"),
            text.replace("witness ", "witness"),
            format!("{text}\nnot a note"),
            format!("{HEADER}\nthreshold 1\n"),
        ];
        for bad in bad {
            assert_eq!(bad.parse::<LogMemory>(), Err(NotSeen), "{bad}");
        }
    }
}
