//! Where peers without a configured end point are: a valid packet tells, if it was meant for this host.

use super::route;
use super::shared::{Shared, lock};
use crate::packet::{Delivery, PeerIndex, destination};
use clew_packet::KeySource;
use clew_wire::Instant;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// How often the same destination is looked up that does not lead here.
const LOOKUP_EVERY: Duration = Duration::from_secs(1);

/// Most destinations of a peer that are looked up in this time. If only one were, whoever copies packets for
/// other hosts could use it up.
const LOOKUPS_MAX: usize = 8;

/// Destinations of a peer's packets that were looked up lately.
#[derive(Clone, Debug, Default)]
pub struct Lookups {
    since: Instant,
    destinations: Vec<IpAddr>,
}

impl Lookups {
    /// Returns whether to look up a destination. A lookup takes some microseconds.
    pub fn may(&mut self, to: IpAddr, now: Instant) -> bool {
        if now - self.since >= LOOKUP_EVERY {
            self.since = now;
            self.destinations.clear();
        }
        let may = self.destinations.len() < LOOKUPS_MAX && !self.destinations.contains(&to);
        if may {
            self.destinations.push(to);
        }
        may
    }
}

/// What a packet may say of its peer: that it has moved, if the packet was meant for this host.
pub(super) struct Move {
    peer: PeerIndex,
    from: SocketAddr,
    to: IpAddr,
    /// The destination is in a peer's prefix.
    is_of_peer: bool,
}

impl<K: KeySource> Shared<K> {
    /// Counts packets by peer. Returns the moves of peers that packets may stand for.
    pub fn note(&self, ready: &[Delivery]) -> Vec<Move> {
        let now = self.clock.now().instant;
        let mut moves = Vec::new();
        let mut table = lock(&self.peers);
        for delivery in ready {
            if let Some(traffic) = table.traffic.get_mut(usize::from(delivery.peer.0)) {
                *traffic = (traffic.0 + 1, Some(now));
            }
            let (peer, from) = (delivery.peer, delivery.from);
            if table.peers.may_move(peer, from, now)
                && let Some(to) = destination(&delivery.bytes)
                && table.peers.may_look_up(peer, to, now)
            {
                let is_of_peer = table.peers.find(to).is_some();
                moves.push(Move {
                    peer,
                    from,
                    to,
                    is_of_peer,
                });
            }
        }
        drop(table);
        self.hear(ready);
        moves
    }

    /// Learns where peers are, from packets for this host: a copy of a packet for another one says nothing of
    /// where answers to this one should go. The kernel is asked with no lock held.
    pub fn learn(&self, moves: &[Move]) {
        let meant = { moves.iter() }.filter(|packet| route::is_here(packet.to, packet.is_of_peer));
        let now = self.clock.now().instant;
        let moved =
            meant.filter(|packet| lock(&self.peers).peers.learn(packet.peer, packet.from, now));
        if moved.count() > 0 {
            self.apply_paths();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_destinations_are_looked_up_a_second() {
        let mut lookups = Lookups::default();
        let mut look = |last: u8, millis: u64| {
            let now = Instant::from_nanos(millis * 1_000_000);
            lookups.may(IpAddr::from([10, 9, 0, last]), now)
        };
        let count = |looked: Vec<bool>| looked.into_iter().filter(|looked| *looked).count();
        assert_eq!(count((0..100).map(|_| look(1, 5_000)).collect()), 1);
        assert!(look(2, 5_001), "another one is looked up, too");
        let all = (0..100).map(|last| look(last, 5_999)).collect();
        assert_eq!(count(all), LOOKUPS_MAX - 2);
        assert!(look(99, 6_000) && !look(99, 6_001), "a second later");
    }
}
