//! Tunnels whose clients have not shown yet that they receive: `spec/tunnel.md` section 6.5.

use alloc::vec::Vec;
use clew_wire::Instant;
use core::time::Duration;

use super::Shared;
use super::tunnel::Tunnel;
use crate::engine::channel::Now;
use crate::engine::event::{Create, Event};
use crate::limits::{UNPROVEN_ASK, UNPROVEN_BYTES};
use crate::reason::Reason;

/// What a tunnel may do before its client has shown that it receives.
#[derive(Debug)]
pub(super) struct Trial {
    /// When the tunnel ends.
    pub until: Instant,
    /// When the client is asked to show it; `None` once it was.
    pub ask_at: Option<Instant>,
    /// Bytes that came.
    bytes: usize,
    /// The program knows of a connection.
    is_known: bool,
    /// Connections of which the program does not know yet.
    held: Vec<Create>,
}

impl Trial {
    /// A trial that begins now and lasts so long.
    pub(super) fn new(now: Instant, life: Duration) -> Self {
        Self {
            until: now + life,
            ask_at: Some(now + UNPROVEN_ASK.min(life / 2)),
            bytes: 0,
            is_known: false,
            held: Vec::new(),
        }
    }

    /// The connections that the program did not hear of.
    pub(super) fn into_held(self) -> Vec<Create> {
        self.held
    }

    /// Whether the tunnel has brought all that it may bring.
    pub(super) const fn is_full(&self) -> bool {
        self.bytes > UNPROVEN_BYTES
    }

    /// A packet came.
    pub(super) const fn received(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// A connection that the program may hear of now. Others are held, and the client is asked at once.
    pub(super) fn admit(&mut self, create: Create) -> Option<Create> {
        if !self.is_known {
            self.is_known = true;
            return Some(create);
        }
        self.held.push(create);
        self.ask_at = self.ask_at.map(|_| Instant::default());
        None
    }
}

impl Tunnel {
    /// If the client has shown that it receives, the tunnel is like any other from now on.
    pub(super) fn note_proof(&mut self, shared: &mut Shared) {
        if !self.path.is_proven() {
            return;
        }
        for mut create in self.end_trial(shared) {
            create.is_proven = true;
            if self
                .channel
                .connections
                .is_undecided(create.connection.number)
            {
                shared.common.events.push_back(Event::Create(create));
            }
        }
    }

    /// Gives back the place of a tunnel on trial: the connections that the program did not hear of.
    pub(super) fn end_trial(&mut self, shared: &mut Shared) -> Vec<Create> {
        let held = self.state.prove();
        if held.is_some() {
            shared.unproven.give(&self.home);
        }
        held.unwrap_or_default()
    }

    /// Asks a client that has shown nothing yet whether it receives.
    ///
    /// # Errors
    /// `no-answer`: it had its time.
    pub(super) fn tick_trial(&mut self, now: &mut Now<'_>) -> Result<(), Reason> {
        let instant = now.instant;
        let Some(trial) = self.state.trial_mut() else {
            return Ok(());
        };
        if trial.until <= instant {
            return Err(Reason::NoAnswer);
        }
        if trial.ask_at.take_if(|at| *at <= instant).is_some() {
            self.pose_here(0, now);
        }
        Ok(())
    }
}
