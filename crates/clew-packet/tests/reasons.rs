//! One test for every reason, named after it: the frame that has it, and its nearest neighbour that
//! has not. `sign` and `verify` say the same about what cannot be signed.

mod common;

use clew_packet::{
    Block, Carriage, EXTENSION_HEADERS_MAX, GroupTag, LinkType, Mark, Policy, Reason, Saved,
    Scheme, Stripped, Timestamp, Trailer, VLAN_TAGS_MAX, mark,
};
use common::{EPOCH, GROUP, NOW, Owned, packets::*};

fn raw(bytes: Vec<u8>) -> Owned {
    Owned::new(LinkType::RAW, bytes)
}

fn packet() -> Vec<u8> {
    ipv4(&[], UDP, &udp(b"payload"))
}

fn packet_6() -> Vec<u8> {
    ipv6(&[], UDP, &udp(b"payload"))
}

/// Checks that the packet passes `sign`, `verify` and `strip` for this reason.
#[track_caller]
fn passes(frame: &Owned, reason: Reason) {
    assert_eq!(frame.sign(Policy::default()), (None, reason));
    assert_eq!(frame.verify(), reason);
    assert_eq!(frame.strip(), (None, Stripped::Nothing(reason)));
}

#[track_caller]
fn signs(frame: &Owned) {
    assert_eq!(frame.sign(Policy::default()).1, Reason::Signed);
}

#[test]
fn ok() {
    assert_eq!(raw(packet()).signed(Policy::default()).verify(), Reason::Ok);
}

#[test]
fn link_type() {
    for link in [2, 10, 105, 127, 147, 277, u32::MAX] {
        passes(&Owned::new(LinkType(link), packet()), Reason::LinkType);
    }
    wraps()
        .iter()
        .for_each(|wrap| signs(&wrap.around(&packet(), &[])));
}

#[test]
fn not_ip() {
    let ethernet = |kind: [u8; 2], rest: &[u8]| {
        Owned::new(LinkType::ETHERNET, [&[0; 12][..], &kind, rest].concat())
    };
    passes(&ethernet([0x08, 0x06], &packet()), Reason::NotIp);
    passes(&ethernet([0x88, 0x47], &packet()), Reason::NotIp);
    passes(
        &ethernet(
            [0x05, 0xdd],
            &[&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0][..], &packet()].concat(),
        ),
        Reason::NotIp,
    );
    passes(
        &ethernet(
            [0, 50],
            &[&[0xaa, 0xaa, 3, 0, 0, 1, 8, 0][..], &packet()].concat(),
        ),
        Reason::NotIp,
    );
    passes(
        &ethernet(
            [0, 50],
            &[&[0xaa, 0xaa, 3, 0, 0, 0, 0, 50][..], &packet()].concat(),
        ),
        Reason::NotIp,
    );
    let pppoe = |start: [u8; 2], protocol: [u8; 2]| {
        let rest = [&start[..], &[0, 7, 0, 37], &protocol, &packet()].concat();
        ethernet([0x88, 0x64], &rest)
    };
    signs(&pppoe([0x11, 0], [0, 0x21]));
    passes(&pppoe([0x11, 9], [0, 0x21]), Reason::NotIp);
    passes(&pppoe([0x12, 0], [0, 0x21]), Reason::NotIp);
    passes(&pppoe([0x11, 0], [0xc0, 0x21]), Reason::NotIp);
    passes(&raw(vec![0x75; 40]), Reason::NotIp);
    passes(&raw(vec![]), Reason::NotIp);
    for link in [0, 1, 9, 108, 113, 276] {
        passes(&Owned::new(LinkType(link), vec![]), Reason::NotIp);
        passes(&Owned::new(LinkType(link), vec![0x12; 40]), Reason::NotIp);
    }
    let snap = [
        &[0; 14][..],
        &[0, 44],
        &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0],
        &packet(),
    ]
    .concat();
    passes(&Owned::new(LinkType::SLL, snap), Reason::NotIp);
    passes(
        &Owned::new(LinkType::LOOP, [&[2, 0, 0, 0][..], &packet()].concat()),
        Reason::NotIp,
    );
}

#[test]
fn not_ip_behind_too_many_vlan_tags() {
    assert_eq!(VLAN_TAGS_MAX, 8, "the specification says so");
    signs(
        &Wrap::Ethernet {
            tags: VLAN_TAGS_MAX as u8,
        }
        .around(&packet(), &[]),
    );
    passes(
        &Wrap::Ethernet {
            tags: VLAN_TAGS_MAX as u8 + 1,
        }
        .around(&packet(), &[]),
        Reason::NotIp,
    );
}

#[test]
fn bad_version() {
    let mut frame = Wrap::Ethernet { tags: 0 }.around(&packet(), &[]);
    frame.bytes[12..14].copy_from_slice(&[0x86, 0xdd]);
    passes(&frame, Reason::BadVersion);
    passes(&Owned::new(LinkType::IPV4, packet_6()), Reason::BadVersion);
    passes(&Owned::new(LinkType::IPV6, packet()), Reason::BadVersion);
}

#[test]
fn zero_length() {
    let mut bytes = packet();
    bytes[2..4].fill(0);
    passes(&raw(bytes), Reason::ZeroLength);
    let mut bytes = packet_6();
    bytes[4..6].fill(0);
    passes(&raw(bytes), Reason::ZeroLength);
    let mut bytes = ipv6(&[options(HOP_BY_HOP, &[])], UDP, &udp(b"payload"));
    bytes[4..6].fill(0);
    passes(&raw(bytes), Reason::ZeroLength);
    signs(&raw(ipv6(&[], 59, b"")));
}

#[test]
fn jumbo() {
    let mut bytes = ipv6(
        &[options(HOP_BY_HOP, &[0xc2, 4, 0, 1, 0, 0])],
        UDP,
        &udp(b"payload"),
    );
    signs(&raw(bytes.clone()));
    bytes[4..6].fill(0);
    passes(&raw(bytes), Reason::Jumbo);
}

#[test]
fn bad_length() {
    let patched = |at: usize, value: u8| {
        let mut bytes = packet();
        bytes[at] = value;
        raw(bytes)
    };
    passes(&patched(0, 0x44), Reason::BadLength);
    passes(&patched(0, 0x4f), Reason::BadLength);
    passes(&patched(3, 19), Reason::BadLength);
    passes(&patched(3, 36), Reason::BadLength);
    passes(&raw(packet()[..19].to_vec()), Reason::BadLength);
    passes(&raw(packet_6()[..39].to_vec()), Reason::BadLength);
    passes(&raw(packet_6()[..50].to_vec()), Reason::BadLength);
    passes(&Owned::new(LinkType::IPV4, vec![]), Reason::BadLength);
}

#[test]
fn bad_length_of_the_layer_around() {
    for (wrap, at) in [(Wrap::Pppoe { tags: 0 }, 19), (Wrap::Snap { tags: 0 }, 13)] {
        let mut frame = wrap.around(&packet(), &[]);
        frame.bytes[at] -= 1;
        passes(&frame, Reason::BadLength);
        frame.bytes[at] += 2;
        signs(&frame);
    }
}

#[test]
fn truncated() {
    for ip in [packet(), packet_6()] {
        for wrap in wraps() {
            let whole = wrap.around(&ip, &[]);
            for missing in 1..=whole.bytes.len() {
                let bytes = whole.bytes[..whole.bytes.len() - missing].to_vec();
                passes(
                    &Owned {
                        bytes,
                        missing,
                        ..whole.clone()
                    },
                    Reason::Truncated,
                );
            }
        }
    }
}

#[test]
fn truncated_padding_is_no_harm() {
    signs(&Owned {
        missing: 9,
        ..raw(packet())
    });
}

#[test]
fn fragment() {
    for (at, value) in [(6, 0x20), (6, 0x01), (7, 0x01)] {
        let mut bytes = packet();
        bytes[at] |= value;
        passes(&raw(bytes), Reason::Fragment);
    }
    let mut bytes = packet();
    bytes[6] = 0xc0;
    signs(&raw(bytes));
    let fragment = (FRAGMENT, vec![0, 0, 0, 0, 0, 1]);
    passes(
        &raw(ipv6(std::slice::from_ref(&fragment), UDP, &udp(b""))),
        Reason::Fragment,
    );
    let behind = [routing(9, 1, &[FINAL_6]), fragment];
    passes(&raw(ipv6(&behind, UDP, &udp(b""))), Reason::Fragment);
}

#[test]
fn extension_headers() {
    let header = options(DESTINATION, &[]);
    assert_eq!(EXTENSION_HEADERS_MAX, 8, "the specification says so");
    let many = |count| raw(ipv6(&vec![header.clone(); count], UDP, &udp(b"")));
    signs(&many(EXTENSION_HEADERS_MAX));
    passes(&many(EXTENSION_HEADERS_MAX + 1), Reason::ExtensionHeaders);
    passes(
        &raw(ipv6(&[], DESTINATION, &[17, 1, 1, 4, 0, 0, 0, 0])),
        Reason::ExtensionHeaders,
    );
    passes(
        &raw(ipv6(&[], DESTINATION, &[17])),
        Reason::ExtensionHeaders,
    );
}

#[test]
fn routing_header() {
    let routed = |extension| raw(ipv6(&[extension], UDP, &udp(b"")));
    passes(&routed(routing(3, 1, &[FINAL_6])), Reason::RoutingHeader);
    signs(&routed(routing(3, 0, &[FINAL_6])));
    for kind in [0, 2, 4] {
        signs(&routed(routing(kind, 1, &[FINAL_6])));
        passes(&routed(routing(kind, 1, &[])), Reason::RoutingHeader);
    }
    let mut odd = routing(0, 1, &[FINAL_6]);
    odd.1.extend([0; 8]);
    passes(&routed(odd), Reason::RoutingHeader);
    let two = [routing(3, 1, &[FINAL_6]), routing(0, 1, &[FINAL_6])];
    passes(&raw(ipv6(&two, UDP, &udp(b""))), Reason::RoutingHeader);
}

/// An IPv4 packet of so many bytes.
fn sized(bytes: usize) -> Vec<u8> {
    ipv4(&[], 132, &vec![0x77; bytes - 20])
}

#[test]
fn too_big() {
    let limit = 65_535 - 16 - 367;
    for (wrap, limit) in [
        (Wrap::Raw(101), limit),
        (Wrap::Pppoe { tags: 0 }, limit - 2),
        (Wrap::Snap { tags: 1 }, 1500 - 8 - 16 - 367),
    ] {
        let signed = wrap.around(&sized(limit), &[]).signed(Policy::default());
        assert_eq!(signed.sign(Policy::default()).1, Reason::AlreadySigned);
        let frame = wrap.around(&sized(limit + 1), &[]);
        assert_eq!(frame.sign(Policy::default()), (None, Reason::TooBig));
        assert_eq!(frame.verify(), Reason::NoTrailer);
    }
    let size = 65_535 - 16 - 367 + 40;
    let six = |size: usize| raw(ipv6(&[], 132, &vec![0; size - 40]));
    signs(&six(size));
    assert_eq!(six(size + 1).sign(Policy::default()).1, Reason::TooBig);
}

#[test]
fn too_big_for_a_trailer_that_is_there() {
    let carrying = |bytes: usize| {
        let trailer = emitted(&trailer());
        raw(ipv4(
            &[],
            132,
            &[vec![0; bytes - 20 - trailer.len()], trailer].concat(),
        ))
    };
    let limit = 65_535 - 16;
    assert_eq!(carrying(limit).verify(), Reason::BadEncoding);
    assert_eq!(
        carrying(limit).sign(Policy::default()).1,
        Reason::AlreadySigned
    );
    passes(&carrying(limit + 1), Reason::TooBig);
}

#[test]
fn too_big_and_offload_with_an_mtu() {
    let policy = Policy {
        mtu: Some(1500),
        ..Policy::default()
    };
    let reason = |bytes| {
        Wrap::Ethernet { tags: 1 }
            .around(&sized(bytes), &[0; 9])
            .sign(policy)
            .1
    };
    assert_eq!(reason(1500 - 367), Reason::Signed);
    assert_eq!(reason(1501 - 367), Reason::TooBig);
    assert_eq!(reason(1500), Reason::TooBig);
    assert_eq!(reason(1501), Reason::Offload);
}

#[test]
fn no_trailer() {
    assert_eq!(raw(packet()).verify(), Reason::NoTrailer);
    let mut signed = raw(packet()).signed(Policy::default());
    *signed.bytes.last_mut().unwrap() ^= 1;
    assert_eq!(signed.verify(), Reason::NoTrailer);
    // The last four bytes of a header are no trailer.
    let mut bytes = ipv4(&[], 132, b"");
    bytes[16..20].copy_from_slice(&clew_packet::MAGIC);
    assert_eq!(raw(bytes).verify(), Reason::NoTrailer);
}

/// A well-formed trailer with a body of zeros.
fn trailer() -> Trailer<'static> {
    Trailer {
        body: &[0; 336],
        block: Block::Each,
        saved: Saved::default(),
        group: GROUP.tag(),
        epoch: EPOCH,
        timestamp: NOW,
        scheme: Scheme::Bbs04,
        carriage: Carriage::Full,
        nat: false,
        tolerant: false,
        incremental: false,
    }
}

fn emitted(trailer: &Trailer<'_>) -> Vec<u8> {
    let mut bytes = vec![0; trailer.length()];
    trailer.emit(&mut bytes);
    bytes
}

/// A packet of 11 payload bytes with this upper protocol that ends in `trailer`.
fn carrying(protocol: u8, trailer: &[u8]) -> Owned {
    raw(ipv4(&[], protocol, &[b"eleven byte", trailer].concat()))
}

/// The trailer with one byte changed, counted from the end.
fn patched(from_end: usize, value: u8) -> Vec<u8> {
    let mut bytes = emitted(&trailer());
    let at = bytes.len() - from_end;
    bytes[at] = value;
    bytes
}

/// Checks that this end of a packet is refused, and is no trailer to `sign` and `strip`.
#[track_caller]
fn refused(end: &[u8], reason: Reason) {
    let frame = carrying(132, end);
    assert_eq!(frame.verify(), reason);
    assert_eq!(frame.strip(), (None, Stripped::Nothing(reason)));
    let signed = frame.signed(Policy::default());
    assert_eq!(signed.verify(), Reason::Ok);
    assert_eq!(signed.strip(), (Some(frame), Stripped::Trailer));
}

#[test]
fn unknown_version() {
    refused(&patched(5, 0), Reason::UnknownVersion);
    refused(&patched(5, 2), Reason::UnknownVersion);
}

#[test]
fn bad_trailer_length() {
    let length = |length: u16| {
        let mut bytes = emitted(&trailer());
        let at = bytes.len() - 7;
        bytes[at..at + 2].copy_from_slice(&length.to_be_bytes());
        bytes
    };
    assert_eq!(trailer().length(), 367);
    for wrong in [0, 8, 9, 30, 31, 366, 368, 378, 379, u16::MAX] {
        refused(&length(wrong), Reason::BadTrailerLength);
    }
    refused(&patched(9, 1 << 5), Reason::BadTrailerLength);
    let end = [1, 0, 9, 1, 0xc1, 0x4c, 0x45, 0x57];
    assert_eq!(raw(ipv4(&[], 132, &end)).verify(), Reason::BadTrailerLength);
}

#[test]
fn bad_trailer_length_of_a_block() {
    let block = Block::Tree {
        id: &[0; 16],
        index: 0,
        count: 1,
        digest: 16,
        path: &[0; 32],
    };
    let tree = emitted(&Trailer { block, ..trailer() });
    // Digest size and depth stand before the path.
    let sizes = 336 + 20;
    for (digest, depth) in [(16, 1), (16, 3), (15, 2), (0, 0), (32, 2)] {
        let mut end = tree.clone();
        end[sizes..sizes + 2].copy_from_slice(&[digest, depth]);
        refused(&end, Reason::BadTrailerLength);
    }
    let block = Block::Tree {
        id: &[0; 16],
        index: 0,
        count: 1,
        digest: 0,
        path: &[],
    };
    let mut pathless = emitted(&Trailer { block, ..trailer() });
    assert_eq!(carrying(132, &pathless).verify(), Reason::UnknownMode);
    pathless[sizes + 1] = 1;
    refused(&pathless, Reason::BadTrailerLength);
    let mut window = emitted(&Trailer {
        block: Block::Window { k: 1, h: &[0; 32] },
        ..trailer()
    });
    let mode_at = window.len() - 8;
    for mode in [1, 3] {
        window[mode_at] = mode;
        refused(&window, Reason::BadTrailerLength);
    }
}

#[test]
fn unknown_mode() {
    refused(&patched(8, 4), Reason::UnknownMode);
    refused(&patched(8, 255), Reason::UnknownMode);
}

#[test]
fn unknown_mode_of_a_well_formed_trailer() {
    let tree = Block::Tree {
        id: &[0; 16],
        index: 0,
        count: 1,
        digest: 16,
        path: &[0; 32],
    };
    for block in [Block::Window { k: 8, h: &[0; 32] }, tree] {
        let frame = carrying(132, &emitted(&Trailer { block, ..trailer() }));
        assert_eq!(frame.verify(), Reason::UnknownMode);
        assert_eq!(frame.strip(), (Some(carrying(132, b"")), Stripped::Trailer));
        assert_eq!(frame.sign(Policy::default()).1, Reason::AlreadySigned);
    }
}

#[test]
fn reserved_bits() {
    refused(&patched(9, 1 << 6), Reason::ReservedBits);
    refused(&patched(9, 1 << 7), Reason::ReservedBits);
}

#[test]
fn reserved_bits_for_values_that_the_packet_does_not_have() {
    let none = Saved::default();
    let ipv4_checksum = Saved {
        ipv4_checksum: Some(1),
        ..none
    };
    let udp_length = Saved {
        udp_length: Some(1),
        ..none
    };
    let l4_checksum = Saved {
        l4_checksum: Some(1),
        ..none
    };
    let check = |protocol: u8, saved: Saved, reason: Reason| {
        let end = emitted(&Trailer { saved, ..trailer() });
        assert_eq!(
            carrying(protocol, &end).verify(),
            reason,
            "{protocol} {saved:?}"
        );
    };
    check(132, ipv4_checksum, Reason::BadEncoding);
    check(132, udp_length, Reason::ReservedBits);
    check(132, l4_checksum, Reason::ReservedBits);
    check(UDP, udp_length, Reason::BadEncoding);
    check(ICMP, l4_checksum, Reason::BadEncoding);
    check(ICMP, udp_length, Reason::ReservedBits);
    // Eleven bytes are no TCP header, though with the trailer they are long enough.
    check(TCP, l4_checksum, Reason::ReservedBits);
    let end = emitted(&Trailer {
        saved: ipv4_checksum,
        ..trailer()
    });
    assert_eq!(raw(ipv6(&[], 132, &end)).verify(), Reason::ReservedBits);
}

#[test]
fn unknown_carriage() {
    refused(&patched(10, 0), Reason::UnknownCarriage);
    refused(&patched(10, 2), Reason::UnknownCarriage);
}

#[test]
fn unknown_scheme() {
    refused(&patched(11, 0), Reason::UnknownScheme);
    refused(&patched(11, 2), Reason::UnknownScheme);
}

#[test]
fn unknown_group() {
    let end = emitted(&Trailer {
        group: GroupTag([9; 8]),
        ..trailer()
    });
    assert_eq!(carrying(132, &end).verify(), Reason::UnknownGroup);
}

#[test]
fn unknown_epoch() {
    let end = emitted(&Trailer {
        epoch: EPOCH + 1,
        ..trailer()
    });
    assert_eq!(carrying(132, &end).verify(), Reason::UnknownEpoch);
}

#[test]
fn epoch_over() {
    let end = emitted(&Trailer {
        epoch: 6,
        timestamp: Timestamp(1),
        ..trailer()
    });
    assert_eq!(carrying(132, &end).verify(), Reason::EpochOver);
}

#[test]
fn stale() {
    let end = emitted(&Trailer {
        timestamp: Timestamp::NONE,
        ..trailer()
    });
    assert_eq!(carrying(132, &end).verify(), Reason::Stale);
}

#[test]
fn future() {
    let end = emitted(&Trailer {
        timestamp: Timestamp(u64::MAX),
        ..trailer()
    });
    assert_eq!(carrying(132, &end).verify(), Reason::Future);
}

#[test]
fn bad_encoding() {
    // A compressed point begins with a set bit.
    assert_eq!(
        carrying(132, &emitted(&trailer())).verify(),
        Reason::BadEncoding
    );
    let trailer = Trailer {
        body: &[0; 1104],
        incremental: true,
        ..trailer()
    };
    assert_eq!(
        carrying(132, &emitted(&trailer)).verify(),
        Reason::BadEncoding
    );
}

#[test]
fn bad_signature() {
    for incremental in [false, true] {
        let policy = Policy {
            incremental,
            ..Policy::default()
        };
        let mut signed = raw(packet()).signed(policy);
        signed.bytes[30] ^= 1;
        assert_eq!(signed.verify(), Reason::BadSignature);
    }
}

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
        assert_eq!(frame.sign(Policy::default()).1, Reason::Signed);
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
    assert_eq!(reason, Reason::AlreadySigned);
    let twice = twice.unwrap();
    assert_eq!(twice.verify(), Reason::Ok);
    assert_eq!(twice.strip(), (Some(signed.clone()), Stripped::Mark));
    let mut out = Vec::new();
    assert_eq!(mark(&signed.frame(), &mut out), Some(Reason::AlreadySigned));
    assert_eq!(out, twice.bytes);
    assert_eq!(mark(&raw(packet()).frame(), &mut out), None);
}

#[test]
fn already_signed_does_not_ask_for_a_precursor() {
    let (signed, mut out) = (raw(packet()).signed(Policy::default()), Vec::new());
    let sender = common::sender(Policy {
        mtu: Some(1500),
        ..Policy::default()
    });
    let never = || unreachable!("there is nothing to sign");
    assert_eq!(
        sender.sign(&signed.frame(), None, never, &mut out),
        Reason::AlreadySigned
    );
    let large = raw(sized(1600));
    assert_eq!(
        sender.sign(&large.frame(), None, never, &mut out),
        Reason::Offload
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
    assert_eq!(full.sign(Policy::default()), (None, Reason::MarkFull));
    assert_eq!(mark(&full.frame(), &mut vec![]), Some(Reason::MarkFull));
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
