//! Fragments: cut, put together, and what attackers do to them.

use std::time::Duration;

use crate::common::carriers::{around, flow, outer, signed};
use crate::common::packets::*;
use clew_packet::datagram::{Cookie, Parsed, Rest, parse, write};
use clew_packet::fragment::{
    FRAGMENT_BYTES_MAX, FRAGMENT_IDS_MAX, FRAGMENT_TIME_MAX, FRAGMENT_WRONG_MAX, Fragment,
    Reassembler, Taken, TooManyFragments, split,
};
use clew_packet::{Carrier, Mode, Policy, Reason, SignedPacket, read, read_fragment, read_whole};
use clew_wire::Instant;
use proptest::{collection::vec, prelude::*, sample::Index};

const START: Instant = Instant::from_nanos(1_000_000_000);

fn datagram(bytes: usize) -> Vec<u8> {
    let packet = ipv4(&[], UDP, &udp(&vec![7; bytes]));
    signed(&[packet], Carrier::UdpTunnel, Mode::Each, Policy::default()).remove(0)
}

/// The payloads of the fragments.
fn cut(datagram: &[u8], most: usize, cookie: Option<&Cookie>) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    let segment = split(datagram, most, cookie, &mut out).unwrap();
    let payloads: Vec<Vec<u8>> = out.chunks(segment).map(<[u8]>::to_vec).collect();
    assert!(payloads.iter().all(|payload| payload.len() <= most));
    payloads
}

fn fragment(payload: &[u8]) -> Fragment<'_> {
    match parse(payload).unwrap().rest {
        Rest::Fragment(fragment) => fragment,
        rest => unreachable!("{rest:?}"),
    }
}

fn take(reassembler: &mut Reassembler<usize>, payload: &[u8], token: usize) -> Taken<usize> {
    reassembler.take(&fragment(payload), START, token)
}

#[test]
fn a_cut_datagram_comes_together() {
    let datagram = datagram(1300);
    for (cookie, most) in [(None, 1400), (Some(&[9; 16]), 1400), (Some(&[9; 16]), 90)] {
        let payloads = cut(&datagram, most, cookie);
        for payload in &payloads {
            let Parsed { cookie: shown, .. } = parse(payload).unwrap();
            assert_eq!(shown, cookie);
            assert_eq!(
                clew_packet::datagram::echo(payload),
                Some(*fragment(payload).id)
            );
        }
        let mut reassembler = Reassembler::new();
        let (last, before) = payloads.split_last().unwrap();
        for (token, payload) in before.iter().enumerate() {
            assert_eq!(take(&mut reassembler, payload, token), Taken::Waits);
        }
        let tokens = (0..before.len()).collect();
        let whole = Taken::Whole {
            datagram: datagram.clone(),
            tokens,
        };
        assert_eq!(take(&mut reassembler, last, 99), whole);
        // A sender may send the last part twice, and no other.
        let again = |is_second| Taken::Again {
            of: Some(99),
            is_second,
        };
        assert_eq!(take(&mut reassembler, &payloads[0], 97), again(false));
        assert_eq!(take(&mut reassembler, last, 98), again(true));
        assert_eq!(take(&mut reassembler, last, 98), again(false));
    }
}

#[test]
fn as_many_fragments_as_there_may_be() {
    let datagram = datagram(2000);
    // 24 bytes besides the part.
    let part = datagram.len().div_ceil(64);
    assert_eq!(cut(&datagram, 24 + part, None).len(), 64);
    let mut out = Vec::new();
    for most in [0, 23, 24, 24 + part - 1] {
        assert_eq!(
            split(&datagram, most, None, &mut out),
            Err(TooManyFragments)
        );
        assert!(out.is_empty());
    }
    assert_eq!(
        split(&datagram, 24 + part, Some(&[0; 16]), &mut out),
        Err(TooManyFragments)
    );
}

#[test]
fn fragments_that_break_a_rule() {
    let datagram = datagram(1300);
    let payload = cut(&datagram, 1400, None).remove(0);
    assert_eq!((payload[22], payload[23]), (0, 2), "index and count");
    let of = |index: u8, count: u8, part: usize| {
        let mut payload = payload[..24].to_vec();
        (payload[22], payload[23]) = (index, count);
        payload.resize(24 + part, 0);
        parse(&payload).err()
    };
    let bad = Some(Reason::BadFragment);
    for (index, count, part) in [
        (0, 2, 1),
        (1, 2, 1),
        (63, 64, 1),
        (0, 2, 65_000),
        (1, 2, 40_000),
    ] {
        assert_eq!(of(index, count, part), None, "{index} {count} {part}");
    }
    for (index, count, part) in [
        (0, 0, 1),
        (0, 1, 1),
        (0, 65, 1),
        (2, 2, 1),
        (255, 2, 1),
        (255, 0, 1),
        (0, 2, 0),
        (1, 2, 0),
        (0, 3, 32_754),
        (0, 64, 1040),
    ] {
        assert_eq!(of(index, count, part), bad, "{index} {count} {part}");
    }
    for length in 6..24 {
        assert_eq!(parse(&payload[..length]).err(), bad, "{length}");
    }
    // In a frame, too, and a good one says that others are missing.
    let packet = &flow(4, 1)[0];
    let frame = around(packet, &payload);
    assert_eq!(read(&frame.frame()).err(), Some(Reason::MissingFragment));
    assert_eq!(read_fragment(&frame.frame()), Some(fragment(&payload)));
    let by_payload = SignedPacket::of_datagram(&payload, &outer(packet));
    assert_eq!(by_payload.err(), Some(Reason::MissingFragment));
    assert_eq!(read_fragment(&around(packet, &datagram).frame()), None);
}

#[test]
fn parts_have_one_length() {
    let datagram = datagram(1300);
    let payloads = cut(&datagram, 700, None);
    assert_eq!(payloads.len(), 3);
    let bad = || Taken::Bad { tokens: Vec::new() };
    let shorter = |i: usize| payloads[i][..payloads[i].len() - 1].to_vec();
    let longer = |i: usize| [&payloads[i][..], &[0]].concat();
    for (first, wrong) in [
        (&payloads[0], shorter(1)),
        (&payloads[0], longer(1)),
        (&payloads[1], shorter(0)),
        (&payloads[0], [&payloads[2][..], &[0; 700]].concat()),
        (&payloads[2], payloads[0][..30].to_vec()),
    ] {
        let mut reassembler = Reassembler::new();
        assert_eq!(take(&mut reassembler, first, 0), Taken::Waits);
        assert_eq!(take(&mut reassembler, &wrong, 1), bad());
    }
}

#[test]
fn fragments_of_something_else_are_bad() {
    let datagram = datagram(1300);
    let mut with_cookie = Vec::new();
    write(&datagram, Some(&[1; 16]), &mut with_cookie);
    let fragments = cut(&datagram, 700, None).remove(0);
    let mut cookie = Vec::new();
    clew_packet::datagram::write_cookie(&[1; 16], &[2; 16], &mut cookie);
    for other in [with_cookie, fragments, cookie, vec![1; 100]] {
        let payloads = cut(&other, 20 + other.len() / 2, None);
        let (last, before) = payloads.split_last().unwrap();
        let mut reassembler = Reassembler::new();
        for (token, payload) in before.iter().enumerate() {
            assert_eq!(take(&mut reassembler, payload, token), Taken::Waits);
        }
        let tokens = (0..before.len()).collect();
        assert_eq!(take(&mut reassembler, last, 99), Taken::Bad { tokens });
        assert_eq!(reassembler.datagrams(), 0);
    }
}

#[test]
fn time_and_room_end() {
    let mut reassembler = Reassembler::new();
    let payload = cut(&datagram(1300), 1400, None).remove(0);
    let mut id = [0; 16];
    let mut put = |reassembler: &mut Reassembler<usize>, n: usize, now| {
        id[..8].copy_from_slice(&n.to_be_bytes());
        let fragment = Fragment {
            id: &id,
            ..fragment(&payload)
        };
        assert_eq!(reassembler.take(&fragment, now, n), Taken::Waits);
    };
    put(&mut reassembler, 0, START);
    put(&mut reassembler, 1, START + Duration::from_millis(1));
    reassembler.expire(START + FRAGMENT_TIME_MAX);
    assert_eq!(
        (reassembler.missing(), reassembler.datagrams()),
        (vec![], 2)
    );
    reassembler.expire(START + FRAGMENT_TIME_MAX + Duration::from_nanos(1));
    assert_eq!(
        (reassembler.missing(), reassembler.datagrams()),
        (vec![0], 1)
    );
    reassembler.finish();
    assert_eq!(
        (reassembler.missing(), reassembler.datagrams()),
        (vec![1], 0)
    );
    // By number: one-byte parts of many datagrams.
    let short = Fragment {
        part: &[1],
        ..fragment(&payload)
    };
    for n in 0..FRAGMENT_IDS_MAX + 3 {
        id[..8].copy_from_slice(&n.to_be_bytes());
        reassembler.take(&Fragment { id: &id, ..short }, START, n);
    }
    assert_eq!(reassembler.missing(), [0, 1, 2]);
    reassembler.finish();
    reassembler.missing();
    // By bytes.
    let large = vec![1; 32_000];
    let room = FRAGMENT_BYTES_MAX / (large.len() + 64);
    for n in 0..room + 2 {
        id[..8].copy_from_slice(&n.to_be_bytes());
        reassembler.take(
            &Fragment {
                id: &id,
                part: &large,
                ..short
            },
            START,
            n,
        );
    }
    assert_eq!(
        (reassembler.missing(), reassembler.datagrams()),
        (vec![0, 1], room)
    );
}

/// Each of them costs a hash over all parts, and nothing is kept of it.
#[test]
fn wrong_last_parts_are_hashed_a_few_times_only() {
    let fragments = cut(&datagram(1300), 1400, None);
    let parts: Vec<Fragment<'_>> = fragments.iter().map(|bytes| fragment(bytes)).collect();
    let (last, first) = parts.split_last().unwrap();
    let wrong = vec![0; last.part.len()];
    for (times, is_whole) in [(FRAGMENT_WRONG_MAX - 1, true), (FRAGMENT_WRONG_MAX, false)] {
        let mut reassembler = Reassembler::new();
        for part in first {
            assert_eq!(reassembler.take(part, START, 1), Taken::Waits);
        }
        assert!(reassembler.is_waiting());
        let copy = Fragment {
            part: &wrong,
            ..*last
        };
        let taken: Vec<_> = (0..times)
            .map(|_| reassembler.take(&copy, START, 2))
            .collect();
        let bad = taken.iter().map(|taken| match taken {
            Taken::Bad { tokens } => tokens.len(),
            other => panic!("{other:?}"),
        });
        assert_eq!(bad.sum::<usize>(), if is_whole { 0 } else { first.len() });
        assert_eq!(reassembler.datagrams(), usize::from(is_whole));
        let taken = reassembler.take(last, START, 3);
        assert_eq!(matches!(taken, Taken::Whole { .. }), is_whole);
        assert_eq!(reassembler.is_waiting(), !is_whole);
    }
}

/// An attacker who fills the memory within the time that honest fragments need does not get them out.
#[test]
fn honest_fragments_come_together_in_a_flood() {
    let (mut reassembler, mut whole) = (Reassembler::new(), 0);
    let (mut now, mut n) = (START, 0u64);
    for round in 0..50 {
        let mut payload = datagram(1300);
        // Another id: the fragments are of another datagram.
        payload[20] = round;
        let fragments = cut(&payload, 1400, None);
        for piece in &fragments {
            let taken = reassembler.take(&fragment(piece), now, 0);
            whole += usize::from(matches!(taken, Taken::Whole { .. }));
            for _ in 0..1000 {
                n += 1;
                let mut id = [0; 16];
                id[..8].copy_from_slice(&n.to_be_bytes());
                reassembler.take(
                    &Fragment {
                        id: &id,
                        ..fragment(&fragments[0])
                    },
                    now,
                    1,
                );
                now = now + Duration::from_micros(1);
            }
        }
    }
    assert_eq!(whole, 50);
    assert!(reassembler.datagrams() <= FRAGMENT_IDS_MAX);
}

#[test]
fn a_whole_packet_stands_in_the_last_frame() {
    let packet = ipv4(&[], UDP, &udp(&[7; 1300]));
    let datagram = signed(
        &[&packet],
        Carrier::UdpTunnel,
        Mode::Each,
        Policy::default(),
    );
    let payloads = cut(&datagram[0], 1400, None);
    for wrap in wraps() {
        let frame = wrap.around(&around(&packet, &payloads[1]).bytes, &[0; 5]);
        let signed = read_whole(&frame.frame(), &datagram[0]).unwrap();
        assert_eq!(signed.source(), std::net::IpAddr::from(SOURCE_4));
        let (mut out, mut full) = (Vec::new(), Vec::new());
        let written = clew_packet::write_whole(&frame.frame(), &datagram[0], &mut out);
        let in_full = signed.in_full(signed.trailer().body, &mut full);
        assert_eq!(written, in_full, "{wrap:?}");
        if written.is_ok() {
            assert_eq!(out, full);
            assert_eq!(frame.with(out).verify(), Reason::Ok);
        } else {
            assert_eq!(written, Err(Reason::TooBig), "802.3 has 1,500 bytes");
        }
    }
}

/// What happens to fragments on the way.
#[derive(Clone, Debug)]
enum Event {
    /// The fragment comes.
    Comes(usize),
    /// A copy of one that came before comes, altered.
    Altered(Index, Index, u8),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let altered =
        (any::<Index>(), any::<Index>(), 1u8..).prop_map(|(i, at, by)| Event::Altered(i, at, by));
    vec(
        prop_oneof![(0usize..64).prop_map(Event::Comes), altered],
        0..40,
    )
}

proptest! {
    /// Duplicated, reordered, and altered after the honest one came: the packet is whole once, with the
    /// fragment that was missing.
    #[test]
    fn copies_spend_nothing(bytes in 100usize..3000, most in 200usize..1400, events in events()) {
        let datagram = datagram(bytes);
        prop_assume!(datagram.len() > most);
        let payloads = cut(&datagram, most, None);
        let all = (0..payloads.len()).map(Event::Comes);
        let (mut reassembler, mut came, mut whole) = (Reassembler::new(), Vec::new(), 0);
        for event in events.into_iter().chain(all) {
            match event {
                Event::Comes(index) => {
                    let i = index % payloads.len();
                    let taken = take(&mut reassembler, &payloads[i], i);
                    let again = matches!(taken, Taken::Again { .. });
                    prop_assert_eq!(again, came.contains(&i));
                    came.push(i);
                    if let Taken::Whole { datagram: put, .. } = taken {
                        prop_assert_eq!(&put, &datagram);
                        whole += 1;
                    }
                }
                Event::Altered(index, at, by) if !came.is_empty() => {
                    let i = came[index.index(came.len())];
                    let mut payload = payloads[i].clone();
                    let at = 24 + at.index(payload.len() - 24);
                    payload[at] ^= by;
                    let bad = Taken::Bad { tokens: Vec::new() };
                    prop_assert_eq!(take(&mut reassembler, &payload, 77), bad);
                }
                Event::Altered(..) => {}
            }
        }
        prop_assert_eq!(whole, 1);
    }

    #[test]
    fn any_fragments_never_panic(all in vec((0u8..3, 0u8..5, 0u8..5, vec(any::<u8>(), 0..9)), 0..60)) {
        let mut reassembler = Reassembler::new();
        for (token, (id, index, count, part)) in all.iter().enumerate() {
            let mut payload = vec![0xc1, 0x6c, 0x65, 0x77, 1, 3];
            payload.extend([*id; 16]);
            payload.extend([*index, *count]);
            payload.extend(part);
            if let Ok(Parsed { rest: Rest::Fragment(fragment), .. }) = parse(&payload) {
                reassembler.take(&fragment, START, token);
            }
        }
        reassembler.finish();
        prop_assert_eq!(reassembler.datagrams(), 0);
    }
}
