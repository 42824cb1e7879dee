//! Packets whose block's signature has not come yet.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use crate::wire::KeyId;
use clew_tree::{Claim, Digest};

/// Packets that wait, at most: the oldest is given up first.
pub const WAITING_MAX: usize = 4096;

/// Where a block is: flow, tag, place in the sequence.
pub(crate) type Place = (KeyId, [u8; 4], u32);

/// What is kept of a packet that waits.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    /// The caller's name for it.
    pub ticket: u64,
    /// The block's root if the packet is of it, and its id.
    pub root: Digest,
    pub index: u16,
    pub leaf: Digest,
    pub path: Vec<u8>,
}

impl Waiting {
    pub fn claim(&self) -> Claim<'_> {
        Claim {
            index: self.index,
            leaf: self.leaf,
            path: &self.path,
        }
    }
}

/// All packets that wait.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    places: BTreeMap<Place, VecDeque<Waiting>>,
    /// In the order of their arrival; of a place that is gone there may be some left.
    order: VecDeque<(Place, u64)>,
}

impl Queue {
    /// Takes a packet in; the ticket of the one that is given up for it.
    pub fn push(&mut self, place: Place, packet: Waiting) -> Option<u64> {
        self.order.push_back((place, packet.ticket));
        self.places.entry(place).or_default().push_back(packet);
        if self.order.len() <= WAITING_MAX {
            return None;
        }
        let (oldest, ticket) = self.order.pop_front()?;
        let packets = self.places.get_mut(&oldest)?;
        let is_first = packets
            .front()
            .is_some_and(|packet| packet.ticket == ticket);
        let first = is_first.then(|| packets.pop_front()).flatten();
        if packets.is_empty() {
            self.places.remove(&oldest);
        }
        first.map(|packet| packet.ticket)
    }

    /// Returns the packets of a block, which wait no more.
    pub fn take(&mut self, place: &Place) -> VecDeque<Waiting> {
        self.places.remove(place).unwrap_or_default()
    }
}
