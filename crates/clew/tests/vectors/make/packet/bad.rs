//! Vectors of packets: one frame for each reason of a reader.

use clew_packet::{GroupTag, LinkType, MAGIC, Mark, Reason, SECOND_NS, Saved, Timestamp, Trailer, Verdict};

use crate::case::Case;
use crate::common::Owned;
use crate::common::packets::*;
use crate::make::damage::Damage;
use crate::make::flat;
use crate::make::groups::bbs04_group::STARTS;
use crate::make::groups::records::NOW;
use crate::make::packet::frames::*;

pub fn all() -> Vec<Case> {
    flat([unsigned(), bad_layouts(), bad_marks(), bad_times(), bad_signatures(), duplicates()])
}

/// One frame for each reason of section 2, in its order.
fn unsigned() -> Vec<Case> {
    let pass = |reason: Reason, comment: &str, frame: Owned| {
        judged(reason.as_str(), reason.as_str(), comment, Verdict::Unsigned, &frame)
    };
    let arp = [&[2; 12][..], &[8, 6], &[0; 28]].concat();
    let six = ipv6(&[], UDP, &udp(b"payload"));
    let jumbo = ipv6(&[options(HOP_BY_HOP, &[0xc2, 4, 0, 1, 0, 0])], UDP, &udp(b"payload"));
    let many = vec![options(DESTINATION, &[]); 9];
    let unread = [routing(3, 1, &[FINAL_6])];
    vec![
        pass(Reason::LinkType, "Link type 147.", Owned::new(LinkType(147), packet())),
        pass(Reason::NotIp, "ARP.", Owned::new(LinkType::ETHERNET, arp)),
        pass(Reason::BadVersion, "IPv6 where the link type promises IPv4.", Owned::new(LinkType::IPV4, six)),
        pass(Reason::ZeroLength, "An IPv4 total length of zero: segmentation offload.", raw(packet().set(2, [0, 0]))),
        pass(Reason::Jumbo, "An IPv6 jumbo payload.", raw(jumbo.set(4, [0, 0]))),
        pass(Reason::BadLength, "An IPv4 total length beyond the frame.", raw(packet().set(3, [36]))),
        judged(
            "truncated",
            "truncated",
            "The capture holds 30 of 35 bytes.",
            Verdict::Undecided,
            &Owned { missing: 5, ..raw(packet()[..30].to_vec()) },
        ),
        pass(Reason::Fragment, "More fragments follow.", raw(packet().set(6, [0x60]))),
        pass(Reason::ExtensionHeaders, "Nine extension headers.", raw(ipv6(&many, UDP, &udp(b"")))),
        pass(Reason::RoutingHeader, "A routing header of type 3 with a segment left.", raw(ipv6(&unread, UDP, &udp(b"")))),
        pass(Reason::TooBig, "A trailer in an 802.3 frame of 1,485 bytes: no room for a mark.", too_big()),
        pass(Reason::NoTrailer, "No magic at the end.", raw(packet())),
        judged(
            "no-trailer-header",
            "no-trailer",
            "The magic is in the IP header: the destination address.",
            Verdict::Unsigned,
            &raw(ipv4(&[], 132, b"").set(16, MAGIC)),
        ),
    ]
}

/// An 802.3 frame that carries a trailer and has 15 bytes of room.
fn too_big() -> Owned {
    let fitting = raw(ipv4(&[], 132, &vec![0x77; 1485 - 8 - 20 - 367]));
    Wrap::Snap { tags: 0 }.around(&signed(&fitting, "too-big").bytes, &[])
}

/// The broken files start from this frame.
fn good() -> Owned {
    signed(&raw(packet()), "ipv4-udp")
}

/// The packet with this upper protocol, and the trailer of [`good`] changed.
fn carrying(protocol: u8, change: impl FnOnce(&mut Trailer<'_>)) -> Owned {
    retrailed(protocol, b"payload", &good(), change)
}

/// Section 3, in the order of a reader. Negative offsets are those of foot and head.
fn bad_layouts() -> Vec<Case> {
    let good = good();
    let patch = |reason: Reason, more: &str, comment: &str, at: i32, value: u8| {
        invalid(reason, more, comment, &good.with(good.bytes.set(at, [value])))
    };
    let length = |more: &str, comment: &str, length: u16| {
        let at = good.bytes.len() - 7;
        let bytes = good.bytes.set(at, length.to_be_bytes());
        invalid(Reason::BadTrailerLength, more, comment, &good.with(bytes))
    };
    let udp_length = carrying(132, |trailer| trailer.saved.udp_length = Some(15));
    let short = raw(ipv4(&[], 132, &[&[0, 1][..], &MAGIC].concat()));
    vec![
        patch(Reason::UnknownVersion, "", "Version 2.", -5, 2),
        length("-zero", "Length 0.", 0),
        length("-parts", "A byte less than the parts.", 366),
        length("-more-parts", "A byte more than the parts.", 368),
        length("-header", "As long as the whole datagram: the IP header would be part of it.", good.bytes.len() as u16),
        invalid(Reason::BadTrailerLength, "-foot", "The magic, and no room for a foot.", &short),
        patch(Reason::UnknownMode, "", "Mode 4.", -8, 4),
        patch(Reason::ReservedBits, "-6", "Flag bit 6.", -9, 1 << 6),
        patch(Reason::ReservedBits, "-7", "Flag bit 7.", -9, 1 << 7),
        patch(Reason::UnknownCarriage, "", "Carriage 2, coded.", -10, 2),
        patch(Reason::UnknownScheme, "", "Scheme 3, which there is not.", -11, 3),
        patch(Reason::UnknownScheme, "-zero", "Scheme 0.", -11, 0),
        patch(Reason::BadTrailerLength, "-scheme", "Scheme 2, xr, whose signature is shorter.", -11, 2),
        invalid(Reason::ReservedBits, "-saved", "A UDP length is saved, and the packet is not UDP.", &udp_length),
        invalid(Reason::ReservedBits, "-saved-ipv6", "An IPv4 header checksum is saved in IPv6.", &ipv4_checksum_in_ipv6()),
    ]
}

fn ipv4_checksum_in_ipv6() -> Owned {
    let four = carrying(132, |trailer| trailer.saved.ipv4_checksum = Some(1));
    raw(ipv6(&[], 132, &four.bytes[20..]))
}

fn bad_marks() -> Vec<Case> {
    let good = good();
    let with_mark = |frame: &Owned, count: u8, saved: Saved| {
        let mark = Mark { saved, count };
        let mut bytes = vec![0; mark.length()];
        mark.emit(&mut bytes);
        raw(ipv4(&[], UDP, &[&frame.bytes[20..], &bytes].concat()))
    };
    let (none, one) = (Saved::default(), with_mark(&good, 1, Saved::default()));
    let broken = good.with(good.bytes.set(-10, [2]));
    let not_udp = {
        let udp_length = Some(15);
        let mut frame = with_mark(&good, 1, Saved { udp_length, ..none });
        frame.bytes[9] = 132;
        frame
    };
    let patch = |reason, more: &str, comment: &str, at: i32, value: u8| {
        invalid(reason, more, comment, &one.with(one.bytes.set(at, [value])))
    };
    vec![
        invalid(Reason::BadMark, "-count-0", "A count of 0.", &with_mark(&good, 0, none)),
        invalid(Reason::BadMark, "-nothing", "No trailer within.", &with_mark(&raw(packet()), 1, none)),
        invalid(Reason::BadMark, "-ill-formed", "The trailer within has carriage 2.", &with_mark(&broken, 1, none)),
        invalid(Reason::BadMark, "-mark", "A mark within the mark.", &with_mark(&one, 1, none)),
        patch(Reason::ReservedBits, "-mark", "The mark has the flag nat.", -9, 1),
        invalid(Reason::ReservedBits, "-mark-saved", "The mark saves a UDP length, and the packet is not UDP.", &not_udp),
        patch(Reason::BadTrailerLength, "-mark", "A byte more than the parts of the mark.", -6, 11),
        patch(Reason::UnknownVersion, "-mark", "The mark has version 2.", -5, 2),
    ]
}

/// Steps 4 to 6.
fn bad_times() -> Vec<Case> {
    let (window, floor) = (30 * SECOND_NS, NOW.floor(SECOND_NS).0);
    let good = good();
    let at = |reason: Reason, comment: &str, time: u64| {
        let time = Some(Timestamp(time));
        let name = reason.as_str();
        judged_at(name, name, comment, Verdict::Invalid, &good, time)
    };
    let over = Timestamp(STARTS[0] + 60 * SECOND_NS);
    let late = signed_at(&raw(packet()), "epoch-over", PLAIN, 0, Some(over));
    let comment = "The grace after epoch 0 is over in this nanosecond.";
    let over = judged_at("epoch-over", "epoch-over", comment, Verdict::Invalid, &late, Some(over));
    let stranger = carrying(UDP, |trailer| trailer.group = GroupTag([9; 8]));
    let next = carrying(UDP, |trailer| trailer.epoch = 3);
    let untimed = signed_at(&raw(packet()), "stale-zero", PLAIN, EPOCH, None);
    vec![
        invalid(Reason::UnknownGroup, "", "Another group.", &stranger),
        invalid(Reason::UnknownEpoch, "", "Epoch 3, which the group file does not have.", &next),
        over,
        at(Reason::Stale, "A nanosecond older than the window and the resolution.", floor + window + SECOND_NS + 1),
        invalid(Reason::Stale, "-zero", "Timestamp 0 in a packet that has a time.", &untimed),
        at(Reason::Future, "A nanosecond further in the future than the window.", floor - window - 1),
    ]
}

/// Step 7: one value is changed in each.
fn bad_signatures() -> Vec<Case> {
    let good = good();
    let body = |at: usize, value: &[u8]| {
        let body = trailer_of(&good).body.set(at, value);
        carrying(UDP, |trailer| trailer.body = body.leak())
    };
    let identity = [0; 48].set(0, [0xc0]);
    let encoding = |more: &str, comment: &str, frame| invalid(Reason::BadEncoding, more, comment, &frame);
    let bad = |more: &str, comment: &str, frame: Owned| invalid(Reason::BadSignature, more, comment, &frame);
    let changed = |at: usize, value: u8| good.with(good.bytes.set(at, [value]));
    let signed = |name: &str, policy| signed_at(&raw(packet()), name, policy, EPOCH, Some(NOW));
    let incremental = signed("bad-signature-incremental", INCREMENTAL);
    let last = incremental.bytes.len() - 32;
    let wrong = incremental.bytes[last] ^ 1;
    vec![
        encoding("", "T1 is the identity.", body(0, &identity)),
        encoding("-scalar", "s_delta2 is not reduced.", body(304, &[0xff; 32])),
        bad("", "Another byte of the payload.", changed(30, b'P')),
        bad("-source", "Another source address.", changed(15, 9)),
        bad("-port", "Another destination port.", changed(23, 54)),
        bad("-protocol", "Another upper protocol.", changed(9, 132)),
        bad("-timestamp", "A timestamp one nanosecond later.", carrying(UDP, |t| t.timestamp = t.timestamp.after(1))),
        bad("-nat", "The flag nat was set on the way.", carrying(UDP, |t| t.nat = true)),
        bad("-tolerant", "The flag tolerant was set on the way.", carrying(UDP, |t| t.tolerant = true)),
        bad("-saved", "A value to restore was added on the way.", carrying(UDP, |t| t.saved.l4_checksum = Some(1))),
        bad("-incremental", "R5 is another: the hash says so.", incremental.with(incremental.bytes.set(last, [wrong]))),
        bad("-incremental-t1", "T1 is the identity, and the hash says no before.", {
            let body = trailer_of(&incremental).body.set(0, &identity);
            carrying(UDP, |trailer| {
                trailer.incremental = true;
                trailer.body = body.leak();
            })
        }),
        bad_epoch(),
    ]
}

/// In the grace of epoch 1, a packet of epoch 2 says that it is of epoch 1.
fn bad_epoch() -> Case {
    let time = Some(Timestamp(STARTS[1] + 10 * SECOND_NS));
    let frame = signed_at(&raw(packet()), "bad-signature-epoch", PLAIN, EPOCH, time);
    let epoch_at = frame.bytes.len() - 9 - 22 + 8 + 3;
    let other = frame.with(frame.bytes.set(epoch_at, [1]));
    let comment = "Epoch 1 in the place of 2, while both are accepted.";
    judged_at("bad-signature-epoch", "bad-signature", comment, Verdict::Invalid, &other, time)
}

/// Step 8: the same signature twice.
fn duplicates() -> Vec<Case> {
    let frame = signed(&raw(packet()), "duplicate");
    let plain = signed_at(&raw(packet()), "duplicate-form", PLAIN, EPOCH, Some(NOW));
    let long = signed_at(&raw(packet()), "duplicate-form", INCREMENTAL, EPOCH, Some(NOW));
    let live = |case: Case| {
        let start = NOW.0 - 3600 * SECOND_NS;
        case.hex("receiver-start", start.to_be_bytes())
    };
    let case = |name: &str, comment: &str, verdict, frame: &Owned, earlier: &Owned| {
        judged(name, "duplicate", comment, verdict, frame).hex("earlier-frame", &earlier.bytes)
    };
    vec![
        case("duplicate-capture", "Seen twice in a capture: valid.", Verdict::Valid, &frame, &frame),
        live(case("duplicate-live", "Seen twice live: refused.", Verdict::Invalid, &frame, &frame)),
        live(case("duplicate-form", "The same signature in its other form.", Verdict::Invalid, &long, &plain)),
    ]
}
