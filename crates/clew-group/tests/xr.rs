//! What scheme XR promises: signing, joining, moving between epochs, opening, pseudonyms.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod common;

use clew_group::curve::Scalar;
use clew_group::xr::{
    Credential, Device, INCREMENTAL_BYTES, IncrementalSignature, IssuerKey, JoinRequest, MemberKey,
    Offer, PSEUDONYMOUS_BYTES, PUBLIC_KEY_BYTES, PseudonymousSignature, PublicKey,
    REVOCATION_BYTES, Revocation, SIGNATURE_BYTES, Signature, SigningKey, VerifyingKey,
};
use clew_group::{EpochId, Invalid, Proof, Revoked};
use common::xr::{Group, NONCE, SESSION, up_to_s};
use common::{EPOCH, rng};
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
    let other = Group::new(3).verifier();
    assert_eq!(other.verify(&[b"m"], &signature), Err(Invalid));
    let other_id = group.verifier_of(EpochId([0xe1; 32]));
    assert_eq!(other_id.verify(&[b"m"], &signature), Err(Invalid));
    let incremental = group.sign_incremental(b"m");
    let verdict = other_id.verify_incremental(&[b"m"], &incremental, &mut rng(1));
    assert_eq!(verdict, Err(Invalid));
    group.revoke_somebody();
    assert_eq!(group.verifier().verify(&[b"m"], &signature), Err(Invalid));
    assert_eq!(before.verify(&[b"m"], &group.sign(b"m")), Err(Invalid));
    assert_eq!(before.verify(&[b"m"], &signature), Ok(()));
}

/// Every bit of a signature matters: a flip does not decode, or does not verify.
#[test]
fn every_flipped_bit_is_found() {
    let group = Group::new(4);
    let verifier = group.verifier();
    let good = group.sign_incremental(b"m").to_bytes();
    // All bits of c, and one bit per byte elsewhere.
    let bits = (0..8 * good.len()).filter(|i| i % 8 == i / 8 % 8 || (1152..1280).contains(i));
    for i in bits {
        let mut bytes = good;
        bytes[i / 8] ^= 0x80 >> (i % 8);
        if let Ok(signature) = Signature::from_bytes(&bytes[..SIGNATURE_BYTES]) {
            let unchanged = i >= 8 * SIGNATURE_BYTES;
            let verdict = verifier.verify(&[b"m"], &signature).is_ok();
            assert_eq!(verdict, unchanged, "bit {i}");
        }
        if let Ok(signature) = IncrementalSignature::from_bytes(&bytes) {
            let verdict = verifier.verify_incremental(&[b"m"], &signature, &mut rng(i as u64));
            assert_eq!(verdict, Err(Invalid), "bit {i}");
        }
    }
}

#[test]
fn incremental_form_is_the_same_signature() {
    let group = Group::new(5);
    let verifier = group.verifier();
    let incremental = group.sign_incremental(b"m");
    for seed in 0..4 {
        let verdict = |m| verifier.verify_incremental(&[m], &incremental, &mut rng(seed));
        assert_eq!(verdict(b"m"), Ok(()));
        assert_eq!(verdict(b"n"), Err(Invalid));
    }
    assert_eq!(incremental.signature(), &group.sign(b"m"));
    let bytes = incremental.to_bytes();
    assert_eq!(IncrementalSignature::from_bytes(&bytes), Ok(incremental));
    assert_eq!(&bytes[..SIGNATURE_BYTES], group.sign(b"m").to_bytes());
}

#[test]
fn signatures_of_one_member_share_nothing() {
    let group = Group::new(8);
    let signer = group.signer();
    let mut rng = rng(9);
    let mut seen = BTreeSet::new();
    for _ in 0..16 {
        let bytes = signer.precursor(&mut rng).sign(&[b"m"]).to_bytes();
        assert!(bytes.chunks(16).all(|part| seen.insert(part.to_vec())));
    }
}

#[test]
fn every_value_round_trips() {
    let mut group = Group::new(9);
    let public = group.public.to_bytes();
    assert_eq!(PublicKey::from_bytes(&public).unwrap(), group.public);
    let proof = Proof::from_bytes(&group.proof.to_bytes()).unwrap();
    assert_eq!(proof, group.proof);
    let (revocation, _) = group.revoke_somebody();
    let again = Revocation::from_bytes(&revocation.to_bytes()).unwrap();
    assert_eq!(again, revocation);
    let member = group.member.key.to_bytes();
    let again = MemberKey::from_bytes(member.as_slice()).unwrap();
    assert_eq!(again.to_bytes(), member);
    let issuer = IssuerKey::from_bytes(group.issuer.to_bytes().as_slice()).unwrap();
    assert_eq!(issuer.to_bytes(), group.issuer.to_bytes());
    let signature = group.sign(b"m");
    assert_eq!(Signature::from_bytes(&signature.to_bytes()), Ok(signature));
    let sizes = [
        PUBLIC_KEY_BYTES,
        REVOCATION_BYTES,
        SIGNATURE_BYTES,
        INCREMENTAL_BYTES,
        PSEUDONYMOUS_BYTES,
        member.len(),
    ];
    assert_eq!(sizes, [432, 224, 288, 336, 336, 112]);
}

/// Every message of a join goes over the wire, and the device lives through a restart.
#[test]
fn a_join_over_the_wire() {
    let group = Group::new(10);
    let (genesis, mut rng) = (&group.genesis, rng(1));
    let (device, request) = Device::new(genesis, &SESSION, &mut rng);
    let kept = device.to_bytes();
    drop(device);

    let request = JoinRequest::from_bytes(&request.to_bytes()).unwrap();
    let x = Scalar::random(&mut rng);
    let offer = group
        .issuer
        .offer(genesis, &SESSION, &request, &x, &mut rng);
    let offer = Offer::from_bytes(&offer.unwrap().to_bytes()).unwrap();

    let device = Device::from_bytes(genesis, kept.as_slice()).unwrap();
    let accepted = device.accept(genesis, &offer).unwrap();
    assert_eq!(accepted.commitment(), request.commitment());
    assert_eq!(accepted.credential(), offer.credential());

    let scale = group.issuer.scale(&group.revoked).unwrap();
    let credential = scale.credential(&offer.credential(), &x).to_bytes();
    let credential = Credential::from_bytes(credential.as_slice()).unwrap();
    let key = accepted.finish(&group.public, &credential).unwrap();
    assert!(SigningKey::new(&group.public, EPOCH, key).is_ok());
}

#[test]
fn opening_names_the_signer_in_every_epoch() {
    let mut group = Group::new(11);
    let tag = group.public.tag(&group.member.a_0);
    let other = group.join();
    assert_ne!(group.public.tag(&other.a_0), tag);
    for _ in 0..3 {
        let opened = group.open(&group.sign(b"m"));
        assert_eq!(opened, group.member.key.credential());
        assert_eq!(group.public.tag(&opened), tag);
        assert!(group.public.names(&opened, &group.member.a_0));
        assert!(!group.public.names(&opened, &other.a_0));
        group.revoke_somebody();
    }
    assert!(group.public.check_descends_from(&group.genesis).is_ok());
}

#[test]
fn revocation_locks_out_one_member_and_nobody_else() {
    let mut group = Group::new(12);
    let victim = group.join();
    let before = group.verifier();
    let revocation = group.revoke(&victim.x);
    assert_eq!(revocation.x(), &victim.x);

    assert_eq!(victim.key.after(&revocation).unwrap_err(), Revoked);
    assert_eq!(victim.key.check(&group.public), Err(Invalid));
    assert!(
        SigningKey::new(&group.public, EPOCH, victim.key).is_err(),
        "the old key does not fit the new epoch"
    );

    group.member.key = group.member.key.after(&revocation).unwrap();
    let signature = group.sign(b"m");
    assert_eq!(group.verifier().verify(&[b"m"], &signature), Ok(()));
    assert_eq!(before.verify(&[b"m"], &signature), Err(Invalid));
}

/// Who joins late, who updates in each epoch and who updates at last have keys of the same epoch.
#[test]
fn late_joiners_and_late_updaters_arrive_at_the_same_epoch() {
    let mut group = Group::new(13);
    let sleeper = group.member.clone();
    let revocations: Vec<Revocation> = (0..3).map(|_| group.revoke_somebody().0).collect();
    let late = group.join();
    let updated = revocations
        .iter()
        .fold(sleeper.key, |key, r| key.after(r).unwrap());
    assert_eq!(updated.to_bytes(), group.member.key.to_bytes());

    // What the issuer would hand out is what the update gives.
    let scale = group.issuer.scale(&group.revoked).unwrap();
    let a = scale.credential(&sleeper.a_0, &sleeper.x).to_bytes();
    assert_eq!(a[..48], updated.to_bytes()[..48]);

    let verifier = group.verifier();
    for key in [updated, late.key] {
        let signer = SigningKey::new(&group.public, EPOCH, key).unwrap();
        let signature = signer.precursor(&mut rng(5)).sign(&[b"m"]);
        assert_eq!(verifier.verify(&[b"m"], &signature), Ok(()));
    }
    assert!(
        group
            .public
            .names(&group.open(&group.sign(b"m")), &sleeper.a_0)
    );
}

#[test]
fn a_new_opening_key_needs_no_new_member_keys() {
    let mut group = Group::new(14);
    let (old, before, signature) = (group.xi, group.verifier(), group.sign(b"m"));
    group.xi = Scalar::random(&mut group.rng);
    let h = group.public.u().mul(&group.xi);
    let next = group.issuer.reopened(&group.public, &h);
    assert_eq!(
        group.public.with_opening(next.h(), next.h_w()),
        Ok(next.clone())
    );
    assert_eq!(group.public.with_opening(next.h(), &h), Err(Invalid));
    assert!(next.check_descends_from(&group.genesis).is_ok());
    group.public = next;

    let later = group.sign(b"m");
    assert_eq!(group.verifier().verify(&[b"m"], &later), Ok(()));
    assert_eq!(before.verify(&[b"m"], &later), Err(Invalid));
    assert_eq!(group.open(&later), group.member.key.credential());
    // Old packets open under the old shares.
    let opened = *signature.t2() - signature.t1().mul(&old);
    assert_eq!(opened, group.member.key.credential());
    // And revocation goes on.
    group.revoke_somebody();
    assert!(group.public.check_descends_from(&group.genesis).is_ok());
    let verifier = group.verifier();
    assert_eq!(verifier.verify(&[b"m"], &group.sign(b"m")), Ok(()));
}

#[test]
fn one_pseudonym_in_a_scope_and_another_in_another() {
    let mut group = Group::new(15);
    let signer = group.signer();
    let verifier = group.verifier();
    let [home, away] = [b"home".as_slice(), b"away"];
    let mut rng = rng(1);
    let one = signer.precursor_in(home, &mut rng).sign(&[b"m"]);
    let two = signer.precursor_in(home, &mut rng).sign(&[b"n"]);
    let far = signer.precursor_in(away, &mut rng).sign(&[b"m"]);
    assert_eq!(verifier.verify_pseudonymous(home, &[b"m"], &one), Ok(()));
    assert_eq!(verifier.verify_pseudonymous(home, &[b"n"], &two), Ok(()));
    assert_eq!(verifier.verify_pseudonymous(away, &[b"m"], &far), Ok(()));
    assert_eq!(one.pseudonym(), signer.pseudonym(home));
    assert_eq!(one.pseudonym(), two.pseudonym());
    assert_ne!(one.pseudonym(), far.pseudonym());

    // Another scope, another message; another machine's name.
    assert!(verifier.verify_pseudonymous(away, &[b"m"], &one).is_err());
    assert!(verifier.verify_pseudonymous(home, &[b"n"], &one).is_err());
    let other = group.join();
    let other = SigningKey::new(&group.public, EPOCH, other.key).unwrap();
    assert_ne!(other.pseudonym(home), one.pseudonym());
    let mut bytes = one.to_bytes();
    assert_eq!(PseudonymousSignature::from_bytes(&bytes), Ok(one.clone()));
    bytes[SIGNATURE_BYTES..].copy_from_slice(&other.pseudonym(home));
    let borrowed = PseudonymousSignature::from_bytes(&bytes).unwrap();
    assert!(
        verifier
            .verify_pseudonymous(home, &[b"m"], &borrowed)
            .is_err()
    );

    // It opens as other signatures do, and is not one of them.
    let opened = *one.t2() - one.t1().mul(&group.xi);
    assert_eq!(opened, group.member.key.credential());
    let within = Signature::from_bytes(&one.to_bytes()[..SIGNATURE_BYTES]).unwrap();
    assert_eq!(verifier.verify(&[b"m"], &within), Err(Invalid));

    let other_id = group.verifier_of(EpochId([0xe1; 32]));
    assert!(other_id.verify_pseudonymous(home, &[b"m"], &one).is_err());

    // The name survives an epoch; the signature does not.
    group.revoke_somebody();
    assert_eq!(group.signer().pseudonym(home), one.pseudonym());
    let later = group.verifier();
    assert!(later.verify_pseudonymous(home, &[b"m"], &one).is_err());
}

#[test]
fn founding_takes_the_nonces_generators() {
    let group = Group::new(16);
    assert_eq!(group.genesis.check_genesis(&NONCE, &group.proof), Ok(()));
    let other = group.genesis.check_genesis(&[9; 32], &group.proof);
    assert_eq!(other, Err(Invalid));
    assert_eq!(group.genesis.u(), &clew_group::xr::Generators::of(&NONCE).u);
}

#[test]
fn secrets_are_not_printed() {
    let group = Group::new(23);
    let mut rng = rng(1);
    let signer = group.signer();
    let (device, _) = Device::new(&group.genesis, &SESSION, &mut rng);
    let (accepted, offer) = up_to_s(
        &group.issuer,
        &group.genesis,
        &Scalar::from_u128(7),
        &mut rng,
    );
    let scale = group.issuer.scale(&[]).unwrap();
    let credential = scale.credential(&offer.credential(), &Scalar::from_u128(7));
    let printed = format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        group.issuer,
        scale,
        device,
        accepted,
        credential,
        group.member.key,
        signer,
        clew_group::xr::Nonces::random(&mut rng),
        signer.precursor(&mut rng),
        signer.precursor_in(b"scope", &mut rng),
    );
    assert_eq!(
        printed,
        "IssuerKey(..) Scale(..) Device(..) Accepted(..) Credential(..) MemberKey(..) \
         SigningKey(..) Nonces(..) Precursor(..) PseudonymousPrecursor(..)"
    );
    let _: &VerifyingKey = &group.verifier();
}
