//! What a client computes away from its tunnels: keys, eight at a time, and puzzles, in pieces.

use alloc::vec::Vec;

use crate::boxes::Key;
use crate::engine::event::TunnelId;
use crate::puzzle::{Progress, R_BYTES, Search};
use crate::reason::Reason;
use crate::x25519::{self, Public, Secret, Shared};

/// Keys that are computed in one call.
const GROUP: usize = 16;

/// Ends of a puzzle that are tried in one run: some milliseconds.
const TRIES: u32 = 1 << 13;

/// The keys of a new tunnel.
#[derive(Debug)]
pub(super) struct Start {
    /// Which tunnel.
    pub tunnel: TunnelId,
    /// c'.
    pub secret: Secret,
    /// S'.
    pub server: Public,
    /// C' and K_0; `bad-key` if S' has small order.
    pub result: Result<(Public, Key), Reason>,
}

/// A puzzle.
#[derive(Debug)]
pub(super) struct Solve {
    /// Which tunnel.
    pub tunnel: TunnelId,
    /// n'.
    pub nonce: [u8; 8],
    /// How far it is.
    pub search: Search,
    /// r, once it is found; `unsolvable`.
    pub result: Option<Result<[u8; R_BYTES], Reason>>,
}

/// Work that is to be run, anywhere, and given back.
#[derive(Debug, Default)]
pub struct Jobs {
    pub(super) starts: Vec<Start>,
    pub(super) solves: Vec<Solve>,
}

impl Jobs {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.starts.len() + self.solves.len()
    }

    /// Whether there are puzzles among them, which take some milliseconds each.
    pub fn has_puzzles(&self) -> bool {
        !self.solves.is_empty()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Computes all keys, and a piece of each puzzle.
    pub fn run(&mut self) {
        for group in self.starts.chunks_mut(GROUP) {
            start(group);
        }
        for solve in &mut self.solves {
            solve.result = match solve.search.step(TRIES) {
                Ok(Progress::Searching) => None,
                Ok(Progress::Found(r)) => Some(Ok(r)),
                Err(reason) => Some(Err(reason)),
            };
        }
    }
}

fn start(group: &mut [Start]) {
    let secrets: Vec<&Secret> = group.iter().map(|start| &start.secret).collect();
    let mut publics = [Public([0; 32]); GROUP];
    x25519::public_keys(&secrets, &mut publics[..secrets.len()]);
    let jobs: Vec<x25519::Job<'_>> = group
        .iter()
        .map(|start| (&start.secret, &start.server))
        .collect();
    let mut shared: [Option<Shared>; GROUP] = [const { None }; GROUP];
    x25519::shared(&jobs, &mut shared[..jobs.len()]);
    for ((start, public), shared) in group.iter_mut().zip(publics).zip(shared) {
        let key = shared.as_ref().map(Key::between);
        start.result = key.map(|key| (public, key)).ok_or(Reason::BadKey);
    }
}
