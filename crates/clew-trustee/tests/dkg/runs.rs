//! What honest trustees get.

use super::forge::{Parts, Secrets};
use super::groups::Manager;
use super::run::{Run, plan, quorum, rng, set, who};
use clew_evidence::Origin;
use clew_group::curve::{G1, Scalar};
use clew_group::quorum::{Part, QuorumError, SecretShare, Sharing};
use clew_keys::{OpeningShare, TextFile, TrusteeKeyFile};
use clew_trustee::dkg::{Dealing, Plan, State};

fn share(key: &TrusteeKeyFile) -> &SecretShare {
    match &key.share {
        OpeningShare::Xr(share) => share,
        OpeningShare::Bbs04(_) => unreachable!("trustees make keys of xr"),
    }
}

/// A point decrypted by some of the trustees.
fn opened(sharing: &Sharing, keys: &[TrusteeKeyFile], of: &[usize]) -> Result<G1, QuorumError> {
    let point = G1::hash(b"test", b"T1");
    let part = Part {
        number: 1,
        sharing,
        point: &point,
        context: &[7; 32],
    };
    let given = of.iter().map(|i| share(&keys[*i]));
    let given = given.map(|s| Ok((s.trustee(), part.decrypt(s, &mut rng(5))?)));
    part.combine(&given.collect::<Result<Vec<_>, QuorumError>>()?)
}

/// The whole key, which only a test puts together.
fn secret(keys: &[TrusteeKeyFile], threshold: u8) -> Scalar {
    let of = super::run::quorum(threshold, threshold).all();
    let shares = keys.iter().map(share).filter(|s| of.contains(s.trustee()));
    shares.fold(Scalar::default(), |sum, share| {
        let value = Scalar::from_bytes(share.to_bytes().as_slice()).unwrap();
        sum + of.lagrange_at_zero(share.trustee()) * value
    })
}

#[test]
fn any_t_of_n_open_what_all_made() {
    for (t, n) in [(1, 1), (2, 2), (2, 3), (3, 4)] {
        let run = Run::new(plan(t, n, 1), 2);
        let dealing = run.dealing();
        let manager = Manager::found(&dealing);
        let keys = run.keys(&manager.group());
        let xi = secret(&keys, t);
        let expected = G1::hash(b"test", b"T1").mul(&xi);
        let last: Vec<usize> = (usize::from(n - t)..usize::from(n)).collect();
        assert_eq!(opened(dealing.sharing(), &keys, &last), Ok(expected));
        assert_eq!(
            *dealing.sharing().public(),
            dealing.sharing().base().mul(&xi)
        );
        if t > 1 {
            let few = opened(dealing.sharing(), &keys, &last[1..]);
            let (given, needed) = (t - 1, t);
            assert_eq!(few, Err(QuorumError::TooFew { given, needed }));
        }
        for (key, i) in keys.iter().zip(1..) {
            assert_eq!((key.trustee(), key.since), (who(i), 0));
            assert_eq!(key.group, manager.group().id());
        }
    }
}

#[test]
fn the_largest_quorum_fits_the_files() {
    let run = Run::new(plan(32, 32, 1), 2);
    let keys = run.keys(&Manager::found(&run.dealing()).group());
    assert_eq!(keys.len(), 32);
    for state in &run.states {
        let text = state.encode();
        assert_eq!(State::decode(&text).unwrap().encode(), text);
    }
    let plan = Plan::decode(&run.plan.encode()).unwrap();
    assert_eq!(plan, run.plan);
}

#[test]
fn every_step_repeats_with_the_same_bytes() {
    let run = Run::new(plan(2, 3, 3), 4);
    for (state, (hello, deal)) in run.states.iter().zip(run.hellos.iter().zip(&run.deals)) {
        let mut again = State::decode(&state.encode()).unwrap();
        assert_eq!(again.encode(), state.encode());
        assert_eq!(again.hello().encode(), hello.encode());
        // Other randomness, and hellos in another order.
        let mut hellos = run.hellos.clone();
        hellos.reverse();
        let dealt = again.deal(&run.plan, None, &hellos, &mut rng(999)).unwrap();
        assert_eq!(dealt.encode(), deal.encode());
        assert_eq!(again.encode(), state.encode());
    }
    let group = Manager::found(&run.dealing()).group();
    let mut backwards = run.deals.clone();
    backwards.reverse();
    let received = run.states[1].receive(&run.plan, backwards).unwrap();
    let key = received.key(&group).unwrap();
    assert_eq!(key.encode(), run.keys(&group)[1].encode());
}

/// The format, over bytes, and that nothing secret is in what travels.
#[test]
fn shares_travel_sealed() {
    let run = Run::new(plan(2, 3, 5), 6);
    let all: Vec<Parts> = run.deals.iter().map(Parts::of).collect();
    let secrets: Vec<Secrets> = run.states.iter().map(Secrets::of).collect();
    let travels: Vec<u8> = run
        .deals
        .iter()
        .map(|deal| super::forge::payload(&deal.encode()))
        .chain(
            run.hellos
                .iter()
                .map(|hello| super::forge::payload(&hello.encode())),
        )
        .flatten()
        .collect();
    let travels = |secret: &[u8]| travels.windows(secret.len()).any(|part| part == secret);
    assert!(travels(&run.plan.id()), "the search finds what is there");
    for (secret, index) in secrets.iter().zip(1..) {
        assert!(!travels(&secret.seal) && !travels(&secret.sign.to_bytes()));
        for parts in &all {
            assert_eq!(parts.context(), *run.dealing().context());
            let plain = secret.open(parts, index).unwrap();
            assert_eq!(plain[..2], [parts.dealer(), index]);
            assert!(!travels(&plain[2..]));
            let other = if index == 1 { 2 } else { 1 };
            assert_eq!(secret.open(parts, other), None);
        }
    }
}

#[test]
fn nothing_secret_is_printed() {
    let run = Run::new(plan(2, 2, 5), 6);
    assert_eq!(format!("{:?}", run.states[0]), "State(..)");
    let received = run.states[0].receive(&run.plan, run.deals.clone()).unwrap();
    assert!(format!("{received:?}").contains("SecretShare(..)"));
}

/// Trustees 1 and 3 of three hand on to four: 1 becomes 2, 3 leaves, three are new.
#[test]
fn a_key_is_handed_on() {
    let first = Run::new(plan(2, 3, 7), 8);
    let dealing = first.dealing();
    let mut manager = Manager::found(&dealing);
    let old = first.keys(&manager.group());

    let resharing =
        Plan::resharing(&manager.group(), set([1, 3]), quorum(3, 4), &mut rng(9)).unwrap();
    let resharing = Plan::decode(&resharing.encode()).unwrap();
    let all = [
        (Some(who(1)), None),
        (Some(who(2)), Some(&old[0])),
        (Some(who(3)), None),
        (Some(who(4)), None),
        (None, Some(&old[2])),
    ];
    let run = Run::of(resharing, &all, 10);
    assert_eq!(run.deals.len(), 2);
    let handed = run.dealing();
    assert_eq!(handed.sharing().public(), dealing.sharing().public());
    manager.reopen(&handed);
    let new = run.keys(&manager.group());
    assert!(new.iter().all(|key| key.since == 1));
    let expected = opened(dealing.sharing(), &old, &[0, 1]).unwrap();
    assert_eq!(opened(handed.sharing(), &new, &[0, 2, 3]), Ok(expected));
    let trustee = who(1);
    let refused = opened(handed.sharing(), &old, &[0, 1, 2]);
    assert_eq!(refused, Err(QuorumError::SecretShare { trustee }));

    let origin = manager.group().sharing(1).unwrap().unwrap().origin;
    assert_eq!(origin, Origin::Dkg);
    let leaves = run.receive(5, &run.deals).unwrap_err();
    assert_eq!(leaves.as_str(), "no-share");
}

#[test]
fn a_group_gets_a_new_opening_key() {
    let first = Run::new(plan(2, 3, 11), 12);
    let mut manager = Manager::found(&first.dealing());
    let again = Plan::new_key(&manager.group(), quorum(2, 2), &mut rng(13)).unwrap();
    let again = Plan::decode(&again.encode()).unwrap();
    let run = Run::new(again, 14);
    let dealing = Dealing::gather(&run.plan, run.deals.clone()).unwrap();
    assert_ne!(
        dealing.sharing().public(),
        first.dealing().sharing().public()
    );
    manager.reopen(&dealing);
    let keys = run.keys(&manager.group());
    let sharing = manager.group().sharing(1).unwrap().unwrap();
    assert_eq!(sharing.since, 1);
    assert!(opened(dealing.sharing(), &keys, &[0, 1]).is_ok());
}
