//! The layout of openings and matches, and rule `layout`.

use crate::common::evidence::{device_of, fault, match_fault, opening_fault, set, trustee};
use crate::common::{BBS04, Fixture, XR, fixtures};
use clew_evidence::{EntryKey, JudgeRule, Match, Opening, ReadError};
use clew_group::curve::Scalar;

#[test]
fn openings_have_the_fields_of_the_specification() {
    for fixture in fixtures() {
        let opening = fixture.opening(0);
        let text = opening.encode();
        let payload = clew_evidence::armor::decode(&text, "clew-opening-1").unwrap();
        let shares = opening.shares.iter().map(|(trustee, given)| {
            let given: Vec<u8> = given.iter().flat_map(|d| d.to_bytes()).collect();
            [&[trustee.index()][..], &given].concat()
        });
        let shares: Vec<u8> = shares.flatten().collect();
        let x: Vec<u8> = opening.x.iter().flat_map(Scalar::to_bytes).collect();
        let (request, row) = (opening.request.to_bytes(), opening.row.encode());
        let expected = [&request[..], &shares, &x, &[0, 0], &row].concat();
        assert_eq!(payload[..], expected);
    }
    let matched = XR.matched(0, 1, &[1, 2]).evidence;
    let text = matched.encode();
    let payload = clew_evidence::armor::decode(&text, "clew-match-1").unwrap();
    let blinds: Vec<u8> = matched.blinds.iter().flat_map(|b| b.to_bytes()).collect();
    let given: Vec<u8> = matched
        .decryptions
        .iter()
        .flat_map(|d| d.to_bytes())
        .collect();
    let (request, row) = (matched.request.to_bytes(), matched.row.encode());
    let parts = [
        &request[..],
        &matched.set.to_bytes(),
        &matched.base,
        &matched.x.to_bytes(),
    ];
    let expected = [&parts.concat()[..], &blinds, &given, &[0, 0], &row].concat();
    assert_eq!(payload[..], expected);
}

#[test]
fn comments_say_what_evidence_is() {
    let opening = ("opening", XR.opening(0).encode());
    let matched = ("match", XR.matched(0, 0, &[1, 2]).evidence.encode());
    for (what, text) in [opening, matched] {
        let group = XR.group.id();
        let comment =
            format!("# clew {what}, group {group}, epoch 2. Believe it after `clew judge` only.\n");
        assert!(text.starts_with(&comment), "{text}");
    }
}

/// Of an epoch that the file has not, a newer file may say yes; of another history none will.
#[test]
fn evidence_of_a_later_epoch_is_told_from_that_of_another_history() {
    let read = |epoch| {
        let mut opening = XR.opening(0);
        opening.request.epoch = epoch;
        Opening::decode(&opening.encode(), &XR.group).unwrap_err()
    };
    let newest = XR.group.newest_epoch();
    let other_history = ReadError::from(JudgeRule::Group);
    assert_eq!(read(newest - 1), other_history);
    assert_eq!(read(newest), other_history);
    let epoch = newest + 1;
    assert_eq!(read(epoch), ReadError::LaterEpoch { epoch, newest });
}

#[test]
fn opening_layout() {
    let layout = fault(JudgeRule::Layout);
    for fixture in fixtures() {
        assert_eq!(opening_fault(fixture, |o| o.shares.truncate(1)), layout);
        assert_eq!(opening_fault(fixture, |o| o.shares.swap(0, 1)), layout);
        let twice = opening_fault(fixture, |o| o.shares[1].0 = o.shares[0].0);
        assert_eq!(twice, layout);
        let above_n = opening_fault(fixture, |o| o.shares[1].0 = trustee(5));
        assert_eq!(above_n, layout);
        assert_eq!(opening_fault(fixture, |o| o.shares[0].1.clear()), layout);
        let no_point = opening_fault(fixture, |o| o.row.entry.credential = [1; 48]);
        assert_eq!(no_point, layout);
        let other_x = opening_fault(fixture, |o| match o.x {
            Some(_) => o.x = None,
            None => o.x = XR.x(0),
        });
        assert_eq!(other_x, layout);
    }
    let a_match = opening_fault(&XR, |o| o.request = XR.match_request(0, 0));
    assert_eq!(a_match, layout);
    let commitment = opening_fault(&XR, |o| device_of(&mut o.row.entry).commitment = [1; 48]);
    assert_eq!(commitment, layout);
    let x = opening_fault(&BBS04, |o| {
        o.row.entry.key = EntryKey::Bbs04(Box::new([1; 96]))
    });
    assert_eq!(x, layout);
}

/// How a changed payload of an opening is refused.
fn read_fault(fixture: &Fixture, change: impl FnOnce(&mut Vec<u8>)) -> &'static str {
    let text = fixture.opening(0).encode();
    let mut payload = clew_evidence::armor::decode(&text, "clew-opening-1")
        .unwrap()
        .to_vec();
    change(&mut payload);
    let text = clew_evidence::armor::encode("", "clew-opening-1", &payload);
    Opening::decode(&text, &fixture.group).unwrap_err().as_str()
}

#[test]
fn layout_of_bytes() {
    for (fixture, x) in [(&*BBS04, 0), (&*XR, 32)] {
        assert_eq!(read_fault(fixture, |p| p.push(0)), "layout");
        let end = |p: &Vec<u8>| p.len() - fixture.row(0).encode().len();
        for byte in [1, 2] {
            let anchor = read_fault(fixture, |p| {
                let at = end(p) - byte;
                p[at] = 1;
            });
            assert_eq!(anchor, "layout", "no log, so no anchor");
        }
        for value in [0, 0xff] {
            if x > 0 {
                let bad_x = read_fault(fixture, |p| {
                    let at = end(p) - 2 - x;
                    p[at..at + x].fill(value);
                });
                assert_eq!(bad_x, "layout");
            }
        }
    }
}

#[test]
fn match_layout() {
    let layout = fault(JudgeRule::Layout);
    assert_eq!(match_fault(|m| m.set = set(&[2])), layout);
    assert_eq!(match_fault(|m| m.set = set(&[2, 5])), layout);
    assert_eq!(match_fault(|m| m.blinds.truncate(1)), layout);
    assert_eq!(match_fault(|m| m.decryptions.truncate(1)), layout);
    assert_eq!(match_fault(|m| m.base = [1; 48]), layout);
    assert_eq!(match_fault(|m| m.request = XR.request(0)), layout);
    let a_match = XR.matched(0, 0, &[1, 2]).evidence;
    let mut as_opening = a_match.clone();
    as_opening.request = XR.request(0);
    let read = Match::decode(&as_opening.encode(), &XR.group);
    assert_eq!(read.unwrap_err().as_str(), "layout");
    let read = Opening::decode(&a_match.encode(), &XR.group);
    assert_eq!(read.unwrap_err().as_str(), "label");
}

#[test]
fn the_largest_match_fits_its_text() {
    let mut matched = XR.matched(0, 0, &[1, 2]).evidence;
    matched.set = set(&(1..=32).collect::<Vec<u8>>());
    matched.blinds = vec![matched.blinds[0]; 32];
    matched.decryptions = vec![matched.decryptions[0]; 32];
    matched.row.hashes = vec![[7; 32]; 32];
    matched.row.entry.name = "x".repeat(64).parse().unwrap();
    let read = Match::decode(&matched.encode(), &XR.group);
    assert_eq!(read, Ok(matched));
}
