//! A group with one member, from a seed.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

pub mod points;
pub mod quorum;
pub mod textbook;
pub mod xr;
pub mod xr_textbook;

use clew_group::EpochId;
use clew_group::bbs04::{
    IncrementalSignature, IssuerKey, MemberKey, OpenerKey, PublicKey, Revocation, Signature,
    SigningKey, VerifyingKey,
};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

pub fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// The id of every epoch in tests that do not look at it.
pub const EPOCH: EpochId = EpochId([0xe0; 32]);

pub struct Group {
    pub issuer: IssuerKey,
    pub opener: OpenerKey,
    pub public: PublicKey,
    pub member: MemberKey,
    pub rng: ChaCha20Rng,
}

impl Group {
    pub fn new(seed: u64) -> Self {
        let mut rng = rng(seed);
        let (opener, opening) = OpenerKey::generate(&[3; 32], &mut rng);
        let (issuer, issuing) = IssuerKey::generate(&mut rng);
        let public = PublicKey::genesis(&opening, &issuing);
        let member = issuer.issue_random(&public, &mut rng);
        Self {
            issuer,
            opener,
            public,
            member,
            rng,
        }
    }

    pub fn signer(&self) -> SigningKey {
        SigningKey::new(&self.public, EPOCH, self.member.clone()).unwrap()
    }

    pub fn verifier(&self) -> VerifyingKey {
        VerifyingKey::new(&self.public, EPOCH)
    }

    pub fn sign(&self, message: &[u8]) -> Signature {
        self.signer().precursor(&mut rng(1)).sign(&[message])
    }

    pub fn sign_incremental(&self, message: &[u8]) -> IncrementalSignature {
        self.signer()
            .precursor(&mut rng(1))
            .sign_incremental(&[message])
    }

    /// Enrols and revokes another member; the public key and the member move to the next epoch.
    pub fn revoke_somebody(&mut self) -> (Revocation, MemberKey) {
        let other = self.issuer.issue_random(&self.public, &mut self.rng);
        let revocation = self.revocation_of(&other);
        self.public = self.public.after(&revocation).unwrap();
        self.member = self.member.after(&revocation).unwrap();
        (revocation, other)
    }

    pub fn revocation_of(&self, member: &MemberKey) -> Revocation {
        let x = clew_group::curve::Scalar::from_bytes(&member.to_bytes()[48..]).unwrap();
        self.issuer.revoke(&self.public, x).unwrap()
    }
}
