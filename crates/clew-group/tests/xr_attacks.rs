//! Attacks on XR. Each is carried out as far as it goes, and then stopped by the one rule that is
//! there for it.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod common;

use clew_group::Invalid;
use clew_group::curve::{G1, G2, Scalar};
use clew_group::xr::{
    Credential, Device, Generators, IssuerKey, JoinError, MemberKey, Nonces, Offer, PublicKey,
    Revocation, SigningKey, VerifyingKey,
};
use common::points::replaced;
use common::textbook::pairing;
use common::xr::{Group, NONCE, SESSION, up_to_s};
use common::xr_textbook::{Gpk, Key, domain, g1, long, scalar, short};
use common::{EPOCH, rng};
use sha2::Digest;

fn gamma(group: &Group) -> Scalar {
    scalar(group.issuer.to_bytes().as_slice())
}

/// Signs with a made-up key and returns what the signature opens to, if it verifies.
fn opened(group: &Group, public: &PublicKey, key: Key) -> Option<G1> {
    let key = MemberKey::from_bytes(&key.to_bytes()).unwrap();
    let signer = SigningKey::new(public, EPOCH, key).ok()?;
    let signature = signer.precursor(&mut rng(1)).sign(&[b"m"]);
    let verifier = VerifyingKey::new(public, EPOCH);
    verifier.verify(&[b"m"], &signature).ok()?;
    Some(group.open(&signature))
}

/// An issuer that knows the logarithm t of h0 in base g1 has, for every A, the key
/// (A, -gamma, -1/t): A^0 = g1 h0^(-1/t). So it signs as whom it likes.
#[test]
fn related_generators_would_frame_anybody_and_are_refused() {
    let mut group = Group::new(1);
    let t = Scalar::from_u128(12345);
    let h0 = Generators::of(&NONCE).g1.mul(&t);
    let doctored = replaced(&group.genesis.to_bytes(), 48, &h0.to_bytes());
    let doctored = PublicKey::from_bytes(&doctored).unwrap();

    let x = Scalar::from_u128(99);
    let (victim, _) = up_to_s(&group.issuer, &doctored, &x, &mut group.rng);
    let framing = Key {
        a: victim.credential(),
        x: -gamma(&group),
        y: -t.invert().unwrap(),
    };
    let opened_to = opened(&group, &doctored, framing);
    assert_eq!(opened_to, Some(victim.credential()), "the attack works");

    let verdict = doctored.check_genesis(&NONCE, &group.proof);
    assert_eq!(verdict, Err(Invalid), "and the key is refused");
    // With the generators of the nonce, the same key signs nothing.
    let framing = Key {
        a: group.member.a_0,
        ..framing
    };
    assert_eq!(opened(&group, &group.genesis, framing), None);
}

/// Each point of the first key, and the proof, replaced.
#[test]
fn a_doctored_first_key_is_refused() {
    let group = Group::new(2);
    let other = Group::new(3);
    let good = group.genesis.to_bytes();
    let point = G1::generator().to_bytes();
    let in_g2 = G2::generator().mul(&Scalar::from_u128(5)).to_bytes();
    let fakes = [0, 48, 96, 144, 192].map(|at| replaced(&good, at, &point));
    let fakes_in_g2 = [240, 336].map(|at| replaced(&good, at, &in_g2));
    for bytes in fakes.iter().chain(&fakes_in_g2) {
        let fake = PublicKey::from_bytes(bytes).unwrap();
        assert_eq!(fake.check_genesis(&NONCE, &group.proof), Err(Invalid));
    }
    let check = |proof| group.genesis.check_genesis(&NONCE, proof);
    assert_eq!(check(&group.proof), Ok(()));
    assert_eq!(check(&other.proof), Err(Invalid));
    // Another issuer's w is refused though all fits but the proof: it may be a power of w.
    let copied = other.issuer.reopened(&other.genesis, group.genesis.h());
    assert_eq!(copied.check_genesis(&NONCE, &other.proof), Ok(()));
    assert_eq!(copied.check_genesis(&NONCE, &group.proof), Err(Invalid));
}

#[test]
fn a_doctored_later_key_is_refused() {
    let mut group = Group::new(4);
    let before = group.member.key.clone();
    let (revocation, _) = group.revoke_somebody();
    let check = |public: &PublicKey| public.check_descends_from(&group.genesis);
    assert_eq!(check(&group.public), Ok(()));
    assert_eq!(check(&group.genesis), Ok(()));
    let backwards = group.genesis.check_descends_from(&group.public);
    assert_eq!(backwards, Err(Invalid), "not an epoch 0");

    let t = Scalar::from_u128(77);
    let good = group.public.to_bytes();
    // g1, h0, u, h_w, w, lift; not h, which may differ with its h_w.
    for at in [0, 48, 96, 192] {
        let point = g1(&good[at..at + 48]).mul(&t).to_bytes();
        let fake = PublicKey::from_bytes(&replaced(&good, at, &point)).unwrap();
        assert_eq!(check(&fake), Err(Invalid), "at {at}");
        // The member's check finds what would mark its signatures, but for u, which no member's
        // equation has.
        let key = group.member.key.clone();
        assert_eq!(SigningKey::new(&fake, EPOCH, key).is_ok(), at == 96);
    }
    for at in [240, 336] {
        let point = G2::from_bytes(&good[at..at + 96]).unwrap().mul(&t);
        let fake = PublicKey::from_bytes(&replaced(&good, at, &point.to_bytes())).unwrap();
        assert_eq!(check(&fake), Err(Invalid), "at {at}");
    }
    let other = IssuerKey::generate(&mut rng(1)).found(&NONCE, group.public.h(), &mut rng(2));
    let other = other.0.to_bytes();
    let fake = replaced(&good, 192, &other[192..336]); // another gamma: h_w and w
    let fake = PublicKey::from_bytes(&fake).unwrap();
    assert_eq!(check(&fake), Err(Invalid));

    // The same values as an update: the step is refused, and so is the key that comes out of it.
    let good = revocation.to_bytes();
    for at in [32, 80] {
        let point = g1(&good[at..at + 48]).mul(&t).to_bytes();
        let fake = Revocation::from_bytes(&replaced(&good, at, &point)).unwrap();
        assert_eq!(group.genesis.after(&fake), Err(Invalid), "at {at}");
        let marked = before.after(&fake).unwrap();
        let public = replaced(&group.public.to_bytes(), at - 32, &point);
        let public = PublicKey::from_bytes(&public).unwrap();
        assert_eq!(marked.check(&public), Err(Invalid), "at {at}");
    }
    let lift = G2::from_bytes(&good[128..]).unwrap().mul(&t).to_bytes();
    let fake = Revocation::from_bytes(&replaced(&good, 128, &lift)).unwrap();
    assert_eq!(group.genesis.after(&fake), Err(Invalid));
    let lift = G2::from_bytes(&good[128..]).unwrap();
    let lift = lift.mul(&t.invert().unwrap()).to_bytes();
    let fake = replaced(&good, 32, &g1(&good[32..80]).mul(&t).to_bytes());
    let fake = Revocation::from_bytes(&replaced(&fake, 128, &lift)).unwrap();
    assert_eq!(group.genesis.after(&fake), Err(Invalid), "g1 and lift fit");
    let other_x = Scalar::from_u128(5).to_bytes();
    let fake = Revocation::from_bytes(&replaced(&good, 0, &other_x)).unwrap();
    assert_eq!(group.genesis.after(&fake), Err(Invalid));
    assert_eq!(group.genesis.after(&revocation), Ok(group.public));
}

/// g1 and h0 of an update that are powers of the good ones, which keeps them in proportion.
#[test]
fn an_update_out_of_proportion_marks_nobody() {
    let mut group = Group::new(5);
    let before = group.member.key.clone();
    let (revocation, _) = group.revoke_somebody();
    let t = Scalar::from_u128(3);
    let power = |bytes: &[u8]| g1(bytes).mul(&t).to_bytes();
    let good = revocation.to_bytes();
    let points = [power(&good[32..80]), power(&good[80..128])];
    let fake = replaced(&good, 32, points.as_flattened());
    let fake = Revocation::from_bytes(&fake).unwrap();
    let public = replaced(&group.public.to_bytes(), 0, points.as_flattened());
    let public = PublicKey::from_bytes(&public).unwrap();
    let marked = before.after(&fake).unwrap();
    assert_eq!(marked.check(&public), Err(Invalid));
    assert_eq!(group.genesis.after(&fake), Err(Invalid));
    assert_eq!(public.check_descends_from(&group.genesis), Err(Invalid));
}

/// An issuer offers the A of a secret y' of its own, so that S would name the device for it. It can
/// make D so that the pairing holds, but then nobody knows x.
#[test]
fn an_offer_that_fits_the_issuers_secret_is_refused() {
    let group = Group::new(6);
    let gpk = Gpk::of(&group.genesis, EPOCH);
    let (device, request) = Device::new(&group.genesis, &SESSION, &mut rng(1));
    let (x, y) = (Scalar::from_u128(11), Scalar::from_u128(22));
    let inverse = (gamma(&group) + x).invert().unwrap();
    let a = (gpk.g1 + gpk.h0.mul(&y)).mul(&inverse);
    let d = gpk.g1 + request.commitment() - a.mul(&gamma(&group));

    // The issuer signs with it, and the device's equation holds.
    let key = Key { a, x, y };
    assert_eq!(opened(&group, &group.genesis, key), Some(a));
    let left = pairing(&a, &gpk.w).mul(&pairing(&d, &G2::generator()));
    let right = pairing(&(gpk.g1 + request.commitment()), &G2::generator());
    assert_eq!(left, right);

    // Its proof, with the x it has.
    let k = Scalar::from_u128(33);
    let mut hash = domain("clew-xr-offer-1");
    hash.update(SESSION);
    for point in [request.commitment(), a, d, a.mul(&k)] {
        hash.update(point.to_bytes());
    }
    let c = long(hash);
    let scalars = [c, k + c * x].map(|s| s.to_bytes());
    let points = [a, d].map(|p| p.to_bytes());
    let bytes = [points.as_flattened(), scalars.as_flattened()].concat();
    let offer = Offer::from_bytes(&bytes).unwrap();
    let refused = device.accept(&group.genesis, &offer).unwrap_err();
    assert_eq!(refused, JoinError::IssuerDoesNotKnowX);
}

/// An A that the issuer can prove an x for, and that is no credential on the device's C.
#[test]
fn an_offer_that_is_no_credential_is_refused() {
    let group = Group::new(7);
    let other = Group::new(8);
    let mut rng = rng(1);
    let (device, request) = Device::new(&group.genesis, &SESSION, &mut rng);
    let x = Scalar::from_u128(11);
    let offer = other
        .issuer
        .offer(&group.genesis, &SESSION, &request, &x, &mut rng);
    let refused = device.accept(&group.genesis, &offer.unwrap()).unwrap_err();
    assert_eq!(refused, JoinError::IssuerOfferedNoCredential);
}

#[test]
fn nothing_of_one_join_serves_in_another() {
    let group = Group::new(9);
    let (genesis, issuer) = (&group.genesis, &group.issuer);
    let mut rng = rng(1);
    let x = Scalar::from_u128(11);
    let (device, request) = Device::new(genesis, &SESSION, &mut rng);
    let replayed = issuer.offer(genesis, &[5; 32], &request, &x, &mut rng);
    assert_eq!(replayed.unwrap_err(), JoinError::DeviceDoesNotKnowY);

    // Another's commitment with one's own proof: a device cannot join as another.
    let (_, mine) = Device::new(genesis, &SESSION, &mut rng);
    let stolen = replaced(&mine.to_bytes(), 0, &request.commitment().to_bytes());
    let stolen = clew_group::xr::JoinRequest::from_bytes(&stolen).unwrap();
    let refused = issuer.offer(genesis, &SESSION, &stolen, &x, &mut rng);
    assert_eq!(refused.unwrap_err(), JoinError::DeviceDoesNotKnowY);

    // An offer in another session, and one for another's request.
    let kept = device.to_bytes();
    let again = |session: &[u8; 32]| {
        let bytes = replaced(kept.as_slice(), 0, session);
        Device::from_bytes(genesis, &bytes).unwrap()
    };
    let offer = issuer.offer(genesis, &SESSION, &request, &x, &mut rng);
    let offer = offer.unwrap();
    let refused = again(&[5; 32]).accept(genesis, &offer).unwrap_err();
    assert_eq!(refused, JoinError::IssuerDoesNotKnowX);
    let others = issuer.offer(genesis, &SESSION, &mine, &x, &mut rng);
    let refused = again(&SESSION).accept(genesis, &others.unwrap());
    assert_eq!(refused.unwrap_err(), JoinError::IssuerDoesNotKnowX);
    assert!(again(&SESSION).accept(genesis, &offer).is_ok());
}

#[test]
fn the_issuer_keeps_to_its_offer() {
    let mut group = Group::new(10);
    let x = Scalar::from_u128(11);
    let (_, offer) = up_to_s(&group.issuer, &group.genesis, &x, &mut rng(1));
    let good = group.issuer.scale(&[]).unwrap();
    let good = good.credential(&offer.credential(), &x).to_bytes();
    let finish = |credential: &[u8], now: &PublicKey| {
        let credential = Credential::from_bytes(credential).unwrap();
        let (accepted, _) = up_to_s(&group.issuer, &group.genesis, &x, &mut rng(1));
        accepted.finish(now, &credential).err()
    };
    assert_eq!(finish(good.as_slice(), &group.genesis), None);
    let other_x = replaced(good.as_slice(), 48, &Scalar::from_u128(12).to_bytes());
    let refused = finish(&other_x, &group.genesis);
    assert_eq!(refused, Some(JoinError::IssuerChangedX));
    let other_a = replaced(good.as_slice(), 0, &group.member.a_0.to_bytes());
    let refused = finish(&other_a, &group.genesis);
    assert_eq!(refused, Some(JoinError::IssuerChangedCredential));
    // A public key whose h0 or h_w is another: the credential is right, and would be marked.
    for at in [48, 192] {
        let public = group.genesis.to_bytes();
        let doctored = replaced(&public, at, &G1::generator().to_bytes());
        let doctored = PublicKey::from_bytes(&doctored).unwrap();
        let refused = finish(good.as_slice(), &doctored);
        assert_eq!(refused, Some(JoinError::IssuerChangedPublicKey));
    }

    // In a later epoch, the credential of an earlier one is refused.
    let (accepted, _) = up_to_s(&group.issuer, &group.genesis, &x, &mut rng(1));
    group.revoke_somebody();
    let stale = Credential::from_bytes(good.as_slice()).unwrap();
    let refused = accepted.finish(&group.public, &stale).unwrap_err();
    assert_eq!(refused, JoinError::IssuerChangedCredential);
}

#[test]
fn the_issuer_refuses_an_x_without_inverse() {
    let group = Group::new(11);
    let mut rng = rng(1);
    let (_, request) = Device::new(&group.genesis, &SESSION, &mut rng);
    let unfit = -gamma(&group);
    for x in [unfit, Scalar::default()] {
        let offer = group
            .issuer
            .offer(&group.genesis, &SESSION, &request, &x, &mut rng);
        assert_eq!(offer.unwrap_err(), JoinError::UnfitX);
    }
    assert!(group.issuer.revoke(&group.public, &unfit).is_none());
    assert!(group.issuer.scale([&unfit]).is_none());
}

/// A member's key does not fit another member's A, x or y, nor another group.
#[test]
fn a_mixed_member_key_does_not_sign() {
    let mut group = Group::new(12);
    let other = group.join();
    let (mine, theirs) = (group.member.key.to_bytes(), other.key.to_bytes());
    for range in [0..48, 48..80, 80..112] {
        let mixed = replaced(mine.as_slice(), range.start, &theirs[range]);
        let mixed = MemberKey::from_bytes(&mixed).unwrap();
        assert_eq!(mixed.check(&group.public), Err(Invalid));
        assert!(SigningKey::new(&group.public, EPOCH, mixed).is_err());
    }
    assert!(SigningKey::new(&Group::new(13).public, EPOCH, other.key).is_err());
}

/// Why a precursor is consumed: two signatures with the same nonces give x and y away.
#[test]
fn two_signatures_from_one_precursor_reveal_the_key() {
    let group = Group::new(14);
    let sign = |message: &[u8]| {
        let nonces = Nonces::random(&mut rng(1));
        let precursor = group.signer().precursor_from(nonces);
        precursor.sign(&[message]).to_bytes()
    };
    let (one, two) = (sign(b"one"), sign(b"two"));
    let c = |bytes: &[u8]| short(&bytes[144..160].try_into().unwrap());
    let inverse = (c(&one) - c(&two)).invert().unwrap();
    let secret = |at: usize| (scalar(&one[at..at + 32]) - scalar(&two[at..at + 32])) * inverse;
    let key = Key::of(&group.member.key);
    assert_eq!([secret(192), secret(256)], [key.x, key.y]);
}

/// A new opening key whose h_w is not the issuer's power of h would mark nobody and break everybody:
/// it does not load.
#[test]
fn an_opening_key_without_its_power_is_refused() {
    let mut group = Group::new(15);
    let h = G1::generator();
    let foreign = IssuerKey::generate(&mut group.rng).reopened(&group.public, &h);
    let refused = group.public.with_opening(&h, foreign.h_w());
    assert_eq!(refused, Err(Invalid));
    assert_eq!(foreign.check_descends_from(&group.genesis), Err(Invalid));
}
