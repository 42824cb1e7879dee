//! Fragments: in order and not, with copies and without.

use clew_packet::datagram::{self, Cookie};
use clew_packet::{Carrier, Mode, Verdict, fragment, write_whole};

use super::{around, flow, judged, signed, valid};
use crate::case::Case;
use crate::common::Owned;
use crate::common::packets::*;
use crate::make::damage::Damage;
use crate::make::flat;
use crate::make::groups::records::NOW;
use crate::make::packet::frames::PLAIN;
use clew_packet::SECOND_NS;

pub fn all() -> Vec<Case> {
    flat([together(), missing(), copies(), bad_heads(), bad_lengths(), bad_wholes()])
}

fn packet() -> Vec<u8> {
    ipv4(&[], UDP, &udp(&[b'.'; 40]))
}

fn datagram() -> Vec<u8> {
    signed(&[packet()], Carrier::UdpTunnel, Mode::Each, PLAIN, "fragments").remove(0)
}

fn cut(datagram: &[u8], most: usize, cookie: Option<&Cookie>) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    let segment = fragment::split(datagram, most, cookie, &mut out).unwrap();
    out.chunks(segment).map(<[u8]>::to_vec).collect()
}

/// Three fragments.
fn three() -> [Vec<u8>; 3] {
    cut(&datagram(), 24 + 150, None).try_into().unwrap()
}

fn frames(payloads: &[&Vec<u8>]) -> Vec<Owned> {
    payloads.iter().map(|payload| around(&packet(), payload)).collect()
}

fn together() -> Vec<Case> {
    let [a, b, c] = three();
    let of = |name: &str, comment: &str, payloads: &[&Vec<u8>]| {
        let frames = frames(payloads);
        let (mut full, last) = (Vec::new(), frames.last().unwrap());
        write_whole(&last.frame(), &datagram(), &mut full).unwrap();
        valid(name, comment, &frames, &datagram(), &packet()).hex("full", full)
    };
    let changed = |part: &[u8]| part.flip(-1);
    let cookies = cut(&datagram(), 40 + 150, Some(&[7; 16]));
    let transport = {
        let six = flow(6, 1).remove(0);
        let payload = signed(std::slice::from_ref(&six), Carrier::UdpTransport, Mode::Each, PLAIN, "fragments-6").remove(0);
        let frames: Vec<Owned> = cut(&payload, 200, None).iter().map(|part| around(&six, part)).collect();
        valid("fragments-transport", "Two fragments of udp-transport over IPv6.", &frames, &payload, &six)
    };
    let comment = "Copies of two fragments, altered, after them: they spend nothing.";
    vec![
        of("fragments", "Three fragments in order.", &[&a, &b, &c]),
        of("fragments-reversed", "Three fragments, the last one first.", &[&c, &b, &a]),
        of("fragments-mixed", "The middle one comes last.", &[&c, &a, &b]),
        of("fragments-twice", "A fragment came twice.", &[&a, &a, &b, &c]),
        of("fragments-altered", comment, &[&a, &changed(&a), &b, &changed(&b), &c]),
        of("fragments-altered-last", "The last one was altered, then it came as it was.", &[&a, &b, &changed(&c), &c]),
        of("fragments-cookies", "Each has a cookie, which its sender drew for it.", &[&cookies[0], &cookies[1], &cookies[2]]),
        transport,
    ]
}

fn missing() -> Vec<Case> {
    let [a, b, c] = three();
    let case = |more: &str, comment: &str, payloads: &[&Vec<u8>]| {
        let name = format!("missing-fragment{more}");
        judged(&name, "missing-fragment", comment, Verdict::Undecided, &frames(payloads))
    };
    let other = signed(&flow(4, 1), Carrier::UdpTunnel, Mode::Each, PLAIN, "fragments-other").remove(0);
    let other = cut(&other, 24 + 150, None);
    let recounted = b.set(23, [4]);
    let late = case("-late", "The second came more than a second after the first.", &[&a, &c, &b]);
    let times = [NOW.0, NOW.0 + SECOND_NS, NOW.0 + SECOND_NS + 1];
    let late = late.each("earlier-time", times[..2].iter().map(|t| t.to_be_bytes()));
    let late = late.without("time").hex("time", times[2].to_be_bytes());
    vec![
        case("", "One of three fragments is missing.", &[&a, &c]),
        case("-alone", "The first of three.", &[&a]),
        case("-twice", "A copy of one that is there.", &[&a, &a]),
        case("-other", "The others are of another packet.", &[&other[0], &other[1], &c]),
        case("-count", "The second says another count: it is of another datagram.", &[&a, &recounted, &c]),
        case("-altered-first", "An altered copy came first, and the last one is given up.", &[&a.flip(-1), &b, &c, &b]),
        late,
    ]
}

fn copies() -> Vec<Case> {
    let [a, b, c] = three();
    let start = (NOW.0 - 3600 * SECOND_NS).to_be_bytes();
    let comment = "Live, a copy of a fragment.";
    let live = |name: &str, payloads: &[&Vec<u8>]| {
        judged(name, "duplicate", comment, Verdict::Invalid, &frames(payloads)).hex("receiver-start", start)
    };
    let second = "Live, the last part came twice, as a sender may send it.";
    let alone = judged("missing-fragment-last-twice", "missing-fragment", second, Verdict::Undecided, &frames(&[&c, &c]));
    let twice = valid("fragments-last-twice", second, &frames(&[&c, &a, &b, &c]), &datagram(), &packet());
    let (name, comment) = ("fragments-copy-later", "In a capture, a copy after the packet was whole has its verdict.");
    let late = frames(&[&a, &b, &c, &b]);
    vec![
        live("duplicate-fragment", &[&a, &a]),
        live("duplicate-fragment-later", &[&a, &b, &c, &b]),
        live("duplicate-fragment-last", &[&c, &a, &b, &c, &c]),
        alone.hex("receiver-start", start),
        twice.without("message").without("packet").hex("receiver-start", start),
        valid(name, comment, &late, &datagram(), &packet()).without("message").without("packet"),
    ]
}

fn bad(more: &str, comment: &str, payloads: &[&Vec<u8>]) -> Case {
    let name = format!("bad-fragment{more}");
    judged(&name, "bad-fragment", comment, Verdict::Invalid, &frames(payloads))
}

fn bad_heads() -> Vec<Case> {
    let [a, b, _] = three();
    let (index, count) = (22, 23);
    vec![
        bad("-count-zero", "A count of 0.", &[&a.set(count, [0])]),
        bad("-count-one", "A count of 1.", &[&a.set(count, [1])]),
        bad("-count", "A count of 65.", &[&a.set(count, [65])]),
        bad("-index", "Index 3 of 3.", &[&a.set(index, [3])]),
        bad("-empty", "An empty part.", &[&a[..24].to_vec()]),
        bad("-head", "A head of 17 bytes.", &[&a[..23].to_vec()]),
        bad("-long", "64 parts of 1,040 bytes are more than 65,507.", &[&a.set(count, [64]).plus([0; 890])]),
        bad("-altered", "A copy of the first, altered, after it.", &[&a, &a.flip(-1)]),
        bad("-altered-later", "The same after the packet was whole.", &[&a, &b, &three()[2], &a.flip(-1)]),
        bad(
            "-altered-first",
            "An altered copy of the first came before: the last one is given up.",
            &[&a.flip(-1), &b, &three()[2]],
        ),
    ]
}

fn bad_lengths() -> Vec<Case> {
    let [a, b, c] = three();
    vec![
        bad("-shorter", "The second part is shorter than the first.", &[&a, &b.cut(1)]),
        bad("-longer", "The second part is longer than the first.", &[&a, &b.plus([0])]),
        bad("-last-longer", "The last part is longer than the first.", &[&a, &c.plus([0; 150])]),
        bad("-than-last", "The first part is shorter than the last.", &[&c, &a[..30].to_vec()]),
    ]
}

/// Fragments that make no datagram with a packet.
fn bad_wholes() -> Vec<Case> {
    let mut with_cookie = Vec::new();
    datagram::write(&datagram(), Some(&[7; 16]), &mut with_cookie);
    let whole = |more: &str, comment: &str, whole: &[u8]| {
        let parts = cut(whole, 24 + whole.len().div_ceil(2), None);
        bad(more, comment, &parts.iter().collect::<Vec<_>>())
    };
    vec![
        whole("-of-cookie", "Together they have a cookie.", &with_cookie),
        whole("-of-fragment", "Together they are a fragment.", &three()[0]),
        whole("-of-garbage", "Together they have no magic.", &[1; 99]),
    ]
}
