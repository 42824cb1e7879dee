//! Files of a join and of its state, cut, foreign or altered.

use super::*;

/// Truncated, foreign and altered files have one reason each, and labels tell the rounds apart.
#[test]
fn files_of_a_join_are_read_whole_or_not_at_all() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let group = acme.checked();
    let invitation = acme.invite("far");
    let mut far = Far::new(&invitation, &group, 1);
    let request = far.request();
    let offer = acme.offer(&request, 1).unwrap();
    let acceptance = far.accept(&offer, &group).unwrap();
    let credential = acme.admit(&acceptance).unwrap();
    let texts = [
        (Round::Invitation, invitation.encode()),
        (Round::Request, request.encode()),
        (Round::Offer, offer.encode()),
        (Round::Acceptance, acceptance.encode()),
        (Round::Credential, credential.encode()),
    ];
    for (of, text) in &texts {
        assert_eq!(round(text), Ok(Some(*of)));
        assert_eq!(OfferFile::decode(text).is_ok(), *of == Round::Offer);
    }
    assert_eq!(round(&acme.issuer.encode()), Ok(None));
    whole_or_not::<InvitationFile>(&invitation.payload());
    whole_or_not::<RequestFile>(&request.payload());
    whole_or_not::<OfferFile>(&offer.payload());
    whole_or_not::<AcceptanceFile>(&acceptance.payload());
    whole_or_not::<CredentialFile>(&credential.payload());
}

fn whole_or_not<T: TextFile>(payload: &[u8]) {
    assert!(T::from_payload(payload).is_some_and(|read| *read.payload() == payload));
    assert!((0..payload.len()).all(|cut| T::from_payload(&payload[..cut]).is_none()));
    assert!(T::from_payload(&[payload, &[0]].concat()).is_none());
}

#[test]
fn the_state_of_a_join_is_read_whole_or_not_at_all() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let mut far = Far::new(&acme.invite("far"), &acme.checked(), 1);
    let began = far.state.clone();
    let offer = acme.offer(&far.request(), 1).unwrap();
    far.accept(&offer, &acme.checked()).unwrap();
    assert_ne!(far.state, began);
    for state in [began, far.state] {
        assert!(state.starts_with("# clew join under way") && state.contains("SECRET"));
        assert_eq!(Joining::decode(&state).unwrap().encode().as_str(), state);
        let line = state.lines().last().unwrap();
        for cut in [line.len() - 4, line.len() / 2] {
            assert!(Joining::decode(&line[..cut]).is_err());
        }
    }
}

/// A replaced row that is not a row is an error, and does not mean "replaces nothing".
#[test]
fn a_damaged_offer_is_not_given() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let far = Far::new(&acme.invite("far"), &acme.checked(), 1);
    acme.offer(&far.request(), 1).unwrap();
    let database = rusqlite::Connection::open(acme.dir.join("issuer/store.db")).unwrap();
    let damage = "UPDATE joining SET replaces = -2";
    assert_eq!(database.execute(damage, []).unwrap(), 1);
    let refused = acme.offer(&far.request(), 1).unwrap_err();
    assert!(matches!(refused, StoreError::Damaged(_)), "{refused}");
}
