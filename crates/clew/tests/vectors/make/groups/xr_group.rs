//! The group of scheme xr: a distributed opening key, a revocation, a new opening key that is dealt, two
//! revocations at once, a rebase; so five epochs.

use std::sync::LazyLock;

use clew_evidence::{
    Change, DeviceEntry, EntryKey, EpochRecord, Genesis, KeyOrigin, Name, Origin, RegisterEntry, SharingRecord, WallTime,
    join_session,
};
use clew_group::curve::{G1, Scalar};
use clew_group::quorum::{Broadcast, DealtShare, Founding, Quorum, SecretShare, Sharing, Trustee};
use clew_group::xr::{Device, Generators, IssuerKey, JoinRequest, MemberKey, Offer, PublicKey, SigningKey};
use clew_group::{Precursor, Proof, Scheme, Step, Witness};
use clew_packet::{GroupId, SECOND_NS};
use ed25519_dalek::{Signer, SigningKey as DeviceKey};

use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

use crate::make::groups::records::{NONCE, Records};
use crate::make::{hash, rng, scalar, xr_nonces};

/// Name of the group file's vector.
pub const FILE: &str = "xr";

/// Starts of epochs 1 to 4.
pub const STARTS: [u64; 4] =
    [1_745_000_000 * SECOND_NS, 1_750_000_000 * SECOND_NS, 1_760_000_000 * SECOND_NS, 1_765_000_000 * SECOND_NS];

/// How long before its start a record was made.
const AHEAD: u64 = 3600 * SECOND_NS;

/// The newest epoch, which begins with a rebase.
pub const NEWEST: usize = 4;

/// A machine: its join, and its key.
pub struct Machine {
    pub session: [u8; 32],
    pub request: JoinRequest,
    pub offer: Offer,
    pub device: DeviceKey,
    pub key: MemberKey,
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
    /// `web-1` to `web-5`, of which the last two joined in epoch 2.
    pub machines: Vec<Machine>,
    /// What led from epoch 0 to 1, and from 2 to 3.
    pub steps: [Vec<Step>; 2],
}

pub static XR: LazyLock<Xr> = LazyLock::new(Xr::make);

/// The context of the DKG.
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
        let (first, issuer_proof) = issuer.found(&NONCE, sharing.public(), &mut rng("xr proof of gamma"));
        let manager = DeviceKey::from_bytes(&hash(b"xr manager"));
        let genesis = Genesis {
            scheme: Scheme::Xr,
            created: WallTime::from_nanos(1_740_000_000 * SECOND_NS),
            nonce: NONCE,
            manager: manager.verifying_key().to_bytes(),
            log: None,
            name: "vectors of xr".parse().unwrap(),
            founding: Box::new(first.founding_bytes()),
            issuer_proof: Some(issuer_proof.to_bytes()),
            sharing: SharingRecord::xr(Origin::Dkg, &sharing),
        };
        let dealt_4 = Sharing::deal(&u(), &scalar("xr new xi"), Quorum::new(3, 4).unwrap(), &mut rng("xr new dealer"));
        let mut group = Self {
            records: Records { genesis, epochs: vec![], entries: vec![], checkpoints: vec![2, 3, 5], manager },
            issuer,
            issuer_proof,
            broadcasts,
            dealt,
            sharings: [(sharing, shares), dealt_4.unwrap()],
            public: vec![first],
            machines: vec![],
            steps: [vec![], vec![]],
        };
        for machine in ["web-1", "web-2", "web-3"] {
            group.join(machine);
        }
        group.steps[0] = group.revoke(&["web-2"]);
        group.share_anew();
        group.join("web-4");
        group.join("web-5");
        group.steps[1] = group.revoke(&["web-3", "web-5"]);
        group.rebase();
        group
    }

    fn join(&mut self, name: &str) {
        let (genesis, label) = (&self.public[0], |what: &str| format!("{what} of {name}"));
        let device = DeviceKey::from_bytes(&hash(label("device").as_bytes()));
        let public = device.verifying_key().to_bytes();
        let nonce = join_nonce(name);
        let entered = entered(name);
        let session = join_session(self.records.id(), &nonce, &public, &entered.name);
        let (asking, request) = Device::new(genesis, &session, &mut rng(&label("request")));
        let issuer = &self.issuer;
        let offer = issuer.offer(genesis, &session, &request, &x(name), &s(name));
        let offer = offer.unwrap();
        let key = asking.accept(genesis, &offer).unwrap();
        let entry =
            DeviceEntry { commitment: key.commitment(genesis).to_bytes(), key: public, signature: [0; 64], proof: [0; 64] };
        let entry = RegisterEntry {
            index: self.records.entries.len() as u32,
            joined: self.records.epochs.len() as u32,
            how: entered.how,
            replaces: entered.replaces,
            credential: key.credential().to_bytes(),
            name: entered.name,
            key: EntryKey::Xr(entry),
        };
        let entry = vouched_by(&device, &key, genesis, entry, self.records.id());
        self.records.entries.push(entry);
        self.machines.push(Machine { session, request, offer, device, key });
    }

    fn revoke(&mut self, names: &[&str]) -> Vec<Step> {
        let mut public = self.public.last().unwrap().clone();
        let mut steps = vec![];
        for name in names {
            let step = self.issuer.revoke(&public, &x(name)).unwrap();
            public = public.after(&step).unwrap();
            steps.push(step);
        }
        self.publish(Change::steps(&steps), |_| public);
        steps
    }

    fn share_anew(&mut self) {
        let sharing = &self.sharings[1].0;
        let before = self.public.last().unwrap();
        let public = self.issuer.reopened(before, sharing.public());
        let record = SharingRecord::xr(Origin::TrustedDealer, sharing);
        self.publish(Change::sharing(&public, record), |_| public);
    }

    fn rebase(&mut self) {
        let before = self.public.last().unwrap().clone();
        self.publish(Change::Rebase { revoked: vec![] }, |record| {
            let v = PublicKey::rebased_v(&NONCE, record.epoch, &record.epoch_id());
            before.in_epoch(&v).unwrap()
        });
    }

    fn publish(&mut self, change: Change, public: impl FnOnce(&EpochRecord) -> PublicKey) {
        let start = STARTS[self.records.epochs.len()];
        let (machines, root) = self.records.size(self.records.entries.len());
        let record = EpochRecord {
            epoch: self.public.len() as u32,
            previous: self.records.last_id(),
            made: WallTime::from_nanos(start - AHEAD),
            start: WallTime::from_nanos(start),
            machines,
            root,
            change,
        };
        self.public.push(public(&record));
        self.records.epochs.push(record);
    }

    /// The machine with that name.
    pub fn machine(&self, name: &str) -> &Machine {
        &self.machines[place(name)]
    }

    /// The sharing of an epoch, and all shares.
    pub fn sharing(&self, epoch: usize) -> &(Sharing, Vec<SecretShare>) {
        &self.sharings[usize::from(epoch >= 2)]
    }

    /// The witness of a machine, also where it must not have one: where it is revoked.
    pub fn witness(&self, name: &str, epoch: usize) -> Witness {
        let issuer = self.issuer.in_epoch(&self.public[epoch], []);
        issuer.witness(&x(name)).unwrap()
    }

    /// What a machine signs with in an epoch: B.
    pub fn base(&self, name: &str, epoch: usize) -> G1 {
        let issuer = self.issuer.in_epoch(&self.public[epoch], []);
        issuer.base(&self.machine(name).key.credential(), &x(name)).unwrap()
    }

    pub fn signer_of(&self, name: &str, epoch: usize) -> SigningKey {
        let (key, id) = (self.machine(name).key.clone(), self.records.epoch_id(epoch));
        SigningKey::new(&self.public[epoch], id, key, &self.witness(name, epoch)).unwrap()
    }

    /// As that of a machine, with a second credential on its C: with another x.
    pub fn second_precursor(&self, name: &str, x: &Scalar, epoch: usize, label: &str) -> Precursor {
        let (public, first) = (&self.public[epoch], &self.machine(name).key);
        let y = Scalar::from_bytes(&first.to_bytes()[80..]).unwrap();
        let gamma = Scalar::from_bytes(&self.issuer.to_bytes()).unwrap();
        let inverse = (gamma + *x).invert().unwrap();
        let c = first.commitment(&self.public[0]);
        let a = (Generators::of(&NONCE).g1 + c).mul(&inverse);
        let encoded = [&a.to_bytes()[..], &x.to_bytes(), &y.to_bytes()].concat();
        let key = MemberKey::from_bytes(&encoded).unwrap();
        let witness = self.issuer.in_epoch(public, []).witness(x).unwrap();
        let id = self.records.epoch_id(epoch);
        let signer = SigningKey::new(public, id, key, &witness).unwrap();
        Precursor::Xr(Box::new(signer.precursor_from(&xr_nonces(label))))
    }

    pub fn precursor_of(&self, name: &str, epoch: usize, label: &str) -> Precursor {
        let signer = self.signer_of(name, epoch);
        Precursor::Xr(Box::new(signer.precursor_from(&xr_nonces(label))))
    }
}

/// The entry with S by that key, and the proof of that key's y.
pub fn vouched_by(
    device: &DeviceKey,
    key: &MemberKey,
    genesis: &PublicKey,
    mut entry: RegisterEntry,
    group: GroupId,
) -> RegisterEntry {
    let statement = entry.statement(group);
    if let EntryKey::Xr(of_device) = &mut entry.key {
        let proof = key.prove_y(genesis, &statement, &mut row_rng(&statement));
        of_device.signature = device.sign(&statement).to_bytes();
        of_device.proof = proof.to_bytes();
    }
    entry
}

/// What k of the proof of y for a statement is drawn from.
pub fn row_rng(statement: &[u8]) -> ChaCha20Rng {
    ChaCha20Rng::from_seed(hash(statement))
}

/// What the register says of a machine.
struct Entered {
    name: Name,
    how: KeyOrigin,
    replaces: Option<u32>,
}

/// `web-5` has the name of `web-2`, which was revoked before, and joined on the issuer's host.
fn entered(machine: &str) -> Entered {
    let again = machine == "web-5";
    Entered {
        name: if again { "web-2" } else { machine }.parse().unwrap(),
        how: if again { KeyOrigin::IssuerHost } else { KeyOrigin::OwnHost },
        replaces: again.then_some(1),
    }
}

/// Broadcasts of all dealers, and of each trustee what it was dealt.
pub fn dealt_by_all(founding: &Founding, quorum: Quorum) -> (Vec<Broadcast>, Vec<Vec<DealtShare>>) {
    let deal = |i: u8| {
        let dealt = founding.deal(trustee(i), &mut rng(&format!("dealer {i}")));
        dealt.unwrap()
    };
    let all: Vec<_> = (1..=quorum.trustees()).map(deal).collect();
    let of = |j: u8| all.iter().map(move |(_, dealt)| dealt[usize::from(j) - 1].clone());
    let dealt = (1..=quorum.trustees()).map(|j| of(j).collect()).collect();
    (all.iter().map(|(broadcast, _)| broadcast.clone()).collect(), dealt)
}

/// Place of a machine in the register.
pub fn place(name: &str) -> usize {
    name[4..].parse::<usize>().unwrap() - 1
}

/// The x of a machine.
pub fn x(name: &str) -> Scalar {
    scalar(&format!("xr x of {name}"))
}

/// The s that the issuer adds to a machine's secret.
pub fn s(name: &str) -> Scalar {
    scalar(&format!("xr s of {name}"))
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
