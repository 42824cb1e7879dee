//! Valid files of both schemes, and one broken file per rule of `spec/group-file.md` section 3.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod common;

use clew_evidence::{
    Change, GroupChange, GroupFile, GroupFileError, HEADER, MAX_PART_BYTES, Origin, Rule, seal,
};
use clew_group::PublicKey;
use clew_group::curve::G1;
use common::{BBS04, World, XR};
use ed25519_dalek::SigningKey;
use proptest::prelude::*;

fn worlds() -> [&'static World; 2] {
    [&BBS04, &XR]
}

fn refused(bytes: &[u8]) -> (usize, Rule) {
    let GroupFileError { part, rule } = GroupFile::from_bytes(bytes).unwrap_err();
    (part, rule)
}

#[test]
fn a_good_file_says_who_and_when() {
    for world in worlds() {
        let group = GroupFile::from_bytes(&world.file()).unwrap();
        assert_eq!(group.genesis(), &world.genesis);
        assert_eq!(group.scheme(), world.genesis.scheme);
        assert_eq!(group.id().0, world.genesis.epoch_id().0[..16]);
        assert_eq!(group.epochs(), world.epochs);
        assert_eq!(group.newest_epoch(), 3);
        assert_eq!((group.start(0), group.start(4)), (None, None));
        assert_eq!(group.start(2), Some(world.epochs[1].start));
        assert_eq!(group.register(), &world.register);
    }
}

#[test]
fn every_epoch_has_its_id_and_its_key() {
    for world in worlds() {
        let group = &world.group;
        let ids = world.epochs.iter().map(|record| record.epoch_id());
        for (epoch, id) in (0..).zip([world.genesis.epoch_id()].into_iter().chain(ids)) {
            assert_eq!(group.epoch_id(epoch), Some(id));
            assert_eq!(group.epoch_of(&id), Some(epoch));
            let key = group.public_key(epoch).unwrap().unwrap();
            assert_eq!(key, world.keys[epoch as usize], "epoch {epoch}");
        }
        assert_eq!(group.last_id(), world.epochs[2].epoch_id());
        assert!(group.epoch_id(4).is_none() && group.epoch_id(u32::MAX).is_none());
        assert!(group.public_key(4).is_none() && group.public_key(u32::MAX).is_none());
        assert!(group.sharing(4).is_none() && group.change(0).is_none());
    }
}

#[test]
fn sharings_count_from_their_epoch_on() {
    let since = |epoch| {
        let sharing = XR.group.sharing(epoch).unwrap().unwrap();
        (sharing.since, sharing.origin, sharing.quorum.trustees())
    };
    assert_eq!(since(0), (0, Origin::Dealt, 3));
    assert_eq!(since(1), (0, Origin::Dealt, 3));
    assert_eq!(since(2), (2, Origin::Distributed, 4));
    assert_eq!(since(3), (2, Origin::Distributed, 4));
    for world in worlds() {
        let sharing = world.group.sharing(3).unwrap().unwrap();
        assert_eq!(sharing.parts, world.sharings);
    }
}

#[test]
fn changes_are_what_member_keys_follow() {
    for world in worlds() {
        let changes = (1..=3).map(|epoch| world.group.change(epoch).unwrap().unwrap());
        let changes: Vec<GroupChange> = changes.collect();
        let sharings = changes
            .iter()
            .filter(|c| **c == GroupChange::Sharing)
            .count();
        let is_xr = matches!(world.keys[0], PublicKey::Xr(_));
        assert_eq!(sharings, usize::from(is_xr));
        assert_eq!(world.group.revoked_until(0), vec![]);
        assert_eq!(world.group.revoked_until(3).len(), 3 - sharings);
    }
}

#[test]
fn revocations_are_found_in_the_file() {
    for world in worlds() {
        let [honest, revoked] = &world.entries[..] else {
            panic!("two machines");
        };
        assert_eq!(world.group.revoked_in(honest), None);
        assert_eq!(world.group.revoked_in(revoked), Some(3));
    }
}

#[test]
fn header() {
    assert_eq!(refused(b""), (0, Rule::Header));
    assert_eq!(refused(b"clew-group-file\r"), (0, Rule::Header));
}

#[test]
fn truncated() {
    for world in worlds() {
        let good = world.file();
        let start = HEADER.len();
        for cut in [start, start + 3, start + 100, good.len() - 1] {
            assert_eq!(refused(&good[..cut]).1, Rule::Truncated, "cut at {cut}");
        }
        let without_register = world.file_of(&world.bodies_of_file()[..4]);
        assert_eq!(refused(&without_register), (4, Rule::Truncated));
    }
}

#[test]
fn too_long() {
    let mut bytes = HEADER.to_vec();
    bytes.extend((MAX_PART_BYTES as u32 + 1).to_be_bytes());
    assert_eq!(refused(&bytes), (0, Rule::TooLong));
}

#[test]
fn kind() {
    let all = XR.bodies_of_file();
    let file = |bodies: &[Vec<u8>]| XR.file_of(bodies);
    assert_eq!(refused(&file(&all[1..])), (0, Rule::Kind));
    let again = [all[0].clone(), all[0].clone(), all[4].clone()];
    assert_eq!(refused(&file(&again)), (1, Rule::Kind));
    assert_eq!(refused(&file(&[all[0].clone(), vec![9]])), (1, Rule::Kind));
    assert_eq!(refused(&file(&[all[0].clone(), vec![]])), (1, Rule::Kind));
}

#[test]
fn trailing_bytes() {
    let mut all = XR.bodies_of_file();
    all.push(all[4].clone());
    assert_eq!(refused(&XR.file_of(&all)), (5, Rule::TrailingBytes));
}

#[test]
fn layout_lengths() {
    for world in worlds() {
        for part in 0..5 {
            for longer in [true, false] {
                let mut all = world.bodies_of_file();
                let length = all[part].len();
                all[part].resize(if longer { length + 1 } else { length - 1 }, 0);
                assert_eq!(refused(&world.file_of(&all)), (part, Rule::Layout));
            }
        }
    }
}

#[test]
fn layout_values() {
    // Scheme, log, length and first byte of the name.
    for at in [1, 74, 75, 76] {
        for world in worlds() {
            let mut all = world.bodies_of_file();
            all[0][at] = 3 * u8::from(at < 76);
            assert_eq!(
                refused(&world.file_of(&all)),
                (0, Rule::Layout),
                "byte {at}"
            );
        }
    }
    // Origin, threshold and trustees, in front of the commitments.
    for world in worlds() {
        let sharing = world.genesis.encode().len() - world.genesis.sharing.commitments.len() - 3;
        for (at, value) in [(0, 0), (0, 3), (1, 0), (1, 4), (2, 1), (2, 33)] {
            let mut all = world.bodies_of_file();
            all[0][sharing + at] = value;
            let found = refused(&world.file_of(&all));
            assert_eq!(found, (0, Rule::Layout), "{at}: {value}");
        }
    }
    // An epoch's change; distributed and new opening keys are of xr only.
    let change = 1 + 4 + 32 + 8;
    for value in [0, 2, 3] {
        let mut all = BBS04.bodies_of_file();
        all[1][change] = value;
        assert_eq!(refused(&BBS04.file_of(&all)), (1, Rule::Layout));
    }
    let distributed = BBS04.with(|g, _| g.sharing.origin = Origin::Distributed);
    assert_eq!(refused(&distributed), (0, Rule::Layout));
    let foreign = BBS04.with(|_, e| e[1].change = XR.epochs[1].change.clone());
    assert_eq!(refused(&foreign), (2, Rule::Layout));
}

#[test]
fn layout_comes_before_signatures() {
    let mut bytes = XR.file();
    let manager = HEADER.len() + 4 + 42;
    bytes[manager] ^= 1;
    assert_eq!(refused(&bytes), (0, Rule::Signature));
    let at = bytes.len() - 64 - 77 - 4;
    bytes[at + 3] -= 1;
    bytes.remove(at + 4 + 76);
    assert_eq!(refused(&bytes), (4, Rule::Layout));
}

#[test]
fn signature() {
    for world in worlds() {
        let (good, mut at) = (world.file(), HEADER.len());
        for (i, body) in world.bodies_of_file().iter().enumerate() {
            at += 4 + body.len() + 64;
            let mut bytes = good.clone();
            bytes[at - 1] ^= 0x10;
            assert_eq!(refused(&bytes), (i, Rule::Signature));
        }
    }
    let stranger = seal(&XR.bodies_of_file()[4], &SigningKey::from_bytes(&[6; 32]));
    let mut forged = XR.file_of(&XR.bodies_of_file()[..4]);
    forged.extend(stranger);
    assert_eq!(refused(&forged), (4, Rule::Signature));
    let weak = XR.with(|g, _| g.manager = [0; 32]);
    assert_eq!(refused(&weak), (0, Rule::Signature));
}

#[test]
fn epoch() {
    let wrong = XR.with(|_, e| e[1].epoch = 3);
    assert_eq!(refused(&wrong), (2, Rule::Epoch));
}

#[test]
fn chain() {
    let mut all = XR.bodies_of_file();
    all[2][5] ^= 1;
    assert_eq!(refused(&XR.file_of(&all)), (2, Rule::Chain));
    let mut all = XR.bodies_of_file();
    all.remove(3); // the register still names the epoch that was cut away
    assert_eq!(refused(&XR.file_of(&all)), (3, Rule::Chain));
}

#[test]
fn start() {
    let same = XR.with(|_, e| e[1].start = e[0].start);
    assert_eq!(refused(&same), (2, Rule::Start));
    let zero = XR.with(|_, e| e[0].start = 0);
    assert_eq!(refused(&zero), (1, Rule::Start));
}

#[test]
fn first_public_key() {
    for world in worlds() {
        let other_nonce = world.with(|g, _| g.nonce[0] ^= 1);
        assert_eq!(refused(&other_nonce), (0, Rule::PublicKey));
        let later_key = world.with(|g, _| g.public_key = world.keys[1].to_bytes());
        assert_eq!(refused(&later_key), (0, Rule::PublicKey));
        let off_curve = world.with(|g, _| g.public_key[47] ^= 1);
        assert_eq!(refused(&off_curve), (0, Rule::PublicKey));
    }
    let unproven = XR.with(|g, _| g.issuer_proof.as_mut().unwrap()[63] ^= 1);
    assert_eq!(refused(&unproven), (0, Rule::PublicKey));
}

fn public_key_refused(file: &[u8], epoch: u32) {
    let group = GroupFile::from_bytes(file).unwrap();
    let error = group.public_key(epoch).unwrap().unwrap_err();
    assert_eq!((error.part, error.rule), (epoch as usize, Rule::PublicKey));
}

#[test]
fn later_public_key() {
    let stray = BBS04.with(|_, e| {
        let Change::Bbs04Revocation { w: other, .. } = e[1].change.clone() else {
            panic!("a revocation");
        };
        if let Change::Bbs04Revocation { w, .. } = &mut e[0].change {
            *w = other;
        }
    });
    public_key_refused(&stray, 1);
    let stray = XR.with(|_, e| {
        if let Change::XrRevocation(revocation) = &mut e[0].change {
            revocation[32..80].copy_from_slice(&G1::generator().to_bytes());
        }
    });
    public_key_refused(&stray, 1);
    public_key_refused(&stray, 2);
    let stray = XR.with(|_, e| {
        if let Change::Sharing(new) = &mut e[1].change {
            new.h_w = G1::generator().to_bytes();
        }
    });
    assert!(
        GroupFile::from_bytes(&stray)
            .unwrap()
            .public_key(1)
            .unwrap()
            .is_ok()
    );
    public_key_refused(&stray, 2);
    public_key_refused(&stray, 3);
}

#[test]
fn sharing() {
    let broken = |file: &[u8], epoch: u32| {
        let group = GroupFile::from_bytes(file).unwrap();
        let error = group.sharing(epoch).unwrap().unwrap_err();
        (error.part, error.rule)
    };
    for world in worlds() {
        let file = world.with(|g, _| g.sharing.commitments[47] ^= 1);
        assert_eq!(broken(&file, 1), (0, Rule::Sharing));
    }
    let file = XR.with(|_, e| {
        if let Change::Sharing(new) = &mut e[1].change {
            new.sharing.commitments[47] ^= 1;
        }
    });
    assert_eq!(broken(&file, 3), (2, Rule::Sharing));
}

#[test]
fn errors_name_rule_and_part() {
    let error = GroupFile::from_bytes(&XR.with(|_, e| e[1].epoch = 3)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "epochs do not count up by one (part 2, rule epoch)"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_flipped_bit_is_found(at in any::<prop::sample::Index>(), bit in 0u8..8, xr: bool) {
        let world = if xr { &XR } else { &BBS04 };
        let mut bytes = world.file();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        prop_assert!(GroupFile::from_bytes(&bytes).is_err());
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in any::<Vec<u8>>(), with_header in any::<bool>()) {
        let bytes = if with_header { [HEADER.as_slice(), &bytes].concat() } else { bytes };
        prop_assert!(GroupFile::from_bytes(&bytes).is_err());
    }
}
