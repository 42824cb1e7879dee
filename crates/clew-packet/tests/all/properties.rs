//! What holds for every packet.

use std::ops::Range;

use crate::common::{Owned, packets::*};
use clew_packet::{Policy, Reason, Stripped};
use proptest::{collection::vec, prelude::*, sample::select, test_runner::FileFailurePersistence};

fn config() -> ProptestConfig {
    let seeds = FileFailurePersistence::WithSource("seeds");
    ProptestConfig {
        failure_persistence: Some(Box::new(seeds)),
        ..ProptestConfig::with_cases(2000)
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn strip_undoes_sign(original in frames(), policy in policies()) {
        let (signed, outcome) = original.sign(policy);
        let Some(signed) = signed else {
            prop_assert_ne!(outcome, Reason::NoTrailer.into());
            prop_assert!(matches!(original.strip().1, Stripped::Nothing(_)));
            return Ok(());
        };
        prop_assert_eq!(signed.verify(), Reason::Ok);
        let (stripped, kind) = signed.strip();
        prop_assert_eq!(kind, Stripped::Trailer);
        prop_assert_eq!(stripped.unwrap(), original);
    }

    #[test]
    fn every_run_is_undone_by_one_strip(original in frames(), policies in vec(policies(), 1..5)) {
        let mut runs = vec![original];
        for policy in policies {
            if let (Some(signed), _) = runs.last().unwrap().sign(policy) {
                prop_assert_eq!(signed.verify(), Reason::Ok);
                runs.push(signed);
            }
        }
        while let Some(signed) = runs.pop() {
            if let Some(before) = runs.last() {
                prop_assert_eq!(&signed.strip().0.unwrap(), before);
            }
        }
    }

    #[test]
    fn a_marked_packet_with_wrong_checksums_comes_back(
        original in frames(), flips in vec(any::<prop::sample::Index>(), 0..3),
    ) {
        let mut damaged = original;
        for _ in 0..2 {
            let (Some(signed), _) = damaged.sign(Policy::default()) else { return Ok(()) };
            damaged = signed;
        }
        for flip in flips {
            let at = flip.index(damaged.bytes.len());
            damaged.bytes[at] ^= 0x10;
        }
        if let (Some(again), _) = damaged.sign(Policy::default()) {
            prop_assert_eq!(again.strip().0.unwrap(), damaged);
        }
    }

    #[test]
    fn a_packet_that_was_not_signed_is_not_stripped(original in frames()) {
        let (stripped, kind) = original.strip();
        prop_assert_eq!(stripped, None);
        prop_assert!(matches!(kind, Stripped::Nothing(_)));
        prop_assert_eq!(clew_packet::mark(&original.frame(), &mut vec![]), None);
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        link in select(vec![0u32, 1, 9, 12, 14, 101, 108, 113, 228, 229, 276, 147]),
        bytes in vec(any::<u8>(), 0..200), missing in 0usize..100,
    ) {
        let frame = Owned { link: clew_packet::LinkType(link), bytes, missing };
        let (signed, _) = frame.sign(Policy::default());
        prop_assert!(matches!(frame.strip().1, Stripped::Nothing(_)));
        prop_assert_ne!(frame.verify(), Reason::Ok);
        if let Some(signed) = signed {
            prop_assert_eq!(signed.strip().0.unwrap(), frame);
        }
    }

    #[test]
    fn damaged_frames_never_panic(
        original in frames(), wrong in any::<prop::sample::Index>(), byte: u8, cut in any::<prop::sample::Index>(),
    ) {
        let mut frame = original.sign(Policy::default()).0.unwrap_or(original);
        let at = wrong.index(frame.bytes.len());
        frame.bytes[at] = byte;
        for cut in [frame.bytes.len(), cut.index(frame.bytes.len())] {
            let mut frame = frame.clone();
            frame.bytes.truncate(cut);
            frame.verify();
            if let (Some(signed), _) = frame.sign(Policy::default()) {
                prop_assert_eq!(signed.strip().0.unwrap(), frame);
            }
        }
    }
}

/// Bits of a signed frame that a flip may change without the verdict: those that routers and strip
/// rewrite. Everything else in the datagram is signed, or says where it is.
fn unsigned_bits(
    original: &Owned,
    ip_at: usize,
    upper_at: usize,
    protocol: u8,
) -> Vec<Range<usize>> {
    let ip = ip_at * 8;
    let mut bits = if original.bytes[ip_at] >> 4 == 4 {
        // DSCP and ECN; identification; reserved and don't fragment; TTL; checksum.
        vec![
            ip + 8..ip + 16,
            ip + 32..ip + 50,
            ip + 64..ip + 72,
            ip + 80..ip + 96,
        ]
    } else {
        // Traffic class and flow label; hop limit.
        vec![ip + 4..ip + 32, ip + 56..ip + 64]
    };
    let upper = upper_at * 8;
    match protocol {
        TCP => bits.push(upper + 128..upper + 144),
        // Length and checksum.
        UDP => bits.push(upper + 32..upper + 64),
        ICMP | ICMPV6 => bits.push(upper + 16..upper + 32),
        _ => {}
    }
    bits
}

/// Flips each bit from the IP header on, of a packet signed with nothing left out.
fn check_flips(ip: &[u8], upper_at: usize, protocol: u8) {
    check_flips_in(Wrap::Raw(101), ip, upper_at, protocol, Policy::default());
}

fn check_flips_in(wrap: Wrap, ip: &[u8], upper_at: usize, protocol: u8, policy: Policy) {
    let original = wrap.around(ip, &[]);
    let ip_at = original.bytes.len() - ip.len();
    let signed = original.signed(policy);
    assert_eq!(signed.verify(), Reason::Ok);
    let unsigned = unsigned_bits(&original, ip_at, ip_at + upper_at, protocol);
    for bit in ip_at * 8..signed.bytes.len() * 8 {
        let mut flipped = signed.clone();
        flipped.bytes[bit / 8] ^= 0x80 >> (bit % 8);
        let expected = unsigned.iter().any(|range| range.contains(&bit));
        let reason = flipped.verify();
        assert_eq!(
            reason == Reason::Ok,
            expected,
            "bit {bit} of {wrap:?}: {reason}"
        );
    }
}

#[test]
fn flips_in_ipv4() {
    check_flips(&ipv4(&[], TCP, &tcp(0x18, &[], b"payload")), 20, TCP);
    check_flips(&ipv4(&[148, 4, 0, 0], UDP, &udp(b"payload")), 24, UDP);
    check_flips(&ipv4(&[], ICMP, &icmp(8, b"payload")), 20, ICMP);
    check_flips(&ipv4(&[], 132, b"payload"), 20, 132);
}

#[test]
fn flips_in_ipv6() {
    check_flips(&ipv6(&[], TCP, &tcp(0x18, &[], b"payload")), 40, TCP);
    check_flips(&ipv6(&[], UDP, &udp(b"payload")), 40, UDP);
    check_flips(&ipv6(&[], ICMPV6, &icmp(128, b"payload")), 40, ICMPV6);
    check_flips(&ipv6(&[], 59, b""), 40, 59);
}

#[test]
fn flips_of_other_forms() {
    let segment = ipv4(&[], TCP, &tcp(0x02, &[2, 4, 5, 0xb4], b""));
    let incremental = Policy {
        incremental: true,
        ..Policy::default()
    };
    check_flips_in(Wrap::Raw(101), &segment, 20, TCP, incremental);
    check_flips_in(
        Wrap::Pppoe { tags: 1 },
        &segment,
        20,
        TCP,
        Policy::default(),
    );
}

#[test]
fn flips_of_a_packet_with_wrong_checksums() {
    let mut ip = ipv4(&[], UDP, &udp(b"payload"));
    ip[10] ^= 1;
    ip[25] ^= 1;
    ip[26] ^= 1;
    check_flips(&ip, 20, UDP);
}

/// What `nat` and `tolerant` leave out may change, and nothing else.
#[test]
fn flips_of_what_a_policy_leaves_out() {
    let policy = Policy {
        nat: true,
        tolerant: true,
        ..Policy::default()
    };
    let ip = ipv4(&[], TCP, &tcp(0x02, &[2, 4, 5, 0xb4], b""));
    let signed = Wrap::Raw(101).around(&ip, &[]).signed(policy);
    let left_out =
        [12..16, 20..22, 42..44].map(|bytes: Range<usize>| bytes.start * 8..bytes.end * 8);
    // AE, CWR, ECE.
    let bits = left_out
        .into_iter()
        .flatten()
        .chain([32 * 8 + 7, 33 * 8, 33 * 8 + 1]);
    let bits: Vec<usize> = bits.collect();
    for bit in (12 * 8..20 * 8).chain(20 * 8..36 * 8).chain(40 * 8..44 * 8) {
        let mut flipped = signed.clone();
        flipped.bytes[bit / 8] ^= 0x80 >> (bit % 8);
        assert_eq!(
            flipped.verify() == Reason::Ok,
            bits.contains(&bit),
            "bit {bit}"
        );
    }
}
