use super::*;
use crate::entry::Entry;
use crate::entry::tests::{NOW, held, key};
use crate::tree;

const MANAGER: u8 = 1;
const TRUSTEES: [u8; 3] = [11, 12, 13];
const OBSERVER: u8 = 20;
const COURT: u8 = 30;
const OTHER_COURT: u8 = 31;

const HOUR: Duration = CLOCK_DIFFERENCE_MAX;
const RECORD: Hash = [7; 32];

fn founder() -> Founder {
    Founder {
        record: RECORD,
        manager: key(MANAGER).verifying_key().to_bytes(),
    }
}

fn public(number: u8) -> [u8; 32] {
    key(number).verifying_key().to_bytes()
}

fn at(body: Body, by: u8, time: WallTime) -> Logged {
    let entry = Entry::sign(founder().group(), time, body, &key(by)).unwrap();
    Logged {
        logged: time,
        entry,
    }
}

fn said(body: Body, by: u8) -> Logged {
    at(body, by, NOW)
}

fn author(number: u8, role: Role) -> Logged {
    author_again(number, role, 0)
}

fn author_again(number: u8, role: Role, change: u32) -> Logged {
    let body = Body::Author {
        role,
        key: public(number),
        change,
        name: format!("key {number}").parse().unwrap(),
    };
    said(body, MANAGER)
}

fn warrant() -> Warrant {
    Warrant {
        salt: [1; 32],
        file: b"warrant".to_vec(),
    }
}

fn request(id: u8, seal: Seal) -> Body {
    Body::Request(Filed {
        asks: Asks::Opening,
        request: [id; 32],
        signatures: 3,
        warrant: warrant().hash(),
        seal,
    })
}

fn decision(place: u64, trustee: u8, answer: Answer) -> Body {
    decision_of(place, held(0, trustee), answer)
}

fn decision_of(place: u64, by: Trusteeship, answer: Answer) -> Body {
    Body::Decision { place, by, answer }
}

fn enrolled(first: u32, count: usize) -> Body {
    Body::Enrolled {
        first,
        leaves: vec![[9; 32]; count],
    }
}

fn epoch(epoch: u32, id: u8) -> Body {
    Body::Epoch {
        epoch,
        id: [id; 32],
        start: NOW,
    }
}

const OPEN: u64 = 7;
const SEALED: u64 = 8;
fn end() -> WallTime {
    NOW + SEAL_MAX
}

/// A log with all authors, an open request and a sealed one, 2 rows and an epoch.
fn state() -> LogState {
    let mut state = LogState::new(founder());
    let entries = [
        said(Body::Group { record: RECORD }, MANAGER),
        author(TRUSTEES[0], Role::Trustee(held(0, 1))),
        author(TRUSTEES[1], Role::Trustee(held(0, 2))),
        author(TRUSTEES[2], Role::Trustee(held(0, 3))),
        author(OBSERVER, Role::Observer),
        author(COURT, Role::Requester),
        author(OTHER_COURT, Role::Requester),
        said(request(1, Seal::Open(warrant())), COURT),
        said(request(2, Seal::Until(end())), COURT),
        said(enrolled(0, 2), MANAGER),
        said(epoch(1, 1), MANAGER),
    ];
    for entry in entries {
        state.add(&entry).unwrap();
    }
    state
}

#[track_caller]
fn refused(state: &LogState, logged: &Logged, rule: Rule) {
    assert_eq!(state.check(logged), Err(rule), "{:?}", logged.entry.body);
    let mut same = state.clone();
    assert_eq!(same.add(logged), Err(rule));
    assert_eq!(same.size(), state.size());
}

#[test]
fn a_log_begins_with_its_group_and_has_one() {
    let group = said(Body::Group { record: RECORD }, MANAGER);
    assert_eq!(Founder::of(&group), Some(founder()));
    let mut empty = LogState::new(founder());
    refused(&empty, &said(enrolled(0, 1), MANAGER), Rule::Order);
    let other = said(Body::Group { record: [8; 32] }, MANAGER);
    refused(&empty, &other, Rule::Group);
    assert_eq!(
        Founder::of(&other),
        None,
        "its id is not that of its record"
    );
    assert_eq!(Founder::of(&said(enrolled(0, 1), MANAGER)), None);
    empty.add(&group).unwrap();
    refused(&empty, &group, Rule::Order);
}

#[test]
fn another_groups_entry_is_refused() {
    let entry = Entry::sign([0; 16], NOW, enrolled(2, 1), &key(MANAGER)).unwrap();
    refused(&state(), &Logged { logged: NOW, entry }, Rule::Group);
}

/// Each kind is taken from its authors, and from nobody else.
#[test]
fn authors_write_what_they_may() {
    let everybody = [
        MANAGER,
        TRUSTEES[0],
        TRUSTEES[1],
        OBSERVER,
        COURT,
        OTHER_COURT,
        99,
    ];
    let result = || Body::Result {
        place: OPEN,
        evidence: [0; 32],
    };
    let anchor = || Body::Anchor {
        segment: [0; 32],
        first: NOW,
        last: NOW,
        packets: 1,
    };
    let new = || author(50, Role::Observer).entry.body;
    let cases: [(Body, &[u8]); 7] = [
        (new(), &[MANAGER]),
        (enrolled(2, 1), &[MANAGER]),
        (epoch(2, 2), &[MANAGER]),
        (request(9, Seal::Open(warrant())), &[COURT, OTHER_COURT]),
        (decision(OPEN, 2, Answer::Yes), &[TRUSTEES[1]]),
        (result(), &[COURT]),
        (anchor(), &[OBSERVER]),
    ];
    for (body, may) in cases {
        for by in everybody {
            let checked = state().check(&said(body.clone(), by));
            let expected = match may.contains(&by) {
                true => Ok(()),
                false => Err(Rule::Author),
            };
            assert_eq!(checked, expected, "{} by {by}", body.name());
        }
    }
}

#[test]
fn keys_are_replaced_and_withdrawn() {
    let mut state = state();
    let yes = |by| said(decision(OPEN, 1, Answer::Yes), by);
    state.add(&author(14, Role::Trustee(held(0, 1)))).unwrap();
    refused(&state, &yes(TRUSTEES[0]), Rule::Author);
    state.check(&yes(14)).unwrap();
    state.add(&author_again(COURT, Role::None, 1)).unwrap();
    let again = said(request(5, Seal::Open(warrant())), COURT);
    refused(&state, &again, Rule::Author);
    // A key comes back, by an entry that is not the first one again.
    let back = |change| author_again(COURT, Role::Requester, change);
    refused(&state, &back(0), Rule::Fork);
    refused(&state, &back(3), Rule::Order);
    assert_ne!(back(0).entry.statement(), back(2).entry.statement());
    state.add(&back(2)).unwrap();
    state.add(&again).unwrap();
    assert_eq!(state.author(&public(COURT)).unwrap().changes, 3);
    // The manager's own key never gets another role.
    refused(
        &state,
        &author(MANAGER, Role::Trustee(held(0, 1))),
        Rule::Order,
    );
}

/// A new opening key has trustees of its own, and those of the earlier one go on about its packets.
#[test]
fn trustees_of_an_earlier_opening_key_still_decide() {
    let mut state = state();
    let (old, new) = (held(0, 1), held(1, 1));
    let yes = |by, trustee| said(decision_of(OPEN, trustee, Answer::Yes), by);
    // An opening key that the log has no epoch of has no trustees.
    refused(&state, &author(14, Role::Trustee(held(2, 1))), Rule::Order);
    state.add(&author(14, Role::Trustee(new))).unwrap();
    state.check(&yes(TRUSTEES[0], old)).unwrap();
    state.check(&yes(14, new)).unwrap();
    refused(&state, &yes(TRUSTEES[0], new), Rule::Author);
    refused(&state, &yes(14, old), Rule::Author);
    // One that stays has both, under another index.
    let stays = author_again(TRUSTEES[1], Role::Trustee(held(1, 3)), 1);
    state.add(&stays).unwrap();
    for held in [held(0, 2), held(1, 3)] {
        state.check(&yes(TRUSTEES[1], held)).unwrap();
    }
    let role = |state: &LogState, by| state.author(&public(by)).unwrap().role;
    assert_eq!(role(&state, TRUSTEES[1]), Role::Trustee(held(1, 3)));
    // Another key takes the share of one opening key, and leaves the other.
    state.add(&author(15, Role::Trustee(held(1, 3)))).unwrap();
    refused(&state, &yes(TRUSTEES[1], held(1, 3)), Rule::Author);
    state.check(&yes(TRUSTEES[1], held(0, 2))).unwrap();
    assert_eq!(role(&state, TRUSTEES[1]), Role::Trustee(held(0, 2)));
    // Dismissed on purpose, it has none.
    state
        .add(&author_again(TRUSTEES[1], Role::None, 2))
        .unwrap();
    refused(&state, &yes(TRUSTEES[1], held(0, 2)), Rule::Author);
    assert_eq!(state.trustees().count(), 4);
    // Trustees of two opening keys are no quorum of one.
    state.add(&yes(TRUSTEES[0], old)).unwrap();
    state.add(&yes(15, held(1, 3))).unwrap();
    assert_eq!(state.request(OPEN).unwrap().approved(2), None);
    state.add(&yes(14, new)).unwrap();
    assert_eq!(state.request(OPEN).unwrap().approved(2), Some(NOW));
}

#[test]
fn clocks_differ_by_an_hour_at_most() {
    let state = state();
    for (time, holds) in [
        (NOW - HOUR, true),
        (NOW + HOUR, true),
        (NOW - HOUR - Duration::from_nanos(1), false),
        (NOW + HOUR + Duration::from_nanos(1), false),
    ] {
        let mut entry = at(epoch(2, 2), MANAGER, time);
        entry.logged = NOW;
        let expected = if holds { Ok(()) } else { Err(Rule::Time) };
        assert_eq!(state.check(&entry), expected);
    }
}

/// Two managers of one store meet in the log.
#[test]
fn a_second_history_is_a_fork() {
    let state = state();
    for fork in [epoch(1, 2), enrolled(1, 1), enrolled(0, 5), enrolled(0, 1)] {
        refused(&state, &said(fork, MANAGER), Rule::Fork);
    }
    for skip in [epoch(3, 3), enrolled(3, 1), enrolled(u32::MAX, 1)] {
        refused(&state, &said(skip, MANAGER), Rule::Order);
    }
    let mine = said(request(1, Seal::Open(warrant())), COURT);
    refused(&state, &mine, Rule::Fork);
    // Whoever learns of a request does not keep its requester from filing it.
    let same = said(request(1, Seal::Open(warrant())), OTHER_COURT);
    assert_eq!(state.check(&same), Ok(()));
}

#[test]
fn places_are_those_of_requests() {
    let state = state();
    for place in [0, OPEN - 1, SEALED + 1, u64::MAX] {
        let decision = decision(place, 1, Answer::Yes);
        refused(&state, &said(decision, TRUSTEES[0]), Rule::Order);
        let evidence = [0; 32];
        let result = Body::Result { place, evidence };
        refused(&state, &said(result, COURT), Rule::Order);
        let warrant = warrant();
        let unsealed = Body::Unsealed { place, warrant };
        refused(&state, &said(unsealed, MANAGER), Rule::Order);
    }
    let anchor = |first, last| Body::Anchor {
        segment: [0; 32],
        first,
        last,
        packets: 1,
    };
    let late = NOW + HOUR + Duration::from_nanos(1);
    refused(
        &state,
        &said(anchor(NOW, NOW - HOUR), OBSERVER),
        Rule::Order,
    );
    refused(&state, &said(anchor(NOW, late), OBSERVER), Rule::Order);
}

#[test]
fn warrants_are_those_of_their_hashes() {
    let state = state();
    let mut other = warrant();
    other.file.push(0);
    let filed = said(request(5, Seal::Open(other.clone())), COURT);
    refused(&state, &filed, Rule::Warrant);
    let unsealed = |place, warrant| said(Body::Unsealed { place, warrant }, COURT);
    refused(&state, &unsealed(SEALED, other), Rule::Warrant);
    refused(&state, &unsealed(OPEN, warrant()), Rule::Order);
    state.check(&unsealed(SEALED, warrant())).unwrap();
}

/// A seal always ends, counted from the log's time and not from the requester's.
#[test]
fn seals_end() {
    let state = state();
    let until = |end| request(5, Seal::Until(end));
    for (end, holds) in [
        (NOW, false),
        (NOW + Duration::from_nanos(1), true),
        (NOW + SEAL_MAX, true),
        (NOW + SEAL_MAX + Duration::from_nanos(1), false),
    ] {
        let mut filed = at(until(end), COURT, NOW + HOUR);
        filed.logged = NOW;
        let expected = if holds { Ok(()) } else { Err(Rule::Seal) };
        assert_eq!(state.check(&filed), expected);
    }
    let unsealed = |by, time| {
        let body = Body::Unsealed {
            place: SEALED,
            warrant: warrant(),
        };
        at(body, by, time)
    };
    let early = end() - Duration::from_nanos(1);
    for by in [MANAGER, TRUSTEES[0]] {
        refused(&state, &unsealed(by, early), Rule::Seal);
        state.check(&unsealed(by, end())).unwrap();
    }
    state.check(&unsealed(COURT, NOW)).unwrap();
    refused(&state, &unsealed(OTHER_COURT, end()), Rule::Author);
    refused(&state, &unsealed(OBSERVER, end()), Rule::Author);
}

#[test]
fn requests_are_counted_with_their_quorum() {
    let mut state = state();
    let later = NOW + Duration::from_secs(60);
    let mut say = |place, trustee: u8, answer, time| {
        let by = TRUSTEES[usize::from(trustee) - 1];
        state
            .add(&at(decision(place, trustee, answer), by, time))
            .unwrap();
    };
    say(SEALED, 1, Answer::No(4), NOW);
    say(SEALED, 3, Answer::Yes, NOW);
    // Two yes of one trustee are one.
    say(SEALED, 3, Answer::Yes, NOW);
    say(SEALED, 1, Answer::Yes, later);
    say(SEALED, 1, Answer::No(4), later);
    let request = state.request(SEALED).unwrap();
    assert_eq!(request.approved(1), Some(NOW));
    assert_eq!(request.approved(2), Some(later));
    assert_eq!(request.approved(3), None);
    assert!(request.no.is_empty());
    assert_eq!(state.request(OPEN).unwrap().approved(1), None);
    assert!(!request.is_overdue(end() - Duration::from_nanos(1)));
    assert!(request.is_overdue(end()));
    let body = Body::Unsealed {
        place: SEALED,
        warrant: warrant(),
    };
    state.add(&at(body, MANAGER, end())).unwrap();
    assert!(!state.request(SEALED).unwrap().is_overdue(end()));
    assert_eq!(state.requests().count(), 2);
}

#[test]
fn the_registers_roots_are_those_of_its_rows() {
    let mut state = LogState::new(founder());
    state.watch([1, 3, 4]);
    state
        .add(&said(Body::Group { record: RECORD }, MANAGER))
        .unwrap();
    state.add(&said(enrolled(0, 2), MANAGER)).unwrap();
    state.add(&said(enrolled(2, 1), MANAGER)).unwrap();
    let pair = tree::parent(&[9; 32], &[9; 32]);
    assert_eq!(state.register_root(1), Some([9; 32]));
    assert_eq!(state.register_root(2), None, "nobody asked");
    assert_eq!(state.register_root(3), Some(tree::parent(&pair, &[9; 32])));
    assert_eq!(state.register_root(4), None);
    assert_eq!(state.rows(), 3);
}

/// What is kept is what was there, and goes on the same; other bytes, keys and groups are refused.
#[test]
fn a_kept_state_is_the_same_state() {
    let mut state = state();
    state
        .add(&said(decision(OPEN, 1, Answer::Yes), TRUSTEES[0]))
        .unwrap();
    state
        .add(&said(decision(OPEN, 2, Answer::No(9)), TRUSTEES[1]))
        .unwrap();
    let mut edge = Frontier::EMPTY;
    for number in 0..state.size() {
        edge.push([number as u8; 32]).unwrap();
    }
    let log = key(77);
    let kept = KeptState {
        state: state.clone(),
        edge: edge.clone(),
    };
    let bytes = kept.sign(&log);
    let read = |bytes: &[u8]| KeptState::read(bytes, &log.verifying_key(), founder());
    let again = read(&bytes).unwrap();
    assert_eq!(format!("{:?}", again.state), format!("{state:?}"));
    assert_eq!(again.edge, edge);
    assert_eq!(again.sign(&log), bytes);
    for place in (0..bytes.len()).step_by(7) {
        let mut other = bytes.clone();
        other[place] ^= 1;
        assert!(read(&other).is_none(), "{place}");
    }
    for end in (0..bytes.len()).step_by(13) {
        assert!(read(&bytes[..end]).is_none());
    }
    assert!(KeptState::read(&bytes, &key(78).verifying_key(), founder()).is_none());
    let other = Founder {
        record: [8; 32],
        ..founder()
    };
    assert!(KeptState::read(&bytes, &log.verifying_key(), other).is_none());
    // Signed, and not well formed: as a log of another version would leave it.
    let body = &bytes[..bytes.len() - 64];
    for cut in [1, 9, 40] {
        let short = &body[..body.len() - cut];
        let signed = [short, &ed25519_dalek::Signer::sign(&log, short).to_bytes()].concat();
        assert!(read(&signed).is_none());
    }
}
