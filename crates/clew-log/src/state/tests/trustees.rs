//! Which trustees decide about which requests.

use super::*;

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

/// A decision of another log, or about another entry, is none of this one, whatever its place.
#[test]
fn decisions_are_of_one_entry() {
    let state = state();
    let other = said(request(1, Seal::Open(warrant())), OTHER_COURT);
    let mut moved = decision(OPEN, 1, Answer::Yes);
    let Body::Decision { request, .. } = &mut moved else {
        unreachable!("it is a decision")
    };
    *request = other.entry.statement();
    refused(&state, &said(moved, TRUSTEES[0]), Rule::Order);
    let mut moved = decision(OPEN, 1, Answer::Yes);
    if let Body::Decision { place, .. } = &mut moved {
        *place = SEALED;
    }
    refused(&state, &said(moved, TRUSTEES[0]), Rule::Order);
}
