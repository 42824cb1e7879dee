//! Packets in UDP datagrams: signed, read, verified, delivered.

use crate::common::carriers::{BOTH, around, flow, outer, signed};
use crate::common::packets::*;
use crate::common::{NOW, Owned, receiver, sender, verify};
use clew_packet::{
    Acceptance, Carriage, Carrier, Conclusion, Frame, LinkType, Mode, OuterAddresses, Pending,
    Policy, Reason, Received, Receiver, SignOutcome, SignedPacket, Stripped, Verdict, Windows,
    datagram, flow as flow_of, read,
};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

const MODES: [Mode; 3] = [Mode::Each, Mode::Window, Mode::Tree];

/// All datagrams through one live receiver.
fn received(payloads: &[Vec<u8>], outer: &OuterAddresses) -> Vec<Conclusion> {
    let mut receiver = receiver(Acceptance::live(NOW.floor(1 << 30)));
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let mut conclusions: Vec<Option<Conclusion>> = Vec::new();
    let mut tickets = Vec::new();
    for (place, payload) in payloads.iter().enumerate() {
        let looked = receiver.look_datagram(payload, outer, Some(NOW));
        conclusions.push(match receiver.take(looked) {
            Received::Done(conclusion) => Some(conclusion),
            Received::Pending(pending) => {
                let checked = Pending::check_all(vec![pending], Windows::Alone, &mut rng);
                Some(receiver.conclude(checked[0]))
            }
            Received::Waiting(ticket) => {
                tickets.push((ticket, place));
                None
            }
        });
    }
    for (ticket, conclusion) in receiver.settled() {
        let (_, place) = tickets.iter().find(|(t, _)| *t == ticket).unwrap();
        conclusions[*place] = Some(conclusion);
    }
    conclusions.into_iter().map(Option::unwrap).collect()
}

fn policies() -> Vec<Policy> {
    let policy = |bits: u8| Policy {
        nat: bits & 1 != 0,
        tolerant: bits & 1 != 0,
        incremental: bits & 2 != 0,
        coded: bits & 4 != 0,
        ..Policy::default()
    };
    (0..8).map(policy).collect()
}

#[test]
fn every_carrier_mode_carriage_and_version_arrives() {
    for (carrier, version, policy) in BOTH
        .into_iter()
        .flat_map(|carrier| [(carrier, 4), (carrier, 6)])
        .flat_map(|(carrier, version)| policies().into_iter().map(move |p| (carrier, version, p)))
    {
        let of_trees = |mode: &Mode| !policy.coded || *mode == Mode::Tree;
        for mode in MODES.into_iter().filter(of_trees) {
            let packets = flow(version, 12);
            let outer = outer(&packets[0]);
            let payloads = signed(&packets, carrier, mode, policy);
            for conclusion in received(&payloads, &outer) {
                assert_eq!(
                    conclusion.reason,
                    Reason::Ok,
                    "{carrier:?} {mode:?} {policy:?}"
                );
                assert_eq!(conclusion.summary.unwrap().carrier, carrier);
            }
            for (packet, payload) in packets.iter().zip(&payloads) {
                check_read(packet, payload, carrier, mode, policy);
            }
        }
    }
}

/// What can be said of a datagram without a key.
fn check_read(packet: &[u8], payload: &[u8], carrier: Carrier, mode: Mode, policy: Policy) {
    let outer = outer(packet);
    let read_datagram = SignedPacket::of_datagram(payload, &outer).unwrap();
    let frame = around(packet, payload);
    let read_frame = read(&frame.frame()).unwrap();
    assert_eq!(read_datagram.trailer(), read_frame.trailer());
    assert_eq!(read_datagram.asked(), read_frame.asked());
    let coded = policy.coded && mode == Mode::Tree;
    let carriage = read_frame.trailer().carriage;
    assert_eq!(carriage != Carriage::Full, coded);
    let mut delivered = Vec::new();
    read_datagram.write_packet(&mut delivered);
    assert_eq!(delivered, as_delivered(packet, carrier));
    let inner = flow_of(&Frame::whole(LinkType::RAW, packet)).unwrap();
    assert_eq!(read_datagram.flow(), inner);
    assert_eq!(read_datagram.source(), inner.source);
    // The length of head and tail.
    let content = match carrier {
        Carrier::UdpTunnel => packet.len(),
        _ => packet.len() - if packet[0] >> 4 == 4 { 19 } else { 39 },
    };
    assert_eq!(payload.len(), 6 + content + read_frame.trailer().length());
}

/// The packet, with the header that `udp-transport` gives it.
fn as_delivered(packet: &[u8], carrier: Carrier) -> Vec<u8> {
    let mut packet = packet.to_vec();
    match (carrier, packet[0] >> 4) {
        (Carrier::UdpTransport, 4) => {
            (packet[1], packet[8]) = (0, 64);
            packet[4..8].copy_from_slice(&[0, 0, 0x40, 0]);
            packet[10..12].fill(0);
            let sum = checksum(&packet[..20]);
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        (Carrier::UdpTransport, _) => {
            packet[..4].copy_from_slice(&[0x60, 0, 0, 0]);
            packet[7] = 64;
        }
        _ => {}
    }
    packet
}

#[test]
fn a_signature_is_of_one_carrier() {
    let packets = flow(4, 1);
    let tunnel = signed(&packets, Carrier::UdpTunnel, Mode::Each, Policy::default());
    let transport = signed(
        &packets,
        Carrier::UdpTransport,
        Mode::Each,
        Policy::default(),
    );
    let message = |payload: &[u8]| {
        let mut message = Vec::new();
        let packet = SignedPacket::of_datagram(payload, &outer(&packets[0])).unwrap();
        packet.write_message(&mut message);
        message
    };
    let (tunnel, transport) = (message(&tunnel[0]), message(&transport[0]));
    assert_eq!((tunnel[17], transport[17]), (2, 3));
    // Up to the fields: those of a tunnel have all of the header.
    assert_eq!(tunnel[18..44], transport[18..44]);
    let upper = packets[0].len() - 20;
    let rest = |message: &[u8]| message[message.len() - upper..].to_vec();
    assert_eq!(rest(&tunnel), rest(&transport));
    assert_eq!(tunnel[48..58], packets[0][..10]);
}

#[test]
fn what_is_not_signed_of_a_packet_does_not_spoil_it() {
    let packet = flow(4, 1).remove(0);
    let payload = signed(
        &[&packet],
        Carrier::UdpTunnel,
        Mode::Each,
        Policy::default(),
    );
    let payload = &payload[0];
    let inner = 6 + 26;
    // Header checksum; UDP length and checksum.
    for at in [10, 11, 24, 25, 26, 27] {
        let mut altered = payload.clone();
        altered[inner + at] ^= 1;
        let conclusion = received(&[altered.clone()], &outer(&packet));
        assert_eq!(conclusion[0].reason, Reason::Ok, "{at}");
        let mut delivered = Vec::new();
        let read = SignedPacket::of_datagram(&altered, &outer(&packet)).unwrap();
        read.write_packet(&mut delivered);
        assert_eq!(delivered[20..], packet[20..], "computed");
        assert_eq!(checksum(&delivered[..20]), 0, "computed");
    }
    // ECN and DSCP, identification, flags, lifetime, protocol, source, destination, ports, data.
    for at in [1, 4, 6, 8, 9, 12, 16, 20, 22, 28] {
        let mut altered = payload.clone();
        altered[inner + at] ^= 1;
        let conclusion = received(&[altered], &outer(&packet));
        assert_ne!(conclusion[0].verdict, Verdict::Valid, "{at}");
    }
}

/// Options and extension headers within a tunnel are signed with the rest, whatever a router may do
/// with them elsewhere.
#[test]
fn tunnels_sign_every_byte_of_the_headers() {
    let hop_by_hop = options(0, &[0x1e, 4, 1, 2, 3, 4]);
    let six = ipv6(&[hop_by_hop, options(DESTINATION, &[])], UDP, &udp(b"data"));
    let four = ipv4(&[7, 7, 4, 0, 0, 0, 0, 0], UDP, &udp(b"data"));
    for (packet, headers) in [(four, 28), (six, 56)] {
        let tunnel = Carrier::UdpTunnel;
        let payload = signed(&[&packet], tunnel, Mode::Each, Policy::default()).remove(0);
        let whole = received(std::slice::from_ref(&payload), &outer(&packet));
        assert_eq!(whole[0].reason, Reason::Ok);
        let is_checksum = |at: usize| packet[0] >> 4 == 4 && (10..12).contains(&at);
        for at in (0..headers).filter(|at| !is_checksum(*at)) {
            let mut altered = payload.clone();
            altered[6 + 26 + at] ^= 1;
            let conclusion = received(&[altered], &outer(&packet));
            assert_ne!(conclusion[0].verdict, Verdict::Valid, "{at}");
        }
    }
}

#[test]
fn transport_signs_the_outer_addresses_unless_they_are_translated() {
    let packet = flow(4, 1).remove(0);
    for nat in [false, true] {
        let policy = Policy {
            nat,
            ..Policy::default()
        };
        let payloads = signed(&[&packet], Carrier::UdpTransport, Mode::Each, policy);
        let translated = OuterAddresses {
            source: [203, 0, 113, 9].into(),
            ..outer(&packet)
        };
        let reason = received(&payloads, &translated)[0].reason;
        let expected = if nat {
            Reason::Ok
        } else {
            Reason::BadSignature
        };
        assert_eq!(reason, expected);
        let elsewhere = OuterAddresses {
            destination: [203, 0, 113, 9].into(),
            ..outer(&packet)
        };
        assert_eq!(
            received(&payloads, &elsewhere)[0].reason,
            Reason::BadSignature
        );
        let mut delivered = Vec::new();
        let read = SignedPacket::of_datagram(&payloads[0], &translated).unwrap();
        read.write_packet(&mut delivered);
        assert_eq!(delivered[12..16], [203, 0, 113, 9]);
        let mut upper = delivered[20..].to_vec();
        let addresses = [[203, 0, 113, 9], DESTINATION_4].concat();
        fix_checksum(&addresses, UDP, &mut upper);
        assert_eq!(delivered[20..], upper, "the checksum follows the addresses");
    }
}

#[test]
fn the_second_of_two_is_refused_live() {
    let packets = flow(6, 1);
    let payload = signed(&packets, Carrier::UdpTunnel, Mode::Each, Policy::default()).remove(0);
    let mut with_cookie = Vec::new();
    datagram::write(&payload, Some(&[7; 16]), &mut with_cookie);
    let reasons: Vec<Reason> = received(&[payload, with_cookie], &outer(&packets[0]))
        .iter()
        .map(|conclusion| conclusion.reason)
        .collect();
    assert_eq!(
        reasons,
        [Reason::Ok, Reason::Duplicate],
        "a cookie changes nothing"
    );
}

#[test]
fn captures_have_a_verdict_and_sign_and_strip_leave_the_frame() {
    for carrier in BOTH {
        let packet = ipv4(&[], TCP, &tcp(0x18, &[], b"data"));
        let payload = signed(&[&packet], carrier, Mode::Each, Policy::default()).remove(0);
        let frame = around(&packet, &payload);
        assert_eq!(frame.verify(), Reason::Ok);
        assert_eq!(frame.sign(Policy::default()), (None, SignOutcome::Carrier));
        let nothing = Stripped::Nothing(Reason::NoTrailer);
        assert_eq!(frame.strip(), (None, nothing));
        for wrap in wraps() {
            assert_eq!(
                wrap.around(&frame.bytes, &[0; 7]).verify(),
                Reason::Ok,
                "{wrap:?}"
            );
        }
        // Signed again inside: a tunnel takes any packet.
        let twice = signed(
            &[frame.bytes],
            Carrier::UdpTunnel,
            Mode::Each,
            Policy::default(),
        );
        assert_eq!(around(&packet, &twice[0]).verify(), Reason::Ok);
    }
}

#[test]
fn a_packet_of_a_coded_block_is_written_in_full() {
    for (carrier, version) in BOTH.into_iter().flat_map(|c| [(c, 4), (c, 6)]) {
        let packets = flow(version, 12);
        let policy = Policy {
            coded: true,
            ..Policy::default()
        };
        let payloads = signed(&packets, carrier, Mode::Tree, policy);
        let frames: Vec<Owned> = payloads.iter().map(|p| around(&packets[0], p)).collect();
        let mut restorer = clew_packet::Restorer::new();
        let take = |frame: &Owned| restorer.take(&read(&frame.frame()).unwrap(), ());
        let signature = frames.iter().find_map(take).unwrap().signature;
        for frame in &frames {
            let mut out = Vec::new();
            read(&frame.frame())
                .unwrap()
                .in_full(&signature, &mut out)
                .unwrap();
            let full = frame.with(out);
            assert_eq!(full.verify(), Reason::Ok);
            let (was, is) = (read(&frame.frame()).unwrap(), read(&full.frame()).unwrap());
            assert_eq!(is.trailer().carriage, Carriage::Full);
            assert_eq!(is.asked(), was.asked());
        }
    }
}

#[test]
fn senders_name_what_a_carrier_has_no_form_for() {
    let outcome = |carrier, packet: &[u8]| {
        let sender = sender(Policy::default()).with_carrier(carrier);
        let frame = Frame::whole(LinkType::RAW, packet);
        sender.admit(&frame, Mode::Each, 1, &mut Vec::new()).err()
    };
    let upper = udp(b"data");
    let (tunnel, transport) = (Carrier::UdpTunnel, Carrier::UdpTransport);
    for packet in [
        ipv4(&[1, 1, 1, 0], UDP, &upper),
        ipv6(&[options(DESTINATION, &[])], UDP, &upper),
        ipv6(&[], 139, &upper),
        ipv6(&[], 59, &upper),
    ] {
        assert_eq!(outcome(transport, &packet), Some(SignOutcome::NeedsTunnel));
        assert_eq!(outcome(tunnel, &packet), None);
    }
    let routed = ipv6_to(FINAL_6, &[routing(0, 1, &[FINAL_6])], UDP, &upper);
    assert_eq!(outcome(tunnel, &routed), Some(Reason::RoutingHeader.into()));
    let arrived = ipv6(&[routing(0, 0, &[FINAL_6])], UDP, &upper);
    assert_eq!(outcome(tunnel, &arrived), None);
    let mut short = ipv4(&[], UDP, &upper);
    short[25] -= 1;
    assert_eq!(outcome(tunnel, &short), Some(Reason::BadLength.into()));
    assert_eq!(outcome(transport, &short), Some(Reason::BadLength.into()));
    // 6 + 26 + 336 bytes besides the content.
    for (carrier, header) in [(tunnel, 0), (transport, 19)] {
        let most = 65_507 - 368 + header;
        let packet = |length: usize| ipv4(&[], UDP, &udp(&vec![0; length - 28]));
        assert_eq!(outcome(carrier, &packet(most)), None);
        assert_eq!(
            outcome(carrier, &packet(most + 1)),
            Some(Reason::TooBig.into())
        );
    }
    let fragment = [
        &ipv4(&[], UDP, &upper)[..6],
        &[0x20, 0],
        &ipv4(&[], UDP, &upper)[8..],
    ]
    .concat();
    assert_eq!(outcome(tunnel, &fragment), Some(Reason::Fragment.into()));
}

#[test]
fn an_mtu_does_not_count() {
    let policy = Policy {
        mtu: Some(100),
        ..Policy::default()
    };
    let packet = ipv4(&[], UDP, &udp(&[0; 200]));
    let sender = sender(policy).with_carrier(Carrier::UdpTunnel);
    let frame = Frame::whole(LinkType::RAW, &packet);
    assert!(sender.admit(&frame, Mode::Each, 1, &mut Vec::new()).is_ok());
}

#[test]
fn the_echo_is_the_datagrams_own() {
    let packets = flow(4, 12);
    for carrier in BOTH {
        for mode in MODES {
            for payload in signed(&packets, carrier, mode, Policy::default()) {
                let read = SignedPacket::of_datagram(&payload, &outer(&packets[0])).unwrap();
                let expected = match mode {
                    Mode::Tree => [9; 16],
                    _ => read.trailer().body[..16].try_into().unwrap(),
                };
                assert_eq!(datagram::echo(&payload), Some(expected));
                let mut with_cookie = Vec::new();
                datagram::write(&payload, Some(&[7; 16]), &mut with_cookie);
                assert_eq!(datagram::echo(&with_cookie), Some(expected));
                assert_eq!(
                    datagram::parse(&with_cookie).unwrap().cookie,
                    Some(&[7; 16])
                );
            }
        }
    }
    let mut answer = Vec::new();
    datagram::write_cookie(&[1; 16], &[2; 16], &mut answer);
    assert_eq!(answer.len(), datagram::COOKIE_DATAGRAM_BYTES);
    assert_eq!(datagram::echo(&answer), None, "no answer to answers");
    let (echo, cookie) = (&[1; 16], &[2; 16]);
    let expected = datagram::Rest::Cookie { echo, cookie };
    assert_eq!(datagram::parse(&answer).unwrap().rest, expected);
    assert_eq!(
        verify(&around(&packets[0], &answer).frame()),
        Reason::Cookie
    );
}

#[test]
fn freshness_is_judged() {
    let packets = flow(4, 1);
    let payload = signed(&packets, Carrier::UdpTunnel, Mode::Each, Policy::default()).remove(0);
    let mut receiver: Receiver<_> = receiver(Acceptance::capture());
    let late = Some(NOW.after(60_000_000_000));
    let looked = receiver.look_datagram(&payload, &outer(&packets[0]), late);
    let Received::Done(conclusion) = receiver.take(looked) else {
        unreachable!("it is stale");
    };
    assert_eq!(conclusion.reason, Reason::Stale);
}
