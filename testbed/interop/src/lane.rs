//! One direction of a tunnel: which number in the sequence here is which number there.
//!
//! Our sequence goes on through rekeys, the peer's begins anew with each. A packet that only one side knows
//! (the adapter made it) has no number at the other.

/// A packet that is counted on one side at least.
#[derive(Debug)]
pub struct Entry {
    /// Which key of the tunnel it belongs to, counted from 0.
    pub epoch: usize,
    /// Its seq at our engine.
    pub engine: Option<u32>,
    /// Its seq at the peer.
    pub peer: Option<u32>,
    /// Its RPCs, as the receiver understands them.
    pub rpcs: Vec<u8>,
    /// It has C' in its header.
    pub has_key: bool,
    /// When it was sent last.
    pub sent: Option<u64>,
    pub is_acked: bool,
    /// Bytes of RPCs by their connections, as 7.5 of our specification counts them.
    pub bytes: Vec<(u32, u32)>,
}

#[derive(Debug, Default)]
pub struct Lane(pub Vec<Entry>);

impl Lane {
    pub fn of_engine(&self, seq: u32) -> Option<usize> {
        self.0.iter().position(|entry| entry.engine == Some(seq))
    }

    pub fn of_peer(&self, epoch: usize, seq: u32) -> Option<usize> {
        let is = |entry: &Entry| entry.epoch == epoch && entry.peer == Some(seq);
        self.0.iter().position(is)
    }

    /// The peer's last number under a key.
    pub fn last_peer(&self, epoch: usize) -> Option<u32> {
        let mut last = self.0.iter().rev().filter(|entry| entry.epoch == epoch);
        last.find_map(|entry| entry.peer)
    }

    pub fn last_engine(&self) -> Option<u32> {
        self.0.iter().rev().find_map(|entry| entry.engine)
    }

    /// Everything up to this place was acknowledged: what was not before.
    pub fn acknowledge(&mut self, place: usize) -> Vec<usize> {
        let all = self.0.iter_mut().enumerate().take(place + 1);
        let new = all.filter(|(_, entry)| !entry.is_acked);
        new.map(|(place, entry)| {
            entry.is_acked = true;
            place
        })
        .collect()
    }

    /// What our engine is told to be acknowledged: its last number of which this and all before are.
    pub fn engine_ack(&self) -> u32 {
        let acked = self.0.iter().take_while(|entry| entry.is_acked);
        acked.filter_map(|entry| entry.engine).last().unwrap_or(0)
    }
}
