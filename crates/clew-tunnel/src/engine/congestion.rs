//! How many packets may be outstanding: RFC 5681, 6582 and 3042, by `spec/tunnel.md` section 7.4.

use super::seq::Seq;
use crate::limits::FLIGHT_MAX;

/// Duplicate acks that show a loss.
const DUPLICATES: u32 = 3;

/// The congestion window of one direction, in packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Congestion {
    initial: u32,
    window: u32,
    threshold: u32,
    /// Packets acknowledged since the window grew, in avoidance.
    acknowledged: u32,
    duplicates: u32,
    /// What was outstanding when a loss was found: until it is acknowledged, none is found anew.
    recover: Option<Seq>,
    /// Whether duplicate acks found that loss, and the window is larger by them.
    is_recovering: bool,
}

/// What an ack asks of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Advice {
    /// Nothing more.
    Go,
    /// Send the first outstanding packet again.
    Resend,
}

impl Congestion {
    /// The window of a sender whose packets have at most so many bytes.
    pub(super) const fn new(packet: usize) -> Self {
        let initial = if packet <= 1_095 { 4 } else { 3 };
        Self {
            initial,
            window: initial,
            threshold: FLIGHT_MAX as u32,
            acknowledged: 0,
            duplicates: 0,
            recover: None,
            is_recovering: false,
        }
    }

    /// How many packets may be outstanding now.
    pub(super) fn allowed(&self) -> usize {
        // Limited transmit: one more for each of the first two duplicates.
        let limited = if self.is_recovering {
            0
        } else {
            self.duplicates.min(DUPLICATES - 1)
        };
        ((self.window + limited) as usize).min(FLIGHT_MAX)
    }

    /// The window.
    pub(super) const fn window(&self) -> u32 {
        self.window
    }

    /// An ack of `packets` more, up to `ack`; `was_full`: the window was used.
    pub(super) fn acknowledge(&mut self, packets: u32, ack: Seq, was_full: bool) -> Advice {
        self.duplicates = 0;
        let past = self.recover.is_none_or(|recover| !ack.is_before(recover));
        if past {
            self.recover = None;
        }
        if self.is_recovering {
            if past {
                self.is_recovering = false;
                self.window = self.threshold;
                return Advice::Go;
            }
            // A partial ack: another loss of the same window.
            self.window = self.window.saturating_sub(packets).max(1) + 1;
            return Advice::Resend;
        }
        if was_full {
            self.grow(packets);
        }
        Advice::Go
    }

    fn grow(&mut self, packets: u32) {
        let most = FLIGHT_MAX as u32;
        if self.window < self.threshold {
            self.window = (self.window + packets).min(most);
            return;
        }
        self.acknowledged += packets;
        if self.acknowledged >= self.window {
            self.acknowledged -= self.window;
            self.window = (self.window + 1).min(most);
        }
    }

    /// A duplicate ack of `ack`, with `flight` packets outstanding, up to `last`.
    pub(super) fn duplicate(&mut self, flight: usize, last: Seq) -> Advice {
        self.duplicates = self.duplicates.saturating_add(1);
        if self.is_recovering {
            self.window = (self.window + 1).min(FLIGHT_MAX as u32);
            return Advice::Go;
        }
        if self.duplicates != DUPLICATES || self.recover.is_some() {
            return Advice::Go;
        }
        self.halve(flight);
        self.window = self.threshold + DUPLICATES;
        self.recover = Some(last);
        self.is_recovering = true;
        Advice::Resend
    }

    /// The timer ran out, with `flight` packets outstanding, up to `last`.
    pub(crate) fn run_out(&mut self, flight: usize, last: Seq) {
        self.halve(flight);
        self.window = 1;
        self.acknowledged = 0;
        self.duplicates = 0;
        self.recover = Some(last);
        self.is_recovering = false;
    }

    /// Nothing was sent for as long as the timer.
    pub(super) fn rest(&mut self) {
        self.window = self.window.min(self.initial);
    }

    fn halve(&mut self, flight: usize) {
        self.threshold = (flight as u32 / 2).max(2);
    }
}
