//! The register's tree over made-up entries, its nodes in memory.

use crate::groups::rng;
use crate::issuing::{Issuing, name};
use crate::measure::Case;
use crate::nodes::Nodes;
use clew_evidence::{GroupFile, HEADER, RegisterEntry, Row, inclusion, sign_part};
use rand_core::Rng;

/// A register that nobody joined.
pub struct Tree {
    nodes: Nodes,
    /// What all entries have but index and name.
    like: RegisterEntry,
    /// With this register.
    group: GroupFile,
}

impl Tree {
    /// Appends entries that look like the issuing's first one, and makes the group file.
    pub fn grow(issuing: &Issuing, entries: u32) -> Self {
        let mut tree = Self {
            nodes: Nodes::default(),
            like: issuing.machine("machine-0").entry,
            group: issuing.store.group().clone(),
        };
        for index in 0..entries {
            let leaf = tree.entry(index).leaf_hash();
            tree.nodes.append(&leaf);
        }
        tree.group = tree.group_file(issuing);
        tree
    }

    fn group_file(&self, issuing: &Issuing) -> GroupFile {
        let genesis = self.group.genesis().encode();
        let head = issuing.head(&self.nodes).encode();
        let parts = [genesis, head].map(|part| sign_part(&part, &issuing.issuer.manager));
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

    fn row(&self, index: u32) -> Row {
        let machines = self.nodes.entries;
        let hashes = inclusion(index, machines, |l, i| self.nodes.get(l, i));
        Row {
            entry: self.entry(index),
            machines,
            hashes: hashes.expect("all nodes are there"),
        }
    }
}

/// The rows.
pub fn all(tree: &Tree) -> Vec<Case<'_>> {
    let mut random = rng(9);
    let mut index = move || random.next_u32() % tree.nodes.entries;
    let rows: Vec<Row> = (0..64).map(|_| tree.row(index())).collect();
    assert!(rows.iter().all(|row| row.is_in_register_of(&tree.group)));
    let mut rows = rows.into_iter().cycle();
    vec![
        Case::new("tree-append", "the nodes of one more of N entries", || {
            let leaf = tree.entry(tree.nodes.entries).leaf_hash();
            tree.nodes.completed_by(&leaf)
        }),
        Case::new("tree-root", "the root of N entries", || tree.nodes.root()),
        Case::with_input("tree-proof", "an inclusion proof among N", index, |i| {
            inclusion(i, tree.nodes.entries, |l, i| tree.nodes.get(l, i))
        }),
        Case::with_input(
            "row-check",
            "anybody: the proof of a row among N",
            move || rows.next(),
            |row| row.is_some_and(|row| row.is_in_register_of(&tree.group)),
        ),
    ]
}
