//! The group of scheme xr: a distributed opening key, a revocation, a new opening key that is dealt,
//! another revocation; so four epochs.

use std::sync::LazyLock;

use clew_evidence::{
    Change, DeviceEntry, EpochRecord, Genesis, Origin, RegisterEntry, SharingRecord, join_session,
};
use clew_group::curve::{G1, Scalar};
use clew_group::quorum::{Broadcast, DealtShare, Founding, Quorum, SecretShare, Sharing, Trustee};
use clew_group::xr::{
    Accepted, Credential, Device, Generators, IssuerKey, JoinRequest, MemberKey, Offer, PublicKey,
    Revocation, SigningKey,
};
use clew_group::{Precursor, Proof, Scheme};
use clew_manager::keys::MemberKeyFile;
use clew_packet::SECOND_NS;
use ed25519_dalek::{Signer, SigningKey as DeviceKey};

use super::records::{NONCE, Records};
use super::{hash, rng, scalar, xr_nonces};

/// Name of the group file's vector.
pub const FILE: &str = "xr.txt";

/// Starts of epochs 1 to 3.
pub const STARTS: [u64; 3] = [
    1_745_000_000 * SECOND_NS,
    1_750_000_000 * SECOND_NS,
    1_760_000_000 * SECOND_NS,
];

/// The newest epoch.
pub const NEWEST: usize = 3;

/// A machine: its join, and its key in each epoch since, until it is revoked.
pub struct Machine {
    pub session: [u8; 32],
    pub request: JoinRequest,
    pub offer: Offer,
    pub credential: Credential,
    pub device: DeviceKey,
    pub joined: usize,
    keys: Vec<MemberKey>,
}

impl Machine {
    pub fn key(&self, epoch: usize) -> &MemberKey {
        &self.keys[epoch - self.joined]
    }
}

pub struct Xr {
    pub records: Records,
    pub issuer: IssuerKey,
    pub issuer_proof: Proof,
    pub broadcasts: Vec<Broadcast>,
    /// Of each trustee: what it was dealt.
    pub dealt: Vec<Vec<DealtShare>>,
    /// Sharing and shares since epoch 0, and since epoch 2.
    pub sharings: [(Sharing, Vec<SecretShare>); 2],
    /// Public key of each epoch.
    pub public: Vec<PublicKey>,
    /// `web-1` to `web-4`, which joined in epoch 2.
    pub machines: Vec<Machine>,
    /// What led from epoch 0 to 1, and from 2 to 3.
    pub revocations: Vec<Revocation>,
}

pub static XR: LazyLock<Xr> = LazyLock::new(Xr::make);

/// The context of the ceremony.
pub fn context() -> [u8; 32] {
    hash(b"context of the ceremony")
}

pub fn u() -> G1 {
    Generators::of(&NONCE).u
}

pub fn trustee(index: u8) -> Trustee {
    Trustee::new(index).unwrap()
}

impl Xr {
    fn make() -> Self {
        let quorum = Quorum::new(2, 3).unwrap();
        let founding = Founding::new(context(), &u(), quorum);
        let (broadcasts, dealt) = dealt_by_all(&founding, quorum);
        let receive = |i: u8| {
            let mine = &dealt[usize::from(i) - 1];
            founding.receive(trustee(i), &broadcasts, mine).unwrap()
        };
        let (sharing, _) = receive(1);
        let shares = [1, 2, 3].map(|i| receive(i).1).into();
        let issuer = IssuerKey::generate(&mut rng("xr issuer"));
        let (first, issuer_proof) =
            issuer.found(&NONCE, sharing.public(), &mut rng("xr proof of gamma"));
        let manager = DeviceKey::from_bytes(&hash(b"xr manager"));
        let genesis = Genesis {
            scheme: Scheme::Xr,
            created: 1_740_000_000 * SECOND_NS,
            nonce: NONCE,
            manager: manager.verifying_key().to_bytes(),
            name: "vectors of xr".parse().unwrap(),
            public_key: first.to_bytes().to_vec(),
            issuer_proof: Some(issuer_proof.to_bytes()),
            sharing: SharingRecord::xr(Origin::Distributed, &sharing),
        };
        let dealt_4 = Sharing::deal(
            &u(),
            &scalar("xr new xi"),
            Quorum::new(3, 4).unwrap(),
            &mut rng("xr new dealer"),
        );
        let mut group = Self {
            records: Records {
                genesis,
                epochs: vec![],
                entries: vec![],
                manager,
            },
            issuer,
            issuer_proof,
            broadcasts,
            dealt,
            sharings: [(sharing, shares), dealt_4.unwrap()],
            public: vec![first],
            machines: vec![],
            revocations: vec![],
        };
        for machine in ["web-1", "web-2", "web-3"] {
            group.join(machine);
        }
        group.revoke("web-2");
        group.share_anew();
        group.join("web-4");
        group.revoke("web-3");
        group
    }

    fn join(&mut self, name: &str) {
        let (genesis, label) = (&self.public[0], |what: &str| format!("{what} of {name}"));
        let device = DeviceKey::from_bytes(&hash(label("device").as_bytes()));
        let public = device.verifying_key().to_bytes();
        let nonce = join_nonce(name);
        let session = join_session(self.records.id(), &nonce, &public, &name.parse().unwrap());
        let (asking, request) = Device::new(genesis, &session, &mut rng(&label("request")));
        let mut for_offer = rng(&label("offer"));
        let offer = self
            .issuer
            .offer(genesis, &session, &request, &x(name), &mut for_offer)
            .unwrap();
        let accepted: Accepted = asking.accept(genesis, &offer).unwrap();
        let mut entry = RegisterEntry {
            index: self.records.entries.len() as u32,
            joined: self.records.epochs.len() as u32,
            credential: accepted.credential().to_bytes(),
            name: name.parse().unwrap(),
            device: Some(DeviceEntry {
                commitment: accepted.commitment().to_bytes(),
                key: public,
                signature: [0; 64],
            }),
        };
        let statement = entry.statement(self.records.id());
        entry.device.as_mut().unwrap().signature = device.sign(&statement).to_bytes();
        let revoked: Vec<Scalar> = self.revocations.iter().map(|r| *r.x()).collect();
        let scale = self.issuer.scale(&revoked).unwrap();
        let credential = scale.credential(&accepted.credential(), &x(name));
        let now = self.public.last().unwrap();
        let key = accepted.finish(now, &credential).unwrap();
        self.records.entries.push(entry);
        self.machines.push(Machine {
            session,
            request,
            offer,
            credential,
            device,
            joined: self.records.epochs.len(),
            keys: vec![key],
        });
    }

    fn revoke(&mut self, name: &str) {
        let before = self.public.last().unwrap();
        let revocation = self.issuer.revoke(before, &x(name)).unwrap();
        let public = before.after(&revocation).unwrap();
        for machine in &mut self.machines {
            let epoch = self.records.epochs.len() - machine.joined;
            // Only the revoked one, and who was revoked before, cannot follow.
            let now = machine.keys.get(epoch);
            machine
                .keys
                .extend(now.and_then(|key| key.after(&revocation).ok()));
        }
        self.publish(Change::revocation_xr(&revocation), public);
        self.revocations.push(revocation);
    }

    fn share_anew(&mut self) {
        let sharing = &self.sharings[1].0;
        let before = self.public.last().unwrap();
        let public = self.issuer.reopened(before, sharing.public());
        let record = SharingRecord::xr(Origin::Dealt, sharing);
        for machine in &mut self.machines {
            let now = machine.keys.get(self.records.epochs.len() - machine.joined);
            machine.keys.extend(now.cloned());
        }
        self.publish(Change::sharing(&public, record), public);
    }

    fn publish(&mut self, change: Change, public: PublicKey) {
        self.records.epochs.push(EpochRecord {
            epoch: self.public.len() as u32,
            previous: self.records.last_id(),
            start: STARTS[self.records.epochs.len()],
            change,
        });
        self.public.push(public);
    }

    /// The machine with that name.
    pub fn machine(&self, name: &str) -> &Machine {
        &self.machines[place(name)]
    }

    /// The sharing of an epoch, and all shares.
    pub fn sharing(&self, epoch: usize) -> &(Sharing, Vec<SecretShare>) {
        &self.sharings[usize::from(epoch >= 2)]
    }

    pub fn signer_of(&self, name: &str, epoch: usize) -> SigningKey {
        let machine = self.machine(name);
        let key = match machine.keys.get(epoch - machine.joined) {
            Some(key) => key.clone(),
            None => self.helped(name, epoch),
        };
        SigningKey::new(&self.public[epoch], self.records.epoch_id(epoch), key).unwrap()
    }

    /// What the issuer must not do: the key of a revoked machine, for an epoch that it is locked out of.
    fn helped(&self, name: &str, epoch: usize) -> MemberKey {
        let steps = self.revocations.iter().take(epoch.div_ceil(2));
        let revoked: Vec<Scalar> = steps.map(|step| *step.x()).collect();
        let a_0 = self.machine(name).offer.credential();
        let scale = self.issuer.scale(&revoked).unwrap();
        let credential = scale.credential(&a_0, &x(name)).to_bytes();
        let [y, _] = y_and_k(name);
        MemberKey::from_bytes(&[&credential[..], &y.to_bytes()].concat()).unwrap()
    }

    pub fn precursor_of(&self, name: &str, epoch: usize, label: &str) -> Precursor {
        let signer = self.signer_of(name, epoch);
        Precursor::Xr(Box::new(signer.precursor_from(xr_nonces(label))))
    }

    pub fn key_file(&self, epoch: usize) -> MemberKeyFile {
        let machine = self.machine("web-1");
        MemberKeyFile {
            group: self.records.id(),
            epoch: epoch as u32,
            id: self.records.epoch_id(epoch),
            machine: "web-1".parse().unwrap(),
            public: clew_group::PublicKey::Xr(self.public[epoch].clone()),
            key: clew_group::MemberKey::Xr(machine.key(epoch).clone()),
            device: Some(machine.device.clone()),
        }
    }
}

/// Broadcasts of all dealers, and of each trustee what it was dealt.
pub fn dealt_by_all(founding: &Founding, quorum: Quorum) -> (Vec<Broadcast>, Vec<Vec<DealtShare>>) {
    let deal = |i: u8| {
        let dealt = founding.deal(trustee(i), &mut rng(&format!("dealer {i}")));
        dealt.unwrap()
    };
    let all: Vec<_> = (1..=quorum.trustees()).map(deal).collect();
    let of = |j: u8| {
        all.iter()
            .map(move |(_, dealt)| dealt[usize::from(j) - 1].clone())
    };
    let dealt = (1..=quorum.trustees()).map(|j| of(j).collect()).collect();
    (
        all.iter().map(|(broadcast, _)| broadcast.clone()).collect(),
        dealt,
    )
}

/// Place of a machine in the register.
pub fn place(name: &str) -> usize {
    name[4..].parse::<usize>().unwrap() - 1
}

/// The x of a machine.
pub fn x(name: &str) -> Scalar {
    scalar(&format!("xr x of {name}"))
}

/// What the issuer draws for a join.
pub fn join_nonce(name: &str) -> [u8; 32] {
    hash(format!("join of {name}").as_bytes())
}

/// The secret that the device of a machine draws, and the nonce of its proof.
pub fn y_and_k(name: &str) -> [Scalar; 2] {
    let mut rng = rng(&format!("request of {name}"));
    [Scalar::random_secret(&mut rng), Scalar::random(&mut rng)]
}
