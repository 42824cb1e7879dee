//! A group of scheme XR with one member, from a seed, and one trustee who holds all of xi.

use super::{EPOCH, REBASED, rng};
use clew_group::curve::{G1, Scalar};
use clew_group::xr::{
    Device, Generators, IncrementalSignature, IssuerKey, JoinRequest, MemberKey, Offer, PublicKey,
    Signature, SigningKey, VerifyingKey,
};
use clew_group::{EpochId, EpochIssuer, Invalid, Proof, Step, Witness};
use rand_chacha::ChaCha20Rng;

pub const NONCE: [u8; 32] = [3; 32];
pub const SESSION: [u8; 32] = [4; 32];

pub struct Group {
    pub issuer: IssuerKey,
    pub xi: Scalar,
    pub proof: Proof,
    pub genesis: PublicKey,
    pub public: PublicKey,
    pub epoch: u32,
    /// All steps since epoch 0, rebases aside.
    pub steps: Vec<Step>,
    pub revoked: Vec<Scalar>,
    pub member: Member,
    pub rng: ChaCha20Rng,
}

/// A member's key, its witness in some epoch, and what the register has of it.
#[derive(Clone)]
pub struct Member {
    pub key: MemberKey,
    pub witness: Witness,
    pub x: Scalar,
    pub a: G1,
    pub c: G1,
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
            epoch: 0,
            steps: vec![],
            revoked: vec![],
            member,
            rng,
        }
    }

    pub fn join(&mut self) -> Member {
        let (revoked, rng) = (&self.revoked, &mut self.rng);
        join(&self.issuer, &self.genesis, &self.public, revoked, rng)
    }

    /// The issuer in the present epoch.
    pub fn in_epoch(&self) -> EpochIssuer {
        self.issuer
            .in_epoch(&self.public, self.revoked.iter().copied())
    }

    pub fn signer(&self) -> SigningKey {
        self.signer_of(&self.member).unwrap()
    }

    pub fn signer_of(&self, member: &Member) -> Result<SigningKey, Invalid> {
        SigningKey::new(&self.public, EPOCH, member.key.clone(), &member.witness)
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

    /// B = T2 / T1^xi.
    pub fn open(&self, signature: &Signature) -> G1 {
        *signature.t2() - signature.t1().mul(&self.xi)
    }

    /// Whether a judge says that `b` is of this member, in this epoch.
    pub fn is_of(&self, b: &G1, member: &Member) -> bool {
        let Member { a, c, x, .. } = member;
        self.public.certifies(a, c, x) && self.public.names(b, c, x)
    }

    /// Revokes x; the public key moves on.
    pub fn revoke(&mut self, x: &Scalar) -> Step {
        let step = self.issuer.revoke(&self.public, x).unwrap();
        self.public = self.public.after(&step).unwrap();
        self.epoch += 1;
        self.steps.push(step.clone());
        self.revoked.push(*x);
        step
    }

    /// Revokes another member; the public key and the member move to the next epoch.
    pub fn revoke_somebody(&mut self) -> (Step, Member) {
        let other = self.join();
        let step = self.revoke(&other.x);
        self.member.update(core::slice::from_ref(&step));
        (step, other)
    }

    /// The next epoch, with a V of its own, in which these are revoked. The member moves on.
    pub fn rebase(&mut self, revoked: &[Scalar]) {
        self.epoch += 1;
        self.revoked.extend(revoked);
        let v = PublicKey::rebased_v(&NONCE, self.epoch, &REBASED);
        self.public = self.public.in_epoch(&v).unwrap();
        if let Ok(witness) = self.in_epoch().witness(&self.member.x) {
            self.member.witness = witness;
        }
    }
}

impl Member {
    pub fn update(&mut self, steps: &[Step]) {
        self.witness = self.witness.after(&self.x, steps).unwrap();
    }

    /// B in the epoch of the witness.
    pub fn base(&self) -> G1 {
        self.a + G1::from_bytes(&self.witness.to_bytes()).unwrap()
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
    let (key, request, offer) = accepted(issuer, genesis, &x, rng);
    let issuer = issuer.in_epoch(now, revoked.iter().copied());
    Member {
        key,
        witness: issuer.witness(&x).unwrap(),
        x,
        a: *offer.a(),
        c: offer.commitment(genesis, &request),
    }
}

/// A join up to where the device signs S.
pub fn accepted(
    issuer: &IssuerKey,
    genesis: &PublicKey,
    x: &Scalar,
    rng: &mut ChaCha20Rng,
) -> (MemberKey, JoinRequest, Offer) {
    let (device, request) = Device::new(genesis, &SESSION, rng);
    let s = Scalar::random(rng);
    let offer = issuer.offer(genesis, &SESSION, &request, x, &s).unwrap();
    let key = device.accept(genesis, &offer).unwrap();
    (key, request, offer)
}
