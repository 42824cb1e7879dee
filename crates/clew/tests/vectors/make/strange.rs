//! Group files whose manager signed a register with entries that no reader takes. They end with epoch
//! 0: later records bind the entries.

use clew_evidence::{DeviceEntry, EntryKey, RegisterEntry};
use clew_packet::GroupId;
use ed25519_dalek::{Signer, SigningKey};

use super::bbs04_group::BBS04;
use super::damage::another;
use super::hash;
use super::records::Records;
use super::xr_group::{XR, place, signed_by};

/// Name of the group file of xr.
pub const STRANGE: &str = "xr-strange.txt";

/// And of bbs04: its one entry has A of `web-1` with X of `web-2`.
pub const BBS04_FILE: &str = "bbs04-strange.txt";

/// The first entries, with what is wrong: in each the device did not sign what it says.
pub const DEVICES: [(&str, &str); 7] = [
    ("signature", "S is one bit off."),
    ("stranger", "Another key signed."),
    ("name", "The name is not the one signed."),
    ("commitment", "C is not the one signed."),
    ("how", "How it joined is not what was signed."),
    ("other-group", "The device signed for another group."),
    ("weak-key", "The device key is the neutral point."),
];

/// Entries that devices signed: it joined in epoch 9; it replaces itself; A is another point.
pub const JOINED: usize = 7;
pub const REPLACES: usize = 8;
pub const CREDENTIAL: usize = 9;

pub fn xr() -> Records {
    let signed = |change: &dyn Fn(&mut RegisterEntry)| {
        let mut entry = XR.records.entries[place("web-1")].clone();
        change(&mut entry);
        signed_by(&XR.machine("web-1").device, entry, XR.records.id())
    };
    let mut entries = Vec::from(unsigned());
    entries.push(signed(&|entry| entry.joined = 9));
    entries.push(signed(&|entry| entry.replaces = Some(REPLACES as u32)));
    entries.push(signed(&|entry| {
        entry.credential = another(&entry.credential).try_into().unwrap();
    }));
    Records {
        entries: numbered(entries),
        ..founded(&XR.records)
    }
}

/// The group before its first epoch.
fn founded(records: &Records) -> Records {
    Records {
        epochs: vec![],
        checkpoints: vec![],
        ..records.clone()
    }
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

/// In the order of [`DEVICES`].
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
    };
    [
        changed(&|entry| device(entry).signature[40] ^= 1),
        changed(&stranger),
        changed(&|entry| entry.name = "web-9".parse().unwrap()),
        changed(&commitment),
        changed(&|entry| entry.how = clew_evidence::How::IssuerHost),
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
