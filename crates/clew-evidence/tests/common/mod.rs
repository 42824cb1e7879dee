//! One group of either scheme, with two machines and everything that happens to them.
//!
//! | epoch | change |
//! |---|---|
//! | 0 | 2 of 3 trustees; machines 0 and 1 join |
//! | 1 | machine 2, which nobody hears of again, is revoked |
//! | 2 | `xr`: a new opening key, 2 of 4; `bbs04`: another machine is revoked |
//! | 3 | machine 1 is revoked |

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "helpers of tests fail the test, and not every test needs all"
)]

pub mod evidence;

use clew_evidence::{
    Change, DeviceEntry, EpochRecord, Genesis, GroupFile, HEADER, Name, Origin, Packet, Proof,
    RegisterEntry, RegisterHead, Row, SharingRecord, appended_nodes, inclusion, root, seal,
};
use clew_group::curve::{G1, Scalar};
use clew_group::quorum::{Quorum, SecretShare, Sharing};
use clew_group::{EpochId, MemberKey, PublicKey, Scheme, SigningKey, bbs04, xr};
use ed25519_dalek::{Signer, SigningKey as DeviceKey};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::collections::HashMap;
use std::sync::LazyLock;

pub const NONCE: [u8; 32] = [9; 32];
pub const MESSAGE: &[u8] = b"the message of a packet";

/// The machines that join, and the one that is revoked after the packets were signed.
pub const MACHINES: usize = 2;
pub const REVOKED: usize = 1;

/// Epoch of the packets.
pub const EPOCH: u32 = 2;

pub struct World {
    pub manager: DeviceKey,
    pub genesis: Genesis,
    pub epochs: Vec<EpochRecord>,
    pub register: RegisterHead,
    pub keys: Vec<PublicKey>,
    pub entries: Vec<RegisterEntry>,
    pub group: GroupFile,
    /// Of the packets' epoch: one sharing and its shares per secret.
    pub sharings: Vec<Sharing>,
    pub shares: Vec<Vec<SecretShare>>,
    /// Each machine's A in the packets' epoch, and a signature by it.
    pub credentials: Vec<G1>,
    pub bodies: Vec<Vec<u8>>,
    /// The one entry of a register that the manager signed and that is not this group's history.
    nodes: HashMap<(u32, u32), [u8; 32]>,
}

pub static XR: LazyLock<World> = LazyLock::new(|| World::new(Scheme::Xr));
pub static BBS04: LazyLock<World> = LazyLock::new(|| World::new(Scheme::Bbs04));

pub fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// The issuer's secret and what members have, by the equations and not by the issuer's code.
struct Issuer {
    gamma: Scalar,
    first: PublicKey,
    revoked: Vec<Scalar>,
}

fn secret_x(machine: usize) -> Scalar {
    Scalar::from_u128(1000 + machine as u128)
}

fn secret_y(machine: usize) -> Scalar {
    Scalar::from_u128(2000 + machine as u128)
}

fn device_key(machine: usize) -> DeviceKey {
    DeviceKey::from_bytes(&[100 + machine as u8; 32])
}

impl Issuer {
    /// C_0 of a machine.
    fn commitment(&self, machine: usize) -> G1 {
        G1::from_bytes(&self.first.to_bytes()[48..96])
            .unwrap()
            .mul(&secret_y(machine))
    }

    fn first_credential(&self, machine: usize) -> G1 {
        let g1 = G1::from_bytes(&self.first.to_bytes()[..48]).unwrap();
        let certified = match self.first {
            PublicKey::Bbs04(_) => g1,
            PublicKey::Xr(_) => g1 + self.commitment(machine),
        };
        certified.mul(&(self.gamma + secret_x(machine)).invert().unwrap())
    }

    /// A after the revocations so far.
    fn credential(&self, machine: usize) -> G1 {
        let scale = |a: G1, x: &Scalar| a.mul(&(self.gamma + *x).invert().unwrap());
        self.revoked
            .iter()
            .fold(self.first_credential(machine), scale)
    }

    fn member_key(&self, machine: usize) -> MemberKey {
        let (a, x) = (
            self.credential(machine).to_bytes(),
            secret_x(machine).to_bytes(),
        );
        let y = secret_y(machine).to_bytes();
        match self.first {
            PublicKey::Bbs04(_) => MemberKey::from_bytes(Scheme::Bbs04, &[&a[..], &x].concat()),
            PublicKey::Xr(_) => MemberKey::from_bytes(Scheme::Xr, &[&a[..], &x, &y].concat()),
        }
        .unwrap()
    }

    fn entry(&self, machine: usize, group: clew_evidence::GroupId) -> RegisterEntry {
        let key = device_key(machine);
        let device = matches!(self.first, PublicKey::Xr(_)).then(|| DeviceEntry {
            commitment: self.commitment(machine).to_bytes(),
            key: key.verifying_key().to_bytes(),
            signature: [0; 64],
        });
        let mut entry = RegisterEntry {
            index: machine as u32,
            joined: 0,
            credential: self.first_credential(machine).to_bytes(),
            name: format!("web-{machine}").parse::<Name>().unwrap(),
            device,
        };
        resign(&mut entry, group, &key);
        entry
    }

    /// Revokes, and gives the next key and the record's change.
    fn revoke(&mut self, key: &PublicKey, machine: usize) -> (PublicKey, Change) {
        let x = secret_x(machine);
        self.revoked.push(x);
        match key {
            PublicKey::Bbs04(key) => {
                let issuer = bbs04::IssuerKey::from_bytes(&self.gamma.to_bytes()).unwrap();
                let revocation = issuer.revoke(key, x).unwrap();
                let next = key.after(&revocation).unwrap();
                let change = Change::revocation_bbs04(&revocation, &next);
                (PublicKey::Bbs04(next), change)
            }
            PublicKey::Xr(key) => {
                let issuer = xr::IssuerKey::from_bytes(&self.gamma.to_bytes()).unwrap();
                let revocation = issuer.revoke(key, &x).unwrap();
                let next = key.after(&revocation).unwrap();
                (PublicKey::Xr(next), Change::revocation_xr(&revocation))
            }
        }
    }
}

/// Has the device sign the entry as it stands.
pub fn resign(entry: &mut RegisterEntry, group: clew_evidence::GroupId, key: &DeviceKey) {
    let signature = key.sign(&entry.statement(group)).to_bytes();
    if let Some(device) = &mut entry.device {
        device.signature = signature;
    }
}

impl World {
    fn new(scheme: Scheme) -> Self {
        let mut rng = rng(7);
        let manager = DeviceKey::from_bytes(&[5; 32]);
        let gamma = Scalar::random(&mut rng);
        let (first, proof, record, mut sharings, mut shares) = match scheme {
            Scheme::Bbs04 => found_bbs04(&gamma, &mut rng),
            Scheme::Xr => found_xr(&gamma, &mut rng),
        };
        let genesis = Genesis {
            scheme,
            created: 1_700_000_000_000_000_000,
            nonce: NONCE,
            manager: manager.verifying_key().to_bytes(),
            name: "acme".parse().unwrap(),
            public_key: first.to_bytes(),
            issuer_proof: proof,
            sharing: record,
        };
        let mut issuer = Issuer {
            gamma,
            first: first.clone(),
            revoked: vec![],
        };
        let (mut keys, mut epochs) = (vec![first], vec![]);
        let (mut credentials, mut bodies) = (vec![], vec![]);
        let mut previous = genesis.epoch_id();
        for epoch in 1..=3u32 {
            let before = keys.last().unwrap().clone();
            let (key, change) = match (epoch, &before) {
                (2, PublicKey::Xr(before)) => {
                    let (key, change, sharing, new) = reopen(&gamma, before, &mut rng);
                    (sharings, shares) = (vec![sharing], vec![new]);
                    (PublicKey::Xr(key), change)
                }
                (2, _) => issuer.revoke(&before, 3),
                (1, _) => issuer.revoke(&before, 2),
                _ => issuer.revoke(&before, REVOKED),
            };
            let record = EpochRecord {
                epoch,
                previous,
                start: 1_800_000_000_000_000_000 + u64::from(epoch),
                change,
            };
            previous = record.epoch_id();
            if epoch == EPOCH {
                for machine in 0..MACHINES {
                    let member = issuer.member_key(machine);
                    credentials.push(issuer.credential(machine));
                    bodies.push(sign(&key, previous, member, &mut rng));
                }
            }
            epochs.push(record);
            keys.push(key);
        }
        let entries = (0..MACHINES).map(|i| issuer.entry(i, genesis.group_id()));
        let entries: Vec<RegisterEntry> = entries.collect();
        let nodes = tree(&entries);
        let register = head(&nodes, entries.len() as u32, previous);
        let file = file(&manager, &genesis, &epochs, &register);
        Self {
            group: GroupFile::from_bytes(&file).unwrap(),
            manager,
            genesis,
            epochs,
            register,
            keys,
            entries,
            sharings,
            shares,
            credentials,
            bodies,
            nodes,
        }
    }

    /// The packet that a machine signed.
    pub fn packet(&self, machine: usize) -> Packet<'_> {
        Packet {
            epoch: EPOCH,
            message: MESSAGE,
            body: &self.bodies[machine],
        }
    }

    pub fn row(&self, machine: usize) -> Row {
        let index = machine as u32;
        let node = |level, index| self.nodes.get(&(level, index)).copied();
        let hashes = inclusion(index, self.register.machines, node).unwrap();
        let head = self.register.clone().seal(&self.manager);
        Row {
            entry: self.entries[machine].clone(),
            proof: Proof { hashes, head },
        }
    }

    /// A row for any entry, in a register of its own that the manager signed for some epoch.
    pub fn lone_row(&self, entry: RegisterEntry, last: EpochId) -> Row {
        let entry = RegisterEntry { index: 0, ..entry };
        let register = head(&tree(std::slice::from_ref(&entry)), 1, last);
        let head = register.seal(&self.manager);
        let hashes = vec![];
        Row {
            entry,
            proof: Proof { hashes, head },
        }
    }

    pub fn device_key(&self, machine: usize) -> DeviceKey {
        device_key(machine)
    }

    /// The bodies of the file, the genesis first and the register last.
    pub fn bodies_of_file(&self) -> Vec<Vec<u8>> {
        let epochs = self.epochs.iter().map(EpochRecord::encode);
        let all = std::iter::once(self.genesis.encode()).chain(epochs);
        all.chain([self.register.encode()]).collect()
    }

    pub fn file(&self) -> Vec<u8> {
        file(&self.manager, &self.genesis, &self.epochs, &self.register)
    }

    pub fn file_of(&self, bodies: &[Vec<u8>]) -> Vec<u8> {
        let parts = bodies.iter().flat_map(|body| seal(body, &self.manager));
        HEADER.iter().copied().chain(parts).collect()
    }

    /// The file with other records, the chain made to fit again.
    pub fn with(&self, change: impl FnOnce(&mut Genesis, &mut Vec<EpochRecord>)) -> Vec<u8> {
        let (mut genesis, mut epochs) = (self.genesis.clone(), self.epochs.clone());
        change(&mut genesis, &mut epochs);
        let mut last = genesis.epoch_id();
        for epoch in &mut epochs {
            epoch.previous = last;
            last = epoch.epoch_id();
        }
        let register = RegisterHead {
            last,
            ..self.register.clone()
        };
        file(&self.manager, &genesis, &epochs, &register)
    }
}

type Founded = (
    PublicKey,
    Option<[u8; 64]>,
    SharingRecord,
    Vec<Sharing>,
    Vec<Vec<SecretShare>>,
);

fn found_xr(gamma: &Scalar, rng: &mut ChaCha20Rng) -> Founded {
    let issuer = xr::IssuerKey::from_bytes(&gamma.to_bytes()).unwrap();
    let (u, xi) = (xr::Generators::of(&NONCE).u, Scalar::random(rng));
    let quorum = Quorum::new(2, 3).unwrap();
    let (sharing, shares) = Sharing::deal(&u, &xi, quorum, rng).unwrap();
    let (key, proof) = issuer.found(&NONCE, sharing.public(), rng);
    let record = SharingRecord::xr(Origin::Dealt, &sharing);
    let proof = Some(proof.to_bytes());
    (
        PublicKey::Xr(key),
        proof,
        record,
        vec![sharing],
        vec![shares],
    )
}

fn found_bbs04(gamma: &Scalar, rng: &mut ChaCha20Rng) -> Founded {
    let issuer = bbs04::IssuerKey::from_bytes(&gamma.to_bytes()).unwrap();
    let (opener, opening) = bbs04::OpenerKey::generate(&NONCE, rng);
    let key = bbs04::PublicKey::genesis(&opening, &issuer.issuing());
    let quorum = Quorum::new(2, 3).unwrap();
    let (sharings, shares) = opener.deal(&key, quorum, rng).unwrap();
    let record = SharingRecord::bbs04(&sharings);
    (
        PublicKey::Bbs04(key),
        None,
        record,
        sharings.to_vec(),
        shares.to_vec(),
    )
}

/// A new opening key, 2 of 4. It says that it is distributed, which nobody can tell from it.
fn reopen(
    gamma: &Scalar,
    key: &xr::PublicKey,
    rng: &mut ChaCha20Rng,
) -> (xr::PublicKey, Change, Sharing, Vec<SecretShare>) {
    let issuer = xr::IssuerKey::from_bytes(&gamma.to_bytes()).unwrap();
    let quorum = Quorum::new(2, 4).unwrap();
    let (sharing, shares) = Sharing::deal(key.u(), &Scalar::random(rng), quorum, rng).unwrap();
    let next = issuer.reopened(key, sharing.public());
    let change = Change::sharing(&next, SharingRecord::xr(Origin::Distributed, &sharing));
    (next, change, sharing, shares)
}

fn sign(key: &PublicKey, id: EpochId, member: MemberKey, rng: &mut ChaCha20Rng) -> Vec<u8> {
    let signer = SigningKey::new(key, id, member).unwrap();
    let mut body = vec![0; key.scheme().signature_bytes(false)];
    signer.precursor(rng).sign(&[MESSAGE], false, &mut body);
    body
}

fn tree(entries: &[RegisterEntry]) -> HashMap<(u32, u32), [u8; 32]> {
    let mut nodes = HashMap::new();
    for (i, entry) in (0..).zip(entries) {
        let node = |level, index| nodes.get(&(level, index)).copied();
        let added = appended_nodes(i, &entry.leaf_hash(), node).unwrap();
        nodes.extend(
            added
                .into_iter()
                .map(|(level, index, hash)| ((level, index), hash)),
        );
    }
    nodes
}

fn head(nodes: &HashMap<(u32, u32), [u8; 32]>, machines: u32, last: EpochId) -> RegisterHead {
    RegisterHead {
        last,
        time: 7,
        machines,
        root: root(machines, |level, index| nodes.get(&(level, index)).copied()).unwrap(),
    }
}

fn file(
    manager: &DeviceKey,
    genesis: &Genesis,
    epochs: &[EpochRecord],
    register: &RegisterHead,
) -> Vec<u8> {
    let mut out = HEADER.to_vec();
    out.extend(seal(&genesis.encode(), manager));
    for epoch in epochs {
        out.extend(seal(&epoch.encode(), manager));
    }
    out.extend(seal(&register.encode(), manager));
    out
}
