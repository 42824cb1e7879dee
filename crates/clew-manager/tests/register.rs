//! The register: every row proves itself, and credentials go to members only.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod common;

use clew_evidence::{RegisterLine, RegisterReader, Row, register_file_header};
use clew_group::Scheme;
use clew_group::curve::G1;
use clew_manager::StoreError;
use common::*;

/// Every line of the register in an epoch.
fn lines(office: &Office, epoch: u32) -> Vec<RegisterLine> {
    let lines = office.store.lines(&office.issuer, epoch).unwrap();
    let mut all = Vec::new();
    let each = |machine| -> Result<(), StoreError> {
        all.push(lines.line(&machine)?);
        Ok(())
    };
    office.store.machines(each).unwrap();
    all
}

#[test]
fn every_row_holds_for_every_size_of_the_register() {
    for scheme in BOTH {
        let mut office = Office::new(scheme);
        let mut older: Vec<Row> = Vec::new();
        for machines in 1..=20 {
            office.enrol(&format!("m-{machines}"));
            let group = published(&office.dir);
            let lines = lines(&office, 0);
            assert_eq!(lines.len(), machines);
            for (index, line) in (0..).zip(&lines) {
                assert_eq!(line.row.entry.index, index);
                assert!(line.row.is_in_register_of(&group), "{index} of {machines}");
                let read = Row::decode(scheme, &line.row.encode());
                assert_eq!(read.as_ref(), Some(&line.row));
            }
            older.push(lines[machines / 2].row.clone());
        }
        let group = office.group();
        assert!(
            older.iter().all(|row| row.is_in_register_of(&group)),
            "older heads still count"
        );
        let mut moved = older[7].clone();
        moved.entry.index ^= 1;
        assert!(!moved.is_in_register_of(&group));
        let other = Office::of(scheme, quorum(1, 1), 2).group();
        assert!(!older[7].is_in_register_of(&other));
    }
}

#[test]
fn register_files_are_read_back() {
    for scheme in BOTH {
        let mut office = Office::new(scheme);
        (0..5).for_each(|i| drop(office.enrol(&format!("m-{i}"))));
        office.revoke("m-1");
        let written = lines(&office, 1);
        let mut bytes = register_file_header(office.group().id(), 1);
        bytes.extend(written.iter().flat_map(RegisterLine::encode));
        let mut reader = RegisterReader::new(scheme);
        let mut read = Vec::new();
        let mut header = None;
        for piece in bytes.chunks(100) {
            reader.push(piece);
            header = header.or(reader.header().unwrap());
            if header.is_some() {
                while let Some(line) = reader.line().unwrap() {
                    read.push(line);
                }
            }
        }
        reader.finish().unwrap();
        assert_eq!(header, Some((office.group().id(), 1)));
        assert_eq!(read, written);
        for line in read {
            let found = office.store.find(&line.tag).unwrap().unwrap();
            assert_eq!(found.entry, line.row.entry);
        }
    }
}

/// Machines by epoch of joining and of revocation: a (0, never), b (0, 1), c (1, never), d (1, 2).
fn history(scheme: Scheme) -> Office {
    let mut office = Office::new(scheme);
    for name in ["a", "b"] {
        office.enrol(name);
    }
    office.revoke("b");
    for name in ["c", "d"] {
        office.enrol(name);
    }
    office.revoke("d");
    office
}

#[test]
fn credentials_are_those_of_members_in_that_epoch() {
    let office = history(Scheme::Xr);
    let members = [(0, "ab"), (1, "acd"), (2, "ac")];
    for (epoch, names) in members {
        let public = xr_key(&office.group(), epoch);
        for line in lines(&office, epoch) {
            let entry = &line.row.entry;
            let is_member = names.contains(entry.name.as_str());
            assert_eq!(
                line.credential.is_some(),
                is_member,
                "{} in epoch {epoch}",
                entry.name
            );
            if let Some(credential) = line.credential {
                let a_0 = G1::from_bytes(&entry.credential).unwrap();
                let a = G1::from_bytes(&credential).unwrap();
                assert!(public.names(&a, &a_0));
                assert_eq!(a == a_0, epoch == 0);
                assert_eq!(public.tag(&a), line.tag);
            }
        }
    }
}

/// With bbs04 whoever had a machine's credential could not sign, but nothing needs one either.
#[test]
fn bbs04_lines_have_no_credentials() {
    let office = history(Scheme::Bbs04);
    for epoch in 0..=2 {
        assert!(
            lines(&office, epoch)
                .iter()
                .all(|line| line.credential.is_none())
        );
    }
}

/// The member's own key and the issuer's line agree in every epoch that the machine lived through.
#[test]
fn the_issuers_credential_is_the_machines_own() {
    let mut office = Office::new(Scheme::Xr);
    let mut key = office.enrol("a");
    for victim in ["b", "c", "d"] {
        office.enrol(victim);
        let epoch = office.revoke(victim);
        key = clew_manager::update::update(&key, &office.group()).unwrap();
        let (_, credential) = office.candidate("a", epoch);
        assert_eq!(credential.to_bytes(), key.key.to_bytes()[..48]);
    }
}

/// Nothing of the issuer's helps a revoked machine along: no line, no name a second time.
#[test]
fn a_revoked_machine_gets_nothing_again() {
    for scheme in BOTH {
        let mut office = Office::new(scheme);
        let key = office.enrol("web-1");
        office.revoke("web-1");
        let again = office
            .store
            .enrol(&office.issuer, "web-1".parse().unwrap(), NOW, &mut rng(3));
        assert!(matches!(again.err().unwrap(), StoreError::NameTaken(_)));
        let [line] = &lines(&office, 1)[..] else {
            unreachable!("one machine is enrolled")
        };
        assert_eq!(line.credential, None);
        // With the new public key and the old member key: the member's check stops it.
        let group = office.group();
        let (public, id) = (
            group.public_key(1).unwrap().unwrap(),
            group.epoch_id(1).unwrap(),
        );
        assert!(clew_group::SigningKey::new(&public, id, key.key.clone()).is_err());
    }
}

#[test]
fn credentials_take_the_issuer_key_of_the_group() {
    let office = history(Scheme::Xr);
    let stranger = Office::of(Scheme::Xr, quorum(1, 1), 5);
    let refused = office.store.lines(&stranger.issuer, 0).err().unwrap();
    assert!(matches!(refused, StoreError::OtherGroupsKey));
}
