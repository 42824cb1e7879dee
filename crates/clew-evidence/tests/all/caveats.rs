//! What evidence that holds cannot say: every caveat, by its stable name.

use crate::common::{BBS04, DEALT, Fixture, LATE, LOCKED_OUT, REISSUED, REVOKED, XR};
use clew_evidence::{Caveat, Judgement, judge_match, judge_opening};

/// Name and epoch of each.
fn named(judged: &Judgement) -> Vec<(&'static str, Option<u32>)> {
    let caveats = judged.caveats.iter();
    caveats
        .map(|caveat| (caveat.as_str(), caveat.epoch()))
        .collect()
}

fn opened(fixture: &Fixture, machine: usize) -> Judgement {
    judge_opening(
        &fixture.group,
        &fixture.opening(machine),
        &fixture.packet(machine),
    )
    .unwrap()
}

const NOT_ANCHORED: (&str, Option<u32>) = ("not-anchored", None);

#[test]
fn of_openings_with_xr() {
    let of = |machine| named(&opened(&XR, machine));
    assert_eq!(of(0), [NOT_ANCHORED]);
    assert_eq!(of(REVOKED), [("revoked-later", Some(3)), NOT_ANCHORED]);
    let late = [
        ("joined-on-issuer-host", None),
        ("joined-later", Some(3)),
        NOT_ANCHORED,
    ];
    assert_eq!(of(LATE), late);
    let reissued = [
        ("joined-later", Some(3)),
        ("revoked-later", Some(4)),
        NOT_ANCHORED,
        ("name-reissued", None),
    ];
    assert_eq!(of(REISSUED), reissued);
    assert_eq!(of(LOCKED_OUT), [("revoked-before", Some(1)), NOT_ANCHORED]);
}

#[test]
fn of_openings_with_bbs04() {
    let always = [
        ("issuer-could-sign", None),
        ("trusted-dealer", None),
        ("joined-on-issuer-host", None),
    ];
    let of = |machine| named(&opened(&BBS04, machine));
    assert_eq!(of(0), [&always[..], &[NOT_ANCHORED]].concat());
    let revoked = [("revoked-later", Some(3)), NOT_ANCHORED];
    assert_eq!(of(REVOKED), [&always[..], &revoked].concat());
    let late = [("joined-later", Some(3)), NOT_ANCHORED];
    assert_eq!(of(LATE), [&always[..], &late].concat());
    let before = [("revoked-before", Some(1)), NOT_ANCHORED];
    assert_eq!(of(LOCKED_OUT), [&always[..], &before].concat());
}

#[test]
fn of_a_trusted_dealer() {
    assert_eq!(
        named(&opened(&DEALT, 0)),
        [("trusted-dealer", None), NOT_ANCHORED]
    );
    let matched = DEALT.matched(1, 0, &[1, 2]).judgement;
    assert_eq!(named(&matched), [("trusted-dealer", None), NOT_ANCHORED]);
}

/// A no says nothing of the machine as a signer.
#[test]
fn of_matches() {
    let matched = |sender, asked_for| {
        let evidence = XR.matched(sender, asked_for, &[1, 2]).evidence;
        named(&judge_match(&XR.group, &evidence, &XR.packet(sender)).unwrap())
    };
    for machine in 0..crate::common::MACHINES {
        let expected = named(&opened(&XR, machine));
        assert_eq!(matched(machine, machine), expected);
        let of_signer = [
            "joined-on-issuer-host",
            "joined-later",
            "revoked-later",
            "revoked-before",
        ];
        let not_of_signer = |(name, _): &(&str, _)| !of_signer.contains(name);
        let expected: Vec<_> = expected.into_iter().filter(not_of_signer).collect();
        assert_eq!(
            matched((machine + 1) % crate::common::MACHINES, machine),
            expected
        );
    }
}

#[test]
fn late_joiners_are_named_with_a_sentence() {
    let text = Caveat::JoinedLater { epoch: 3 }.to_string();
    assert!(text.contains("joined in epoch 3") && text.contains("backdated"));
    assert_eq!(opened(&XR, LATE).machine.as_str(), "web-2");
    let row = Caveat::NameReissued { row: 1 }.to_string();
    assert!(row.contains("row 1"), "{row}");
}
