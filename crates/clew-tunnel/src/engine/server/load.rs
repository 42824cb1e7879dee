//! What a server has in memory, for its operator and for tests.

use super::Server;
use super::tunnel::Tunnel;

/// How much of everything that others can make a server keep there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Tunnels.
    pub tunnels: usize,
    /// TIDs in the table, and those that the tunnels have: they are the same, or it is a defect.
    pub tids: [usize; 2],
    /// Initiation packets that are remembered.
    pub remembered: usize,
    /// First packets and authenticators that wait for public-key work, and authenticators for a puzzle.
    pub work: usize,
    /// Bytes that are held ahead of their turn, and what holding them takes.
    pub held: usize,
    /// Tunnels that wait for their turn to send.
    pub ready: usize,
    /// Entries of the queue of silent tunnels.
    pub silent: usize,
    /// Datagrams without a tunnel that wait to be sent.
    pub plain: usize,
    /// Events that the program has not taken.
    pub events: usize,
    /// Most connections that one tunnel has, with those that are closed and unread.
    pub connections: usize,
    /// Most bytes that one tunnel has granted, and are not read.
    pub granted: usize,
    /// Most bytes of connection 0 that wait in one tunnel.
    pub control: usize,
}

impl Server {
    /// How much there is of everything. Looks at each tunnel.
    pub fn load(&self) -> Load {
        let common = &self.shared.common;
        let mut load = Load {
            tunnels: self.tunnels.len(),
            tids: [self.tids.len(), 0],
            remembered: self.replays.len(),
            work: self.decrypt.len() + self.taken + self.shared.verify.len(),
            held: common.held.bytes(),
            ready: self.tunnels.ready.len(),
            silent: self.silent.len(),
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
        // Of a dormant one the current TID is the announced one.
        let current = usize::from(!tunnel.is_dormant);
        self.tids[1] += 1 + current + usize::from(tunnel.old.is_some());
        self.work += tunnel.waiting.len();
        let (connections, granted) = tunnel.channel.connections.load();
        self.connections = self.connections.max(connections);
        self.granted = self.granted.max(granted);
        self.control = self.control.max(tunnel.channel.control_bytes());
    }
}
