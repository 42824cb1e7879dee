//! From IP fragments to packets, in bounded memory and time.

use super::{DATAGRAM_MAX, UNIT, links, put_checksum, put_u16, u16_at, v4, v6};
use crate::packet::{Clear, PeerIndex};
use clew_wire::Instant;
use std::collections::BTreeMap;
use std::time::Duration;

/// Most packets whose fragments wait. The one that came first makes room.
pub const WAITING_MAX: usize = 1_024;

/// Most bytes of fragments that wait, each with `PART_OVERHEAD` more.
pub const WAITING_BYTES_MAX: usize = 4 << 20;

/// Most fragments of a packet: more than a path of 576 bytes makes of the longest.
pub const PARTS_MAX: usize = 128;

/// How long fragments wait for others.
pub const WAIT_MAX: Duration = Duration::from_secs(2);

/// What a fragment costs besides its bytes.
const PART_OVERHEAD: usize = 128;

/// What names the fragments of one packet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    peer: PeerIndex,
    /// Of IPv4 only: two protocols count for themselves there.
    protocol: Option<u8>,
    id: u32,
    addresses: Vec<u8>,
}

/// A fragment.
struct Part<'a> {
    key: Key,
    start: usize,
    is_last: bool,
    /// The headers that each fragment has, without that of the fragment.
    headers: Vec<u8>,
    payload: &'a [u8],
}

/// What became of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is no fragment, or the last one that was missing: the packet is whole.
    Whole(Clear),
    /// It is a fragment, and others are missing.
    Waits,
    /// It is a fragment that contradicts others, as far as they say which packet they are of. So many
    /// fragments are dropped: its packet's all, and itself.
    Bad(usize),
}

/// Puts IP fragments together.
///
/// Fragments that overlap are never right (RFC 5722): their packet is given up, whatever comes later.
#[derive(Debug, Default)]
pub struct Defragmenter {
    waiting: BTreeMap<Key, Waiting>,
    /// By age.
    order: BTreeMap<u64, Key>,
    next: u64,
    bytes: usize,
    missing: usize,
}

/// The fragments of a packet.
#[derive(Debug)]
struct Waiting {
    number: u64,
    since: Instant,
    /// Of the fragment at offset zero.
    headers: Vec<u8>,
    parts: BTreeMap<usize, Vec<u8>>,
    /// Where the last one ends.
    end: Option<usize>,
    bytes: usize,
    /// Two fragments contradicted each other.
    is_spoiled: bool,
}

impl Defragmenter {
    /// Takes a packet, which may be a fragment.
    pub fn take(&mut self, packet: Clear, now: Instant) -> Taken {
        let Some(part) = Part::of(&packet) else {
            return Taken::Whole(packet);
        };
        if part.start == 0 && part.is_last {
            // An IPv6 packet with a fragment header and nothing to wait for (RFC 6946).
            return match whole(part.headers, [part.payload].into_iter()) {
                Some(bytes) => Taken::Whole(Clear { bytes, ..packet }),
                None => Taken::Bad(1),
            };
        }
        self.expire(now);
        let cost = part.headers.len() + part.payload.len() + PART_OVERHEAD;
        while self.bytes + cost > WAITING_BYTES_MAX && !self.order.is_empty() {
            self.forget_first();
        }
        if !self.waiting.contains_key(&part.key) {
            self.begin(&part.key, now);
        }
        let Some(waiting) = self.waiting.get_mut(&part.key) else {
            return Taken::Bad(1);
        };
        let (before, dropped) = (waiting.bytes, waiting.add(&part, cost));
        self.bytes = self.bytes + waiting.bytes - before;
        if dropped > 0 {
            return Taken::Bad(dropped);
        }
        if !waiting.is_complete() {
            return Taken::Waits;
        }
        let headers = std::mem::take(&mut waiting.headers);
        let bytes = whole(headers, waiting.parts.values().map(Vec::as_slice));
        let parts = self.remove(&part.key);
        match bytes {
            Some(bytes) => Taken::Whole(Clear { bytes, ..packet }),
            None => Taken::Bad(parts),
        }
    }

    /// Gives up what waits too long. Returns when to come again, if something waits.
    pub fn expire(&mut self, now: Instant) -> Option<Instant> {
        loop {
            let (_, key) = self.order.first_key_value()?;
            let due = self.waiting.get(key)?.since + WAIT_MAX;
            if due > now {
                return Some(due);
            }
            self.forget_first();
        }
    }

    /// Returns how many fragments were given up since the last call: others were missing.
    pub fn missing(&mut self) -> usize {
        std::mem::take(&mut self.missing)
    }

    /// Returns how many packets have fragments here, and what these count.
    pub fn size(&self) -> (usize, usize) {
        (self.waiting.len(), self.bytes)
    }

    fn begin(&mut self, key: &Key, now: Instant) {
        while self.waiting.len() >= WAITING_MAX {
            self.forget_first();
        }
        let waiting = Waiting {
            number: self.next,
            since: now,
            headers: Vec::new(),
            parts: BTreeMap::new(),
            end: None,
            bytes: 0,
            is_spoiled: false,
        };
        self.waiting.insert(key.clone(), waiting);
        self.order.insert(self.next, key.clone());
        self.next += 1;
    }

    fn forget_first(&mut self) {
        if let Some((_, key)) = self.order.first_key_value() {
            let key = key.clone();
            self.missing += self.remove(&key);
        }
    }

    /// Returns how many fragments it had.
    fn remove(&mut self, key: &Key) -> usize {
        let Some(waiting) = self.waiting.remove(key) else {
            return 0;
        };
        self.order.remove(&waiting.number);
        self.bytes -= waiting.bytes;
        waiting.parts.len()
    }
}

impl Waiting {
    /// Adds a fragment. Returns how many are dropped.
    fn add(&mut self, part: &Part<'_>, cost: usize) -> usize {
        if self
            .parts
            .get(&part.start)
            .is_some_and(|known| known == part.payload)
        {
            return 1;
        }
        if self.is_spoiled || self.contradicts(part) {
            let dropped = 1 + self.parts.len();
            self.is_spoiled = true;
            (self.bytes, self.headers) = (0, Vec::new());
            self.parts.clear();
            return dropped;
        }
        if part.start == 0 {
            self.headers.clone_from(&part.headers);
        }
        if part.is_last {
            self.end = Some(part.end());
        }
        self.parts.insert(part.start, part.payload.to_vec());
        self.bytes += cost;
        0
    }

    fn contradicts(&self, part: &Part<'_>) -> bool {
        let before = self.parts.range(..=part.start).next_back();
        let overlaps_before = before.is_some_and(|(at, bytes)| at + bytes.len() > part.start);
        let after = self.parts.range(part.start..).next();
        let overlaps_after = after.is_some_and(|(at, _)| *at < part.end());
        let last = self.parts.last_key_value();
        let is_beyond = match (self.end, part.is_last) {
            (Some(end), false) => part.end() > end,
            (Some(_), true) => true,
            (None, true) => last.is_some_and(|(at, bytes)| at + bytes.len() > part.end()),
            (None, false) => false,
        };
        let is_full = self.parts.len() >= PARTS_MAX;
        overlaps_before || overlaps_after || is_beyond || is_full || !part.is_right()
    }

    /// Nothing overlaps, so the sum tells.
    fn is_complete(&self) -> bool {
        let held = self.parts.values().map(Vec::len).sum::<usize>();
        self.end == Some(held)
    }
}

impl<'a> Part<'a> {
    /// Reads a fragment. Returns `None` if it is none, or its headers are cut.
    fn of(packet: &'a Clear) -> Option<Self> {
        match packet.bytes.first()? >> 4 {
            4 => Self::of_v4(packet),
            6 => Self::of_v6(packet),
            _ => None,
        }
    }

    fn of_v4(packet: &'a Clear) -> Option<Self> {
        let bytes = packet.bytes.as_slice();
        let length = usize::from(bytes.first()? & 0x0f) * 4;
        let flags = u16_at(bytes, v4::FLAGS)?;
        if flags & (v4::MORE | v4::OFFSET) == 0 || length < v4::HEADER_MIN {
            return None;
        }
        let end = usize::from(u16_at(bytes, v4::LENGTH)?);
        let (header, payload) = bytes.get(..end)?.split_at_checked(length)?;
        let mut headers = header.to_vec();
        put_u16(&mut headers, v4::FLAGS, 0);
        Some(Self {
            key: Key {
                peer: packet.peer,
                protocol: Some(header[v4::PROTOCOL]),
                id: u16_at(header, v4::ID)?.into(),
                addresses: header[v4::ADDRESSES].to_vec(),
            },
            start: usize::from(flags & v4::OFFSET) * UNIT,
            is_last: flags & v4::MORE == 0,
            headers,
            payload,
        })
    }

    fn of_v6(packet: &'a Clear) -> Option<Self> {
        let bytes = packet.bytes.as_slice();
        let link = links(bytes).find(|link| link.kind == v6::FRAGMENT)?;
        let end = v6::HEADER + usize::from(u16_at(bytes, v6::LENGTH)?);
        let (headers, rest) = bytes.get(..end)?.split_at_checked(link.at)?;
        let (fragment, payload) = rest.split_first_chunk::<{ v6::FRAGMENT_BYTES }>()?;
        let [next, _, high, low, id @ ..] = *fragment;
        let place = u16::from_be_bytes([high, low]);
        let mut headers = headers.to_vec();
        headers[link.named_at] = next;
        Some(Self {
            key: Key {
                peer: packet.peer,
                protocol: None,
                id: u32::from_be_bytes(id),
                addresses: bytes[v6::ADDRESSES].to_vec(),
            },
            start: usize::from(place) & !(UNIT - 1),
            is_last: place & v6::MORE == 0,
            headers,
            payload,
        })
    }

    const fn end(&self) -> usize {
        self.start + self.payload.len()
    }

    /// Whether a fragment may look so.
    fn is_right(&self) -> bool {
        let is_even = self.is_last || self.payload.len().is_multiple_of(UNIT);
        is_even && !self.payload.is_empty() && self.headers.len() + self.end() <= DATAGRAM_MAX
    }
}

/// Returns the packet: the headers of its first fragment, and all payloads. `None` if it is too long.
fn whole<'a>(mut headers: Vec<u8>, parts: impl Iterator<Item = &'a [u8]>) -> Option<Vec<u8>> {
    let start = headers.len();
    parts.for_each(|part| headers.extend_from_slice(part));
    if headers.len() > DATAGRAM_MAX {
        return None;
    }
    let length = headers.len();
    match headers.first()? >> 4 {
        4 => {
            put_u16(&mut headers, v4::LENGTH, length);
            put_checksum(headers.get_mut(..start)?);
        }
        _ => put_u16(&mut headers, v6::LENGTH, length - v6::HEADER),
    }
    Some(headers)
}
