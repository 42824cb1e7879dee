//! Each state of a request, and who cannot bring it about.

use super::log::secret;
use super::run::{REQUESTER, World, at, author, held, trustee};
use clew_group::quorum::Set;
use clew_log::entry::{Answer, Body, Trusteeship};
use clew_trustee::request::{Done, Happened, Message, RequestState, Todo};

const STRANGER: u8 = 60;

fn yes_by_two(is_match: bool) -> World {
    let mut world = World::new(is_match);
    world.decide(1, 1, Answer::Yes);
    world.decide(3, 3, Answer::Yes);
    world
}

#[test]
fn a_request_goes_through_its_states() {
    let mut world = World::new(false);
    assert_eq!(world.state(), RequestState::Filed);
    let reviewed = Message::Reviewed {
        time: at(3),
        trustee: trustee(1),
        answer: Answer::Yes,
    };
    world.say(1, reviewed);
    assert_eq!(world.state(), RequestState::Reviewed);
    world.decide(1, 1, Answer::Yes);
    world.decide(3, 3, Answer::Yes);
    let approved = RequestState::Approved { have: 2, need: 2 };
    assert_eq!(world.state(), approved);
    world.share(1, 1, 0);
    assert_eq!(world.state(), approved);
    world.share(3, 3, 0);
    assert_eq!(world.state(), RequestState::Computed);
    let body = Body::Result {
        place: world.filing.place,
        evidence: [8; 32],
    };
    let place = world.log.add(body, &secret(REQUESTER), 50);
    let proof = world.log.proof(place);
    world.say(REQUESTER, Message::Result(proof));
    assert_eq!(world.state(), RequestState::Delivered);
    let last = *world.progress(100).events.last().unwrap();
    assert_eq!((last.place, last.time), (Some(place), Some(at(50))));
    assert_eq!(last.what, Happened::Delivered([8; 32]));
}

#[test]
fn a_request_expires_until_it_is_computed() {
    let mut world = yes_by_two(false);
    let state = |world: &World| world.progress(1_000_000).state;
    assert_eq!(world.progress(999_999).state.as_str(), "approved");
    assert_eq!(state(&world), RequestState::Expired);
    world.share(1, 1, 0);
    world.share(3, 3, 0);
    assert_eq!(state(&world), RequestState::Computed);
}

#[test]
fn a_request_is_refused_when_too_few_are_left() {
    let mut world = World::new(false);
    world.decide(1, 1, Answer::No(27));
    assert_eq!(world.state(), RequestState::Filed);
    world.decide(2, 2, Answer::No(17));
    assert_eq!(world.state(), RequestState::Refused);
    // A trustee that refused may say yes later.
    world.decide(2, 2, Answer::Yes);
    assert_eq!(world.state(), RequestState::Approved { have: 1, need: 2 });
}

/// Trustees of another opening key have no share of this packet's: their word is not counted, nor kept apart.
#[test]
fn trustees_of_another_opening_key_do_not_count() {
    let mut world = World::new(false);
    let of_later = |index| Trusteeship { since: 4, index };
    world.decide(1, 1, Answer::Yes);
    world.decide_as(7, of_later(2), Answer::Yes);
    world.decide_as(8, of_later(3), Answer::No(27));
    world.decide_as(9, of_later(1), Answer::No(27));
    let approved = RequestState::Approved { have: 1, need: 2 };
    assert_eq!(world.state(), approved);
    world.share(7, 2, 0);
    world.decide(2, 2, Answer::Yes);
    world.share(2, 2, 0);
    let approved = RequestState::Approved { have: 2, need: 2 };
    assert_eq!(world.state(), approved);
    // The packet's epoch may be the later key's.
    world.filing.since = 4;
    assert_eq!(world.state(), RequestState::Refused);
}

#[test]
fn what_the_log_does_not_show_does_not_count() {
    let mut world = yes_by_two(false);
    let approved = world.state();
    // A share of somebody who did not say yes, and one as another trustee.
    world.share(2, 2, 0);
    world.share(STRANGER, 1, 0);
    world.share(1, 3, 0);
    world.share(1, 1, 0);
    assert_eq!(world.state(), approved);
    // A proof that another witness cosigned, and another's proof.
    let mut other = World::new(false);
    let body = Body::Decision {
        place: other.filing.place,
        by: held(1),
        answer: Answer::Yes,
    };
    let place = other.log.add(body, &secret(1), 9);
    let forged = Box::new(other.log.proof_by(place, &secret(103)));
    other.say(1, Message::Decision(forged));
    let stolen = other.log.proof(place);
    other.say(STRANGER, Message::Decision(stolen.clone()));
    assert_eq!(other.state(), RequestState::Filed);
    other.say(1, Message::Decision(stolen));
    assert_eq!(other.state().as_str(), "approved");
    // A decision about another request, and a result of somebody else.
    let mut third = World::new(false);
    let place = third.log.add(
        Body::Decision {
            place: 9,
            by: held(1),
            answer: Answer::Yes,
        },
        &secret(1),
        9,
    );
    let proof = third.log.proof(place);
    third.say(1, Message::Decision(proof));
    let body = Body::Result {
        place: third.filing.place,
        evidence: [8; 32],
    };
    let place = third.log.add(body, &secret(STRANGER), 9);
    let proof = third.log.proof(place);
    third.say(STRANGER, Message::Result(proof));
    assert_eq!(third.state(), RequestState::Filed);
}

#[test]
fn a_set_is_the_requesters_and_all_of_it_said_yes() {
    let done = Done {
        is_reviewed: true,
        order: Some(Answer::Yes),
        decision: Some(Answer::Yes),
        ..Done::default()
    };
    let set = |of: &[u8]| Set::of(of.iter().copied().map(trustee)).unwrap();
    let todo = |by: u8, attempt: u8, of: &[u8]| {
        let mut world = yes_by_two(true);
        let set = set(of);
        world.say(by, Message::Set { attempt, set });
        world.todo(1, &done, &world.posts)
    };
    let good = set(&[1, 3]);
    let commit = |attempt| Todo::Commit { attempt, set: good };
    assert_eq!(todo(REQUESTER, 1, &[1, 3]), commit(1));
    assert_eq!(todo(REQUESTER, 16, &[1, 3]), commit(16));
    for (by, attempt, of) in [
        (STRANGER, 1, &[1, 3][..]),
        (REQUESTER, 17, &[1, 3]),
        (REQUESTER, 1, &[1]),    // too few
        (REQUESTER, 1, &[1, 2]), // trustee 2 said nothing
        (REQUESTER, 1, &[1, 2, 3]),
        (REQUESTER, 1, &[2, 3]), // without this trustee
    ] {
        assert_eq!(todo(by, attempt, of), Todo::Wait, "{by} {attempt} {of:?}");
    }
}

#[test]
fn nothing_is_given_without_the_own_yes_in_the_log() {
    let world = yes_by_two(false);
    let reviewed = Done {
        is_reviewed: true,
        ..Done::default()
    };
    let todo = |done: Done| world.todo(1, &done, &world.posts);
    assert_eq!(todo(Done::default()), Todo::Review);
    assert_eq!(todo(reviewed), Todo::Operator);
    let order = Some(Answer::Yes);
    let ordered = Done { order, ..reviewed };
    assert_eq!(todo(ordered), Todo::Decide(Answer::Yes));
    let decision = Some(Answer::No(27));
    let refused = Done {
        decision,
        order: decision,
        ..reviewed
    };
    assert_eq!(todo(refused), Todo::Wait);
    assert_eq!(todo(Done { order, ..refused }), Todo::Decide(Answer::Yes));
    // A yes stays, whatever is ordered later.
    let yes = Done {
        decision: Some(Answer::Yes),
        order: Some(Answer::No(27)),
        ..reviewed
    };
    assert_eq!(todo(yes), Todo::Give);
    assert_eq!(todo(Done { gave: true, ..yes }), Todo::Wait);
}

#[test]
fn a_review_is_its_trustees() {
    let mut world = yes_by_two(false);
    let faulted = |by: u8| Message::Reviewed {
        time: at(3),
        trustee: trustee(by),
        answer: Answer::No(17),
    };
    world.say(STRANGER, faulted(1));
    world.say(REQUESTER, faulted(2));
    let events = world.progress(100).events;
    assert!(
        events
            .iter()
            .all(|event| event.what != Happened::Faulted(17))
    );
    world.say(1, faulted(1));
    let events = world.progress(100).events;
    assert!(
        events
            .iter()
            .any(|event| event.what == Happened::Faulted(17))
    );
    assert_ne!(author(STRANGER), author(1));
    // Before anybody decided: whoever speaks as two, or as another who speaks too, is not believed.
    let mut world = World::new(false);
    world.say(1, faulted(1));
    assert_eq!(world.state(), RequestState::Reviewed);
    world.say(3, faulted(1));
    assert_eq!(world.state(), RequestState::Filed);
    world.say(3, faulted(3));
    assert_eq!(world.state(), RequestState::Filed);
    world.decide(1, 1, Answer::Yes);
    let told = |world: &World| world.progress(100).events.len();
    assert_eq!(told(&world), 3, "filed, reviewed and approved by 1");
}

/// A rule that may hold later is no fault of the request, and the last word counts for nothing more.
#[test]
fn a_passing_rule_is_said_as_such() {
    let mut world = World::new(false);
    for (second, rule) in [(3, 21), (4, 17)] {
        let answer = Answer::No(rule);
        let (time, trustee) = (at(second), trustee(1));
        world.say(
            1,
            Message::Reviewed {
                time,
                trustee,
                answer,
            },
        );
    }
    let events = world.progress(100).events;
    let what: Vec<_> = events.iter().map(|event| event.what).collect();
    assert_eq!(what[1..], [Happened::Postponed(21), Happened::Faulted(17)]);
}
