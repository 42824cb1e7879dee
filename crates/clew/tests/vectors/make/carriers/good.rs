//! Datagrams that are valid.

use clew_packet::{Carrier, Mode, Policy, datagram, read};

use super::{BOTH, around, flow, signed, valid};
use crate::case::Case;
use crate::common::Owned;
use crate::common::packets::*;
use crate::make::damage::Damage;
use crate::make::flat;
use crate::make::groups::xr_group::NEWEST;
use crate::make::key_file::keys::member_file;
use crate::make::packet::frames::{INCREMENTAL, NAT, PLAIN, syn};
use crate::make::with_xr_nonces;
use clew_group::Scheme;

pub fn all() -> Vec<Case> {
    flat([modes(), coded(), made(), on_the_way(), inner()])
}

/// Each carrier, version and mode, in full carriage: the second of three packets.
fn modes() -> Vec<Case> {
    let mut cases = Vec::new();
    for (carrier, version) in [4, 6].into_iter().flat_map(|version| BOTH.map(|carrier| (carrier, version))) {
        for mode in [Mode::Window, Mode::Tree] {
            let name = format!("{}-ipv{version}-{}", carrier.as_str(), mode.as_str());
            let packets = flow(version, 3);
            let payloads = signed(&packets, carrier, mode, PLAIN, &name);
            let comment = format!("The second of three packets of IPv{version}, in mode {}.", mode.as_str());
            let frames = [around(&packets[1], &payloads[1])];
            cases.push(valid(&name, &comment, &frames, &payloads[1], &packets[1]));
        }
    }
    cases
}

/// A packet that restores the signature of its block, and that packet in full carriage.
fn coded() -> Vec<Case> {
    let mut cases = Vec::new();
    for (carrier, version) in [4, 6].into_iter().flat_map(|version| BOTH.map(|carrier| (carrier, version))) {
        let name = format!("{}-ipv{version}-coded", carrier.as_str());
        let packets = flow(version, 12);
        let of = |coded| signed(&packets, carrier, Mode::Tree, Policy { coded, ..PLAIN }, &name);
        let (payloads, full) = (of(true), of(false));
        let frames: Vec<Owned> = payloads[..6].iter().map(|payload| around(&packets[0], payload)).collect();
        let comment = "The last of six packets of twelve, which restore their block's signature.";
        let case = valid(&name, comment, &frames, &payloads[5], &packets[5]);
        cases.push(case.hex("full", around(&packets[5], &full[5]).bytes));
    }
    cases
}

/// Signed again with the nonces of the case.
fn made() -> Vec<Case> {
    let (four, six) = (flow(4, 1).remove(0), flow(6, 1).remove(0));
    let tcp = ipv4(&[], TCP, &syn());
    let ping = ipv6(&[], ICMPV6, &icmp(128, b"payload"));
    let options_4 = ipv4(&[7, 7, 4, 1, 2, 3, 4, 0], UDP, &udp(b"payload"));
    let extended = ipv6(&[options(HOP_BY_HOP, &[]), options(DESTINATION, &[0x1e, 1, 7])], UDP, &udp(b"payload"));
    let both = Policy { tolerant: true, ..NAT };
    let rows = [
        ("tunnel", "The packet that most cases break.", Carrier::UdpTunnel, &four, PLAIN),
        ("transport", "The same in the other carrier.", Carrier::UdpTransport, &four, PLAIN),
        ("tunnel-ipv6", "UDP over IPv6.", Carrier::UdpTunnel, &six, PLAIN),
        ("transport-ipv6", "UDP over IPv6.", Carrier::UdpTransport, &six, PLAIN),
        ("tunnel-flags", "A SYN segment, with nat and tolerant.", Carrier::UdpTunnel, &tcp, both),
        ("transport-flags", "The same in the other carrier.", Carrier::UdpTransport, &tcp, both),
        ("tunnel-incremental", "An echo request, with the incremental form.", Carrier::UdpTunnel, &ping, INCREMENTAL),
        ("transport-incremental", "The same in the other carrier.", Carrier::UdpTransport, &ping, INCREMENTAL),
        ("tunnel-options", "IPv4 options within.", Carrier::UdpTunnel, &options_4, PLAIN),
        ("tunnel-extensions", "IPv6 extension headers within.", Carrier::UdpTunnel, &extended, PLAIN),
    ];
    let case = |(name, comment, carrier, packet, policy): (&str, &str, Carrier, &Vec<u8>, Policy)| {
        let payload = signed(std::slice::from_ref(packet), carrier, Mode::Each, policy, name).remove(0);
        let flags = [(policy.nat, "nat"), (policy.tolerant, "tolerant"), (policy.incremental, "incremental")];
        let flags: Vec<_> = flags.iter().filter(|(set, _)| *set).map(|(_, flag)| *flag).collect();
        let case = valid(name, comment, &[around(packet, &payload)], &payload, packet)
            .hex("original", packet)
            .text("carrier", carrier.as_str())
            .text("policy", &flags.join(" "))
            .text("member-key", &member_file(Scheme::Xr, NEWEST))
            .hex("datagram", &payload);
        with_xr_nonces(case, &format!("{name}-0"))
    };
    rows.into_iter().map(case).collect()
}

/// Changes that the network may make, and frames that captures have.
fn on_the_way() -> Vec<Case> {
    let packet = flow(4, 1).remove(0);
    let tunnel = signed(std::slice::from_ref(&packet), Carrier::UdpTunnel, Mode::Each, PLAIN, "on-the-way").remove(0);
    let transport = signed(std::slice::from_ref(&packet), Carrier::UdpTransport, Mode::Each, NAT, "on-the-way-nat").remove(0);
    let mut with_cookie = Vec::new();
    datagram::write(&tunnel, Some(&[7; 16]), &mut with_cookie);
    let translated = {
        let frame = around(&packet, &transport);
        frame.with(frame.bytes.set(12, [203, 0, 113, 77]).set(20, [0xab, 0xcd]))
    };
    // Its source is the translated one.
    let mut delivered = Vec::new();
    read(&translated.frame()).unwrap().write_packet(&mut delivered);
    let case = valid("transport-nat", "The outer source was translated, with nat.", &[translated], &transport, &packet);
    let nat = case.without("packet").hex("packet", delivered);
    let tunnelled = around(&packet, &tunnel);
    let moved = tunnelled.with(tunnelled.bytes.set(12, [203, 0, 113, 77]).set(1, [0xb9]).set(26, [0, 0]));
    // Header checksum, UDP length and UDP checksum of the inner packet.
    let repaired = tunnel.set(32 + 10, [1, 2]).set(32 + 24, [0, 9]).set(32 + 26, [3, 4]);
    let one = |name: &str, comment: &str, frame: Owned, datagram: &[u8]| valid(name, comment, &[frame], datagram, &packet);
    let ethernet = Wrap::Ethernet { tags: 1 }.around(&around(&packet, &tunnel).bytes, &[0; 3]);
    vec![
        one("cookie-before-packet", "A cookie is not signed.", around(&packet, &with_cookie), &with_cookie),
        one("tunnel-moved", "The outer header is not signed, and its checksum not judged.", moved, &tunnel),
        one("tunnel-checksums", "Checksums and the UDP length within are computed.", around(&packet, &repaired), &repaired),
        one("tunnel-ethernet", "Ethernet with a VLAN tag and padding.", ethernet, &tunnel),
        nat,
    ]
}

/// Packets that are signed already, and of the other version.
fn inner() -> Vec<Case> {
    let packet = flow(4, 1).remove(0);
    let first = signed(std::slice::from_ref(&packet), Carrier::UdpTransport, Mode::Each, PLAIN, "twice").remove(0);
    let within = around(&packet, &first).bytes;
    let twice = signed(std::slice::from_ref(&within), Carrier::UdpTunnel, Mode::Each, PLAIN, "twice-tunnel").remove(0);
    let six = flow(6, 1).remove(0);
    let six_in_four = signed(std::slice::from_ref(&six), Carrier::UdpTunnel, Mode::Each, PLAIN, "six-in-four").remove(0);
    vec![
        valid(
            "tunnel-in-tunnel",
            "A datagram of a carrier within: only the outer one is judged.",
            &[around(&packet, &twice)],
            &twice,
            &packet,
        ),
        valid(
            "tunnel-ipv6-in-ipv4",
            "An IPv6 packet between IPv4 hosts.",
            &[around(&packet, &six_in_four)],
            &six_in_four,
            &packet,
        ),
    ]
}
