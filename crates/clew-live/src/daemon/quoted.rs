//! Answers of routers behind a peer, which say something of packets that this host sent.
//!
//! The kernel believes an answer if it quotes such a packet, whoever sent it. A peer may speak of what goes
//! to itself and behind it: an answer about packets to another peer is not delivered.

use clew_packet::protocol::{DESTINATION, FRAGMENT, HOP_BY_HOP, ICMP, ICMPV6, ROUTING, TCP, UDP};
use clew_packet::{Frame, LinkType, flow_and_upper};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// All on which Linux acts: unreachable or too big, source quench, redirect, time exceeded, parameter problem.
const ANSWERS: [u8; 5] = [3, 4, 5, 11, 12];

/// All of these are errors (RFC 4443 section 2.1): the kernel acts on those, too, that it does not know.
const ANSWERS_V6: std::ops::RangeInclusive<u8> = 0..=127;

/// A redirect, whose destination is no quoted packet's.
const REDIRECT_V6: u8 = 137;

/// The authentication header of IPsec.
const AUTHENTICATION: u8 = 51;

/// Where the packet went that an answer is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    /// To that address.
    To(IpAddr),
    /// By a routing header, from which Linux takes another address.
    Routed,
}

/// Reads what an answer quotes. Returns `None` for all other packets.
pub(super) fn about(packet: &[u8]) -> Option<About> {
    let protocol = match packet.first()? >> 4 {
        4 => packet.get(9),
        _ => packet.get(6),
    };
    // Nearly all packets end here.
    if matches!(protocol, Some(&TCP | &UDP)) {
        return None;
    }
    let (flow, upper) = flow_and_upper(&Frame::whole(LinkType::RAW, packet)).ok()?;
    let of = *upper.first()?;
    // The kernel reads the same places of the quoted header, whatever its length says.
    match flow.protocol {
        ICMP if ANSWERS.contains(&of) => {
            let address: [u8; 4] = upper.get(24..28)?.try_into().ok()?;
            Some(About::To(Ipv4Addr::from(address).into()))
        }
        ICMPV6 if ANSWERS_V6.contains(&of) && is_routed(upper.get(8..)?) => Some(About::Routed),
        ICMPV6 if ANSWERS_V6.contains(&of) => v6(upper.get(32..48)?),
        ICMPV6 if of == REDIRECT_V6 => v6(upper.get(24..40)?),
        _ => None,
    }
}

fn v6(bytes: &[u8]) -> Option<About> {
    let address: [u8; 16] = bytes.try_into().ok()?;
    Some(About::To(Ipv6Addr::from(address).into()))
}

/// Whether a quoted packet of IPv6 has a routing header, behind whatever other extension headers.
fn is_routed(quoted: &[u8]) -> bool {
    routing_header(quoted).is_some()
}

/// Finds a routing header. Returns `None` if there is none within what is quoted.
fn routing_header(quoted: &[u8]) -> Option<usize> {
    let (mut next, mut at) = (*quoted.get(6)?, 40);
    loop {
        let header = quoted.get(at..)?;
        let units = || Some(usize::from(*header.get(1)?));
        at += match next {
            ROUTING => return Some(at),
            HOP_BY_HOP | DESTINATION => (units()? + 1) * 8,
            AUTHENTICATION => (units()? + 2) * 4,
            FRAGMENT => 8,
            _ => return None,
        };
        next = *header.first()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_packets;

    fn ipv4(protocol: u8, upper: &[u8]) -> Vec<u8> {
        test_packets::ipv4([10, 0, 0, 1], [10, 0, 0, 2], protocol, upper)
    }

    fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
        let length = (payload.len() as u16).to_be_bytes();
        let mut packet = vec![0x60, 0, 0, 0, length[0], length[1], next, 64];
        packet.extend([0xfd; 16]);
        packet.extend([0xfe; 16]);
        [&packet[..], payload].concat()
    }

    #[test]
    fn an_answer_tells_where_the_packet_went_that_it_quotes() {
        let quoted = ipv4(UDP, &[0; 8]);
        for of in 0..=u8::MAX {
            let upper = [&[of, 4, 0, 0, 0, 0, 2, 88][..], &quoted].concat();
            let expected = ANSWERS
                .contains(&of)
                .then(|| About::To("10.0.0.2".parse().unwrap()));
            assert_eq!(about(&ipv4(ICMP, &upper)), expected, "{of}");
            assert_eq!(about(&ipv4(UDP, &upper)), None);
        }
        // A header that says that it has options: the kernel looks where it always does.
        let mut upper = [&[3, 4, 0, 0, 0, 0, 2, 88][..], &quoted].concat();
        upper[8] = 0x46;
        assert!(about(&ipv4(ICMP, &upper)).is_some());
        (0..28).for_each(|end| assert_eq!(about(&ipv4(ICMP, &upper[..end])), None));
    }

    #[test]
    fn of_ipv6_also_behind_extension_headers_and_in_redirects() {
        let to = Some(About::To(IpAddr::from([0xfe; 16])));
        let quoted = ipv6(UDP, &[0; 8]);
        let mut redirected = [0xfd; 16];
        redirected[8..].fill(0xfe);
        for of in 0..=u8::MAX {
            let upper = [&[of, 0, 0, 0, 0, 0, 5, 0][..], &quoted].concat();
            let options = [&[ICMPV6, 0, 1, 4, 0, 0, 0, 0][..], &upper].concat();
            let expected = match of {
                0..=127 => to,
                // Bytes of another place.
                REDIRECT_V6 => Some(About::To(IpAddr::from(redirected))),
                _ => None,
            };
            assert_eq!(about(&ipv6(ICMPV6, &upper)), expected, "{of}");
            assert_eq!(about(&ipv6(60, &options)), expected, "{of}");
        }
        assert_eq!(about(&[]), None);
    }

    /// Linux takes the address of a segment for the destination, behind whatever other headers that it skips.
    #[test]
    fn an_answer_whose_quote_has_a_routing_header_tells_nothing() {
        let answer = |first: u8, chain: &[u8]| {
            let quoted = ipv6(first, chain);
            ipv6(ICMPV6, &[&[1, 4, 0, 0, 0, 0, 0, 0][..], &quoted].concat())
        };
        let segments = [&[UDP, 2, 4, 0, 0, 0, 0, 0][..], &[0xfc; 16], &[0; 8]].concat();
        let long = |next: u8, length: u8| [&[next, length][..], &[0; 14]].concat();
        let chains = [
            (HOP_BY_HOP, long(ROUTING, 1)),
            (DESTINATION, long(ROUTING, 1)),
            (AUTHENTICATION, long(ROUTING, 2)),
            (FRAGMENT, long(ROUTING, 0)[..8].to_vec()),
            (
                HOP_BY_HOP,
                [long(FRAGMENT, 1), long(ROUTING, 0)[..8].to_vec()].concat(),
            ),
        ];
        assert_eq!(about(&answer(ROUTING, &segments)), Some(About::Routed));
        let to = Some(About::To(IpAddr::from([0xfe; 16])));
        for (first, headers) in chains {
            let chain = [&headers[..], &segments].concat();
            assert_eq!(
                about(&answer(first, &chain)),
                Some(About::Routed),
                "{first}"
            );
        }
        assert_eq!(about(&answer(UDP, &segments)), to);
        assert_eq!(about(&answer(HOP_BY_HOP, &long(UDP, 1))), to);
        assert_eq!(about(&answer(HOP_BY_HOP, &[])), to);
    }
}
