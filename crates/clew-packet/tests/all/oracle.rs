//! Headers and checksums against `etherparse`, which shares no code with this crate.

use std::net::IpAddr;

use crate::common::{Owned, packets::*};
use clew_packet::{Flow, LinkType, flow};
use etherparse::{NetHeaders, NetSlice, PacketHeaders, SlicedPacket, TransportHeader};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4000) })]

    #[test]
    fn checksums(original in ips(), policy in policies()) {
        let mut packet = Owned::new(LinkType::RAW, original);
        // A segment too short for its header becomes a longer one by its trailer, but no checksum.
        if !is_comparable(&packet) {
            return Ok(());
        }
        for _signed_then_marked_then_raised in 0..3 {
            let (Some(next), _) = packet.sign(policy) else { return Ok(()) };
            check_checksums(&next)?;
            packet = next;
        }
    }

    #[test]
    fn addresses_and_ports(original in ips()) {
        let packet = Owned::new(LinkType::RAW, original);
        let (Ok(ours), Ok(theirs)) = (flow(&packet.frame()), headers(&packet)) else {
            return Ok(());
        };
        let source = match theirs.net.unwrap() {
            NetHeaders::Ipv4(header, _) => IpAddr::from(header.source),
            NetHeaders::Ipv6(header, _) => IpAddr::from(header.source),
            NetHeaders::Arp(_) => unreachable!("it was read as IP"),
        };
        prop_assert_eq!(ours.source, source);
        let ports = match theirs.transport {
            Some(TransportHeader::Tcp(tcp)) => Some((tcp.source_port, tcp.destination_port)),
            Some(TransportHeader::Udp(udp)) => Some((udp.source_port, udp.destination_port)),
            _ => return Ok(()),
        };
        if matches!(ours.protocol, TCP | UDP) {
            prop_assert_eq!(ours.source_port.zip(ours.destination_port), ports);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

    #[test]
    fn descent(ip in ips(), tags in 0u8..=3) {
        let ethernet = Wrap::Ethernet { tags }.around(&ip, &[0; 3]);
        let cooked = Wrap::Sll { tags: 0 }.around(&ip, &[0; 3]);
        for (frame, theirs) in [
            (&ethernet, SlicedPacket::from_ethernet(&ethernet.bytes)),
            (&cooked, SlicedPacket::from_linux_sll(&cooked.bytes)),
        ] {
            let (Ok(ours), Ok(theirs)) = (flow(&frame.frame()), theirs) else { continue };
            let (source, destination) = match theirs.net {
                Some(NetSlice::Ipv4(slice)) => {
                    (slice.header().source_addr().into(), slice.header().destination_addr().into())
                }
                Some(NetSlice::Ipv6(slice)) => {
                    (slice.header().source_addr().into(), slice.header().destination_addr().into())
                }
                _ => (IpAddr::from([0; 4]), IpAddr::from([0; 4])),
            };
            prop_assert_eq!(ours.source, source);
            prop_assert!(ours.destination == destination || ours.destination == IpAddr::from(FINAL_6));
        }
    }
}

fn headers(packet: &Owned) -> Result<PacketHeaders<'_>, etherparse::err::packet::SliceError> {
    PacketHeaders::from_ip_slice(&packet.bytes)
}

/// Says whether both crates know the checksum. etherparse keeps no reserved bits, of most ICMP
/// messages only what their type uses; it reads each ICMP in either version of IP, and what stands
/// behind an authentication header; it refuses an ICMP message of fixed size (a timestamp) that a
/// trailer made longer.
fn is_comparable(packet: &Owned) -> bool {
    let protocol = flow(&packet.frame()).map(|flow| flow.protocol);
    if !matches!(protocol, Ok(TCP | UDP | ICMP | ICMPV6)) {
        return false;
    }
    let Ok(headers) = headers(packet) else {
        return false;
    };
    let v4 = matches!(headers.net, Some(NetHeaders::Ipv4(..)));
    let Some(transport) = headers.transport else {
        return false;
    };
    let known = match &transport {
        TransportHeader::Tcp(_) | TransportHeader::Udp(_) => true,
        TransportHeader::Icmpv4(header) => v4 && header.fixed_payload_size().is_none(),
        TransportHeader::Icmpv6(_) => !v4,
        _ => false,
    };
    let mut written = Vec::new();
    transport
        .write(&mut written)
        .expect("a vector takes everything");
    written.extend(headers.payload.slice());
    known && packet.bytes.ends_with(&written)
}

fn check_checksums(packet: &Owned) -> Result<(), TestCaseError> {
    // etherparse refuses an ICMP timestamp of more than 20 bytes.
    let Ok(headers) = headers(packet) else {
        return Ok(());
    };
    let payload = headers.payload.slice();
    let transport = headers.transport.expect("there was one in the original");
    let mut computed = transport.clone();
    match headers.net.expect("it was read as IP") {
        NetHeaders::Ipv4(header, _) => {
            prop_assert_eq!(header.header_checksum, header.calc_header_checksum());
            computed
                .update_checksum_ipv4(&header, payload)
                .expect("it fits");
        }
        NetHeaders::Ipv6(mut header, _) => {
            // etherparse does not follow routing headers.
            if let Ok(Flow {
                destination: IpAddr::V6(last),
                ..
            }) = flow(&packet.frame())
            {
                header.destination = last.octets();
            }
            computed
                .update_checksum_ipv6(&header, payload)
                .expect("it fits");
        }
        NetHeaders::Arp(_) => unreachable!("it was read as IP"),
    }
    prop_assert_eq!(transport, computed);
    Ok(())
}
