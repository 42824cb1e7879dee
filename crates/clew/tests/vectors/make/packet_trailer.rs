//! Vectors of packets: signed frames, and one frame per reason of a reader.

use clew_packet::{
    Block, Frame, GroupTag, LinkType, MAGIC, Mark, Policy, Reason, SECOND_NS, Saved, Sender,
    Timestamp, Trailer, Verdict, mark, read,
};

use super::group::{FILE, GROUP, NOW, STARTS};
use super::key_file::member_file;
use super::{nonces, patched, replaced, with_nonces};
use crate::case::Case;
use crate::common::Owned;
use crate::common::packets::*;

/// The epoch of [`NOW`].
const EPOCH: usize = 2;

const PLAIN: Policy = Policy {
    nat: false,
    tolerant: false,
    incremental: false,
    resolution_ns: SECOND_NS,
    mtu: None,
};
const NAT: Policy = Policy { nat: true, ..PLAIN };
const TOLERANT: Policy = Policy {
    tolerant: true,
    ..PLAIN
};
const INCREMENTAL: Policy = Policy {
    incremental: true,
    ..PLAIN
};

pub fn all() -> Vec<Case> {
    let groups = [
        uppers(),
        headers(),
        links(),
        policies(),
        saved(),
        marks(),
        on_the_way(),
        times(),
        unsigned(),
        bad_layouts(),
        bad_marks(),
        bad_times(),
        bad_signatures(),
        duplicates(),
    ];
    groups.into_iter().flatten().collect()
}

fn raw(bytes: Vec<u8>) -> Owned {
    Owned::new(LinkType::RAW, bytes)
}

/// The packet that most cases break.
fn packet() -> Vec<u8> {
    ipv4(&[], UDP, &udp(b"payload"))
}

fn syn() -> Vec<u8> {
    // MSS 1460, no operation, window scale, in a SYN with ECE and CWR.
    tcp(0xc2, &[2, 4, 5, 0xb4, 1, 3, 3, 7], b"payload")
}

/// Signs for `web-1` with the nonces of `label`.
fn signed_at(
    frame: &Owned,
    label: &str,
    policy: Policy,
    epoch: usize,
    time: Option<Timestamp>,
) -> Owned {
    let (sender, mut out) = (Sender::new(GROUP.id(), epoch as u32, policy), Vec::new());
    let precursor = || GROUP.signer(epoch).precursor_from(nonces(label));
    let reason = sender.sign(&frame.frame(), time, precursor, &mut out);
    assert_eq!(reason, Reason::Signed, "{label}");
    frame.with(out)
}

fn signed(frame: &Owned, label: &str) -> Owned {
    signed_at(frame, label, PLAIN, EPOCH, Some(NOW))
}

/// A frame that a receiver for captures judges at [`NOW`].
fn judged(name: &str, expect: &str, comment: &str, verdict: Verdict, frame: &Owned) -> Case {
    judged_at(name, expect, comment, verdict, frame, Some(NOW))
}

fn judged_at(
    name: &str,
    expect: &str,
    comment: &str,
    verdict: Verdict,
    frame: &Owned,
    time: Option<Timestamp>,
) -> Case {
    let case = Case::new("packet-trailer", name, expect, comment)
        .text("verdict", verdict.as_str())
        .text("group-file", FILE)
        .hex("link-type", frame.link.0.to_be_bytes());
    let case = match time {
        Some(time) => case.hex("time", time.0.to_be_bytes()),
        None => case,
    };
    let wire = (frame.bytes.len() + frame.missing) as u32;
    case.hex("wire-length", wire.to_be_bytes())
        .hex("frame", &frame.bytes)
}

/// A valid frame, with what its signature covers.
fn valid(name: &str, comment: &str, frame: &Owned, time: Option<Timestamp>) -> Case {
    let case = judged_at(name, "valid", comment, Verdict::Valid, frame, time);
    let packet = read(&frame.frame()).unwrap();
    let mut message = Vec::new();
    packet.write_message(&mut message);
    let trailer = packet.trailer();
    let fixed = 16 + 4 + 8 + 4 + 8 + 2 + 1 + 4;
    let saved = frame_saved(&trailer.saved);
    case.hex("message", &message)
        .hex("fields", &message[fixed + saved..])
}

fn frame_saved(saved: &Saved) -> usize {
    let values = [saved.ipv4_checksum, saved.udp_length, saved.l4_checksum];
    2 * values.into_iter().flatten().count()
}

/// A frame before and after signing, with all that signing needs.
fn before_and_after(name: &str, comment: &str, original: &Owned, policy: Policy) -> Case {
    made(name, comment, original, policy, EPOCH, Some(NOW))
}

fn made(
    name: &str,
    comment: &str,
    original: &Owned,
    policy: Policy,
    epoch: usize,
    time: Option<Timestamp>,
) -> Case {
    let frame = signed_at(original, name, policy, epoch, time);
    let flags = [
        (policy.nat, "nat"),
        (policy.tolerant, "tolerant"),
        (policy.incremental, "incremental"),
    ];
    let flags: Vec<_> = flags
        .iter()
        .filter(|(set, _)| *set)
        .map(|(_, f)| *f)
        .collect();
    let case = valid(name, comment, &frame, time)
        .hex("original", &original.bytes)
        .text("policy", &flags.join(" "))
        .text("member-key", &member_file(epoch));
    with_nonces(case, name)
}

fn plain(name: &str, comment: &str, original: Owned) -> Case {
    before_and_after(name, comment, &original, PLAIN)
}

fn uppers() -> Vec<Case> {
    let echo = icmp(8, b"payload");
    vec![
        plain(
            "ipv4-tcp",
            "A SYN segment with options.",
            raw(ipv4(&[], TCP, &syn())),
        ),
        plain(
            "ipv4-udp",
            "The packet that most other files break.",
            raw(packet()),
        ),
        plain("ipv4-icmp", "An echo request.", raw(ipv4(&[], ICMP, &echo))),
        plain(
            "ipv4-other",
            "An upper layer without a checksum that is known.",
            raw(ipv4(&[], 132, b"sctp")),
        ),
        plain(
            "ipv4-empty",
            "No byte of an upper layer.",
            raw(ipv4(&[], 132, b"")),
        ),
        plain(
            "ipv4-short-tcp",
            "Too short for a TCP header: left as it is.",
            raw(ipv4(&[], TCP, b"nineteen bytes long")),
        ),
        plain("ipv6-tcp", "The same segment.", raw(ipv6(&[], TCP, &syn()))),
        plain(
            "ipv6-udp",
            "UDP over IPv6.",
            raw(ipv6(&[], UDP, &udp(b"payload"))),
        ),
        plain(
            "ipv6-icmpv6",
            "An echo request.",
            raw(ipv6(&[], ICMPV6, &icmp(128, b"payload"))),
        ),
        plain(
            "ipv6-no-next-header",
            "No-next-header, and a payload length of zero.",
            raw(ipv6(&[], 59, b"")),
        ),
    ]
}

fn headers() -> Vec<Case> {
    // Router alert stays, record route and what follows the end of list differ.
    let options_4 = [148, 4, 0, 0, 7, 7, 4, 1, 2, 3, 4, 1, 0, 9, 9, 9];
    let misfit = [1, 130, 11, 1, 2, 3, 4, 5, 6, 7, 8, 9, 68, 200, 1, 1];
    let extensions = [
        options(HOP_BY_HOP, &[5, 2, 0, 0]),
        options(DESTINATION, &[0x1e, 4, 1, 2, 3, 4, 0x3e, 2, 9, 9]),
        routing(0, 2, &[DESTINATION_6, FINAL_6]),
        options(DESTINATION, &[0xc9, 1, 7]),
    ];
    let segment_routing = [routing(4, 1, &[FINAL_6, DESTINATION_6])];
    let finished = [routing(3, 0, &[FINAL_6])];
    let (u, six) = (udp(b"payload"), |last, e: &[Extension]| {
        raw(ipv6_to(last, e, UDP, &udp(b"payload")))
    });
    vec![
        plain(
            "ipv4-options",
            "Options that may change are signed as zeros.",
            raw(ipv4(&options_4, UDP, &u)),
        ),
        plain(
            "ipv4-options-misfit",
            "From an option that does not fit, all is zero.",
            raw(ipv4(&misfit, UDP, &u)),
        ),
        plain(
            "ipv6-extensions",
            "Hop-by-hop, destination options twice, and routing of type 0.",
            six(FINAL_6, &extensions),
        ),
        plain(
            "ipv6-segment-routing",
            "Routing of type 4: the final destination is the first segment.",
            six(FINAL_6, &segment_routing),
        ),
        plain(
            "ipv6-routing-finished",
            "A routing header of unknown type without segments left.",
            six(DESTINATION_6, &finished),
        ),
    ]
}

fn links() -> Vec<Case> {
    let wrapped =
        |name: &str, comment: &str, wrap: Wrap| plain(name, comment, wrap.around(&packet(), &[]));
    let pad = [0; 11];
    let cut = Owned {
        missing: 5,
        ..raw(packet())
    };
    let six = ipv6(&[], UDP, &udp(b"payload"));
    vec![
        plain(
            "padding",
            "Ethernet with link padding, which stays behind the trailer.",
            Wrap::Ethernet { tags: 0 }.around(&packet(), &pad),
        ),
        wrapped("vlan", "Two VLAN tags.", Wrap::Ethernet { tags: 2 }),
        wrapped(
            "pppoe",
            "A PPPoE session behind a VLAN tag: its length grows.",
            Wrap::Pppoe { tags: 1 },
        ),
        wrapped(
            "snap",
            "802.3 with LLC and SNAP: its length grows.",
            Wrap::Snap { tags: 0 },
        ),
        wrapped(
            "snap-pppoe",
            "A PPPoE session within 802.3: both lengths grow.",
            Wrap::SnapPppoe,
        ),
        wrapped(
            "ppp",
            "PPP with address and control, and a protocol of one byte.",
            Wrap::PppCompressed,
        ),
        wrapped("sll", "Linux cooked, version 1.", Wrap::Sll { tags: 0 }),
        wrapped(
            "sll2",
            "Linux cooked, version 2, with a VLAN tag.",
            Wrap::Sll2 { tags: 1 },
        ),
        plain(
            "null",
            "BSD null of a little-endian machine, IPv6.",
            Wrap::NullLittle.around(&six, &[]),
        ),
        wrapped("loop", "OpenBSD loopback.", Wrap::Loop),
        plain(
            "padding-cut",
            "The capture lacks padding that the wire had: no harm.",
            cut,
        ),
    ]
}

fn policies() -> Vec<Case> {
    let tcp = raw(ipv4(&[], TCP, &syn()));
    let ping = raw(ipv6(&[], ICMPV6, &icmp(128, b"payload")));
    let all = Policy {
        nat: true,
        tolerant: true,
        ..INCREMENTAL
    };
    vec![
        before_and_after("nat", "Source address and port are not signed.", &tcp, NAT),
        before_and_after(
            "nat-icmpv6",
            "Source address and identifier are not signed.",
            &ping,
            NAT,
        ),
        before_and_after(
            "tolerant",
            "ECN flags and MSS are not signed.",
            &tcp,
            TOLERANT,
        ),
        before_and_after(
            "incremental",
            "The body of 1,104 bytes.",
            &raw(packet()),
            INCREMENTAL,
        ),
        before_and_after(
            "all-flags",
            "nat, tolerant and incremental at once.",
            &tcp,
            all,
        ),
    ]
}

fn saved() -> Vec<Case> {
    let wrong = |bytes: &[u8], at: usize| raw(patched(bytes, at as isize, bytes[at] ^ 0x5a));
    let (udp_4, tcp_4) = (packet(), ipv4(&[], TCP, &syn()));
    let unchecked = raw(replaced(&udp_4, 26, &[0, 0]));
    let all = replaced(&replaced(&udp_4, 24, &[0, 8, 1, 2]), 10, &[3, 4]);
    vec![
        plain(
            "udp-checksum-zero",
            "UDP without a checksum: the zero is saved.",
            unchecked,
        ),
        plain(
            "saved-ipv4-checksum",
            "A wrong header checksum is saved.",
            wrong(&udp_4, 10),
        ),
        plain(
            "saved-udp-length",
            "A wrong UDP length is saved, and the checksum with it.",
            wrong(&udp_4, 25),
        ),
        plain(
            "saved-tcp-checksum",
            "A wrong TCP checksum is saved.",
            wrong(&tcp_4, 36),
        ),
        plain("saved-all", "All three.", raw(all)),
    ]
}

/// Frames that were signed twice or more: the original carries a trailer.
fn marks() -> Vec<Case> {
    let marked = |frame: &Owned| {
        let mut out = Vec::new();
        assert_eq!(mark(&frame.frame(), &mut out), Some(Reason::AlreadySigned));
        frame.with(out)
    };
    let once = signed(&Wrap::Pppoe { tags: 0 }.around(&packet(), &[0; 3]), "mark");
    let mut wrong = signed(&raw(packet()), "mark-saved");
    wrong.bytes[10] ^= 1;
    wrong.bytes[26] ^= 1;
    let cases = [
        (
            "mark",
            "A signed packet is signed again: it gets a mark.",
            once.clone(),
        ),
        ("mark-2", "And again: the count is 2.", marked(&once)),
        (
            "mark-saved",
            "Checksums that were changed on the way are saved in the mark.",
            wrong.clone(),
        ),
        (
            "mark-saved-2",
            "A wrong checksum stays wrong in the same bits.",
            marked(&wrong),
        ),
    ];
    cases
        .map(|(name, comment, original)| {
            valid(name, comment, &marked(&original), Some(NOW)).hex("original", &original.bytes)
        })
        .into()
}

/// Changes that the network may make.
fn on_the_way() -> Vec<Case> {
    let case = |name: &str, comment: &str, frame: &Owned| valid(name, comment, frame, Some(NOW));
    let forwarded = {
        let frame = signed(&raw(packet()), "forwarded");
        frame.with(replaced(&replaced(&frame.bytes, 1, &[0xb9]), 8, &[41]))
    };
    let translated = {
        let frame = signed_at(
            &raw(ipv4(&[], TCP, &syn())),
            "translated",
            NAT,
            EPOCH,
            Some(NOW),
        );
        let address = replaced(&frame.bytes, 12, &[203, 0, 113, 77]);
        frame.with(replaced(&address, 20, &[0xab, 0xcd]))
    };
    let clamped = {
        let frame = signed_at(
            &raw(ipv4(&[], TCP, &syn())),
            "clamped",
            TOLERANT,
            EPOCH,
            Some(NOW),
        );
        let bleached = replaced(&frame.bytes, 33, &[0x02]);
        frame.with(replaced(&bleached, 42, &[5, 0x64]))
    };
    let routed = {
        let before = [routing(0, 1, &[FINAL_6])];
        let frame = signed(
            &raw(ipv6_to(FINAL_6, &before, UDP, &udp(b"payload"))),
            "routed",
        );
        let swapped = replaced(&replaced(&frame.bytes, 24, &FINAL_6), 48, &DESTINATION_6);
        frame.with(replaced(&swapped, 43, &[0]))
    };
    vec![
        case("changed-ttl", "Another TTL and DSCP.", &forwarded),
        case(
            "changed-source",
            "Source address and port translated, with the flag nat.",
            &translated,
        ),
        case(
            "changed-mss",
            "MSS clamped and ECN bleached, with the flag tolerant.",
            &clamped,
        ),
        case(
            "changed-route",
            "The last segment was reached: addresses are exchanged.",
            &routed,
        ),
    ]
}

fn times() -> Vec<Case> {
    let (window, floor) = (30 * SECOND_NS, NOW.floor(SECOND_NS).0);
    let frame = signed(&raw(packet()), "times");
    let at =
        |name: &str, comment: &str, time: u64| valid(name, comment, &frame, Some(Timestamp(time)));
    let grace = STARTS[0] + 60 * SECOND_NS - 1;
    let original = raw(packet());
    vec![
        at(
            "oldest",
            "The packet's time is the window and the resolution after the timestamp.",
            floor + window + SECOND_NS,
        ),
        at(
            "newest",
            "The packet's time is the window before the timestamp.",
            floor - window,
        ),
        made(
            "grace",
            "The last nanosecond in which epoch 0 is accepted.",
            &original,
            PLAIN,
            0,
            Some(Timestamp(grace)),
        ),
        made(
            "no-time",
            "A packet without a time: the timestamp is 0.",
            &original,
            PLAIN,
            EPOCH,
            None,
        ),
        valid(
            "no-time-later",
            "A timestamp is not judged if the reader has no time.",
            &frame,
            None,
        ),
    ]
}

/// One frame for each reason of section 2, in its order.
fn unsigned() -> Vec<Case> {
    let pass = |reason: Reason, comment: &str, frame: Owned| {
        judged(
            reason.as_str(),
            reason.as_str(),
            comment,
            Verdict::Unsigned,
            &frame,
        )
    };
    let arp = [&[2; 12][..], &[8, 6], &[0; 28]].concat();
    let six = ipv6(&[], UDP, &udp(b"payload"));
    let jumbo = ipv6(
        &[options(HOP_BY_HOP, &[0xc2, 4, 0, 1, 0, 0])],
        UDP,
        &udp(b"payload"),
    );
    let many = vec![options(DESTINATION, &[]); 9];
    let unread = [routing(3, 1, &[FINAL_6])];
    vec![
        pass(
            Reason::LinkType,
            "Link type 147.",
            Owned::new(LinkType(147), packet()),
        ),
        pass(Reason::NotIp, "ARP.", Owned::new(LinkType::ETHERNET, arp)),
        pass(
            Reason::BadVersion,
            "IPv6 where the link type promises IPv4.",
            Owned::new(LinkType::IPV4, six),
        ),
        pass(
            Reason::ZeroLength,
            "An IPv4 total length of zero: segmentation offload.",
            raw(replaced(&packet(), 2, &[0, 0])),
        ),
        pass(
            Reason::Jumbo,
            "An IPv6 jumbo payload.",
            raw(replaced(&jumbo, 4, &[0, 0])),
        ),
        pass(
            Reason::BadLength,
            "An IPv4 total length beyond the frame.",
            raw(patched(&packet(), 3, 36)),
        ),
        judged(
            "truncated",
            "truncated",
            "The capture holds 30 of 35 bytes.",
            Verdict::Undecided,
            &Owned {
                missing: 5,
                ..raw(packet()[..30].to_vec())
            },
        ),
        pass(
            Reason::Fragment,
            "More fragments follow.",
            raw(patched(&packet(), 6, 0x60)),
        ),
        pass(
            Reason::ExtensionHeaders,
            "Nine extension headers.",
            raw(ipv6(&many, UDP, &udp(b""))),
        ),
        pass(
            Reason::RoutingHeader,
            "A routing header of type 3 with a segment left.",
            raw(ipv6(&unread, UDP, &udp(b""))),
        ),
        pass(
            Reason::TooBig,
            "A trailer in an 802.3 frame of 1,485 bytes: no room for a mark.",
            too_big(),
        ),
        pass(Reason::NoTrailer, "No magic at the end.", raw(packet())),
        judged(
            "no-trailer-header",
            "no-trailer",
            "The magic is in the IP header: the destination address.",
            Verdict::Unsigned,
            &raw(replaced(&ipv4(&[], 132, b""), 16, &MAGIC)),
        ),
    ]
}

/// An 802.3 frame that carries a trailer and has 15 bytes of room.
fn too_big() -> Owned {
    let fitting = raw(ipv4(&[], 132, &vec![0x77; 1485 - 8 - 20 - 367]));
    Wrap::Snap { tags: 0 }.around(&signed(&fitting, "too-big").bytes, &[])
}

/// The case of an invalid frame; a file has the name of its reason and perhaps more.
fn invalid(reason: Reason, more: &str, comment: &str, frame: &Owned) -> Case {
    let name = format!("{reason}{more}");
    judged(&name, reason.as_str(), comment, Verdict::Invalid, frame)
}

/// The broken files start from this frame.
fn good() -> Owned {
    signed(&raw(packet()), "ipv4-udp")
}

fn trailer_of(frame: &Owned) -> Trailer<'_> {
    let frame: Frame<'_> = frame.frame();
    *read(&frame).unwrap().trailer()
}

/// The packet with this upper protocol, and the trailer of [`good`] changed.
fn carrying(protocol: u8, change: impl FnOnce(&mut Trailer<'_>)) -> Owned {
    let good = good();
    let mut trailer = trailer_of(&good);
    change(&mut trailer);
    let mut bytes = vec![0; trailer.length()];
    trailer.emit(&mut bytes);
    let mut upper = [&udp(b"payload"), &bytes[..]].concat();
    if protocol == UDP {
        upper = replaced(&upper, 4, &(upper.len() as u16).to_be_bytes());
    }
    raw(ipv4(&[], protocol, &upper))
}

/// Section 3, in the order of a reader. Negative offsets are those of foot and head.
fn bad_layouts() -> Vec<Case> {
    let good = good();
    let patch = |reason: Reason, more: &str, comment: &str, at: isize, value: u8| {
        invalid(
            reason,
            more,
            comment,
            &good.with(patched(&good.bytes, at, value)),
        )
    };
    let length = |more: &str, comment: &str, length: u16| {
        let at = good.bytes.len() - 7;
        let bytes = replaced(&good.bytes, at, &length.to_be_bytes());
        invalid(Reason::BadTrailerLength, more, comment, &good.with(bytes))
    };
    let window = carrying(132, |trailer| {
        trailer.block = Block::Window { k: 8, h: &[7; 32] }
    });
    let tree = carrying(132, |trailer| {
        let (id, path) = (&[1; 16], &[2; 32]);
        trailer.block = Block::Tree {
            id,
            index: 1,
            count: 4,
            digest: 16,
            path,
        };
    });
    let udp_length = carrying(132, |trailer| trailer.saved.udp_length = Some(15));
    let short = raw(ipv4(&[], 132, &[&[0, 1][..], &MAGIC].concat()));
    vec![
        patch(Reason::UnknownVersion, "", "Version 2.", -5, 2),
        length("-zero", "Length 0.", 0),
        length("-parts", "A byte less than the parts.", 366),
        length("-more-parts", "A byte more than the parts.", 368),
        length(
            "-header",
            "As long as the whole datagram: the IP header would be part of it.",
            good.bytes.len() as u16,
        ),
        invalid(
            Reason::BadTrailerLength,
            "-foot",
            "The magic, and no room for a foot.",
            &short,
        ),
        patch(Reason::UnknownMode, "", "Mode 4.", -8, 4),
        invalid(
            Reason::UnknownMode,
            "-window",
            "A well-formed trailer of mode window.",
            &window,
        ),
        invalid(
            Reason::UnknownMode,
            "-tree",
            "A well-formed trailer of mode tree.",
            &tree,
        ),
        patch(Reason::ReservedBits, "-6", "Flag bit 6.", -9, 1 << 6),
        patch(Reason::ReservedBits, "-7", "Flag bit 7.", -9, 1 << 7),
        patch(Reason::UnknownCarriage, "", "Carriage 2, coded.", -10, 2),
        patch(Reason::UnknownScheme, "", "Scheme 2, xr.", -11, 2),
        invalid(
            Reason::ReservedBits,
            "-saved",
            "A UDP length is saved, and the packet is not UDP.",
            &udp_length,
        ),
        invalid(
            Reason::ReservedBits,
            "-saved-ipv6",
            "An IPv4 header checksum is saved in IPv6.",
            &ipv4_checksum_in_ipv6(),
        ),
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
    let broken = good.with(patched(&good.bytes, -10, 2));
    let not_udp = {
        let udp_length = Some(15);
        let mut frame = with_mark(&good, 1, Saved { udp_length, ..none });
        frame.bytes[9] = 132;
        frame
    };
    let patch = |reason, more: &str, comment: &str, at: isize, value: u8| {
        invalid(
            reason,
            more,
            comment,
            &one.with(patched(&one.bytes, at, value)),
        )
    };
    vec![
        invalid(
            Reason::BadMark,
            "-count-0",
            "A count of 0.",
            &with_mark(&good, 0, none),
        ),
        invalid(
            Reason::BadMark,
            "-nothing",
            "No trailer within.",
            &with_mark(&raw(packet()), 1, none),
        ),
        invalid(
            Reason::BadMark,
            "-ill-formed",
            "The trailer within has carriage 2.",
            &with_mark(&broken, 1, none),
        ),
        invalid(
            Reason::BadMark,
            "-mark",
            "A mark within the mark.",
            &with_mark(&one, 1, none),
        ),
        patch(
            Reason::ReservedBits,
            "-mark",
            "The mark has the flag nat.",
            -9,
            1,
        ),
        invalid(
            Reason::ReservedBits,
            "-mark-saved",
            "The mark saves a UDP length, and the packet is not UDP.",
            &not_udp,
        ),
        patch(
            Reason::BadTrailerLength,
            "-mark",
            "A byte more than the parts of the mark.",
            -6,
            11,
        ),
        patch(
            Reason::UnknownVersion,
            "-mark",
            "The mark has version 2.",
            -5,
            2,
        ),
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
    let over = judged_at(
        "epoch-over",
        "epoch-over",
        comment,
        Verdict::Invalid,
        &late,
        Some(over),
    );
    let stranger = carrying(UDP, |trailer| trailer.group = GroupTag([9; 8]));
    let next = carrying(UDP, |trailer| trailer.epoch = 3);
    let untimed = signed_at(&raw(packet()), "stale-zero", PLAIN, EPOCH, None);
    vec![
        invalid(Reason::UnknownGroup, "", "Another group.", &stranger),
        invalid(
            Reason::UnknownEpoch,
            "",
            "Epoch 3, which the group file does not have.",
            &next,
        ),
        over,
        at(
            Reason::Stale,
            "A nanosecond older than the window and the resolution.",
            floor + window + SECOND_NS + 1,
        ),
        invalid(
            Reason::Stale,
            "-zero",
            "Timestamp 0 in a packet that has a time.",
            &untimed,
        ),
        at(
            Reason::Future,
            "A nanosecond further in the future than the window.",
            floor - window - 1,
        ),
    ]
}

/// Step 7: one value is changed in each.
fn bad_signatures() -> Vec<Case> {
    let good = good();
    let body = |at: usize, value: &[u8]| {
        let body = replaced(trailer_of(&good).body, at, value);
        carrying(UDP, |trailer| trailer.body = body.leak())
    };
    let identity = replaced(&[0; 48], 0, &[0xc0]);
    let encoding =
        |more: &str, comment: &str, frame| invalid(Reason::BadEncoding, more, comment, &frame);
    let bad = |more: &str, comment: &str, frame: Owned| {
        invalid(Reason::BadSignature, more, comment, &frame)
    };
    let changed = |at: usize, value: u8| good.with(patched(&good.bytes, at as isize, value));
    let signed = |name: &str, policy| signed_at(&raw(packet()), name, policy, EPOCH, Some(NOW));
    let incremental = signed("bad-signature-incremental", INCREMENTAL);
    let last = incremental.bytes.len() - 32;
    let wrong = incremental.bytes[last] ^ 1;
    vec![
        encoding("", "T1 is the identity.", body(0, &identity)),
        encoding(
            "-scalar",
            "s_delta2 is not reduced.",
            body(304, &[0xff; 32]),
        ),
        bad("", "Another byte of the payload.", changed(30, b'P')),
        bad("-source", "Another source address.", changed(15, 9)),
        bad("-port", "Another destination port.", changed(23, 54)),
        bad("-protocol", "Another upper protocol.", changed(9, 132)),
        bad(
            "-timestamp",
            "A timestamp one nanosecond later.",
            carrying(UDP, |t| t.timestamp = t.timestamp.after(1)),
        ),
        bad(
            "-nat",
            "The flag nat was set on the way.",
            carrying(UDP, |t| t.nat = true),
        ),
        bad(
            "-tolerant",
            "The flag tolerant was set on the way.",
            carrying(UDP, |t| t.tolerant = true),
        ),
        bad(
            "-saved",
            "A value to restore was added on the way.",
            carrying(UDP, |t| t.saved.l4_checksum = Some(1)),
        ),
        bad(
            "-incremental",
            "R5 is another: the hash says so.",
            incremental.with(patched(&incremental.bytes, last as isize, wrong)),
        ),
        bad_epoch(),
    ]
}

/// In the grace of epoch 1, a packet of epoch 2 says that it is of epoch 1.
fn bad_epoch() -> Case {
    let time = Some(Timestamp(STARTS[1] + 10 * SECOND_NS));
    let frame = signed_at(&raw(packet()), "bad-signature-epoch", PLAIN, EPOCH, time);
    let epoch_at = frame.bytes.len() - 9 - 22 + 8 + 3;
    let other = frame.with(patched(&frame.bytes, epoch_at as isize, 1));
    let comment = "Epoch 1 in the place of 2, while both are accepted.";
    judged_at(
        "bad-signature-epoch",
        "bad-signature",
        comment,
        Verdict::Invalid,
        &other,
        time,
    )
}

/// Step 8: the same signature twice.
fn duplicates() -> Vec<Case> {
    let frame = signed(&raw(packet()), "duplicate");
    let plain = signed_at(&raw(packet()), "duplicate-form", PLAIN, EPOCH, Some(NOW));
    let long = signed_at(
        &raw(packet()),
        "duplicate-form",
        INCREMENTAL,
        EPOCH,
        Some(NOW),
    );
    let live = |case: Case| {
        let start = NOW.0 - 3600 * SECOND_NS;
        case.hex("receiver-start", start.to_be_bytes())
    };
    let case = |name: &str, comment: &str, verdict, frame: &Owned, earlier: &Owned| {
        judged(name, "duplicate", comment, verdict, frame).hex("earlier-frame", &earlier.bytes)
    };
    vec![
        case(
            "duplicate-capture",
            "Seen twice in a capture: valid.",
            Verdict::Valid,
            &frame,
            &frame,
        ),
        live(case(
            "duplicate-live",
            "Seen twice live: refused.",
            Verdict::Invalid,
            &frame,
            &frame,
        )),
        live(case(
            "duplicate-form",
            "The same signature in its other form.",
            Verdict::Invalid,
            &long,
            &plain,
        )),
    ]
}
