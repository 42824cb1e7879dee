//! Vectors of packets: frames that are valid, with what their signature covers.

use clew_packet::{SECOND_NS, SignOutcome, Timestamp, mark};

use crate::case::Case;
use crate::common::Owned;
use crate::common::packets::*;
use crate::make::damage::Damage;
use crate::make::flat;
use crate::make::groups::bbs04_group::STARTS;
use crate::make::groups::records::NOW;
use crate::make::packet::frames::*;
use clew_packet::Policy;

pub fn all() -> Vec<Case> {
    flat([uppers(), headers(), links(), policies(), saved(), marks(), on_the_way(), times()])
}

fn uppers() -> Vec<Case> {
    let echo = icmp(8, b"payload");
    vec![
        plain("ipv4-tcp", "A SYN segment with options.", raw(ipv4(&[], TCP, &syn()))),
        plain("ipv4-udp", "The packet that most other files break.", raw(packet())),
        plain("ipv4-icmp", "An echo request.", raw(ipv4(&[], ICMP, &echo))),
        plain("ipv4-other", "An upper layer without a checksum that is known.", raw(ipv4(&[], 132, b"sctp"))),
        plain("ipv4-empty", "No byte of an upper layer.", raw(ipv4(&[], 132, b""))),
        plain("ipv4-short-tcp", "Too short for a TCP header: left as it is.", raw(ipv4(&[], TCP, b"nineteen bytes long"))),
        plain("ipv6-tcp", "The same segment.", raw(ipv6(&[], TCP, &syn()))),
        plain("ipv6-udp", "UDP over IPv6.", raw(ipv6(&[], UDP, &udp(b"payload")))),
        plain("ipv6-icmpv6", "An echo request.", raw(ipv6(&[], ICMPV6, &icmp(128, b"payload")))),
        plain("ipv6-no-next-header", "No-next-header, and a payload length of zero.", raw(ipv6(&[], 59, b""))),
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
    let (u, six) = (udp(b"payload"), |last, e: &[Extension]| raw(ipv6_to(last, e, UDP, &udp(b"payload"))));
    vec![
        plain("ipv4-options", "Options that may change are signed as zeros.", raw(ipv4(&options_4, UDP, &u))),
        plain("ipv4-options-misfit", "From an option that does not fit, all is zero.", raw(ipv4(&misfit, UDP, &u))),
        plain("ipv6-extensions", "Hop-by-hop, destination options twice, and routing of type 0.", six(FINAL_6, &extensions)),
        plain(
            "ipv6-segment-routing",
            "Routing of type 4: the final destination is the first segment.",
            six(FINAL_6, &segment_routing),
        ),
        plain("ipv6-routing-finished", "A routing header of unknown type without segments left.", six(DESTINATION_6, &finished)),
    ]
}

fn links() -> Vec<Case> {
    let wrapped = |name: &str, comment: &str, wrap: Wrap| plain(name, comment, wrap.around(&packet(), &[]));
    let pad = [0; 11];
    let cut = Owned { missing: 5, ..raw(packet()) };
    let six = ipv6(&[], UDP, &udp(b"payload"));
    vec![
        plain(
            "padding",
            "Ethernet with link padding, which stays behind the trailer.",
            Wrap::Ethernet { tags: 0 }.around(&packet(), &pad),
        ),
        wrapped("vlan", "Two VLAN tags.", Wrap::Ethernet { tags: 2 }),
        wrapped("pppoe", "A PPPoE session behind a VLAN tag: its length grows.", Wrap::Pppoe { tags: 1 }),
        wrapped("snap", "802.3 with LLC and SNAP: its length grows.", Wrap::Snap { tags: 0 }),
        wrapped("snap-pppoe", "A PPPoE session within 802.3: both lengths grow.", Wrap::SnapPppoe),
        wrapped("ppp", "PPP with address and control, and a protocol of one byte.", Wrap::PppCompressed),
        wrapped("sll", "Linux cooked, version 1.", Wrap::Sll { tags: 0 }),
        wrapped("sll2", "Linux cooked, version 2, with a VLAN tag.", Wrap::Sll2 { tags: 1 }),
        plain("null", "BSD null of a little-endian machine, IPv6.", Wrap::NullLittle.around(&six, &[])),
        wrapped("loop", "OpenBSD loopback.", Wrap::Loop),
        plain("padding-cut", "The capture lacks padding that the wire had: no harm.", cut),
    ]
}

fn policies() -> Vec<Case> {
    let tcp = raw(ipv4(&[], TCP, &syn()));
    let ping = raw(ipv6(&[], ICMPV6, &icmp(128, b"payload")));
    let all = Policy { nat: true, tolerant: true, ..INCREMENTAL };
    vec![
        before_and_after("nat", "Source address and port are not signed.", &tcp, NAT),
        before_and_after("nat-icmpv6", "Source address and identifier are not signed.", &ping, NAT),
        before_and_after("tolerant", "ECN flags and MSS are not signed.", &tcp, TOLERANT),
        before_and_after("incremental", "The body of 1,104 bytes.", &raw(packet()), INCREMENTAL),
        before_and_after("all-flags", "nat, tolerant and incremental at once.", &tcp, all),
    ]
}

fn saved() -> Vec<Case> {
    let wrong = |bytes: &[u8], at: usize| raw(bytes.set(at, [bytes[at] ^ 0x5a]));
    let (udp_4, tcp_4) = (packet(), ipv4(&[], TCP, &syn()));
    let unchecked = raw(udp_4.set(26, [0, 0]));
    let all = udp_4.set(24, [0, 8, 1, 2]).set(10, [3, 4]);
    vec![
        plain("udp-checksum-zero", "UDP without a checksum: the zero is saved.", unchecked),
        plain("saved-ipv4-checksum", "A wrong header checksum is saved.", wrong(&udp_4, 10)),
        plain("saved-udp-length", "A wrong UDP length is saved, and the checksum with it.", wrong(&udp_4, 25)),
        plain("saved-tcp-checksum", "A wrong TCP checksum is saved.", wrong(&tcp_4, 36)),
        plain("saved-all", "All three.", raw(all)),
    ]
}

/// Frames that were signed twice or more: the original carries a trailer.
fn marks() -> Vec<Case> {
    let marked = |frame: &Owned| {
        let mut out = Vec::new();
        assert_eq!(mark(&frame.frame(), &mut out), Some(SignOutcome::AlreadySigned));
        frame.with(out)
    };
    let once = signed(&Wrap::Pppoe { tags: 0 }.around(&packet(), &[0; 3]), "mark");
    let mut wrong = signed(&raw(packet()), "mark-saved");
    wrong.bytes[10] ^= 1;
    wrong.bytes[26] ^= 1;
    let cases = [
        ("mark", "A signed packet is signed again: it gets a mark.", once.clone()),
        ("mark-2", "And again: the count is 2.", marked(&once)),
        ("mark-saved", "Checksums that were changed on the way are saved in the mark.", wrong.clone()),
        ("mark-saved-2", "A wrong checksum stays wrong in the same bits.", marked(&wrong)),
    ];
    cases
        .map(|(name, comment, original)| valid(name, comment, &marked(&original), Some(NOW)).hex("original", &original.bytes))
        .into()
}

/// Changes that the network may make.
fn on_the_way() -> Vec<Case> {
    let case = |name: &str, comment: &str, frame: &Owned| valid(name, comment, frame, Some(NOW));
    let forwarded = {
        let frame = signed(&raw(packet()), "forwarded");
        frame.with(frame.bytes.set(1, [0xb9]).set(8, [41]))
    };
    let translated = {
        let frame = signed_at(&raw(ipv4(&[], TCP, &syn())), "translated", NAT, EPOCH, Some(NOW));
        let address = frame.bytes.set(12, [203, 0, 113, 77]);
        frame.with(address.set(20, [0xab, 0xcd]))
    };
    let clamped = {
        let frame = signed_at(&raw(ipv4(&[], TCP, &syn())), "clamped", TOLERANT, EPOCH, Some(NOW));
        let bleached = frame.bytes.set(33, [0x02]);
        frame.with(bleached.set(42, [5, 0x64]))
    };
    let routed = {
        let before = [routing(0, 1, &[FINAL_6])];
        let frame = signed(&raw(ipv6_to(FINAL_6, &before, UDP, &udp(b"payload"))), "routed");
        let swapped = frame.bytes.set(24, FINAL_6).set(48, DESTINATION_6);
        frame.with(swapped.set(43, [0]))
    };
    vec![
        case("changed-ttl", "Another TTL and DSCP.", &forwarded),
        case("changed-source", "Source address and port translated, with the flag nat.", &translated),
        case("changed-mss", "MSS clamped and ECN bleached, with the flag tolerant.", &clamped),
        case("changed-route", "The last segment was reached: addresses are exchanged.", &routed),
    ]
}

fn times() -> Vec<Case> {
    let (window, floor) = (30 * SECOND_NS, NOW.floor(SECOND_NS).0);
    let frame = signed(&raw(packet()), "times");
    let at = |name: &str, comment: &str, time: u64| valid(name, comment, &frame, Some(Timestamp(time)));
    let grace = STARTS[0] + 60 * SECOND_NS - 1;
    let original = raw(packet());
    vec![
        at("oldest", "The packet's time is the window and the resolution after the timestamp.", floor + window + SECOND_NS),
        at("newest", "The packet's time is the window before the timestamp.", floor - window),
        made("grace", "The last nanosecond in which epoch 0 is accepted.", &original, PLAIN, 0, Some(Timestamp(grace))),
        made("no-time", "A packet without a time: the timestamp is 0.", &original, PLAIN, EPOCH, None),
        valid("no-time-later", "A timestamp is not judged if the reader has no time.", &frame, None),
    ]
}
