//! A group of scheme BBS04 with one member, from a seed.
#![allow(dead_code, reason = "each test file uses its part")]
pub mod points;
pub mod quorum;
pub mod script;
pub mod textbook;
pub mod xr;
pub mod xr_textbook;

use clew_group::bbs04::{
    IncrementalSignature, IssuerKey, MemberKey, OpenerKey, PublicKey, Signature, SigningKey,
    VerifyingKey,
};
use clew_group::curve::Scalar;
use clew_group::{EpochId, EpochIssuer, Witness};

/// The id of the record of any rebase.
#[allow(dead_code, reason = "each test program uses its part")]
pub const REBASED: EpochId = EpochId([0x5e; 32]);

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

pub fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// The id of every epoch in tests that do not look at it.
pub const EPOCH: EpochId = EpochId([0xe0; 32]);

pub const NONCE: [u8; 32] = [3; 32];

pub struct Group {
    pub issuer: IssuerKey,
    pub opener: OpenerKey,
    pub genesis: PublicKey,
    pub public: PublicKey,
    pub epoch: u32,
    pub revoked: Vec<Scalar>,
    pub member: Member,
    pub rng: ChaCha20Rng,
}

/// A member's key, and its witness in some epoch.
#[derive(Clone)]
pub struct Member {
    pub key: MemberKey,
    pub witness: Witness,
}

impl Group {
    pub fn new(seed: u64) -> Self {
        let mut rng = rng(seed);
        let (opener, opening) = OpenerKey::generate(&NONCE, &mut rng);
        let (issuer, issuing) = IssuerKey::generate(&mut rng);
        let public = PublicKey::genesis(&NONCE, &opening, &issuing);
        let key = issuer.issue_random(&mut rng);
        let witness = issuer.in_epoch(&public, []).witness(key.x()).unwrap();
        Self {
            issuer,
            opener,
            genesis: public.clone(),
            public,
            epoch: 0,
            revoked: vec![],
            member: Member { key, witness },
            rng,
        }
    }

    /// The issuer in the present epoch.
    pub fn in_epoch(&self) -> EpochIssuer {
        self.issuer
            .in_epoch(&self.public, self.revoked.iter().copied())
    }

    pub fn join(&mut self) -> Member {
        let key = self.issuer.issue_random(&mut self.rng);
        let witness = self.in_epoch().witness(key.x()).unwrap();
        Member { key, witness }
    }

    /// The next epoch, in which these are revoked. The group's member moves on.
    pub fn rebase(&mut self, revoked: &[Scalar]) {
        self.epoch += 1;
        self.revoked.extend(revoked);
        let v = PublicKey::rebased_v(&NONCE, self.epoch, &REBASED);
        self.public = self.public.in_epoch(&v).unwrap();
        if let Ok(witness) = self.in_epoch().witness(self.member.key.x()) {
            self.member.witness = witness;
        }
    }

    /// Enrols another member and revokes it.
    pub fn revoke_somebody(&mut self) -> Member {
        let other = self.join();
        self.rebase(&[*other.key.x()]);
        other
    }

    pub fn signer(&self) -> SigningKey {
        self.signer_of(&self.member).unwrap()
    }

    pub fn signer_of(&self, member: &Member) -> Result<SigningKey, clew_group::Invalid> {
        SigningKey::new(&self.public, EPOCH, member.key.clone(), &member.witness)
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
}
