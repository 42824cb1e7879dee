//! Groups of both schemes, with as many members as a test asks for.

use std::sync::Arc;

use clew_group::curve::Scalar;
use clew_group::{EpochId, MemberKey, PublicKey, Scheme, SigningKey, VerifyingKey, bbs04, xr};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

pub const BOTH: [Scheme; 2] = [Scheme::Bbs04, Scheme::Xr];

/// A group in epoch 0.
pub struct Group {
    pub public: PublicKey,
    pub id: EpochId,
    pub members: Vec<MemberKey>,
}

impl Group {
    pub fn new(scheme: Scheme, members: usize) -> Self {
        let rng = &mut ChaCha20Rng::seed_from_u64(43);
        let (public, members) = match scheme {
            Scheme::Bbs04 => bbs04_group(members, rng),
            Scheme::Xr => xr_group(members, rng),
        };
        let id = EpochId([8; 32]);
        Self {
            public,
            id,
            members,
        }
    }

    pub fn signer(&self, member: usize) -> SigningKey {
        SigningKey::new(&self.public, self.id, self.members[member].clone()).unwrap()
    }

    pub fn verifier(&self) -> Arc<VerifyingKey> {
        Arc::new(VerifyingKey::new(&self.public, self.id))
    }
}

fn bbs04_group(members: usize, rng: &mut ChaCha20Rng) -> (PublicKey, Vec<MemberKey>) {
    let (_, opening) = bbs04::OpenerKey::generate(&[1; 32], rng);
    let (issuer, issuing) = bbs04::IssuerKey::generate(rng);
    let public = bbs04::PublicKey::genesis(&opening, &issuing);
    let member = |_| MemberKey::Bbs04(issuer.issue_random(&public, rng));
    let members = (0..members).map(member).collect();
    (PublicKey::Bbs04(public), members)
}

fn xr_group(members: usize, rng: &mut ChaCha20Rng) -> (PublicKey, Vec<MemberKey>) {
    let nonce = [1; 32];
    let h = xr::Generators::of(&nonce)
        .u
        .mul(&Scalar::random_secret(rng));
    let issuer = xr::IssuerKey::generate(rng);
    let (public, _) = issuer.found(&nonce, &h, rng);
    let join = |_| {
        let (device, request) = xr::Device::new(&public, &[2; 32], rng);
        let x = Scalar::random_secret(rng);
        let offer = issuer.offer(&public, &[2; 32], &request, &x, rng).unwrap();
        let accepted = device.accept(&public, &offer).unwrap();
        let credential = issuer
            .scale([])
            .unwrap()
            .credential(&offer.credential(), &x);
        MemberKey::Xr(accepted.finish(&public, &credential).unwrap())
    };
    let members = (0..members).map(join).collect();
    (PublicKey::Xr(public), members)
}
