//! One group of either scheme, with machines and everything that happens to them.
//!
//! | epoch | change with `xr` | with `bbs04` |
//! |---|---|---|
//! | 0 | 2 of 3 trustees | 2 of 3 trustees |
//! | 1 | steps: a stranger and [`LOCKED_OUT`] | rebase: row [`LOCKED_OUT`] |
//! | 2 | a new opening key, 2 of 4 | rebase: nobody |
//! | 3 | a step: [`REVOKED`] | rebase: row [`REVOKED`] |
//! | 4 | rebase: row [`REISSUED`] | the same |
//!
//! All packets are of epoch 2, whoever could sign them then. Epochs 3 and 4 bind a register of
//! [`CHECKPOINT`] machines, the ones before bind none.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail the test, and not every test needs all"
)]

pub mod evidence;
pub mod issuer;

use clew_evidence::WallTime;
use clew_evidence::{
    Change, CheckedGroup, Checkpoint, EpochRecord, FoundRow, Genesis, GroupFile, GroupFileError,
    HEADER, Origin, Packet, RegisterEntry, RegisterHead, Row, SharingRecord, appended_nodes,
    consistency, inclusion, root, sign_part,
};
use clew_group::curve::{G1, Scalar};
use clew_group::quorum::{Quorum, SecretShare, Sharing};
use clew_group::{EpochId, PublicKey, Scheme, SigningKey, bbs04, xr};
use ed25519_dalek::SigningKey as DeviceKey;
use issuer::{Issuer, rebased_v, secret_x};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::Duration;

pub const NONCE: [u8; 32] = [9; 32];
pub const MESSAGE: &[u8] = b"the message of a packet";
pub const CREATED: WallTime = WallTime::from_nanos(1_700_000_000_000_000_000);

/// So many nanoseconds after the group was founded.
pub fn later(nanos: u64) -> WallTime {
    CREATED + Duration::from_nanos(nanos)
}

/// How many machines join. Machine 0 is an honest one.
pub const MACHINES: usize = 5;
/// Revoked in epoch 3, after the packets.
pub const REVOKED: usize = 1;
/// Joins in epoch 3 on the issuer's host, and dates packets back.
pub const LATE: usize = 2;
/// Joins in epoch 3 under the name of [`REVOKED`], and is revoked by the rebase of epoch 4.
pub const REISSUED: usize = 3;
/// Revoked in epoch 1; the issuer gave it a witness of epoch 2 all the same.
pub const LOCKED_OUT: usize = 4;

/// Epoch of the packets.
pub const EPOCH: u32 = 2;

/// Number of machines at the checkpoint.
pub const CHECKPOINT: u32 = 2;

pub type Nodes = HashMap<(u32, u32), [u8; 32]>;

pub struct Fixture {
    pub issuer: Issuer,
    pub manager: DeviceKey,
    pub genesis: Genesis,
    pub epochs: Vec<EpochRecord>,
    pub checkpoints: Vec<Checkpoint>,
    pub register: RegisterHead,
    pub keys: Vec<PublicKey>,
    pub entries: Vec<RegisterEntry>,
    pub group: CheckedGroup,
    /// Of the packets' epoch: one sharing and its shares per secret.
    pub sharings: Vec<Sharing>,
    pub shares: Vec<Vec<SecretShare>>,
    /// Each machine's B in the packets' epoch, and a signature by it.
    pub bases: Vec<G1>,
    pub bodies: Vec<Vec<u8>>,
    pub nodes: Nodes,
}

pub static XR: LazyLock<Fixture> = LazyLock::new(|| Fixture::new(Scheme::Xr, Origin::Dkg));
pub static BBS04: LazyLock<Fixture> =
    LazyLock::new(|| Fixture::new(Scheme::Bbs04, Origin::TrustedDealer));
/// As [`XR`], with a trusted dealer in the packets' epoch.
pub static DEALT: LazyLock<Fixture> =
    LazyLock::new(|| Fixture::new(Scheme::Xr, Origin::TrustedDealer));

pub fn fixtures() -> [&'static Fixture; 2] {
    [&BBS04, &XR]
}

pub fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

pub fn checked(file: &[u8]) -> Result<CheckedGroup, GroupFileError> {
    GroupFile::from_bytes(file)?.check_epochs(&mut rng(1))
}

/// A group as it grows.
struct Growing {
    issuer: Issuer,
    genesis: Genesis,
    keys: Vec<PublicKey>,
    epochs: Vec<EpochRecord>,
    sharings: Vec<Sharing>,
    shares: Vec<Vec<SecretShare>>,
    /// Number of machines and root that the next records bind.
    bound: (u32, [u8; 32]),
}

impl Growing {
    fn last_id(&self) -> EpochId {
        let newest = self.epochs.last().map(EpochRecord::epoch_id);
        newest.unwrap_or(self.genesis.epoch_id())
    }

    fn push(&mut self, key: PublicKey, change: Change) {
        let epoch = self.keys.len() as u32;
        self.epochs.push(EpochRecord {
            epoch,
            previous: self.last_id(),
            made: later(u64::from(epoch) * 10),
            start: later(u64::from(epoch) * 10 + 5),
            machines: self.bound.0,
            root: self.bound.1,
            change,
        });
        self.keys.push(key);
    }

    fn key(&self) -> &PublicKey {
        &self.keys[self.keys.len() - 1]
    }

    fn steps(&mut self, machines: &[usize]) {
        let xs = machines.iter().map(|machine| secret_x(*machine));
        let steps = self.issuer.steps(self.key().v(), xs);
        let next = self.key().in_epoch(steps[steps.len() - 1].v()).unwrap();
        self.push(next, Change::steps(&steps));
    }

    fn rebase(&mut self, rows: &[usize]) {
        let epoch = self.keys.len() as u32;
        let revoked = rows.iter().map(|row| *row as u32).collect();
        self.push(self.key().clone(), Change::Rebase { revoked });
        let v = rebased_v(self.issuer.scheme, epoch, &self.last_id());
        self.keys[epoch as usize] = self.key().in_epoch(&v).unwrap();
    }

    /// A new opening key, 2 of 4. Where it comes from nobody can tell from it.
    fn reopen(&mut self, origin: Origin, rng: &mut ChaCha20Rng) {
        let PublicKey::Xr(key) = self.key() else {
            panic!("a group of xr");
        };
        let quorum = Quorum::new(2, 4).unwrap();
        let (sharing, shares) = Sharing::deal(key.u(), &Scalar::random(rng), quorum, rng).unwrap();
        let h_w = sharing.public().mul(&self.issuer.gamma);
        let next = key.with_opening(sharing.public(), &h_w).unwrap();
        let change = Change::sharing(&next, SharingRecord::xr(origin, &sharing));
        (self.sharings, self.shares) = (vec![sharing], vec![shares]);
        self.push(PublicKey::Xr(next), change);
    }
}

impl Fixture {
    fn new(scheme: Scheme, origin: Origin) -> Self {
        let mut rng = rng(7);
        let manager = DeviceKey::from_bytes(&[5; 32]);
        let mut growing = found(scheme, &manager, &mut rng);
        let group = growing.genesis.group_id();
        let entries = (0..MACHINES).map(|machine| growing.issuer.entry(machine, group));
        let entries: Vec<RegisterEntry> = entries.collect();
        let nodes = tree(&entries);
        match scheme {
            Scheme::Bbs04 => growing.rebase(&[LOCKED_OUT]),
            Scheme::Xr => growing.steps(&[77, LOCKED_OUT]),
        }
        match scheme {
            Scheme::Bbs04 => growing.rebase(&[]),
            Scheme::Xr => growing.reopen(origin, &mut rng),
        }
        let (key, id) = (growing.key().clone(), growing.last_id());
        growing.bound = (CHECKPOINT, root_of(&nodes, CHECKPOINT));
        match scheme {
            Scheme::Bbs04 => growing.rebase(&[REVOKED]),
            Scheme::Xr => growing.steps(&[REVOKED]),
        }
        growing.rebase(&[REISSUED]);
        let sign = |machine| sign(&growing.issuer, &key, id, machine);
        let bodies: Vec<Vec<u8>> = (0..MACHINES).map(sign).collect();
        let bases = (0..MACHINES).map(|machine| growing.issuer.base(machine, key.v()));
        let bases = bases.collect();
        let (checkpoints, register) = register(&nodes, MACHINES as u32, growing.last_id());
        let Growing {
            issuer,
            genesis,
            keys,
            epochs,
            sharings,
            shares,
            bound: _,
        } = growing;
        let bodies_of = bodies_of(&genesis, &epochs, &checkpoints, &register);
        let group = checked(&file_of(&manager, &bodies_of)).unwrap();
        Self {
            issuer,
            manager,
            genesis,
            epochs,
            checkpoints,
            register,
            keys,
            entries,
            group,
            sharings,
            shares,
            bases,
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
            leaf: None,
        }
    }

    pub fn row(&self, machine: usize) -> Row {
        self.row_at(machine, self.register.machines)
    }

    /// The row, as it was made when the register had that many machines.
    pub fn row_at(&self, machine: usize, machines: u32) -> Row {
        row_of(&self.entries, &self.nodes, machine, machines)
    }

    pub fn x(&self, machine: usize) -> Option<Scalar> {
        (self.genesis.scheme == Scheme::Xr).then(|| secret_x(machine))
    }

    pub fn found(&self, machine: usize) -> FoundRow {
        let (row, x) = (self.row(machine), self.x(machine));
        FoundRow { row, x }
    }

    /// The group and a row of a register in which one entry is another, all signed by the manager.
    pub fn with_entry(&self, entry: RegisterEntry) -> (CheckedGroup, Row) {
        let mut entries = self.entries.clone();
        let at = entry.index as usize;
        entries[at] = entry;
        let nodes = tree(&entries);
        let epochs = self.bound_to(&nodes, self.epochs.iter().map(|record| record.machines));
        let last = epochs[epochs.len() - 1].epoch_id();
        let (checkpoints, head) = register(&nodes, self.register.machines, last);
        let bodies = bodies_of(&self.genesis, &epochs, &checkpoints, &head);
        let group = checked(&self.file_of(&bodies)).unwrap();
        (group, row_of(&entries, &nodes, at, head.machines))
    }

    /// The records of the epochs, each with a register of that many machines; the chain fits.
    pub fn bound_to(
        &self,
        nodes: &Nodes,
        machines: impl IntoIterator<Item = u32>,
    ) -> Vec<EpochRecord> {
        let mut previous = self.genesis.epoch_id();
        let records = self.epochs.iter().cloned().zip(machines);
        let bound = records.map(|(record, machines)| {
            let root = root_of(nodes, machines);
            let record = EpochRecord {
                previous,
                machines,
                root,
                ..record
            };
            previous = record.epoch_id();
            record
        });
        bound.collect()
    }

    /// The bodies of the file, the genesis first and the register last.
    pub fn bodies_of_file(&self) -> Vec<Vec<u8>> {
        bodies_of(
            &self.genesis,
            &self.epochs,
            &self.checkpoints,
            &self.register,
        )
    }

    pub fn file(&self) -> Vec<u8> {
        self.file_of(&self.bodies_of_file())
    }

    pub fn file_of(&self, bodies: &[Vec<u8>]) -> Vec<u8> {
        file_of(&self.manager, bodies)
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
        let head = RegisterHead {
            last,
            ..self.register.clone()
        };
        self.file_of(&bodies_of(&genesis, &epochs, &self.checkpoints, &head))
    }

    /// The file with another register.
    pub fn with_register(
        &self,
        change: impl FnOnce(&mut Vec<Checkpoint>, &mut RegisterHead),
    ) -> Vec<u8> {
        let (mut checkpoints, mut head) = (self.checkpoints.clone(), self.register.clone());
        change(&mut checkpoints, &mut head);
        self.file_of(&bodies_of(&self.genesis, &self.epochs, &checkpoints, &head))
    }
}

fn found(scheme: Scheme, manager: &DeviceKey, rng: &mut ChaCha20Rng) -> Growing {
    let gamma = Scalar::random(rng);
    let issuer = Issuer { scheme, gamma };
    let quorum = Quorum::new(2, 3).unwrap();
    let (key, issuer_proof, sharing, sharings, shares) = match scheme {
        Scheme::Bbs04 => {
            let issuer = bbs04::IssuerKey::from_bytes(&gamma.to_bytes()).unwrap();
            let (opener, opening) = bbs04::OpenerKey::generate(&NONCE, rng);
            let key = bbs04::PublicKey::genesis(&NONCE, &opening, &issuer.issuing());
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
        Scheme::Xr => {
            let issuer = xr::IssuerKey::from_bytes(&gamma.to_bytes()).unwrap();
            let u = G1::hash(b"clew-xr-u-1:BLS12381G1_XMD:SHA-256_SSWU_RO_", &NONCE);
            let (sharing, shares) = Sharing::deal(&u, &Scalar::random(rng), quorum, rng).unwrap();
            let (key, proof) = issuer.found(&NONCE, sharing.public(), rng);
            let record = SharingRecord::xr(Origin::TrustedDealer, &sharing);
            let proof = Some(proof.to_bytes());
            (
                PublicKey::Xr(key),
                proof,
                record,
                vec![sharing],
                vec![shares],
            )
        }
    };
    let genesis = Genesis {
        scheme,
        created: CREATED,
        nonce: NONCE,
        manager: manager.verifying_key().to_bytes(),
        log: None,
        name: "acme".parse().unwrap(),
        founding: Box::new(key.founding_bytes()),
        issuer_proof,
        sharing,
    };
    Growing {
        issuer,
        genesis,
        keys: vec![key],
        epochs: vec![],
        sharings,
        shares,
        bound: (0, [0; 32]),
    }
}

/// A packet of a machine in the epoch of `key`.
pub fn sign(issuer: &Issuer, key: &PublicKey, id: EpochId, machine: usize) -> Vec<u8> {
    let (member, witness) = (issuer.member_key(machine), issuer.witness(machine, key.v()));
    let signer = SigningKey::new(key, id, member, &witness).unwrap();
    let mut body = vec![0; key.scheme().signature_bytes(false)];
    let precursor = signer.precursor(&mut rng(machine as u64));
    precursor.sign(&[MESSAGE], false, &mut body);
    body
}

pub fn tree(entries: &[RegisterEntry]) -> Nodes {
    let mut nodes = Nodes::new();
    for (i, entry) in (0..).zip(entries) {
        let node = |level, index| nodes.get(&(level, index)).copied();
        let added = appended_nodes(i, &entry.leaf_hash(), node).unwrap();
        nodes.extend(
            added
                .into_iter()
                .map(|(level, at, hash)| ((level, at), hash)),
        );
    }
    nodes
}

pub fn row_of(entries: &[RegisterEntry], nodes: &Nodes, machine: usize, machines: u32) -> Row {
    let node = |level, index| nodes.get(&(level, index)).copied();
    Row {
        entry: entries[machine].clone(),
        machines,
        hashes: inclusion(machine as u32, machines, node).unwrap(),
    }
}

/// The root of the first entries.
pub fn root_of(nodes: &Nodes, machines: u32) -> [u8; 32] {
    root(machines, |level, index| nodes.get(&(level, index)).copied()).unwrap()
}

/// A checkpoint and a head with so many machines.
pub fn register(nodes: &Nodes, machines: u32, last: EpochId) -> (Vec<Checkpoint>, RegisterHead) {
    let node = |level, index| nodes.get(&(level, index)).copied();
    let checkpoint = Checkpoint {
        machines: CHECKPOINT,
        root: root_of(nodes, CHECKPOINT),
        hashes: vec![],
    };
    let head = RegisterHead {
        last,
        time: WallTime::from_nanos(7),
        machines,
        root: root_of(nodes, machines),
        hashes: consistency(CHECKPOINT, machines, node).unwrap(),
    };
    (vec![checkpoint], head)
}

pub fn bodies_of(
    genesis: &Genesis,
    epochs: &[EpochRecord],
    checkpoints: &[Checkpoint],
    head: &RegisterHead,
) -> Vec<Vec<u8>> {
    let epochs = epochs.iter().map(EpochRecord::encode);
    let all = std::iter::once(genesis.encode()).chain(epochs);
    let all = all.chain(checkpoints.iter().map(Checkpoint::encode));
    all.chain([head.encode()]).collect()
}

fn file_of(manager: &DeviceKey, bodies: &[Vec<u8>]) -> Vec<u8> {
    let parts = bodies.iter().flat_map(|body| sign_part(body, manager));
    HEADER.iter().copied().chain(parts).collect()
}
