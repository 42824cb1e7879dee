//! Joins that end well, or are taken back.

use super::*;

#[test]
fn a_join_gives_a_key_that_signs_and_a_row_that_holds() {
    let mut acme = TestGroup::new(Scheme::Xr);
    acme.enrol("old");
    acme.revoke("old");
    let key = acme.join("far", 2);
    let group = published(&acme.dir);
    assert!(Sent::by(&key, b"m", 1).verify(&group).is_ok());
    let row = acme.row("far");
    assert!(row.is_in_register_of(&group) && row.entry.check_device(&group).is_ok());
    assert_eq!(row.entry.how, KeyOrigin::OwnHost);
    assert_eq!(
        (row.entry.index, row.entry.joined, row.entry.replaces),
        (1, 1, None)
    );
    assert_eq!(key.index, 1);
    let device = row.entry.device().unwrap();
    let own = key.device.as_ref().unwrap().verifying_key().to_bytes();
    assert_eq!(device.key, own);
    let read = MemberKeyFile::decode(&key.encode()).unwrap();
    assert_eq!(read.encode(), key.encode());
}

/// Each side is a process that dies after each round, and every round is asked for twice.
#[test]
fn every_round_is_repeated_with_the_same_result_after_a_restart() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let invitation = acme.invite("far");
    let group = acme.checked();
    let mut far = Far::new(&invitation, &group, 7);
    assert_eq!(far.request().encode(), far.request().encode());
    let request = far.request();
    reopened(&mut acme);
    let offer = acme.offer(&request, 1).unwrap();
    reopened(&mut acme);
    let again = acme.offer(&request, 2).unwrap(); // with other randomness
    assert_eq!(offer.encode(), again.encode());
    let acceptance = far.accept(&offer, &group).unwrap();
    assert_eq!(far.accept(&again, &group).unwrap(), acceptance);
    reopened(&mut acme);
    assert_eq!(acme.invited(), 1);
    let credential = acme.admit(&acceptance).unwrap();
    reopened(&mut acme);
    let again = acme.admit(&acceptance).unwrap();
    assert_eq!(credential.encode(), again.encode());
    let offered = acme.offer(&request, 3).unwrap();
    assert_eq!(offered.encode(), offer.encode(), "also once it has joined");
    assert_eq!(acme.group().register().machines, 1);
    assert_eq!(acme.invited(), 0);
    let keys = [0; 2].map(|_| far.finish(&credential, &acme.checked()).unwrap().encode());
    assert_eq!(keys[0], keys[1]);
}

#[test]
fn fifty_joins_at_once_do_not_touch_each_other() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let group = acme.checked();
    let names: Vec<String> = (0..50).map(|i| format!("far-{i}")).collect();
    let invitations: Vec<_> = names.iter().map(|name| acme.invite(name)).collect();
    assert_eq!(acme.invited(), 50);
    let seeds = 100..;
    let mut far: Vec<Far> = seeds
        .zip(&invitations)
        .map(|(s, i)| Far::new(i, &group, s))
        .collect();
    // A revocation and a rebase in between; then requests forwards, acceptances backwards.
    acme.enrol("victim");
    acme.revoke("victim");
    acme.revoke_all(&[], true);
    let offers: Vec<_> = (0..)
        .zip(&far)
        .map(|(seed, far)| acme.offer(&far.request(), seed).unwrap())
        .collect();
    let mut xs: Vec<[u8; 32]> = offers.iter().map(|o| o.offer.x().to_bytes()).collect();
    xs.sort_unstable();
    xs.dedup();
    assert_eq!(xs.len(), 50, "x is fresh for every offer");
    for i in (0..50).rev() {
        let acceptance = far[i].accept(&offers[i], &acme.checked()).unwrap();
        let credential = acme.admit(&acceptance).unwrap();
        let key = far[i].finish(&credential, &acme.checked()).unwrap();
        assert_eq!(
            (key.machine.to_string(), key.index),
            (names[i].clone(), 50 - i as u32)
        );
        assert_eq!(key.newest().unwrap().epoch, 2);
    }
    let group = published(&acme.dir);
    assert!(
        names
            .iter()
            .all(|name| acme.row(name).is_in_register_of(&group))
    );
}

#[test]
fn a_withdrawn_invitation_is_answered_no_more() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let group = acme.checked();
    let far = ["asks", "accepts", "comes"].map(|name| {
        let invitation = acme.invite(name);
        Far::new(&invitation, &group, invitation.nonce[0].into())
    });
    let [asks, mut accepts, mut comes] = far;
    let acceptances = [&mut accepts, &mut comes].map(|far| {
        let offer = acme.offer(&far.request(), 1).unwrap();
        far.accept(&offer, &group).unwrap()
    });
    acme.admit(&acceptances[1]).unwrap();
    let open: Vec<_> = acme.store.invitations().unwrap();
    let open: Vec<_> = open.iter().map(|i| (i.name.as_str(), i.offered)).collect();
    assert_eq!(open, [("accepts", Some(0)), ("asks", None)]);
    for name in ["asks", "accepts"] {
        assert_eq!(acme.store.withdraw(&name.parse().unwrap()).unwrap(), 1);
    }
    for refused in [
        acme.offer(&asks.request(), 1).map(drop),
        acme.admit(&acceptances[0]).map(drop),
    ] {
        assert!(matches!(refused, Err(StoreError::NoInvitation)));
    }
    assert_eq!((acme.invited(), acme.group().register().machines), (0, 1));
    for name in ["asks", "comes"] {
        let none = acme.store.withdraw(&name.parse().unwrap());
        assert!(matches!(none, Err(StoreError::NotInvited(_))), "{name}");
    }
    assert!(
        acme.admit(&acceptances[1]).is_ok(),
        "a join that is done is repeated"
    );
}
