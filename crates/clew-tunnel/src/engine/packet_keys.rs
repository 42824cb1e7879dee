//! A key and its TID: what packets are encrypted and decrypted with (`spec/tunnel.md` section 4).

use super::nonces::NonceMemory;
use crate::boxes::{Key, Stream};
use crate::keys::{self, Nonce};
use crate::puzzle::Solution;
use crate::wire::packet::{Header, Tid};
use crate::x25519::Public;

/// One key of a tunnel, with its TID and its nonces.
#[derive(Debug)]
pub(super) struct PacketKeys {
    /// TID.
    pub tid: Tid,
    /// K.
    pub key: Key,
    /// Of K and TID.
    pub stream: Stream,
    /// Which of the other side's were decrypted.
    pub seen: NonceMemory,
    next: Nonce,
}

impl PacketKeys {
    /// A key, and the first nonce that is to be sent under it.
    pub(super) fn new(tid: Tid, key: Key, first: Nonce) -> Self {
        Self {
            stream: keys::stream(&key, tid),
            tid,
            key,
            seen: NonceMemory::default(),
            next: first,
        }
    }

    /// The header of the next packet.
    pub(super) fn header(&mut self) -> Header {
        let nonce = self.next;
        // Counted from a time in nanoseconds, they last until 2262 and longer.
        self.next = nonce.following().unwrap_or(nonce);
        Header {
            tid: self.tid,
            nonce,
            initiation: None,
        }
    }

    /// The header of an initiation packet, at a client's time with its offset: later than any before.
    pub(super) fn initiation(
        &mut self,
        t: Nonce,
        key: Public,
        solution: Option<Solution>,
    ) -> Header {
        self.next = self.next.max(t);
        Header {
            initiation: Some((key, solution)),
            ..self.header()
        }
    }
}
