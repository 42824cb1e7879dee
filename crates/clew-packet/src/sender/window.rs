//! Clue's windows ("Windowed verification"): a signature covers a packet and those before it in its
//! flow. Specification section 4.

use alloc::collections::VecDeque;

use sha2::{Digest, Sha256};

use crate::wire::block::WINDOW_MAX;

const DOMAIN: &[u8; 16] = b"clew-window-v1\0\0";

/// The digest of a packet as windows have it.
pub(crate) type PacketDigest = [u8; 32];

/// The digest of a packet with its signature.
pub(crate) fn digest(message: &[u8], body: &[u8]) -> PacketDigest {
    let hash = Sha256::new_with_prefix([0])
        .chain_update((message.len() as u32).to_be_bytes())
        .chain_update(message)
        .chain_update(body);
    hash.finalize().into()
}

/// Returns the h of a trailer in mode `window`, over the packets before its own by their
/// [`SignedPacket::window_digest`](crate::SignedPacket::window_digest); zeros if there are none.
pub fn window_hash(before: impl Iterator<Item = [u8; 32]>) -> [u8; 32] {
    let mut before = before.peekable();
    if before.peek().is_none() {
        return [0; 32];
    }
    let hash = before.fold(Sha256::new_with_prefix(DOMAIN), |hash, digest| {
        hash.chain_update(digest)
    });
    hash.finalize().into()
}

/// The signer's window over one flow: the packets that the next signature covers besides its own.
#[derive(Clone, Debug)]
pub struct Window {
    size: usize,
    before: VecDeque<PacketDigest>,
}

impl Window {
    /// Creates a window of `k` packets, 1 to [`WINDOW_MAX`], that has seen none yet.
    pub fn new(k: u16) -> Self {
        Self {
            size: usize::from(k.clamp(1, WINDOW_MAX)),
            before: VecDeque::new(),
        }
    }

    /// Changes the size, 1 to [`WINDOW_MAX`]. What was seen stays, as far as there is room.
    pub fn resize(&mut self, k: u16) {
        self.size = usize::from(k.clamp(1, WINDOW_MAX));
        self.trim();
    }

    /// Number of packets that the next signature covers, its own counted.
    pub(crate) fn k(&self) -> u16 {
        self.before.len() as u16 + 1
    }

    pub(crate) fn hash(&self) -> [u8; 32] {
        window_hash(self.before.iter().copied())
    }

    /// Takes a signed packet in.
    pub(crate) fn push(&mut self, packet: PacketDigest) {
        self.before.push_back(packet);
        self.trim();
    }

    fn trim(&mut self) {
        while self.before.len() >= self.size {
            self.before.pop_front();
        }
    }
}
