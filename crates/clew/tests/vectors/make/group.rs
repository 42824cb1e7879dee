//! The one group of all vectors: two revocations, so three epochs, and a machine that is in all.

use std::sync::LazyLock;

use clew_evidence::{EpochRecord, Frontier, Genesis, RegisterEntry, RegisterHead};
use clew_group::bbs04::{
    IssuerKey, MemberKey, OpenerKey, PublicKey, Revocation, SigningKey as MemberSigner,
};
use clew_group::curve::Scalar;
use clew_manager::keys::MemberKeyFile;
use clew_packet::{GroupId, SECOND_NS, Timestamp};
use ed25519_dalek::SigningKey;

use super::{hash, rng, scalar};

/// Name and content of the group file's vector.
pub const FILE: &str = "good.txt";

pub const NONCE: [u8; 32] = *b"clew vectors: nonce of the group";

/// Starts of epochs 1 and 2.
pub const STARTS: [u64; 2] = [1_750_000_000 * SECOND_NS, 1_760_000_000 * SECOND_NS];

/// A time in epoch 2.
pub const NOW: Timestamp = Timestamp(1_770_000_000 * SECOND_NS + 123_456_789);

pub struct Group {
    pub issuer: IssuerKey,
    pub opener: OpenerKey,
    pub manager: SigningKey,
    pub genesis: Genesis,
    pub epochs: Vec<EpochRecord>,
    pub register: RegisterHead,
    pub entries: Vec<RegisterEntry>,
    /// Public key of each epoch, and the key of machine `web-1` for it.
    pub public: Vec<PublicKey>,
    pub member: Vec<MemberKey>,
    /// What led from each epoch to the next, and the key that it revoked, of the epoch before.
    pub revocations: Vec<(Revocation, MemberKey)>,
}

pub static GROUP: LazyLock<Group> = LazyLock::new(Group::make);

impl Group {
    fn make() -> Self {
        let (opener, opening) = OpenerKey::generate(&NONCE, &mut rng("opener"));
        let (issuer, issuing) = IssuerKey::generate(&mut rng("issuer"));
        let manager = SigningKey::from_bytes(&hash(b"manager"));
        let first = PublicKey::genesis(&opening, &issuing);
        let genesis = Genesis {
            created: 1_740_000_000 * SECOND_NS,
            nonce: NONCE,
            manager: manager.verifying_key().to_bytes(),
            name: "vectors".parse().unwrap(),
            public_key: first.to_bytes(),
        };
        let entries = ["web-1", "web-2", "web-3"].map(|name| entry(&issuer, &first, name));
        let mut group = Self {
            member: vec![issue(&issuer, &first, "web-1")],
            register: RegisterHead {
                last: hash(&genesis.encode()),
                time: NOW.0,
                machines: 3,
                root: root(&entries),
            },
            public: vec![first],
            entries: entries.into(),
            epochs: vec![],
            revocations: vec![],
            issuer,
            opener,
            manager,
            genesis,
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
        let record = EpochRecord {
            epoch: self.public.len() as u32,
            previous: self.register.last,
            start: STARTS[self.epochs.len()],
            revocation: revocation.to_bytes(),
            w: public.w_bytes(),
        };
        self.register.last = hash(&record.encode());
        self.epochs.push(record);
        self.public.push(public);
        self.member.push(member);
        self.revocations.push((revocation, revoked));
    }

    pub fn id(&self) -> GroupId {
        self.genesis.group_id()
    }

    pub fn signer(&self, epoch: usize) -> MemberSigner {
        MemberSigner::new(&self.public[epoch], self.member[epoch].clone()).unwrap()
    }

    pub fn key_file(&self, epoch: usize) -> MemberKeyFile {
        MemberKeyFile {
            group: self.id(),
            epoch: epoch as u32,
            machine: "web-1".parse().unwrap(),
            public: self.public[epoch].clone(),
            key: self.member[epoch].clone(),
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
    }
}

fn root(entries: &[RegisterEntry]) -> [u8; 32] {
    let mut frontier = Frontier::default();
    assert!(entries.iter().all(|entry| frontier.append(&entry.encode())));
    frontier.root()
}
