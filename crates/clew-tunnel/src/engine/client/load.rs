//! What a client has in memory, for its program and for tests.

use super::Client;
use super::tunnel::{State, Tunnel};

/// How much of everything that others can make a client keep there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Tunnels.
    pub tunnels: usize,
    /// TIDs in the table, and those that the tunnels have: they are the same, or it is a defect.
    pub tids: [usize; 2],
    /// Puzzles that are to be solved.
    pub puzzles: usize,
    /// Bytes that are held ahead of their turn, and what holding them takes.
    pub held: usize,
    /// Tunnels that wait for their turn to send.
    pub ready: usize,
    /// Datagrams without a tunnel that wait to be sent.
    pub plain: usize,
    /// Events that the program has not taken.
    pub events: usize,
    /// Most bytes that one tunnel has granted, and are not read.
    pub granted: usize,
    /// Most bytes of connection 0 that wait in one tunnel.
    pub control: usize,
}

impl Client {
    /// How much there is of everything. Looks at each tunnel.
    pub fn load(&self) -> Load {
        let common = &self.shared.common;
        let mut load = Load {
            tunnels: self.tunnels.len(),
            tids: [self.tids.len(), 0],
            puzzles: self.shared.solves.len(),
            held: common.held.bytes(),
            ready: self.tunnels.ready.len(),
            plain: self.plain.len(),
            events: common.events.len(),
            ..Load::default()
        };
        for tunnel in self.tunnels.iter() {
            load.add(tunnel);
        }
        load
    }
}

impl Load {
    fn add(&mut self, tunnel: &Tunnel) {
        let current = match tunnel.state {
            State::First(_) => true,
            State::Open | State::Rekey(_) => tunnel.keys.is_some(),
        };
        self.tids[1] += usize::from(current) + usize::from(tunnel.old.is_some());
        let (_, granted) = tunnel.channel.connections.load();
        self.granted = self.granted.max(granted);
        self.control = self.control.max(tunnel.channel.control_bytes());
    }
}
