//! Signed packets and their messages as bytes: sections 4 and 5.

use crate::common::{NOW, Owned, packets::*, precursor, sender};
use clew_packet::{MessageKind, Policy, Reason, Saved, mark, read};

const BODY: [u8; 336] = [0x5a; 336];

/// An IPv4 header with router alert, UDP with a wrong checksum, `hello`, and padding.
#[rustfmt::skip]
const UDP_PACKET: [u8; 39] = [
    0x46, 0x28, 0, 37, 0xab, 0xcd, 0x40, 0, 63, 17, 0x0e, 0x97,
    192, 0, 2, 1, 198, 51, 100, 2,
    148, 4, 0, 0,
    0xc0, 0x02, 0, 53, 0, 13, 0xba, 0xad,
    b'h', b'e', b'l', b'l', b'o',
    0xee, 0xee,
];

/// Signs raw IP with a body of `5a`, and returns the message and the frame.
fn sign(packet: &[u8], policy: Policy) -> (Vec<u8>, Vec<u8>) {
    let packet = Owned::new(clew_packet::LinkType::RAW, packet.to_vec());
    let (mut message, mut out) = (Vec::new(), Vec::new());
    let keep = |bytes: &[u8], body: &mut [u8]| {
        message.extend_from_slice(bytes);
        body.fill(0x5a);
    };
    let reason = sender(policy).sign_with(&packet.frame(), Some(NOW), keep, &mut out);
    assert_eq!(reason, clew_packet::SignOutcome::Signed);
    let mut read_back = Vec::new();
    let signed = packet.with(out);
    read(&signed.frame())
        .expect("it was signed")
        .write_message(&mut read_back);
    assert_eq!(read_back, message, "sender and reader agree on the message");
    (message, signed.bytes)
}

#[test]
fn signed_packet() {
    let (_, signed) = sign(&UDP_PACKET, Policy::default());
    let total = 37 + 336 + 2 + 22 + 9;
    assert_eq!(signed.len(), total + 2);
    assert_eq!(signed[2..4], (total as u16).to_be_bytes());
    assert_eq!(checksum(&signed[..24]), 0, "header checksum");
    assert_eq!(
        signed[28..30],
        (total as u16 - 24).to_be_bytes(),
        "UDP length"
    );
    let mut upper = signed[24..total].to_vec();
    fix_checksum(&[SOURCE_4, DESTINATION_4].concat(), UDP, &mut upper);
    assert_eq!(signed[24..total], upper, "UDP checksum");
    assert_eq!(signed[32..37], *b"hello");
    assert_eq!(signed[37..373], BODY);
    assert_eq!(signed[373..375], [0xba, 0xad], "saved");
    assert_eq!(signed[375..387], [0xa0, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 7]);
    assert_eq!(
        signed[387..395],
        1_700_000_000_000_000_000u64.to_be_bytes(),
        "rounded down"
    );
    assert_eq!(
        signed[395..406],
        [1, 1, 16, 1, 1, 0x71, 1, 0xc1, 0x4c, 0x45, 0x57]
    );
    assert_eq!(signed[406..], [0xee, 0xee], "padding stays behind");
}

#[test]
fn lengths_above_follow() {
    for packet in [
        ipv4(&[], UDP, &udp(b"payload")),
        ipv6(&[], UDP, &udp(b"payload")),
    ] {
        let (_, signed) = sign(&packet, Policy::default());
        for wrap in wraps() {
            let mut out = Vec::new();
            let frame = wrap.around(&packet, b"pad");
            let fill = |_: &[u8], body: &mut [u8]| body.fill(0x5a);
            sender(Policy::default()).sign_with(&frame.frame(), Some(NOW), fill, &mut out);
            assert_eq!(frame.with(out), wrap.around(&signed, b"pad"), "{wrap:?}");
        }
    }
}

#[test]
fn marked_packet() {
    let (_, signed) = sign(&UDP_PACKET, Policy::default());
    let signed = Owned::new(clew_packet::LinkType::RAW, signed);
    let mut marked = Vec::new();
    mark(&signed.frame(), &mut marked).expect("it has a trailer");
    assert_eq!(
        marked[406..],
        [1, 0, 0, 0, 10, 1, 0xc1, 0x4c, 0x45, 0x57, 0xee, 0xee]
    );
    assert_eq!(
        read(&signed.with(marked).frame()).map(|packet| packet.marks()),
        Ok(1)
    );
}

#[test]
fn message_of_ipv4() {
    let (message, _) = sign(&UDP_PACKET, Policy::default());
    #[rustfmt::skip]
    let expected = [
        &b"clew-packet-v1\0\0"[..],
        &[1, 1, 1, 1, 0x10],                            // kind, carrier, mode, scheme, flags
        &[0xa0, 1, 2, 3, 4, 5, 6, 7],                   // group
        &[0, 0, 0, 7],                                  // epoch
        &[0x17, 0x97, 0x9c, 0xfe, 0x36, 0x2a, 0, 0],    // timestamp
        &[0, 0],                                        // no block
        &[2, 0xba, 0xad],                               // saved
        &[0, 0, 0, 30],                                 // length of fields
        &[4, 24, 0, 13, 17],                            // version, header, upper length, protocol
        &[192, 0, 2, 1, 198, 51, 100, 2],               // addresses
        &[148, 4, 0, 0],                                // options
        &[0xc0, 0x02, 0, 53, 0, 13, 0, 0],              // UDP without checksum
        b"hello",
    ]
    .concat();
    assert_eq!(message, expected);
}

#[test]
fn message_of_ipv6() {
    let extensions = [
        options(HOP_BY_HOP, &[5, 2, 0, 0]),
        routing(0, 2, &[DESTINATION_6, FINAL_6]),
        options(DESTINATION, &[0, 0xc9, 2, 7, 7, 0x3e, 1, 5, 1, 1, 0, 4, 0]),
    ];
    let packet = ipv6_to(FINAL_6, &extensions, ICMPV6, &icmp(128, b"ping"));
    let (message, _) = sign(
        &packet,
        Policy {
            nat: true,
            ..Policy::default()
        },
    );
    #[rustfmt::skip]
    let expected = [
        &[0, 0][..],                                    // no block
        &[0],                                           // nothing saved
        &[0, 0, 0, 56],                                 // length of fields
        &[6, 0, 12, 58],                                // version, upper length, protocol
        &[0; 16][..], &FINAL_6,
        &[0, 6], &[0xc9, 2, 7, 7, 4, 0],                // options that neither pad nor change
        &[128, 0, 0, 0, 0, 0, 0, 1],                    // without checksum and identifier
        b"ping",
    ]
    .concat();
    assert_eq!(message[41..], expected);
    assert_eq!(message[16..21], [1, 1, 1, 1, 1]);
}

/// A signature over a record of another kind is none of the packet that shows it.
#[test]
fn only_messages_of_packets_are_accepted() {
    let packet = Owned::new(clew_packet::LinkType::RAW, UDP_PACKET.to_vec());
    let verified = |kind: u8| {
        let sign_as = |message: &[u8], body: &mut [u8]| {
            let mut message = message.to_vec();
            message[16] = kind;
            precursor().sign(&[&message], false, body);
        };
        let mut out = Vec::new();
        sender(Policy::default()).sign_with(&packet.frame(), Some(NOW), sign_as, &mut out);
        packet.with(out).verify()
    };
    assert_eq!(verified(MessageKind::Packet as u8), Reason::Ok);
    let reserved = [
        MessageKind::CallRecord,
        MessageKind::LogLine,
        MessageKind::File,
    ];
    assert_eq!(reserved.map(|kind| kind as u8), [2, 3, 4]);
    for kind in [0, 2, 3, 4, 5, 255] {
        assert_eq!(verified(kind), Reason::BadSignature, "{kind}");
    }
}

/// The signed form of an upper layer over IPv4.
fn upper(protocol: u8, upper: &[u8], policy: Policy) -> Vec<u8> {
    let (message, _) = sign(&ipv4(&[], protocol, upper), policy);
    message[message.len() - upper.len()..].to_vec()
}

/// An upper layer with these bytes zeroed.
fn without(mut upper: Vec<u8>, zeroed: &[usize]) -> Vec<u8> {
    zeroed.iter().for_each(|at| upper[*at] = 0);
    upper
}

#[test]
fn upper_layers() {
    let plain = Policy::default();
    let nat = Policy { nat: true, ..plain };
    let segment = tcp(0x18, &[], b"x");
    assert_eq!(
        upper(TCP, &segment, plain),
        without(segment.clone(), &[16, 17])
    );
    assert_eq!(
        upper(TCP, &segment, nat),
        without(segment.clone(), &[0, 1, 16, 17])
    );
    assert_eq!(upper(TCP, &segment[..19], nat), segment[..19], "too short");
    let datagram = udp(b"x");
    assert_eq!(
        upper(UDP, &datagram, nat),
        without(datagram.clone(), &[0, 1, 6, 7])
    );
    assert_eq!(upper(UDP, &datagram[..7], nat), datagram[..7], "too short");
    for kind in [0, 8, 13, 14, 15, 16, 17, 18] {
        let query = icmp(kind, b"x");
        assert_eq!(
            upper(ICMP, &query, nat),
            without(query.clone(), &[2, 3, 4, 5])
        );
    }
    // The shortest that are known, and one byte less.
    for (protocol, shortest) in [
        (TCP, tcp(2, &[], b"")),
        (UDP, udp(b"")),
        (ICMP, icmp(8, b"")),
    ] {
        let zeroed: &[usize] = match protocol {
            TCP => &[0, 1, 16, 17],
            UDP => &[0, 1, 6, 7],
            _ => &[2, 3, 4, 5],
        };
        assert_eq!(
            upper(protocol, &shortest, nat),
            without(shortest.clone(), zeroed)
        );
        let shorter = &shortest[..shortest.len() - 1];
        assert_eq!(upper(protocol, shorter, nat), shorter);
    }
    let error = icmp(3, b"x");
    assert_eq!(upper(ICMP, &error, nat), without(error.clone(), &[2, 3]));
    assert_eq!(upper(132, &segment, nat), segment);
    assert_eq!(
        upper(ICMPV6, &error, nat),
        error,
        "ICMPv6 over IPv4 is not known"
    );
}

#[test]
fn upper_layers_of_ipv6() {
    let nat = Policy {
        nat: true,
        ..Policy::default()
    };
    let check = |query: &[u8], zeroed: &[usize]| {
        let (message, _) = sign(&ipv6(&[], ICMPV6, query), nat);
        assert_eq!(
            message[message.len() - query.len()..],
            without(query.to_vec(), zeroed)
        );
    };
    check(&icmp(128, b""), &[2, 3, 4, 5]);
    check(&icmp(129, b"x"), &[2, 3, 4, 5]);
    check(&icmp(8, b""), &[2, 3]);
    check(&icmp(128, b"")[..7], &[]);
}

#[test]
fn tolerant_tcp() {
    let tolerant = Policy {
        tolerant: true,
        ..Policy::default()
    };
    let check = |flags: u8, options: &[u8], zeroed: &[usize]| {
        let mut segment = tcp(flags, options, b"x");
        segment[12] |= 1;
        let mut expected = without(segment.clone(), &[16, 17]);
        expected[12] &= 0xfe;
        expected[13] &= 0x3f;
        assert_eq!(upper(TCP, &segment, tolerant), without(expected, zeroed));
    };
    check(0xc2, &[2, 4, 5, 0xb4], &[22, 23]);
    check(0x02, &[1, 2, 4, 5, 0xb4, 2, 3, 9], &[23, 24, 27]);
    check(0x11, &[2, 4, 5, 0xb4], &[]);
    check(0x02, &[4, 2, 2, 4, 5, 0xb4, 1, 0], &[24, 25]);
    check(0x02, &[0, 2, 4, 5, 0xb4, 0, 0, 0], &[]);
    check(0x02, &[2, 5, 5, 0xb4], &[]);
    check(0x02, &[3, 1, 2, 4, 5, 0xb4, 0, 0], &[]);
}

#[test]
fn tcp_header_longer_than_the_segment() {
    let tolerant = Policy {
        tolerant: true,
        ..Policy::default()
    };
    let mut segment = tcp(2, &[2, 4, 5, 0xb4], &[]);
    segment[12] = 0xf0;
    assert_eq!(
        upper(TCP, &segment, tolerant),
        without(segment.clone(), &[16, 17, 22, 23])
    );
    segment[12] = 0x10;
    assert_eq!(
        upper(TCP, &segment, tolerant),
        without(segment.clone(), &[16, 17])
    );
}

#[test]
fn ipv4_options() {
    let check = |options: &[u8], expected: &[u8]| {
        let (message, _) = sign(&ipv4(options, 132, b""), Policy::default());
        assert_eq!(message[message.len() - options.len()..], *expected);
    };
    check(&[1, 130, 3, 9], &[1, 130, 3, 9]);
    check(
        &[133, 2, 134, 3, 7, 148, 2, 149, 2, 1, 1, 1],
        &[133, 2, 134, 3, 7, 148, 2, 149, 2, 1, 1, 1],
    );
    check(&[7, 7, 4, 1, 2, 3, 4, 1], &[0, 0, 0, 0, 0, 0, 0, 1]);
    check(&[0, 7, 3, 9], &[0, 7, 3, 9]);
    check(&[7, 2, 1, 1], &[0, 0, 1, 1]);
    check(&[1, 68, 4, 9], &[1, 0, 0, 0]);
    check(&[130, 1, 130, 2], &[0, 0, 0, 0]);
}

#[test]
fn ipv6_destination_options() {
    let check = |body: &[u8], expected: &[u8]| {
        let packet = ipv6(&[(DESTINATION, body.to_vec())], 59, b"");
        let (message, _) = sign(&packet, Policy::default());
        assert_eq!(
            message[message.len() - expected.len() - 2..][..2],
            [0, expected.len() as u8]
        );
        assert_eq!(message[message.len() - expected.len()..], *expected);
    };
    check(&[0xc9, 4, 1, 2, 3, 4], &[0xc9, 4, 1, 2, 3, 4]);
    check(&[0xe9, 4, 1, 2, 3, 4], &[]);
    check(&[0, 4, 1, 9, 1, 0], &[4, 1, 9]);
    check(&[4, 1, 9, 5, 2, 0], &[4, 1, 9]);
    check(&[1, 4, 0, 0, 0, 0], &[]);
}

#[test]
fn final_destination_of_each_routing_header() {
    let check = |extension: Extension, expected: [u8; 16]| {
        let (message, _) = sign(&ipv6_to(expected, &[extension], 59, b""), Policy::default());
        assert_eq!(message[message.len() - 18..message.len() - 2], expected);
    };
    check(routing(0, 1, &[DESTINATION_6, FINAL_6]), FINAL_6);
    check(routing(2, 1, &[FINAL_6]), FINAL_6);
    check(routing(4, 1, &[FINAL_6, DESTINATION_6]), FINAL_6);
    check(routing(0, 0, &[SOURCE_6, FINAL_6]), DESTINATION_6);
    check(routing(253, 0, &[FINAL_6]), DESTINATION_6);
}

#[test]
fn values_of_the_original_are_saved() {
    let saved = |ip: &[u8]| {
        let (_, signed) = sign(ip, Policy::default());
        let signed = Owned::new(clew_packet::LinkType::RAW, signed);
        read(&signed.frame())
            .expect("it was signed")
            .trailer()
            .saved
    };
    let mut packet = ipv4(&[], UDP, &udp(b"payload"));
    assert_eq!(saved(&packet), Saved::default());
    packet[10..12].copy_from_slice(&[1, 2]);
    packet[24..26].copy_from_slice(&[3, 4]);
    packet[26..28].copy_from_slice(&[0, 0]);
    let all = Saved {
        ipv4_checksum: Some(0x102),
        udp_length: Some(0x304),
        l4_checksum: Some(0),
    };
    assert_eq!(saved(&packet), all);
}

#[test]
fn udp_checksum_that_computes_to_zero_is_sent_as_ones() {
    // The payload is the complement of the sum of everything else.
    let mut packet = ipv4(&[], UDP, &udp(&[0, 0]));
    let complement = [packet[26], packet[27]];
    packet[28..30].copy_from_slice(&complement);
    packet[26..28].copy_from_slice(&[0xff, 0xff]);
    let (_, signed) = sign(&packet, Policy::default());
    let signed = Owned::new(clew_packet::LinkType::RAW, signed);
    assert_eq!(
        read(&signed.frame()).map(|packet| packet.trailer().saved),
        Ok(Saved::default())
    );
    assert_eq!(
        signed.strip().0.map(|original| original.bytes),
        Some(packet)
    );
}
