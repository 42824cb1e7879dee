//! From one data plane to the next one: what was accepted, and where peers are.
//!
//! A data plane that is asked to end first finishes what it has, then writes a file. The next one reads
//! that and removes it before it accepts anything. So each file is used once, and after a crash there is
//! none: then nothing is accepted that was signed before the start. Precursors are never handed on.

use super::shared::{Shared, lock};
use crate::config::SetupKeys;
use crate::files;
use crate::packet::PeerIndex;
use crate::setup::EXCHANGE;
use clew_packet::KeySource;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::net::SocketAddr;
use std::path::Path;

/// Longest file: a full memory with room to spare.
const STATE_MAX: u64 = 128 << 20;

/// The first line of the file. The replay memory follows.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    /// [`EXCHANGE`] of whoever wrote it.
    version: u32,
    /// What the daemon was set up for.
    setup: SetupKeys,
    /// Where peers without a configured end point are.
    learned: Vec<Option<SocketAddr>>,
}

/// What a data plane found of the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing: it is the first one, or the one before was killed.
    Nothing,
    /// Something that cannot be used.
    Unusable,
    /// What was accepted stays refused, and packets that are under way are accepted.
    Memory,
}

impl<K: KeySource> Shared<K> {
    /// Writes what the next data plane needs. All threads have ended.
    pub fn leave(&self, path: &Path) -> io::Result<()> {
        let table = lock(&self.peers);
        let reaches = table.peers.reaches().iter();
        let learned = reaches.map(|reach| reach.remote.filter(|_| reach.is_learned));
        let head = Head {
            version: EXCHANGE,
            setup: SetupKeys::of(&self.config()),
            learned: learned.collect(),
        };
        drop(table);
        let mut bytes = serde_json::to_vec(&head)?;
        bytes.push(b'\n');
        bytes.extend(lock(&self.inbound).replay_memory());
        // Half a file would be worse than none.
        files::replace(path, &bytes)
    }

    /// Takes over what the data plane before left.
    pub fn take_over(&self, path: &Path) -> io::Result<Found> {
        let mut bytes = Vec::new();
        match files::open(path) {
            Ok(file) => file.take(STATE_MAX).read_to_end(&mut bytes)?,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
            Err(other) => return Err(other),
        };
        // If it stays, another data plane would take it for the memory of this one.
        fs::remove_file(path)?;
        let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
            return Ok(Found::Unusable);
        };
        let head: Head = match serde_json::from_slice(&bytes[..end]) {
            Ok(head) => head,
            Err(_) => return Ok(Found::Unusable),
        };
        let own = SetupKeys::of(&self.config());
        if head.version != EXCHANGE || !head.setup.changed(&own).is_empty() {
            return Ok(Found::Unusable);
        }
        let now = self.clock.now();
        let restored = lock(&self.inbound).restore_replay_memory(&bytes[end + 1..], now.wall);
        if restored.is_err() {
            return Ok(Found::Unusable);
        }
        for (index, from) in (0..).zip(head.learned) {
            if let Some(from) = from {
                lock(&self.peers)
                    .peers
                    .learn(PeerIndex(index), from, now.instant);
            }
        }
        self.apply_paths();
        Ok(Found::Memory)
    }
}
