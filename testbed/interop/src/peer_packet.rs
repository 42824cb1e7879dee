//! The header of the peer's packets. It is ours; but an initiation packet has any length, which our own
//! parser refuses.

use clew_tunnel::boxes::{self, Stream, TAG};
use clew_tunnel::keys::Nonce;
use clew_tunnel::wire::packet::Tid;
use clew_tunnel::x25519::Public;

pub struct PeerPacket<'a> {
    pub tid: Tid,
    pub nonce: Nonce,
    pub key: Option<Public>,
    pub is_open: bool,
    boxed: &'a mut [u8],
}

impl<'a> PeerPacket<'a> {
    /// None for what is too short, or has a puzzle: the peer never sends one in a header.
    pub fn parse(bytes: &'a mut [u8]) -> Option<Self> {
        let (tid, rest) = bytes.split_first_chunk_mut::<8>()?;
        let (nonce, rest) = rest.split_first_chunk_mut::<8>()?;
        let (key, boxed) = match tid[0] >> 6 {
            0 => (None, rest),
            2 => {
                let (key, rest) = rest.split_first_chunk_mut::<32>()?;
                (Some(Public(*key)), rest)
            }
            _ => return None,
        };
        (boxed.len() >= TAG + 8).then_some(Self {
            tid: Tid::from_random(*tid),
            nonce: Nonce::from_bytes(*nonce),
            key,
            is_open: false,
            boxed,
        })
    }

    pub fn open(&mut self, stream: &Stream) -> bool {
        let Some(packet) = boxes::Packet::new(stream, self.nonce.to_bytes(), self.boxed) else {
            return false;
        };
        let mut is_good = [false];
        boxes::decrypt(&mut [packet], &mut is_good);
        self.is_open = is_good[0];
        self.is_open
    }

    pub fn into_text(self) -> &'a [u8] {
        &self.boxed[TAG..]
    }
}
