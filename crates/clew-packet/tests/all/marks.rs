//! The mark, and every reason that it may have: section 3.1.

use crate::common::{Owned, packets::*, trailers::*};
use clew_packet::{Mark, Policy, Reason, Saved, SignOutcome, Stripped, Trailer, mark};

/// The packet with the mark behind it.
fn marked(protocol: u8, end: &[u8], mark: Mark) -> Owned {
    let mut bytes = vec![0; mark.length()];
    mark.emit(&mut bytes);
    carrying(protocol, &[end, &bytes].concat())
}

const MARK: Mark = Mark {
    saved: Saved {
        ipv4_checksum: None,
        udp_length: None,
        l4_checksum: None,
    },
    count: 1,
};

#[test]
fn bad_mark() {
    let good = emitted(&trailer());
    let refused = |frame: Owned| {
        assert_eq!(frame.verify(), Reason::BadMark);
        assert_eq!(frame.sign(Policy::default()).1, SignOutcome::Signed);
        assert_eq!(frame.strip().1, Stripped::Nothing(Reason::BadMark));
    };
    assert_eq!(marked(132, &good, MARK).verify(), Reason::BadEncoding);
    refused(marked(132, &good, Mark { count: 0, ..MARK }));
    refused(marked(132, b"", MARK));
    refused(marked(132, &patched(10, 2), MARK));
    let nonsense = Saved {
        udp_length: Some(1),
        ..MARK.saved
    };
    refused(marked(
        132,
        &emitted(&Trailer {
            saved: nonsense,
            ..trailer()
        }),
        MARK,
    ));
    let mut inner = vec![0; MARK.length()];
    MARK.emit(&mut inner);
    refused(marked(132, &[good, inner].concat(), MARK));
}

#[test]
fn bad_mark_around_a_trailer_beyond_the_limit() {
    let check = |size: usize, reason: Reason| {
        let mut mark = vec![0; MARK.length()];
        MARK.emit(&mut mark);
        let end = [emitted(&trailer()), mark].concat();
        let frame = raw(ipv4(
            &[],
            132,
            &[vec![0; size - 20 - end.len()], end].concat(),
        ));
        assert_eq!(frame.verify(), reason);
    };
    check(65_535 - 16 + 10, Reason::BadEncoding);
    check(65_535 - 16 + 11, Reason::BadMark);
}

#[test]
fn reserved_bits_of_a_mark() {
    for bit in [0, 1, 5, 6, 7] {
        let mut frame = marked(132, &emitted(&trailer()), MARK);
        let at = frame.bytes.len() - 9;
        frame.bytes[at] |= 1 << bit;
        assert_eq!(frame.verify(), Reason::ReservedBits);
    }
    let saved = Saved {
        udp_length: Some(1),
        ..MARK.saved
    };
    let frame = marked(132, &emitted(&trailer()), Mark { saved, ..MARK });
    assert_eq!(frame.verify(), Reason::ReservedBits);
}

#[test]
fn bad_trailer_length_of_a_mark() {
    let mut frame = marked(132, &emitted(&trailer()), MARK);
    let at = frame.bytes.len() - 6;
    frame.bytes[at] += 1;
    assert_eq!(frame.verify(), Reason::BadTrailerLength);
    frame.bytes[at + 1] = 2;
    assert_eq!(frame.verify(), Reason::UnknownVersion);
}

#[test]
fn already_signed() {
    let signed = raw(packet()).signed(Policy::default());
    let (twice, reason) = signed.sign(Policy::default());
    assert_eq!(reason, SignOutcome::AlreadySigned);
    let twice = twice.unwrap();
    assert_eq!(twice.verify(), Reason::Ok);
    assert_eq!(twice.strip(), (Some(signed.clone()), Stripped::Mark));
    let mut out = Vec::new();
    assert_eq!(
        mark(&signed.frame(), &mut out),
        Some(SignOutcome::AlreadySigned)
    );
    assert_eq!(out, twice.bytes);
    assert_eq!(mark(&raw(packet()).frame(), &mut out), None);
}

#[test]
fn already_signed_does_not_ask_for_a_precursor() {
    let (signed, mut out) = (raw(packet()).signed(Policy::default()), Vec::new());
    let sender = crate::common::sender(Policy {
        mtu: Some(1500),
        ..Policy::default()
    });
    let never = || unreachable!("there is nothing to sign");
    assert_eq!(
        sender.sign(&signed.frame(), None, never, &mut out),
        SignOutcome::AlreadySigned
    );
    let large = raw(ipv4(&[], 132, &[0; 1600]));
    assert_eq!(
        sender.sign(&large.frame(), None, never, &mut out),
        SignOutcome::Offload
    );
}

#[test]
fn mark_full() {
    let mut runs = vec![raw(packet()).signed(Policy::default())];
    for _ in 0..255 {
        runs.push(runs.last().unwrap().sign(Policy::default()).0.unwrap());
    }
    let full = runs.last().unwrap();
    assert_eq!(full.verify(), Reason::Ok);
    assert_eq!(full.sign(Policy::default()), (None, SignOutcome::MarkFull));
    assert_eq!(
        mark(&full.frame(), &mut vec![]),
        Some(SignOutcome::MarkFull)
    );
    while let Some(signed) = runs.pop() {
        if let Some(before) = runs.last() {
            assert_eq!(signed.strip().0.as_ref(), Some(before));
        }
    }
}

#[test]
fn a_short_segment_keeps_its_body_through_a_mark() {
    let signed = raw(ipv4(&[], TCP, b"short")).signed(Policy::default());
    let marked = signed.sign(Policy::default()).0.unwrap();
    assert_eq!(marked.bytes[20..25 + 336], signed.bytes[20..25 + 336]);
    assert_eq!(marked.verify(), Reason::Ok);
}
