//! A bad line, and somebody on it who wants to do harm.

use clew_flow::{Carriage, FIXED_BYTES, Fixed};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::collections::VecDeque;

/// What the line does to packets, in percent.
const LOSS: u32 = 5;
const DUPLICATION: u32 = 3;
const DELAY: u32 = 10;
const ALTERATION: u32 = 2;

/// Bogus packets for each honest one, in percent.
const BOGUS: u32 = 60;

/// How far back replayed packets are remembered.
const REMEMBERED: usize = 5000;

pub struct Line {
    rng: ChaCha8Rng,
    /// Packets that come later than others.
    delayed: VecDeque<Vec<u8>>,
    seen: VecDeque<Vec<u8>>,
    /// Honest packets that went on.
    pub honest: u64,
    /// Packets that are none: altered, forged, polluted.
    pub bogus: u64,
    /// Honest packets once more.
    pub again: u64,
    /// Content of the honest ones.
    pub contents: Vec<Vec<u8>>,
}

impl Line {
    pub fn new(seed: u64) -> Self {
        Self {
            rng: ChaCha8Rng::seed_from_u64(seed),
            delayed: VecDeque::new(),
            seen: VecDeque::new(),
            honest: 0,
            bogus: 0,
            again: 0,
            contents: Vec::new(),
        }
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.rng.next_u32() % 100 < percent
    }

    fn below(&mut self, end: usize) -> usize {
        self.rng.next_u32() as usize % end
    }

    /// What comes out of the line when a packet goes in.
    pub fn take(&mut self, packet: Vec<u8>) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        if self.chance(BOGUS) {
            out.push(self.forge(&packet));
        }
        if self.chance(LOSS) {
            return out;
        }
        if self.chance(ALTERATION) {
            out.push(self.alter(&packet));
            return out;
        }
        if self.chance(DELAY) {
            self.delayed.push_back(packet);
        } else {
            self.pass(packet, &mut out);
        }
        while self.delayed.len() > 20 || !self.delayed.is_empty() && self.chance(10) {
            let late = self.delayed.pop_front().unwrap();
            self.pass(late, &mut out);
        }
        if self.chance(DUPLICATION) && !self.seen.is_empty() {
            let place = self.below(self.seen.len());
            self.again += 1;
            out.push(self.seen[place].clone());
        }
        out
    }

    /// What is still on the way.
    pub fn end(&mut self) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        while let Some(late) = self.delayed.pop_front() {
            self.pass(late, &mut out);
        }
        out
    }

    fn pass(&mut self, packet: Vec<u8>, out: &mut Vec<Vec<u8>>) {
        let fixed = Fixed::of(&packet).unwrap();
        let content = packet.len() - usize::from(fixed.length);
        self.contents.push(packet[..content].to_vec());
        self.honest += 1;
        self.seen.push_back(packet.clone());
        if self.seen.len() > REMEMBERED {
            self.seen.pop_front();
        }
        out.push(packet);
    }

    /// The packet with one bit changed, anywhere.
    fn alter(&mut self, packet: &[u8]) -> Vec<u8> {
        let mut altered = packet.to_vec();
        let (at, bit) = (self.below(packet.len()), self.below(8));
        altered[at] ^= 1 << bit;
        self.bogus += 1;
        altered
    }

    /// A packet of the attacker's, made of an honest one.
    fn forge(&mut self, packet: &[u8]) -> Vec<u8> {
        let fixed = Fixed::of(packet).unwrap();
        let begin = packet.len() - usize::from(fixed.length);
        let end = packet.len() - FIXED_BYTES;
        let mut forged = packet.to_vec();
        let range = match self.below(5) {
            // Other content, in its place and in a block of its own.
            0 => 0..begin,
            1 => end..end + 16,
            // Another block of the sequence, ahead of the signer.
            2 => end + 20..end + 24,
            // What it carries of the signature: a share of its own that spoils the others'.
            3 if fixed.carriage() != Some(Carriage::Sparse) => end - 1..end,
            _ => begin..end,
        };
        let old = forged[range.clone()].to_vec();
        while forged[range.clone()] == old[..] {
            self.rng.fill_bytes(&mut forged[range.clone()]);
        }
        self.bogus += 1;
        forged
    }
}
