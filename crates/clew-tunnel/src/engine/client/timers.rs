//! What a client does by itself: `spec/tunnel.md` sections 7.3, 8 and 13.

use super::state::State;
use super::tunnel::{Tunnel, Use};
use super::{Client, Shared, Target};
use crate::engine::channel::Now;
use crate::engine::event::Event;
use crate::limits::{
    CLIENT_IDLE, DEAD_AFTER, KEEPALIVE, PROBE_AFTER, SILENT_AFTER, SLEPT, STALE_WAIT,
};
use crate::reason::Reason;
use clew_wire::Instant;

/// Timers in a row after which the server is taken for silent, but for [`SILENT_AFTER`].
const SILENT: u32 = 3;

/// Timers in a row after which it may have begun anew, but for [`PROBE_AFTER`].
const SUSPECT: u32 = 2;

impl Client {
    /// When [`Self::tick`] has something to do; none if nothing is under way.
    pub fn due(&self) -> Option<Instant> {
        self.agenda.next()
    }

    /// Does what is due.
    pub fn tick(&mut self, mut now: Now<'_>) {
        let instant = now.instant;
        while let Some((index, due)) = self.next_due(instant) {
            let has_slept = due + SLEPT <= instant;
            let mut is_over = false;
            self.change(instant, index, |tunnel, shared| {
                if has_slept {
                    tunnel.wake(instant);
                }
                is_over = tunnel.tick(shared, &mut now)?;
                Ok(())
            });
            if is_over {
                self.end(instant, index, None);
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

    /// Does what is due. Whether nobody uses the tunnel any more.
    fn tick(&mut self, shared: &mut Shared, time: &mut Now<'_>) -> Result<bool, Reason> {
        let now = time.instant;
        if let Some(keyed) = self.state.keyed_mut() {
            keyed.keys.drain(now);
        }
        if self.closes_at().is_some_and(|at| at <= now) {
            return Ok(true);
        }
        if matches!(self.state, State::First(_)) {
            self.tick_attempt(now)?;
            return Ok(false);
        }
        if self.dies_at().is_some_and(|at| at <= now) {
            return Err(Reason::NoAnswer);
        }
        let ran_out = self.run_out(now);
        let is_unheard = |times, least| {
            let has_waited = |since| since + least <= now;
            ran_out >= times && self.waiting_since().is_some_and(has_waited)
        };
        let is_suspect = is_unheard(SUSPECT, PROBE_AFTER);
        let is_silent = is_unheard(SILENT, SILENT_AFTER);
        if is_silent && !self.is_silent {
            self.is_silent = true;
            let silent = Event::Silent(self.channel.id);
            shared.common.events.push_back(silent);
        }
        let is_due = is_suspect || self.rekey_at <= now || !self.keep_alive(now);
        if is_due && matches!(self.state, State::Open(_)) {
            self.rekey(time, false)?;
        }
        Ok(false)
    }

    /// Lets the timer run out, if it is time. How often it has now, or that of a rekey; 0 if neither did.
    fn run_out(&mut self, now: Instant) -> u32 {
        let sending = &mut self.channel.sending;
        let is_over = sending.expiry().is_some_and(|at| at <= now);
        let ran_out = if is_over { sending.run_out(now) } else { 0 };
        match &self.state {
            State::Rekey(_, rekeying) if rekeying.sends.next_due() <= now => {
                rekeying.sends.from_here.max(ran_out.into())
            }
            _ => ran_out.into(),
        }
    }

    /// Since when something is unanswered, and nothing was heard. None: all is answered.
    fn waiting_since(&self) -> Option<Instant> {
        let rekey = match &self.state {
            State::Rekey(_, rekeying) => Some(rekeying.sends.began()),
            _ => None,
        };
        let outstanding = self.channel.sending.waiting_since();
        let first = rekey.into_iter().chain(outstanding).min();
        first.map(|since| since.max(self.heard))
    }

    /// When the server is given up: sooner if it seems to have begun anew, without this tunnel.
    pub(super) fn dies_at(&self) -> Option<Instant> {
        let silent = self.waiting_since().map(|since| since + DEAD_AFTER);
        let State::Rekey(_, rekeying) = &self.state else {
            return silent;
        };
        let stale = rekeying.stale.map(|at| at.max(self.heard) + STALE_WAIT);
        silent.into_iter().chain(stale).min()
    }

    /// When a tunnel that nobody uses is closed. That under a boxing key is for one answer, which may be asked
    /// for when it is open already.
    pub(super) fn closes_at(&self) -> Option<Instant> {
        let is_answered = matches!(
            (&self.target, &self.state),
            (Target::Directory { .. }, State::Open(_))
        );
        match self.usage {
            Use::Used => None,
            Use::Idle(since) if is_answered => Some(since),
            Use::Idle(since) | Use::Unwanted(since) => Some(since + CLIENT_IDLE),
        }
    }

    /// When a client that waits for the server to speak says that it is there.
    pub(super) fn speaks_at(&self) -> Option<Instant> {
        let is_open = matches!(self.state, State::Open(_)) && self.waiting_since().is_none();
        let is_waiting = is_open && self.usage == Use::Used;
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
}
