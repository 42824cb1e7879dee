//! Openings: a trustee's share, what combines shares, and what judges the result.

use super::fixture::Fixture;
use crate::measure::Case;
use clew_evidence::{Asked, Opening, Step, combine_opening, judge_opening};
use clew_group::quorum::{Decryption, Trustee};

/// The rows of one quorum.
pub fn all<'a>(f: &'a Fixture, prefix: &str) -> Vec<Case<'a>> {
    let [share, checked] = trustees(f, prefix);
    let [combine, open, judge] = everybody(f, prefix);
    vec![share, checked, combine, open, judge]
}

fn trustees<'a>(f: &'a Fixture, prefix: &str) -> [Case<'a>; 2] {
    let first = &f.trustees[0];
    [
        Case::new(
            format!("{prefix}-share"),
            "a trustee: decryption and proof",
            || f.decrypt(&f.asked, first, 4),
        ),
        Case::new(
            format!("{prefix}-share-checked"),
            "the same, after verifying the packet itself",
            || {
                let asked = Asked::new(&f.group, &f.opening, &f.packet());
                asked.map(|asked| f.decrypt(&asked, first, 5))
            },
        ),
    ]
}

fn everybody<'a>(f: &'a Fixture, prefix: &str) -> [Case<'a>; 3] {
    let shares = f.shares();
    let given = by_part(f);
    let open = move || {
        let find = |_| Some(f.found.clone());
        combine_opening(&f.group, &f.opening, &shares, &f.packet(), find)
    };
    let opened = open().expect("all shares are good");
    assert_eq!(opened.judgement.machine, f.found.row.entry.name);
    let evidence: Opening = opened.evidence;
    [
        Case::new(
            format!("{prefix}-combine"),
            "t shares, checked, to the base",
            move || {
                let parts = f.asked.parts();
                let both = parts.iter().zip(&given);
                both.map(|(part, given)| part.combine(given).is_ok())
                    .fold(true, |all, good| all & good)
            },
        ),
        Case::new(
            format!("{prefix}-open"),
            "packet, shares, row: all checks, then judged",
            open,
        ),
        Case::new(
            format!("{prefix}-judge"),
            "an opening, offline, all checks",
            move || judge_opening(&f.group, &evidence, &f.packet()),
        ),
    ]
}

/// What the first t trustees gave, part by part.
fn by_part(f: &Fixture) -> Vec<Vec<(Trustee, Decryption)>> {
    let shares = f.shares();
    let of_part = |i: usize| {
        let each = shares.iter().filter_map(move |share| match &share.step {
            Step::Opening(all) => Some((share.trustee, all[i])),
            _ => None,
        });
        each.collect::<Vec<_>>()
    };
    let given: Vec<_> = (0..f.asked.parts().len()).map(of_part).collect();
    let parts = f.asked.parts();
    let mut both = parts.iter().zip(&given);
    assert!(both.all(|(part, given)| part.combine(given).is_ok()));
    given
}
