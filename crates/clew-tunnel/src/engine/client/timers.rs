//! What a client does by itself: `spec/tunnel.md` sections 7.3, 8 and 13.

use super::tunnel::{State, Tunnel};
use super::{Client, Shared, Target};
use crate::engine::channel::Now;
use crate::engine::event::Event;
use crate::limits::{CLIENT_IDLE, CONNECT_MAX, DEAD_AFTER, KEEPALIVE, SILENT_AFTER, SLEPT};
use crate::reason::Reason;
use clew_wire::Instant;
use core::time::Duration;

/// Timers in a row after which the server is taken for silent, but for [`SILENT_AFTER`].
const SILENT: u8 = 3;

/// What a tunnel's own time brought.
enum Due {
    Go,
    Rekey,
    /// Nobody uses it.
    Close,
}

impl Client {
    /// When [`Self::tick`] has something to do; none if nothing is under way.
    pub fn due(&self) -> Option<Instant> {
        self.agenda.next()
    }

    /// Does what is due.
    pub fn tick(&mut self, mut now: Now<'_>) {
        while let Some(index) = self.agenda.due(now.instant) {
            let Some(tunnel) = self.tunnels.at(index) else {
                return;
            };
            let has_slept = tunnel.due.is_some_and(|due| due + SLEPT <= now.instant);
            // It comes back to the agenda when it was looked at by `transmit`.
            self.agenda.move_to(index, &mut tunnel.due, None);
            let old = tunnel.old.take_if(|old| old.1 <= now.instant);
            if let Some(old) = old {
                self.tids.remove(&old.0.tid);
            }
            if has_slept {
                tunnel.wake(now.instant);
            }
            match tunnel.tick(&mut self.shared, now.instant) {
                Err(reason) => self.end(&mut now, index, Some(reason)),
                Ok(Due::Close) => self.end(&mut now, index, None),
                Ok(Due::Rekey) => self.rekey(&mut now, index, false),
                Ok(Due::Go) => {}
            }
            self.touch(index);
        }
    }
}

impl Tunnel {
    /// Nothing of the client ran for a while: what it did not hear meanwhile says nothing of the server.
    fn wake(&mut self, now: Instant) {
        self.heard = now;
        self.rekey_at = self.rekey_at.min(now);
    }

    fn tick(&mut self, shared: &mut Shared, now: Instant) -> Result<Due, Reason> {
        if self.closes_at().is_some_and(|at| at <= now) {
            return Ok(Due::Close);
        }
        self.tick_attempt(now)?;
        if matches!(self.state, State::First(_)) {
            return Ok(Due::Go);
        }
        if self.dies_at().is_some_and(|at| at <= now) {
            return Err(Reason::NoAnswer);
        }
        let has_waited = |since| since + SILENT_AFTER <= now;
        let is_silent = self.run_out(now) && self.waiting_since().is_some_and(has_waited);
        if is_silent && !self.is_silent {
            self.is_silent = true;
            let silent = Event::Silent(self.channel.id);
            shared.common.events.push_back(silent);
        }
        let is_due = is_silent || self.rekey_at <= now || !self.keep_alive(now);
        let may_rekey = matches!(self.state, State::Open);
        Ok(if may_rekey && is_due {
            Due::Rekey
        } else {
            Due::Go
        })
    }

    /// Lets the timer run out, if it is time. Whether it has [`SILENT`] times, or that of a rekey.
    fn run_out(&mut self, now: Instant) -> bool {
        let sending = &mut self.channel.sending;
        let is_over = sending.expiry().is_some_and(|at| at <= now);
        let is_silent = is_over && sending.run_out(now) >= SILENT;
        let State::Rekey(rekeying) = &self.state else {
            return is_silent;
        };
        let sends = &rekeying.sends;
        is_silent || (sends.from_here >= SILENT.into() && sends.next_due() <= now)
    }

    /// Since when something is unanswered, and nothing was heard. None: all is answered.
    fn waiting_since(&self) -> Option<Instant> {
        let rekey = match &self.state {
            State::Rekey(rekeying) => Some(rekeying.sends.began()),
            _ => None,
        };
        let outstanding = self.channel.sending.waiting_since();
        let first = rekey.into_iter().chain(outstanding).min();
        first.map(|since| since.max(self.heard))
    }

    /// When the server is given up: sooner if it seems to have begun anew, without this tunnel.
    fn dies_at(&self) -> Option<Instant> {
        let silent = self.waiting_since().map(|since| since + DEAD_AFTER);
        let State::Rekey(rekeying) = &self.state else {
            return silent;
        };
        let stale = rekeying.stale.map(|at| at.max(self.heard) + CONNECT_MAX);
        silent.into_iter().chain(stale).min()
    }

    /// When a tunnel that nobody uses is closed. That under a boxing key is for one answer, which may be asked
    /// for when it is open already.
    fn closes_at(&self) -> Option<Instant> {
        let is_over = matches!(
            (&self.target, &self.state),
            (Target::Directory { .. }, State::Open)
        );
        let rest = if is_over && self.was_wanted {
            Duration::ZERO
        } else {
            CLIENT_IDLE
        };
        self.idle_since.map(|since| since + rest)
    }

    /// When a client that waits for the server to speak says that it is there.
    fn speaks_at(&self) -> Option<Instant> {
        let is_open = matches!(self.state, State::Open) && self.waiting_since().is_none();
        let is_waiting = is_open && self.idle_since.is_none();
        is_waiting.then(|| self.heard + KEEPALIVE)
    }

    /// Asks the server, if it is time, for the ack of something it knows. False if there is no such thing.
    fn keep_alive(&mut self, now: Instant) -> bool {
        if self.speaks_at().is_none_or(|at| at > now) {
            return true;
        }
        let window = self.channel.connections.window();
        if let Some(rpc) = &window {
            self.channel.control(rpc);
        }
        window.is_some()
    }

    /// The earliest instant at which something happens by itself.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        let old = self.old.as_ref().map(|old| old.1);
        let closes = [old, self.closes_at()].into_iter().flatten().min();
        let state = match &self.state {
            State::First(attempt) => {
                return closes.into_iter().chain(attempt.next_due()).min();
            }
            State::Rekey(rekeying) => rekeying.sends.next_due(),
            State::Open => self.rekey_at,
        };
        let others = [
            closes,
            self.dies_at(),
            self.speaks_at(),
            self.channel.sending.expiry(),
            self.channel.receiving.due(),
        ];
        others.into_iter().flatten().chain([state]).min()
    }
}
