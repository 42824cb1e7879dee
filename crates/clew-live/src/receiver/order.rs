//! Packets that wait for their verdicts, and leave in the order of their arrival: each flow of each
//! outer source by itself, so that nobody else's packets hold it up.

use crate::histogram::Histogram;
use crate::packet::Delivery;
use crate::receiver::queue::SourcePrefix;
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
pub(crate) type Line = (SourcePrefix, Flow);

/// A packet without a verdict.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub line: Line,
    pub class: Class,
    pub delivery: Delivery,
    /// Set if it waits for shares of its block.
    pub ticket: Option<Ticket>,
}

/// All packets that are held.
#[derive(Debug, Default)]
pub(crate) struct Order {
    held: BTreeMap<Token, Held>,
    lines: BTreeMap<Line, Waiting>,
    /// When the first verified packet of a line has waited long enough.
    turns: BTreeSet<(Instant, Line)>,
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
struct Waiting {
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
        self.held.len() < HELD_MAX && self.bytes + bytes <= HELD_BYTES_MAX
    }

    /// Returns the packet without a verdict that came first, of an unknown source if there is one.
    pub fn oldest(&self) -> Option<(Token, Option<Ticket>)> {
        let [known, unknown] = &self.open;
        let token = *unknown.first().or_else(|| known.first())?;
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
    fn move_on(&mut self, line: Line, now: Instant) {
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
    fn overtake(&mut self, line: Line, now: Instant) {
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
    fn set_turn(&mut self, line: Line, waiting: &mut Waiting, turn: Instant) {
        let turn = (waiting.valid > 0).then_some(turn);
        if waiting.turn != turn {
            waiting.turn.map(|old| self.turns.remove(&(old, line)));
            turn.map(|new| self.turns.insert((new, line)));
            waiting.turn = turn;
        }
    }

    fn keep(&mut self, line: Line, waiting: Waiting) {
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
