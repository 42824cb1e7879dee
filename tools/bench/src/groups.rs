//! What several programs measure on: packets, and a group of scheme XR.

use crate::xr_textbook::{self, Gpk, Key};
use clew_group::curve::{G1, Scalar};
use clew_group::quorum::Quorum;
use clew_group::xr::{
    Device, Generators, INCREMENTAL_BYTES, IncrementalSignature, IssuerKey, MemberKey, Nonces,
    Offer, PublicKey, Signature, SigningKey, VerifyingKey,
};
use clew_group::{EpochId, Witness};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

/// Clue's packet: with its signature, time and window digest it fills 1500 bytes.
pub const PACKET: &[u8] = &[0xa5; 1277];

/// A message that was not signed.
pub const OTHER: &[u8] = b"another packet";

/// The id of the one epoch.
pub const EPOCH: EpochId = EpochId([0xe0; 32]);

/// Of every group that is made in memory.
pub const NONCE: [u8; 32] = [7; 32];

/// Names every join.
pub const SESSION: [u8; 32] = [8; 32];

/// What a published figure comes from.
pub const PROTOTYPE: &str = "prototype";

/// The machine of the prototype's figures.
pub const PROTOTYPE_CAVEAT: &str = "throw-away code of the design on blst, decoded points; Zen 5 \
     virtual machine, blst-g1-mul 58.8 there";

pub fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// A group of scheme XR with one member.
pub struct XrGroup {
    pub issuer: IssuerKey,
    pub public: PublicKey,
    pub member: MemberKey,
    pub witness: Witness,
    pub signer: SigningKey,
    pub verifier: VerifyingKey,
}

impl XrGroup {
    pub fn new() -> Self {
        let mut rng = rng(1);
        let h = Generators::of(&NONCE).u.mul(&Scalar::random(&mut rng));
        let issuer = IssuerKey::generate(&mut rng);
        let (public, _) = issuer.found(&NONCE, &h, &mut rng);
        let (device, offer) = offered(&issuer, &public, &mut rng);
        let member = device.accept(&public, &offer).expect("an honest issuer");
        let witness = issuer.in_epoch(&public, []).witness(member.x());
        let witness = witness.expect("nobody is revoked");
        let signer = SigningKey::new(&public, EPOCH, member.clone(), &witness);
        Self {
            signer: signer.expect("the issuer's own key"),
            verifier: VerifyingKey::new(&public, EPOCH),
            issuer,
            public,
            member,
            witness,
        }
    }

    /// The signature over [`PACKET`] from these nonces, in both forms.
    pub fn sign(&self, seed: u64) -> (Signature, IncrementalSignature) {
        let signed = self.signer.precursor(&mut rng(seed));
        let signed = signed.sign_incremental(&[PACKET]);
        (signed.signature().clone(), signed)
    }

    /// What anybody can send who knows the scheme and no member key: all of it fits but the pairing.
    pub fn by_stranger(&self, seed: u64) -> IncrementalSignature {
        let mut rng = rng(seed);
        let key = Key {
            b: G1::generator(),
            x: Scalar::random(&mut rng),
            y: Scalar::random(&mut rng),
        };
        let gpk = Gpk::of(&NONCE, &self.public, EPOCH);
        let bytes = xr_textbook::sign(&gpk, &key, &Nonces::random(&mut rng), PACKET);
        IncrementalSignature::from_bytes(&bytes).expect("points and scalars")
    }

    /// A good signature whose R1 was replaced and its challenge made to fit, which anybody can do:
    /// neither equation holds.
    pub fn with_other_r1(&self, seed: u64) -> IncrementalSignature {
        let bytes = other_r1(self.sign(seed).1.to_bytes(), PACKET);
        IncrementalSignature::from_bytes(&bytes).expect("points and scalars")
    }
}

/// The encoded signature over `message` with another R1, and a challenge that fits it.
pub fn other_r1(mut bytes: [u8; INCREMENTAL_BYTES], message: &[u8]) -> [u8; INCREMENTAL_BYTES] {
    let r1 = xr_textbook::g1(&bytes[288..]) + G1::generator();
    bytes[288..].copy_from_slice(&r1.to_bytes());
    let transcript = [0, 48, 288, 96].map(|at| bytes[at..][..48].try_into().expect("48 bytes"));
    let c = xr_textbook::challenge(&EPOCH.0, &transcript, message);
    bytes[144..160].copy_from_slice(&c);
    bytes
}

/// A join up to the offer.
pub fn offered(issuer: &IssuerKey, public: &PublicKey, rng: &mut ChaCha20Rng) -> (Device, Offer) {
    let (device, request) = Device::new(public, &SESSION, rng);
    let [x, s] = [(); 2].map(|()| Scalar::random(rng));
    let offer = issuer.offer(public, &SESSION, &request, &x, &s);
    (device, offer.expect("the device knows y'"))
}

pub fn quorum(threshold: u8, trustees: u8) -> Quorum {
    Quorum::new(threshold, trustees).expect("a quorum that can be")
}
