//! Packets without content, which keep a translator's entry alive: `spec/carriers.md` 6.

use super::shared::{Shared, lock, own_address};
use crate::ip_fragments::put_checksum;
use crate::packet::Clear;
use clew_packet::KeySource;
use clew_packet::protocol::NO_NEXT_HEADER;
use ipnet::IpNet;
use std::net::{IpAddr, SocketAddr};

const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;
const LIFETIME: u8 = 64;

/// Any port: only the route matters.
const PORT: u16 = 9;

impl<K: KeySource> Shared<K> {
    /// Signs a packet without content for each peer that has got no datagram for as long as its
    /// `keepalive` says.
    pub fn keep_alive(&self) {
        let now = self.clock.now();
        let silent = lock(&self.peers).peers.silent(now.instant);
        if silent.is_empty() {
            return;
        }
        let config = self.config();
        for peer in silent {
            let prefixes = config.peers.get(usize::from(peer.0)).map(|p| &p.prefixes);
            if let Some(bytes) = prefixes.and_then(|prefixes| packet_to(prefixes)) {
                // A refusal is counted there.
                let _ = lock(&self.outbound).push(Clear { peer, bytes }, now);
            }
        }
        self.wake_sender.wake();
    }
}

/// A packet without content to the first prefix that this host has a route to, from the address that the
/// route names.
fn packet_to(prefixes: &[IpNet]) -> Option<Vec<u8>> {
    let ends = |net: &IpNet| {
        let to = net.hosts().next().unwrap_or(net.addr());
        Some((own_address(SocketAddr::new(to, PORT))?, to))
    };
    let (from, to) = prefixes.iter().find_map(ends)?;
    empty(from, to)
}

/// Writes the header of a packet without content. `None` if the addresses are not of one version.
fn empty(from: IpAddr, to: IpAddr) -> Option<Vec<u8>> {
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let length = IPV4_HEADER as u8;
            let mut packet = vec![0x45, 0, 0, length, 0, 0, 0x40, 0, LIFETIME, NO_NEXT_HEADER];
            packet.extend([0, 0]);
            packet.extend([from.octets(), to.octets()].concat());
            put_checksum(&mut packet);
            Some(packet)
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let mut packet = vec![0x60, 0, 0, 0, 0, 0, NO_NEXT_HEADER, LIFETIME];
            packet.extend([from.octets(), to.octets()].concat());
            Some(packet)
        }
        _ => None,
    }
}

/// Returns whether a packet has no content: there is nothing in it for this host.
pub(super) fn is_empty(packet: &[u8]) -> bool {
    match packet.first() {
        Some(0x45) => packet.len() == IPV4_HEADER && packet.get(9) == Some(&NO_NEXT_HEADER),
        Some(first) if first >> 4 == 6 => {
            packet.len() == IPV6_HEADER && packet.get(6) == Some(&NO_NEXT_HEADER)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clew_packet::{Frame, LinkType, flow};

    #[test]
    fn a_packet_without_content_is_signable_and_known_by_its_header() {
        for (from, to) in [("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")] {
            let packet = empty(from.parse().unwrap(), to.parse().unwrap()).unwrap();
            assert!(is_empty(&packet));
            let flow = flow(&Frame::whole(LinkType::RAW, &packet)).unwrap();
            assert_eq!(flow.source, from.parse::<IpAddr>().unwrap());
            assert_eq!(flow.destination, to.parse::<IpAddr>().unwrap());
            let mut other = packet.clone();
            other[if packet.len() == 20 { 9 } else { 6 }] = 17;
            assert!(!is_empty(&other), "UDP");
            assert!(!is_empty(&[&packet[..], &[0]].concat()), "content");
            (0..packet.len()).for_each(|end| assert!(!is_empty(&packet[..end])));
        }
        let v4 = empty([10, 0, 0, 1].into(), [10, 0, 0, 2].into()).unwrap();
        let words = v4.chunks_exact(2);
        let sum: u32 = words.map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "of a whole header");
        assert_eq!(
            empty([10, 0, 0, 1].into(), "fd00::2".parse().unwrap()),
            None
        );
    }

    #[test]
    fn the_destination_is_a_host_of_the_prefix() {
        let packet = packet_to(&["127.0.0.0/8".parse().unwrap()]).unwrap();
        assert_eq!(packet[12..], [127, 0, 0, 1, 127, 0, 0, 1]);
        assert_eq!(packet_to(&[]), None);
    }
}
