//! Fuzzing of `clew-packet`: each function takes any bytes and asserts what must hold for them.

use clew_packet::{
    Carriage, Carrier, Frame, GroupId, LinkType, Policy, Reason, Restorer, Sender, SignOutcome,
    Stripped, Timestamp, Trailer, flow, mark, read, strip,
};

/// Link types by the byte that chooses one; the last is not descended.
pub const LINKS: [u32; 12] = [1, 0, 9, 12, 14, 101, 108, 113, 228, 229, 276, 147];

/// Byte 0 chooses the link type, byte 1 the policy, byte 2 how much the capture lacks; the rest is
/// the frame.
pub fn frame(data: &[u8]) {
    let [link, choice, missing, bytes @ ..] = data else {
        return;
    };
    let link = LinkType(LINKS[usize::from(*link) % LINKS.len()]);
    let wire_len = bytes.len() + usize::from(*missing % 4);
    let original = Frame {
        link,
        bytes,
        wire_len,
    };
    let policy = Policy {
        nat: choice & 1 != 0,
        tolerant: choice & 2 != 0,
        incremental: choice & 4 != 0,
        ..Policy::default()
    };
    let (mut signed, mut twice) = (Vec::new(), Vec::new());
    match sign(&original, policy, &mut signed) {
        outcome @ (SignOutcome::Signed | SignOutcome::AlreadySigned) => {
            let signed = original.with(&signed);
            check_signed(&original, outcome, &signed);
            if sign(&signed, policy, &mut twice) == SignOutcome::AlreadySigned {
                check_signed(&signed, SignOutcome::AlreadySigned, &signed.with(&twice));
            }
        }
        SignOutcome::MarkFull => assert!(signed.is_empty()),
        _ => assert!(matches!(
            strip(&original, &mut signed),
            Stripped::Nothing(_)
        )),
    }
}

/// Signs with a body of zeros.
fn sign(frame: &Frame<'_>, policy: Policy, out: &mut Vec<u8>) -> SignOutcome {
    let sender = Sender::new(clew_group::Scheme::Xr, GroupId([7; 16]), 1, policy);
    sender.sign_with(frame, Some(Timestamp(1)), |_, _| {}, out)
}

/// Checks that one strip leads back, and that nothing else about the packet has changed.
fn check_signed(original: &Frame<'_>, outcome: SignOutcome, signed: &Frame<'_>) {
    let mut stripped = Vec::new();
    let had_trailer = read(original).is_ok();
    assert_eq!(
        outcome,
        if had_trailer {
            SignOutcome::AlreadySigned
        } else {
            SignOutcome::Signed
        }
    );
    let expected = if had_trailer {
        Stripped::Mark
    } else {
        Stripped::Trailer
    };
    assert_eq!(strip(signed, &mut stripped), expected);
    assert_eq!(stripped, original.bytes);
    assert_eq!(signed.with(&stripped).wire_len, original.wire_len);
    assert_eq!(
        flow(signed).map(|flow| flow.source),
        flow(original).map(|flow| flow.source)
    );
    let packet = read(signed).expect("it was signed");
    let (mut message, mut marked) = (Vec::new(), Vec::new());
    packet.write_message(&mut message);
    let body = packet.trailer().body;
    assert!(packet.is_covered_by(&message, body));
    match mark(signed, &mut marked) {
        Some(SignOutcome::AlreadySigned) => {
            assert!(marked.len() >= signed.bytes.len());
            let marked = signed.with(&marked);
            let marked = read(&marked).expect("it was marked");
            assert_eq!(marked.asked(), packet.asked());
        }
        other => assert_eq!(
            (other, packet.marks()),
            (Some(SignOutcome::MarkFull), u8::MAX)
        ),
    }
}

/// The whole input is an upper layer that may end in a trailer.
pub fn trailer(data: &[u8]) {
    let Ok(trailer) = Trailer::parse(data) else {
        return;
    };
    let mut emitted = vec![0xa5; trailer.length()];
    trailer.emit(&mut emitted);
    assert!(data.ends_with(&emitted), "parse and emit are inverse");
    assert_eq!(Trailer::parse(&emitted), Ok(trailer));
}

/// IP packets one after the other, each behind its length (2 bytes): what their shares restore.
pub fn coded_packets(data: &[u8]) {
    let (mut rest, mut restorer) = (data, Restorer::new());
    for number in 0.. {
        let Some((length, after)) = rest.split_first_chunk() else {
            break;
        };
        let length = usize::from(u16::from_be_bytes(*length)).min(after.len());
        let (bytes, after) = after.split_at(length);
        rest = after;
        let frame = Frame::whole(LinkType::RAW, bytes);
        let Ok(packet) = read(&frame) else {
            continue;
        };
        let Some(restored) = restorer.take(&packet, number) else {
            continue;
        };
        let coded = packet.trailer().coded().expect("it brought a share");
        assert_eq!(restored.from.len(), usize::from(coded.needed()));
        assert!(restored.from.is_sorted() && restored.from.last() == Some(&number));
        let mut full = Vec::new();
        match packet.in_full(&restored.signature, &mut full) {
            Ok(()) => check_full(&frame, &frame.with(&full), &restored.signature),
            Err(reason) => assert_eq!((reason, full.len()), (Reason::TooBig, 0)),
        }
    }
}

/// Checks that the full form says and strips to the same, and is under the same signature.
fn check_full(coded: &Frame<'_>, full: &Frame<'_>, signature: &[u8]) {
    let mut message = Vec::new();
    read(full)
        .expect("it was written")
        .write_message(&mut message);
    let [one, other] = [coded, full].map(|frame| {
        let packet = read(frame).expect("it has a trailer");
        assert!(packet.is_covered_by(&message, signature));
        (packet.asked(), packet.trailer().carriage)
    });
    assert_eq!(one.0, other.0);
    assert_eq!(other.1, Carriage::Full);
    let (mut original, mut again) = (Vec::new(), Vec::new());
    if read(full).expect("it was written").trailer().carrier != Carrier::Trailer {
        return;
    }
    assert_eq!(strip(full, &mut again), Stripped::Trailer);
    if strip(coded, &mut original) == Stripped::Trailer {
        assert_eq!(original, again);
    }
}
