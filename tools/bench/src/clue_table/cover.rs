//! What one signature covers: the columns of the table.

use crate::groups::PACKET;
use clew_tree::{Block, Digest, DigestSize, Tree};

/// Packets of Clue's window, and of the block beside it.
pub const MANY: u16 = 8;

/// A window as Clue signs it: the packets one after the other.
const WINDOW: &[u8] = &[PACKET[0]; MANY as usize * PACKET.len()];

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cover {
    Packet,
    Window,
    Tree,
}

/// All columns: Clue's two, and ours.
pub const COVERS: [Cover; 3] = [Cover::Packet, Cover::Window, Cover::Tree];

/// What a signature is over.
#[derive(PartialEq, Eq, Debug)]
pub enum Message {
    Packets(&'static [u8]),
    Root(Digest),
}

impl AsRef<[u8]> for Message {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Packets(bytes) => bytes,
            Self::Root(digest) => digest,
        }
    }
}

/// The paths that travel with the packets of a block; none otherwise.
pub type Paths = Vec<Vec<u8>>;

impl Cover {
    /// As it stands in the names of rows.
    pub fn name(self) -> String {
        match self {
            Self::Packet => "1".into(),
            Self::Window => MANY.to_string(),
            Self::Tree => format!("tree-{MANY}"),
        }
    }

    /// What a sender does before it signs.
    pub fn send(self) -> (Message, Paths) {
        let message = match self {
            Self::Packet => Message::Packets(PACKET),
            Self::Window => Message::Packets(WINDOW),
            Self::Tree => return send_block(),
        };
        (message, Paths::new())
    }

    /// What a verifier that has all packets does before it verifies.
    pub fn receive(self, paths: &Paths) -> Message {
        match self {
            Self::Packet => Message::Packets(PACKET),
            Self::Window => Message::Packets(WINDOW),
            Self::Tree => receive_block(paths),
        }
    }
}

fn block() -> Block {
    Block::new([9; 16], MANY, DigestSize::D16).expect("a block")
}

fn send_block() -> (Message, Paths) {
    let block = block();
    let leaves: Vec<Digest> = (0..MANY).map(|i| block.leaf(i, &[PACKET])).collect();
    let tree = Tree::new(block, &leaves).expect("a leaf for each packet");
    let paths = (0..MANY).map(|i| tree.path(i).expect("a packet of the block"));
    (Message::Root(tree.root()), paths.collect())
}

/// Each packet leads to a root of its own, as each arrives alone; they are the same.
fn receive_block(paths: &Paths) -> Message {
    let block = block();
    let root = |(i, path): (u16, &Vec<u8>)| block.root(i, &block.leaf(i, &[PACKET]), path);
    let mut roots = (0..MANY).zip(paths).map(root);
    let first = roots.next().flatten().expect("a path of the block");
    assert!(
        roots.all(|root| root == Some(first)),
        "a block has one root"
    );
    Message::Root(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verifier_gets_to_what_was_signed() {
        for cover in COVERS {
            let (message, paths) = cover.send();
            assert_eq!(cover.receive(&paths), message, "{cover:?}");
        }
    }
}
