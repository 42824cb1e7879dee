//! Matches: the three steps of a trustee, and what judges the result.

use super::fixture::{Fixture, secrets};
use crate::groups::rng;
use crate::measure::Case;
use clew_evidence::{Asked, Match as Evidence, Question, Request, judge_match};
use clew_group::quorum::{Blind, BlindCommitment, Blinding, Decryption, Match, Revealed, Trustee};

/// What a match by the first t trustees comes to.
struct Transcript {
    commitments: Vec<BlindCommitment>,
    blinds: Vec<Blind>,
    decryptions: Vec<Decryption>,
}

/// The rows of one quorum.
pub fn all<'a>(f: &'a Fixture, asked: &'a Asked, prefix: &str) -> Vec<Case<'a>> {
    let question = asked.question(f.set(), &f.base);
    let question = question.expect("no T2 is a base");
    let transcript = Transcript::of(f, &question);
    let first = f.trustees[0].trustee();
    let (mut blinds, mut nonces) = (rng(6), rng(7));
    let begin = {
        let question = question.clone();
        move || question.begin(first, &mut blinds)
    };
    let product = {
        let (question, blinds) = (question.clone(), transcript.blinds.clone());
        move || question.product(&blinds).is_ok()
    };
    let share = {
        let (blinds, key) = (transcript.blinds.clone(), &secrets(&f.trustees[0])[0]);
        move |mine: Revealed| mine.share(&question, &blinds, key, &mut nonces)
    };
    let mine = transcript.revealed(first);
    let evidence = transcript.evidence(f);
    let judge = move || judge_match(&f.group, &evidence, &f.packet());
    assert!(judge().is_ok_and(|judgement| judgement.signed));
    vec![
        Case::new(
            format!("{prefix}-match-begin"),
            "step 1: a blind, its proof",
            begin,
        ),
        Case::new(
            format!("{prefix}-match-product"),
            "t blinds, checked, to their product",
            product,
        ),
        Case::with_input(
            format!("{prefix}-match-share"),
            "step 3: checks all blinds, decrypts the product",
            mine,
            share,
        ),
        Case::new(
            format!("{prefix}-match-judge"),
            "a match, offline, all checks",
            judge,
        ),
    ]
}

/// The question that was asked, for [`all`].
pub fn asked(f: &Fixture) -> Asked {
    Asked::new(&f.group, &request(f), &f.packet()).expect("a good signature")
}

fn request(f: &Fixture) -> Request {
    let machine = f.found.row.entry.leaf_hash();
    let request = Request::new(&f.group, Question::Match { machine }, &f.packet(), None);
    request.expect("xr has matches")
}

impl Transcript {
    fn of(f: &Fixture, question: &Match<'_>) -> Self {
        let mut rng = rng(8);
        let begun = f.set().iter().map(|i| question.begin(i, &mut rng));
        let begun: Result<Vec<(Blinding, BlindCommitment)>, _> = begun.collect();
        let (blindings, commitments): (Vec<_>, Vec<_>) =
            begun.expect("trustees of the set").into_iter().unzip();
        let revealed = blindings
            .into_iter()
            .map(|blinding| blinding.reveal(question, &commitments));
        let revealed: Result<Vec<(Revealed, Blind)>, _> = revealed.collect();
        let (revealed, blinds): (Vec<_>, Vec<_>) =
            revealed.expect("own commitments").into_iter().unzip();
        let keys = f.trustees.iter().map(|key| &secrets(key)[0]);
        let shared = revealed
            .into_iter()
            .zip(keys)
            .map(|(mine, key)| mine.share(question, &blinds, key, &mut rng));
        let decryptions: Result<Vec<Decryption>, _> = shared.collect();
        let decryptions = decryptions.expect("honest blinds");
        Self {
            commitments,
            blinds,
            decryptions,
        }
    }

    /// Makes what a trustee keeps between steps 2 and 3.
    fn revealed(&self, trustee: Trustee) -> impl Fn() -> Revealed + use<> {
        let kept: Vec<u8> = self.commitments.iter().flat_map(|c| c.0).collect();
        move || Revealed::from_bytes(trustee, &kept).expect("32 bytes each")
    }

    fn evidence(self, f: &Fixture) -> Evidence {
        Evidence {
            request: request(f),
            set: f.set(),
            base: f.base.to_bytes(),
            x: f.found.x.expect("xr has one"),
            blinds: self.blinds,
            decryptions: self.decryptions,
            row: f.found.row.clone(),
        }
    }
}
