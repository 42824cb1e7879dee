//! The register's tree over made-up entries, its nodes in memory.

use crate::groups::rng;
use crate::measure::Case;
use crate::office::{NOW, Office, name};
use clew_evidence::{
    GroupFile, HEADER, RegisterEntry, RegisterHead, Row, appended_nodes, inclusion, root, seal,
};
use rand_core::Rng;

/// A register that nobody joined.
pub struct Tree {
    entries: u32,
    levels: Vec<Vec<[u8; 32]>>,
    /// What all entries have but index and name.
    like: RegisterEntry,
    /// With this register.
    group: GroupFile,
}

impl Tree {
    /// Appends entries that look like the office's first one, and makes the group file.
    pub fn grow(office: &Office, entries: u32) -> Self {
        let group = office.store.group().clone();
        let mut tree = Self {
            entries: 0,
            levels: Vec::new(),
            like: office.machine("machine-0").entry,
            group,
        };
        for index in 0..entries {
            for (level, _, hash) in tree.append() {
                let level = level as usize;
                tree.levels
                    .resize_with(tree.levels.len().max(level + 1), Vec::new);
                tree.levels[level].push(hash);
            }
            tree.entries = index + 1;
        }
        tree.group = tree.group_file(office);
        tree
    }

    fn group_file(&self, office: &Office) -> GroupFile {
        let head = RegisterHead {
            last: self.group.last_id(),
            time: NOW,
            machines: self.entries,
            root: self.root().expect("all nodes are there"),
            hashes: Vec::new(),
        };
        let genesis = self.group.genesis().encode();
        let parts = [genesis, head.encode()].map(|part| seal(&part, &office.issuer.manager));
        let bytes = [&HEADER[..], &parts[0], &parts[1]].concat();
        GroupFile::from_bytes(&bytes).expect("a manager's own parts")
    }

    fn entry(&self, index: u32) -> RegisterEntry {
        RegisterEntry {
            index,
            name: name(&format!("machine-{index}")),
            ..self.like.clone()
        }
    }

    fn node(&self, level: u32, index: u32) -> Option<[u8; 32]> {
        let nodes = self.levels.get(level as usize)?;
        nodes.get(index as usize).copied()
    }

    /// The nodes that one more entry completes.
    fn append(&self) -> Vec<(u32, u32, [u8; 32])> {
        let leaf = self.entry(self.entries).leaf_hash();
        let added = appended_nodes(self.entries, &leaf, |l, i| self.node(l, i));
        added.expect("all nodes are there")
    }

    fn root(&self) -> Option<[u8; 32]> {
        root(self.entries, |l, i| self.node(l, i))
    }

    fn row(&self, index: u32) -> Row {
        let hashes = inclusion(index, self.entries, |l, i| self.node(l, i));
        Row {
            entry: self.entry(index),
            machines: self.entries,
            hashes: hashes.expect("all nodes are there"),
        }
    }
}

/// The rows.
pub fn all(tree: &Tree) -> Vec<Case<'_>> {
    let mut random = rng(9);
    let mut index = move || random.next_u32() % tree.entries;
    let rows: Vec<Row> = (0..64).map(|_| tree.row(index())).collect();
    assert!(rows.iter().all(|row| row.is_in_register_of(&tree.group)));
    let mut rows = rows.into_iter().cycle();
    vec![
        Case::new("tree-append", "the nodes of one more of N entries", || {
            tree.append()
        }),
        Case::new("tree-root", "the root of N entries", || tree.root()),
        Case::with_input("tree-proof", "an inclusion proof among N", index, |i| {
            inclusion(i, tree.entries, |l, i| tree.node(l, i))
        }),
        Case::with_input(
            "row-check",
            "anybody: the proof of a row among N",
            move || rows.next(),
            |row| row.is_some_and(|row| row.is_in_register_of(&tree.group)),
        ),
    ]
}
