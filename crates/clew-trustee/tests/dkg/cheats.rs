//! Who cheats is named, whether it is the manager that carries the files or a trustee.

use super::forge::{Parts, Secrets};
use super::groups::{Manager, forged, named, trusted_dealer};
use super::run::{Run, handing_on, plan, quorum, rng, set, who};
use clew_group::quorum::{Founding, QuorumError, Resharing, Sharing};
use clew_group::xr;
use clew_keys::{OpeningShare, TextFile, TrusteeKeyFile};
use clew_trustee::dkg::{Deal, Dealing, DkgError, Hello, OldKey, Place, Plan, State};

fn rule<T>(result: Result<T, DkgError>) -> &'static str {
    result.err().map_or("none", |error| error.as_str())
}

/// The manager shows dealer 1 a hello of its own in the place of trustee 2's, to read its share.
#[test]
fn a_swapped_hello_is_caught() {
    let honest = Run::new(plan(2, 3, 1), 2);
    let spy = State::begin(&honest.plan, Some(who(2)), None, &mut rng(3)).unwrap();
    let shown = [&honest.hellos[0], &spy.hello(), &honest.hellos[2]].map(Hello::clone);
    let mut victim = State::begin(&honest.plan, Some(who(1)), None, &mut rng(2)).unwrap();
    assert_eq!(victim.hello(), honest.hellos[0], "the same seed");
    let deal = victim
        .deal(&honest.plan, None, &shown, &mut rng(4))
        .unwrap();
    let deals = [deal, &honest.deals[1], &honest.deals[2]].map(Deal::clone);
    let named = DkgError::Hellos { trustee: who(1) };
    assert_eq!(honest.receive(2, &deals), Err(named));
    assert_eq!(honest.receive(3, &deals), Err(named));
    let refused = Dealing::gather(&honest.plan, deals.to_vec()).map(|_| ());
    assert_eq!(
        refused,
        Err(named),
        "the manager sees who has others than most"
    );

    // The hellos that the deal names are changed back: it is not what the dealer signed.
    let mut parts = Parts::of(deal);
    parts.participants = Parts::of(&honest.deals[1]).participants;
    let deals = [&parts.deal(), &honest.deals[1], &honest.deals[2]].map(Deal::clone);
    let named = DkgError::DealSignature { trustee: who(1) };
    assert_eq!(honest.receive(2, &deals), Err(named));

    // The victim itself signs the others' hellos, but its proof was made for those it saw.
    let secrets = Secrets::of(&victim);
    let signed = secrets.deal(&parts.participants, &parts.broadcast, &parts.sealed);
    let deals = [&signed, &honest.deals[1], &honest.deals[2]].map(Deal::clone);
    assert_eq!(rule(honest.receive(2, &deals)), "possession");
}

/// The manager takes the place of trustee 1 towards everybody else.
#[test]
fn a_trustee_who_was_replaced_finds_out() {
    let (plan, mut rng) = (plan(2, 3, 1), rng(2));
    let mut victim = State::begin(&plan, Some(who(1)), None, &mut rng).unwrap();
    let others = Run::new(plan, 3);
    let refused = victim.deal(&others.plan, None, &others.hellos, &mut rng);
    assert_eq!(rule(refused), "own-hello");

    // It is shown its own hello, and deals; the group is founded without its part.
    let mut shown = others.hellos.clone();
    shown[0] = victim.hello();
    let deal = victim.deal(&others.plan, None, &shown, &mut rng).unwrap();
    let deals = [deal, &others.deals[1], &others.deals[2]].map(Deal::clone);
    assert_eq!(rule(victim.receive(&others.plan, deals.to_vec())), "hellos");
    let refused = victim.receive(&others.plan, others.deals.clone());
    assert_eq!(rule(refused), "hellos");
}

/// Every trustee is alone among keys of the manager, which founds one group with one of them.
#[test]
fn separate_views_do_not_meet_in_one_record() {
    let plan = plan(2, 3, 1);
    let view = |own: u8| {
        let honest = Run::new(plan.clone(), u64::from(own));
        let record = honest.dealing();
        (honest, record)
    };
    let (first, second) = (view(1), view(2));
    let group = Manager::found(&first.1).group();
    let received = second.0.states[1].receive(&plan, second.0.deals.clone());
    assert_eq!(rule(received.unwrap().key(&group)), "record");
    let received = first.0.states[0].receive(&plan, first.0.deals.clone());
    assert_eq!(rule(received.unwrap().key(&group)), "none");
}

#[test]
fn a_dealer_that_cheats_is_named() {
    let run = Run::new(plan(2, 3, 1), 2);
    let cheat = Secrets::of(&run.states[2]);
    let parts = Parts::of(&run.deals[2]);
    let deals = |parts: &Parts| {
        let deal = cheat.deal(&parts.participants, &parts.broadcast, &parts.sealed);
        [run.deals[0].clone(), run.deals[1].clone(), deal]
    };
    assert_eq!(
        run.receive(1, &deals(&parts)),
        Ok(()),
        "signed again: the same"
    );
    let named = |receive: Result<(), DkgError>, rule: &str| {
        let error = receive.unwrap_err();
        assert_eq!((error.as_str(), error.culprit()), (rule, Some(who(3))));
    };

    // A share that is sealed to nobody, or of another length of nothing, or for somebody else.
    let mut garbled = parts.clone();
    garbled.replace(1, &[9; 82]);
    named(run.receive(1, &deals(&garbled)), "sealed-share");
    assert_eq!(run.receive(2, &deals(&garbled)), Ok(()));
    let plain = Secrets::of(&run.states[0]).open(&parts, 1).unwrap();
    let mut misled = parts.clone();
    let mut others = plain.clone();
    others[1] = 2;
    misled.replace(1, &parts.seal(1, &others));
    named(run.receive(1, &deals(&misled)), "sealed-share");
    let mut large = plain.clone();
    large[2..].fill(0xff);
    misled.replace(1, &parts.seal(1, &large));
    named(run.receive(1, &deals(&misled)), "sealed-share");

    // A share that does not fit the commitments.
    let mut wrong = plain.clone();
    wrong[33] ^= 1;
    misled.replace(1, &parts.seal(1, &wrong));
    named(run.receive(1, &deals(&misled)), "dealt-share");

    // A sealed share of another trustee, or of another dealer.
    let mut moved = parts.clone();
    moved.replace(1, &parts.sealed[82..164]);
    named(run.receive(1, &deals(&moved)), "sealed-share");
    moved.replace(1, &Parts::of(&run.deals[1]).sealed[..82]);
    named(run.receive(1, &deals(&moved)), "sealed-share");
}

#[test]
fn a_broadcast_has_to_hold() {
    let run = Run::new(plan(2, 3, 1), 2);
    let cheat = Secrets::of(&run.states[2]);
    let parts = Parts::of(&run.deals[2]);
    let gather = |parts: &Parts| {
        let deal = cheat.deal(&parts.participants, &parts.broadcast, &parts.sealed);
        let deals = vec![run.deals[0].clone(), run.deals[1].clone(), deal];
        Dealing::gather(&run.plan, deals).map(|_| ())
    };
    let mut proof = parts.clone();
    let last = proof.broadcast.len() - 1;
    proof.broadcast[last] ^= 1;
    let error = gather(&proof).unwrap_err();
    assert_eq!(
        (error.as_str(), error.culprit()),
        ("possession", Some(who(3)))
    );

    // To another threshold; a copy of another dealer's broadcast.
    let base = xr::Generators::of(&run.plan.nonce).u;
    let steeper = Founding::new(parts.context(), &base, quorum(3, 3));
    let dealt = steeper.deal(who(3), &mut rng(4)).unwrap();
    let error = gather(&parts.redealt(dealt)).unwrap_err();
    assert_eq!(
        (error.as_str(), error.culprit()),
        ("commitments", Some(who(3)))
    );
    let mut copied = parts.clone();
    copied.broadcast = Parts::of(&run.deals[0]).broadcast;
    copied.broadcast[0] = 3;
    assert_eq!(rule(gather(&copied)), "possession");
    copied.broadcast[0] = 1; // signed by 3 in the name of 1
    let error = gather(&copied).unwrap_err();
    assert_eq!(error, DkgError::DealSignature { trustee: who(1) });
    assert_eq!(error.culprit(), None, "anybody can have changed it");
}

#[test]
fn the_record_has_to_be_the_sum() {
    let run = Run::new(plan(2, 3, 1), 2);
    let dealing = run.dealing();
    let key = |group| {
        let received = run.states[0].receive(&run.plan, run.deals.clone());
        received.unwrap().key(&group)
    };
    let h = dealing.sharing().public();
    let with = |h, record| forged(&run.plan, h, record);
    assert_eq!(rule(key(with(h, dealing.record()))), "none");
    assert_eq!(rule(key(with(h, trusted_dealer(&dealing)))), "record");
    let other = Run::new(run.plan.clone(), 3).dealing();
    assert_eq!(rule(key(with(h, other.record()))), "record");
    assert_eq!(
        rule(key(with(other.sharing().public(), dealing.record()))),
        "record"
    );

    let elsewhere = |name: &str, nonce| {
        let name = name.parse().unwrap();
        named(name, nonce, h, dealing.record())
    };
    assert_eq!(rule(key(elsewhere("acme", [1; 32]))), "other-group");
    assert_eq!(rule(key(elsewhere("acne", run.plan.nonce))), "other-group");
}

/// A resharing of a key that is known here.
struct Handing {
    plan: Plan,
    sharing: Sharing,
    old: Vec<TrusteeKeyFile>,
}

fn handing() -> Handing {
    let first = plan(2, 3, 1);
    let base = xr::Generators::of(&first.nonce).u;
    let xi = clew_group::curve::Scalar::random(&mut rng(5));
    let (sharing, shares) = Sharing::deal(&base, &xi, quorum(2, 3), &mut rng(6)).unwrap();
    let group = clew_evidence::GroupId([4; 16]);
    let place = Place {
        group,
        epoch: 3,
        id: clew_group::EpochId([5; 32]),
    };
    let old = OldKey {
        since: 2,
        origin: clew_evidence::Origin::TrustedDealer,
        sharing: sharing.clone(),
    };
    let key = |share| TrusteeKeyFile {
        group,
        since: 2,
        share: OpeningShare::Xr(share),
    };
    Handing {
        plan: handing_on(&first, place, set([1, 2]), old),
        sharing,
        old: shares.into_iter().map(key).collect(),
    }
}

#[test]
fn only_the_old_share_is_handed_on() {
    let Handing { plan, sharing, old } = handing();
    let all = [
        (Some(who(1)), Some(&old[0])),
        (Some(who(2)), Some(&old[1])),
        (Some(who(3)), None),
    ];
    let run = Run::of(plan.clone(), &all, 7);
    assert_eq!(run.receive(3, &run.deals), Ok(()));

    // Dealer 2 deals a share of another key, with a proof that holds.
    let parts = Parts::of(&run.deals[1]);
    let (other, shares) = Sharing::deal(
        sharing.base(),
        &clew_group::curve::Scalar::random(&mut rng(8)),
        quorum(2, 3),
        &mut rng(9),
    )
    .unwrap();
    let round = Resharing::new(parts.context(), &other, set([1, 2]), quorum(2, 3)).unwrap();
    let forged = parts.redealt(round.deal(&shares[1], &mut rng(10)).unwrap());
    let forged =
        Secrets::of(&run.states[1]).deal(&forged.participants, &forged.broadcast, &forged.sealed);
    let error = run.receive(3, &[run.deals[0].clone(), forged]).unwrap_err();
    assert_eq!(
        (error.as_str(), error.culprit()),
        ("constant", Some(who(2)))
    );
}

#[test]
fn old_keys_are_those_of_the_plan() {
    let Handing { plan, old, .. } = handing();
    let begin = |key: &TrusteeKeyFile| State::begin(&plan, Some(who(1)), Some(key), &mut rng(1));
    assert_eq!(rule(begin(&old[0])), "none");
    assert_eq!(begin(&old[2]).unwrap_err(), DkgError::Role { index: 3 });
    let changed = |group: u8, since, share: usize| TrusteeKeyFile {
        group: clew_evidence::GroupId([group; 16]),
        since,
        share: match &old[share].share {
            OpeningShare::Xr(share) => OpeningShare::Xr(share.clone()),
            OpeningShare::Bbs04(both) => OpeningShare::Bbs04(both.clone()),
        },
    };
    assert_eq!(rule(begin(&changed(4, 2, 0))), "none");
    assert_eq!(rule(begin(&changed(5, 2, 0))), "old-key");
    assert_eq!(rule(begin(&changed(4, 1, 0))), "old-key");
    let bytes = match &old[0].share {
        OpeningShare::Xr(share) => share.to_bytes(),
        OpeningShare::Bbs04(_) => unreachable!(),
    };
    let stranger = clew_group::quorum::SecretShare::from_bytes(who(2), bytes.as_slice());
    let mut stranger_key = changed(4, 2, 0);
    stranger_key.share = OpeningShare::Xr(stranger.unwrap());
    assert_eq!(rule(begin(&stranger_key)), "old-key");

    // For a new key there is none to hand on; a resharing needs the dealer's own.
    let founding = super::run::plan(2, 2, 1);
    let refused = State::begin(&founding, Some(who(1)), Some(&old[0]), &mut rng(1));
    assert_eq!(rule(refused), "old-key");
    let all = [
        (Some(who(1)), Some(&old[0])),
        (Some(who(2)), Some(&old[1])),
        (Some(who(3)), None),
    ];
    let run = Run::of(plan.clone(), &all, 7);
    let mut fresh = State::decode(&begin_again(&run.states[0])).unwrap();
    for wrong in [None, Some(&old[1])] {
        let refused = fresh.deal(&plan, wrong, &run.hellos, &mut rng(1));
        assert_eq!(rule(refused), "old-key");
    }
    assert!(
        fresh
            .deal(&plan, Some(&old[0]), &run.hellos, &mut rng(1))
            .is_ok()
    );
    let nothing = run.states[2].hello();
    let mut third = State::decode(&run.states[2].encode()).unwrap();
    assert_eq!(third.hello(), nothing);
    let refused = third.deal(&plan, Some(&old[2]), &run.hellos, &mut rng(1));
    assert_eq!(rule(refused), "role");
}

/// A state as it was before it dealt.
fn begin_again(state: &State) -> String {
    let bytes = super::forge::payload(&state.encode());
    super::forge::armored("clew-dkg-state-1", &bytes[..98])
}

#[test]
fn too_few_hand_on() {
    let first = Run::new(plan(2, 3, 7), 8);
    let group = Manager::found(&first.dealing()).group();
    let refused = Plan::resharing(&group, set([1]), quorum(2, 3), &mut rng(1));
    let too_few = QuorumError::TooFew {
        given: 1,
        needed: 2,
    };
    assert_eq!(refused, Err(DkgError::Quorum(too_few)));
    let refused = Plan::resharing(&group, set([1, 4]), quorum(2, 3), &mut rng(1));
    assert_eq!(refused, Err(QuorumError::Index { index: 4 }.into()));
}
