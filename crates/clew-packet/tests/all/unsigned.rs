//! One test for every reason of section 2, named after it: the frame that has it, and its nearest
//! neighbour that has not. `sign` and `verify` say the same about what cannot be signed.

use crate::common::{Owned, packets::*, trailers::*};
use clew_packet::{
    EXTENSION_HEADERS_MAX, LinkType, Policy, Reason, SignOutcome, Stripped, VLAN_TAGS_MAX,
};

fn packet_6() -> Vec<u8> {
    ipv6(&[], UDP, &udp(b"payload"))
}

/// Checks that the packet passes `sign`, `verify` and `strip` for this reason.
#[track_caller]
fn passes(frame: &Owned, reason: Reason) {
    assert_eq!(frame.sign(Policy::default()), (None, reason.into()));
    assert_eq!(frame.verify(), reason);
    assert_eq!(frame.strip(), (None, Stripped::Nothing(reason)));
}

#[track_caller]
fn signs(frame: &Owned) {
    assert_eq!(frame.sign(Policy::default()).1, SignOutcome::Signed);
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
        assert_eq!(signed.sign(Policy::default()).1, SignOutcome::AlreadySigned);
        let frame = wrap.around(&sized(limit + 1), &[]);
        assert_eq!(frame.sign(Policy::default()), (None, Reason::TooBig.into()));
        assert_eq!(frame.verify(), Reason::NoTrailer);
    }
    let size = 65_535 - 16 - 367 + 40;
    let six = |size: usize| raw(ipv6(&[], 132, &vec![0; size - 40]));
    signs(&six(size));
    assert_eq!(
        six(size + 1).sign(Policy::default()).1,
        Reason::TooBig.into()
    );
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
        SignOutcome::AlreadySigned
    );
    passes(&carrying(limit + 1), Reason::TooBig);
}

#[test]
fn too_big_and_offload_with_an_mtu() {
    let policy = Policy {
        mtu: Some(1500),
        ..Policy::default()
    };
    let outcome = |bytes| {
        Wrap::Ethernet { tags: 1 }
            .around(&sized(bytes), &[0; 9])
            .sign(policy)
            .1
    };
    assert_eq!(outcome(1500 - 367), SignOutcome::Signed);
    assert_eq!(outcome(1501 - 367), Reason::TooBig.into());
    assert_eq!(outcome(1500), Reason::TooBig.into());
    assert_eq!(outcome(1501), SignOutcome::Offload);
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
