//! Fuzzing of carriers over UDP: each function takes any bytes and asserts what must hold for them.

use clew_packet::datagram::{Rest, echo, parse, write};
use clew_packet::fragment::{Reassembler, Taken, split};
use clew_packet::{
    Carrier, Frame, LinkType, SignedPacket, Stripped, flow, mark, read, read_fragment, read_whole,
    strip, write_whole,
};
use clew_wire::Instant;

/// IP packets one after the other, each behind its length (2 bytes): what they hold in UDP, alone and
/// put together.
pub fn carriers(data: &[u8]) {
    let (mut rest, mut reassembler) = (data, Reassembler::new());
    let now = Instant::from_nanos(0);
    for number in 0u64.. {
        let Some((length, after)) = rest.split_first_chunk() else {
            break;
        };
        let length = usize::from(u16::from_be_bytes(*length)).min(after.len());
        let (bytes, after) = after.split_at(length);
        rest = after;
        let frame = Frame::whole(LinkType::RAW, bytes);
        check_datagram(bytes);
        if let Some(fragment) = read_fragment(&frame) {
            assert!(read(&frame).is_err());
            let taken = reassembler.take(&fragment, now, number);
            if let Taken::Whole { datagram, .. } = taken {
                check_whole(&frame, &datagram);
            }
        } else if let Ok(packet) = read(&frame) {
            check_packet(&frame, &packet);
        }
    }
    reassembler.finish();
    assert_eq!(reassembler.datagrams(), 0);
}

/// Any bytes as a datagram: with another cookie it says the same.
fn check_datagram(bytes: &[u8]) {
    let Ok(parsed) = parse(bytes) else {
        assert_eq!(echo(bytes), None);
        return;
    };
    if let (Rest::Packet { carrier, .. }, None) = (parsed.rest, parsed.cookie) {
        assert_ne!(carrier, Carrier::Trailer);
        let mut with_cookie = Vec::new();
        write(bytes, Some(&[7; 16]), &mut with_cookie);
        let again = parse(&with_cookie).expect("it was well-formed");
        assert_eq!((again.rest, again.cookie), (parsed.rest, Some(&[7; 16])));
        assert_eq!(echo(bytes), echo(&with_cookie));
    }
}

/// A packet in UDP: it is delivered as it was signed, and signing and stripping leave it.
fn check_packet(frame: &Frame<'_>, packet: &SignedPacket<'_>) {
    let carrier = packet.trailer().carrier;
    if carrier == Carrier::Trailer {
        return;
    }
    let mut delivered = Vec::new();
    packet.write_packet(&mut delivered);
    let inner = Frame::whole(LinkType::RAW, &delivered);
    let inner = flow(&inner).expect("what is delivered could be signed");
    assert_eq!(inner.key(), packet.flow().key());
    assert_eq!(inner.source, packet.source());
    let mut out = Vec::new();
    assert!(mark(frame, &mut out).is_some() && out.is_empty());
    assert!(matches!(strip(frame, &mut out), Stripped::Nothing(_)));
    let body = packet.trailer().body;
    if packet.in_full(body, &mut out).is_ok() {
        let full = frame.with(&out);
        let full = read(&full).expect("it was written");
        assert_eq!(full.asked(), packet.asked());
    }
}

/// A datagram that was put together: it stands in a frame of its own, and is cut again.
fn check_whole(frame: &Frame<'_>, datagram: &[u8]) {
    let (mut bytes, mut cut) = (Vec::new(), Vec::new());
    let whole = read_whole(frame, datagram);
    if write_whole(frame, datagram, &mut bytes).is_ok() {
        let alone = frame.with(&bytes);
        let alone = read(&alone).map(|packet| packet.asked());
        assert_eq!(alone, whole.map(|packet| packet.asked()));
    }
    if let Ok(segment) = split(
        datagram,
        24 + datagram.len().div_ceil(3).max(1),
        None,
        &mut cut,
    ) {
        let mut reassembler = Reassembler::new();
        let fragments = cut
            .chunks(segment)
            .map(|payload| parse(payload).expect("it was cut"));
        let taken = fragments.map(|parsed| match parsed.rest {
            Rest::Fragment(fragment) => reassembler.take(&fragment, Instant::from_nanos(0), ()),
            rest => unreachable!("{rest:?}"),
        });
        let last = taken.last().expect("there is one");
        assert!(matches!(last, Taken::Whole { datagram: again, .. } if again == datagram));
    }
}
