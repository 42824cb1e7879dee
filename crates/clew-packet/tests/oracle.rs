//! Headers and checksums against `etherparse`, which shares no code with this crate.

mod common;

use std::net::IpAddr;

use clew_packet::{Flow, LinkType, flow};
use common::{Owned, packets::*};
use etherparse::{NetHeaders, PacketHeaders, TransportHeader};
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
        prop_assert_eq!(ours.source_port.zip(ours.destination_port), ports);
    }
}

fn headers(packet: &Owned) -> Result<PacketHeaders<'_>, etherparse::err::packet::SliceError> {
    PacketHeaders::from_ip_slice(&packet.bytes)
}

/// Says whether both crates know the checksum. etherparse keeps no reserved bits, of most ICMP
/// messages only what their type uses, it reads each ICMP in either version of IP, and refuses an ICMP
/// message of fixed size (a timestamp) that a trailer made longer.
fn is_comparable(packet: &Owned) -> bool {
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
    let headers = headers(packet).expect("etherparse read the original");
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
