//! What a server does by itself: `spec/tunnel.md` sections 8, 9, 10.3 and 13.

use alloc::boxed::Box;
use clew_wire::Instant;

use super::Server;
use super::tunnel::{Rekeyed, Tunnel, Which};
use crate::engine::channel::Now;
use crate::engine::event::{Event, TunnelId};
use crate::limits::{AUTH_WAIT, DEAD_AFTER, IDLE_MAX, PROBE_IDLE, REKEY, REKEY_ANSWER, T1_LIFE};
use crate::reason::Reason;
use crate::wire::rpc::Rpc;

/// Silent tunnels that are looked at in one call.
const SILENT_AT_ONCE: usize = 64;

/// What a tunnel's own time brought.
enum Due {
    /// It goes on.
    Go,
    /// Its key is out of use.
    Rest,
}

impl Server {
    /// When [`Self::tick`] has something to do; at once, or even before now, if it has already.
    pub fn due(&self, now: &Now<'_>) -> Instant {
        let until_keys = self.shared.keys.due() - now.wall;
        let mut due = now.instant + until_keys;
        if let Some(next) = self.agenda.next() {
            due = due.min(next);
        }
        if self.is_half_full()
            && let Some((_, heard)) = self.silent.front()
        {
            due = due.min(*heard + PROBE_IDLE);
        }
        due
    }

    /// Does what is due.
    pub fn tick(&mut self, mut now: Now<'_>) {
        self.wall = self.wall.max(now.wall);
        if now.wall >= self.shared.keys.due() {
            self.shared.keys.rotate(&self.shared.config, now.wall);
            let record = Event::Record(Box::new(self.shared.keys.record()));
            self.shared.common.events.push_back(record);
        }
        while let Some(index) = self.agenda.due(now.instant) {
            self.tick_tunnel(&mut now, index);
        }
        if self.is_half_full() {
            self.probe_silent(&mut now);
        }
    }

    fn tick_tunnel(&mut self, now: &mut Now<'_>, index: u32) {
        let Some(tunnel) = self.tunnels.at(index) else {
            return;
        };
        // It comes back to the agenda when it was looked at by `transmit`.
        self.agenda.move_to(index, &mut tunnel.due, None);
        match tunnel.tick(&mut self.shared, now) {
            Ok(Due::Go) => {}
            Ok(Due::Rest) => {
                let changed = tunnel.rest();
                // Nothing of it was acknowledged: it comes again.
                let held = &mut self.shared.common.held;
                tunnel.channel.receiving.release(held);
                self.forget(index, changed);
            }
            Err(reason) => return self.end(now.instant, index, Some(reason)),
        }
        if let Some(tunnel) = self.tunnels.at(index)
            && let Some(old) = tunnel.old.take_if(|old| old.1 <= now.instant)
        {
            self.tids.remove(old.0.tid);
        }
        self.touch(index);
    }

    /// TIDs that changed their meaning.
    pub(super) fn forget(&mut self, index: u32, changed: Rekeyed) {
        let Rekeyed { draining, erased } = changed;
        if let Some(tid) = erased {
            self.tids.remove(tid);
        }
        let Some(tid) = draining else {
            return;
        };
        let is_kept = self.tunnels.at(index).is_some_and(|t| t.old.is_some());
        if is_kept {
            self.tids.insert(tid, index, Which::Draining);
        } else {
            self.tids.remove(tid);
        }
    }

    /// A new tunnel was heard. Those that are gone are forgotten when they are more than the others.
    pub(super) fn note_silent(&mut self, id: TunnelId, now: Instant) {
        let Self {
            silent, tunnels, ..
        } = self;
        if silent.len() > 2 * tunnels.len() + SILENT_AT_ONCE {
            silent.retain(|(id, _)| tunnels.get(*id).is_some());
        }
        silent.push_back((id, now));
    }

    fn is_half_full(&self) -> bool {
        2 * self.tunnels.len() > self.shared.config.limits.tunnels
    }

    /// Asks tunnels that were silent for long whether they are there, and lets those go that wait for a
    /// client that may never come back: the longest silent first.
    fn probe_silent(&mut self, now: &mut Now<'_>) {
        for _ in 0..SILENT_AT_ONCE {
            let Some((id, noted)) = self.silent.front().copied() else {
                return;
            };
            if noted + PROBE_IDLE > now.instant {
                return;
            }
            self.silent.pop_front();
            let Some(tunnel) = self.tunnels.get(id) else {
                continue;
            };
            if tunnel.heard > noted {
                self.silent.push_back((id, tunnel.heard));
            } else if tunnel.is_dormant {
                self.end(now.instant, id.index, Some(Reason::Idle));
            } else {
                tunnel.probe(now);
                self.silent.push_back((id, now.instant));
                self.touch(id.index);
            }
        }
    }
}

impl Tunnel {
    fn tick(&mut self, shared: &mut super::Shared, time: &mut Now<'_>) -> Result<Due, Reason> {
        let now = time.instant;
        if self.heard + IDLE_MAX <= now || (self.is_t1 && self.keyed + T1_LIFE <= now) {
            return Err(Reason::Idle);
        }
        if let Some(learnt) = self.path.go_back(now) {
            self.channel.sending.resume(learnt, now);
            // It was for the address that showed nothing.
            self.puzzle = None;
        }
        self.give_up_puzzle(now)?;
        self.decide_late(shared, now - AUTH_WAIT);
        if self.is_dormant {
            return Ok(Due::Go);
        }
        let since = self.channel.sending.waiting_since();
        let is_dead = since.is_some_and(|since| since.max(self.heard) + DEAD_AFTER <= now);
        if is_dead || self.asked.is_some_and(|asked| asked + REKEY_ANSWER <= now) {
            return Ok(Due::Rest);
        }
        if self.asked.is_none() && self.keyed + REKEY <= now {
            self.asked = Some(now);
            self.channel.control(&Rpc::RekeyNow);
        }
        if self.channel.sending.expiry().is_some_and(|at| at <= now) {
            self.channel.sending.run_out(now);
            if !self.path.is_proven() && self.puzzle.is_none() {
                // Something is lost, and what may be sent there comes to an end.
                self.pose(0, time);
            }
        }
        Ok(Due::Go)
    }
}
