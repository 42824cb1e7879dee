//! What both groups have: records, register, manager; and the register's tree.

use std::collections::HashMap;

use clew_evidence::{
    EpochRecord, Genesis, Proof, RegisterEntry, RegisterHead, Row, SealedHead, appended_nodes,
    inclusion, root, seal,
};
use clew_group::EpochId;
use clew_packet::{GroupId, SECOND_NS, Timestamp};
use ed25519_dalek::SigningKey;

use super::hash;

pub const HEADER: &[u8; 16] = b"clew-group-file\n";

pub const NONCE: [u8; 32] = *b"clew vectors: nonce of the group";

/// A time in the newest epoch of both groups.
pub const NOW: Timestamp = Timestamp(1_770_000_000 * SECOND_NS + 123_456_789);

/// The parts of a group file, and who signs them.
#[derive(Clone)]
pub struct Records {
    pub genesis: Genesis,
    pub epochs: Vec<EpochRecord>,
    pub entries: Vec<RegisterEntry>,
    pub manager: SigningKey,
}

impl Records {
    pub fn id(&self) -> GroupId {
        self.genesis.group_id()
    }

    pub fn epoch_id(&self, epoch: usize) -> EpochId {
        match epoch.checked_sub(1) {
            None => self.genesis.epoch_id(),
            Some(before) => self.epochs[before].epoch_id(),
        }
    }

    pub fn last_id(&self) -> EpochId {
        self.epoch_id(self.epochs.len())
    }

    pub fn start(&self, epoch: usize) -> u64 {
        self.epochs[epoch - 1].start
    }

    pub fn head(&self) -> RegisterHead {
        self.head_of(&self.entries)
    }

    /// The head of a register of other entries.
    pub fn head_of(&self, entries: &[RegisterEntry]) -> RegisterHead {
        RegisterHead {
            last: self.last_id(),
            time: NOW.0,
            machines: entries.len() as u32,
            root: Tree::of(entries).root(),
        }
    }

    pub fn bodies(&self) -> Vec<Vec<u8>> {
        let epochs = self.epochs.iter().map(EpochRecord::encode);
        let first = [self.genesis.encode()].into_iter();
        first.chain(epochs).chain([self.head().encode()]).collect()
    }

    pub fn file(&self) -> Vec<u8> {
        file_by(&self.bodies(), &self.manager)
    }

    /// The row of an entry of this register.
    pub fn row(&self, index: usize) -> Row {
        self.row_of(&self.entries, index, self.head())
    }

    /// A row of other entries, under a head that the manager signs.
    pub fn row_of(&self, entries: &[RegisterEntry], index: usize, head: RegisterHead) -> Row {
        self.row_under(entries, index, head.seal(&self.manager))
    }

    pub fn row_under(&self, entries: &[RegisterEntry], index: usize, head: SealedHead) -> Row {
        let hashes = Tree::of(entries).proof(index as u32);
        Row {
            entry: entries[index].clone(),
            proof: Proof { hashes, head },
        }
    }
}

/// A group file of these bodies.
pub fn file_by(bodies: &[Vec<u8>], manager: &SigningKey) -> Vec<u8> {
    let parts = bodies.iter().flat_map(|body| seal(body, manager));
    HEADER.iter().copied().chain(parts).collect()
}

/// A record with the hash of the body before it.
pub fn chained(bodies: &[Vec<u8>], record: EpochRecord) -> EpochRecord {
    let previous = EpochId(hash(bodies.last().unwrap()));
    EpochRecord { previous, ..record }
}

/// The register's tree.
struct Tree {
    entries: u32,
    nodes: HashMap<(u32, u32), [u8; 32]>,
}

impl Tree {
    fn of(entries: &[RegisterEntry]) -> Self {
        let mut nodes = HashMap::new();
        for (number, entry) in entries.iter().enumerate() {
            let node = |level, index| nodes.get(&(level, index)).copied();
            let added = appended_nodes(number as u32, &entry.leaf_hash(), node).unwrap();
            nodes.extend(added.into_iter().map(|(l, i, hash)| ((l, i), hash)));
        }
        let entries = entries.len() as u32;
        Self { entries, nodes }
    }

    fn node(&self, level: u32, index: u32) -> Option<[u8; 32]> {
        self.nodes.get(&(level, index)).copied()
    }

    fn root(&self) -> [u8; 32] {
        root(self.entries, |level, index| self.node(level, index)).unwrap()
    }

    fn proof(&self, index: u32) -> Vec<[u8; 32]> {
        inclusion(index, self.entries, |level, i| self.node(level, i)).unwrap()
    }
}
