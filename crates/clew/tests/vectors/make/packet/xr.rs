//! Vectors of packets of the group of scheme xr, and of those with the code of the other scheme.

use clew_group::Scheme;
use clew_packet::{MessageKind, Policy, Reason, SECOND_NS, Timestamp, Trailer, Verdict};

use crate::case::Case;
use crate::common::Owned;
use crate::common::packets::*;
use crate::make::damage::{Damage, identity, order_3};
use crate::make::groups::records::NOW;
use crate::make::groups::xr_group::{NEWEST, STARTS, XR};
use crate::make::packet::frames::*;
use crate::make::{flat, hash};

pub fn all() -> Vec<Case> {
    flat([good(), other_scheme(), bad_encodings(), bad_signatures(), duplicates(), times()])
}

fn good() -> Vec<Case> {
    let tcp = raw(ipv4(&[], TCP, &syn()));
    let six = raw(ipv6(&[], UDP, &udp(b"payload")));
    let ethernet = Wrap::Ethernet { tags: 1 }.around(&packet(), &[0; 3]);
    let all = Policy { nat: true, tolerant: true, ..INCREMENTAL };
    let of = before_and_after;
    vec![
        of("xr-ipv4-udp", "The packet that the next files break.", &raw(packet()), PLAIN),
        of("xr-ipv6-udp", "UDP over IPv6.", &six, PLAIN),
        of("xr-ethernet", "Ethernet with a VLAN tag and padding.", &ethernet, PLAIN),
        of("xr-incremental", "The body of 336 bytes.", &raw(packet()), INCREMENTAL),
        of("xr-all-flags", "nat, tolerant and incremental at once.", &tcp, all),
        of("xr-empty", "No byte of an upper layer.", &raw(ipv4(&[], 132, b"")), PLAIN),
    ]
}

fn invalid(name: &str, reason: Reason, comment: &str, frame: &Owned) -> Case {
    judged(name, reason.as_str(), comment, Verdict::Invalid, frame)
}

/// The trailer of a frame behind the usual payload, changed.
fn with_trailer(frame: &Owned, change: impl FnOnce(&mut Trailer<'_>)) -> Owned {
    retrailed(UDP, b"payload", frame, change)
}

fn with_body(frame: &Owned, body: &[u8]) -> Owned {
    with_trailer(frame, |trailer| trailer.body = body.to_vec().leak())
}

fn body_of(frame: &Owned) -> Vec<u8> {
    trailer_of(frame).body.to_vec()
}

fn plain() -> Owned {
    signed(&raw(packet()), "xr-ipv4-udp")
}

fn incremental() -> Owned {
    signed_at(&raw(packet()), "xr-incremental", INCREMENTAL, NEWEST, Some(NOW))
}

/// A trailer with the code of the other scheme, and as long as that wants it.
fn other_scheme() -> Vec<Case> {
    let (of_xr, of_bbs04) = (plain(), signed(&raw(packet()), "ipv4-udp"));
    let as_scheme = |frame: &Owned, scheme: Scheme, group| {
        with_trailer(frame, |trailer| {
            trailer.scheme = scheme;
            trailer.group = group;
        })
    };
    let (xr_tag, bbs04_tag) = (trailer_of(&of_xr).group, trailer_of(&of_bbs04).group);
    let bbs04_here = with_trailer(&of_bbs04, |trailer| trailer.group = xr_tag);
    let xr_there = as_scheme(&of_xr, Scheme::Xr, bbs04_tag);
    let relabelled = with_trailer(&incremental(), |trailer| {
        // 336 bytes are a signature of either scheme.
        trailer.scheme = Scheme::Bbs04;
        trailer.incremental = false;
    });
    let late = Some(Timestamp(NOW.0 + 3600 * SECOND_NS));
    let stale = "The same an hour later: the scheme is judged before the time.";
    let name = "xr-unknown-scheme-stale";
    vec![
        invalid("xr-unknown-scheme", Reason::UnknownScheme, "A signature of bbs04 in the name of a group of xr.", &bbs04_here),
        judged_at(name, "unknown-scheme", stale, Verdict::Invalid, &bbs04_here, late),
        invalid("unknown-scheme-xr", Reason::UnknownScheme, "A signature of xr in the name of a group of bbs04.", &xr_there),
        invalid(
            "xr-unknown-scheme-relabelled",
            Reason::UnknownScheme,
            "The incremental form of xr says that it is a plain one of bbs04, as long.",
            &relabelled,
        ),
        invalid(
            "xr-bad-trailer-length",
            Reason::BadTrailerLength,
            "The incremental form without its flag.",
            &with_trailer(&incremental(), |trailer| trailer.incremental = false),
        ),
    ]
}

fn bad_encodings() -> Vec<Case> {
    let (frame, long) = (plain(), incremental());
    let (body, long_body) = (body_of(&frame), body_of(&long));
    let bad = |name: &str, comment: &str, frame: &Owned, body: &[u8]| {
        let name = format!("xr-bad-encoding-{name}");
        invalid(&name, Reason::BadEncoding, comment, &with_body(frame, body))
    };
    let t1 = body.set(0, identity(48));
    let t2 = body.set(48, order_3());
    let r1 = refitted(&long, long_body.set(288, identity(48)));
    vec![
        bad("t1", "T1 is the identity.", &frame, &t1),
        bad("t2", "T2 is (0, 2), which has order 3.", &frame, &t2),
        bad("sy", "sy is not reduced.", &frame, &body.unreduced(256)),
        bad("r1", "R1 is the identity, and c is the hash of it.", &long, &r1),
    ]
}

/// The incremental body with the c of what it carries.
fn refitted(frame: &Owned, mut body: Vec<u8>) -> Vec<u8> {
    let message = message_of(frame);
    let mut domain = [0; 32];
    domain[..19].copy_from_slice(b"clew-xr-signature-1");
    let id = XR.records.epoch_id(NEWEST);
    let (t, r3, r1) = (&body[..96], &body[96..144], &body[288..]);
    let digest = hash(&[&domain, &id.0[..], t, r1, r3, &message].concat());
    body[144..160].copy_from_slice(&digest[..16]);
    body
}

fn bad_signatures() -> Vec<Case> {
    let (frame, long) = (plain(), incremental());
    let (body, long_body) = (body_of(&frame), body_of(&long));
    let bad = |name: &str, comment: &str, frame: &Owned| {
        let name = format!("xr-bad-signature-{name}");
        invalid(&name, Reason::BadSignature, comment, frame)
    };
    let t2 = with_body(&frame, &body.doubled(48, 48));
    let sd = with_body(&frame, &body.flip(255));
    let r1 = with_body(&long, &long_body.doubled(288, 48));
    let payload = frame.with(frame.bytes.set(30, b"P"));
    let epoch = Some(Timestamp(STARTS[2] + 10 * SECOND_NS));
    let earlier = signed_at(&raw(packet()), "xr-bad-epoch", PLAIN, 3, epoch);
    let earlier = with_trailer(&earlier, |trailer| trailer.epoch = 2);
    let (name, comment) = ("xr-bad-signature-epoch", "Epoch 2 in the place of 3, while both are accepted.");
    vec![
        bad("payload", "Another byte of the payload.", &payload),
        bad("t2", "T2 is another point.", &t2),
        bad("sd", "sd is one bit off: only the pairing says so.", &sd),
        bad("r1", "R1 is another point: the hash says so.", &r1),
        bad(
            "r1-identity",
            "R1 is the identity, and the hash says no before.",
            &with_body(&long, &long_body.set(288, identity(48))),
        ),
        bad("nat", "The flag nat was set on the way.", &with_trailer(&frame, |t| t.nat = true)),
        bad("kind", "The signature is over a call record with these fields.", &of_call_record()),
        judged_at(name, "bad-signature", comment, Verdict::Invalid, &earlier, epoch),
    ]
}

/// The packet with a signature over what is M but for the kind of the message.
fn of_call_record() -> Owned {
    let frame = plain();
    let record = message_of(&frame).set(16, [MessageKind::CallRecord as u8]);
    let precursor = XR.precursor_of("web-1", NEWEST, "xr-ipv4-udp");
    let mut body = [0; 288];
    precursor.sign(&[&record], false, &mut body);
    with_body(&frame, &body)
}

/// The same signature twice, live, in either form.
fn duplicates() -> Vec<Case> {
    let label = "xr-duplicate-form";
    let short = signed(&raw(packet()), label);
    let long = signed_at(&raw(packet()), label, INCREMENTAL, NEWEST, Some(NOW));
    let start = (NOW.0 - 3600 * SECOND_NS).to_be_bytes();
    let case = |name: &str, frame: &Owned, earlier: &Owned| {
        let comment = "The same signature in its other form.";
        judged(name, "duplicate", comment, Verdict::Invalid, frame)
            .hex("earlier-frame", &earlier.bytes)
            .hex("receiver-start", start)
    };
    vec![case("xr-duplicate-form", &long, &short), case("xr-duplicate-form-back", &short, &long)]
}

/// An epoch that a new opening key ended.
fn times() -> Vec<Case> {
    let end = STARTS[1] + 60 * SECOND_NS;
    let original = raw(packet());
    let comment = "The last nanosecond of epoch 1, which a new opening key ended.";
    let over = "The grace after epoch 1 is over in this nanosecond.";
    let time = Some(Timestamp(end));
    let late = signed_at(&original, "xr-epoch-over", PLAIN, 1, time);
    vec![
        made("xr-grace", comment, &original, PLAIN, 1, Some(Timestamp(end - 1))),
        judged_at("xr-epoch-over", "epoch-over", over, Verdict::Invalid, &late, time),
    ]
}
