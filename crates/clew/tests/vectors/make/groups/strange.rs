//! Group files whose manager signed a register with entries that no reader takes. They end with epoch
//! 0: later records bind the entries.

use clew_evidence::{DeviceEntry, EntryKey, RegisterEntry};
use clew_group::curve::{G1, Scalar};
use clew_group::xr::{Generators, MemberKey};
use clew_packet::GroupId;
use ed25519_dalek::{Signer, SigningKey};

use crate::make::damage::another;
use crate::make::groups::bbs04_group::BBS04;
use crate::make::groups::records::{NONCE, Records};
use crate::make::groups::xr_group::{Machine, XR, place, row_rng, vouched_by};
use crate::make::{hash, scalar};

/// Name of the group file of xr.
pub const STRANGE: &str = "xr-strange";

/// And of bbs04: its one entry has A of `web-1` with X of `web-2`.
pub const BBS04_FILE: &str = "bbs04-strange";

/// The first entries, with what is wrong: in each the device did not vouch for what it says.
pub const DEVICES: [(&str, &str); 13] = [
    ("signature", "S is one bit off."),
    ("stranger", "Another key signed."),
    ("name", "The name is not the one signed."),
    ("commitment", "C is not the one signed."),
    ("how", "How it joined is not what was signed."),
    ("other-group", "The device signed for another group."),
    ("weak-key", "The device key is the neutral point."),
    ("proof-c", "c of the proof of y is one bit off."),
    ("proof-s", "s of the proof of y is one bit off."),
    ("proof-statement", "The proof of y is for another statement."),
    ("proof-y", "The proof is of another machine's y."),
    ("copied", "A, C and the proof of web-1 in a row of another device."),
    ("accomplice", "A and C that are computed from B of web-1, for another device: nobody knows y."),
];

/// One of them whose proof of y is wrong, and the one whose x is [`accomplice_x`].
pub const PROOF: usize = 7;
pub const ACCOMPLICE: usize = 12;

/// Entries that devices vouch for: it joined in epoch 9; it replaces itself; A is another point.
pub const JOINED: usize = 13;
pub const REPLACES: usize = 14;
pub const CREDENTIAL: usize = 15;

/// x of the accomplice's row, with which both equations hold for B of `web-1` in epoch 0.
pub fn accomplice_x() -> Scalar {
    scalar("x of an accomplice")
}

pub fn xr() -> Records {
    let Machine { device, key, .. } = XR.machine("web-1");
    let mut entries = Vec::from(unsigned());
    entries.extend(unproved());
    entries.push(vouched(device, key, &|entry| entry.joined = 9));
    entries.push(vouched(device, key, &|entry| {
        entry.replaces = Some(REPLACES as u32);
    }));
    entries.push(vouched(device, key, &|entry| {
        entry.credential = another(&entry.credential).try_into().unwrap();
    }));
    Records { entries: numbered(entries), ..founded(&XR.records) }
}

/// The group before its first epoch.
fn founded(records: &Records) -> Records {
    Records { epochs: vec![], checkpoints: vec![], ..records.clone() }
}

fn numbered(entries: Vec<RegisterEntry>) -> Vec<RegisterEntry> {
    let at = |(index, entry)| RegisterEntry { index, ..entry };
    (0..).zip(entries).map(at).collect()
}

fn device(entry: &mut RegisterEntry) -> &mut DeviceEntry {
    match &mut entry.key {
        EntryKey::Xr(device) => device,
        EntryKey::Bbs04(_) => unreachable!("an entry of xr"),
    }
}

/// The entry of `web-1`, changed; then it is vouched for with these keys.
fn vouched(key: &SigningKey, member: &MemberKey, change: &dyn Fn(&mut RegisterEntry)) -> RegisterEntry {
    let mut entry = XR.records.entries[place("web-1")].clone();
    change(&mut entry);
    device(&mut entry).key = key.verifying_key().to_bytes();
    vouched_by(key, member, &XR.public[0], entry, XR.records.id())
}

/// The last of [`DEVICES`]: S holds, and the proof of y does not.
fn unproved() -> [RegisterEntry; 6] {
    let Machine { device: own, key, .. } = XR.machine("web-1");
    let other = &XR.machine("web-2").key;
    let stranger = SigningKey::from_bytes(&hash(b"another device"));
    let damaged = |at: usize| {
        let mut entry = vouched(own, key, &|_| ());
        device(&mut entry).proof[at] ^= 1;
        entry
    };
    let with_proof_of = |mut entry: RegisterEntry, mut proved: RegisterEntry| {
        device(&mut entry).proof = device(&mut proved).proof;
        entry
    };
    let unchanged = || vouched(own, key, &|_| ());
    let renamed = |entry: &mut RegisterEntry| entry.name = "web-9".parse().unwrap();
    let [a, c] = accomplices_points();
    [
        damaged(31),
        damaged(63),
        with_proof_of(vouched(own, key, &renamed), unchanged()),
        vouched(own, other, &|_| ()),
        with_proof_of(vouched(&stranger, key, &|_| ()), unchanged()),
        vouched(&stranger, other, &|entry| {
            entry.credential = a.to_bytes();
            device(entry).commitment = c.to_bytes();
        }),
    ]
}

/// A and C that fit [`accomplice_x`] and B of `web-1` in epoch 0.
fn accomplices_points() -> [G1; 2] {
    let gamma = Scalar::from_bytes(&XR.issuer.to_bytes()).unwrap();
    let (sum, g1) = (gamma + accomplice_x(), Generators::of(&NONCE).g1);
    let c = XR.base("web-1", 0).mul(&sum) - g1 - *XR.public[0].v();
    let a = (g1 + c).mul(&sum.invert().unwrap());
    assert!(XR.public[0].certifies(&a, &c, &accomplice_x()));
    assert!(XR.public[0].names(&XR.base("web-1", 0), &c, &accomplice_x()));
    [a, c]
}

/// The first of [`DEVICES`]: S does not hold.
fn unsigned() -> [RegisterEntry; 7] {
    let changed = |change: &dyn Fn(&mut RegisterEntry)| {
        let mut entry = XR.records.entries[place("web-1")].clone();
        change(&mut entry);
        entry
    };
    let stranger = |entry: &mut RegisterEntry| {
        let message = entry.statement(XR.records.id());
        let stranger = SigningKey::from_bytes(&hash(b"another device"));
        device(entry).signature = stranger.sign(&message).to_bytes();
    };
    let other_group = |entry: &mut RegisterEntry| {
        let statement = entry.statement(GroupId([9; 16]));
        let signature = XR.machine("web-1").device.sign(&statement).to_bytes();
        device(entry).signature = signature;
    };
    let commitment = |entry: &mut RegisterEntry| {
        let device = device(entry);
        device.commitment = another(&device.commitment).try_into().unwrap();
    };
    // With R the same and s = 0, verification that is not strict says yes.
    let weak = |entry: &mut RegisterEntry| {
        let device = device(entry);
        (device.key, device.signature) = ([0; 32], [0; 64]);
        (device.key[0], device.signature[0]) = (1, 1);
        let statement = entry.statement(XR.records.id());
        let key = &XR.machine("web-1").key;
        let proof = key.prove_y(&XR.public[0], &statement, &mut row_rng(&statement));
        self::device(entry).proof = proof.to_bytes();
    };
    [
        changed(&|entry| device(entry).signature[40] ^= 1),
        changed(&stranger),
        changed(&|entry| entry.name = "web-9".parse().unwrap()),
        changed(&commitment),
        changed(&|entry| entry.how = clew_evidence::KeyOrigin::IssuerHost),
        changed(&other_group),
        changed(&weak),
    ]
}

pub fn bbs04() -> Records {
    let mut records = founded(&BBS04.records);
    let other = records.entries[1].key.clone();
    records.entries.truncate(1);
    records.entries[0].key = other;
    records
}
