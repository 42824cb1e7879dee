//! What scheme XR promises: signing, joining, moving between epochs, opening, pseudonyms.

use crate::common::rng;
use crate::common::xr::{Group, Member, NONCE, SESSION, accepted};
use clew_group::curve::{G1, Scalar};
use clew_group::xr::{
    DEVICE_BYTES, Device, INCREMENTAL_BYTES, IncrementalSignature, IssuerKey, MemberKey, Nonces,
    OFFER_BYTES, PSEUDONYMOUS_BYTES, PseudonymousSignature, PublicKey, REQUEST_BYTES,
    SIGNATURE_BYTES, Signature, VerifyingKey,
};
use clew_group::{EpochId, Invalid, Proof, STEP_BYTES, Step, Witness};
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
    let founding = group.genesis.founding_bytes();
    let again = PublicKey::founded(&NONCE, &founding).unwrap();
    assert_eq!(again, group.genesis);
    let proof = Proof::from_bytes(&group.proof.to_bytes()).unwrap();
    assert_eq!(proof, group.proof);
    let (step, _) = group.revoke_somebody();
    assert_eq!(Step::from_bytes(&step.to_bytes()), Ok(step));
    assert_eq!(group.public.founding_bytes(), founding);
    let member = group.member.key.to_bytes();
    let again = MemberKey::from_bytes(member.as_slice()).unwrap();
    assert_eq!(again.to_bytes(), member);
    let witness = group.member.witness.to_bytes();
    assert_eq!(Witness::from_bytes(&witness).unwrap().to_bytes(), witness);
    let issuer = IssuerKey::from_bytes(group.issuer.to_bytes().as_slice()).unwrap();
    assert_eq!(issuer.to_bytes(), group.issuer.to_bytes());
    let signature = group.sign(b"m");
    assert_eq!(Signature::from_bytes(&signature.to_bytes()), Ok(signature));
    let sizes = [
        founding.len(),
        STEP_BYTES,
        witness.len(),
        SIGNATURE_BYTES,
        INCREMENTAL_BYTES,
        PSEUDONYMOUS_BYTES,
        OFFER_BYTES,
        REQUEST_BYTES,
        DEVICE_BYTES,
        member.len(),
    ];
    assert_eq!(sizes, [192, 80, 48, 288, 336, 336, 112, 112, 32, 112]);
}

#[test]
fn opening_names_the_signer_in_every_epoch() {
    let mut group = Group::new(11);
    let other = group.join();
    for _ in 0..3 {
        let opened = group.open(&group.sign(b"m"));
        assert_eq!(opened, group.member.base());
        assert!(group.is_of(&opened, &group.member));
        assert!(!group.is_of(&opened, &other));
        let before = group.public.clone();
        group.revoke_somebody();
        let Member { c, x, .. } = &group.member;
        assert!(!group.public.names(&opened, c, x), "a base is of one epoch");
        assert!(before.names(&opened, c, x));
    }
}

/// An auditor finds the row by Q, one by one or all together; a wrong Q is refused.
#[test]
fn an_auditor_finds_the_row_without_gamma() {
    let mut group = Group::new(25);
    let mut members: Vec<Member> = (0..5).map(|_| group.join()).collect();
    let (step, _) = group.revoke_somebody();
    let steps = [step];
    members.iter_mut().for_each(|m| m.update(&steps));
    let b = members[3].base();
    let q = group.issuer.locator(&b);
    assert!(group.public.fits(&q, &b));
    let search = group.public.search(&q, &b).unwrap();
    let fits: Vec<bool> = members
        .iter()
        .map(|m| search.row_fits(&m.c, &m.x))
        .collect();
    assert_eq!(fits, [false, false, false, true, false]);
    let rows: Vec<_> = members.iter().map(|m| (m.c, m.x)).collect();
    assert_eq!(search.find(&rows), Some(3));
    assert_eq!(search.find(&rows[..3]), None);
    assert_eq!(search.find(&[(members[3].c, members[2].x)]), None);
    assert_eq!(search.find(&[(members[2].c, members[3].x)]), None);

    let wrong = q + b;
    assert!(!group.public.fits(&wrong, &b));
    assert!(group.public.search(&wrong, &b).is_err());
    assert!(group.public.search(&G1::default(), &G1::default()).is_err());
    assert_eq!(format!("{search:?}"), "Search(..)");
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
    assert_eq!(next.v(), group.public.v());
    group.public = next;

    let later = group.sign(b"m");
    assert_eq!(group.verifier().verify(&[b"m"], &later), Ok(()));
    assert_eq!(before.verify(&[b"m"], &later), Err(Invalid));
    assert_eq!(group.open(&later), group.member.base());
    // Old packets open under the old shares.
    let opened = *signature.t2() - signature.t1().mul(&old);
    assert_eq!(opened, group.member.base());
    // And revocation goes on.
    group.revoke_somebody();
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
    let other = group.signer_of(&other).unwrap();
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
    assert_eq!(opened, group.member.base());
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

/// With ra = 0 all equations hold, and R1' is the identity: it is refused as in 3.4.
#[test]
fn a_pseudonymous_r1_of_the_identity_is_refused() {
    let group = Group::new(17);
    let sign = |ra| {
        let mut nonces = Nonces::random(&mut rng(1));
        nonces.ra = ra;
        let precursor = group.signer().precursor_in_from(b"scope", &nonces);
        precursor.sign(&[b"m"])
    };
    let verdict = |signature| {
        let verifier = group.verifier();
        verifier.verify_pseudonymous(b"scope", &[b"m"], &signature)
    };
    assert_eq!(verdict(sign(Scalar::from_u128(1))), Ok(()));
    assert_eq!(verdict(sign(Scalar::default())), Err(Invalid));
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
    let (_, _, offer) = accepted(
        &group.issuer,
        &group.genesis,
        &Scalar::from_u128(7),
        &mut rng,
    );
    let printed = format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        group.issuer,
        group.in_epoch(),
        device,
        offer,
        group.member.key,
        group.member.witness,
        signer,
        Nonces::random(&mut rng),
        signer.precursor(&mut rng),
        signer.precursor_in(b"scope", &mut rng),
    );
    assert_eq!(
        printed,
        "IssuerKey(..) EpochIssuer(..) Device(..) Offer(..) MemberKey(..) Witness(..) \
         SigningKey(..) Nonces(..) Precursor(..) PseudonymousPrecursor(..)"
    );
    let _: &VerifyingKey = &group.verifier();
}
