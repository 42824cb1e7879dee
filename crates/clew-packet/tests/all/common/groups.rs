//! Groups of both schemes, with as many members as a test asks for.

use std::sync::Arc;

use clew_group::curve::Scalar;
use clew_group::{
    EpochId, EpochIssuer, MemberKey, PublicKey, Scheme, SigningKey, VerifyingKey, bbs04, xr,
};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

pub const BOTH: [Scheme; 2] = [Scheme::Bbs04, Scheme::Xr];

/// A group in epoch 0.
pub struct Group {
    pub public: PublicKey,
    pub id: EpochId,
    issuer: EpochIssuer,
    members: Vec<MemberKey>,
}

impl Group {
    pub fn new(scheme: Scheme, members: usize) -> Self {
        let rng = &mut ChaCha20Rng::seed_from_u64(43);
        match scheme {
            Scheme::Bbs04 => Self::of_bbs04(members, rng),
            Scheme::Xr => Self::of_xr(members, rng),
        }
    }

    pub fn signer(&self, member: usize) -> SigningKey {
        let key = &self.members[member];
        let witness = self.issuer.witness(key.x()).unwrap();
        SigningKey::new(&self.public, self.id, key.clone(), &witness).unwrap()
    }

    pub fn verifier(&self) -> Arc<VerifyingKey> {
        Arc::new(VerifyingKey::new(&self.public, self.id))
    }

    fn of_bbs04(members: usize, rng: &mut ChaCha20Rng) -> Self {
        let nonce = [1; 32];
        let (_, opening) = bbs04::OpenerKey::generate(&nonce, rng);
        let (issuer, issuing) = bbs04::IssuerKey::generate(rng);
        let public = bbs04::PublicKey::genesis(&nonce, &opening, &issuing);
        let member = |_| MemberKey::Bbs04(issuer.issue_random(rng));
        Self {
            members: (0..members).map(member).collect(),
            issuer: issuer.in_epoch(&public, []),
            public: PublicKey::Bbs04(public),
            id: EpochId([8; 32]),
        }
    }

    fn of_xr(members: usize, rng: &mut ChaCha20Rng) -> Self {
        let (nonce, session) = ([1; 32], [2; 32]);
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
            members: (0..members).map(join).collect(),
            issuer: issuer.in_epoch(&public, []),
            public: PublicKey::Xr(public),
            id: EpochId([8; 32]),
        }
    }
}
