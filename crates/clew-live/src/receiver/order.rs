//! Packets that wait for their verdicts, and leave in the order of their arrival: each flow of each
//! outer source by itself, so that nobody else's packets hold it up.

use crate::histogram::Histogram;
use crate::packet::Delivery;
use crate::receiver::queue::Source;
use crate::receiver::standing::Class;
use clew_packet::{Flow, Ticket};
use clew_wire::Instant;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// Most packets that wait for verdicts or for their turn.
pub const HELD_MAX: usize = 1 << 14;
/// Most bytes that they have.
pub const HELD_BYTES_MAX: usize = 32 << 20;
/// How long a verified packet waits for earlier ones of its flow that are not.
pub const TURN_WAIT_MAX: Duration = Duration::from_millis(5);
/// How long a packet waits for its verdict. The rest of its block is lost, or comes too late.
pub const VERDICT_WAIT_MAX: Duration = Duration::from_secs(1);

/// Names a packet that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Token(u64);

/// A flow as one outer source brings it.
pub(crate) type FlowKey = (Source, Flow);

/// A packet without a verdict.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub line: FlowKey,
    pub class: Class,
    pub delivery: Delivery,
    /// Set if it waits for shares of its block.
    pub ticket: Option<Ticket>,
}

/// All packets that are held.
#[derive(Debug, Default)]
pub(crate) struct Order {
    held: BTreeMap<Token, Held>,
    lines: BTreeMap<FlowKey, FlowQueue>,
    /// When the first verified packet of a line has waited long enough.
    turns: BTreeSet<(Instant, FlowKey)>,
    /// Without a verdict, by class.
    open: [BTreeSet<Token>; 2],
    tickets: BTreeMap<Ticket, Token>,
    leaving: Vec<Delivery>,
    bytes: usize,
    next: u64,
    /// From arrival to departure, in microseconds.
    pub waits: Histogram,
    /// Packets that left behind later ones of their flow.
    pub late: u64,
}

/// The packets of a line.
#[derive(Debug, Default)]
struct FlowQueue {
    tokens: VecDeque<Token>,
    /// How many of them are verified.
    valid: usize,
    /// When the first of these has waited long enough, or earlier.
    turn: Option<Instant>,
}

#[derive(Debug)]
struct Held {
    arrived: Arrived,
    at: Instant,
    /// When it was verified.
    valid_at: Option<Instant>,
    /// Later ones of its line have left.
    is_overtaken: bool,
}

impl Order {
    /// Holds a packet. The caller makes room first, by [`Self::has_room`] and [`Self::oldest`].
    pub fn hold(&mut self, arrived: Arrived, now: Instant) -> Token {
        let token = Token(self.next);
        self.next += 1;
        self.bytes += arrived.delivery.bytes.len();
        let line = self.lines.entry(arrived.line).or_default();
        line.tokens.push_back(token);
        self.open[arrived.class as usize].insert(token);
        if let Some(ticket) = arrived.ticket {
            self.tickets.insert(ticket, token);
        }
        let held = Held {
            arrived,
            at: now,
            valid_at: None,
            is_overtaken: false,
        };
        self.held.insert(token, held);
        token
    }

    /// Returns whether a packet of so many bytes has room.
    pub fn has_room(&self, bytes: usize) -> bool {
        // Those that leave count until somebody takes them.
        self.held.len() + self.leaving.len() < HELD_MAX && self.bytes + bytes <= HELD_BYTES_MAX
    }

    /// Returns the packet that makes room for one of that class: of those without a verdict the one
    /// that came first, of an unknown source if there is one.
    pub fn oldest(&self, class: Class) -> Option<(Token, Option<Ticket>)> {
        let [known, unknown] = &self.open;
        let of_known = || known.first().filter(|_| class == Class::Known);
        let token = *unknown.first().or_else(of_known)?;
        Some((token, self.held.get(&token)?.arrived.ticket))
    }

    /// Returns a packet that has waited too long for its verdict.
    pub fn expired(&self, now: Instant) -> Option<(Token, Option<Ticket>)> {
        let first = self.open.iter().filter_map(|open| open.first()).min()?;
        let held = self.held.get(first)?;
        (now - held.at >= VERDICT_WAIT_MAX).then_some((*first, held.arrived.ticket))
    }

    /// Returns the packet that waits with that ticket.
    pub fn of_ticket(&self, ticket: Ticket) -> Option<Token> {
        self.tickets.get(&ticket).copied()
    }

    /// Returns the outer source of the packet that waits with that ticket.
    pub fn source_of(&self, ticket: Ticket) -> Option<Source> {
        let held = self.held.get(&self.of_ticket(ticket)?)?;
        Some(held.arrived.line.0)
    }

    /// Returns the packet's bytes, to be changed before it leaves.
    pub fn packet_mut(&mut self, token: Token) -> Option<&mut Delivery> {
        let held = self.held.get_mut(&token)?;
        Some(&mut held.arrived.delivery)
    }

    /// The packet is valid: it leaves when it is its turn.
    pub fn valid(&mut self, token: Token, now: Instant) {
        let Some(held) = self.held.get_mut(&token) else {
            return;
        };
        self.open[held.arrived.class as usize].remove(&token);
        let line = held.arrived.line;
        held.valid_at = Some(now);
        if held.is_overtaken {
            self.late += 1;
            self.leave(token, now);
        } else if let Some(waiting) = self.lines.get_mut(&line) {
            waiting.valid += 1;
            self.move_on(line, now);
        }
    }

    /// The packet is not valid: it is dropped. Returns its buffer.
    pub fn refuse(&mut self, token: Token, now: Instant) -> Option<Vec<u8>> {
        let held = self.remove(token)?;
        let line = held.arrived.line;
        if let Some(waiting) = self.lines.get_mut(&line)
            && let Ok(place) = waiting.tokens.binary_search(&token)
        {
            waiting.tokens.remove(place);
        }
        self.move_on(line, now);
        Some(held.arrived.delivery.bytes)
    }

    /// Appends the packets that leave now. Returns when to ask again.
    pub fn deliver(&mut self, now: Instant, out: &mut Vec<Delivery>) -> Option<Instant> {
        while let Some((at, line)) = self.turns.first().copied()
            && at <= now
        {
            self.overtake(line, now);
        }
        out.append(&mut self.leaving);
        let turn = self.turns.first().map(|(at, _)| *at);
        let first = self.open.iter().filter_map(|open| open.first()).min();
        let held = first.and_then(|token| self.held.get(token));
        let expiry = held.map(|held| held.at + VERDICT_WAIT_MAX);
        [turn, expiry].into_iter().flatten().min()
    }

    /// Returns how many packets are held, and their bytes.
    pub fn size(&self) -> (usize, usize) {
        (self.held.len(), self.bytes)
    }

    /// Lets go the packets at the head of a line that have their verdicts.
    fn move_on(&mut self, line: FlowKey, now: Instant) {
        let Some(mut waiting) = self.lines.remove(&line) else {
            return;
        };
        while let Some(first) = waiting.tokens.front().copied()
            && self.is_valid(first)
        {
            waiting.tokens.pop_front();
            waiting.valid -= 1;
            self.leave(first, now);
        }
        let turn = waiting.turn.unwrap_or(now + TURN_WAIT_MAX);
        self.set_turn(line, &mut waiting, turn);
        self.keep(line, waiting);
    }

    /// Lets go all verified packets of a line whose time has come, past those without a verdict.
    fn overtake(&mut self, line: FlowKey, now: Instant) {
        let Some(mut waiting) = self.lines.remove(&line) else {
            return;
        };
        let valid_at = |token: &Token| self.held.get(token).and_then(|held| held.valid_at);
        let is_due = |token: &Token| valid_at(token).is_some_and(|at| now - at >= TURN_WAIT_MAX);
        let due = { waiting.tokens.iter() }.rposition(is_due);
        for token in waiting.tokens.drain(..due.map_or(0, |due| due + 1)) {
            if self.is_valid(token) {
                waiting.valid -= 1;
                self.leave(token, now);
            } else if let Some(held) = self.held.get_mut(&token) {
                held.is_overtaken = true;
            }
        }
        let valid_at = |token: &Token| self.held.get(token).and_then(|held| held.valid_at);
        let first = waiting.tokens.iter().filter_map(valid_at).min();
        let turn = first.unwrap_or(now) + TURN_WAIT_MAX;
        self.set_turn(line, &mut waiting, turn);
        self.keep(line, waiting);
        self.move_on(line, now);
    }

    /// Remembers when a line's first verified packet has waited long enough.
    fn set_turn(&mut self, line: FlowKey, waiting: &mut FlowQueue, turn: Instant) {
        let turn = (waiting.valid > 0).then_some(turn);
        if waiting.turn != turn {
            waiting.turn.map(|old| self.turns.remove(&(old, line)));
            turn.map(|new| self.turns.insert((new, line)));
            waiting.turn = turn;
        }
    }

    fn keep(&mut self, line: FlowKey, waiting: FlowQueue) {
        if !waiting.tokens.is_empty() {
            self.lines.insert(line, waiting);
        }
    }

    fn is_valid(&self, token: Token) -> bool {
        self.held
            .get(&token)
            .is_some_and(|held| held.valid_at.is_some())
    }

    fn leave(&mut self, token: Token, now: Instant) {
        if let Some(held) = self.remove(token) {
            self.waits.count((now - held.at).as_micros() as u64);
            self.leaving.push(held.arrived.delivery);
        }
    }

    fn remove(&mut self, token: Token) -> Option<Held> {
        let held = self.held.remove(&token)?;
        self.open[held.arrived.class as usize].remove(&token);
        if let Some(ticket) = held.arrived.ticket {
            self.tickets.remove(&ticket);
        }
        self.bytes -= held.arrived.delivery.bytes.len();
        Some(held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PeerIndex;
    use rand_chacha::{ChaCha20Rng, rand_core::Rng, rand_core::SeedableRng};
    use std::net::{IpAddr, SocketAddr};

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1_000)
    }

    /// Packet `number` of a flow from an outer source.
    fn packet(flow: u16, source: &str, number: u8) -> Arrived {
        let from: SocketAddr = source.parse().unwrap();
        let address = IpAddr::from([10, 0, 0, 1]);
        let flow = Flow {
            source: address,
            destination: address,
            protocol: 17,
            source_port: Some(flow),
            destination_port: None,
            upper_start: None,
        };
        Arrived {
            line: (from.ip().into(), flow),
            class: Class::Unknown,
            delivery: Delivery {
                peer: PeerIndex(0),
                bytes: vec![number],
                from,
            },
            ticket: None,
        }
    }

    fn deliver(order: &mut Order, us: u64) -> (Vec<u8>, Option<Instant>) {
        let mut out = Vec::new();
        let next = order.deliver(at(us), &mut out);
        (out.iter().map(|d| d.bytes[0]).collect(), next)
    }

    const ONE: &str = "192.0.2.1:1";
    const OTHER: &str = "203.0.113.1:1";

    #[test]
    fn a_flow_leaves_in_order_and_flows_do_not_wait_for_each_other() {
        let mut order = Order::default();
        let first = order.hold(packet(1, ONE, 1), at(0));
        let second = order.hold(packet(1, ONE, 2), at(0));
        let other_flow = order.hold(packet(2, ONE, 3), at(0));
        let other_source = order.hold(packet(1, OTHER, 4), at(0));
        let third = order.hold(packet(1, ONE, 5), at(0));
        for token in [second, other_flow, other_source] {
            order.valid(token, at(100));
        }
        assert_eq!(deliver(&mut order, 100), (vec![3, 4], Some(at(5_100))));
        order.valid(first, at(200));
        assert_eq!(deliver(&mut order, 200).0, [1, 2]);
        assert_eq!(order.refuse(third, at(300)), Some(vec![5]));
        assert_eq!(deliver(&mut order, 300), (vec![], None));
        assert_eq!((order.size(), order.late), ((0, 0), 0));
        assert!(order.lines.is_empty() && order.turns.is_empty());
    }

    #[test]
    fn a_verified_packet_waits_5_ms_for_earlier_ones_which_follow() {
        let mut order = Order::default();
        let tokens = [1, 2, 3, 4].map(|number| order.hold(packet(1, ONE, number), at(0)));
        order.valid(tokens[1], at(1_000));
        order.valid(tokens[3], at(4_000));
        assert_eq!(deliver(&mut order, 5_999), (vec![], Some(at(6_000))));
        assert_eq!(deliver(&mut order, 6_000), (vec![2], Some(at(9_000))));
        order.valid(tokens[0], at(6_500));
        assert_eq!(deliver(&mut order, 6_500).0, [1], "late, at once");
        assert_eq!(deliver(&mut order, 9_000).0, [4]);
        order.valid(tokens[2], at(9_500));
        assert_eq!((deliver(&mut order, 9_500).0, order.late), (vec![3], 2));
        assert_eq!(order.size(), (0, 0));
    }

    /// Whatever is decided in whatever order, each packet leaves once, and within its time.
    #[test]
    fn everything_leaves_once_and_in_time() {
        let mut rng = ChaCha20Rng::seed_from_u64(6);
        let mut below = |end: u32| rng.next_u32() % end;
        let mut order = Order::default();
        let (mut open, mut valid, mut left) = (Vec::new(), 0, 0);
        for step in 0..5_000 {
            let us = step * 100;
            match below(3) {
                0 => {
                    let source = [ONE, OTHER][below(2) as usize];
                    let packet = packet(below(3) as u16, source, 0);
                    open.push(order.hold(packet, at(us)));
                }
                1 if !open.is_empty() => {
                    let token = open.swap_remove(below(open.len() as u32) as usize);
                    order.valid(token, at(us));
                    valid += 1;
                }
                2 if below(4) == 0 && !open.is_empty() => {
                    order.refuse(open.swap_remove(0), at(us));
                }
                _ => {}
            }
            left += deliver(&mut order, us).0.len();
            let late = |held: &Held| held.valid_at.is_some_and(|v| at(us) - v >= TURN_WAIT_MAX);
            assert!(
                !order.held.values().any(late),
                "nobody waits longer for its turn"
            );
            let tokens: usize = order.lines.values().map(|line| line.tokens.len()).sum();
            assert!(tokens <= order.held.len());
        }
        for token in open {
            order.refuse(token, at(500_000));
        }
        left += deliver(&mut order, 500_000).0.len();
        assert_eq!((left, order.size()), (valid, (0, 0)));
        assert!(order.lines.is_empty() && order.turns.is_empty() && order.late > 0);
    }

    #[test]
    fn what_gets_no_verdict_expires() {
        let mut order = Order::default();
        let token = order.hold(packet(1, ONE, 1), at(0));
        assert_eq!(deliver(&mut order, 0), (vec![], Some(at(1_000_000))));
        assert_eq!(order.expired(at(999_999)), None);
        assert_eq!(order.expired(at(1_000_000)), Some((token, None)));
        order.refuse(token, at(1_000_000));
        order.valid(token, at(1_000_001));
        assert_eq!(deliver(&mut order, 1_000_001), (vec![], None), "it is gone");
    }
}
