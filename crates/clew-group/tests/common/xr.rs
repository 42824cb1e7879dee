//! A group of scheme XR with one member, from a seed, and one trustee who holds all of xi.

use super::{EPOCH, rng};
use clew_group::curve::{G1, Scalar};
use clew_group::xr::{
    Accepted, Device, Generators, IncrementalSignature, IssuerKey, MemberKey, Offer, PublicKey,
    Revocation, Signature, SigningKey, VerifyingKey,
};
use clew_group::{EpochId, Proof};
use rand_chacha::ChaCha20Rng;

pub const NONCE: [u8; 32] = [3; 32];
pub const SESSION: [u8; 32] = [4; 32];

pub struct Group {
    pub issuer: IssuerKey,
    pub xi: Scalar,
    pub proof: Proof,
    pub genesis: PublicKey,
    pub public: PublicKey,
    pub revoked: Vec<Scalar>,
    pub member: Member,
    pub rng: ChaCha20Rng,
}

/// A member's key, and what the register has of it.
#[derive(Clone)]
pub struct Member {
    pub key: MemberKey,
    pub x: Scalar,
    pub a_0: G1,
    pub c_0: G1,
}

impl Group {
    pub fn new(seed: u64) -> Self {
        let mut rng = rng(seed);
        let issuer = IssuerKey::generate(&mut rng);
        let xi = Scalar::random(&mut rng);
        let h = Generators::of(&NONCE).u.mul(&xi);
        let (genesis, proof) = issuer.found(&NONCE, &h, &mut rng);
        let member = join(&issuer, &genesis, &genesis, &[], &mut rng);
        Self {
            issuer,
            xi,
            proof,
            public: genesis.clone(),
            genesis,
            revoked: vec![],
            member,
            rng,
        }
    }

    pub fn join(&mut self) -> Member {
        let (revoked, rng) = (&self.revoked, &mut self.rng);
        join(&self.issuer, &self.genesis, &self.public, revoked, rng)
    }

    pub fn signer(&self) -> SigningKey {
        SigningKey::new(&self.public, EPOCH, self.member.key.clone()).unwrap()
    }

    pub fn verifier(&self) -> VerifyingKey {
        VerifyingKey::new(&self.public, EPOCH)
    }

    pub fn verifier_of(&self, id: EpochId) -> VerifyingKey {
        VerifyingKey::new(&self.public, id)
    }

    pub fn sign(&self, message: &[u8]) -> Signature {
        self.signer().precursor(&mut rng(1)).sign(&[message])
    }

    pub fn sign_incremental(&self, message: &[u8]) -> IncrementalSignature {
        let precursor = self.signer().precursor(&mut rng(1));
        precursor.sign_incremental(&[message])
    }

    /// A = T2 / T1^xi.
    pub fn open(&self, signature: &Signature) -> G1 {
        *signature.t2() - signature.t1().mul(&self.xi)
    }

    /// Revokes x; the public key moves on.
    pub fn revoke(&mut self, x: &Scalar) -> Revocation {
        let revocation = self.issuer.revoke(&self.public, x).unwrap();
        self.public = self.public.after(&revocation).unwrap();
        self.revoked.push(*x);
        revocation
    }

    /// Revokes another member; the public key and the member move to the next epoch.
    pub fn revoke_somebody(&mut self) -> (Revocation, Member) {
        let other = self.join();
        let revocation = self.revoke(&other.x);
        self.member.key = self.member.key.after(&revocation).unwrap();
        (revocation, other)
    }
}

fn join(
    issuer: &IssuerKey,
    genesis: &PublicKey,
    now: &PublicKey,
    revoked: &[Scalar],
    rng: &mut ChaCha20Rng,
) -> Member {
    let x = Scalar::random(rng);
    let (accepted, offer) = up_to_s(issuer, genesis, &x, rng);
    let credential = issuer
        .scale(revoked)
        .unwrap()
        .credential(&offer.credential(), &x);
    Member {
        a_0: accepted.credential(),
        c_0: accepted.commitment(),
        key: accepted.finish(now, &credential).unwrap(),
        x,
    }
}

/// A join up to where the device signs S.
pub fn up_to_s(
    issuer: &IssuerKey,
    genesis: &PublicKey,
    x: &Scalar,
    rng: &mut ChaCha20Rng,
) -> (Accepted, Offer) {
    let (device, request) = Device::new(genesis, &SESSION, rng);
    let offer = issuer.offer(genesis, &SESSION, &request, x, rng).unwrap();
    (device.accept(genesis, &offer).unwrap(), offer)
}
