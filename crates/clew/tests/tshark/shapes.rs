//! Datagrams of every shape around one trailer: the dissector finds it in those in which clew does.

use crate::files::{IPV4, Packet, begin, packets, plain, write};
use crate::folder::Folder;
use crate::reading::{compare, reading};
use crate::shark::missing;
use clew_packet::FOOT_BYTES;

const RAW: u16 = 101;
const ETHERNET: u16 = 1;

/// A packet, signed for itself, and its trailer.
fn signed(folder: &Folder) -> (Packet, Vec<u8>) {
    begin(folder, IPV4);
    assert_eq!(folder.sign(&["--mode", "each"]), 0);
    let packet = packets(&folder.path("signed")).remove(0);
    let length = reading(&packet).unwrap().trailer().length();
    let trailer = packet.bytes[packet.bytes.len() - length..].to_vec();
    (packet, trailer)
}

/// Writes frames that begin with IP, or other ones; returns in how many the trailer was found.
fn found(what: &str, make: impl Fn(&[u8]) -> Vec<(u16, Vec<u8>)>) -> (usize, usize) {
    let folder = Folder::new();
    let (packet, trailer) = signed(&folder);
    let frames = make(&trailer).into_iter();
    let frames: Vec<Packet> = frames
        .map(|(link, bytes)| Packet {
            link,
            ..packet.with(bytes)
        })
        .collect();
    write(&folder.path("made"), frames.iter().map(plain));
    (compare(&folder, "made", what), frames.len())
}

fn ipv4(protocol: u8, header: u8, upper: &[u8]) -> Vec<u8> {
    let length = usize::from(header) * 4 + upper.len();
    let mut out = vec![0; usize::from(header) * 4];
    (out[0], out[9]) = (0x40 | header, protocol);
    out[2..4].copy_from_slice(&(length as u16).to_be_bytes());
    [&out, upper].concat()
}

fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0; 40];
    (out[0], out[6]) = (0x60, next);
    out[4..6].copy_from_slice(&(payload.len() as u16).to_be_bytes());
    [&out, payload].concat()
}

/// Saved values make sense for some upper layers, if these are long enough.
#[test]
fn saved_values_are_those_that_the_upper_layer_has() {
    if missing("tshark") {
        return;
    }
    let (found, all) = found("saved", |trailer| {
        let mut all = Vec::new();
        for flags in 0..8 {
            for (protocol, length) in [
                (1, 7),
                (1, 8),
                (6, 19),
                (6, 20),
                (17, 7),
                (17, 8),
                (58, 7),
                (58, 8),
                (132, 30),
            ] {
                let upper = [&vec![0; length], &with_saved(trailer, flags << 2)[..]].concat();
                all.push((RAW, ipv4(protocol, 5, &upper)));
                all.push((RAW, ipv6(protocol, &upper)));
            }
        }
        all
    });
    assert!(found > all / 4 && found < all / 2, "{found} of {all}");
}

/// The trailer with as many saved values as the flags say.
fn with_saved(trailer: &[u8], flags: u8) -> Vec<u8> {
    let (body, end) = trailer.split_at(trailer.len() - 31);
    let saved = vec![0x5a; 2 * flags.count_ones() as usize];
    let mut all = [body, &saved, end].concat();
    let (foot, length) = (all.len() - FOOT_BYTES, all.len() as u16);
    all[foot] = flags;
    all[foot + 2..foot + 4].copy_from_slice(&length.to_be_bytes());
    all
}

#[test]
fn headers_of_ipv4_are_read() {
    if missing("tshark") {
        return;
    }
    let (found, all) = found("IPv4", |trailer| {
        let with = |at: usize, value: &[u8]| {
            let mut bytes = ipv4(17, 5, &[&[0; 8], trailer].concat());
            bytes[at..at + value.len()].copy_from_slice(value);
            bytes
        };
        let plain = with(0, &[]);
        let length = plain.len() as u16;
        let mut all = vec![plain.clone(), [&plain[..], &[0; 9]].concat()];
        all.extend([4, 5, 6, 15].map(|header| ipv4(17, header, &[&[0; 8], trailer].concat())));
        all.extend([0, 20, length - 1, length + 1].map(|length| with(2, &length.to_be_bytes())));
        // Reserved bit, don't fragment, more fragments, offset.
        all.extend([0x80, 0x40, 0x20, 0x01].map(|flags| with(6, &[flags])));
        all.extend([0x55, 0x65, 0x05].map(|version| with(0, &[version])));
        let of_raw = all.into_iter().map(|bytes| (RAW, bytes));
        // A version that the link layer did not promise.
        let promised = [&[2; 12], &[8, 0][..], &with(0, &[0x65])].concat();
        of_raw.chain([(ETHERNET, promised)]).collect()
    });
    assert_eq!((found, all), (7, 18));
}

#[test]
fn extension_headers_of_ipv6_are_walked() {
    if missing("tshark") {
        return;
    }
    let (found, all) = found("IPv6", |trailer| {
        let (hop, options, fragment) = ((0, vec![0; 6]), (60, vec![0; 14]), (44, vec![0; 6]));
        let mut chains = vec![
            vec![],
            vec![hop.clone()],
            vec![hop, options.clone()],
            vec![options.clone(); 8],
            vec![options.clone(); 9],
            vec![fragment.clone()],
            [vec![options; 8], vec![fragment]].concat(),
        ];
        for kind in 0..6 {
            for (left, room) in [(0, 0), (1, 0), (1, 8), (1, 16), (1, 24), (2, 32)] {
                chains.push(vec![(
                    43,
                    [&[kind, left, 0, 0, 0, 0], &vec![0; room][..]].concat(),
                )]);
            }
        }
        let mut all: Vec<Vec<u8>> = chains
            .iter()
            .map(|chain| chained(chain, 17, trailer))
            .collect();
        all.push(chained(&[], 59, trailer));
        // A header that is longer than what there is.
        let mut endless = all[1].clone();
        endless[41] = 0xff;
        all.push(endless);
        all.into_iter().map(|bytes| (RAW, bytes)).collect()
    });
    assert!(found > 15 && found < all - 15, "{found} of {all}");
}

/// IPv6 with extension headers, by their numbers and what stands behind number and length.
fn chained(headers: &[(u8, Vec<u8>)], protocol: u8, trailer: &[u8]) -> Vec<u8> {
    let mut payload = [&[0; 8], trailer].concat();
    let mut next = protocol;
    for (number, content) in headers.iter().rev() {
        let length = (content.len() + 2) / 8 - 1;
        payload = [&[next, length as u8], &content[..], &payload].concat();
        next = *number;
    }
    ipv6(next, &payload)
}

/// 802.3 and PPPoE state a length: it must cover the datagram, and leave room for a mark.
#[test]
fn lengths_around_the_datagram_are_judged() {
    if missing("tshark") {
        return;
    }
    let mark = [1, 0, 0, 0, 10, 1, 0xc1, 0x4c, 0x45, 0x57];
    let (found, all) = found("lengths", |trailer| {
        let datagram = |length: usize, end: &[u8]| {
            let payload = vec![0; length - 20 - trailer.len() - end.len()];
            ipv4(132, 5, &[&payload, trailer, end].concat())
        };
        let small = datagram(500, &[]);
        let mut all = vec![];
        for by in [-1, 0, 7] {
            all.push(snap(&small, by));
            all.push(pppoe(&small, by));
        }
        // An 802.3 length of up to 1,484 leaves room for 16 bytes more.
        for (length, end) in [(1476, &[][..]), (1477, &[]), (1486, &mark), (1487, &mark)] {
            all.push(snap(&datagram(length, end), 0));
        }
        for (length, end) in [
            (65_519, &[][..]),
            (65_520, &[]),
            (65_529, &mark),
            (65_530, &mark),
        ] {
            all.push((RAW, datagram(length, end)));
        }
        all
    });
    assert_eq!((found, all), (8, 14));
}

/// An 802.3 frame whose length is off by so much.
fn snap(datagram: &[u8], by: i16) -> (u16, Vec<u8>) {
    let stated = (datagram.len() as i16 + 8 + by).to_be_bytes();
    let llc = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
    (ETHERNET, [&[2; 12], &stated[..], &llc, datagram].concat())
}

fn pppoe(datagram: &[u8], by: i16) -> (u16, Vec<u8>) {
    let stated = (datagram.len() as i16 + 2 + by).to_be_bytes();
    let header = [
        &[2; 12],
        &[0x88, 0x64, 0x11, 0, 0, 1][..],
        &stated,
        &[0, 0x21],
    ]
    .concat();
    (ETHERNET, [&header[..], datagram].concat())
}
