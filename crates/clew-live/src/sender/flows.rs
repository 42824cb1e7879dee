//! Packets that wait for their block, by flow.

use super::flight::Flight;
use super::options::{Cover, OutboundOptions};
use crate::identity::KeyName;
use crate::packet::PeerIndex;
use clew_packet::{Flow, Window};
use clew_tree::LruMap;
use clew_wire::Instant;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

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

/// Flows that have sent a block get as many blocks for one of a flow that has sent none, if both are due:
/// who opens many flows does not keep others waiting.
const KNOWN_BLOCKS: u32 = 3;

/// All flows.
#[derive(Debug)]
pub(super) struct Flows {
    waiting: BTreeMap<FlowId, Waiting>,
    /// Of flows that have sent a block, and of new ones.
    due: [BTreeSet<(Instant, u64, FlowId)>; 2],
    /// Blocks of known flows since one of a new one.
    known_blocks: u32,
    memory: LruMap<FlowId, Memory>,
    bytes: usize,
    packets: usize,
    next: u64,
    /// Precursors are scarce: small packets wait for each other in any case.
    pub is_scarce: bool,
    /// The least time between two blocks of a flow that are not full.
    pub block_wait: Duration,
    active: Active,
}

/// Over how long flows that send are counted.
const ACTIVE: Duration = Duration::from_millis(100);

/// How many flows sent a block in this span of time, and in the one before.
#[derive(Debug, Default)]
struct Active {
    since: Instant,
    flows: u32,
    before: u32,
}

impl Active {
    /// Begins a new span if this one is over.
    fn see(&mut self, now: Instant) {
        let elapsed = now - self.since;
        if elapsed >= ACTIVE {
            let is_next = elapsed < 2 * ACTIVE;
            self.before = if is_next { self.flows } else { 0 };
            (self.flows, self.since) = (0, now);
        }
    }
}

#[derive(Debug)]
struct Waiting {
    packets: VecDeque<Queued>,
    /// The place of its line: 0 if the flow has sent a block.
    line: usize,
    due: Instant,
    /// Flows leave in the order of their first packets.
    number: u64,
}

impl Flows {
    /// Returns an empty table.
    pub fn new() -> Self {
        Self {
            waiting: BTreeMap::new(),
            due: Default::default(),
            known_blocks: 0,
            memory: LruMap::new(),
            bytes: 0,
            packets: 0,
            next: 0,
            is_scarce: false,
            block_wait: Duration::ZERO,
            active: Active::default(),
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
            let is_new = self.last_block(&id).is_none();
            let line = usize::from(is_new);
            self.due[line].insert((due, number, id));
            let packets = VecDeque::from([packet]);
            let waiting = Waiting {
                packets,
                line,
                due,
                number,
            };
            self.waiting.insert(id, waiting);
            return;
        };
        let at = packet.at;
        waiting.packets.push_back(packet);
        let is_full = block_max(options.cover).is_some_and(|most| waiting.packets.len() >= most);
        let due = if is_full { at } else { due.min(waiting.due) };
        waiting.move_to(due, id, &mut self.due);
    }

    /// Takes the packets of the next block, if one is due. Packets that have a signature each leave in groups
    /// of at most `signatures`, and other flows have their turn between two groups.
    pub fn pop_due(
        &mut self,
        now: Instant,
        options: &OutboundOptions,
        signatures: usize,
    ) -> Option<(FlowId, Vec<Queued>)> {
        let (due, number, id) = self.first_due(now)?;
        let waiting = self.waiting.get_mut(&id)?;
        let block = block_max(options.cover);
        let most = block.unwrap_or(signatures);
        let count = waiting.packets.len().min(most);
        let packets: Vec<Queued> = waiting.packets.drain(..count).collect();
        if waiting.packets.is_empty() {
            self.due[waiting.line].remove(&(due, number, id));
            self.waiting.remove(&id);
        } else if block.is_none() {
            // Behind all others that are due.
            self.due[waiting.line].remove(&(due, number, id));
            (waiting.due, waiting.number) = (now, self.next);
            self.next += 1;
            self.due[waiting.line].insert((now, waiting.number, id));
        } else if waiting.packets.len() < most {
            // What is left of a full block begins the next one.
            waiting.move_to(due.max(now + self.block_wait), id, &mut self.due);
        }
        let bytes: usize = packets
            .iter()
            .map(|p| p.bytes.len() + PACKET_OVERHEAD)
            .sum();
        self.bytes -= bytes;
        self.packets -= packets.len();
        self.active.see(now);
        let memory = self.memory.entry(id, Memory::default);
        let before = memory.last_block.replace(now);
        self.active.flows += u32::from(before.is_none_or(|last| last < self.active.since));
        if self.memory.count() > FLOWS_MAX {
            self.memory.pop_oldest();
        }
        Some((id, packets))
    }

    /// Returns when the next block is due.
    pub fn next_due(&self) -> Option<Instant> {
        let firsts = self.due.iter().filter_map(BTreeSet::first);
        firsts.map(|(due, _, _)| *due).min()
    }

    /// Returns how many bytes wait, with what each packet counts besides.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns how many flows sent a block lately.
    pub fn active(&mut self, now: Instant) -> u32 {
        self.active.see(now);
        self.active.flows.max(self.active.before)
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

    /// Returns what leaves next. If both lines have something, most of it is of known flows.
    fn first_due(&mut self, now: Instant) -> Option<(Instant, u64, FlowId)> {
        let is_due = |entry: &&(Instant, u64, FlowId)| entry.0 <= now;
        let [known, new] = [0, 1].map(|line: usize| self.due[line].first().filter(is_due));
        match (known, new) {
            (Some(first), Some(_)) if self.known_blocks < KNOWN_BLOCKS => {
                self.known_blocks += 1;
                Some(*first)
            }
            (_, Some(first)) => {
                self.known_blocks = 0;
                Some(*first)
            }
            (first, None) => first.copied(),
        }
    }

    fn last_block(&self, id: &FlowId) -> Option<Instant> {
        self.memory.get(id).and_then(|memory| memory.last_block)
    }

    /// Returns when the block of a packet is due by this packet alone.
    fn due(&self, id: &FlowId, packet: &Queued, options: &OutboundOptions) -> Instant {
        let Cover::Tree(_) = options.cover else {
            return packet.at;
        };
        let last = self.last_block(id);
        let is_recent = last.is_some_and(|last| packet.at - last < options.small_wait);
        let is_small = packet.bytes.len() < options.small_bytes;
        let waits = is_small && (is_recent || self.is_scarce);
        let due = match waits {
            true => packet.at + options.small_wait,
            false => packet.at,
        };
        last.map_or(due, |last| due.max(last + self.block_wait))
    }
}

impl Waiting {
    /// Changes when the flow is due.
    fn move_to(
        &mut self,
        due: Instant,
        id: FlowId,
        lines: &mut [BTreeSet<(Instant, u64, FlowId)>; 2],
    ) {
        if due != self.due {
            lines[self.line].remove(&(self.due, self.number, id));
            lines[self.line].insert((due, self.number, id));
            self.due = due;
        }
    }
}

/// Returns the most packets of a block. Returns `None` if each packet has a signature.
fn block_max(cover: Cover) -> Option<usize> {
    match cover {
        Cover::Tree(most) => Some(usize::from(most.clamp(1, clew_tree::PACKETS_MAX))),
        Cover::Each | Cover::Window(_) => None,
    }
}
