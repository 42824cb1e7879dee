//! One test for every reason of sections 3 to 6, named after it, but for marks and replays.

use crate::common::{EPOCH, packets::*, trailers::*};
use clew_packet::{
    Block, GroupTag, Policy, Reason, Saved, SignOutcome, Stripped, Timestamp, Trailer,
};

#[test]
fn ok() {
    assert_eq!(raw(packet()).signed(Policy::default()).verify(), Reason::Ok);
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

/// The second of four packets, with digests of 16 bytes.
fn second_of_four() -> Block<'static> {
    Block::Tree {
        block: clew_tree::Block::new([0; 16], 4, clew_tree::DigestSize::D16).expect("a block"),
        index: 1,
        path: &[0; 32],
    }
}

/// Where index, count, digest size and depth stand behind a body of 336 bytes.
const TREE_INDEX: usize = 336 + 16;

#[test]
fn bad_trailer_length_of_a_block() {
    let tree = emitted(&Trailer {
        block: second_of_four(),
        ..trailer()
    });
    // Digest size and depth stand before the path.
    let sizes = TREE_INDEX + 4;
    for (digest, depth) in [(16, 1), (16, 3), (15, 2), (0, 0), (32, 2)] {
        let mut end = tree.clone();
        end[sizes..sizes + 2].copy_from_slice(&[digest, depth]);
        refused(&end, Reason::BadTrailerLength);
    }
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

/// Well-formed, so that strip and marks know them; only the signature is none.
#[test]
fn windows_and_blocks_are_well_formed() {
    for block in [Block::Window { k: 8, h: &[0; 32] }, second_of_four()] {
        let frame = carrying(132, &emitted(&Trailer { block, ..trailer() }));
        assert_eq!(frame.verify(), Reason::BadEncoding);
        assert_eq!(frame.strip(), (Some(carrying(132, b"")), Stripped::Trailer));
        assert_eq!(frame.sign(Policy::default()).1, SignOutcome::AlreadySigned);
    }
}

#[test]
fn bad_block() {
    let tree = emitted(&Trailer {
        block: second_of_four(),
        ..trailer()
    });
    // Index, count, digest size, depth: beyond the count, no packets, too many, sizes that are
    // none with as many bytes of path, a count with another depth.
    let wrong: [[u8; 6]; 7] = [
        [0, 4, 0, 4, 16, 2],
        [0, 0, 0, 0, 16, 2],
        [0, 1, 4, 1, 16, 2],
        [0, 1, 0, 4, 8, 4],
        [0, 1, 0, 4, 1, 32],
        [0, 1, 0, 2, 16, 2],
        [0, 1, 0, 5, 16, 2],
    ];
    for values in wrong {
        let mut end = tree.clone();
        end[TREE_INDEX..TREE_INDEX + 6].copy_from_slice(&values);
        refused(&end, Reason::BadBlock);
    }
    let window = |k: u16, h: u8| {
        let h = [h; 32];
        let block = Block::Window { k, h: &h };
        emitted(&Trailer { block, ..trailer() })
    };
    for (k, h) in [(0, 0), (1, 7), (1025, 0)] {
        refused(&window(k, h), Reason::BadBlock);
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
    refused(&patched(11, 3), Reason::UnknownScheme);
    // A scheme that is known, whose signature would be shorter.
    refused(&patched(11, 2), Reason::BadTrailerLength);
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
}

/// Of an incremental form the hash comes first: bytes that do not fit it are not looked at further.
#[test]
fn an_incremental_form_is_hashed_before_it_is_decoded() {
    let trailer = Trailer {
        body: &[0; 1104],
        incremental: true,
        ..trailer()
    };
    assert_eq!(
        carrying(132, &emitted(&trailer)).verify(),
        Reason::BadSignature
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
