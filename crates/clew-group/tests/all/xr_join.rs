//! Joins of scheme XR: over the wire, many at once, and every way to spoil one.

use crate::common::points::replaced;
use crate::common::xr::{Group, NONCE, SESSION};
use crate::common::xr_textbook::scalar;
use crate::common::{EPOCH, rng};
use clew_group::curve::{G1, Scalar};
use clew_group::xr::{Device, JoinError, JoinRequest, MemberKey, Offer, PublicKey, SigningKey};
use clew_group::{Invalid, Proof};
use sha2::{Digest, Sha256};

fn offered(group: &Group, request: &JoinRequest, x: u128) -> Result<Offer, JoinError> {
    let [x, s] = [x, x + 1].map(Scalar::from_u128);
    let issuer = &group.issuer;
    issuer.offer(&group.genesis, &SESSION, request, &x, &s)
}

/// Every message of a join goes over the wire, and the device lives through a restart.
#[test]
fn a_join_over_the_wire() {
    let group = Group::new(10);
    let genesis = &group.genesis;
    let (device, request) = Device::new(genesis, &SESSION, &mut rng(1));
    let kept = device.to_bytes();
    drop(device);

    let request = JoinRequest::from_bytes(&request.to_bytes()).unwrap();
    let offer = offered(&group, &request, 7).unwrap();
    let offer = Offer::from_bytes(&offer.to_bytes()).unwrap();
    assert_eq!(
        [offer.x(), offer.s()],
        [&Scalar::from_u128(7), &Scalar::from_u128(8)]
    );

    let device = Device::from_bytes(kept.as_slice()).unwrap();
    let key = device.accept(genesis, &offer).unwrap();
    assert_eq!(key.credential(), *offer.a());
    assert_eq!(key.x(), offer.x());
    assert_eq!(key.commitment(genesis), offer.commitment(genesis, &request));
    // y = y' + s
    let [y, before] = [&key.to_bytes()[80..], &kept].map(scalar);
    assert_eq!(y, before + *offer.s());

    let witness = group.in_epoch().witness(offer.x()).unwrap();
    assert!(SigningKey::new(&group.public, EPOCH, key, &witness).is_ok());
}

/// Requests, offers and answers of many devices, in any order, in different epochs.
#[test]
fn many_joins_at_once() {
    let mut group = Group::new(11);
    let mut rng = rng(1);
    let sessions: [[u8; 32]; 6] = core::array::from_fn(|i| [i as u8; 32]);
    let asked = sessions.map(|session| Device::new(&group.genesis, &session, &mut rng));
    let mut offers: Vec<Option<Offer>> = vec![None; 6];
    for (k, i) in [4, 0, 5, 2, 1, 3].into_iter().enumerate() {
        let [x, s] = [0, 0].map(|_| Scalar::random(&mut rng));
        let (session, request) = (&sessions[i], &asked[i].1);
        let offer = group.issuer.offer(&group.public, session, request, &x, &s);
        offers[i] = Some(offer.unwrap());
        if k == 2 {
            group.revoke_somebody();
        }
    }
    for i in [3, 1, 0, 4, 2, 5] {
        let offer = offers[i].as_ref().unwrap();
        let key = asked[i].0.accept(&group.public, offer).unwrap();
        let witness = group.in_epoch().witness(key.x()).unwrap();
        let signer = SigningKey::new(&group.public, EPOCH, key, &witness).unwrap();
        let signature = signer.precursor(&mut rng).sign(&[b"m"]);
        assert_eq!(group.verifier().verify(&[b"m"], &signature), Ok(()));
        let (opened, c) = (
            group.open(&signature),
            offer.commitment(&group.genesis, &asked[i].1),
        );
        assert!(group.public.names(&opened, &c, offer.x()));
        for other in (0..6).filter(|j| *j != i) {
            let refused = asked[other].0.accept(&group.public, offer).unwrap_err();
            assert_eq!(refused, JoinError::IssuerOfferedNoCredential);
        }
        group.revoke_somebody();
    }
}

/// A request serves in its session and group only.
#[test]
fn requests_are_not_replayed() {
    let group = Group::new(9);
    let (genesis, issuer) = (&group.genesis, &group.issuer);
    let mut rng = rng(1);
    let [x, s] = [11, 12].map(Scalar::from_u128);
    let (_, request) = Device::new(genesis, &SESSION, &mut rng);
    assert!(issuer.offer(genesis, &SESSION, &request, &x, &s).is_ok());
    let replayed = issuer.offer(genesis, &[5; 32], &request, &x, &s);
    assert_eq!(replayed.unwrap_err(), JoinError::DeviceDoesNotKnowY);

    let elsewhere = PublicKey::founded(&[8; 32], &genesis.founding_bytes()).unwrap();
    let replayed = issuer.offer(&elsewhere, &SESSION, &request, &x, &s);
    assert_eq!(replayed.unwrap_err(), JoinError::DeviceDoesNotKnowY);

    // Another's commitment with one's own proof: a device cannot join as another.
    let (_, mine) = Device::new(genesis, &SESSION, &mut rng);
    let stolen = replaced(&mine.to_bytes(), 0, &request.to_bytes()[..48]);
    let stolen = JoinRequest::from_bytes(&stolen).unwrap();
    let refused = issuer.offer(genesis, &SESSION, &stolen, &x, &s);
    assert_eq!(refused.unwrap_err(), JoinError::DeviceDoesNotKnowY);
}

/// An offer serves the device that asked for it only, for the request that it made, in its group.
#[test]
fn offers_are_not_replayed() {
    let group = Group::new(12);
    let mut rng = rng(1);
    let (device, request) = Device::new(&group.genesis, &SESSION, &mut rng);
    let (other, others) = Device::new(&group.genesis, &SESSION, &mut rng);
    let refused = |device: &Device, genesis: &PublicKey, offer: &Offer| {
        let refused = device.accept(genesis, offer).unwrap_err();
        assert_eq!(refused, JoinError::IssuerOfferedNoCredential);
    };
    let offer = offered(&group, &request, 11).unwrap();
    assert!(device.accept(&group.genesis, &offer).is_ok());
    refused(&other, &group.genesis, &offer);
    refused(
        &device,
        &group.genesis,
        &offered(&group, &others, 11).unwrap(),
    );
    let elsewhere = PublicKey::founded(&[8; 32], &group.genesis.founding_bytes()).unwrap();
    refused(&device, &elsewhere, &offer);

    // By another issuer, and with each part replaced by that of another offer.
    let foreign = Group::new(13);
    refused(
        &device,
        &group.genesis,
        &offered(&foreign, &request, 11).unwrap(),
    );
    let (good, another) = (offer.to_bytes(), offered(&group, &request, 21).unwrap());
    let another = another.to_bytes();
    for range in [0..48, 48..80, 80..112] {
        let mixed = replaced(&good, range.start, &another[range]);
        refused(&device, &group.genesis, &Offer::from_bytes(&mixed).unwrap());
    }
    assert!(
        device
            .accept(&group.genesis, &Offer::from_bytes(&another).unwrap())
            .is_ok()
    );
}

/// The proof of y in a row serves for its statement, C and group only.
#[test]
fn proofs_of_y_are_not_replayed() {
    let mut group = Group::new(17);
    let genesis = group.genesis.clone();
    let (mine, theirs) = (group.member.clone(), group.join());
    let mut rng = rng(1);
    let proof = mine.key.prove_y(&genesis, b"mine", &mut rng);
    assert!(genesis.proof_of_y_holds(&mine.c, b"mine", &proof));
    assert!(group.public.proof_of_y_holds(&mine.c, b"mine", &proof));
    let again = mine.key.prove_y(&group.public, b"mine", &mut rng);
    assert_ne!(again, proof, "a nonce serves once");
    assert!(genesis.proof_of_y_holds(&mine.c, b"mine", &again));

    assert!(!genesis.proof_of_y_holds(&mine.c, b"mine.", &proof));
    assert!(!genesis.proof_of_y_holds(&theirs.c, b"mine", &proof));
    let elsewhere = PublicKey::founded(&[8; 32], &genesis.founding_bytes()).unwrap();
    assert!(!elsewhere.proof_of_y_holds(&mine.c, b"mine", &proof));
    for at in [31, 63] {
        let mut changed = proof.to_bytes();
        changed[at] ^= 1;
        let changed = Proof::from_bytes(&changed).unwrap();
        assert!(!genesis.proof_of_y_holds(&mine.c, b"mine", &changed));
    }

    // The proof of a request is not one: neither for y', nor, after s = 0, for y.
    let session = Sha256::digest(b"mine").into();
    let (_, request) = Device::new(&genesis, &session, &mut rng);
    let bytes = request.to_bytes();
    let (c, proof) = bytes.split_at(48);
    let (c, proof) = (
        G1::from_bytes(c).unwrap(),
        Proof::from_bytes(proof).unwrap(),
    );
    assert!(!genesis.proof_of_y_holds(&c, b"mine", &proof));
}

#[test]
fn unfit_numbers_are_refused() {
    let group = Group::new(14);
    let gamma = scalar(group.issuer.to_bytes().as_slice());
    let (device, request) = Device::new(&group.genesis, &SESSION, &mut rng(1));
    let (x, s) = (Scalar::from_u128(5), Scalar::from_u128(6));
    let offer = |x: &Scalar, s: &Scalar| {
        let issuer = &group.issuer;
        issuer.offer(&group.genesis, &SESSION, &request, x, s)
    };
    for x in [-gamma, Scalar::default()] {
        assert_eq!(offer(&x, &s).unwrap_err(), JoinError::UnfitX);
        assert!(group.issuer.revoke(&group.public, &x).is_none());
    }
    assert!(group.in_epoch().witness(&-gamma).is_err());
    // s = -y' would make y zero.
    let cancels = -scalar(device.to_bytes().as_slice());
    assert_eq!(offer(&x, &cancels).unwrap_err(), JoinError::UnfitS);
    let good = offer(&x, &s).unwrap();
    let a = (group.member.a - group.member.c).to_bytes();
    let zero_y = replaced(&good.to_bytes(), 80, &cancels.to_bytes());
    let zero_y = Offer::from_bytes(&replaced(&zero_y, 0, &a)).unwrap();
    let refused = device.accept(&group.genesis, &zero_y).unwrap_err();
    assert_eq!(refused, JoinError::UnfitS);
}

/// A and x sign nothing without a witness, so that a device that stopped before S has nothing.
#[test]
fn nothing_signs_before_the_witness() {
    let mut group = Group::new(15);
    let (device, request) = Device::new(&group.genesis, &SESSION, &mut rng(1));
    let offer = offered(&group, &request, 11).unwrap();
    let key = device.accept(&group.genesis, &offer).unwrap();
    let other = group.join();
    let (step, _) = group.revoke_somebody();
    let wrong = [
        other.witness.to_bytes(),
        offer.a().to_bytes(),
        step.v().to_bytes(),
        group.genesis.v().to_bytes(),
        G1::generator().to_bytes(),
    ];
    for witness in wrong {
        let witness = clew_group::Witness::from_bytes(&witness).unwrap();
        for public in [&group.genesis, &group.public] {
            assert_eq!(key.check(public, &witness), Err(Invalid));
        }
    }
}

/// A member's key does not fit another member's A, x, y or witness, nor another group.
#[test]
fn a_mixed_member_key_does_not_sign() {
    let mut group = Group::new(16);
    let other = group.join();
    let (mine, theirs) = (group.member.key.to_bytes(), other.key.to_bytes());
    for range in [0..48, 48..80, 80..112] {
        let mixed = replaced(mine.as_slice(), range.start, &theirs[range]);
        let mixed = MemberKey::from_bytes(&mixed).unwrap();
        for witness in [&group.member.witness, &other.witness] {
            assert_eq!(mixed.check(&group.public, witness), Err(Invalid));
            let signer = SigningKey::new(&group.public, EPOCH, mixed.clone(), witness);
            assert!(signer.is_err());
        }
    }
    assert_eq!(
        group.member.key.check(&group.public, &other.witness),
        Err(Invalid)
    );
    assert_eq!(other.key.check(&group.public, &other.witness), Ok(()));
    assert!(Group::new(13).signer_of(&other).is_err());
    let elsewhere = PublicKey::founded(&[8; 32], &group.genesis.founding_bytes()).unwrap();
    assert_ne!(NONCE, [8; 32]);
    assert_eq!(other.key.check(&elsewhere, &other.witness), Err(Invalid));
}
