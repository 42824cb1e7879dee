//! From shares to evidence: good ones are enough, and bad ones are named.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail the test"
)]

use crate::common::evidence::{set, trustee};
use crate::common::{Fixture, MACHINES, XR, fixtures};
use clew_evidence::{
    Asked, CombineError, Fault, FoundRow, JudgeRule, Locator, OpenedBase, Packet, Refused, Request,
    Search, Share, ShareFault, Step, combine_match, combine_opening, gather_blinds,
    gather_commitments,
};
use clew_group::quorum::Trustee;

fn refused(index: u8, why: ShareFault) -> Refused {
    Refused {
        trustee: trustee(index),
        why,
    }
}

fn named(error: CombineError) -> Vec<Refused> {
    match error {
        CombineError::Refused(refused) | CombineError::TooFew { refused, .. } => refused,
        other => panic!("{other}"),
    }
}

#[test]
fn any_t_trustees_open_the_same() {
    for fixture in fixtures() {
        for who in [[1, 2], [1, 3], [3, 2]] {
            let shares = fixture.opening_shares(0, &who);
            let combined = fixture.combined(0, &shares);
            assert!(combined.refused.is_empty());
            assert_eq!(combined.judgement.machine, fixture.entries[0].name);
            let asked: Vec<Trustee> = combined.evidence.shares.iter().map(|s| s.0).collect();
            assert!(asked.is_sorted());
        }
    }
}

#[test]
fn bad_shares_are_named_and_left_out() {
    for fixture in fixtures() {
        let good = fixture.opening_shares(0, &[1, 2, 3]);
        let mut bad = good.clone();
        bad[0].step = good[1].step.clone();
        let mut other_request = good[1].clone();
        other_request.request.warrant = None;
        let mut no_trustee = good[1].clone();
        no_trustee.trustee = trustee(5);
        let shares = [
            bad[0].clone(),
            other_request,
            no_trustee,
            good[1].clone(),
            good[1].clone(),
            good[2].clone(),
        ];
        let combined = fixture.combined(0, &shares);
        let expected = [
            refused(1, ShareFault::Decryption),
            refused(2, ShareFault::OtherRequest),
            refused(5, ShareFault::NoTrustee),
            refused(2, ShareFault::Repeated),
        ];
        assert_eq!(combined.refused, expected);
        assert_eq!(combined.evidence.shares.len(), 2);
    }
}

#[test]
fn a_bad_share_does_not_shut_out_a_good_one_of_its_trustee() {
    let good = XR.opening_shares(0, &[1, 2]);
    let mut bad = good[0].clone();
    bad.step = good[1].step.clone();
    let combined = XR.combined(0, &[bad, good[0].clone(), good[1].clone()]);
    assert_eq!(combined.refused, [refused(1, ShareFault::Decryption)]);
}

fn combine(fixture: &Fixture, request: &Request, shares: &[Share]) -> CombineError {
    let find = |opened: OpenedBase| fixture.find(&opened.search());
    combine_opening(&fixture.group, request, shares, &fixture.packet(0), find).unwrap_err()
}

#[test]
fn too_few() {
    for fixture in fixtures() {
        let request = fixture.request(0);
        let shares = fixture.opening_shares(0, &[2]);
        let error = combine(fixture, &request, &shares);
        let (good, needed, refused) = (1, 2, vec![]);
        let expected = CombineError::TooFew {
            good,
            needed,
            refused,
        };
        assert_eq!(error, expected);
        assert_eq!(error.to_string(), "need 2 valid shares, have 1");
        let empty = Share {
            step: Step::Opening(vec![]),
            ..shares[0].clone()
        };
        let error = combine(fixture, &request, &[empty]);
        assert_eq!(
            named(error),
            [super::combine::refused(2, ShareFault::Decryption)]
        );
    }
}

#[test]
fn other_steps_and_unknown_machines() {
    let [commitments, ..] = XR.match_shares(0, 0, &[1, 2]);
    let error = combine(&XR, &commitments[0].request, &commitments);
    assert_eq!(
        named(error),
        [
            refused(1, ShareFault::OtherStep),
            refused(2, ShareFault::OtherStep)
        ]
    );
    let shares = XR.opening_shares(0, &[1, 2]);
    let packet = XR.packet(0);
    let nothing = |_: OpenedBase| None;
    let error = combine_opening(&XR.group, &XR.request(0), &shares, &packet, nothing).unwrap_err();
    let hash = clew_evidence::base_hash(&XR.bases[0].to_bytes());
    let refused = vec![];
    assert_eq!(error, CombineError::NoRow { hash, refused });
    let text = error.to_string();
    assert!(
        text.contains("the manager hides a row") && text.contains("too old"),
        "{text}"
    );
    let wrong = |_: OpenedBase| Some(XR.found(1));
    let error = combine_opening(&XR.group, &XR.request(0), &shares, &packet, wrong);
    let fault = Fault::from(JudgeRule::Signer);
    assert_eq!(error, Err(CombineError::Fault(fault)));
    let error = combine_opening(&XR.group, &XR.request(0), &shares, &XR.packet(1), nothing);
    let fault = Fault::from(JudgeRule::Packet);
    assert_eq!(error, Err(CombineError::Fault(fault)));
}

/// The three ways to a row: its hash, equations row by row, and the manager's Q.
#[test]
fn every_way_finds_the_row() {
    for fixture in fixtures() {
        for machine in 0..MACHINES {
            let base = &fixture.bases[machine];
            let search = || Search::new(&fixture.group, crate::common::EPOCH, base).unwrap();
            assert_eq!(search().hash(), &clew_evidence::base_hash(&base.to_bytes()));
            let fits = |search: &Search| {
                let all = (0..MACHINES).map(|i| fixture.found(i));
                let fits = all.map(|found| search.fits(&found.row.entry, found.x.as_ref()));
                fits.collect::<Vec<bool>>()
            };
            let expected: Vec<bool> = (0..MACHINES).map(|i| i == machine).collect();
            assert_eq!(fits(&search()), expected);
            let q = base.mul(&fixture.issuer.gamma);
            match search().with_q(&q) {
                Ok(by_q) => assert_eq!(fits(&by_q), expected),
                Err(_) => assert!(fixture.x(0).is_none(), "bbs04 has no x to search by"),
            }
            assert!(search().with_q(base).is_err(), "Q is checked");
        }
        let absent = clew_group::curve::G1::generator();
        let search = Search::new(&fixture.group, crate::common::EPOCH, &absent).unwrap();
        assert!(fixture.find(&search).is_none());
        assert!(Search::new(&fixture.group, 5, &absent).is_none());
    }
    let search = Search::new(&XR.group, crate::common::EPOCH, &XR.bases[0]).unwrap();
    let entry = &XR.entries[0];
    assert!(!search.fits(entry, None) && !search.fits(entry, XR.x(1).as_ref()));
}

#[test]
fn a_locator_is_of_one_base_and_request() {
    let request = XR.request(0);
    let shares = XR.opening_shares(0, &[1, 2]);
    let find = |opened: OpenedBase| {
        let locator = Locator::new(&opened, &opened.point().mul(&XR.issuer.gamma));
        assert!(locator.is_of(&opened));
        let changes: [fn(&mut Locator); 3] = [
            |locator| locator.epoch += 1,
            |locator| locator.request[0] ^= 1,
            |locator| locator.base[47] ^= 1,
        ];
        for change in changes {
            let mut other = locator.clone();
            change(&mut other);
            assert!(!other.is_of(&opened));
        }
        Some(XR.found(0))
    };
    assert!(combine_opening(&XR.group, &request, &shares, &XR.packet(0), find).is_ok());
}

/// Of a block, trustees answer about the packet that they were asked about only.
#[test]
fn trustees_bind_the_packet_of_a_block() {
    let packet = |leaf| Packet {
        leaf: Some([leaf; 32]),
        ..XR.packet(0)
    };
    let question = clew_evidence::Question::Opening;
    let request = Request::new(&XR.group, question, &packet(1), None).unwrap();
    assert_eq!(request.asked_packet, [1; 32]);
    let other = Request::new(&XR.group, question, &packet(2), None).unwrap();
    assert_ne!(request.id(), other.id());
    assert!(Asked::new(&XR.group, &request, &packet(1)).is_ok());
    for wrong in [packet(2), XR.packet(0)] {
        let refused = Asked::new(&XR.group, &request, &wrong).unwrap_err();
        assert_eq!(refused, JudgeRule::Packet.into());
    }
}

#[test]
fn trustees_check_whom_they_are_asked_about() {
    let request = XR.match_request(0, 0);
    let asked = Asked::new(&XR.group, &request, &XR.packet(0)).unwrap();
    let check = |found, base| asked.check_candidate(&XR.group, &request, &found, base);
    assert_eq!(check(XR.found(0), &XR.bases[0]), Ok(()));
    let other = check(XR.found(0), &XR.bases[1]);
    assert_eq!(other, Err(JudgeRule::Signer.into()));
    let other = check(XR.found(1), &XR.bases[1]);
    assert_eq!(other, Err(JudgeRule::Register.into()));
    let x = XR.x(1);
    let other = check(FoundRow { x, ..XR.found(0) }, &XR.bases[0]);
    assert_eq!(other, Err(JudgeRule::Credential.into()));
    let without_x = FoundRow {
        x: None,
        ..XR.found(0)
    };
    let other = check(without_x, &XR.bases[0]);
    assert_eq!(other, Err(JudgeRule::Layout.into()));
}

#[test]
fn all_of_a_set_have_to_answer() {
    let request = XR.match_request(0, 0);
    let [commitments, blinds, _] = XR.match_shares(0, 0, &[1, 2, 4]);
    let (of, list) = gather_commitments(&request, &commitments).unwrap();
    assert_eq!((of, list.len()), (set(&[1, 2, 4]), 3));
    let (_, in_order) = gather_blinds(&request, &blinds).unwrap();
    let backwards: Vec<Share> = blinds.iter().rev().cloned().collect();
    assert_eq!(gather_blinds(&request, &backwards).unwrap().1, in_order);

    let missing = gather_commitments(&request, &commitments[..2]).unwrap_err();
    assert_eq!(named(missing), [refused(4, ShareFault::Missing)]);
    let mut mixed = commitments.clone();
    mixed[1] = blinds[1].clone();
    let error = gather_commitments(&request, &mixed).unwrap_err();
    assert_eq!(named(error), [refused(2, ShareFault::OtherStep)]);
    let error = gather_blinds(&request, &commitments).unwrap_err();
    assert_eq!(named(error).len(), 3);
    assert_eq!(named(gather_blinds(&request, &[]).unwrap_err()), []);
    let other = XR.match_request(0, 1);
    let error = gather_blinds(&other, &blinds).unwrap_err();
    assert_eq!(named(error)[0], refused(1, ShareFault::OtherRequest));
    let [others, ..] = XR.match_shares(0, 1, &[1, 2, 4]);
    mixed[1] = others[1].clone();
    let error = gather_commitments(&request, &mixed).unwrap_err();
    assert_eq!(named(error), [refused(2, ShareFault::OtherRequest)]);
}

#[test]
fn other_sets_and_two_answers_are_named() {
    let request = XR.match_request(0, 0);
    let [commitments, ..] = XR.match_shares(0, 0, &[1, 2, 4]);
    let [smaller, ..] = XR.match_shares(0, 0, &[2, 4]);
    let mixed = [&commitments[..1], &smaller[..1], &commitments[2..]].concat();
    let error = gather_commitments(&request, &mixed).unwrap_err();
    assert_eq!(named(error), [refused(2, ShareFault::OtherSet)]);

    let mut again = commitments[1].clone();
    let all = [&commitments[..], std::slice::from_ref(&again)].concat();
    assert!(
        gather_commitments(&request, &all).is_ok(),
        "the same file twice"
    );
    if let Step::Commitment { commitment, .. } = &mut again.step {
        commitment.0[0] ^= 1;
    }
    let all = [&commitments[..], &[again]].concat();
    let error = gather_commitments(&request, &all).unwrap_err();
    assert_eq!(named(error), [refused(2, ShareFault::Repeated)]);
}

/// The culprits when one of three trustees changes what it gave last.
fn culprits(change: impl FnOnce(&mut [Share])) -> Vec<Refused> {
    let [_, _, mut shares] = XR.match_shares(0, 0, &[1, 2, 4]);
    change(&mut shares);
    named(
        combine_match(
            &XR.group,
            &XR.match_request(0, 0),
            &shares,
            &XR.packet(0),
            &XR.bases[0],
            XR.found(0),
        )
        .unwrap_err(),
    )
}

fn blinds_of(share: &mut Share) -> &mut Vec<clew_group::quorum::Blind> {
    match &mut share.step {
        Step::Match { blinds, .. } => blinds,
        _ => panic!("a match share"),
    }
}

#[test]
fn culprits_of_a_match_are_named() {
    let one = culprits(|shares| blinds_of(&mut shares[1]).swap(0, 1));
    assert_eq!(one, [refused(2, ShareFault::OtherBlinds)]);
    let all = culprits(|shares| shares.iter_mut().for_each(|s| blinds_of(s).swap(1, 2)));
    assert_eq!(all, [refused(2, ShareFault::Blind)]);
    let swapped = culprits(|shares| {
        let step = shares[0].step.clone();
        shares[0].step = shares[2].step.clone();
        shares[2].step = step;
    });
    let expected = [
        refused(1, ShareFault::Decryption),
        refused(4, ShareFault::Decryption),
    ];
    assert_eq!(swapped, expected);
    assert_eq!(
        refused(1, ShareFault::Missing).to_string(),
        "trustee 1: share missing"
    );
}

#[test]
fn a_match_needs_its_machine() {
    let [_, _, shares] = XR.match_shares(0, 0, &[1, 2]);
    let request = XR.match_request(0, 0);
    let packet = XR.packet(0);
    let base = &XR.bases[1];
    let error = combine_match(&XR.group, &request, &shares, &packet, base, XR.found(0));
    let fault = Fault::from(JudgeRule::Signer);
    assert_eq!(error, Err(CombineError::Fault(fault)));
}
