//! What would happen without the subgroup check of each point: tests that go around it.

use super::challenge::state;
use super::{
    Device, Form, Generators, IncrementalSignature, IssuerKey, Item, Nonces, Precursor, SigningKey,
    VerifyingKey,
};
use crate::curve::{G1, Scalar};
use crate::{DecodeError, EpochId, Invalid};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

const ID: EpochId = EpochId([7; 32]);

fn member() -> (SigningKey, VerifyingKey) {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let issuer = IssuerKey::generate(&mut rng);
    let h = Generators::of(&[1; 32]).u.mul(&Scalar::from_u128(5));
    let (group, _) = issuer.found(&[1; 32], &h, &mut rng);
    let (device, request) = Device::new(&group, &[2; 32], &mut rng);
    let x = Scalar::from_u128(9);
    let offer = issuer.offer(&group, &[2; 32], &request, &x, &Scalar::from_u128(4));
    let key = device.accept(&group, &offer.unwrap()).unwrap();
    let witness = issuer.in_epoch(&group, []).witness(&x).unwrap();
    let signer = SigningKey::new(&group, ID, key, &witness).unwrap();
    (signer, VerifyingKey::new(&group, ID))
}

/// A member signs with (0, 2) added to one of T1, T2, R1, R3, and fits the challenge to it.
fn signed_with_torsion(signer: &SigningKey, place: usize) -> IncrementalSignature {
    let nonces = Nonces::random(&mut ChaCha20Rng::seed_from_u64(2));
    let mut commitments = signer.commitments(&nonces);
    commitments.points[place] = commitments.points[place].with_torsion();
    commitments.encoded = G1::to_bytes_many(&commitments.points);
    let state = state(&ID, &commitments.encoded);
    Precursor::new(state, commitments, signer.secrets(&nonces)).sign_incremental(&[b"m"])
}

/// Without the check, paths disagree: one by one, R1 is not the derived one. A batch only sees the
/// difference through the pairing, which is blind to it (and a sum of points would be, with a
/// probability of 1/3).
#[test]
fn a_batch_alone_would_accept_an_r1_with_torsion() {
    let (signer, verifier) = member();
    let signature = signed_with_torsion(&signer, 2);
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let item = Item {
        message: &[b"m"],
        form: Form::Incremental(&signature),
    };
    assert_eq!(verifier.verify_batch(&[item], &mut rng), [Ok(())]);
    let alone = verifier.verify_incremental(&[b"m"], &signature, &mut rng);
    assert_eq!(alone, Err(Invalid));
    let plain = verifier.verify(&[b"m"], signature.signature());
    assert_eq!(plain, Err(Invalid));
}

/// The pairing alone accepts it always: two encodings of one proof.
#[test]
fn the_pairing_alone_would_accept_an_r3_with_torsion() {
    let (signer, verifier) = member();
    let signature = signed_with_torsion(&signer, 3);
    let verdict = verifier.verify(&[b"m"], signature.signature());
    assert_eq!(verdict, Ok(()));
}

/// A random multiple of a point of order 3 is the identity one time in three.
#[test]
fn random_multipliers_are_no_subgroup_check() {
    let torsion = G1::generator().with_torsion() - G1::generator();
    let mut rng = ChaCha20Rng::seed_from_u64(4);
    let vanishes = |_: &u32| {
        let mut bytes = [0; 16];
        rng.fill_bytes(&mut bytes);
        torsion.mul(&Scalar::from_halves(&bytes)).is_identity()
    };
    let times = (0..300).filter(vanishes).count();
    assert!((70..130).contains(&times), "{times} of 300");
}

/// What stops all of it.
#[test]
fn none_of_them_decodes() {
    let (signer, _) = member();
    for place in 0..4 {
        let bytes = signed_with_torsion(&signer, place).to_bytes();
        let read = IncrementalSignature::from_bytes(&bytes);
        assert_eq!(read, Err(DecodeError::Subgroup), "point {place}");
    }
}
