//! What an author posts on a group's board: signed bytes (`spec/board.md` section 2).

use clew_evidence::GroupId;
use clew_evidence::signed::{SIGNATURE_BYTES, holds, strict_key};
use clew_evidence::wire::Reader;
use clew_group::domain_separator;
use ed25519_dalek::{Signer, SigningKey};
use sha2::{Digest, Sha256};

const MAGIC: &[u8; 11] = b"clew-post-1";
const READ: &str = "clew-board-read-1";

/// Longest body of a post, in bytes: a case file with packets.
pub const POST_BODY_MAX: usize = 512 << 10;

/// Longest post, in bytes.
pub const POST_BYTES_MAX: usize = MAGIC.len() + 32 + 32 + 32 + 1 + POST_BODY_MAX + SIGNATURE_BYTES;

/// Names a board: the group's, or that of a plan whose group does not exist yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BoardId(pub [u8; 32]);

impl BoardId {
    /// Returns the id of a group's board: the group id and 16 zeros.
    pub fn of_group(group: GroupId) -> Self {
        let mut id = [0; 32];
        id[..16].copy_from_slice(&group.0);
        Self(id)
    }
}

/// One signed post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    /// The board that it is for.
    pub board: BoardId,
    /// Its topic.
    pub topic: [u8; 32],
    /// The author's Ed25519 key.
    pub author: [u8; 32],
    /// What its body is. The board knows kind 1 alone.
    pub kind: u8,
    /// At most [`POST_BODY_MAX`] bytes.
    pub body: Vec<u8>,
    signature: [u8; SIGNATURE_BYTES],
}

impl Post {
    /// Signs a post: the same bytes each time. Returns `None` if the body is longer than
    /// [`POST_BODY_MAX`].
    pub fn sign(
        board: BoardId,
        topic: [u8; 32],
        kind: u8,
        body: Vec<u8>,
        key: &SigningKey,
    ) -> Option<Self> {
        if body.len() > POST_BODY_MAX {
            return None;
        }
        let mut post = Self {
            board,
            topic,
            author: key.verifying_key().to_bytes(),
            kind,
            body,
            signature: [0; SIGNATURE_BYTES],
        };
        post.signature = key.sign(&post.message()).to_bytes();
        Some(post)
    }

    /// Returns whether the author signed it.
    pub fn is_signed(&self) -> bool {
        strict_key(&self.author).is_some_and(|key| holds(&key, &self.message(), &self.signature))
    }

    /// Returns SHA-256 of its bytes: it names the post.
    pub fn id(&self) -> [u8; 32] {
        Sha256::digest(self.encode()).into()
    }

    /// Returns its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.unsigned();
        bytes.extend_from_slice(&self.signature);
        bytes
    }

    /// Reads a post. Nothing but its layout is checked. Returns `None` if it has another layout.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut fields = Reader(bytes);
        if fields.take(MAGIC.len())? != MAGIC || bytes.len() > POST_BYTES_MAX {
            return None;
        }
        let board = BoardId(fields.array()?);
        let (topic, author, kind) = (fields.array()?, fields.array()?, fields.u8()?);
        let body = fields.0.len().checked_sub(SIGNATURE_BYTES)?;
        Some(Self {
            board,
            topic,
            author,
            kind,
            body: fields.take(body)?.to_vec(),
            signature: fields.array()?,
        })
    }

    fn unsigned(&self) -> Vec<u8> {
        let head = [&self.board.0[..], &self.topic, &self.author].concat();
        [&MAGIC[..], &head, &[self.kind], &self.body].concat()
    }

    fn message(&self) -> Vec<u8> {
        [&domain_separator("clew-post-1")[..], &self.unsigned()].concat()
    }
}

/// Who asks a board for posts, and the signature by which it knows that (`spec/board.md` section 4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadTicket {
    /// The reader's Ed25519 key.
    pub reader: [u8; 32],
    /// The reader's time, nanoseconds since 1970.
    pub time: u64,
    signature: [u8; SIGNATURE_BYTES],
}

impl ReadTicket {
    /// Bytes of a ticket.
    pub const BYTES: usize = 32 + 8 + SIGNATURE_BYTES;

    /// Signs the request for a path with its query, as it stands behind the service's address.
    pub fn sign(board: BoardId, path: &str, time: u64, key: &SigningKey) -> Self {
        let reader = key.verifying_key().to_bytes();
        let signature = key.sign(&Self::message(board, path, time)).to_bytes();
        Self {
            reader,
            time,
            signature,
        }
    }

    /// Returns whether the reader signed it for this board and path.
    pub fn is_for(&self, board: BoardId, path: &str) -> bool {
        let message = Self::message(board, path, self.time);
        strict_key(&self.reader).is_some_and(|key| holds(&key, &message, &self.signature))
    }

    /// Returns its bytes.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..32].copy_from_slice(&self.reader);
        bytes[32..40].copy_from_slice(&self.time.to_be_bytes());
        bytes[40..].copy_from_slice(&self.signature);
        bytes
    }

    /// Reads a ticket. Returns `None` if it has another length.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut fields = Reader(bytes);
        let ticket = Self {
            reader: fields.array()?,
            time: fields.u64()?,
            signature: fields.array()?,
        };
        fields.0.is_empty().then_some(ticket)
    }

    fn message(board: BoardId, path: &str, time: u64) -> Vec<u8> {
        let domain = domain_separator(READ);
        [&domain[..], &board.0, &time.to_be_bytes(), path.as_bytes()].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOARD: BoardId = BoardId([4; 32]);

    fn key() -> SigningKey {
        SigningKey::from_bytes(&[7; 32])
    }

    #[test]
    fn a_post_is_read_as_it_was_signed_and_every_bit_counts() {
        let post = Post::sign(BOARD, [1; 32], 9, b"hello".to_vec(), &key()).unwrap();
        let bytes = post.encode();
        assert_eq!(Post::decode(&bytes).as_ref(), Some(&post));
        assert!(post.is_signed());
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1;
            let signed = Post::decode(&other).is_some_and(|post| post.is_signed());
            assert!(!signed, "byte {at}");
        }
        assert_eq!(Post::decode(&bytes[..11 + 97 + 63]), None);
        assert_eq!(Post::decode(&[]), None);
    }

    #[test]
    fn a_body_has_a_maximum() {
        let most = Post::sign(BOARD, [1; 32], 9, vec![0; POST_BODY_MAX], &key()).unwrap();
        assert_eq!(most.encode().len(), POST_BYTES_MAX);
        assert!(Post::decode(&most.encode()).is_some());
        assert_eq!(Post::decode(&[most.encode(), vec![0]].concat()), None);
        assert!(Post::sign(BOARD, [1; 32], 9, vec![0; POST_BODY_MAX + 1], &key()).is_none());
    }

    #[test]
    fn a_ticket_is_for_one_path_of_one_board() {
        let ticket = ReadTicket::sign(BOARD, "board?after=1", 5, &key());
        let read = ReadTicket::from_bytes(&ticket.to_bytes()).unwrap();
        assert_eq!(read, ticket);
        assert!(read.is_for(BOARD, "board?after=1"));
        assert!(!read.is_for(BOARD, "board?after=2"));
        assert!(!read.is_for(BoardId([5; 32]), "board?after=1"));
        let late = ReadTicket { time: 6, ..read };
        assert!(!late.is_for(BOARD, "board?after=1"));
        assert_eq!(ReadTicket::from_bytes(&ticket.to_bytes()[1..]), None);
    }
}
