//! The group of scheme bbs04: two rebases that revoke, so three epochs, and a machine that is in all.

use std::sync::LazyLock;

use clew_evidence::{Change, EntryKey, EpochRecord, Genesis, KeyOrigin, RegisterEntry, SharingRecord, WallTime};
use clew_group::bbs04::{IssuerKey, MemberKey, OpenerKey, PublicKey, SigningKey};
use clew_group::curve::{G1, Scalar};
use clew_group::quorum::{Quorum, SecretShare, Sharing};
use clew_group::{Precursor, Scheme, Witness};
use clew_packet::SECOND_NS;

use crate::make::groups::records::{NONCE, Records};
use crate::make::{hash, nonces, rng, scalar};

/// Name of the group file's vector.
pub const FILE: &str = "bbs04";

/// Starts of epochs 1 and 2.
pub const STARTS: [u64; 2] = [1_750_000_000 * SECOND_NS, 1_760_000_000 * SECOND_NS];

pub struct Bbs04 {
    pub records: Records,
    pub issuer: IssuerKey,
    pub opener: OpenerKey,
    pub sharings: [Sharing; 2],
    pub shares: [Vec<SecretShare>; 2],
    /// Public key of each epoch.
    pub public: Vec<PublicKey>,
}

pub static BBS04: LazyLock<Bbs04> = LazyLock::new(Bbs04::make);

impl Bbs04 {
    fn make() -> Self {
        let (opener, opening) = OpenerKey::generate(&NONCE, &mut rng("opener"));
        let (issuer, issuing) = IssuerKey::generate(&mut rng("issuer"));
        let manager = ed25519_dalek::SigningKey::from_bytes(&hash(b"manager"));
        let first = PublicKey::genesis(&NONCE, &opening, &issuing);
        let quorum = Quorum::new(2, 3).unwrap();
        let dealt = opener.deal(&first, quorum, &mut rng("dealer"));
        let (sharings, shares) = dealt.unwrap();
        let genesis = Genesis {
            scheme: Scheme::Bbs04,
            created: WallTime::from_nanos(1_740_000_000 * SECOND_NS),
            nonce: NONCE,
            manager: manager.verifying_key().to_bytes(),
            log: None,
            name: "vectors".parse().unwrap(),
            founding: Box::new(first.founding_bytes()),
            issuer_proof: None,
            sharing: SharingRecord::bbs04(&sharings),
        };
        let entries = ["web-1", "web-2", "web-3"].map(|name| entry(&issuer, name));
        let records = Records { genesis, epochs: vec![], entries: entries.into(), checkpoints: vec![3], manager };
        let mut group = Self { public: vec![first], records, issuer, opener, sharings, shares };
        group.revoke("web-2");
        group.revoke("web-3");
        group
    }

    fn revoke(&mut self, machine: &str) {
        let start = STARTS[self.records.epochs.len()];
        let (machines, root) = self.records.size(self.records.entries.len());
        let record = EpochRecord {
            epoch: self.public.len() as u32,
            previous: self.records.last_id(),
            made: WallTime::from_nanos(start - SECOND_NS),
            start: WallTime::from_nanos(start),
            machines,
            root,
            change: Change::Rebase { revoked: vec![place(machine)] },
        };
        let v = PublicKey::rebased_v(&NONCE, record.epoch, &record.epoch_id());
        self.public.push(self.public[0].in_epoch(&v).unwrap());
        self.records.epochs.push(record);
    }

    /// The key of a machine, the same in every epoch.
    pub fn member(&self, machine: &str) -> MemberKey {
        issue(&self.issuer, machine)
    }

    /// Its witness, also where it must not have one: where it is revoked.
    pub fn witness(&self, machine: &str, epoch: usize) -> Witness {
        let issuer = self.issuer.in_epoch(&self.public[epoch], []);
        issuer.witness(&x(machine)).unwrap()
    }

    /// What a machine signs with in an epoch: B.
    pub fn base(&self, machine: &str, epoch: usize) -> G1 {
        let issuer = self.issuer.in_epoch(&self.public[epoch], []);
        issuer.base(&self.member(machine).credential(), &x(machine)).unwrap()
    }

    pub fn signer(&self, epoch: usize) -> SigningKey {
        let (key, id) = (self.member("web-1"), self.records.epoch_id(epoch));
        SigningKey::new(&self.public[epoch], id, key, &self.witness("web-1", epoch)).unwrap()
    }

    pub fn precursor(&self, epoch: usize, label: &str) -> Precursor {
        Precursor::Bbs04(Box::new(self.signer(epoch).precursor_from(&nonces(label))))
    }
}

/// Place of a machine in the register.
pub fn place(machine: &str) -> u32 {
    machine[4..].parse::<u32>().unwrap() - 1
}

/// The secret of a machine.
pub fn x(machine: &str) -> Scalar {
    scalar(&format!("x of {machine}"))
}

fn issue(issuer: &IssuerKey, machine: &str) -> MemberKey {
    issuer.issue(&x(machine)).unwrap()
}

fn entry(issuer: &IssuerKey, machine: &str) -> RegisterEntry {
    let key = issue(issuer, machine);
    RegisterEntry {
        index: place(machine),
        joined: 0,
        how: KeyOrigin::IssuerHost,
        replaces: None,
        credential: key.credential().to_bytes(),
        name: machine.parse().unwrap(),
        key: EntryKey::Bbs04(Box::new(key.public_x().to_bytes())),
    }
}
