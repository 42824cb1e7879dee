//! A register's tree, its nodes in memory.

use clew_evidence::{appended_nodes, root};

/// A node that an entry completes: level, place in it, hash.
pub type Node = (u32, u32, [u8; 32]);

/// The tree over a growing register.
#[derive(Default)]
pub struct Nodes {
    pub entries: u32,
    levels: Vec<Vec<[u8; 32]>>,
}

impl Nodes {
    pub fn get(&self, level: u32, index: u32) -> Option<[u8; 32]> {
        let nodes = self.levels.get(level as usize)?;
        nodes.get(index as usize).copied()
    }

    /// The nodes that one more entry would complete.
    pub fn completed_by(&self, leaf: &[u8; 32]) -> Vec<Node> {
        let added = appended_nodes(self.entries, leaf, |l, i| self.get(l, i));
        added.expect("all nodes are there")
    }

    /// Appends an entry, and returns the nodes that it completes.
    pub fn append(&mut self, leaf: &[u8; 32]) -> Vec<Node> {
        let added = self.completed_by(leaf);
        for (level, _, hash) in &added {
            let level = *level as usize;
            let levels = self.levels.len().max(level + 1);
            self.levels.resize_with(levels, Vec::new);
            self.levels[level].push(*hash);
        }
        self.entries += 1;
        added
    }

    pub fn root(&self) -> [u8; 32] {
        let root = root(self.entries, |l, i| self.get(l, i));
        root.expect("all nodes are there")
    }
}
