//! Datagrams on their way out: written one by one, encrypted together.

use alloc::vec::Vec;
use core::net::SocketAddr;

use super::trace::TracedPacket;
use crate::boxes::{self, Stream};
use crate::keys::Nonce;
use crate::wire::packet::Header;

/// Boxes that are encrypted in one call.
const GROUP: usize = 16;

/// Most segments and bytes of one run: what systems take in one call (UDP GSO).
const RUN_SEGMENTS: usize = 64;
const RUN_BYTES: usize = 65_000;

/// A batch of datagrams, in the order in which they leave.
#[derive(Debug)]
pub struct Outgoing {
    most: usize,
    bytes: Vec<u8>,
    datagrams: Vec<Datagram>,
    unsealed: Vec<Unsealed>,
    seen: Trace,
}

#[derive(Debug)]
struct Datagram {
    from: u32,
    to: SocketAddr,
    begin: usize,
}

/// A box that is still to be encrypted.
#[derive(Debug)]
struct Unsealed {
    begin: usize,
    end: usize,
    nonce: Nonce,
    stream: Stream,
}

/// Packets of a batch whose headers are remembered, if that is asked for.
type Trace = Option<Vec<TracedPacket>>;

/// Datagrams from one socket to one address, of one length but for the last, which may be shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run<'a> {
    /// The client's own name for a socket; 0 at a server.
    pub from: u32,
    /// Where they go.
    pub to: SocketAddr,
    /// One behind the other.
    pub bytes: &'a [u8],
    /// Length of each but the last.
    pub segment: usize,
}

impl Outgoing {
    /// An empty batch of at most so many datagrams.
    pub const fn new(most: usize) -> Self {
        Self {
            most,
            bytes: Vec::new(),
            datagrams: Vec::new(),
            unsealed: Vec::new(),
            seen: None,
        }
    }

    /// Remembers what is in the packets of each batch, for [`Self::seen`].
    pub fn remember(&mut self) {
        self.seen = Some(Vec::new());
    }

    /// What is in the packets of this batch, if it is remembered.
    pub fn seen(&self) -> &[TracedPacket] {
        self.seen.as_deref().unwrap_or_default()
    }

    /// Whether there is room for more.
    pub(crate) fn has_room(&self) -> bool {
        self.datagrams.len() < self.most
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.datagrams.len()
    }

    /// Empties it. The memory remains, what was in it is overwritten by the next.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.datagrams.clear();
        self.unsealed.clear();
        if let Some(seen) = &mut self.seen {
            seen.clear();
        }
    }

    /// Adds a datagram without a box.
    pub(crate) fn push_plain(&mut self, (from, to): (u32, SocketAddr), bytes: &[u8]) {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.datagrams.push(Datagram { from, to, begin });
    }

    /// Adds a packet, padded to at least `length` bytes; its bytes, or none if it would be longer than any
    /// packet.
    pub(crate) fn push(
        &mut self,
        (from, to): (u32, SocketAddr),
        header: &Header,
        numbers: (u32, u32),
        rpcs: &[u8],
        length: usize,
        stream: &Stream,
    ) -> Option<usize> {
        let begin = self.bytes.len();
        let boxed = header.write(numbers, rpcs, length, &mut self.bytes)?;
        let end = self.bytes.len();
        self.datagrams.push(Datagram { from, to, begin });
        self.unsealed.push(Unsealed {
            begin: boxed,
            end,
            nonce: header.nonce,
            stream: stream.clone(),
        });
        if let Some(seen) = &mut self.seen {
            seen.push(TracedPacket {
                tid: header.tid,
                nonce: header.nonce,
                seq: numbers.0,
                ack: numbers.1,
                bytes: end - begin,
                is_initiation: header.initiation.is_some(),
            });
        }
        Some(end - begin)
    }

    /// Seals all boxes. Before, nothing may leave.
    pub(crate) fn seal(&mut self) {
        for group in self.unsealed.chunks(GROUP) {
            let mut rest = &mut self.bytes[..];
            let mut at = 0;
            let mut packets: Vec<boxes::Packet<'_>> = Vec::with_capacity(GROUP);
            for packet in group {
                let (_, after) = rest.split_at_mut(packet.begin - at);
                let (boxed, after) = after.split_at_mut(packet.end - packet.begin);
                (rest, at) = (after, packet.end);
                packets.extend(boxes::Packet::new(
                    &packet.stream,
                    packet.nonce.to_bytes(),
                    boxed,
                ));
            }
            boxes::seal(&mut packets);
        }
        self.unsealed.clear();
    }

    /// The datagrams, those together that one call of the system may take.
    pub fn runs(&self) -> impl Iterator<Item = Run<'_>> {
        debug_assert!(self.unsealed.is_empty(), "sealed before it leaves");
        let mut next = 0;
        core::iter::from_fn(move || {
            let run = self.run(next)?;
            next += run.bytes.len().div_ceil(run.segment.max(1)).max(1);
            Some(run)
        })
    }

    /// The run that begins with the datagram at this place.
    fn run(&self, first: usize) -> Option<Run<'_>> {
        let Datagram { from, to, begin } = *self.datagrams.get(first)?;
        let segment = self.end(first) - begin;
        let mut end = begin + segment;
        for place in first + 1..(first + RUN_SEGMENTS).min(self.datagrams.len()) {
            let next = &self.datagrams[place];
            let length = self.end(place) - next.begin;
            let is_full = end - begin + length > RUN_BYTES;
            if (next.from, next.to) != (from, to) || length > segment || is_full {
                break;
            }
            end += length;
            if length < segment {
                break;
            }
        }
        Some(Run {
            from,
            to,
            bytes: &self.bytes[begin..end],
            segment,
        })
    }

    fn end(&self, place: usize) -> usize {
        let next = self.datagrams.get(place + 1);
        next.map_or(self.bytes.len(), |next| next.begin)
    }
}
