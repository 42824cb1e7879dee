//! Community ID version 1, the join key of Zeek, Suricata, Arkime and others: a hash of addresses,
//! protocol and ports that is the same for both directions of a flow.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clew_packet::Flow;
use clew_packet::protocol::{ICMP, ICMPV6, SCTP, TCP, UDP};
use sha1::{Digest, Sha1};
use std::fmt;
use std::net::IpAddr;

/// The Community ID of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommunityId([u8; 20]);

impl CommunityId {
    /// That of a flow, under the default seed 0 or another.
    pub fn new(flow: &Flow, seed: u16) -> Self {
        let (ports, one_way) = ports(flow);
        let (source, destination) = (octets(flow.source), octets(flow.destination));
        let (mut from, mut to) = (
            (source, ports.map(|p| p.0)),
            (destination, ports.map(|p| p.1)),
        );
        if !one_way && from > to {
            std::mem::swap(&mut from, &mut to);
        }
        let mut hash = Sha1::new_with_prefix(seed.to_be_bytes());
        hash.update(&from.0);
        hash.update(&to.0);
        hash.update([flow.protocol, 0]);
        for port in [from.1, to.1].into_iter().flatten() {
            hash.update(port.to_be_bytes());
        }
        Self(hash.finalize().into())
    }

    /// Its first 51 bits: a number as exact in JSON as those that Suricata gives to flows.
    pub fn number(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> 13
    }
}

impl fmt::Display for CommunityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1:{}", STANDARD.encode(self.0))
    }
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    }
}

/// The two ports, and whether the flow is to be hashed as it stands because it has no other
/// direction.
fn ports(flow: &Flow) -> (Option<(u16, u16)>, bool) {
    let Some([a, b, c, d]) = flow.upper_start else {
        return (None, false);
    };
    match flow.protocol {
        TCP | UDP | SCTP => (
            Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))),
            false,
        ),
        ICMP => icmp(a, b, &ICMP_PAIRS),
        ICMPV6 => icmp(a, b, &ICMPV6_PAIRS),
        _ => (None, false),
    }
}

/// Types that answer each other. Everything else goes one way, with the code for the other port.
const ICMP_PAIRS: [(u8, u8); 5] = [(8, 0), (13, 14), (15, 16), (10, 9), (17, 18)];
const ICMPV6_PAIRS: [(u8, u8); 6] = [
    (128, 129),
    (133, 134),
    (135, 136),
    (130, 131),
    (139, 140),
    (144, 145),
];

fn icmp(kind: u8, code: u8, pairs: &[(u8, u8)]) -> (Option<(u16, u16)>, bool) {
    let other = pairs.iter().find_map(|&(ask, answer)| match kind {
        k if k == ask => Some(answer),
        k if k == answer => Some(ask),
        _ => None,
    });
    let ports = (u16::from(kind), u16::from(other.unwrap_or(code)));
    (Some(ports), other.is_none())
}
