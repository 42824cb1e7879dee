//! The store takes the opening keys that trustees make.

use crate::common::{NOW, quorum, rng, set, who};
use crate::run::{Run, plan};
use clew_evidence::Origin;
use clew_group::Scheme;
use clew_keys::{IssuerKeyFile, TextFile, TrusteeKeyFile};
use clew_manager::{EpochStart, NewGroup, Opening, Store, StoreError};
use clew_trustee::dkg::{DkgError, Plan};
use std::path::Path;

fn issuer(store: &Store) -> IssuerKeyFile {
    let text = std::fs::read_to_string(store.issuer_key_path()).unwrap();
    IssuerKeyFile::decode(&text).unwrap()
}

fn group(scheme: Scheme, opening: Opening) -> NewGroup {
    NewGroup {
        name: "acme".parse().unwrap(),
        scheme,
        opening,
        log: None,
        now: NOW,
    }
}

#[test]
fn a_group_takes_the_opening_key_of_its_plan() {
    let folder = tempfile::tempdir().unwrap();
    let create =
        |dir: &str, group| Store::create(&folder.path().join(dir), group, None, &mut rng(6));
    let first = Run::new(plan(2, 3, 7), 8).dealing();
    let made = create("acme", NewGroup::with_dkg(first.clone(), NOW).unwrap()).unwrap();
    assert!(made.trustee_keys.is_empty());
    let mut store = made.store;
    let issuer = issuer(&store);
    let mut reopen = |dealing| store.reopen(&issuer, dealing, EpochStart::now(NOW));

    let make = |group, seed| Plan::new_key(group, quorum(2, 2), &mut rng(seed)).unwrap();
    let before = Store::open(&folder.path().join("acme")).unwrap();
    let [one, two] = [1, 3].map(|seed| Run::new(make(before.group(), seed), seed + 1).dealing());
    assert_eq!(reopen(&one).unwrap(), 1);
    assert_eq!(reopen(&one).unwrap(), 1, "again: the same");
    let refused = reopen(&two).unwrap_err();
    assert!(matches!(refused, StoreError::Dkg(DkgError::Stale)));
    let refused = reopen(&first).unwrap_err();
    assert!(matches!(refused, StoreError::Dkg(DkgError::Purpose)));
    assert_eq!(store.group().newest_epoch(), 1);

    assert_eq!(
        NewGroup::with_dkg(one.clone(), 1).err(),
        Some(DkgError::Purpose)
    );
    let founded = |scheme, dealing| {
        let opening = Opening::Dkg(Box::new(dealing));
        create("other", group(scheme, opening)).err().unwrap()
    };
    let refused = founded(Scheme::Xr, one);
    assert!(matches!(refused, StoreError::Dkg(DkgError::Purpose)));
    let refused = founded(Scheme::Bbs04, first);
    assert!(matches!(refused, StoreError::OneOpeningKey));
}

/// Whoever dealt a key may still have it: other trustees do not change that, a new key does.
#[test]
fn a_dealt_key_stays_a_dealt_key() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("acme");
    let group = group(Scheme::Xr, Opening::TrustedDealer(quorum(2, 2)));
    let mut made = Store::create(&dir, group, None, &mut rng(1)).unwrap();
    let text = |path: &Path| std::fs::read_to_string(path).unwrap();
    let old: Vec<_> = made.trustee_keys.iter().map(|path| text(path)).collect();
    let old: Vec<_> = old
        .iter()
        .map(|t| TrusteeKeyFile::decode(t).unwrap())
        .collect();
    let issuer = issuer(&made.store);

    let plan = Plan::resharing(made.store.group(), set([1, 2]), quorum(1, 2), &mut rng(2));
    let all = [(Some(who(1)), Some(&old[0])), (Some(who(2)), Some(&old[1]))];
    let run = Run::of(plan.unwrap(), &all, 3);
    made.store
        .reopen(&issuer, &run.dealing(), EpochStart::now(NOW))
        .unwrap();
    let origin = |epoch| made.store.group().sharing(epoch).unwrap().unwrap().origin;
    assert_eq!(origin(1), Origin::TrustedDealer);
    assert_eq!(run.keys(made.store.group()).len(), 2);

    let plan = Plan::new_key(made.store.group(), quorum(2, 3), &mut rng(4)).unwrap();
    let run = Run::new(plan, 5);
    made.store
        .reopen(&issuer, &run.dealing(), EpochStart::now(NOW))
        .unwrap();
    let origin = |epoch| made.store.group().sharing(epoch).unwrap().unwrap().origin;
    assert_eq!(origin(2), Origin::Dkg);
}

#[test]
fn bbs04_has_a_trusted_dealer() {
    let folder = tempfile::tempdir().unwrap();
    let group = group(Scheme::Bbs04, Opening::TrustedDealer(quorum(2, 2)));
    let made = Store::create(&folder.path().join("acme"), group, None, &mut rng(1)).unwrap();
    let group = made.store.group();
    let refused = Plan::new_key(group, quorum(2, 2), &mut rng(1));
    assert_eq!(refused, Err(DkgError::Scheme));
    let refused = Plan::resharing(group, set([1, 2]), quorum(2, 2), &mut rng(1));
    assert_eq!(refused, Err(DkgError::Scheme));
    let run = Run::new(plan(2, 2, 1), 2);
    assert_eq!(run.plan.check_group(group), Err(DkgError::Scheme));
}
