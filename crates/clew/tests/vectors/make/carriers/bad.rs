//! A datagram for each rule that breaks.

use clew_packet::{Carrier, Mode, Policy, Reason, SECOND_NS, Verdict, datagram};

use super::{around, flow, judged, signed};
use crate::case::Case;
use crate::common::Owned;
use crate::common::packets::*;
use crate::make::damage::Damage;
use crate::make::flat;
use crate::make::groups::records::NOW;
use crate::make::packet::frames::{INCREMENTAL, PLAIN, raw};

pub fn all() -> Vec<Case> {
    flat([shim(), head(), lengths(), contents(), blocks(), signatures(), others()])
}

const VERSION: usize = 4;
const TYPE: usize = 5;
const FLAGS: usize = 6;
const MODE: usize = 7;
const LENGTH: usize = 8;
const GROUP: usize = 10;
const EPOCH: usize = 18;
const SCHEME: usize = 30;
const CARRIAGE: usize = 31;
const CONTENT: usize = 32;

fn packet() -> Vec<u8> {
    flow(4, 1).remove(0)
}

fn good(carrier: Carrier) -> Vec<u8> {
    signed(&[packet()], carrier, Mode::Each, PLAIN, "broken").remove(0)
}

fn tunnel() -> Vec<u8> {
    good(Carrier::UdpTunnel)
}

fn of_frame(reason: Reason, more: &str, comment: &str, frame: Owned) -> Case {
    judged(&format!("{reason}{more}"), reason.as_str(), comment, Verdict::Invalid, &[frame])
}

fn of(reason: Reason, more: &str, comment: &str, payload: &[u8]) -> Case {
    of_frame(reason, more, comment, around(&packet(), payload))
}

fn shim() -> Vec<Case> {
    let mut cookie = Vec::new();
    datagram::write_cookie(&[1; 16], &[2; 16], &mut cookie);
    let unknown = Reason::UnknownCarrier;
    vec![
        of(Reason::UnknownVersion, "", "Version 2.", &tunnel().set(VERSION, [2])),
        of(unknown, "", "Type 5.", &tunnel().set(TYPE, [5])),
        of(unknown, "-zero", "Type 0.", &tunnel().set(TYPE, [0])),
        of(unknown, "-cookie", "Type 5 with a cookie.", &tunnel().set(TYPE, [0x85])),
        of(Reason::ReservedBits, "-cookie", "A cookie that has a cookie.", &cookie.set(TYPE, [0x84])),
        judged("cookie", "cookie", "A cookie, which has no packet.", Verdict::Unsigned, &[around(&packet(), &cookie)]),
        of(Reason::BadCarrierLength, "-cookie", "A cookie of 39 bytes.", &cookie.plus([0])),
        of(Reason::BadCarrierLength, "-cookie-cut", "A cookie of 37 bytes.", &cookie.cut(1)),
    ]
}

fn head() -> Vec<Case> {
    let coded = Policy { coded: true, ..PLAIN };
    let packets = flow(4, 12);
    let tree = signed(&packets, Carrier::UdpTunnel, Mode::Tree, coded, "broken-coded").remove(0);
    vec![
        of(Reason::UnknownMode, "", "Mode 0: a carrier has no marks.", &tunnel().set(MODE, [0])),
        of(Reason::UnknownMode, "-4", "Mode 4.", &tunnel().set(MODE, [4])),
        of(Reason::ReservedBits, "-saved", "Nothing is saved in a carrier.", &tunnel().set(FLAGS, [4])),
        of(Reason::ReservedBits, "", "Flag 6.", &tunnel().set(FLAGS, [64])),
        of(Reason::UnknownCarriage, "", "Carriage 4.", &tree.set(CARRIAGE, [4])),
        of(Reason::UnknownCarriage, "-each", "Coded carriage in mode each.", &tunnel().set(CARRIAGE, [2])),
        of(Reason::UnknownScheme, "", "Scheme 3.", &tunnel().set(SCHEME, [3])),
        of(Reason::UnknownScheme, "-other", "Scheme bbs04 in the name of a group of xr.", &{
            let longer = signed(&[packet()], Carrier::UdpTunnel, Mode::Each, INCREMENTAL, "broken-long").remove(0);
            longer.set(SCHEME, [1]).set(FLAGS, [0])
        }),
        of(Reason::UnknownGroup, "", "Another group.", &tunnel().flip(GROUP)),
        of(Reason::UnknownEpoch, "", "An epoch that the group does not have.", &tunnel().set(EPOCH, [1])),
    ]
}

fn lengths() -> Vec<Case> {
    let mut with_cookie = Vec::new();
    datagram::write(&tunnel(), Some(&[7; 16]), &mut with_cookie);
    let frame = around(&packet(), &tunnel());
    let shorter = frame.with(frame.bytes.set(25, [frame.bytes[25] - 1]));
    let reason = Reason::BadCarrierLength;
    vec![
        of(reason, "-shim", "A shim of five bytes.", &tunnel()[..5]),
        of(reason, "-in-cookie", "A cookie that is cut.", &with_cookie[..21]),
        of(reason, "-head", "A head of 25 bytes.", &tunnel()[..31]),
        of(reason, "-content", "A content that is longer than the datagram.", &tunnel().set(LENGTH, [0xff])),
        of(reason, "-longer", "A byte behind the tail.", &tunnel().plus([0])),
        of(reason, "-shorter", "A body without its last byte.", &tunnel().cut(1)),
        of(reason, "-form", "The plain form says that it is incremental.", &tunnel().set(FLAGS, [32])),
        of_frame(reason, "-udp", "A UDP length that is not that of the IP payload.", shorter),
    ]
}

/// The datagram with another content.
fn with_content(carrier: Carrier, content: &[u8]) -> Vec<u8> {
    let payload = good(carrier);
    let was = usize::from(u16::from_be_bytes([payload[LENGTH], payload[LENGTH + 1]]));
    let length = (content.len() as u16).to_be_bytes();
    payload.replace(LENGTH..LENGTH + 2, length).replace(CONTENT..CONTENT + was, content)
}

fn contents() -> Vec<Case> {
    let upper = udp(b"payload");
    let (four, six) = (ipv4(&[], UDP, &upper), ipv6(&[], UDP, &upper));
    let within = |more: &str, comment: &str, content: &[u8]| {
        of(Reason::BadCarrier, more, comment, &with_content(Carrier::UdpTunnel, content))
    };
    let transported = |more: &str, comment: &str, packet: &[u8], content: &[u8]| {
        let payload = with_content(Carrier::UdpTransport, content);
        of_frame(Reason::BadCarrier, more, comment, around(packet, &payload))
    };
    let outer = |more: &str, comment: &str, frame: Vec<u8>| of_frame(Reason::BadCarrier, more, comment, raw(frame));
    let in_udp = udp(&tunnel());
    let routed = ipv6_to(FINAL_6, &[routing(0, 1, &[FINAL_6])], UDP, &upper);
    vec![
        within("-empty", "No content.", &[]),
        within("-version", "Within, a packet of IP version 5.", &four.set(0, [0x55])),
        within("-longer", "A byte behind the inner packet.", &four.plus([0])),
        within("-shorter", "The inner packet without its last byte.", &six.cut(1)),
        within("-fragment", "Within, an IP fragment.", &four.set(6, [0x20])),
        within("-zero-length", "Within, an IPv4 length of zero.", &four.set(2, [0, 0])),
        within("-routing", "Within, a routing header with segments left.", &routed),
        within("-unknown-routing", "The same of a type that is not known.", &ipv6(&[routing(3, 1, &[FINAL_6])], UDP, &upper)),
        transported("-no-protocol", "No content in udp-transport.", &four, &[]),
        transported("-protocol", "A hop-by-hop header in udp-transport.", &six, &[0, 59, 0, 1, 4, 0, 0, 0, 0]),
        transported("-protocol-139", "Protocol 139 in udp-transport.", &four, &[139, 1, 2, 3]),
        transported("-no-upper", "No upper layer over IPv6.", &six, &[6]),
        outer("-options", "Options in the outer header.", ipv4(&[1, 1, 1, 0], UDP, &in_udp)),
        outer("-extensions", "Extension headers of the outer datagram.", ipv6(&[options(DESTINATION, &[])], UDP, &in_udp)),
    ]
}

fn blocks() -> Vec<Case> {
    let coded = Policy { coded: true, ..PLAIN };
    let packets = flow(4, 12);
    let first = |mode, policy, label: &str| signed(&packets, Carrier::UdpTunnel, mode, policy, label).remove(0);
    let (tree, window) = (first(Mode::Tree, PLAIN, "broken-tree"), first(Mode::Window, PLAIN, "broken-window"));
    let shares = first(Mode::Tree, coded, "broken-coded");
    let block = CONTENT + packets[0].len();
    let k = block + 22 + 4 * 16;
    vec![
        of(Reason::BadBlock, "", "Packet 12 of 12.", &tree.set(block + 16, [0, 12])),
        of(Reason::BadBlock, "-window", "A window of no packets.", &window.set(block, [0, 0])),
        of(Reason::BadCarrierLength, "-path", "A path of four digests that says it has five.", &tree.set(block + 21, [5])),
        of(Reason::BadCode, "", "No packet of twelve restores the signature.", &shares.set(k, [0, 0])),
    ]
}

fn signatures() -> Vec<Case> {
    let packets = flow(4, 3);
    let tree = signed(&packets, Carrier::UdpTunnel, Mode::Tree, PLAIN, "broken-tree-3").remove(1);
    let bad = |more: &str, comment: &str, payload: &[u8]| of(Reason::BadSignature, more, comment, payload);
    let transport = good(Carrier::UdpTransport);
    let elsewhere = around(&packet(), &transport);
    let elsewhere = elsewhere.with(elsewhere.bytes.set(16, [203, 0, 113, 77]));
    // The content of one carrier in the other.
    let retyped = with_content(Carrier::UdpTransport, &packet()).set(TYPE, [1]);
    let untyped = with_content(Carrier::UdpTunnel, &packet().replace(..20, [17])).set(TYPE, [2]);
    vec![
        bad("-payload", "A bit of the inner payload is flipped.", &tunnel().flip(CONTENT + 30)),
        bad("-source", "A bit of the inner source is flipped.", &tunnel().flip(CONTENT + 15)),
        bad("-nat", "The flag nat was set on the way.", &tunnel().set(FLAGS, [1])),
        bad("-of-transport", "A signature for udp-transport in udp-tunnel.", &retyped),
        bad("-of-tunnel", "A signature for udp-tunnel in udp-transport.", &untyped),
        of_frame(Reason::BadSignature, "-destination", "Another outer destination.", elsewhere),
        bad("-block-payload", "A bit of a packet of a block is flipped.", &tree.flip(CONTENT + 30)),
        of(Reason::BadEncoding, "", "A body of zeros.", &tunnel().replace(CONTENT + packet().len().., [0; 288])),
    ]
}

/// Reasons that are those of trailers.
fn others() -> Vec<Case> {
    let packets = flow(4, 12);
    let payload = tunnel();
    let frame = || around(&packet(), &payload);
    let start = (NOW.0 - 3600 * SECOND_NS).to_be_bytes();
    let twice = [frame(), frame()];
    let tree = signed(&packets, Carrier::UdpTunnel, Mode::Tree, PLAIN, "broken-tree");
    let late = [around(&packet(), &tree[3]), around(&packet(), &tree[1])];
    let coded = Policy { coded: true, ..PLAIN };
    let shares = signed(&packets, Carrier::UdpTransport, Mode::Tree, coded, "broken-coded");
    let five: Vec<Owned> = shares[..5].iter().map(|payload| around(&packet(), payload)).collect();
    let cut = Owned { missing: 9, ..frame().with(frame().bytes.cut(9)) };
    let hour = (NOW.0 + 3600 * SECOND_NS).to_be_bytes();
    vec![
        judged("duplicate", "duplicate", "In a capture, the packet twice.", Verdict::Valid, &twice),
        judged("duplicate-live", "duplicate", "Live, the packet twice.", Verdict::Invalid, &twice).hex("receiver-start", start),
        judged("reordered", "reordered", "Of one block, the fourth packet before the second.", Verdict::Valid, &late),
        judged("too-few-shares", "too-few-shares", "Five of the six packets needed.", Verdict::Undecided, &five),
        judged("truncated", "truncated", "The capture lacks the last bytes.", Verdict::Undecided, &[cut]),
        judged("stale", "stale", "An hour later.", Verdict::Invalid, &[frame()]).without("time").hex("time", hour),
    ]
}
