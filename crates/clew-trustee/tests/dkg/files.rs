//! Files that do not belong together, come twice, are missing, or are not whole.

use super::forge::{Secrets, armored, payload};
use super::groups::Manager;
use super::run::{Run, plan, quorum, rng, set, who};
use clew_group::quorum::{QuorumError, Trustee};
use clew_keys::TextFile;
use clew_trustee::dkg::{Deal, Dealing, DkgError, Hello, Participants, Plan, State};

fn gathered(run: &Run, hellos: &[Hello]) -> Result<(), DkgError> {
    Participants::gather(&run.plan, hellos).map(|_| ())
}

#[test]
fn files_of_another_plan() {
    let (run, other) = (Run::new(plan(2, 2, 1), 2), Run::new(plan(2, 2, 3), 2));
    assert_ne!(run.plan.id(), other.plan.id());
    assert_eq!(gathered(&run, &other.hellos), Err(DkgError::OtherPlan));
    let mixed = vec![run.deals[0].clone(), other.deals[1].clone()];
    let refused = Dealing::gather(&run.plan, mixed).map(|_| ());
    assert_eq!(refused, Err(DkgError::OtherPlan));
    let refused = run.states[0].receive(&other.plan, other.deals.clone());
    assert_eq!(refused.map(|_| ()), Err(DkgError::OtherPlan));
    let mut state = State::decode(&run.states[0].encode()).unwrap();
    let refused = state.deal(&other.plan, None, &other.hellos, &mut rng(1));
    assert_eq!(refused.map(|_| ()), Err(DkgError::OtherPlan));
}

#[test]
fn hellos_twice_or_missing_or_of_one_key() {
    let run = Run::new(plan(2, 3, 1), 2);
    let [a, b, c] = [0, 1, 2].map(|i: usize| run.hellos[i].clone());
    let trustee = who(3);
    let refused = gathered(&run, &[a.clone(), b.clone()]);
    assert_eq!(refused, Err(DkgError::NoHello { trustee }));
    let refused = gathered(&run, &[a.clone(), b.clone(), c.clone(), c.clone()]);
    assert_eq!(refused, Err(DkgError::TwoHellos { trustee }));

    // Trustee 1 says hello as 3 too, with one of its keys or both; or with an index that is none.
    let secrets = Secrets::of(&run.states[0]);
    for seal in [secrets.seal_public(), [7; 32]] {
        let refused = gathered(&run, &[a.clone(), b.clone(), secrets.hello([3, 3], seal)]);
        assert_eq!(refused, Err(DkgError::SameKey { trustee }));
    }
    for indices in [[3, 0], [0, 3], [3, 2], [4, 4]] {
        let hello = secrets.hello(indices, [7; 32]);
        let index = indices[0].max(indices[1]);
        let refused = gathered(&run, &[a.clone(), b.clone(), hello]);
        assert_eq!(refused, Err(DkgError::Role { index }), "{indices:?}");
    }
}

#[test]
fn a_hello_that_was_changed() {
    let run = Run::new(plan(2, 2, 1), 2);
    let bytes = payload(&run.hellos[1].encode());
    for at in 34..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        let hello = Hello::decode(&armored("clew-dkg-hello-1", &bytes)).unwrap();
        let refused = gathered(&run, &[run.hellos[0].clone(), hello]);
        let trustee = who(2);
        assert_eq!(refused, Err(DkgError::HelloSignature { trustee }), "{at}");
    }
}

/// X25519 with a point of small order is a secret that everybody knows.
#[test]
fn a_key_of_small_order() {
    let run = Run::new(plan(2, 2, 1), 2);
    let hello = Secrets::of(&run.states[1]).hello([2, 2], [0; 32]);
    let hellos = [run.hellos[0].clone(), hello];
    let mut state = State::begin(&run.plan, Some(who(1)), None, &mut rng(2)).unwrap();
    let refused = state.deal(&run.plan, None, &hellos, &mut rng(1));
    let error = refused.map(|_| ()).unwrap_err();
    assert_eq!(error, DkgError::HelloKey { trustee: who(2) });
    assert_eq!(error.culprit(), Some(who(2)));
    assert!(state.dealt().is_none());
}

#[test]
fn a_trustee_deals_once() {
    let run = Run::new(plan(2, 2, 1), 2);
    let other = State::begin(&run.plan, Some(who(2)), None, &mut rng(9)).unwrap();
    let mut state = State::decode(&run.states[0].encode()).unwrap();
    let hellos = [run.hellos[0].clone(), other.hello()];
    let refused = state.deal(&run.plan, None, &hellos, &mut rng(1));
    assert_eq!(refused.map(|_| ()), Err(DkgError::DealtBefore));
    assert_eq!(state.encode(), run.states[0].encode(), "nothing is lost");
}

#[test]
fn deals_twice_or_missing_or_not_ones_own() {
    let run = Run::new(plan(2, 3, 1), 2);
    let [a, b, c] = [0, 1, 2].map(|i: usize| run.deals[i].clone());
    let trustee = who(3);
    let missing = QuorumError::Missing { trustee }.into();
    assert_eq!(run.receive(1, &[a.clone(), b.clone()]), Err(missing));
    assert_eq!(missing.as_str(), "no-deal");
    let twice = QuorumError::Repeated { trustee }.into();
    assert_eq!(run.receive(1, &[a, b, c.clone(), c]), Err(twice));
    assert_eq!(twice.as_str(), "two-deals");
    let none = Dealing::gather(&run.plan, Vec::new()).map(|_| ());
    let trustee = who(1);
    assert_eq!(none, Err(QuorumError::Missing { trustee }.into()));

    // Its state was lost, and it dealt again: the first deal is not its own any more.
    let mut again = State::begin(&run.plan, Some(who(1)), None, &mut rng(2)).unwrap();
    assert_eq!(again.hello(), run.hellos[0]);
    let refused = again.receive(&run.plan, run.deals.clone()).map(|_| ());
    assert_eq!(refused, Err(DkgError::OwnDeal), "it has not dealt yet");
    again
        .deal(&run.plan, None, &run.hellos, &mut rng(77))
        .unwrap();
    let refused = again.receive(&run.plan, run.deals.clone()).map(|_| ());
    assert_eq!(refused, Err(DkgError::OwnDeal));
}

#[test]
fn indices_of_nobody() {
    let begin = |index: Option<u8>| {
        let index = index.map(|i| Trustee::new(i).unwrap());
        State::begin(&plan(2, 3, 1), index, None, &mut rng(1)).map(|_| ())
    };
    assert_eq!(begin(Some(3)), Ok(()));
    assert_eq!(begin(Some(4)), Err(DkgError::Role { index: 4 }));
    assert_eq!(begin(None), Err(DkgError::Role { index: 0 }));
}

#[test]
fn a_history_that_is_another() {
    let first = Run::new(plan(2, 3, 7), 8);
    let mut manager = Manager::found(&first.dealing());
    let before = manager.group();
    let make = |seed| Plan::new_key(&before, quorum(2, 2), &mut rng(seed)).unwrap();
    let (one, two) = (Run::new(make(1), 2), Run::new(make(3), 4));
    assert_eq!(one.plan.check_current(&before), Ok(()));
    let mut fork = manager.clone();
    manager.reopen(&one.dealing());
    let after = manager.group();

    // A plan that another one overtook is stale, and its result is not in the record.
    assert_eq!(two.plan.check_group(&after), Ok(()));
    assert_eq!(two.plan.check_current(&after), Err(DkgError::Stale));
    assert_eq!(first.plan.check_current(&after), Err(DkgError::Purpose));
    let refused = one.dealing().founding().map(|_| ());
    assert_eq!(refused, Err(DkgError::Purpose));
    let received = two.states[0].receive(&two.plan, two.deals.clone()).unwrap();
    assert_eq!(received.key(&after).map(|_| ()), Err(DkgError::Record));

    // A group file from before the plan, of another group, and of another history.
    let later = Plan::resharing(&after, set([1, 2]), quorum(1, 1), &mut rng(5)).unwrap();
    assert_eq!(later.check_group(&before), Err(DkgError::OtherHistory));
    fork.reopen(&two.dealing());
    assert_eq!(
        later.check_group(&fork.group()),
        Err(DkgError::OtherHistory)
    );
    let sibling = Run::new(first.plan.clone(), 99);
    let sibling = Manager::found(&sibling.dealing()).group();
    assert_eq!(later.check_group(&sibling), Err(DkgError::OtherGroup));
}

/// Every file cut off anywhere, or with any bit changed under a good checksum, is damaged or breaks
/// a rule by name; none is taken for another.
#[test]
fn damaged_and_foreign_files() {
    let run = Run::new(plan(2, 2, 1), 2);
    let files = [
        ("clew-dkg-plan-1", run.plan.encode()),
        ("clew-dkg-hello-1", run.hellos[0].encode()),
        ("clew-dkg-deal-1", run.deals[0].encode()),
        ("clew-dkg-state-1", run.states[0].encode()),
    ];
    let read = |label: &str, text: &str| match label {
        "clew-dkg-plan-1" => Plan::decode(text).map(|plan| plan.encode()),
        "clew-dkg-hello-1" => Hello::decode(text).map(|hello| hello.encode()),
        "clew-dkg-deal-1" => Deal::decode(text).map(|deal| deal.encode()),
        _ => State::decode(text).map(|state| state.encode()),
    };
    for (label, text) in &files {
        assert_eq!(read(label, text).unwrap(), *text);
        for (other, _) in files.iter().filter(|(other, _)| other != label) {
            assert_eq!(read(other, text).unwrap_err().as_str(), "label");
        }
        let bytes = payload(text);
        for length in 0..bytes.len() {
            let cut = armored(label, &bytes[..length]);
            let whole = *label == "clew-dkg-state-1" && length == 98;
            assert_eq!(read(label, &cut).is_ok(), whole, "{label} {length}");
        }
        let nobody = |bytes: &[u8]| [&bytes[..32], &[0, 0], &bytes[34..]].concat();
        if !label.contains("plan") && !label.contains("deal") {
            let text = armored(label, &nobody(&bytes));
            assert_eq!(read(label, &text).unwrap_err().as_str(), "damaged");
        }
        let longer = armored(label, &[&bytes[..], &[0]].concat());
        assert_eq!(read(label, &longer).unwrap_err().as_str(), "damaged");
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            let text = armored(label, &changed);
            if let Ok(again) = read(label, &text) {
                assert_eq!(payload(&again), changed, "{label} {at}");
            }
        }
    }
}

/// A changed deal is refused whatever was changed.
#[test]
fn every_byte_of_a_deal_counts() {
    let run = Run::new(plan(2, 2, 1), 2);
    let bytes = payload(&run.deals[1].encode());
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        let text = armored("clew-dkg-deal-1", &changed);
        if let Ok(deal) = Deal::decode(&text) {
            let refused = run.receive(1, &[run.deals[0].clone(), deal]).unwrap_err();
            assert_eq!(refused.culprit(), None, "byte {at}: {}", refused.as_str());
        }
    }
}
