//! What a group signature promises, and every way to break one.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod common;

use clew_group::bbs04::{
    INCREMENTAL_BYTES, IncrementalSignature, IssuerKey, MemberKey, Nonces, OpenerKey,
    PUBLIC_KEY_BYTES, PublicKey, REVOCATION_BYTES, Revocation, SIGNATURE_BYTES, Signature,
    SigningKey,
};
use clew_group::curve::Scalar;
use clew_group::{DecodeError, Invalid, Revoked};
use common::points::{bad_g1, bad_g2, bad_scalar, order};
use common::{EPOCH, Group, rng};
use std::collections::BTreeSet;

#[test]
fn a_signature_verifies_for_its_message_only() {
    let group = Group::new(1);
    let (signature, verifier) = (group.sign(b"message"), group.verifier());
    assert_eq!(verifier.verify(&[b"message"], &signature), Ok(()));
    assert_eq!(verifier.verify(&[b"mess", b"", b"age"], &signature), Ok(()));
    assert_eq!(verifier.verify(&[b"massage"], &signature), Err(Invalid));
    assert_eq!(verifier.verify(&[b""], &signature), Err(Invalid));
}

#[test]
fn a_signature_verifies_in_its_group_and_epoch_only() {
    let mut group = Group::new(2);
    let signature = group.sign(b"m");
    let before = group.verifier();
    assert_eq!(
        Group::new(3).verifier().verify(&[b"m"], &signature),
        Err(Invalid)
    );
    group.revoke_somebody();
    assert_eq!(group.verifier().verify(&[b"m"], &signature), Err(Invalid));
    assert_eq!(before.verify(&[b"m"], &group.sign(b"m")), Err(Invalid));
}

/// Every bit of a signature matters: a flip does not decode, or does not verify.
#[test]
fn every_flipped_bit_is_found() {
    let group = Group::new(4);
    let verifier = group.verifier();
    let good = group.sign(b"m").to_bytes();
    // All bits of c and of one bit per byte elsewhere: the whole would take minutes.
    let bits = (0..8 * SIGNATURE_BYTES).filter(|i| i % 8 == i / 8 % 8 || (1152..1408).contains(i));
    for i in bits {
        let mut bytes = good;
        bytes[i / 8] ^= 0x80 >> (i % 8);
        if let Ok(signature) = Signature::from_bytes(&bytes) {
            assert_eq!(
                verifier.verify(&[b"m"], &signature),
                Err(Invalid),
                "bit {i}"
            );
        }
    }
}

#[test]
fn incremental_form_is_the_same_signature() {
    let group = Group::new(5);
    let verifier = group.verifier();
    let incremental = group.sign_incremental(b"m");
    let mut order = rng(7);
    assert_eq!(
        verifier.verify_incremental(&[b"m"], &incremental, &mut order),
        Ok(())
    );
    assert_eq!(
        verifier.verify_incremental(&[b"n"], &incremental, &mut order),
        Err(Invalid)
    );
    assert_eq!(incremental.signature(), &group.sign(b"m"));
    let bytes = incremental.to_bytes();
    assert_eq!(IncrementalSignature::from_bytes(&bytes), Ok(incremental));
    assert_eq!(&bytes[..SIGNATURE_BYTES], group.sign(b"m").to_bytes());
}

/// Each R in turn is replaced by the signer itself, and challenge and responses made to fit: the
/// hash test passes, four equations hold, and the one that does not must be found in whatever order
/// they are tried.
#[test]
fn each_wrong_commitment_is_found_in_any_order() {
    let group = Group::new(6);
    let verifier = group.verifier();
    let good = group
        .signer()
        .precursor_from(nonces())
        .sign_incremental(&[b"m"]);
    for last in [383, 431, 1007, 1055, 1103] {
        let mut bytes = good.to_bytes();
        bytes[last] ^= 1;
        refit(&mut bytes, &group, b"m");
        let forged = IncrementalSignature::from_bytes(&bytes).unwrap();
        for seed in 0..8 {
            let verdict = verifier.verify_incremental(&[b"m"], &forged, &mut rng(seed));
            assert_eq!(verdict, Err(Invalid), "R that ends at {last}, seed {seed}");
        }
    }
    // What is refitted without any change is a valid signature: the refitting itself is right.
    let mut bytes = good.to_bytes();
    refit(&mut bytes, &group, b"another message");
    let refitted = IncrementalSignature::from_bytes(&bytes).unwrap();
    let verdict = verifier.verify_incremental(&[b"another message"], &refitted, &mut rng(1));
    assert_eq!(verdict, Ok(()));
}

fn nonces() -> Nonces {
    Nonces::random(&mut rng(77))
}

/// Writes the c that the R's in `bytes` hash to, and the responses of the signer to it.
fn refit(bytes: &mut [u8; INCREMENTAL_BYTES], group: &Group, message: &[u8]) {
    use sha2::{Digest, Sha256};
    let mut hash = Sha256::new_with_prefix(b"clew-bbs04-sig-1");
    hash.update(EPOCH);
    hash.update(&bytes[..144]);
    hash.update(&bytes[336..]);
    hash.update(message);
    let mut digest: [u8; 32] = hash.finalize().into();
    digest[0] &= 0x3f;
    let c = Scalar::from_bytes(&digest).unwrap();
    let x = Scalar::from_bytes(&group.member.to_bytes()[48..]).unwrap();
    let n = nonces();
    let scalars = [
        c,
        n.r_alpha + c * n.alpha,
        n.r_beta + c * n.beta,
        n.r_x + c * x,
        n.r_delta1 + c * x * n.alpha,
        n.r_delta2 + c * x * n.beta,
    ];
    for (place, scalar) in bytes[144..336].chunks_exact_mut(32).zip(scalars) {
        place.copy_from_slice(&scalar.to_bytes());
    }
}

#[test]
fn signatures_of_one_member_share_nothing() {
    let group = Group::new(8);
    let signer = group.signer();
    let mut rng = rng(9);
    let mut seen = BTreeSet::new();
    for _ in 0..16 {
        let bytes = signer.precursor(&mut rng).sign(&[b"m"]).to_bytes();
        let (points, scalars) = bytes.split_at(144);
        assert!(points.chunks(48).all(|p| seen.insert(p.to_vec())));
        assert!(scalars.chunks(32).all(|s| seen.insert(s.to_vec())));
    }
}

#[test]
fn opening_names_the_signer_in_every_epoch() {
    let mut group = Group::new(10);
    let tag = group.public.tag(&group.member.credential());
    let other = group.issuer.issue_random(&group.public, &mut group.rng);
    assert_ne!(group.public.tag(&other.credential()), tag);
    for _ in 0..3 {
        let opened = group.opener.open(&group.sign(b"m"));
        assert_eq!(opened, group.member.credential());
        assert_eq!(group.public.tag(&opened), tag);
        group.revoke_somebody();
    }
}

#[test]
fn revocation_locks_out_one_member_and_nobody_else() {
    let mut group = Group::new(11);
    let victim = group.issuer.issue_random(&group.public, &mut group.rng);
    let revocation = group.revocation_of(&victim);
    let next = group.public.after(&revocation).unwrap();

    assert_eq!(victim.after(&revocation).unwrap_err(), Revoked);
    assert!(
        SigningKey::new(&next, EPOCH, victim).is_err(),
        "the old key does not fit the new epoch"
    );

    let updated = group.member.after(&revocation).unwrap();
    let signer = SigningKey::new(&next, EPOCH, updated).unwrap();
    let signature = signer.precursor(&mut rng(1)).sign(&[b"m"]);
    let verifier = clew_group::bbs04::VerifyingKey::new(&next, EPOCH);
    assert_eq!(verifier.verify(&[b"m"], &signature), Ok(()));
    assert_eq!(group.verifier().verify(&[b"m"], &signature), Err(Invalid));
    assert!(next.check_descends_from(&group.public).is_ok());
}

#[test]
fn a_member_issued_later_equals_one_updated() {
    let mut group = Group::new(12);
    let x = Scalar::from_bytes(&group.member.to_bytes()[48..]).unwrap();
    group.revoke_somebody();
    group.revoke_somebody();
    let fresh = group.issuer.issue(&group.public, x).unwrap();
    assert_eq!(fresh.to_bytes(), group.member.to_bytes());
}

#[test]
fn a_bad_group_update_is_refused() {
    let mut group = Group::new(13);
    let genesis = group.public.clone();
    let (good, _) = group.revoke_somebody();
    assert!(genesis.after(&good).is_ok());
    let (second, _) = group.revoke_somebody();
    assert!(
        genesis.after(&second).is_err(),
        "a revocation of another epoch"
    );

    // Each of the four values replaced by the second revocation's.
    let (a, b) = (good.to_bytes(), second.to_bytes());
    for range in [0..32, 32..80, 80..176, 176..272] {
        let mut bytes = a;
        bytes[range.clone()].copy_from_slice(&b[range.clone()]);
        let forged = Revocation::from_bytes(&bytes).unwrap();
        assert!(genesis.after(&forged).is_err(), "bytes {range:?}");
    }
}

#[test]
fn a_public_key_that_does_not_descend_is_refused() {
    let mut group = Group::new(14);
    let genesis = group.public.clone();
    group.revoke_somebody();
    assert!(group.public.check_descends_from(&genesis).is_ok());
    assert!(genesis.check_descends_from(&genesis).is_ok());
    assert!(
        genesis.check_descends_from(&group.public).is_err(),
        "not an epoch 0"
    );

    let (now, first) = (group.public.to_bytes(), genesis.to_bytes());
    // g1, g2, w, lift of epoch 0 in a key of epoch 1; then h, u, v of another group.
    for range in [0..48, 192..288, 288..384, 384..480] {
        let mut bytes = now;
        bytes[range.clone()].copy_from_slice(&first[range.clone()]);
        let forged = PublicKey::from_bytes(&bytes).unwrap();
        assert!(
            forged.check_descends_from(&genesis).is_err(),
            "bytes {range:?}"
        );
    }
    let other = Group::new(15).public.to_bytes();
    for range in [96..144, 144..192] {
        let mut bytes = now;
        bytes[range.clone()].copy_from_slice(&other[range.clone()]);
        let forged = PublicKey::from_bytes(&bytes).unwrap();
        assert!(
            forged.check_descends_from(&genesis).is_err(),
            "bytes {range:?}"
        );
    }
}

#[test]
fn a_bad_member_key_does_not_sign() {
    let group = Group::new(16);
    let other = group
        .issuer
        .issue(&group.public, Scalar::from_u128(5))
        .unwrap();
    let mut bytes = group.member.to_bytes();
    bytes[..48].copy_from_slice(&other.credential().to_bytes());
    let mixed = MemberKey::from_bytes(bytes.as_slice()).unwrap();
    assert!(SigningKey::new(&group.public, EPOCH, mixed).is_err());
    assert!(SigningKey::new(&Group::new(17).public, EPOCH, group.member.clone()).is_err());
}

#[test]
fn an_opener_key_knows_its_group() {
    let group = Group::new(18);
    assert!(group.opener.opens(&group.public));
    assert!(!group.opener.opens(&Group::new(19).public));
}

/// Each point of each encoding: off the curve, outside the subgroup, at infinity, uncompressed flag.
#[test]
fn bad_points_are_refused_everywhere() {
    let group = Group::new(20);
    let mut revoked = Group::new(20);
    let revocation = revoked.revoke_somebody().0.to_bytes();
    let signature = group.sign(b"m").to_bytes();
    let incremental = group.sign_incremental(b"m").to_bytes();
    for at in [0, 48, 96] {
        bad_g1(&signature, at, |b| Signature::from_bytes(b).err());
        bad_g1(&incremental, at, |b| {
            IncrementalSignature::from_bytes(b).err()
        });
    }
    let public = group.public.to_bytes();
    for at in [0, 48, 96, 144] {
        bad_g1(&public, at, |b| PublicKey::from_bytes(b).err());
    }
    for at in [192, 288, 384] {
        bad_g2(&public, at, |b| PublicKey::from_bytes(b).err());
    }
    bad_g1(group.member.to_bytes().as_slice(), 0, |b| {
        MemberKey::from_bytes(b).err()
    });
    bad_g1(&revocation, 32, |b| Revocation::from_bytes(b).err());
    bad_g2(&revocation, 80, |b| Revocation::from_bytes(b).err());
    bad_g2(&revocation, 176, |b| Revocation::from_bytes(b).err());
}

#[test]
fn scalars_that_are_not_reduced_are_refused_everywhere() {
    let order = order();
    let group = Group::new(21);
    let revocation = Group::new(21).revoke_somebody().0.to_bytes();
    let signature = group.sign(b"m").to_bytes();
    for at in (144..SIGNATURE_BYTES).step_by(32) {
        bad_scalar(&signature, at, &order, |b| Signature::from_bytes(b).err());
    }
    let mut wide_challenge = signature;
    wide_challenge[144..176].fill(0);
    wide_challenge[144] = 0x40; // 2^254 is below r, but no digest has that bit
    assert_eq!(
        Signature::from_bytes(&wide_challenge),
        Err(DecodeError::Scalar)
    );
    bad_scalar(group.member.to_bytes().as_slice(), 48, &order, |b| {
        MemberKey::from_bytes(b).err()
    });
    bad_scalar(&revocation, 0, &order, |b| Revocation::from_bytes(b).err());
    bad_scalar(group.issuer.to_bytes().as_slice(), 0, &order, |b| {
        IssuerKey::from_bytes(b).err()
    });
    for at in [0, 32] {
        let key = group.opener.to_bytes();
        bad_scalar(key.as_slice(), at, &order, |b| {
            OpenerKey::from_bytes(b).err()
        });
        bad_scalar(key.as_slice(), at, &[0; 32], |b| {
            OpenerKey::from_bytes(b).err()
        });
    }
    assert_eq!(
        IssuerKey::from_bytes(&[0; 32]).err(),
        Some(DecodeError::Scalar)
    );
}

#[test]
fn other_lengths_are_refused() {
    let group = Group::new(22);
    let long = [0; 2048];
    for n in [
        0,
        1,
        SIGNATURE_BYTES - 1,
        SIGNATURE_BYTES + 1,
        INCREMENTAL_BYTES,
    ] {
        assert_eq!(Signature::from_bytes(&long[..n]), Err(DecodeError::Length));
    }
    for n in [
        0,
        47,
        768,
        SIGNATURE_BYTES,
        INCREMENTAL_BYTES - 1,
        INCREMENTAL_BYTES + 1,
    ] {
        assert_eq!(
            IncrementalSignature::from_bytes(&long[..n]),
            Err(DecodeError::Length)
        );
    }
    for n in [0, PUBLIC_KEY_BYTES - 1, PUBLIC_KEY_BYTES + 1] {
        assert_eq!(PublicKey::from_bytes(&long[..n]), Err(DecodeError::Length));
    }
    for n in [0, REVOCATION_BYTES - 1, REVOCATION_BYTES + 1] {
        assert_eq!(Revocation::from_bytes(&long[..n]), Err(DecodeError::Length));
    }
    assert_eq!(
        MemberKey::from_bytes(&long[..79]).err(),
        Some(DecodeError::Length)
    );
    assert_eq!(
        OpenerKey::from_bytes(&long[..63]).err(),
        Some(DecodeError::Length)
    );
    let public = group.public.to_bytes();
    assert_eq!(PublicKey::from_bytes(&public), Ok(group.public));
}

#[test]
fn secrets_are_not_printed() {
    let group = Group::new(23);
    let precursor = group.signer().precursor(&mut rng(1));
    let printed = format!(
        "{:?} {:?} {:?} {:?} {:?}",
        group.issuer,
        group.opener,
        group.member,
        group.signer(),
        precursor
    );
    assert_eq!(
        printed,
        "IssuerKey(..) OpenerKey(..) MemberKey(..) SigningKey(..) Precursor(..)"
    );
}
