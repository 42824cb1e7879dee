//! Clue's windows ("Windowed verification"): a signature covers a packet and those before it in its
//! flow. Specification section 4.

use alloc::{collections::VecDeque, vec::Vec};

use sha2::{Digest, Sha256};

use crate::block::WINDOW_MAX;

const DOMAIN: &[u8; 16] = b"clew-window-v1\0\0";

/// h over the packets before one, each as `M || body`; zeros if there are none.
pub(crate) fn hash<'a>(before: impl Iterator<Item = &'a [u8]>) -> [u8; 32] {
    let mut before = before.peekable();
    if before.peek().is_none() {
        return [0; 32];
    }
    let hash = before.fold(Sha256::new_with_prefix(DOMAIN), |hash, packet| {
        hash.chain_update((packet.len() as u32).to_be_bytes())
            .chain_update(packet)
    });
    hash.finalize().into()
}

/// The signer's window over one flow: the packets that the next signature covers besides its own.
#[derive(Clone, Debug)]
pub struct Window {
    size: usize,
    before: VecDeque<Vec<u8>>,
}

impl Window {
    /// A window of `k` packets, 1 to [`WINDOW_MAX`], that has seen none yet.
    pub fn new(k: u16) -> Self {
        Self {
            size: usize::from(k.clamp(1, WINDOW_MAX)),
            before: VecDeque::new(),
        }
    }

    /// Number of packets that the next signature covers, its own counted.
    pub(crate) fn k(&self) -> u16 {
        self.before.len() as u16 + 1
    }

    pub(crate) fn hash(&self) -> [u8; 32] {
        hash(self.before.iter().map(Vec::as_slice))
    }

    /// Takes a signed packet in.
    pub(crate) fn push(&mut self, message_and_body: Vec<u8>) {
        self.before.push_back(message_and_body);
        while self.before.len() >= self.size {
            self.before.pop_front();
        }
    }
}
