//! A group's board: signed posts by topic, which the manager keeps and nobody trusts
//! (`spec/board.md`).
//!
//! [`BoardService`] serves a [`Board`](clew_manager::Board), [`BoardClient`] posts and reads.

mod client;
mod service;

pub use client::{BoardClient, Placed};
pub use service::BoardService;

/// The header with the reader's ticket, in base64.
const READER: &str = "clew-reader";
/// Longest wait for new posts, in seconds.
const WAIT_MAX: u64 = 50;
/// Largest answer with posts, in bytes: 4 MiB, one post more, and their heads.
const POSTS_MAX: usize = 8 << 20;
/// Largest list of news, in bytes.
const NEWS_BYTES_MAX: usize = 40 * 1_000;

/// The path of a topic, as a reader signs it.
fn topic_path(topic: &[u8; 32], after: u64, wait: u64) -> String {
    let topic = clew_wire::Hex(topic);
    format!("board/{topic}?after={after}&wait={wait}")
}

/// The path of the whole board's news, as a reader signs it.
fn news_path(after: u64, wait: u64) -> String {
    format!("board?after={after}&wait={wait}")
}
