//! All link types that clew descends, and what may stand between link and datagram.

use crate::files::{IPV4, IPV6, Packet, begin, packets, plain, write};
use crate::folder::Folder;
use crate::reading::compare;
use crate::shark::missing;

/// Real frames of link types and layers that the other tests do not have: NULL, SLL2, PPPoE within
/// VLANs, several interfaces, VLAN, snap lengths, fragments.
const SOME: [&str; 7] = [
    "tcpdump--quic_handshake.pcap",
    "zeek--linux_dlt_sll2.pcap",
    "zeek--pppoe-over-qinq.pcap",
    "zeek--ldap-gap-data-missing.pcapng",
    "suricata-verify--truncate-applayer-test-01.pcap",
    "suricata-verify--ipv6-evasion-ipv6-malformed-fragments-15-frag-15.pcap",
    "zeek--tcp-truncated-header.pcap",
];

#[test]
fn real_frames_of_many_links_are_descended() {
    if missing("tshark") {
        return;
    }
    let folder = Folder::new();
    for capture in SOME {
        begin(&folder, capture);
        assert_eq!(folder.sign(&[]), 0, "{capture}");
        let well_formed = compare(&folder, "signed", capture);
        assert_eq!(folder.verify("signed").2["valid"], well_formed, "{capture}");
    }
}

#[test]
fn datagrams_under_every_link_header_are_descended() {
    if missing("tshark") {
        return;
    }
    let folder = Folder::new();
    let mut framed = Vec::new();
    for (capture, version) in [(IPV4, 4), (IPV6, 6)] {
        begin(&folder, capture);
        let signable =
            |packet: &Packet| packet.bytes[14] >> 4 == version && packet.bytes.len() < 900;
        let packets = packets(&folder.path("in"));
        let packet = packets.into_iter().find(signable).unwrap();
        framed.extend(under_every_header(&packet, version));
    }
    write(&folder.path("in"), framed.iter().map(plain));
    assert_eq!(folder.sign(&["--mode", "each"]), 0);
    let (_, verified, _) = folder.verify("signed");
    for (packet, said) in framed.iter().zip(&verified) {
        assert_eq!(
            said["verdict"], "valid",
            "link type {}: {:02x?}",
            packet.link, packet.bytes
        );
    }
    assert_eq!(compare(&folder, "signed", "headers"), framed.len());
    assert_eq!(folder.sign_as("signed", "marked", &[]), 0);
    assert_eq!(compare(&folder, "marked", "marked headers"), framed.len());
}

/// The datagram of an Ethernet frame under all link headers for its version.
fn under_every_header(packet: &Packet, version: u8) -> Vec<Packet> {
    let datagram = &packet.bytes[14..];
    let of = |header: (u16, Vec<u8>)| Packet {
        link: header.0,
        ..packet.with([&header.1, datagram].concat())
    };
    let length = datagram.len() as u16;
    let headers = ip_and_loopback(version).into_iter();
    let all = headers.chain(ppp(version)).chain(typed(version, length));
    all.map(of).collect()
}

fn ip_and_loopback(version: u8) -> Vec<(u16, Vec<u8>)> {
    let families: &[u32] = if version == 4 {
        &[2]
    } else {
        &[10, 23, 24, 28, 30]
    };
    let mut all: Vec<(u16, Vec<u8>)> = [12, 14, 101].map(|link| (link, Vec::new())).into();
    all.push((if version == 4 { 228 } else { 229 }, Vec::new()));
    for family in families {
        all.push((0, family.to_le_bytes().to_vec()));
        all.push((0, family.to_be_bytes().to_vec()));
        all.push((108, family.to_be_bytes().to_vec()));
    }
    all
}

fn protocol(version: u8) -> u8 {
    if version == 4 { 0x21 } else { 0x57 }
}

fn ppp(version: u8) -> Vec<(u16, Vec<u8>)> {
    let protocol = protocol(version);
    let forms = [
        vec![protocol],
        vec![0, protocol],
        vec![0xff, 0x03, protocol],
        vec![0xff, 0x03, 0, protocol],
    ];
    forms.map(|header| (9, header)).into()
}

/// Ethernet and Linux cooked, with VLAN tags, 802.3 lengths and PPPoE.
fn typed(version: u8, length: u16) -> Vec<(u16, Vec<u8>)> {
    let ip = if version == 4 {
        [0x08, 0x00]
    } else {
        [0x86, 0xdd]
    };
    let session = |form: &[u8]| {
        let stated = (length + form.len() as u16).to_be_bytes();
        [&[0x88, 0x64, 0x11, 0, 0, 1], &stated[..], form].concat()
    };
    let snap = |rest: &[u8]| {
        let stated = (length + 6 + rest.len() as u16).to_be_bytes();
        [&stated[..], &[0xaa, 0xaa, 3, 0, 0, 0], rest].concat()
    };
    let tags = [[0x81, 0, 0, 1], [0x88, 0xa8, 0, 2], [0x91, 0, 0, 3]].concat();
    let most_tags = [0x81, 0, 0, 1].repeat(8);
    let (full, odd) = (
        session(&[0, protocol(version)]),
        session(&[protocol(version)]),
    );
    let everywhere = [
        ip.to_vec(),
        [&tags[..], &ip].concat(),
        [&most_tags[..], &ip].concat(),
        full.clone(),
        odd,
        [&tags[..], &full].concat(),
    ];
    let mut all = Vec::new();
    for kind in &everywhere {
        all.push((1, [&[2; 12], &kind[..]].concat()));
        all.push((113, [&[0; 14], &kind[..]].concat()));
        all.push((276, [&kind[..2], &[0; 18], &kind[2..]].concat()));
    }
    all.push((1, [&[2; 12], &snap(&ip)[..]].concat()));
    all.push((1, [&[2; 12], &tags[..], &snap(&ip)].concat()));
    all
}
