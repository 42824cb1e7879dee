//! The join of xr by its rounds: what the issuer refuses, and that nothing half-done stays.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod common;

use clew_group::xr::{Device, JoinError, JoinRequest};
use clew_group::{MemberKey, PublicKey, Scheme};
use clew_manager::store::{GROUP_FILE, Join};
use clew_manager::{Store, StoreError};
use common::*;
use ed25519_dalek::{Signer, SigningKey};
use std::fs;
use std::sync::mpsc;
use std::time::Duration;

/// A device with its own key, far away from the store.
struct Machine {
    key: SigningKey,
}

impl Machine {
    fn new(seed: u8) -> Self {
        Self {
            key: SigningKey::from_bytes(&[seed; 32]),
        }
    }

    fn public(&self) -> [u8; 32] {
        self.key.verifying_key().to_bytes()
    }
}

fn join<'s, 'i>(
    store: &'s mut Store,
    issuer: &'i clew_manager::keys::IssuerKeyFile,
    name: &str,
    machine: &Machine,
    seed: u64,
) -> Join<'s, 'i> {
    let name = name.parse().unwrap();
    store
        .join(issuer, name, machine.public(), NOW, &mut rng(seed))
        .unwrap()
}

#[test]
fn a_join_by_its_rounds_gives_a_key_that_signs() {
    let mut office = Office::new(Scheme::Xr);
    office.enrol("old");
    office.revoke("old");
    let (machine, genesis) = (Machine::new(1), xr_key(&office.group(), 0));
    let pending = join(&mut office.store, &office.issuer, "far", &machine, 2);
    let (device, request) = Device::new(&genesis, &pending.session(), &mut rng(3));
    // Everything that travels, travels as bytes.
    let request = JoinRequest::from_bytes(&request.to_bytes()).unwrap();
    let offered = pending.offer(&request, &mut rng(4)).unwrap();
    let accepted = device.accept(&genesis, offered.offer()).unwrap();
    let signature = machine.key.sign(&offered.statement()).to_bytes();
    let admitted = offered.admit(signature).unwrap();
    let credential = admitted.commit().unwrap();
    office.store.refresh().unwrap();

    let group = published(&office.dir);
    let member = accepted.finish(&xr_key(&group, 1), &credential).unwrap();
    let (public, id) = (
        group.public_key(1).unwrap().unwrap(),
        group.epoch_id(1).unwrap(),
    );
    assert!(clew_group::SigningKey::new(&public, id, MemberKey::Xr(member)).is_ok());
    let (row, _) = office.candidate("far", 1);
    assert!(row.is_in_register_of(&group));
    assert!(row.entry.check_device(group.id()).is_ok());
    assert_eq!(row.entry.device.unwrap().key, machine.public());
}

#[test]
fn a_request_counts_in_its_own_session_only() {
    let mut office = Office::new(Scheme::Xr);
    let (machine, genesis) = (Machine::new(1), xr_key(&office.group(), 0));
    let first = join(&mut office.store, &office.issuer, "far", &machine, 2);
    let (session, (_, request)) = (
        first.session(),
        Device::new(&genesis, &first.session(), &mut rng(3)),
    );
    drop(first);
    // The same device and name, but the issuer draws another nonce.
    let second = join(&mut office.store, &office.issuer, "far", &machine, 9);
    assert_ne!(second.session(), session);
    let refused = second.offer(&request, &mut rng(4)).err().unwrap();
    assert!(matches!(
        refused,
        StoreError::Join(JoinError::DeviceDoesNotKnowY)
    ));
}

/// Another key's signature, one over another statement, none at all: no place in the register.
#[test]
fn without_the_devices_signature_there_is_no_credential() {
    let mut office = Office::new(Scheme::Xr);
    let (machine, genesis) = (Machine::new(1), xr_key(&office.group(), 0));
    let before = fs::read(office.dir.join(GROUP_FILE)).unwrap();
    for wrong in 0..4 {
        let pending = join(&mut office.store, &office.issuer, "far", &machine, 2);
        let (_, request) = Device::new(&genesis, &pending.session(), &mut rng(3));
        let offered = pending.offer(&request, &mut rng(4)).unwrap();
        let mut statement = offered.statement();
        let signature = match wrong {
            0 => Machine::new(2).key.sign(&statement).to_bytes(),
            1 => {
                statement[40] ^= 1;
                machine.key.sign(&statement).to_bytes()
            }
            2 => machine.key.sign(&[]).to_bytes(),
            _ => [0; 64],
        };
        let refused = offered.admit(signature).err().unwrap();
        assert!(matches!(refused, StoreError::DeviceSignature), "{wrong}");
    }
    nothing_stayed(&mut office, &before);
}

/// Dropped after any of its rounds, a join never happened.
#[test]
fn a_join_that_is_dropped_leaves_nothing() {
    let mut office = Office::new(Scheme::Xr);
    let (machine, genesis) = (Machine::new(1), xr_key(&office.group(), 0));
    let before = fs::read(office.dir.join(GROUP_FILE)).unwrap();
    for round in 0..3 {
        let pending = join(&mut office.store, &office.issuer, "far", &machine, 2);
        if round == 0 {
            continue;
        }
        let (_, request) = Device::new(&genesis, &pending.session(), &mut rng(3));
        let offered = pending.offer(&request, &mut rng(4)).unwrap();
        if round == 1 {
            continue;
        }
        let signature = machine.key.sign(&offered.statement()).to_bytes();
        drop(offered.admit(signature).unwrap());
    }
    nothing_stayed(&mut office, &before);
}

fn nothing_stayed(office: &mut Office, before: &[u8]) {
    let store = Store::open(&office.dir).unwrap();
    assert_eq!(store.machine("far").unwrap(), None);
    assert_eq!(fs::read(office.dir.join(GROUP_FILE)).unwrap(), before);
    let database = fs::read(office.dir.join("issuer/store.db")).unwrap();
    assert!(!database.windows(3).any(|w| w == b"far"));
    office.enrol("next");
    let (row, _) = office.candidate("next", 0);
    assert_eq!(row.entry.index, 0);
    assert!(row.is_in_register_of(&office.group()));
}

#[test]
fn a_device_key_that_anybody_signs_for_is_refused() {
    let mut office = Office::new(Scheme::Xr);
    let genesis = xr_key(&office.group(), 0);
    let mut small_order = [0; 32]; // y = 1: the neutral element
    small_order[0] = 1;
    let name = "weak".parse().unwrap();
    let pending = office
        .store
        .join(&office.issuer, name, small_order, NOW, &mut rng(2))
        .unwrap();
    let (_, request) = Device::new(&genesis, &pending.session(), &mut rng(3));
    let offered = pending.offer(&request, &mut rng(4)).unwrap();
    // R = the neutral element, s = 0: holds for every message unless checked strictly.
    let mut signature = [0; 64];
    signature[0] = 1;
    let refused = offered.admit(signature).err().unwrap();
    assert!(matches!(refused, StoreError::DeviceSignature));
}

#[test]
fn bbs04_groups_have_no_join() {
    let mut office = Office::new(Scheme::Bbs04);
    let name = "x".parse().unwrap();
    let refused = office
        .store
        .join(&office.issuer, name, [1; 32], NOW, &mut rng(1));
    assert!(matches!(refused.err().unwrap(), StoreError::NoJoin));
    assert!(matches!(
        office.group().first_public_key(),
        PublicKey::Bbs04(_)
    ));
}

/// The security argument has joins one after the other: a second one waits for the first.
#[test]
fn joins_run_one_after_the_other() {
    let mut office = Office::new(Scheme::Xr);
    let (dir, issuer_key) = (office.dir.clone(), issuer(&office.dir));
    let machine = Machine::new(1);
    let pending = join(&mut office.store, &office.issuer, "first", &machine, 2);
    let (done, waits) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut store = Store::open(&dir).unwrap();
            enrol(&mut store, &issuer_key, "second");
            done.send(()).unwrap();
        });
        let early = waits.recv_timeout(Duration::from_millis(300));
        assert!(early.is_err(), "the second join did not wait");
        drop(pending);
        waits.recv_timeout(Duration::from_secs(30)).unwrap();
    });
}
