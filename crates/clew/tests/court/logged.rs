//! A log in this process: entries of commands go in, proofs come out, cosigned by a witness.

use clew_log::entry::{Entry, Logged};
use clew_log::tree::{appended_nodes, consistency, inclusion, root};
use clew_log::{AddCheckpoint, Checkpoint, Cosignature, KeyKind, Note, Proof, VerifierKey, sign};
use clew_wire::WallTime;
use ed25519_dalek::SigningKey;
use std::collections::HashMap;
use std::time::SystemTime;

pub const ORIGIN: &str = "example.com/acme";
pub const WITNESS: &str = "example.com/w1";

/// Nodes by level and index.
type Nodes = HashMap<(u32, u64), [u8; 32]>;

/// The log's entries, and the tree over them.
#[derive(Clone, Default)]
pub struct Log {
    entries: Vec<Vec<u8>>,
    nodes: Nodes,
}

pub fn secret(number: u8) -> SigningKey {
    SigningKey::from_bytes(&[number; 32])
}

pub fn log_key() -> VerifierKey {
    VerifierKey::new(ORIGIN, KeyKind::Log, secret(1).verifying_key()).unwrap()
}

pub fn witness_key() -> VerifierKey {
    VerifierKey::new(WITNESS, KeyKind::Witness, secret(2).verifying_key()).unwrap()
}

pub fn seconds() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.unwrap().as_secs()
}

impl Log {
    /// A log whose first entry is not a request's.
    pub fn new() -> Self {
        let mut log = Self::default();
        log.push(b"entry 0".to_vec());
        log
    }

    fn push(&mut self, leaf: Vec<u8>) -> u64 {
        let (place, hash) = (self.entries.len() as u64, clew_log::tree::leaf(&leaf));
        let node = |level, index| self.nodes.get(&(level, index)).copied();
        let added = appended_nodes(place, &hash, node).unwrap();
        let added = added
            .into_iter()
            .map(|(level, at, hash)| ((level, at), hash));
        self.nodes.extend(added);
        self.entries.push(leaf);
        place
    }

    /// Adds an entry; returns its place.
    pub fn add(&mut self, entry: &[u8]) -> u64 {
        let entry = Entry::decode(entry).unwrap();
        assert!(entry.is_signed());
        let logged = WallTime::from_nanos(seconds() * 1_000_000_000);
        self.push(Logged { logged, entry }.encode())
    }

    pub fn size(&self) -> u64 {
        self.entries.len() as u64
    }

    fn node(&self) -> impl Fn(u32, u64) -> Option<[u8; 32]> {
        |level, index| self.nodes.get(&(level, index)).copied()
    }

    /// The checkpoint, signed with `log`, cosigned with `witness` at a time.
    pub fn checkpoint(&self, log: &SigningKey, witness: &SigningKey, time: u64) -> Note {
        let checkpoint = Checkpoint {
            origin: ORIGIN.into(),
            size: self.size(),
            root: root(self.size(), self.node()).unwrap(),
        };
        let mut note = Note::new(checkpoint.to_string()).unwrap();
        note.add(sign(note.text(), ORIGIN, log).unwrap()).unwrap();
        let line = Cosignature::sign(note.text(), time, WITNESS, witness);
        note.add(line.unwrap()).unwrap();
        note
    }

    /// The proof of an entry under the checkpoint of now.
    pub fn proof(&self, index: u64) -> Proof {
        Proof {
            extra: Some(self.entries[index as usize].clone()),
            index,
            hashes: inclusion(index, self.size(), self.node()).unwrap(),
            checkpoint: self.checkpoint(&secret(1), &secret(2), seconds()),
        }
    }

    /// The proof that this log continues the one of that size.
    pub fn since(&self, old_size: u64) -> String {
        let proof = AddCheckpoint {
            old_size,
            hashes: consistency(old_size, self.size(), self.node()).unwrap(),
            checkpoint: self.checkpoint(&secret(1), &secret(2), seconds()),
        };
        proof.to_string()
    }
}
