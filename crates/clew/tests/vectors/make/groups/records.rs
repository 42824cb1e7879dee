//! What both groups have: records, register, manager; and the register's tree.

use std::collections::HashMap;

use clew_evidence::{
    Checkpoint, EpochRecord, Genesis, RegisterEntry, RegisterHead, Row, WallTime, appended_nodes, consistency, inclusion, root,
    sign_part,
};
use clew_group::EpochId;
use clew_packet::{GroupId, SECOND_NS, Timestamp};
use ed25519_dalek::SigningKey;

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
    /// Sizes of the register that rows may name besides the present one.
    pub checkpoints: Vec<u32>,
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
        self.epochs[epoch - 1].start.as_nanos()
    }

    pub fn head(&self) -> RegisterHead {
        self.head_of(&self.entries)
    }

    /// Number and root of the first entries.
    pub fn size(&self, machines: usize) -> (u32, [u8; 32]) {
        let tree = Tree::of(&self.entries[..machines]);
        (tree.entries, tree.root(tree.entries))
    }

    /// The head of a register of other entries.
    pub fn head_of(&self, entries: &[RegisterEntry]) -> RegisterHead {
        let tree = Tree::of(entries);
        let last = self.checkpoints.last();
        RegisterHead {
            last: self.last_id(),
            time: WallTime::from_nanos(NOW.0),
            machines: entries.len() as u32,
            root: tree.root(tree.entries),
            hashes: last.map_or(vec![], |last| tree.consistency(*last, tree.entries)),
        }
    }

    pub fn checkpoint_bodies(&self) -> Vec<Vec<u8>> {
        let tree = Tree::of(&self.entries);
        let before = std::iter::once(None).chain(self.checkpoints.iter().copied().map(Some));
        let all = self.checkpoints.iter().zip(before).map(|(machines, before)| Checkpoint {
            machines: *machines,
            root: tree.root(*machines),
            hashes: before.map_or(vec![], |before| tree.consistency(before, *machines)),
        });
        all.map(|checkpoint| checkpoint.encode()).collect()
    }

    pub fn bodies(&self) -> Vec<Vec<u8>> {
        let mut bodies = vec![self.genesis.encode()];
        bodies.extend(self.epochs.iter().map(EpochRecord::encode));
        bodies.extend(self.checkpoint_bodies());
        bodies.push(self.head().encode());
        bodies
    }

    pub fn file(&self) -> Vec<u8> {
        file_by(&self.bodies(), &self.manager)
    }

    /// The row of an entry of this register.
    pub fn row(&self, index: usize) -> Row {
        row_of(&self.entries, index)
    }
}

/// A row of these entries.
pub fn row_of(entries: &[RegisterEntry], index: usize) -> Row {
    let tree = Tree::of(entries);
    Row { entry: entries[index].clone(), machines: tree.entries, hashes: tree.proof(index as u32) }
}

/// A group file of these bodies.
pub fn file_by(bodies: &[Vec<u8>], manager: &SigningKey) -> Vec<u8> {
    let parts = bodies.iter().flat_map(|body| sign_part(body, manager));
    HEADER.iter().copied().chain(parts).collect()
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

    fn root(&self, entries: u32) -> [u8; 32] {
        root(entries, |level, index| self.node(level, index)).unwrap()
    }

    fn proof(&self, index: u32) -> Vec<[u8; 32]> {
        inclusion(index, self.entries, |level, i| self.node(level, i)).unwrap()
    }

    fn consistency(&self, from: u32, to: u32) -> Vec<[u8; 32]> {
        consistency(from, to, |level, i| self.node(level, i)).unwrap()
    }
}
