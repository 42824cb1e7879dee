//! Where peers are: whose address a destination is, the end point of each, and its path MTU.

use super::learn::Lookups;
use crate::carrier::PathMtu;
use crate::config::Config;
use crate::packet::PeerIndex;
use crate::prefixes::Prefixes;
use crate::sender::Path;
use clew_packet::protocol::UDP;
use clew_packet::{Carrier, datagram};
use clew_wire::Instant;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

/// The MTU that every link of IPv6 has at least (RFC 8200 section 5).
const IPV6_LEAST: u32 = 1_280;

/// The end point of peers whose packets go to their own destinations.
const NOWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// How long a learned end point must be silent before a packet from another one moves the peer.
///
/// A group signature names a group: each machine of it may claim each address of a peer, and whoever
/// copies packets may be first. So nobody takes a peer away from an end point that is alive.
const MOVE_AFTER: Duration = Duration::from_secs(2);

/// How a peer is reached now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Its end point. `None` until it is learned.
    pub remote: Option<SocketAddr>,
    /// The own address for it, if the carrier has to know.
    pub local: Option<IpAddr>,
    /// Whether the end point was learned from a valid packet. A configured one stays.
    pub is_learned: bool,
    /// When a valid packet came from the end point, if it was learned.
    heard: Instant,
    /// When a datagram was sent there.
    sent: Option<Instant>,
    /// After how long without one another one is due.
    keepalive: Option<Duration>,
    path: PathMtu,
}

/// All peers.
#[derive(Clone, Debug)]
pub struct Peers {
    carrier: Carrier,
    prefixes: Prefixes,
    reaches: Vec<Reach>,
    /// Of each peer, which destinations were looked up lately.
    lookups: Vec<Lookups>,
}

impl Peers {
    /// Takes the peers of a configuration, which do not overlap.
    pub fn new(config: &Config) -> Self {
        let mut prefixes = Vec::new();
        let mut reaches = Vec::new();
        for (index, peer) in (0..).zip(&config.peers) {
            prefixes.extend(peer.prefixes.iter().map(|net| (*net, PeerIndex(index))));
            reaches.push(Reach {
                remote: peer.endpoint,
                local: None,
                is_learned: false,
                heard: Instant::default(),
                sent: None,
                keepalive: peer.keepalive,
                path: PathMtu::new(config.path_mtu),
            });
        }
        Self {
            carrier: config.carrier,
            prefixes: Prefixes::new(prefixes),
            lookups: vec![Lookups::default(); reaches.len()],
            reaches,
        }
    }

    /// Takes what was learned from an earlier configuration with the same prefixes.
    pub fn keep_learned(&mut self, earlier: &Self) {
        for (new, old) in self.reaches.iter_mut().zip(&earlier.reaches) {
            let is_same = new.remote == old.remote || new.remote.is_none() && old.is_learned;
            if is_same {
                let mut path = new.path;
                path.keep_lowered(&old.path);
                *new = Reach {
                    path,
                    is_learned: new.remote.is_none() && old.is_learned,
                    keepalive: new.keepalive,
                    ..*old
                };
            }
        }
    }

    /// Returns the peer that has an address.
    pub fn find(&self, address: IpAddr) -> Option<PeerIndex> {
        self.prefixes.find(address).first().copied()
    }

    /// Returns how all peers are reached, in their order.
    pub fn reaches(&self) -> &[Reach] {
        &self.reaches
    }

    /// Returns all that have an end point, as the core wants to know.
    pub fn paths(&self, now: Instant) -> impl Iterator<Item = (PeerIndex, Path)> + '_ {
        let of = move |(index, reach): (u16, &Reach)| {
            let path = Path {
                remote: match self.carrier {
                    Carrier::Trailer => NOWHERE,
                    Carrier::UdpTunnel | Carrier::UdpTransport => reach.remote?,
                },
                local: reach.local,
                mtu: reach.path.at(now),
                carrier: self.carrier,
            };
            Some((PeerIndex(index), path))
        };
        (0..).zip(&self.reaches).filter_map(of)
    }

    /// Takes where a valid packet of a peer came from. Returns whether the peer moved there: it does if
    /// it has no configured end point, and nothing came from the learned one for [`MOVE_AFTER`].
    pub fn learn(&mut self, peer: PeerIndex, from: SocketAddr, now: Instant) -> bool {
        let may_move = self.may_move(peer, from, now);
        if may_move {
            self.move_to(peer, from, now);
        }
        may_move
    }

    /// Takes where a valid packet of a peer came from. Returns whether the peer may move there.
    pub fn may_move(&mut self, peer: PeerIndex, from: SocketAddr, now: Instant) -> bool {
        // With trailers packets find their own way.
        if self.carrier == Carrier::Trailer {
            return false;
        }
        let Some(reach) = self.reaches.get_mut(usize::from(peer.0)) else {
            return false;
        };
        match reach.remote {
            None => true,
            Some(remote) if remote == canonical(from) => {
                reach.heard = now;
                false
            }
            Some(_) => reach.is_learned && now - reach.heard >= MOVE_AFTER,
        }
    }

    /// Returns whether to look up a destination of a packet that may move its peer.
    pub fn may_look_up(&mut self, peer: PeerIndex, to: IpAddr, now: Instant) -> bool {
        let lookups = self.lookups.get_mut(usize::from(peer.0));
        lookups.is_some_and(|lookups| lookups.may(to, now))
    }

    /// Moves a peer to a learned end point.
    pub fn move_to(&mut self, peer: PeerIndex, from: SocketAddr, now: Instant) {
        if let Some(reach) = self.reaches.get_mut(usize::from(peer.0)) {
            (reach.is_learned, reach.heard) = (true, now);
            (reach.remote, reach.local) = (Some(canonical(from)), None);
        }
    }

    /// Takes note of a datagram to a peer. Returns how it is reached.
    pub fn sends(&mut self, peer: PeerIndex, now: Instant) -> Option<Reach> {
        let reach = self.reaches.get_mut(usize::from(peer.0))?;
        reach.sent = Some(now);
        Some(*reach)
    }

    /// Returns the peers that have got nothing for as long as their `keepalive` says.
    pub fn silent(&self, now: Instant) -> Vec<PeerIndex> {
        let is_due = |reach: &Reach| {
            let is_over = |every| reach.sent.is_none_or(|sent| now - sent >= every);
            reach.remote.is_some() && reach.keepalive.is_some_and(is_over)
        };
        let reaches = (0..).zip(&self.reaches);
        let silent = reaches.filter(|(_, reach)| is_due(reach));
        silent.map(|(index, _)| PeerIndex(index)).collect()
    }

    /// Asks for own addresses that are missing.
    pub fn find_locals(&mut self, find: impl Fn(SocketAddr) -> Option<IpAddr>) {
        for reach in &mut self.reaches {
            reach.local = reach.local.or_else(|| find(reach.remote?));
        }
    }

    /// Forgets the own address of a peer, which the host has no more.
    pub fn forget_local(&mut self, peer: PeerIndex) {
        if let Some(reach) = self.reaches.get_mut(usize::from(peer.0)) {
            reach.local = None;
        }
    }

    /// Takes what the network said of a path. Returns whether some peer's changed.
    pub fn lower(&mut self, to: SocketAddr, mtu: u32, now: Instant) -> bool {
        // Of a socket without a fixed peer the host itself tells only the address.
        let is_to = |at: SocketAddr| at == to || to.port() == 0 && at.ip() == to.ip();
        let reached = |reach: &&mut Reach| reach.remote.is_some_and(is_to);
        // No link of IPv6 takes less.
        let mtu = if to.is_ipv6() {
            mtu.max(IPV6_LEAST)
        } else {
            mtu
        };
        let lower = |any, reach: &mut Reach| reach.path.lower(mtu, now) | any;
        self.reaches.iter_mut().filter(reached).fold(false, lower)
    }
}

impl Reach {
    /// Returns the path MTU.
    pub fn mtu(&self, now: Instant) -> u16 {
        self.path.at(now)
    }
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// Whether a packet is a datagram of this daemon's own carrier: the rules failed that keep it out.
pub fn is_own(packet: &[u8], port: u16) -> bool {
    let header = match packet.first().map(|first| first >> 4) {
        Some(4) if packet.get(9) == Some(&UDP) => usize::from(packet[0] & 0x0f) * 4,
        Some(6) if packet.get(6) == Some(&UDP) => 40,
        _ => return false,
    };
    let source = packet.get(header..header + 2);
    let payload = packet.get(header + 8..).unwrap_or_default();
    source == Some(&port.to_be_bytes()) && datagram::parse(payload).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::destination;

    fn config(peers: &str) -> Config {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lan.toml");
        std::fs::write(&path, format!("key = \"k\"\n{peers}")).unwrap();
        Config::read(&path).unwrap()
    }

    const TWO: &str = "[[peer]]\nprefixes = [\"10.0.0.0/24\", \"fd00::/64\"]\nendpoint = \"10.0.0.2\"\n\
        group = \"g\"\n[[peer]]\nprefixes = [\"10.0.1.7/32\"]\ngroup = \"g\"\n";

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn an_address_belongs_to_the_peer_of_its_prefix() {
        let peers = Peers::new(&config(TWO));
        for (address, expected) in [
            ("10.0.0.0", Some(0)),
            ("10.0.0.255", Some(0)),
            ("10.0.1.7", Some(1)),
            ("fd00::1", Some(0)),
            ("9.255.255.255", None),
            ("10.0.1.6", None),
            ("10.0.1.8", None),
            ("fd00:0:0:1::", None),
            ("::", None),
        ] {
            let found = peers.find(address.parse().unwrap());
            assert_eq!(found, expected.map(PeerIndex), "{address}");
        }
    }

    #[test]
    fn one_peer_may_have_all_addresses_of_both_versions() {
        let all = "[[peer]]\nprefixes = [\"0.0.0.0/0\", \"::/0\"]\ngroup = \"g\"\n";
        let peers = Peers::new(&config(all));
        for address in ["10.0.0.1", "2001:db8::1", "::1"] {
            let found = peers.find(address.parse().unwrap());
            assert_eq!(found, Some(PeerIndex(0)), "{address}");
        }
    }

    #[test]
    fn a_peer_without_end_point_is_learned_and_moves_when_it_is_silent() {
        let mut peers = Peers::new(&config(TWO));
        assert_eq!(peers.paths(at(0)).count(), 1, "one is not known yet");
        let [one, other]: [SocketAddr; 2] =
            ["192.0.2.1:40000", "192.0.2.1:40001"].map(|address| address.parse().unwrap());
        assert!(peers.learn(PeerIndex(1), one, at(0)));
        let mapped = "[::ffff:192.0.2.1]:40000".parse().unwrap();
        assert!(
            !peers.learn(PeerIndex(1), mapped, at(1)),
            "the same address"
        );
        assert_eq!(peers.paths(at(1)).count(), 2);
        assert!(
            !peers.learn(PeerIndex(1), other, at(2)),
            "heard a second ago"
        );
        assert!(peers.learn(PeerIndex(1), other, at(3)), "silent for two");
        assert!(!peers.learn(PeerIndex(1), one, at(4)));
        assert!(peers.may_move(PeerIndex(1), one, at(60)));
        assert_eq!(peers.reaches()[1].remote, Some(other));
        assert!(!peers.learn(PeerIndex(7), one, at(4)), "no such peer");
    }

    #[test]
    fn nobody_moves_a_configured_end_point() {
        let mut peers = Peers::new(&config(TWO));
        let configured = peers.reaches()[0].remote;
        let from = "192.0.2.1:40000".parse().unwrap();
        assert!(!peers.learn(PeerIndex(0), from, at(1_000)));
        assert_eq!(peers.reaches()[0].remote, configured);
    }

    #[test]
    fn a_reload_keeps_what_was_learned_unless_the_end_point_is_new() {
        let mut old = Peers::new(&config(TWO));
        let from: SocketAddr = "192.0.2.1:40000".parse().unwrap();
        old.learn(PeerIndex(1), from, at(0));
        let mut new = Peers::new(&config(&TWO.replace("\"10.0.0.2\"", "\"10.0.0.3\"")));
        new.keep_learned(&old);
        let remotes: Vec<_> = new.reaches().iter().map(|reach| reach.remote).collect();
        assert_eq!(remotes, ["10.0.0.3:4909".parse().ok(), Some(from)]);
        // An administrator says that it stays where it is.
        let pinned = TWO.replace("7/32\"]\n", "7/32\"]\nendpoint = \"192.0.2.1:40000\"\n");
        let mut pinned = Peers::new(&config(&pinned));
        pinned.keep_learned(&old);
        let other = "192.0.2.9:40000".parse().unwrap();
        assert!(
            !pinned.learn(PeerIndex(1), other, at(60)),
            "it is not moved"
        );
        assert!(new.learn(PeerIndex(1), other, at(60)));
    }

    /// Else packets that are too long would be lost until the network says so again.
    #[test]
    fn a_reload_keeps_lowered_paths_of_end_points_that_stay() {
        let mut old = Peers::new(&config(TWO));
        old.learn(PeerIndex(1), "192.0.2.1:40000".parse().unwrap(), at(0));
        for to in ["10.0.0.2:4909", "192.0.2.1:40000"] {
            assert!(old.lower(to.parse().unwrap(), 1400, at(1)));
        }
        let mtus = |text: &str, now| {
            let mut new = Peers::new(&config(text));
            new.keep_learned(&old);
            new.paths(at(now))
                .map(|(_, path)| path.mtu)
                .collect::<Vec<_>>()
        };
        assert_eq!(mtus(TWO, 2), [1400, 1400]);
        assert_eq!(mtus(TWO, 700), [1500, 1500], "as without a reload");
        let moved = TWO.replace("\"10.0.0.2\"", "\"10.0.0.3\"");
        assert_eq!(mtus(&moved, 2), [1500, 1400]);
        let shorter = format!("path-mtu = 1300\n{TWO}");
        assert_eq!(mtus(&shorter, 2), [1300, 1300]);
    }

    #[test]
    fn a_peer_with_keepalive_is_silent_when_nothing_was_sent_for_so_long() {
        let text = TWO.replacen("group", "keepalive = 25\ngroup", 1);
        let mut peers = Peers::new(&config(&text));
        assert_eq!(peers.silent(at(0)), [PeerIndex(0)], "at the start");
        assert_eq!(peers.silent(at(1)), [PeerIndex(0)], "until something left");
        peers.sends(PeerIndex(0), at(24));
        assert_eq!(peers.silent(at(48)), [], "it got a datagram");
        assert_eq!(peers.silent(at(49)), [PeerIndex(0)]);
        peers.sends(PeerIndex(0), at(49));
        let mut again = Peers::new(&config(&text.replace("25", "5")));
        again.keep_learned(&peers);
        assert_eq!(again.silent(at(53)), []);
        assert_eq!(again.silent(at(54)), [PeerIndex(0)], "after a reload");
        assert_eq!(Peers::new(&config(TWO)).silent(at(99)), [], "none");
    }

    #[test]
    fn a_path_is_lowered_by_its_end_point_only() {
        let mut peers = Peers::new(&config(TWO));
        assert!(!peers.lower("10.0.0.9:4909".parse().unwrap(), 1400, at(1)));
        assert!(!peers.lower("10.0.0.2:4910".parse().unwrap(), 1400, at(1)));
        assert!(
            peers.lower("10.0.0.2:0".parse().unwrap(), 1450, at(1)),
            "the host's own"
        );
        assert!(peers.lower("10.0.0.2:4909".parse().unwrap(), 1400, at(1)));
        let (_, path) = peers.paths(at(2)).next().unwrap();
        assert_eq!(path.mtu, 1400);
        let (_, path) = peers.paths(at(700)).next().unwrap();
        assert_eq!(path.mtu, 1500);
    }

    fn udp4(source: u16, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; 28];
        (packet[0], packet[9]) = (0x45, 17);
        packet[16..20].copy_from_slice(&[10, 0, 0, 2]);
        packet[20..22].copy_from_slice(&source.to_be_bytes());
        packet.extend_from_slice(payload);
        packet
    }

    #[test]
    fn own_datagrams_are_known() {
        let mut datagram = Vec::new();
        datagram::write_cookie(&[1; 16], &[2; 16], &mut datagram);
        assert!(is_own(&udp4(4909, &datagram), 4909));
        assert!(!is_own(&udp4(4909, b"other"), 4909));
        assert!(!is_own(&udp4(4910, &datagram), 4909));
        let cut = udp4(4909, &datagram);
        (0..cut.len()).for_each(|end| assert!(!is_own(&cut[..end], 4909), "{end}"));
    }

    #[test]
    fn destinations_are_read_as_far_as_there_are_bytes() {
        let packet = udp4(1, b"");
        assert_eq!(destination(&packet), "10.0.0.2".parse().ok());
        assert_eq!(destination(&packet[..19]), None);
        assert_eq!(destination(&[]), None);
        assert_eq!(destination(&[0x50; 40]), None);
        let mut v6 = [0; 40];
        (v6[0], v6[39]) = (0x60, 9);
        assert_eq!(destination(&v6), "::9".parse().ok());
    }
}
