//! What a witness is asked, and what it answers (`c2sp.org/tlog-witness`).

use crate::Hash;
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::note::{Note, NoteError, VerifierKey};
use crate::text::{hashes, line, number, to_base64};
use crate::tree::{self, CONSISTENCY_HASHES_MAX};
use alloc::vec::Vec;
use core::fmt;

/// The body of `add-checkpoint`: a checkpoint, and the proof that it continues an earlier one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddCheckpoint {
    /// The size that the witness cosigned last; 0 for none.
    pub old_size: u64,
    /// The consistency proof.
    pub hashes: Vec<Hash>,
    /// The checkpoint, signed by its log.
    pub checkpoint: Note,
}

/// The newest checkpoint of a log that a witness cosigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Witnessed {
    /// How many entries the log had.
    pub size: u64,
    /// The root over them.
    pub root: Hash,
}

/// Why a witness does not cosign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The checkpoint is not one.
    Layout,
    /// The log's signature is missing, or does not hold.
    Signature,
    /// The old size is above the new one.
    Order,
    /// The witness cosigned another size last: this one.
    OtherSize(u64),
    /// The checkpoint is not consistent with that one: the log shows two histories, or has lost
    /// entries.
    Inconsistent,
}

impl Refusal {
    /// Returns the HTTP status of the answer.
    pub const fn status(self) -> u16 {
        match self {
            Self::Layout | Self::Order => 400,
            Self::Signature => 403,
            Self::OtherSize(_) => 409,
            Self::Inconsistent => 422,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layout => f.write_str("not a checkpoint with a consistency proof"),
            Self::Signature => f.write_str("the log did not sign this checkpoint"),
            Self::Order => f.write_str("the old size is above the checkpoint's"),
            Self::OtherSize(size) => write!(f, "the newest cosigned checkpoint has size {size}"),
            Self::Inconsistent => {
                f.write_str("the checkpoint is not consistent with the newest cosigned one")
            }
        }
    }
}

impl core::error::Error for Refusal {}

impl AddCheckpoint {
    /// Reads a request.
    ///
    /// # Errors
    /// [`Refusal::Layout`].
    pub fn parse(body: &str) -> Result<Self, Refusal> {
        let read = || {
            let (first, rest) = line(body)?;
            let old_size = number(first.strip_prefix("old ")?)?;
            let (hashes, rest) = hashes(rest, CONSISTENCY_HASHES_MAX)?;
            Some(Self {
                old_size,
                hashes,
                checkpoint: Note::parse(rest).ok()?,
            })
        };
        read().ok_or(Refusal::Layout)
    }

    /// Decides whether a witness may cosign. `last` is what it cosigned last of this log, if anything.
    /// Returns what it has to remember before it answers.
    ///
    /// The check and the memory are one step: if two requests are under way, the second one's `last` is
    /// the first one's result.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn consider(
        &self,
        log: &VerifierKey,
        last: Option<Witnessed>,
    ) -> Result<Witnessed, Refusal> {
        let checkpoint = Checkpoint::parse(self.checkpoint.text());
        let signature = self.checkpoint.signature(log);
        signature.map_err(|error| match error {
            NoteError::Layout => Refusal::Layout,
            NoteError::Signature | NoteError::Unsigned => Refusal::Signature,
        })?;
        let checkpoint = checkpoint.map_err(|error| match error {
            CheckpointError::Layout => Refusal::Layout,
            CheckpointError::EmptyRoot => Refusal::Inconsistent,
        })?;
        if checkpoint.origin != log.name() {
            return Err(Refusal::Signature);
        }
        let new = Witnessed {
            size: checkpoint.size,
            root: checkpoint.root,
        };
        if self.old_size > new.size {
            return Err(Refusal::Order);
        }
        let last = last.unwrap_or(Witnessed {
            size: 0,
            root: tree::EMPTY,
        });
        if self.old_size != last.size {
            return Err(Refusal::OtherSize(last.size));
        }
        let leads = match last.size {
            0 => self.hashes.is_empty() && (new.size > 0 || new.root == tree::EMPTY),
            _ => tree::leads((last.size, last.root), (new.size, new.root), &self.hashes),
        };
        leads.then_some(new).ok_or(Refusal::Inconsistent)
    }
}

impl fmt::Display for AddCheckpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "old {}", self.old_size)?;
        let mut hashes = self.hashes.iter();
        hashes.try_for_each(|hash| writeln!(f, "{}", to_base64(hash)))?;
        write!(f, "\n{}", self.checkpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::note::{KeyKind, sign};
    use crate::tree::tests::{Nodes, at, nodes_of};
    use crate::tree::{consistency, root};
    use ed25519_dalek::SigningKey;
    use std::string::ToString;

    fn secret() -> SigningKey {
        SigningKey::from_bytes(&[1; 32])
    }

    fn log() -> VerifierKey {
        VerifierKey::new("log", KeyKind::Log, secret().verifying_key()).unwrap()
    }

    fn size(nodes: &Nodes, size: u64) -> Witnessed {
        let root = root(size, at(nodes)).unwrap();
        Witnessed { size, root }
    }

    fn request(nodes: &Nodes, old_size: u64, new: u64) -> AddCheckpoint {
        let Witnessed { size, root } = size(nodes, new);
        let checkpoint = Checkpoint {
            origin: "log".into(),
            size,
            root,
        };
        let mut note = Note::new(checkpoint.to_string()).unwrap();
        note.add(sign(note.text(), "log", &secret()).unwrap())
            .unwrap();
        AddCheckpoint {
            old_size,
            hashes: consistency(old_size, new, at(nodes)).unwrap_or_default(),
            checkpoint: note,
        }
    }

    #[test]
    fn a_log_that_grows_is_cosigned() {
        let nodes = nodes_of(40);
        let mut last = None;
        for (old, new) in [(0, 0), (0, 7), (7, 7), (7, 8), (8, 40)] {
            let request = request(&nodes, old, new);
            assert_eq!(
                AddCheckpoint::parse(&request.to_string()),
                Ok(request.clone())
            );
            let now = request.consider(&log(), last).unwrap();
            assert_eq!(now, size(&nodes, new));
            last = Some(now);
        }
    }

    #[test]
    fn two_histories_are_not_cosigned() {
        let nodes = nodes_of(40);
        let mut fork = nodes.clone();
        fork.insert((0, 8), [7; 32]);
        let last = Some(size(&nodes, 9));
        let consider = |request: AddCheckpoint| request.consider(&log(), last);
        assert!(consider(request(&nodes, 9, 12)).is_ok());
        let forked = request(&fork, 9, 9);
        assert_eq!(
            consider(forked),
            Err(Refusal::Inconsistent),
            "one size, two roots"
        );
        assert_eq!(consider(request(&fork, 9, 12)), Err(Refusal::Inconsistent));
        let mut cut = request(&nodes, 9, 12);
        cut.hashes.pop();
        assert_eq!(consider(cut), Err(Refusal::Inconsistent));
        assert_eq!(
            consider(request(&nodes, 8, 12)),
            Err(Refusal::OtherSize(9)),
            "a rollback"
        );
        assert_eq!(consider(request(&nodes, 0, 8)), Err(Refusal::OtherSize(9)));
        assert_eq!(consider(request(&nodes, 12, 10)), Err(Refusal::Order));
    }

    #[test]
    fn other_requests_are_refused() {
        let nodes = nodes_of(9);
        let good = request(&nodes, 0, 9);
        let mut proof = good.clone();
        proof.hashes.push([0; 32]);
        assert_eq!(proof.consider(&log(), None), Err(Refusal::Inconsistent));
        let other = SigningKey::from_bytes(&[2; 32]).verifying_key();
        let other = VerifierKey::new("log", KeyKind::Log, other).unwrap();
        assert_eq!(good.consider(&other, None), Err(Refusal::Signature));
        // A log's key does not speak for a log of another name.
        let text = good.checkpoint.text().replacen("log", "gol", 1);
        let mut note = Note::new(text).unwrap();
        note.add(sign(note.text(), "log", &secret()).unwrap())
            .unwrap();
        let renamed = AddCheckpoint {
            checkpoint: note,
            ..good.clone()
        };
        assert_eq!(renamed.consider(&log(), None), Err(Refusal::Signature));
        let mut empty = request(&nodes, 0, 0);
        let text = empty.checkpoint.text().replace("47DE", "48DE");
        empty.checkpoint = Note::new(text).unwrap();
        let line = sign(empty.checkpoint.text(), "log", &secret()).unwrap();
        empty.checkpoint.add(line).unwrap();
        assert_eq!(empty.consider(&log(), None), Err(Refusal::Inconsistent));

        let good = good.to_string();
        let bad = [
            good.replacen("old 0", "old 00", 1),
            good.replacen("old 0\n", "", 1),
            good.replacen("\n\n", "\n", 1),
            good.replacen("old 0\n", "old 0\nAA==\n", 1),
            "old 0\n".into(),
        ];
        for bad in bad {
            assert_eq!(AddCheckpoint::parse(&bad), Err(Refusal::Layout), "{bad}");
        }
    }
}
