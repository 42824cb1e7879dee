//! Packets that wait for their block, by flow.

use super::flight::Flight;
use super::options::{Cover, OutboundOptions};
use crate::identity::KeyName;
use crate::packet::PeerIndex;
use clew_packet::{Flow, Window};
use clew_tree::LruMap;
use clew_wire::Instant;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Most flows that are remembered. The one that sent least recently is forgotten first, and starts
/// anew.
pub const FLOWS_MAX: usize = 1 << 14;

/// What a packet in the queue counts besides its bytes.
pub const PACKET_OVERHEAD: usize = 256;

/// A flow to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FlowId {
    pub peer: PeerIndex,
    pub flow: Flow,
}

/// A packet that waits.
#[derive(Debug)]
pub(super) struct Queued {
    pub bytes: Vec<u8>,
    pub at: Instant,
}

/// What is remembered of a flow.
#[derive(Debug, Default)]
pub(super) struct Memory {
    last_block: Option<Instant>,
    /// Mode `window`: of which key, and what it has seen.
    window: Option<(KeyName, Window)>,
    flight: Flight,
}

/// All flows.
#[derive(Debug)]
pub(super) struct Flows {
    waiting: BTreeMap<FlowId, Waiting>,
    due: BTreeSet<(Instant, u64, FlowId)>,
    memory: LruMap<FlowId, Memory>,
    bytes: usize,
    packets: usize,
    next: u64,
    /// Precursors are scarce: small packets wait for each other in any case.
    pub is_scarce: bool,
}

#[derive(Debug)]
struct Waiting {
    packets: VecDeque<Queued>,
    due: Instant,
    /// Flows leave in the order of their first packets.
    number: u64,
}

impl Flows {
    /// Returns an empty table.
    pub fn new() -> Self {
        Self {
            waiting: BTreeMap::new(),
            due: BTreeSet::new(),
            memory: LruMap::new(),
            bytes: 0,
            packets: 0,
            next: 0,
            is_scarce: false,
        }
    }

    /// Adds a packet behind those of its flow.
    pub fn push(&mut self, id: FlowId, packet: Queued, options: &OutboundOptions) {
        let due = self.due(&id, &packet, options);
        self.bytes += packet.bytes.len() + PACKET_OVERHEAD;
        self.packets += 1;
        let Some(waiting) = self.waiting.get_mut(&id) else {
            let number = self.next;
            self.next += 1;
            self.due.insert((due, number, id));
            let packets = VecDeque::from([packet]);
            let waiting = Waiting {
                packets,
                due,
                number,
            };
            self.waiting.insert(id, waiting);
            return;
        };
        let at = packet.at;
        waiting.packets.push_back(packet);
        let is_full = waiting.packets.len() >= most(options.cover);
        let due = if is_full { at } else { due.min(waiting.due) };
        if due < waiting.due {
            self.due.remove(&(waiting.due, waiting.number, id));
            self.due.insert((due, waiting.number, id));
            waiting.due = due;
        }
    }

    /// Takes the packets of the next block, if one is due.
    pub fn pop_due(
        &mut self,
        now: Instant,
        options: &OutboundOptions,
    ) -> Option<(FlowId, Vec<Queued>)> {
        let (due, number, id) = *self.due.first().filter(|(due, _, _)| *due <= now)?;
        let waiting = self.waiting.get_mut(&id)?;
        let count = waiting.packets.len().min(most(options.cover));
        let packets: Vec<Queued> = waiting.packets.drain(..count).collect();
        if waiting.packets.is_empty() {
            self.due.remove(&(due, number, id));
            self.waiting.remove(&id);
        }
        let bytes: usize = packets
            .iter()
            .map(|p| p.bytes.len() + PACKET_OVERHEAD)
            .sum();
        self.bytes -= bytes;
        self.packets -= packets.len();
        let memory = self.memory.entry(id, Memory::default);
        memory.last_block = Some(now);
        if self.memory.count() > FLOWS_MAX {
            self.memory.pop_oldest();
        }
        Some((id, packets))
    }

    /// Returns when the next block is due.
    pub fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(due, _, _)| *due)
    }

    /// Returns how many bytes wait, with what each packet counts besides.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns how many packets wait.
    pub const fn packets(&self) -> usize {
        self.packets
    }

    /// Returns the window of a flow, of up to `k` packets: a new one if the key is another.
    pub fn window(&mut self, id: FlowId, key: &KeyName, k: u16) -> &mut Window {
        let memory = self.memory.entry(id, Memory::default);
        memory.window.take_if(|(name, _)| name != key);
        let new = || (*key, Window::new(k));
        let window = &mut memory.window.get_or_insert_with(new).1;
        window.resize(k);
        window
    }

    /// Takes note of what a packet of a flow brings in flight.
    pub fn sends(&mut self, id: FlowId, packet: &[u8]) {
        self.memory.entry(id, Memory::default).flight.sends(packet);
        if self.memory.count() > FLOWS_MAX {
            self.memory.pop_oldest();
        }
    }

    /// Takes note of what a flow has no longer in flight.
    pub fn hear(&mut self, id: &FlowId, acknowledged: u32) {
        if let Some(memory) = self.memory.get_mut(id) {
            memory.flight.hears(acknowledged);
        }
    }

    /// Returns how many packets of a flow are in flight.
    pub fn in_flight(&self, id: &FlowId) -> u16 {
        let memory = self.memory.get(id);
        memory.map_or(0, |memory| memory.flight.packets())
    }

    /// Returns when the block of a packet is due by this packet alone.
    fn due(&self, id: &FlowId, packet: &Queued, options: &OutboundOptions) -> Instant {
        let last = self.memory.get(id).and_then(|memory| memory.last_block);
        let is_recent = last.is_some_and(|last| packet.at - last < options.small_wait);
        let is_small = packet.bytes.len() < options.small_bytes;
        let waits = is_small && (is_recent || self.is_scarce);
        match (options.cover, waits) {
            (Cover::Tree(_), true) => packet.at + options.small_wait,
            _ => packet.at,
        }
    }
}

/// Most packets that are signed at once.
fn most(cover: Cover) -> usize {
    match cover {
        Cover::Tree(most) => usize::from(most.clamp(1, clew_tree::PACKETS_MAX)),
        Cover::Each | Cover::Window(_) => 64,
    }
}
