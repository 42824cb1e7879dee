//! Whose prefix an address is in.

use crate::packet::PeerIndex;
use ipnet::IpNet;
use std::cmp::Reverse;
use std::net::IpAddr;

/// Prefixes of peers. Of those that contain an address the longest counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prefixes {
    /// In the order of their first addresses, IPv4 before IPv6, and a prefix before those in it.
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    first: IpAddr,
    last: IpAddr,
    /// The place of the longest other prefix that may contain it.
    outer: Option<usize>,
    /// Who has this prefix, in order.
    peers: Vec<PeerIndex>,
}

impl Prefixes {
    /// Takes prefixes and their peers, in any order.
    pub fn new(all: impl IntoIterator<Item = (IpNet, PeerIndex)>) -> Self {
        let ends =
            |(net, peer): (IpNet, PeerIndex)| (net.network(), Reverse(net.broadcast()), peer);
        let mut all: Vec<_> = all.into_iter().map(ends).collect();
        all.sort_unstable();
        let mut entries: Vec<Entry> = Vec::with_capacity(all.len());
        for (first, Reverse(last), peer) in all {
            if let Some(same) = entries.last_mut()
                && (same.first, same.last) == (first, last)
            {
                same.peers.push(peer);
                continue;
            }
            let mut outer = entries.len().checked_sub(1);
            while let Some(entry) = outer.and_then(|at| entries.get(at))
                && entry.last < first
            {
                outer = entry.outer;
            }
            entries.push(Entry {
                first,
                last,
                outer,
                peers: vec![peer],
            });
        }
        Self { entries }
    }

    /// Returns the peers that have the longest prefix with an address in it.
    pub fn find(&self, address: IpAddr) -> &[PeerIndex] {
        let behind = self.entries.partition_point(|entry| entry.first <= address);
        let mut at = behind.checked_sub(1);
        while let Some(entry) = at.and_then(|at| self.entries.get(at)) {
            if address <= entry.last {
                return &entry.peers;
            }
            at = entry.outer;
        }
        &[]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefixes(all: &[&str]) -> Prefixes {
        let nets = all.iter().map(|net| net.parse().unwrap());
        Prefixes::new(nets.zip((0..).map(PeerIndex)))
    }

    #[test]
    fn the_longest_prefix_counts() {
        let of = prefixes(&[
            "10.1.2.3/32",
            "10.0.0.0/8",
            "10.1.0.0/16",
            "10.1.0.0/24",
            "10.1.0.0/16",
            "fd00::/8",
        ]);
        for (address, expected) in [
            ("9.255.255.255", &[][..]),
            ("10.0.0.0", &[1]),
            ("10.1.0.0", &[3]),
            ("10.1.0.255", &[3]),
            ("10.1.1.0", &[2, 4]),
            ("10.1.2.2", &[2, 4]),
            ("10.1.2.3", &[0]),
            ("10.1.2.4", &[2, 4]),
            ("10.2.0.0", &[1]),
            ("10.255.255.255", &[1]),
            ("11.0.0.0", &[]),
            ("fcff::", &[]),
            ("fd00::", &[5]),
            ("fe00::", &[]),
        ] {
            let found: Vec<u16> = { of.find(address.parse().unwrap()).iter() }
                .map(|peer| peer.0)
                .collect();
            assert_eq!(found, expected, "{address}");
        }
        assert!(Prefixes::default().find("::".parse().unwrap()).is_empty());
    }

    /// A network whose every packet goes to one peer, and hosts of IPv4 beside it: IPv6 has its own addresses, also
    /// those that stand for IPv4.
    #[test]
    fn both_versions_of_ip_are_apart() {
        let of = prefixes(&["::/0", "0.0.0.0/0", "10.0.0.0/8"]);
        let find = |address: &str| of.find(address.parse().unwrap()).to_vec();
        assert_eq!(find("2001:db8::1"), [PeerIndex(0)]);
        assert_eq!(find("::ffff:10.0.0.1"), [PeerIndex(0)]);
        assert_eq!(find("::"), [PeerIndex(0)]);
        assert_eq!(find("192.0.2.1"), [PeerIndex(1)]);
        assert_eq!(find("10.0.0.1"), [PeerIndex(2)]);
        let of = prefixes(&["::/0"]);
        assert!(of.find("10.0.0.1".parse().unwrap()).is_empty());
    }
}
