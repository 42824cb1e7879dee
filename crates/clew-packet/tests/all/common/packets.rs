//! Packets by parts, and strategies that put them together.

use clew_packet::{LinkType, Policy};
use proptest::{collection::vec, prelude::*, sample::select};

use super::Owned;

pub const TCP: u8 = 6;
pub const UDP: u8 = 17;
pub const ICMP: u8 = 1;
pub const ICMPV6: u8 = 58;
pub const HOP_BY_HOP: u8 = 0;
pub const ROUTING: u8 = 43;
pub const FRAGMENT: u8 = 44;
pub const DESTINATION: u8 = 60;

/// The checksum of RFC 1071 over `bytes`, word by word.
pub fn checksum(bytes: &[u8]) -> u16 {
    let mut sum = 0u32;
    for word in bytes.chunks(2) {
        sum += u32::from(word[0]) << 8 | word.get(1).map_or(0, |low| u32::from(*low));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Offset of the checksum in an upper layer.
pub fn checksum_at(protocol: u8) -> Option<usize> {
    match protocol {
        TCP => Some(16),
        UDP => Some(6),
        ICMP | ICMPV6 => Some(2),
        _ => None,
    }
}

/// Gives an upper layer its correct checksum; `addresses` are source and final destination.
pub fn fix_checksum(addresses: &[u8], protocol: u8, upper: &mut [u8]) {
    let known = match (protocol, addresses.len()) {
        (TCP, _) => upper.len() >= 20,
        (UDP, _) | (ICMP, 8) | (ICMPV6, 32) => upper.len() >= 8,
        _ => false,
    };
    let Some(at) = checksum_at(protocol).filter(|_| known) else {
        return;
    };
    upper[at..at + 2].fill(0);
    let mut sum = Vec::new();
    if protocol != ICMP {
        sum.extend(addresses);
        sum.extend((upper.len() as u32).to_be_bytes());
        sum.extend([0, 0, 0, protocol]);
    }
    sum.extend(&*upper);
    let mut value = checksum(&sum);
    if protocol == UDP && value == 0 {
        value = 0xffff;
    }
    upper[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// A TCP segment without checksum. `options` must be a multiple of 4 bytes.
pub fn tcp(flags: u8, options: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut upper = vec![0xc0, 0x01, 0, 80, 1, 2, 3, 4, 5, 6, 7, 8];
    upper.extend([
        ((5 + options.len() / 4) << 4) as u8,
        flags,
        0x10,
        0,
        0,
        0,
        0,
        0,
    ]);
    upper.extend(options);
    upper.extend(payload);
    upper
}

/// A UDP datagram without checksum.
pub fn udp(payload: &[u8]) -> Vec<u8> {
    let mut upper = vec![0xc0, 0x02, 0, 53];
    upper.extend((payload.len() as u16 + 8).to_be_bytes());
    upper.extend([0, 0]);
    upper.extend(payload);
    upper
}

/// An ICMP or ICMPv6 message without checksum.
pub fn icmp(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut upper = vec![kind, 0, 0, 0, 0x12, 0x34, 0, 1];
    upper.extend(payload);
    upper
}

pub const SOURCE_4: [u8; 4] = [192, 0, 2, 1];
pub const DESTINATION_4: [u8; 4] = [198, 51, 100, 2];

/// An IPv4 packet with correct checksums. `options` must be a multiple of 4 bytes.
pub fn ipv4(options: &[u8], protocol: u8, upper: &[u8]) -> Vec<u8> {
    let header = 20 + options.len();
    let mut packet = vec![0x40 | (header / 4) as u8, 0x28];
    packet.extend(((header + upper.len()) as u16).to_be_bytes());
    packet.extend([0xab, 0xcd, 0x40, 0, 63, protocol, 0, 0]);
    packet.extend(SOURCE_4);
    packet.extend(DESTINATION_4);
    packet.extend(options);
    let value = checksum(&packet);
    packet[10..12].copy_from_slice(&value.to_be_bytes());
    packet.extend(upper);
    let addresses = [SOURCE_4, DESTINATION_4].concat();
    fix_checksum(&addresses, protocol, &mut packet[header..]);
    packet
}

pub const SOURCE_6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
pub const DESTINATION_6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
pub const FINAL_6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf];

/// An extension header but for its next-header byte: its number and what follows the length byte.
pub type Extension = (u8, Vec<u8>);

/// Options padded with `PadN` to a whole extension header.
pub fn options(kind: u8, options: &[u8]) -> Extension {
    let mut body = options.to_vec();
    let padding = (8 - (body.len() + 2) % 8) % 8;
    match padding {
        0 => {}
        1 => body.push(0),
        _ => {
            body.extend([1, padding as u8 - 2]);
            body.resize(body.len() + padding - 2, 0);
        }
    }
    (kind, body)
}

/// A routing header with these addresses.
pub fn routing(kind: u8, segments_left: u8, addresses: &[[u8; 16]]) -> Extension {
    (
        ROUTING,
        [&[kind, segments_left, 0, 0, 0, 0][..], &addresses.concat()].concat(),
    )
}

/// An IPv6 packet with correct checksum, for the final destination given.
pub fn ipv6_to(last: [u8; 16], extensions: &[Extension], protocol: u8, upper: &[u8]) -> Vec<u8> {
    let mut payload = Vec::new();
    for (index, (_, body)) in extensions.iter().enumerate() {
        let next = extensions
            .get(index + 1)
            .map_or(protocol, |(kind, _)| *kind);
        payload.extend([next, ((body.len() + 2) / 8 - 1) as u8]);
        payload.extend(body);
    }
    let upper_at = 40 + payload.len();
    payload.extend(upper);
    let mut packet = vec![0x6a, 0xbc, 0xde, 0xf0];
    packet.extend((payload.len() as u16).to_be_bytes());
    packet.extend([extensions.first().map_or(protocol, |(kind, _)| *kind), 63]);
    packet.extend(SOURCE_6);
    packet.extend(DESTINATION_6);
    packet.extend(payload);
    fix_checksum(
        &[SOURCE_6, last].concat(),
        protocol,
        &mut packet[upper_at..],
    );
    packet
}

/// An IPv6 packet with correct checksum and no routing header with segments left.
pub fn ipv6(extensions: &[Extension], protocol: u8, upper: &[u8]) -> Vec<u8> {
    ipv6_to(DESTINATION_6, extensions, protocol, upper)
}

/// How an IP packet is wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrap {
    Raw(u32),
    Version,
    Ethernet { tags: u8 },
    Snap { tags: u8 },
    Pppoe { tags: u8 },
    SnapPppoe,
    NullLittle,
    NullBig,
    Loop,
    Ppp,
    PppCompressed,
    PppFramed,
    Sll { tags: u8 },
    Sll2 { tags: u8 },
}

/// Every way to wrap, with up to two tags.
pub fn wraps() -> Vec<Wrap> {
    let mut wraps = vec![
        Wrap::Raw(12),
        Wrap::Raw(14),
        Wrap::Raw(101),
        Wrap::Version,
        Wrap::SnapPppoe,
        Wrap::NullLittle,
        Wrap::NullBig,
        Wrap::Loop,
        Wrap::Ppp,
        Wrap::PppCompressed,
        Wrap::PppFramed,
    ];
    for tags in 0..3 {
        wraps.extend([
            Wrap::Ethernet { tags },
            Wrap::Snap { tags },
            Wrap::Pppoe { tags },
        ]);
        wraps.extend([Wrap::Sll { tags }, Wrap::Sll2 { tags }]);
    }
    wraps
}

impl Wrap {
    /// Wraps a packet, with `padding` behind it.
    pub fn around(self, ip: &[u8], padding: &[u8]) -> Owned {
        let six = ip.first().is_some_and(|first| first >> 4 == 6);
        let kind: [u8; 2] = if six { [0x86, 0xdd] } else { [0x08, 0x00] };
        let ppp: [u8; 2] = if six { [0, 0x57] } else { [0, 0x21] };
        let length = |bytes: usize| (bytes as u16).to_be_bytes();
        let pppoe = [&[0x11, 0, 0, 7][..], &length(ip.len() + 2), &ppp].concat();
        let family: u32 = if six { 30 } else { 2 };
        let snap = [0xaa, 0xaa, 3, 0, 0, 0];
        let (link, header): (u32, Vec<u8>) = match self {
            Self::Raw(link) => (link, vec![]),
            Self::Version => (if six { 229 } else { 228 }, vec![]),
            Self::Ethernet { tags } => (1, [addresses(), tagged(tags, kind)].concat()),
            Self::Snap { tags } => {
                let length = length(ip.len() + 8);
                (
                    1,
                    [
                        addresses(),
                        tagged(tags, length),
                        snap.to_vec(),
                        kind.to_vec(),
                    ]
                    .concat(),
                )
            }
            Self::Pppoe { tags } => (1, [addresses(), tagged(tags, [0x88, 0x64]), pppoe].concat()),
            Self::SnapPppoe => {
                let length = length(ip.len() + 16).to_vec();
                (
                    1,
                    [addresses(), length, snap.to_vec(), vec![0x88, 0x64], pppoe].concat(),
                )
            }
            Self::NullLittle => (0, family.to_le_bytes().to_vec()),
            Self::NullBig => (0, family.to_be_bytes().to_vec()),
            Self::Loop => (108, family.to_be_bytes().to_vec()),
            Self::Ppp => (9, ppp.to_vec()),
            Self::PppCompressed => (9, vec![0xff, 3, ppp[1]]),
            Self::PppFramed => (9, [&[0xff, 3][..], &ppp].concat()),
            Self::Sll { tags } => (113, [vec![0; 14], tagged(tags, kind)].concat()),
            Self::Sll2 { tags } => {
                let tagged = tagged(tags, kind);
                (276, [&tagged[..2], &[0; 18], &tagged[2..]].concat())
            }
        };
        Owned::new(LinkType(link), [&header, ip, padding].concat())
    }
}

fn addresses() -> Vec<u8> {
    vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]
}

/// A type behind so many VLAN tags.
fn tagged(tags: u8, kind: [u8; 2]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for tag in 0..tags {
        bytes.extend([[0x81, 0x00], [0x88, 0xa8], [0x91, 0x00]][usize::from(tag) % 3]);
        bytes.extend([0, tag]);
    }
    bytes.extend(kind);
    bytes
}

prop_compose! {
    pub fn policies()(nat: bool, tolerant: bool, incremental: bool) -> Policy {
        Policy { nat, tolerant, incremental, ..Policy::default() }
    }
}

/// An upper layer for either version, checksum not set.
fn uppers() -> impl Strategy<Value = (u8, Vec<u8>)> {
    let payload = || vec(any::<u8>(), 0..64);
    let tcp_options = prop_oneof![
        Just(vec![]),
        Just(vec![2, 4, 5, 0xb4]),
        Just(vec![1, 2, 4, 5, 0xb4, 1, 1, 0]),
        vec(any::<u8>(), 8),
    ];
    let segment = (any::<u8>(), tcp_options, payload());
    let kinds = select(vec![0u8, 3, 8, 13, 128, 129, 134]);
    let others = select(vec![
        2u8, 41, 47, 50, 51, 59, 89, 132, TCP, UDP, ICMP, ICMPV6,
    ]);
    prop_oneof![
        3 => segment.prop_map(|(flags, options, payload)| (TCP, tcp(flags, &options, &payload))),
        3 => payload().prop_map(|payload| (UDP, udp(&payload))),
        1 => (kinds.clone(), payload()).prop_map(|(kind, payload)| (ICMP, icmp(kind, &payload))),
        1 => (kinds, payload()).prop_map(|(kind, payload)| (ICMPV6, icmp(kind, &payload))),
        2 => (others, payload()),
    ]
}

fn ipv4_options() -> impl Strategy<Value = Vec<u8>> {
    let known = select(vec![
        vec![],
        vec![1, 1, 1, 0],
        vec![148, 4, 0, 0],
        vec![7, 7, 4, 1, 2, 3, 4, 0],
        vec![130, 4, 9, 9, 68, 4, 5, 0, 0, 3, 3, 3],
    ]);
    prop_oneof![3 => known, 1 => (0usize..=10).prop_flat_map(|words| vec(any::<u8>(), words * 4))]
}

fn extension() -> impl Strategy<Value = Extension> {
    let body = || vec(any::<u8>(), 6..=6);
    prop_oneof![
        body().prop_map(|body| (HOP_BY_HOP, body)),
        vec(any::<u8>(), 14).prop_map(|body| (DESTINATION, body)),
        Just(options(DESTINATION, &[0xc9, 2, 7, 7, 0x3e, 1, 5])),
        Just(routing(0, 1, &[DESTINATION_6, FINAL_6])),
        Just(routing(4, 1, &[FINAL_6, DESTINATION_6])),
        Just(routing(2, 1, &[FINAL_6])),
        Just(routing(3, 0, &[FINAL_6])),
    ]
}

/// IP packets of both versions with correct checksums, mostly signable.
pub fn ips() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        (ipv4_options(), uppers())
            .prop_map(|(options, (kind, upper))| ipv4(&options, kind, &upper)),
        (vec(extension(), 0..4), uppers()).prop_map(|(extensions, (kind, upper))| {
            let routed = extensions
                .iter()
                .any(|(kind, body)| *kind == ROUTING && body[1] > 0);
            ipv6_to(
                if routed { FINAL_6 } else { DESTINATION_6 },
                &extensions,
                kind,
                &upper,
            )
        }),
    ]
}

/// Frames that are mostly signable, some with wrong checksums or lengths.
pub fn frames() -> impl Strategy<Value = Owned> {
    let damage = prop_oneof![
        2 => Just(None),
        1 => (any::<prop::sample::Index>(), any::<u8>()).prop_map(Some),
    ];
    (
        ips(),
        select(wraps()),
        vec(any::<u8>(), 0..24),
        damage,
        0usize..3,
    )
        .prop_map(|(mut ip, wrap, padding, damage, missing)| {
            if let Some((index, byte)) = damage {
                // Addresses, checksums, options and ports: what makes it signable comes before.
                let from = if ip[0] >> 4 == 4 { 10 } else { 40 };
                if let Some(bytes) = ip.get_mut(from..).filter(|bytes| !bytes.is_empty()) {
                    let reach = bytes.len().min(30);
                    bytes[index.index(reach)] = byte;
                }
            }
            Owned {
                missing,
                ..wrap.around(&ip, &padding)
            }
        })
}
