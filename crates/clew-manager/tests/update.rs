//! Following a group from epoch to epoch: what a machine checks before it ever signs again.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod common;

use clew_evidence::{Change, EpochRecord, GroupFile, GroupFileError, Origin, Rule, SharingRecord};
use clew_group::curve::{G1, Scalar};
use clew_group::quorum::Sharing;
use clew_group::{EpochId, Scheme, xr};
use clew_manager::keys::{MemberKeyFile, OpeningShare, TrusteeKeyFile};
use clew_manager::trustee::{Case, Desk, TrusteeError};
use clew_manager::update::{UpdateError, update};
use common::*;
use std::path::Path;

fn refused(key: &MemberKeyFile, group: &GroupFile) -> UpdateError {
    update(key, group).unwrap_err()
}

#[test]
fn a_key_follows_any_number_of_epochs_at_once_or_one_by_one() {
    for scheme in BOTH {
        let mut office = Office::new(scheme);
        let first = office.enrol("stays");
        let mut one_by_one = first.clone();
        for victim in ["a", "b", "c"] {
            office.enrol(victim);
            office.revoke(victim);
            one_by_one = update(&one_by_one, &office.group()).unwrap();
        }
        let at_once = update(&first, &office.group()).unwrap();
        assert_eq!((at_once.epoch, at_once.encode()), (3, one_by_one.encode()));
        assert_eq!(
            update(&at_once, &office.group()).unwrap().encode(),
            at_once.encode()
        );
        assert!(Sent::by(&at_once, b"m", 1).verify(&office.group()).is_ok());
    }
}

#[test]
fn other_groups_and_newer_keys_are_refused() {
    for scheme in BOTH {
        let mut office = Office::new(scheme);
        let key = office.enrol("web-1");
        let other = Office::of(scheme, quorum(1, 1), 5).group();
        assert!(matches!(
            refused(&key, &other),
            UpdateError::OtherGroup { .. }
        ));
        office.enrol("web-2");
        let before = office.group();
        office.revoke("web-2");
        let newer = update(&key, &office.group()).unwrap();
        let expected = UpdateError::KeyIsNewer { key: 1, file: 0 };
        assert_eq!(refused(&newer, &before), expected);
    }
}

/// The issuer shows two histories: to one machine that b was revoked, to another that c was.
#[test]
fn a_fork_is_found() {
    for scheme in BOTH {
        let mut office = Office::new(scheme);
        let key = office.enrol("a");
        office.enrol("b");
        office.enrol("c");
        let twin = office.folder.path().join("twin");
        copy_all(&office.dir, &twin);
        let mut other = clew_manager::Store::open(&twin).unwrap();
        other.revoke(&office.issuer, "c", NOW + 1, NOW).unwrap();
        office.revoke("b");
        let here = update(&key, &office.group()).unwrap();
        let there = update(&key, other.group()).unwrap();
        let expected = UpdateError::OtherHistory { epoch: 1 };
        assert_eq!(refused(&here, other.group()), expected);
        assert_eq!(refused(&there, &office.group()), expected);
    }
}

fn copy_all(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_all(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), &to).unwrap();
        }
    }
}

/// Equal public keys under another record, and another public key under the same record.
#[test]
fn the_record_and_the_public_key_both_count() {
    for scheme in BOTH {
        let mut office = Office::new(scheme);
        let key = office.enrol("a");
        let expected = UpdateError::OtherHistory { epoch: 0 };
        let id = EpochId([9; 32]);
        let other_record = MemberKeyFile { id, ..key.clone() };
        assert_eq!(refused(&other_record, &office.group()), expected);
        let public = Office::of(scheme, quorum(1, 1), 5).enrol("x").public;
        let other_key = MemberKeyFile { public, ..key };
        assert_eq!(refused(&other_key, &office.group()), expected);
    }
}

/// Two revocations, and what becomes of the file if their records are left out or exchanged, though
/// the manager signs all of it.
#[test]
fn epochs_come_all_and_in_order() {
    for scheme in BOTH {
        let mut office = Office::new(scheme);
        ["a", "b"]
            .into_iter()
            .for_each(|name| drop(office.enrol(name)));
        office.revoke("a");
        office.revoke("b");
        let [one, two] = <[EpochRecord; 2]>::try_from(office.group().epochs().to_vec()).unwrap();
        let read = |epochs: &[EpochRecord]| GroupFile::from_bytes(&group_file(&office, epochs));
        assert!(read(&[one.clone(), two.clone()]).is_ok());
        assert!(read(std::slice::from_ref(&one)).is_ok());
        let rule = |read: Result<GroupFile, GroupFileError>| read.unwrap_err().rule;
        assert_eq!(rule(read(std::slice::from_ref(&two))), Rule::Epoch);
        assert_eq!(rule(read(&[two.clone(), one.clone()])), Rule::Epoch);
        let renumbered = EpochRecord {
            epoch: 1,
            ..two.clone()
        };
        assert_eq!(rule(read(&[renumbered])), Rule::Chain);
        let earlier = EpochRecord {
            start: one.start,
            ..two
        };
        assert_eq!(rule(read(&[one, earlier])), Rule::Start);
    }
}

/// A group file whose one revocation was doctored by the manager itself.
fn doctored(office: &Office, change: impl FnOnce(Vec<u8>) -> Vec<u8>) -> GroupFile {
    let mut record = office.group().epochs()[0].clone();
    record.change = match record.change {
        Change::XrRevocation(bytes) => {
            let bytes = change(bytes.to_vec());
            Change::XrRevocation(Box::new(bytes.try_into().unwrap()))
        }
        Change::Bbs04Revocation { revocation, w } => {
            let bytes = change([&revocation[..], &w[..]].concat());
            let (revocation, w) = bytes.split_at(272);
            Change::Bbs04Revocation {
                revocation: Box::new(revocation.try_into().unwrap()),
                w: Box::new(w.try_into().unwrap()),
            }
        }
        Change::Sharing(_) => unreachable!("it is a revocation"),
    };
    GroupFile::from_bytes(&group_file(office, &[record])).unwrap()
}

#[test]
fn values_are_checked_whoever_signed_them() {
    for scheme in BOTH {
        let mut office = Office::new(scheme);
        let key = office.enrol("stays");
        office.enrol("goes");
        office.revoke("goes");
        assert!(update(&key, &doctored(&office, |same| same)).is_ok());
        let other = G1::generator().mul(&Scalar::from_u128(5)).to_bytes();
        let bad_key = |bytes: std::ops::Range<usize>| {
            let file = doctored(&office, |mut record| {
                match bytes.len() {
                    48 => record[bytes].copy_from_slice(&other),
                    _ => {
                        let point = clew_group::curve::G2::generator();
                        let point = point.mul(&Scalar::from_u128(5)).to_bytes();
                        record[bytes].copy_from_slice(&point);
                    }
                }
                record
            });
            refused(&key, &file)
        };
        // Every point of the record: g1, and h0 or g2, lift, and w.
        let points = match scheme {
            Scheme::Xr => vec![32..80, 80..128, 128..224],
            Scheme::Bbs04 => vec![32..80, 80..176, 176..272, 272..368],
        };
        for point in points {
            let error = bad_key(point.clone());
            let named = matches!(&error, UpdateError::GroupFile(e) if e.rule == Rule::PublicKey);
            assert!(named, "{scheme} {point:?}: {error}");
        }
        // An x that fits nobody: the public key is good, the member's own result is not.
        let file = doctored(&office, |mut record| {
            record[31] ^= 1;
            record
        });
        assert_eq!(refused(&key, &file), UpdateError::BadUpdate);
        // The x of this machine beside values that revoke another: it is told to stop.
        let own_x = key.key.to_bytes()[48..80].to_vec();
        let file = doctored(&office, |mut record| {
            record[..32].copy_from_slice(&own_x);
            record
        });
        assert_eq!(refused(&key, &file), UpdateError::Revoked { epoch: 1 });
    }
}

/// A group whose epoch 1 brings another opening key, and its trustees' new keys.
fn reopened(office: &Office) -> (GroupFile, Vec<TrusteeKeyFile>) {
    let (group, first) = (office.group(), xr_key(&office.group(), 0));
    let secret = Scalar::from_u128(77);
    let (sharing, shares) = Sharing::deal(first.u(), &secret, quorum(2, 3), &mut rng(8)).unwrap();
    let next: xr::PublicKey = office.xr().reopened(&first, sharing.public());
    let record = EpochRecord {
        epoch: 1,
        previous: group.last_id(),
        start: NOW + 5,
        change: Change::sharing(&next, SharingRecord::xr(Origin::Dealt, &sharing)),
    };
    let file = GroupFile::from_bytes(&group_file(office, &[record])).unwrap();
    let keys = shares.into_iter().map(|share| TrusteeKeyFile {
        group: group.id(),
        since: 1,
        share: OpeningShare::Xr(share),
    });
    (file, keys.collect())
}

#[test]
fn a_new_opening_key_leaves_member_keys_as_they_are() {
    let mut office = Office::new(Scheme::Xr);
    let old = office.enrol("web-1");
    let (group, trustees) = reopened(&office);
    let new = update(&old, &group).unwrap();
    assert_eq!((new.epoch, new.key.to_bytes()), (1, old.key.to_bytes()));
    assert_ne!(new.public, old.public);
    let packets = [Sent::by(&old, b"m", 1), Sent::by(&new, b"m", 2)];
    for (epoch, sent) in (0..).zip(&packets) {
        assert!(sent.verify(&group).is_ok());
        let request = sent.opening(&group);
        // The keys of before, and those of the new sharing: each opens its own epochs only.
        for (since, key) in [(0, &office.trustee(1)), (1, &trustees[0])] {
            let packet = sent.packet();
            let case = Case {
                group: &group,
                request: &request,
                packet: &packet,
            };
            let path = office.folder.path().join(format!("{since}.key"));
            let share = Desk::new(key, &path).open(case, NOW, &mut rng(3));
            match share {
                Ok(_) => assert_eq!(since, epoch),
                Err(TrusteeError::OtherSharing { key, packet }) => {
                    assert_eq!((key, packet), (since, epoch));
                    assert_ne!(since, epoch);
                }
                Err(error) => unreachable!("{error}"),
            }
        }
    }
}
