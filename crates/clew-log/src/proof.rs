//! Proofs that stand alone: this entry is in that log, and witnesses saw it (`c2sp.org/tlog-proof`).

use crate::Hash;
use crate::checkpoint::Checkpoint;
use crate::cosignature::Cosignature;
use crate::note::{Note, NoteError, VerifierKey};
use crate::text::{from_base64, hashes, line, number, to_base64};
use crate::tree::{INCLUSION_HASHES_MAX, root_of_proof};
use alloc::vec::Vec;
use core::fmt;

const FIRST_LINE: &str = "c2sp.org/tlog-proof@v1";
/// Most bytes of the extra data.
const EXTRA_BYTES_MAX: usize = 1 << 16;

/// An entry's place, the hashes from it to the root, and the checkpoint with that root. Nothing of it
/// is checked until [`Policy::check`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// Data that nobody signed; for the entry itself, say.
    pub extra: Option<Vec<u8>>,
    /// The entry's place in the log.
    pub index: u64,
    /// The inclusion proof, the leaf's sibling first.
    pub hashes: Vec<Hash>,
    /// The log's checkpoint, with cosignatures.
    pub checkpoint: Note,
}

impl Proof {
    /// Reads a proof. Returns `None` if it has another form.
    pub fn parse(text: &str) -> Option<Self> {
        let (first, rest) = line(text)?;
        if first != FIRST_LINE {
            return None;
        }
        let mut extra = None;
        let (mut next, mut after) = line(rest)?;
        if let Some(data) = next.strip_prefix("extra ") {
            extra = Some(from_base64(data).filter(|data| data.len() <= EXTRA_BYTES_MAX)?);
            (next, after) = line(after)?;
        }
        let index = number(next.strip_prefix("index ")?)?;
        let (hashes, rest) = hashes(after, INCLUSION_HASHES_MAX)?;
        Some(Self {
            extra,
            index,
            hashes,
            checkpoint: Note::parse(rest).ok()?,
        })
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{FIRST_LINE}")?;
        if let Some(extra) = &self.extra {
            writeln!(f, "extra {}", to_base64(extra))?;
        }
        writeln!(f, "index {}", self.index)?;
        let mut hashes = self.hashes.iter();
        hashes.try_for_each(|hash| writeln!(f, "{}", to_base64(hash)))?;
        write!(f, "\n{}", self.checkpoint)
    }
}

/// Which log somebody trusts, and the word of which witnesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The log's key. Its name is the log's origin.
    pub log: VerifierKey,
    /// The witnesses' keys.
    pub witnesses: Vec<VerifierKey>,
    /// How many of them have to have cosigned.
    pub threshold: usize,
    /// How old the newest of the cosignatures that are needed may be, in seconds. `None`: any age, for
    /// proofs that are judged years later.
    pub max_age: Option<u64>,
}

/// Why a proof or checkpoint is not good enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofError {
    /// The note's text is not a checkpoint.
    Checkpoint,
    /// The checkpoint is another log's.
    Origin,
    /// The log's signature is missing, or does not hold.
    Log(NoteError),
    /// Too few of the witnesses cosigned.
    Witnesses {
        /// How many did, with signatures that hold and times that are recent enough.
        have: usize,
        /// How many are needed.
        need: usize,
    },
    /// The hashes do not lead from the entry to the checkpoint's root.
    Inclusion,
}

impl fmt::Display for ProofError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Checkpoint => f.write_str("not a checkpoint"),
            Self::Origin => f.write_str("the checkpoint is another log's"),
            Self::Log(NoteError::Unsigned) => f.write_str("the log did not sign the checkpoint"),
            Self::Log(_) => f.write_str("the log's signature does not hold"),
            Self::Witnesses { have, need } => {
                write!(
                    f,
                    "need recent cosignatures of {need} witnesses, have {have}"
                )
            }
            Self::Inclusion => f.write_str("the proof does not lead to the checkpoint's root"),
        }
    }
}

impl core::error::Error for ProofError {}

impl Policy {
    /// Checks a checkpoint's signatures. `now` is in seconds since 1970.
    ///
    /// A cosignature from the future counts: a witness's clock may be ahead, and its word is about
    /// consistency.
    ///
    /// # Errors
    /// [`ProofError`].
    pub fn checkpoint(&self, note: &Note, now: u64) -> Result<Checkpoint, ProofError> {
        let checkpoint = Checkpoint::parse(note.text()).map_err(|_| ProofError::Checkpoint)?;
        if checkpoint.origin != self.log.name() {
            return Err(ProofError::Origin);
        }
        note.signature(&self.log).map_err(ProofError::Log)?;
        let have = self.witnesses.iter().filter(|key| self.has(note, key, now));
        let (have, need) = (have.count(), self.threshold);
        match have >= need {
            true => Ok(checkpoint),
            false => Err(ProofError::Witnesses { have, need }),
        }
    }

    /// Checks that a leaf is in the log, and returns the checkpoint that says so. `now` is in seconds
    /// since 1970.
    ///
    /// # Errors
    /// [`ProofError`].
    pub fn check(&self, proof: &Proof, leaf: Hash, now: u64) -> Result<Checkpoint, ProofError> {
        let checkpoint = self.checkpoint(&proof.checkpoint, now)?;
        let root = root_of_proof(proof.index, checkpoint.size, leaf, &proof.hashes);
        match root == Some(checkpoint.root) {
            true => Ok(checkpoint),
            false => Err(ProofError::Inclusion),
        }
    }

    fn has(&self, note: &Note, key: &VerifierKey, now: u64) -> bool {
        let own = note.signature(key).ok();
        let time = own.and_then(|own| Cosignature::decode(&own.bytes));
        time.is_some_and(|own| {
            self.max_age
                .is_none_or(|most| now.saturating_sub(own.time) <= most)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::note::{KeyKind, sign};
    use crate::tree::tests::{at, nodes_of};
    use crate::tree::{inclusion, leaf, root};
    use ed25519_dalek::SigningKey;
    use std::string::ToString;

    const NOW: u64 = 1_800_000_000;

    fn secret(number: u8) -> SigningKey {
        SigningKey::from_bytes(&[number; 32])
    }

    fn key(name: &str, kind: KeyKind, number: u8) -> VerifierKey {
        VerifierKey::new(name, kind, secret(number).verifying_key()).unwrap()
    }

    fn policy(threshold: usize) -> Policy {
        Policy {
            log: key("log", KeyKind::Log, 1),
            witnesses: (2..5)
                .map(|n| key(&format!("w{n}"), KeyKind::Witness, n))
                .collect(),
            threshold,
            max_age: Some(100),
        }
    }

    /// A proof for entry 4 of 11, cosigned by witnesses 2 and 3, the second one 50 s ago.
    fn proof() -> Proof {
        let nodes = nodes_of(11);
        let checkpoint = Checkpoint {
            origin: "log".into(),
            size: 11,
            root: root(11, at(&nodes)).unwrap(),
        };
        let mut note = Note::new(checkpoint.to_string()).unwrap();
        note.add(sign(note.text(), "log", &secret(1)).unwrap())
            .unwrap();
        for (number, age) in [(2, 0), (3, 50)] {
            let name = format!("w{number}");
            let line = Cosignature::sign(note.text(), NOW - age, &name, &secret(number));
            note.add(line.unwrap()).unwrap();
        }
        Proof {
            extra: Some(b"extra".to_vec()),
            index: 4,
            hashes: inclusion(4, 11, at(&nodes)).unwrap(),
            checkpoint: note,
        }
    }

    fn own_leaf() -> Hash {
        leaf(&4_u64.to_be_bytes())
    }

    #[test]
    fn a_proof_is_read_as_it_was_written_and_holds() {
        for extra in [None, Some(vec![]), Some(vec![1, 2, 3])] {
            let proof = Proof { extra, ..proof() };
            let read = Proof::parse(&proof.to_string()).unwrap();
            assert_eq!(read, proof);
            assert_eq!(policy(2).check(&read, own_leaf(), NOW).unwrap().size, 11);
        }
    }

    #[test]
    fn each_part_that_is_missing_is_named() {
        let good = proof();
        let check = |policy: Policy, proof: &Proof, now| policy.check(proof, own_leaf(), now).err();
        assert_eq!(check(policy(2), &good, NOW), None);
        let need = |have, need| Some(ProofError::Witnesses { have, need });
        assert_eq!(check(policy(3), &good, NOW), need(2, 3));
        assert_eq!(
            check(policy(2), &good, NOW + 51),
            need(1, 2),
            "one is too old"
        );
        let for_ever = Policy {
            max_age: None,
            ..policy(2)
        };
        assert_eq!(check(for_ever, &good, NOW + 1_000_000), None);
        let mut same = policy(2);
        same.witnesses.truncate(1);
        assert_eq!(check(same, &good, NOW), need(1, 2));

        let other = Policy {
            log: key("log", KeyKind::Log, 9),
            ..policy(2)
        };
        assert_eq!(
            check(other, &good, NOW),
            Some(ProofError::Log(NoteError::Unsigned))
        );
        let other = Policy {
            log: key("log2", KeyKind::Log, 1),
            ..policy(2)
        };
        assert_eq!(check(other, &good, NOW), Some(ProofError::Origin));
        let moved = Proof {
            index: 5,
            ..good.clone()
        };
        assert_eq!(check(policy(2), &moved, NOW), Some(ProofError::Inclusion));
        let mut cut = good.clone();
        cut.hashes.pop();
        assert_eq!(check(policy(2), &cut, NOW), Some(ProofError::Inclusion));
        let leaf = leaf(b"another");
        assert_eq!(
            policy(2).check(&good, leaf, NOW),
            Err(ProofError::Inclusion)
        );
        let text = Note::new("text\n".into()).unwrap();
        let text = Proof {
            checkpoint: text,
            ..good
        };
        assert_eq!(check(policy(2), &text, NOW), Some(ProofError::Checkpoint));
    }

    /// Two witnesses with one key are one witness with two names: a policy that names it twice is
    /// the administrator's mistake, but one signature line never counts for two keys.
    #[test]
    fn a_line_counts_for_its_key_alone() {
        let mut policy = policy(2);
        policy.witnesses = vec![
            key("w2", KeyKind::Witness, 2),
            key("w9", KeyKind::Witness, 2),
        ];
        let error = ProofError::Witnesses { have: 1, need: 2 };
        assert_eq!(policy.check(&proof(), own_leaf(), NOW), Err(error));
    }

    #[test]
    fn other_texts_are_refused() {
        let good = proof().to_string();
        let bad = [
            good.replacen("@v1", "@v2", 1),
            good.replacen("extra ", "extra", 1),
            good.replacen("index 4", "index 04", 1),
            good.replacen("index 4\n", "", 1),
            good.replacen("index 4\n", "index 4\nAAAA\n", 1),
            good.replacen(
                "index 4\n",
                &format!(
                    "index 4\n{}",
                    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n".repeat(62)
                ),
                1,
            ),
            good.split_once("\n\n").unwrap().0.into(),
            good.trim_end().into(),
            "".into(),
        ];
        for bad in bad {
            assert_eq!(Proof::parse(&bad), None, "{bad:.100}");
        }
    }
}
