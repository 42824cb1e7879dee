//! A group with members, and one without a credential of it.

use clew_evidence::{GroupId, Name};
use clew_group::curve::Scalar;
use clew_group::{EpochId, EpochIssuer, MemberKey, PublicKey, Scheme, VerifyingKey, xr};
use clew_keys::{HeldEpoch, MemberKeyFile};
use clew_live::identity::{Identity, Limit};
use clew_live::sender::live_policy;
use clew_packet::{GroupTag, KeySource, Policy, Timestamp, Unknown};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
use std::sync::{Arc, LazyLock};

pub const GROUP: GroupId = GroupId([0xa0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);

/// Another group that receivers know, if they are told so.
pub const OTHER_GROUP: GroupId = GroupId([0xb0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);

/// When the simulation begins: nanoseconds since 1970.
pub const START: u64 = 1_700_000_000_500_000_000;

pub struct Group {
    public: PublicKey,
    issuer: EpochIssuer,
    members: Vec<MemberKey>,
    nonce: [u8; 32],
}

/// The group that receivers know.
pub static OURS: LazyLock<Group> = LazyLock::new(|| Group::new(1));
/// A group whose members have no credential of ours.
pub static OTHERS: LazyLock<Group> = LazyLock::new(|| Group::new(2));

/// The id of an epoch. The public key is the same in all of them.
fn id(epoch: u32) -> EpochId {
    EpochId([epoch as u8; 32])
}

impl Group {
    fn new(seed: u64) -> Self {
        let rng = &mut ChaCha20Rng::seed_from_u64(seed);
        let (nonce, session) = ([seed as u8; 32], [2; 32]);
        let trustees = Scalar::random_secret(rng);
        let h = xr::Generators::of(&nonce).u.mul(&trustees);
        let issuer = xr::IssuerKey::generate(rng);
        let (public, _) = issuer.found(&nonce, &h, rng);
        let join = |_| {
            let (device, request) = xr::Device::new(&public, &session, rng);
            let [x, s] = [(); 2].map(|()| Scalar::random_secret(rng));
            let offer = issuer.offer(&public, &session, &request, &x, &s).unwrap();
            MemberKey::Xr(device.accept(&public, &offer).unwrap())
        };
        Self {
            members: (0..2).map(join).collect(),
            issuer: issuer.in_epoch(&public, []),
            public: PublicKey::Xr(public),
            nonce,
        }
    }

    /// A member's key file: it holds epochs that start at these times.
    pub fn key_file(&self, member: usize, epochs: &[(u32, u64)]) -> MemberKeyFile {
        let member_key = &self.members[member];
        let held = |(epoch, start): &(u32, u64)| HeldEpoch {
            epoch: *epoch,
            id: id(*epoch),
            start: *start,
            public: self.public.clone(),
            witness: self.issuer.witness(member_key.x()).unwrap(),
        };
        MemberKeyFile {
            group: GROUP,
            nonce: self.nonce,
            machine: "sensor-1".parse::<Name>().unwrap(),
            index: member as u32,
            key: member_key.clone(),
            device: None,
            epochs: epochs.iter().map(held).collect(),
        }
    }

    pub fn identity(&self, epochs: &[(u32, u64)], limit: Option<Limit>) -> Arc<Identity> {
        self.identity_with(epochs, limit, live_policy(Scheme::Xr))
    }

    pub fn identity_with(
        &self,
        epochs: &[(u32, u64)],
        limit: Option<Limit>,
        policy: Policy,
    ) -> Arc<Identity> {
        Arc::new(Identity::new(self.key_file(0, epochs), policy, limit))
    }

    /// A member, whose group has another id.
    pub fn identity_in(&self, group: GroupId) -> Arc<Identity> {
        let mut key = self.key_file(0, &[(0, 0)]);
        key.group = group;
        Arc::new(Identity::new(key, live_policy(Scheme::Xr), None))
    }

    /// The other member, as live machines sign.
    pub fn other_identity(&self) -> Arc<Identity> {
        let key = self.key_file(1, &[(0, 0)]);
        Arc::new(Identity::new(key, live_policy(Scheme::Xr), None))
    }
}

/// What receivers know of our group: epochs from 0 on, and when each starts.
#[derive(Clone)]
pub struct Keys {
    starts: Vec<u64>,
    prepared: Vec<Arc<VerifyingKey>>,
    has_other_group: bool,
}

static PREPARED: LazyLock<Vec<Arc<VerifyingKey>>> = LazyLock::new(|| {
    let key = |epoch| Arc::new(VerifyingKey::new(&OURS.public, id(epoch)));
    (0..3).map(key).collect()
});

impl Keys {
    pub fn of(starts: &[u64]) -> Self {
        Self {
            starts: starts.to_vec(),
            prepared: PREPARED.clone(),
            has_other_group: false,
        }
    }

    /// Those of both groups.
    pub fn of_both() -> Self {
        Self {
            has_other_group: true,
            ..Self::of(&[0])
        }
    }
}

impl KeySource for Keys {
    fn scheme(&self, group: GroupTag) -> Result<Scheme, Unknown> {
        let is_other = self.has_other_group && group == OTHER_GROUP.tag();
        match is_other || group == GROUP.tag() {
            true => Ok(Scheme::Xr),
            false => Err(Unknown::Group),
        }
    }

    fn successor_start(&self, group: GroupTag, epoch: u32) -> Result<Option<Timestamp>, Unknown> {
        self.scheme(group)?;
        match self.starts.len() > epoch as usize {
            true => Ok(self.starts.get(epoch as usize + 1).map(|at| Timestamp(*at))),
            false => Err(Unknown::Epoch),
        }
    }

    fn key(&self, _: GroupTag, epoch: u32) -> Option<Arc<VerifyingKey>> {
        self.prepared.get(epoch as usize).cloned()
    }
}
