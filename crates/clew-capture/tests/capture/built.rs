//! Files built byte by byte: one test per rule of the formats.

use clew_capture::{CaptureError, NotExact, PACKET_LEN_MAX, RECORD_LEN_MAX, Reader};

use crate::fuzz::{assert_same, container};
use crate::support::*;

const SECOND: u64 = 1_000_000_000;

#[test]
fn pcap_in_every_byte_order_and_resolution() {
    for order in ORDERS {
        for (magic, tick_ns) in [(MICROSECONDS, 1000), (NANOSECONDS, 1)] {
            let bytes = pcap(
                order,
                magic,
                65535,
                1,
                &[packet(b"first"), packet(b"second")],
            );
            container(&bytes);
            let found = packets(&bytes);
            let info = found[1].packet().unwrap();
            assert_eq!(
                (info.frame, info.interface, info.link, info.wire_len),
                (2, 0, 1, 6)
            );
            assert_eq!(info.time_ns, Some(1_700_000_000 * SECOND + 5 * tick_ns));
            assert_eq!(found[1].data(), b"second");
        }
    }
}

#[test]
fn pcap_keeps_flags_above_the_link_type() {
    let bytes = pcap(Order::Big, MICROSECONDS, 0, 0x2400_0071, &[packet(b"x")]);
    assert_eq!(packets(&bytes)[0].packet().unwrap().link, 0x71);
    assert_same(&resize(&resize(&bytes, 9), -9), &bytes, "flags");
}

#[test]
fn pcap_oddities_are_not_damage() {
    let odd = Packet {
        seconds: u32::MAX,
        fraction: u32::MAX,
        wire_len: 2,
        data: b"more than two",
    };
    let bytes = pcap(Order::Little, NANOSECONDS, 4, 1, &[odd, packet(b"")]);
    container(&bytes);
    let info = packets(&bytes)[0].packet().unwrap();
    assert_eq!(info.wire_len, 2);
    assert_eq!(info.time_ns, Some(u64::from(u32::MAX) * (SECOND + 1)));
}

#[test]
fn pcap_lengths_move_together() {
    let cut = Packet {
        wire_len: 1500,
        ..packet(b"cut at eleven")
    };
    let mut record = packets(&pcap(Order::Big, MICROSECONDS, 0, 1, &[cut])).remove(0);
    record.replace(b"cut at eleven or later").unwrap();
    assert_eq!(record.packet().unwrap().wire_len, 1509);
    assert_eq!(record.bytes()[8..16], [0, 0, 0, 22, 0, 0, 5, 229]);
    assert_eq!(record.data(), b"cut at eleven or later");
}

#[test]
fn snap_length_rises_to_the_longest_grown_packet() {
    let snaplen = |bytes: &[u8]| u32::from_be_bytes(bytes[16..20].try_into().unwrap());
    let file = |snaplen| {
        let long = Packet {
            wire_len: 90,
            ..packet(&[7; 60])
        };
        pcap(
            Order::Big,
            MICROSECONDS,
            snaplen,
            1,
            &[packet(b"short"), long],
        )
    };
    for (before, after) in [(64, 67), (67, 67), (100, 100), (0, 0)] {
        assert_eq!(snaplen(&resize(&file(before), 7)), after);
    }
    assert_eq!(
        snaplen(&resize(&file(20), 0)),
        20,
        "a longer packet that did not grow"
    );
    assert_eq!(
        snaplen(&resize(&file(20), -1)),
        20,
        "a longer packet that shrank"
    );
}

#[test]
fn pcapng_packets_of_every_kind() {
    for order in ORDERS {
        let blocks = Blocks::new(order);
        let options = blocks.options(&[(1, b"kept"), (2, &[0; 4]), (0x7777, b"unknown")]);
        let bytes = blocks
            .section(UNSTATED)
            .interface(ETHERNET, 0, &[])
            .interface(113, 0, &[])
            .block(0x0bad_cafe, b"not a packet")
            .enhanced(1, 3_000_000, b"enhanced", &options)
            .obsolete(1, 4_000_000, b"obsolete one", &options)
            .simple(6, b"simple")
            .bytes;
        container(&bytes);
        let found = packets(&bytes);
        let seen: Vec<_> = found
            .iter()
            .map(|record| (record.packet().unwrap(), record.data()))
            .map(|(info, data)| (info.frame, info.interface, info.link, info.time_ns, data))
            .collect();
        assert_eq!(seen[0], (1, 1, 113, Some(3 * SECOND), &b"enhanced"[..]));
        assert_eq!(seen[1], (2, 1, 113, Some(4 * SECOND), &b"obsolete one"[..]));
        assert_eq!(seen[2], (3, 0, ETHERNET, None, &b"simple"[..]));
        for difference in 1..9 {
            let longer = resize(&bytes, difference);
            assert_eq!(packets(&longer)[0].data().len(), 8 + difference as usize);
            assert_same(&resize(&longer, -difference), &bytes, "longer and shorter");
        }
    }
}

#[test]
fn pcapng_blocks_are_rebuilt_exactly() {
    let file = |data: &[u8]| {
        let blocks = Blocks::new(Order::Big);
        let options = blocks.options(&[(1, b"comment")]);
        blocks
            .section(UNSTATED)
            .interface(1, 0, &[])
            .enhanced(0, 9, data, &options)
            .bytes
    };
    let mut record = packets(&file(b"five!")).remove(0);
    for data in [&b"exactly eight bytes!"[..], b"", b"five!"] {
        record.replace(data).unwrap();
        assert_eq!(record.bytes(), packets(&file(data))[0].bytes());
    }
}

#[test]
fn times_follow_resolution_and_offset() {
    let check = |options: &[(u16, &[u8])], ticks, expected| {
        let blocks = Blocks::new(Order::Little);
        let options = blocks.options(options);
        let blocks = blocks.section(UNSTATED).interface(1, 0, &options);
        let bytes = blocks.enhanced(0, ticks, b"x", &[]).bytes;
        assert_eq!(packets(&bytes)[0].packet().unwrap().time_ns, expected);
    };
    check(&[(9, &[9])], 5, Some(5));
    check(&[(9, &[0x80 | 20])], 3 << 19, Some(SECOND + SECOND / 2));
    check(
        &[(2, b"eth0"), (9, &[3]), (14, &10_i64.to_le_bytes())],
        1500,
        Some(11 * SECOND + SECOND / 2),
    );
    check(&[(14, &(-1_i64).to_le_bytes())], 0, None);
    check(&[(9, &[0])], u64::MAX, None);
    check(&[(9, &[9, 9])], 1, Some(1000));
    check(&[(0, b""), (9, &[9])], 1, Some(1000));
}

#[test]
fn malformed_interface_options_leave_the_default_time() {
    let options = [9, 0, 200, 0, 9, 0, 0, 0];
    let blocks = Blocks::new(Order::Little)
        .section(UNSTATED)
        .interface(1, 0, &options);
    let bytes = blocks.enhanced(0, 1, b"x", &[]).bytes;
    container(&bytes);
    assert_eq!(packets(&bytes)[0].packet().unwrap().time_ns, Some(1000));
}

#[test]
fn sections_have_their_own_order_and_interfaces() {
    let first = Blocks::new(Order::Little)
        .section(UNSTATED)
        .interface(1, 0, &[]);
    let second = Blocks {
        order: Order::Big,
        bytes: first.enhanced(0, 1, b"one", &[]).bytes,
    };
    let bytes = second
        .section(UNSTATED)
        .interface(101, 0, &[])
        .enhanced(0, 2, b"two", &[])
        .bytes;
    container(&bytes);
    let info: Vec<_> = packets(&bytes)
        .iter()
        .map(|record| record.packet().unwrap())
        .collect();
    assert_eq!((info[0].frame, info[0].link), (1, 1));
    assert_eq!(
        (info[1].frame, info[1].link, info[1].time_ns),
        (2, 101, Some(2000))
    );
}

#[test]
fn a_true_section_length_stays_true() {
    let section = |order, length, data: &[u8]| {
        let blocks = Blocks::new(order).section(length).interface(1, 0, &[]);
        blocks.enhanced(0, 1, data, &[]).bytes
    };
    // The interface has 20 bytes, and the packets 36 and 40 with what is around them.
    let two = |a: u64, b: u64, data: &[u8]| {
        [
            section(Order::Big, a, data),
            section(Order::Little, b, data),
        ]
        .concat()
    };
    let check = |before: (u64, u64), after: (u64, u64)| {
        let short = two(before.0, before.1, b"four");
        let long = two(after.0, after.1, b"four\xab\xab\xab\xab");
        assert_same(&resize(&short, 4), &long, "longer");
        assert_same(&resize(&long, -4), &short, "shorter");
        assert_same(&resize(&short, 0), &short, "copy");
    };
    check((56, 56), (60, 60));
    check((UNSTATED, 56), (UNSTATED, 60));
    check((57, 56), (57, 60));
    check((0, 1), (0, 1));
}

#[test]
fn section_length_covers_what_follows_damage() {
    for (before, after) in [(91, 95), (92, 92), (56, 56)] {
        let blocks = Blocks::new(Order::Big).section(before).interface(1, 0, &[]);
        let blocks = blocks.enhanced(0, 1, b"four", &[]);
        let cut = blocks.enhanced(0, 1, b"more", &[]).bytes;
        let bytes = &cut[..cut.len() - 1];
        let longer = resize(bytes, 4);
        assert_eq!(longer[16..24], u64::to_be_bytes(after));
        assert_same(&resize(&longer, -4), bytes, "damaged");
    }
}

#[test]
fn snap_lengths_rise_per_interface() {
    let blocks = Blocks::new(Order::Little).section(UNSTATED);
    let bytes = blocks
        .interface(1, 10, &[])
        .interface(1, 10, &[])
        .interface(1, 0, &[])
        .enhanced(1, 1, b"0123456789", &[])
        .enhanced(2, 1, b"0123456789", &[])
        .bytes;
    container(&bytes);
    let longer = resize(&bytes, 5);
    let snaplens = [40, 60, 80].map(|at| longer[at]);
    assert_eq!(snaplens, [10, 15, 0]);
}

#[test]
fn simple_packets_are_bound_to_the_snap_length() {
    let file = |snaplen| {
        let blocks = Blocks::new(Order::Big)
            .section(UNSTATED)
            .interface(1, snaplen, &[]);
        blocks
            .simple(8, b"whole...")
            .simple(99, b"cut at 12...")
            .bytes
    };
    let bytes = file(12);
    container(&bytes);
    let [mut whole, mut cut]: [_; 2] = packets(&bytes).try_into().unwrap();
    assert_eq!(
        (cut.data(), cut.packet().unwrap().wire_len),
        (&b"cut at 12..."[..], 99)
    );
    assert_eq!(whole.replace(&[1; 13]), Err(NotExact::SnapLength));
    assert_eq!(cut.replace(&[1; 4]), Err(NotExact::SnapLength));
    assert_eq!(whole.replace(&[1; 12]), Ok(()));
    assert_eq!(whole.packet().unwrap().wire_len, 12);
}

#[test]
fn cut_simple_packets_hold_the_snap_length_down() {
    let blocks = Blocks::new(Order::Big)
        .section(UNSTATED)
        .interface(1, 12, &[]);
    let bytes = blocks
        .enhanced(0, 1, b"enhanced", &[])
        .simple(99, b"cut at 12...")
        .bytes;
    container(&bytes);
    let longer = resize(&bytes, 40);
    assert_eq!(longer[40..44], [0, 0, 0, 12]);
    assert_eq!(packets(&longer)[1].data(), b"cut at 12...");
}

#[test]
fn padding_that_is_not_zero_forbids_replacing() {
    let blocks = Blocks::new(Order::Little)
        .section(UNSTATED)
        .interface(1, 0, &[]);
    let mut bytes = blocks.enhanced(0, 1, b"odd", &[]).bytes;
    let padding_at = bytes.len() - 5;
    bytes[padding_at] = 0xff;
    container(&bytes);
    let mut record = packets(&bytes).remove(0);
    assert_eq!(record.replace(b"even"), Err(NotExact::Padding));
    assert_eq!(record.data(), b"odd");
}

#[test]
fn lengths_that_do_not_fit_forbid_replacing() {
    let huge = Packet {
        wire_len: u32::MAX,
        ..packet(b"huge")
    };
    let tiny = Packet {
        wire_len: 1,
        ..packet(b"tiny")
    };
    let bytes = pcap(Order::Little, MICROSECONDS, 0, 1, &[huge, tiny]);
    container(&bytes);
    let [mut huge, mut tiny]: [_; 2] = packets(&bytes).try_into().unwrap();
    assert_eq!(huge.replace(b"huger"), Err(NotExact::Length));
    assert_eq!(tiny.replace(b"ti"), Err(NotExact::Length));
    assert_eq!(
        tiny.replace(&vec![0; PACKET_LEN_MAX + 1]),
        Err(NotExact::Length)
    );
    assert_eq!(tiny.replace(&vec![0; PACKET_LEN_MAX]), Ok(()));
    let (mut records, _) = read(&bytes);
    assert_eq!(records[0].replace(b""), Err(NotExact::NotAPacket));
}

#[test]
fn a_block_with_options_has_less_room() {
    let blocks = Blocks::new(Order::Little);
    let options = blocks.options(&[(1, b"comment.")]);
    let blocks = blocks.section(UNSTATED).interface(1, 0, &[]);
    let bytes = blocks.enhanced(0, 1, b"x", &options).bytes;
    let mut record = packets(&bytes).remove(0);
    let room = PACKET_LEN_MAX - options.len();
    assert_eq!(record.replace(&vec![0; room + 1]), Err(NotExact::Length));
    assert_eq!(record.replace(&vec![0; room]), Ok(()));
    assert_eq!(record.bytes().len(), RECORD_LEN_MAX);
}

#[test]
fn what_is_not_a_capture_is_named() {
    let check = |bytes: &[u8], expected: &str| {
        let error = Reader::new(bytes).err().unwrap();
        let said = format!("{error}; {}", error.hint().unwrap_or_default());
        assert!(said.contains(expected), "{said}");
    };
    check(b"", "empty");
    check(&[0x1f, 0x8b, 8, 0], "gunzip -c CAPTURE | clew");
    check(&[0x28, 0xb5, 0x2f, 0xfd], "zstd -dc");
    check(&[0xfd, b'7', b'z', b'X', b'Z'], "xz -dc");
    check(&[4, 0x22, 0x4d, 0x18], "lz4 -dc");
    check(b"BZh9", "bzip2 -dc");
    check(&[0x34, 0xcd, 0xb2, 0xa1], "Kuznetzov");
    check(b"snoop\0\0\0", "editcap");
    check(b"<?xm", "begins with 3c 3f 78 6d");
    check(&[0xd4, 0xc3], "begins with d4 c3");
    assert!(matches!(
        Reader::new(&b"????"[..]).err(),
        Some(CaptureError::Unknown(_))
    ));
}
