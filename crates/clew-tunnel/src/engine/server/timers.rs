//! What a server does by itself: `spec/tunnel.md` sections 8, 9, 10.3 and 13.

use alloc::boxed::Box;
use clew_wire::Instant;

use super::state::{Rekey, State};
use super::tunnel::Tunnel;
use super::{Server, Shared};
use crate::engine::channel::Now;
use crate::engine::event::{Event, TunnelId};
use crate::limits::{AUTH_WAIT, DEAD_AFTER};
use crate::reason::Reason;
use crate::wire::rpc::Rpc;

/// Silent tunnels that are looked at in one call.
const SILENT_AT_ONCE: usize = 64;

impl Server {
    /// When [`Self::tick`] has something to do; at once, or even before now, if it has already.
    pub fn due(&self, now: &Now<'_>) -> Instant {
        let until_keys = self.shared.keys.due() - now.wall;
        let mut due = now.instant + until_keys;
        if let Some(next) = self.agenda.next() {
            due = due.min(next);
        }
        if self.is_half_full()
            && let Some((_, heard)) = self.shared.silent.front()
        {
            due = due.min(*heard + self.shared.config.limits.probe_idle);
        }
        due
    }

    /// Does what is due.
    pub fn tick(&mut self, mut now: Now<'_>) {
        self.shared.wall = self.shared.wall.max(now.wall);
        if now.wall >= self.shared.keys.due() {
            self.shared.keys.rotate(&self.shared.config, now.wall);
            let record = Event::Record(Box::new(self.shared.keys.record()));
            self.shared.common.events.push_back(record);
        }
        let instant = now.instant;
        while let Some((index, _)) = self.next_due(instant) {
            self.change(instant, index, |tunnel, shared| {
                tunnel.tick(shared, &mut now)
            });
            self.touch(index);
        }
        self.forget_silent();
        if self.is_half_full() {
            self.probe_silent(&mut now);
        }
    }

    /// A new tunnel was heard.
    pub(super) fn note_silent(&mut self, id: TunnelId, now: Instant) {
        self.forget_silent();
        self.shared.silent.push_back((id, now));
    }

    /// Forgets tunnels that are gone when they are more than the others.
    fn forget_silent(&mut self) {
        let (silent, tunnels) = (&mut self.shared.silent, &mut self.tunnels);
        if silent.len() > 2 * tunnels.len() + SILENT_AT_ONCE {
            silent.retain(|(id, _)| tunnels.get(*id).is_some());
        }
    }

    fn is_half_full(&self) -> bool {
        2 * self.tunnels.len() > self.shared.config.limits.tunnels
    }

    /// Asks tunnels that were silent for long whether they are there, and lets those go that wait for a
    /// client that may never come back: the longest silent first.
    fn probe_silent(&mut self, now: &mut Now<'_>) {
        for _ in 0..SILENT_AT_ONCE {
            let Some((id, noted)) = self.shared.silent.front().copied() else {
                return;
            };
            if noted + self.shared.config.limits.probe_idle > now.instant {
                return;
            }
            self.shared.silent.pop_front();
            let Some(tunnel) = self.tunnels.get(id) else {
                continue;
            };
            if tunnel.heard > noted {
                self.shared.silent.push_back((id, tunnel.heard));
            } else if matches!(tunnel.state, State::Dormant(..)) {
                self.end(now.instant, id.index, Some(Reason::Idle));
            } else {
                tunnel.probe(now);
                self.shared.silent.push_back((id, now.instant));
                self.touch(id.index);
            }
        }
    }
}

impl Tunnel {
    /// When its packets have been outstanding for too long without any answer.
    pub(super) fn dies_at(&self) -> Option<Instant> {
        let since = self.channel.sending.waiting_since()?;
        Some(since.max(self.heard) + DEAD_AFTER)
    }

    fn tick(&mut self, shared: &mut Shared, time: &mut Now<'_>) -> Result<(), Reason> {
        let now = time.instant;
        let is_over = |at: Instant| at <= now;
        if is_over(self.heard + self.idle) || self.purpose.until().is_some_and(is_over) {
            return Err(Reason::Idle);
        }
        self.tick_trial(time)?;
        if let Some(learnt) = self.path.go_back(now) {
            self.channel.sending.resume(learnt, now);
            // It was for the address that showed nothing.
            self.puzzle = None;
        }
        self.give_up_puzzle(now)?;
        self.decide_late(shared, now - AUTH_WAIT);
        let is_dead = self.dies_at().is_some_and(is_over);
        let Some(open) = self.state.open_mut() else {
            return Ok(());
        };
        open.keys.drain(now);
        match open.rekey {
            Rekey::Asked(until) if is_over(until) => return self.rest(shared),
            _ if is_dead => return self.rest(shared),
            Rekey::Due(at) if is_over(at) => {
                self.state.ask_rekey(now)?;
                self.channel.control(&Rpc::RekeyNow);
            }
            _ => {}
        }
        if self.channel.sending.expiry().is_some_and(is_over) {
            self.channel.sending.run_out(now);
            if !self.path.is_proven() && self.puzzle.is_none() {
                // Something is lost, and what may be sent there comes to an end.
                self.pose(0, time);
            }
        }
        Ok(())
    }

    /// Its key is out of use.
    fn rest(&mut self, shared: &mut Shared) -> Result<(), Reason> {
        self.channel.sending.pause();
        // Nothing of what is held was acknowledged: it comes again.
        self.channel.receiving.release(&mut shared.common.held);
        self.state.rest()
    }
}
