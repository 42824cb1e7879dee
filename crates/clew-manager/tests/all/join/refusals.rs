//! Messages that are refused, each for its reason.

use super::*;

#[test]
fn a_request_counts_for_its_invitation_group_and_device_only() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let mut other = TestGroup::of(Scheme::Xr, quorum(1, 1), 5);
    let group = acme.checked();
    let [one, two] = ["one", "two"].map(|name| acme.invite(name));
    let far = Far::new(&one, &group, 1);
    let request = far.request();
    let unknown = other.offer(&request, 1).unwrap_err();
    assert!(matches!(unknown, StoreError::NoInvitation), "{unknown}");
    // The proof of y' is bound to the session: nonce, device key, name and group.
    let moved = [
        RequestFile {
            nonce: two.nonce,
            ..request.clone()
        },
        RequestFile {
            device: [1; 32],
            ..request.clone()
        },
    ];
    for moved in moved {
        let refused = acme.offer(&moved, 1).unwrap_err();
        assert!(
            matches!(refused, StoreError::Join(JoinError::DeviceDoesNotKnowY)),
            "{refused}"
        );
    }
    acme.offer(&request, 1).unwrap();
    let second = Far::new(&one, &group, 2).request();
    let refused = acme.offer(&second, 2).unwrap_err();
    assert!(matches!(refused, StoreError::OtherRequest), "{refused}");
}

#[test]
fn invitations_are_for_one_group_and_of_its_manager() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let other = TestGroup::of(Scheme::Xr, quorum(1, 1), 5);
    let invitation = acme.invite("far");
    let begin = |invitation, group: &CheckedGroup| {
        Joining::begin(invitation, group, &mut rng(1)).unwrap_err()
    };
    let refused = begin(invitation.clone(), &other.checked());
    assert!(matches!(refused, JoinFault::OtherGroup { .. }));
    let bbs04 = TestGroup::new(Scheme::Bbs04).checked();
    assert_eq!(begin(invitation.clone(), &bbs04), JoinFault::NoJoin);
    let renamed = InvitationFile {
        name: "root".parse().unwrap(),
        ..invitation.clone()
    };
    assert_eq!(begin(renamed, &acme.checked()), JoinFault::NotTheManagers);
    let renewed = InvitationFile {
        nonce: [1; 32],
        ..invitation
    };
    assert_eq!(begin(renewed, &acme.checked()), JoinFault::NotTheManagers);
}

#[test]
fn an_offer_is_taken_by_its_device_and_once() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let group = acme.checked();
    let [one, two] = ["one", "two"].map(|name| acme.invite(name));
    let (mut far, other) = (Far::new(&one, &group, 1), Far::new(&two, &group, 2));
    let offer = acme.offer(&far.request(), 1).unwrap();
    let others = acme.offer(&other.request(), 2).unwrap();
    let mut refused = |offer: &OfferFile| far.accept(offer, &group).unwrap_err();
    assert_eq!(refused(&others), JoinFault::OtherJoin);
    let readdressed = OfferFile {
        nonce: one.nonce,
        ..others
    };
    let bad = JoinFault::Join(JoinError::IssuerOfferedNoCredential);
    assert_eq!(refused(&readdressed), bad);
    for how in [KeyOrigin::IssuerHost, KeyOrigin::Attested] {
        assert_eq!(
            refused(&OfferFile {
                how,
                ..offer.clone()
            }),
            JoinFault::How
        );
    }
    let ahead = OfferFile {
        joined: 1,
        ..offer.clone()
    };
    assert_eq!(
        refused(&ahead),
        JoinFault::NoSuchEpoch {
            epoch: 1,
            newest: 0
        }
    );
    let forked = OfferFile {
        id: clew_group::EpochId([1; 32]),
        ..offer.clone()
    };
    assert_eq!(refused(&forked), JoinFault::OtherHistory { epoch: 0 });
    far.accept(&offer, &group).unwrap();
    let another = OfferFile {
        replaces: Some(0),
        ..offer
    };
    assert_eq!(
        far.accept(&another, &group).unwrap_err(),
        JoinFault::OtherOffer
    );
}

#[test]
fn without_the_devices_word_there_is_no_row() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let group = acme.checked();
    let [one, two] = ["one", "two"].map(|name| acme.invite(name));
    let (mut far, mut other) = (Far::new(&one, &group, 1), Far::new(&two, &group, 2));
    let early = AcceptanceFile {
        nonce: one.nonce,
        signature: [0; 64],
        proof: no_proof(),
    };
    assert!(matches!(acme.admit(&early), Err(StoreError::NotOffered)));
    let offers = [&far, &other].map(|far| acme.offer(&far.request(), 3).unwrap());
    let others = other.accept(&offers[1], &group).unwrap();
    let own = far.accept(&offers[0], &group).unwrap();
    let before = fs::read(acme.dir.join(GROUP_FILE)).unwrap();
    for (signature, proof) in [
        ([0; 64], own.proof),
        (others.signature, own.proof),
        (own.signature, no_proof()),
        (own.signature, others.proof),
        (others.signature, others.proof),
    ] {
        let nonce = one.nonce;
        let wrong = AcceptanceFile {
            nonce,
            signature,
            proof,
        };
        assert!(matches!(acme.admit(&wrong), Err(StoreError::Device)));
    }
    let unknown = AcceptanceFile {
        nonce: [9; 32],
        ..others
    };
    assert!(matches!(
        acme.admit(&unknown),
        Err(StoreError::NoInvitation)
    ));
    assert_eq!(fs::read(acme.dir.join(GROUP_FILE)).unwrap(), before);
    assert_eq!(acme.store.machine("one").unwrap(), None);
    let credential = acme.admit(&own).unwrap();
    let wrong = AcceptanceFile {
        proof: no_proof(),
        ..own
    };
    let refused = acme.admit(&wrong);
    assert!(matches!(refused, Err(StoreError::Device)), "also later");
    assert!(far.finish(&credential, &acme.checked()).is_ok());
}

#[test]
fn a_device_key_that_anybody_signs_for_is_refused() {
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.enrol("old");
    let invitation = acme.invite("weak");
    let mut small_order = [0; 32]; // y = 1: the neutral element
    small_order[0] = 1;
    let group = acme.group();
    let session = clew_evidence::join_session(
        group.id(),
        &invitation.nonce,
        &small_order,
        &invitation.name,
    );
    let genesis = xr_key(&group, 0);
    let (device, request) = clew_group::xr::Device::new(&genesis, &session, &mut rng(1));
    let request = RequestFile {
        nonce: invitation.nonce,
        device: small_order,
        request,
    };
    let offer = acme.offer(&request, 1).unwrap();
    // R = the neutral element, s = 0: holds for every message unless checked strictly.
    let mut signature = [0; 64];
    signature[0] = 1;
    let mut entry = acme.row("old").entry;
    entry.replaces = offer.replaces;
    (entry.joined, entry.how) = (offer.joined, offer.how);
    (entry.credential, entry.name) = (offer.offer.a().to_bytes(), invitation.name);
    let EntryKey::Xr(of_device) = &mut entry.key else {
        unreachable!("it is an xr group")
    };
    let commitment = offer.offer.commitment(&genesis, &request.request);
    (of_device.commitment, of_device.key) = (commitment.to_bytes(), small_order);
    let statement = entry.statement(group.id());
    let key = device.accept(&genesis, &offer.offer).unwrap();
    let forged = AcceptanceFile {
        nonce: invitation.nonce,
        signature,
        proof: key.prove_y(&genesis, &statement, &mut rng(2)),
    };
    assert!(matches!(acme.admit(&forged), Err(StoreError::Device)));
}

#[test]
fn a_credential_is_checked_before_there_is_a_key() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let group = acme.checked();
    let [one, two] = ["one", "two"].map(|name| acme.invite(name));
    let (mut far, mut other) = (Far::new(&one, &group, 1), Far::new(&two, &group, 2));
    let offers = [&far, &other].map(|far| acme.offer(&far.request(), 3).unwrap());
    let acceptance = other.accept(&offers[1], &group).unwrap();
    let others = acme.admit(&acceptance).unwrap();
    assert_eq!(
        far.finish(&others, &group).unwrap_err(),
        JoinFault::OtherJoin
    );
    let readdressed = CredentialFile {
        nonce: one.nonce,
        ..others
    };
    assert_eq!(
        far.finish(&readdressed, &group).unwrap_err(),
        JoinFault::NoOffer
    );
    let acceptance = far.accept(&offers[0], &group).unwrap();
    assert_eq!(
        far.finish(&readdressed, &group).unwrap_err(),
        JoinFault::Witness { epoch: 0 }
    );
    // A credential of an epoch that the device's group file does not have yet.
    acme.admit(&acceptance).unwrap();
    acme.enrol("victim");
    acme.revoke("victim");
    let credential = acme.admit(&acceptance).unwrap();
    let old = JoinFault::NoSuchEpoch {
        epoch: 1,
        newest: 0,
    };
    assert_eq!(far.finish(&credential, &group).unwrap_err(), old);
    let key = far.finish(&credential, &acme.checked()).unwrap();
    assert_eq!(key.newest().unwrap().epoch, 1);
}

/// The witness fits both histories, because both revoked the same machine: only the epoch ids differ,
/// and by those the device would be known.
#[test]
fn a_credential_under_another_history_is_refused() {
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.enrol("victim");
    let copy = acme.folder.path().join("copy");
    copy_all(&acme.dir, &copy);
    let epoch = acme.revoke("victim");
    let mut other = Store::open(&copy).unwrap();
    let (names, when) = (["victim".parse().unwrap()], EpochStart::now(LATER));
    let revoked = other.revoke(&acme.issuer, &names, false, when, &mut |_, _| true);
    assert_eq!(revoked.unwrap(), epoch);
    let other = checked(other.group());

    let invitation = acme.invite("far");
    let mut far = Far::new(&invitation, &acme.checked(), 1);
    let offer = acme.offer(&far.request(), 1).unwrap();
    let acceptance = far.accept(&offer, &acme.checked()).unwrap();
    let credential = acme.admit(&acceptance).unwrap();
    assert!(far.finish(&credential, &acme.checked()).is_ok());
    let refused = far.finish(&credential, &other).unwrap_err();
    assert_eq!(refused, JoinFault::OtherHistory { epoch });
}

/// Two invitations for one name: both get an offer, and the first to accept has it.
#[test]
fn a_name_is_given_once_while_it_is_in_use() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let group = acme.checked();
    let mut far = [1, 2].map(|seed| Far::new(&acme.invite("web-1"), &group, seed));
    let offers = [0, 1].map(|i| acme.offer(&far[i].request(), i as u64).unwrap());
    let [first, second] = [1, 0].map(|i| far[i].accept(&offers[i], &group).unwrap());
    acme.admit(&first).unwrap();
    assert!(matches!(acme.admit(&second), Err(StoreError::NameTaken(_))));
    let taken = acme
        .store
        .invite(&acme.issuer, "web-1".parse().unwrap(), NOW, &mut rng(1));
    assert!(matches!(taken, Err(StoreError::NameTaken(_))));
    // Also once that one is revoked: what the device signed does not say that it replaces it.
    acme.revoke("web-1");
    assert!(matches!(acme.admit(&second), Err(StoreError::NameTaken(_))));
    let again = acme.join("web-1", 9);
    let entry = acme.row("web-1").entry;
    assert_eq!((entry.index, entry.replaces, again.index), (1, Some(0), 1));
}

#[test]
fn a_revoked_machine_gets_no_credential_again() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let mut far = Far::new(&acme.invite("far"), &acme.checked(), 1);
    let offer = acme.offer(&far.request(), 1).unwrap();
    let acceptance = far.accept(&offer, &acme.checked()).unwrap();
    acme.admit(&acceptance).unwrap();
    acme.revoke("far");
    let refused = acme.admit(&acceptance).unwrap_err();
    assert!(
        matches!(refused, StoreError::AlreadyRevoked { epoch: 1, .. }),
        "{refused}"
    );
}

/// Held back, an acceptance would enter a machine with the epoch of its offer: what it dates back to
/// the time between would look honest.
#[test]
fn an_acceptance_that_was_held_back_is_refused() {
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.join("web-1", 3);
    let group = acme.checked();
    let mut far = Far::new(&acme.invite("far"), &group, 1);
    let offer = acme.offer(&far.request(), 1).unwrap();
    let acceptance = far.accept(&offer, &group).unwrap();
    acme.revoke("web-1");
    let refused = acme.admit(&acceptance).unwrap_err();
    let expired = StoreError::OfferExpired {
        offered: 0,
        in_force: 1,
    };
    assert_eq!(refused.to_string(), expired.to_string());
    assert!(acme.store.machine("far").unwrap().is_none());
    // Invited again, it joins in the epoch in force.
    assert_eq!(acme.join("far", 2).index, 1);
    assert_eq!(acme.row("far").entry.joined, 1);
}

#[test]
fn an_aborted_offer_cannot_be_revoked() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let far = Far::new(&acme.invite("far"), &acme.checked(), 1);
    acme.offer(&far.request(), 1).unwrap();
    let when = clew_manager::EpochStart::now(LATER);
    let name = "far".parse().unwrap();
    let refused = acme
        .store
        .revoke(&acme.issuer, &[name], false, when, &mut |_, _| true);
    assert!(matches!(refused, Err(StoreError::NoSuchMachine(_))));
}

#[test]
fn bbs04_groups_have_no_join() {
    let mut acme = TestGroup::new(Scheme::Bbs04);
    let refused = acme
        .store
        .invite(&acme.issuer, "x".parse().unwrap(), NOW, &mut rng(1));
    assert!(matches!(refused, Err(StoreError::NoJoin)));
    let key = acme.enrol("x");
    let entry = acme.row("x").entry;
    assert_eq!(entry.how, KeyOrigin::IssuerHost);
    let EntryKey::Bbs04(x) = entry.key else {
        unreachable!("it is a bbs04 group")
    };
    let expected = clew_group::curve::G2::generator().mul(key.key.x());
    assert_eq!(x[..], expected.to_bytes());
}
