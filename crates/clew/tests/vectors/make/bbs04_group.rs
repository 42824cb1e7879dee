//! The group of scheme bbs04: two revocations, so three epochs, and a machine that is in all.

use std::sync::LazyLock;

use clew_evidence::{Change, EpochRecord, Genesis, RegisterEntry, SharingRecord};
use clew_group::bbs04::{IssuerKey, MemberKey, OpenerKey, PublicKey, Revocation, SigningKey};
use clew_group::curve::Scalar;
use clew_group::quorum::{Quorum, SecretShare, Sharing};
use clew_group::{Precursor, Scheme};
use clew_manager::keys::MemberKeyFile;
use clew_packet::SECOND_NS;

use super::records::{NONCE, Records};
use super::{hash, nonces, rng, scalar};

/// Name of the group file's vector.
pub const FILE: &str = "bbs04.txt";

/// Starts of epochs 1 and 2.
pub const STARTS: [u64; 2] = [1_750_000_000 * SECOND_NS, 1_760_000_000 * SECOND_NS];

pub struct Bbs04 {
    pub records: Records,
    pub issuer: IssuerKey,
    pub opener: OpenerKey,
    pub sharings: [Sharing; 2],
    pub shares: [Vec<SecretShare>; 2],
    /// Public key of each epoch, and the key of machine `web-1` for it.
    pub public: Vec<PublicKey>,
    pub member: Vec<MemberKey>,
    /// What led from each epoch to the next, and the key that it revoked, of the epoch before.
    pub revocations: Vec<(Revocation, MemberKey)>,
}

pub static BBS04: LazyLock<Bbs04> = LazyLock::new(Bbs04::make);

impl Bbs04 {
    fn make() -> Self {
        let (opener, opening) = OpenerKey::generate(&NONCE, &mut rng("opener"));
        let (issuer, issuing) = IssuerKey::generate(&mut rng("issuer"));
        let manager = ed25519_dalek::SigningKey::from_bytes(&hash(b"manager"));
        let first = PublicKey::genesis(&opening, &issuing);
        let quorum = Quorum::new(2, 3).unwrap();
        let dealt = opener.deal(&first, quorum, &mut rng("dealer"));
        let (sharings, shares) = dealt.unwrap();
        let genesis = Genesis {
            scheme: Scheme::Bbs04,
            created: 1_740_000_000 * SECOND_NS,
            nonce: NONCE,
            manager: manager.verifying_key().to_bytes(),
            name: "vectors".parse().unwrap(),
            public_key: first.to_bytes().to_vec(),
            issuer_proof: None,
            sharing: SharingRecord::bbs04(&sharings),
        };
        let entries = ["web-1", "web-2", "web-3"].map(|name| entry(&issuer, &first, name));
        let records = Records {
            genesis,
            epochs: vec![],
            entries: entries.into(),
            manager,
        };
        let mut group = Self {
            member: vec![issue(&issuer, &first, "web-1")],
            public: vec![first],
            revocations: vec![],
            records,
            issuer,
            opener,
            sharings,
            shares,
        };
        group.revoke("web-2");
        group.revoke("web-3");
        group
    }

    fn revoke(&mut self, machine: &str) {
        let before = self.public.last().unwrap();
        let revocation = self.issuer.revoke(before, x(machine)).unwrap();
        let revoked = issue(&self.issuer, before, machine);
        let public = before.after(&revocation).unwrap();
        let member = self.member.last().unwrap().after(&revocation).unwrap();
        self.records.epochs.push(EpochRecord {
            epoch: self.public.len() as u32,
            previous: self.records.last_id(),
            start: STARTS[self.records.epochs.len()],
            change: Change::revocation_bbs04(&revocation, &public),
        });
        self.public.push(public);
        self.member.push(member);
        self.revocations.push((revocation, revoked));
    }

    pub fn signer(&self, epoch: usize) -> SigningKey {
        let key = self.member[epoch].clone();
        SigningKey::new(&self.public[epoch], self.records.epoch_id(epoch), key).unwrap()
    }

    pub fn precursor(&self, epoch: usize, label: &str) -> Precursor {
        Precursor::Bbs04(Box::new(self.signer(epoch).precursor_from(nonces(label))))
    }

    pub fn key_file(&self, epoch: usize) -> MemberKeyFile {
        MemberKeyFile {
            group: self.records.id(),
            epoch: epoch as u32,
            id: self.records.epoch_id(epoch),
            machine: "web-1".parse().unwrap(),
            public: clew_group::PublicKey::Bbs04(self.public[epoch].clone()),
            key: clew_group::MemberKey::Bbs04(self.member[epoch].clone()),
            device: None,
        }
    }
}

/// The secret of a machine.
pub fn x(machine: &str) -> Scalar {
    scalar(&format!("x of {machine}"))
}

fn issue(issuer: &IssuerKey, group: &PublicKey, machine: &str) -> MemberKey {
    issuer.issue(group, x(machine)).unwrap()
}

fn entry(issuer: &IssuerKey, first: &PublicKey, machine: &str) -> RegisterEntry {
    RegisterEntry {
        index: machine[4..].parse::<u32>().unwrap() - 1,
        joined: 0,
        credential: issue(issuer, first, machine).credential().to_bytes(),
        name: machine.parse().unwrap(),
        device: None,
    }
}
