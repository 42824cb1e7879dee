//! A log in this process, cosigned by one witness.

use clew_evidence::WallTime;
use clew_log::entry::{Body, Entry, Logged};
use clew_log::tree::{appended_nodes, inclusion, root};
use clew_log::{Checkpoint, Cosignature, KeyKind, Note, Policy, Proof, VerifierKey, sign};
use ed25519_dalek::SigningKey;
use std::collections::HashMap;

pub const GROUP: [u8; 16] = [7; 16];
const ORIGIN: &str = "example.com/acme";
const WITNESS: &str = "example.com/w1";

pub fn secret(number: u8) -> SigningKey {
    SigningKey::from_bytes(&[number; 32])
}

/// The log's entries, with the nodes of its tree.
#[derive(Default)]
pub struct Log {
    entries: Vec<Vec<u8>>,
    nodes: HashMap<(u32, u64), [u8; 32]>,
}

impl Log {
    /// Adds what this key says at a second, if the log does not have it. Returns the place.
    pub fn add(&mut self, body: Body, key: &SigningKey, second: u64) -> u64 {
        let time = WallTime::from_nanos(second * 1_000_000_000);
        let entry = Entry::sign(GROUP, time, body, key).unwrap();
        let known = self.entries.iter().position(|known| {
            Logged::decode(known).unwrap().entry.statement() == entry.statement()
        });
        if let Some(place) = known {
            return place as u64;
        }
        let leaf = Logged {
            logged: time,
            entry,
        }
        .encode();
        let place = self.entries.len() as u64;
        let hash = clew_log::tree::leaf(&leaf);
        let node = |level, index| self.nodes.get(&(level, index)).copied();
        let added = appended_nodes(place, &hash, node).unwrap();
        let added = added
            .into_iter()
            .map(|(level, at, hash)| ((level, at), hash));
        self.nodes.extend(added);
        self.entries.push(leaf);
        place
    }

    /// The proof of an entry, cosigned by `witness`.
    pub fn proof_by(&self, place: u64, witness: &SigningKey) -> Proof {
        let size = self.entries.len() as u64;
        let node = |level, index| self.nodes.get(&(level, index)).copied();
        let checkpoint = Checkpoint {
            origin: ORIGIN.into(),
            size,
            root: root(size, node).unwrap(),
        };
        let mut note = Note::new(checkpoint.to_string()).unwrap();
        note.add(sign(note.text(), ORIGIN, &secret(101)).unwrap())
            .unwrap();
        let line = Cosignature::sign(note.text(), 1, WITNESS, witness);
        note.add(line.unwrap()).unwrap();
        Proof {
            extra: Some(self.entries[place as usize].clone()),
            index: place,
            hashes: inclusion(place, size, node).unwrap(),
            checkpoint: note,
        }
    }

    pub fn proof(&self, place: u64) -> Box<Proof> {
        Box::new(self.proof_by(place, &secret(102)))
    }
}

pub fn policy() -> Policy {
    Policy {
        log: VerifierKey::new(ORIGIN, KeyKind::Log, secret(101).verifying_key()).unwrap(),
        witnesses: vec![
            VerifierKey::new(WITNESS, KeyKind::Witness, secret(102).verifying_key()).unwrap(),
        ],
        threshold: 1,
        max_age: None,
    }
}
