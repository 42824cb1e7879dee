//! Answers of routers behind a peer, which say something of packets that this host sent.
//!
//! The kernel believes an answer if it quotes such a packet, whoever sent it. A peer may speak of what goes
//! to itself and behind it: an answer about packets to another peer is not delivered.

use clew_packet::protocol::{ICMP, ICMPV6, TCP, UDP};
use clew_packet::{Frame, LinkType, flow_and_upper};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// All on which Linux acts: unreachable or too big, source quench, redirect, time exceeded, parameter problem.
const ANSWERS: [u8; 5] = [3, 4, 5, 11, 12];

/// All of these are errors (RFC 4443 section 2.1): the kernel acts on those, too, that it does not know.
const ANSWERS_V6: std::ops::RangeInclusive<u8> = 0..=127;

/// A redirect, whose destination is no quoted packet's.
const REDIRECT_V6: u8 = 137;

/// Where the packet went that an answer is about. Returns `None` for all other packets.
pub(super) fn destination(packet: &[u8]) -> Option<IpAddr> {
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
            Some(Ipv4Addr::from(address).into())
        }
        ICMPV6 if ANSWERS_V6.contains(&of) => v6(upper.get(32..48)?),
        ICMPV6 if of == REDIRECT_V6 => v6(upper.get(24..40)?),
        _ => None,
    }
}

fn v6(bytes: &[u8]) -> Option<IpAddr> {
    let address: [u8; 16] = bytes.try_into().ok()?;
    Some(Ipv6Addr::from(address).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ipv4(protocol: u8, upper: &[u8]) -> Vec<u8> {
        let length = (20 + upper.len()) as u16;
        let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0];
        packet[2..4].copy_from_slice(&length.to_be_bytes());
        [&packet[..], &[10, 0, 0, 1, 10, 0, 0, 2], upper].concat()
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
            let expected = ANSWERS.contains(&of).then(|| "10.0.0.2".parse().unwrap());
            assert_eq!(destination(&ipv4(ICMP, &upper)), expected, "{of}");
            assert_eq!(destination(&ipv4(UDP, &upper)), None);
        }
        // A header that says that it has options: the kernel looks where it always does.
        let mut upper = [&[3, 4, 0, 0, 0, 0, 2, 88][..], &quoted].concat();
        upper[8] = 0x46;
        assert!(destination(&ipv4(ICMP, &upper)).is_some());
        (0..28).for_each(|end| assert_eq!(destination(&ipv4(ICMP, &upper[..end])), None));
    }

    #[test]
    fn of_ipv6_also_behind_extension_headers_and_in_redirects() {
        let to = Some(IpAddr::from([0xfe; 16]));
        let quoted = ipv6(UDP, &[0; 8]);
        let mut redirected = [0xfd; 16];
        redirected[8..].fill(0xfe);
        for of in 0..=u8::MAX {
            let upper = [&[of, 0, 0, 0, 0, 0, 5, 0][..], &quoted].concat();
            let options = [&[ICMPV6, 0, 1, 4, 0, 0, 0, 0][..], &upper].concat();
            let expected = match of {
                0..=127 => to,
                // Bytes of another place.
                REDIRECT_V6 => Some(IpAddr::from(redirected)),
                _ => None,
            };
            assert_eq!(destination(&ipv6(ICMPV6, &upper)), expected, "{of}");
            assert_eq!(destination(&ipv6(60, &options)), expected, "{of}");
        }
        assert_eq!(destination(&[]), None);
    }
}
