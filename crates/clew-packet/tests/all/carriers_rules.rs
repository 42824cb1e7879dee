//! Every rule of `spec/carriers.md` 1 to 2.3, broken.

use crate::common::carriers::{BOTH, around, flow, outer, signed};
use crate::common::packets::*;
use crate::common::trailers::raw;
use clew_packet::{Carrier, Mode, OuterAddresses, Policy, Reason, SignedPacket, datagram, read};
use proptest::{collection::vec, prelude::*};

/// Offsets in a datagram without a cookie.
const VERSION: usize = 4;
const TYPE: usize = 5;
const FLAGS: usize = 6;
const MODE: usize = 7;
const LENGTH: usize = 8;
const SCHEME: usize = 30;
const CARRIAGE: usize = 31;
const CONTENT: usize = 32;

/// A datagram of mode `each` with an IPv4 packet.
fn good(carrier: Carrier) -> Vec<u8> {
    signed(&flow(4, 1), carrier, Mode::Each, Policy::default()).remove(0)
}

fn reason(payload: &[u8]) -> Option<Reason> {
    let packet = flow(4, 1).remove(0);
    let by_frame = read(&around(&packet, payload).frame()).err();
    let by_payload = SignedPacket::of_datagram(payload, &outer(&packet)).err();
    assert_eq!(by_frame, by_payload);
    by_payload
}

fn changed(carrier: Carrier, at: usize, value: u8) -> Option<Reason> {
    let mut payload = good(carrier);
    payload[at] = value;
    reason(&payload)
}

#[test]
fn shim_and_head() {
    for carrier in BOTH {
        assert_eq!(reason(&good(carrier)), None);
        for (at, values, expected) in [
            (VERSION, &[0, 2, 255][..], Reason::UnknownVersion),
            (TYPE, &[0, 5, 0x7f, 0x80, 0x85], Reason::UnknownCarrier),
            (TYPE, &[0x84], Reason::ReservedBits),
            (MODE, &[0, 4, 255], Reason::UnknownMode),
            (FLAGS, &[4, 8, 16, 64, 128], Reason::ReservedBits),
            (SCHEME, &[0, 3], Reason::UnknownScheme),
            (CARRIAGE, &[0, 2, 3, 4], Reason::UnknownCarriage),
            (LENGTH, &[0xff], Reason::BadCarrierLength),
        ] {
            for value in values {
                assert_eq!(changed(carrier, at, *value), Some(expected), "{at} {value}");
            }
        }
        // nat and tolerant are not of the layout, and incremental is of the lengths.
        assert_eq!(changed(carrier, FLAGS, 3), None);
        let incremental = changed(carrier, FLAGS, 32);
        assert_eq!(incremental, Some(Reason::BadCarrierLength));
    }
}

#[test]
fn the_first_rule_that_fails_names_the_reason() {
    let mut payload = good(Carrier::UdpTunnel);
    let mut expect = |at: usize, value: u8, expected| {
        payload[at] = value;
        assert_eq!(reason(&payload), Some(expected));
    };
    expect(CONTENT, 0, Reason::BadCarrier);
    expect(SCHEME, 0, Reason::UnknownScheme);
    expect(CARRIAGE, 0, Reason::UnknownCarriage);
    expect(FLAGS, 4, Reason::ReservedBits);
    expect(MODE, 0, Reason::UnknownMode);
    expect(LENGTH, 0xff, Reason::BadCarrierLength);
    expect(TYPE, 9, Reason::UnknownCarrier);
    expect(VERSION, 0, Reason::UnknownVersion);
}

#[test]
fn every_length_but_one_is_refused() {
    for carrier in BOTH {
        let payload = good(carrier);
        for length in 4..payload.len() {
            let cut = reason(&payload[..length]);
            assert_eq!(cut, Some(Reason::BadCarrierLength), "{length}");
        }
        let longer = [&payload[..], &[0]].concat();
        assert_eq!(reason(&longer), Some(Reason::BadCarrierLength));
        // A cookie of which bytes lack.
        let mut cookie = Vec::new();
        datagram::write(&payload, Some(&[5; 16]), &mut cookie);
        for length in 6..22 {
            assert_eq!(reason(&cookie[..length]), Some(Reason::BadCarrierLength));
        }
        assert_eq!(reason(&cookie), None);
    }
    let mut answer = Vec::new();
    datagram::write_cookie(&[1; 16], &[2; 16], &mut answer);
    assert_eq!(reason(&answer), Some(Reason::Cookie));
    assert_eq!(reason(&answer[..37]), Some(Reason::BadCarrierLength));
    answer.push(0);
    assert_eq!(reason(&answer), Some(Reason::BadCarrierLength));
}

#[test]
fn the_udp_length_is_that_of_the_ip_payload() {
    let payload = good(Carrier::UdpTunnel);
    let mut frame = around(&flow(4, 1)[0], &payload);
    frame.bytes[25] -= 1;
    assert_eq!(read(&frame.frame()).err(), Some(Reason::BadCarrierLength));
}

#[test]
fn options_stand_in_no_outer_header() {
    for carrier in BOTH {
        let upper = udp(&good(carrier));
        for packet in [
            ipv4(&[1, 1, 1, 0], UDP, &upper),
            ipv6(&[options(HOP_BY_HOP, &[])], UDP, &upper),
        ] {
            assert_eq!(read(&raw(packet).frame()).err(), Some(Reason::BadCarrier));
        }
    }
}

/// The datagram with another content of the same rest.
fn with_content(carrier: Carrier, content: &[u8]) -> Vec<u8> {
    let payload = good(carrier);
    let was = usize::from(u16::from_be_bytes([payload[LENGTH], payload[LENGTH + 1]]));
    let mut out = payload[..CONTENT].to_vec();
    out[LENGTH..LENGTH + 2].copy_from_slice(&(content.len() as u16).to_be_bytes());
    out.extend(content);
    out.extend(&payload[CONTENT + was..]);
    out
}

#[test]
fn a_tunnel_holds_one_packet_that_could_be_signed() {
    let of = |content: &[u8]| reason(&with_content(Carrier::UdpTunnel, content));
    let upper = udp(b"data");
    let (four, six) = (ipv4(&[], UDP, &upper), ipv6(&[], UDP, &upper));
    for packet in [
        four.clone(),
        six.clone(),
        ipv4(&[1, 1, 1, 0], UDP, &upper),
        ipv6(
            &[options(HOP_BY_HOP, &[]), options(DESTINATION, &[])],
            UDP,
            &upper,
        ),
        ipv6(&[routing(0, 0, &[FINAL_6])], UDP, &upper),
        ipv4(&[], 99, &[]),
    ] {
        assert_eq!(of(&packet), None);
    }
    let with = |packet: &[u8], at: usize, value: u8| {
        let mut packet = packet.to_vec();
        packet[at] = value;
        packet
    };
    for packet in [
        Vec::new(),
        four[..19].to_vec(),
        six[..39].to_vec(),
        [&four[..], &[0]].concat(),
        four[..four.len() - 1].to_vec(),
        [&six[..], &[0]].concat(),
        with(&four, 0, 0x55),
        with(&four, 0, 0x44),
        with(&four, 6, 0x20),
        with(&four, 3, 0),
        with(&six, 6, FRAGMENT),
        ipv6_to(FINAL_6, &[routing(0, 1, &[FINAL_6])], UDP, &upper),
        ipv6_to(FINAL_6, &[routing(4, 1, &[FINAL_6])], UDP, &upper),
        ipv6(&[routing(3, 1, &[FINAL_6])], UDP, &upper),
    ] {
        assert_eq!(of(&packet), Some(Reason::BadCarrier), "{packet:02x?}");
    }
}

#[test]
fn transport_holds_no_extension_header() {
    let of = |content: &[u8], outer: &OuterAddresses| {
        let payload = with_content(Carrier::UdpTransport, content);
        SignedPacket::of_datagram(&payload, outer).err()
    };
    let four = outer(&flow(4, 1)[0]);
    let six = outer(&flow(6, 1)[0]);
    for number in 0..=u8::MAX {
        let header = [0, 43, 44, 59, 60].contains(&number) || number >= 139;
        let expected = header.then_some(Reason::BadCarrier);
        for outer in [&four, &six] {
            assert_eq!(of(&[number, 1, 2, 3], outer), expected, "{number}");
        }
    }
    assert_eq!(of(&[], &four), Some(Reason::BadCarrier));
    assert_eq!(of(&[99], &four), None, "an IPv4 header alone is a packet");
    assert_eq!(
        of(&[99], &six),
        Some(Reason::BadCarrier),
        "zero is a sign of offload"
    );
    let mixed = OuterAddresses {
        destination: six.destination,
        ..four
    };
    assert_eq!(of(&[6, 1], &mixed), Some(Reason::BadCarrier));
}

#[test]
fn the_block_comes_after_the_content_in_both_carriages() {
    for coded in [false, true] {
        let policy = Policy {
            coded,
            ..Policy::default()
        };
        let packets = flow(4, 12);
        for payload in signed(&packets, Carrier::UdpTunnel, Mode::Tree, policy) {
            let content = usize::from(u16::from_be_bytes([payload[LENGTH], payload[LENGTH + 1]]));
            let block = CONTENT + content;
            assert_eq!(payload[block..block + 16], [9; 16]);
            // A count of zero, and an index beyond.
            for (at, value) in [(block + 19, 0), (block + 17, 12)] {
                let mut bad = payload.clone();
                bad[at] = value;
                assert_eq!(reason(&bad), Some(Reason::BadBlock));
            }
            if coded {
                let mut bad = payload.clone();
                let k = block + 22 + 16 * usize::from(payload[block + 21]);
                bad[k..k + 2].fill(0);
                assert_eq!(reason(&bad), Some(Reason::BadCode));
            }
        }
    }
}

#[test]
fn no_datagram_is_longer_than_udp() {
    for carrier in BOTH {
        let content = match carrier {
            Carrier::UdpTransport => [&[99][..], &[0; 65_534]].concat(),
            _ => ipv4(&[], 99, &[0; 65_515]),
        };
        let payload = with_content(carrier, &content);
        let read = SignedPacket::of_datagram(&payload, &outer(&flow(4, 1)[0]));
        assert_eq!(read.err(), Some(Reason::BadCarrierLength));
    }
}

proptest! {
    #[test]
    fn any_bytes_are_refused_or_read(bytes in vec(any::<u8>(), 0..600), kind in 0u8..8, mode in 0u8..5) {
        let mut payload = vec![0xc1, 0x6c, 0x65, 0x77, 1, kind, 0, mode, 0, 40];
        payload.extend(bytes);
        let packet = flow(4, 1).remove(0);
        let _ = datagram::parse(&payload);
        let _ = datagram::echo(&payload);
        let _ = read(&around(&packet, &payload).frame());
        let _ = SignedPacket::of_datagram(&payload, &outer(&packet));
    }

    #[test]
    fn a_changed_byte_never_leads_to_another_packet(at: prop::sample::Index, bit in 0u8..8, six: bool) {
        let packets = flow(if six { 6 } else { 4 }, 1);
        for carrier in BOTH {
            let payload = signed(&packets, carrier, Mode::Each, Policy::default()).remove(0);
            let outer = outer(&packets[0]);
            let mut changed = payload.clone();
            changed[at.index(payload.len())] ^= 1 << bit;
            let delivered = |payload: &[u8]| {
                let packet = SignedPacket::of_datagram(payload, &outer).ok()?;
                let mut message = Vec::new();
                packet.write_message(&mut message);
                Some((message, packet.trailer().body.to_vec(), packet.flow()))
            };
            // The same message: then the same packet is delivered, but for fields that routers change.
            if let (Some(one), Some(other)) = (delivered(&payload), delivered(&changed))
                && one.0 == other.0 {
                prop_assert_eq!(one.2, other.2);
            }
        }
    }

    #[test]
    fn packets_that_are_signed_arrive(packet in ips()) {
        let policy = Policy::default();
        for carrier in BOTH {
            let sender = crate::common::sender(policy).with_carrier(carrier);
            let frame = clew_packet::Frame::whole(clew_packet::LinkType::RAW, &packet);
            let mut payload = Vec::new();
            let body = |_: &[u8], body: &mut [u8]| body.fill(0x5a);
            let outcome = sender.sign_with(&frame, None, body, &mut payload);
            prop_assert_eq!(outcome == clew_packet::SignOutcome::Signed, !payload.is_empty());
            if payload.is_empty() {
                continue;
            }
            let read = SignedPacket::of_datagram(&payload, &outer(&packet)).unwrap();
            let (mut out, mut message, mut again) = (Vec::new(), Vec::new(), Vec::new());
            read.write_packet(&mut out);
            read.write_message(&mut message);
            // What was delivered is signable, and signing it signs the same.
            let frame = clew_packet::Frame::whole(clew_packet::LinkType::RAW, &out);
            let keep = |message: &[u8], body: &mut [u8]| {
                again = message.to_vec();
                body.fill(0x5a);
            };
            prop_assert_eq!(sender.sign_with(&frame, None, keep, &mut Vec::new()), outcome);
            prop_assert_eq!(&again, &message);
            if carrier == Carrier::UdpTunnel {
                prop_assert_eq!(out, packet.clone(), "its checksums were correct");
            }
        }
    }
}
