//! `spec/vectors/opening-key.jsonl`: one trustee's view of a run, and what it makes of it. An independent
//! reader is in `spec/check`. `CLEW_BLESS=1` writes it.

use super::forge::{Parts, Secrets, payload};
use super::run::{Run, handing_on, plan, quorum, rng, set, who};
use clew_evidence::{GroupId, Origin, short_form};
use clew_group::EpochId;
use clew_group::curve::Scalar;
use clew_group::quorum::{Resharing, SecretShare, Sharing};
use clew_group::xr::Generators;
use clew_keys::{OpeningShare, TextFile, TrusteeKeyFile};
use clew_trustee::dkg::{Deal, Dealing, OldKey, Place, Plan, State};
use std::path::PathBuf;
use std::{env, fs};

/// What one trustee has, and what came to it.
struct View<'a> {
    comment: &'a str,
    run: &'a Run,
    /// Whose state it is: a place in the run.
    viewer: usize,
    deals: Vec<Deal>,
}

impl View<'_> {
    /// The rule that the view breaks, and its case.
    fn case(&self, name: &str) -> (&'static str, String) {
        let state = &self.run.states[self.viewer];
        let received = state.receive(&self.run.plan, self.deals.clone());
        let rule = received.as_ref().err().map_or("valid", |e| e.as_str());
        let deals: Vec<_> = self.deals.iter().map(|d| payload(&d.encode())).collect();
        let mut values = vec![
            text("case", name),
            text("expect", rule),
            text("comment", self.comment),
            text("check", "dkg"),
            value("plan", &payload(&self.run.plan.encode())),
            value("state", &payload(&state.encode())),
            list("deal", deals.iter().map(Vec::as_slice)),
        ];
        match &received {
            Ok(received) => values.extend(results(&self.run.plan, received.dealing(), state, self)),
            Err(error) => {
                let culprit = error.culprit();
                values.extend(culprit.map(|trustee| value("culprit", &[trustee.index()])));
            }
        }
        (rule, format!("{{{}}}\n", values.join(", ")))
    }
}

fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"0x{digits}\"")
}

fn text(name: &str, text: &str) -> String {
    format!("\"{name}\": \"{text}\"")
}

fn value(name: &str, bytes: &[u8]) -> String {
    format!("\"{name}\": {}", hex(bytes))
}

fn list<'a>(name: &str, all: impl IntoIterator<Item = &'a [u8]>) -> String {
    let all: Vec<String> = all.into_iter().map(hex).collect();
    format!("\"{name}\": [{}]", all.join(", "))
}

fn results(plan: &Plan, dealing: &Dealing, state: &State, view: &View<'_>) -> Vec<String> {
    let sharing = dealing.sharing();
    let (public, bytes) = (sharing.public().to_bytes(), sharing.to_bytes());
    vec![
        value("plan-id", &plan.id()),
        value("context", dealing.context()),
        text("check-code", &short_form(dealing.context())),
        list(
            "commitment",
            [&public[..]].into_iter().chain(bytes.chunks(48)),
        ),
        value("origin", &[plan.origin() as u8]),
        value("share", &share(plan, state, view)),
    ]
}

/// The share as the specification adds it up, from the shares that were sealed.
fn share(plan: &Plan, state: &State, view: &View<'_>) -> [u8; 32] {
    let (secrets, index) = (Secrets::of(state), state.trustee().unwrap().index());
    let sum = view.deals.iter().fold(Scalar::default(), |sum, deal| {
        let plain = secrets.open(&Parts::of(deal), index).unwrap();
        let dealt = Scalar::from_bytes(&plain[2..]).unwrap();
        match plan.old_key() {
            Some(_) => sum + plan.dealers().lagrange_at_zero(deal.dealer()) * dealt,
            None => sum + dealt,
        }
    });
    sum.to_bytes()
}

/// All cases; those that break a rule have its name.
fn cases() -> String {
    let founding = Run::new(plan(2, 3, 1), 2);
    let (handed, old) = handed_on();
    let first = Parts::of(&founding.deals[0]);
    let cheat = Secrets::of(&founding.states[0]);
    let signed = |parts: &Parts| cheat.deal(&parts.participants, &parts.broadcast, &parts.sealed);
    let with = |comment, deal: Deal| View {
        comment,
        run: &founding,
        viewer: 1,
        deals: vec![deal, founding.deals[1].clone(), founding.deals[2].clone()],
    };

    let spied = spied(&founding);
    let mut moved = Parts::of(&spied);
    moved.participants.clone_from(&first.participants);
    let mut garbled = first.clone();
    garbled.replace(2, &[9; 82]);
    let mut wrong = first.clone();
    let mut plain = Secrets::of(&founding.states[1]).open(&first, 2).unwrap();
    plain[33] ^= 1;
    wrong.replace(2, &first.seal(2, &plain));
    let twice = vec![founding.deals[0].clone(), founding.deals[0].clone()];
    let views = [
        (
            "founding",
            with(
                "What trustee 2 makes of three deals.",
                founding.deals[0].clone(),
            ),
        ),
        (
            "resharing",
            View {
                comment: "Two of three hand on to three, as trustee 3, who holds no old share.",
                run: &handed,
                viewer: 2,
                deals: handed.deals.clone(),
            },
        ),
        (
            "hellos",
            with(
                "Trustee 1 dealt to another hello of trustee 2.",
                spied.clone(),
            ),
        ),
        (
            "deal-signature",
            with("The same, with the hellos changed back.", moved.deal()),
        ),
        (
            "possession",
            with("The same, signed anew by trustee 1.", signed(&moved)),
        ),
        (
            "sealed-share",
            with("A sealed share that does not open.", signed(&garbled)),
        ),
        (
            "dealt-share",
            with("A dealt share that is one off.", signed(&wrong)),
        ),
        (
            "constant",
            View {
                comment: "Dealer 2 hands on a share of another key.",
                run: &handed,
                viewer: 2,
                deals: vec![handed.deals[0].clone(), other_key(&handed, &old)],
            },
        ),
        (
            "no-deal",
            View {
                comment: "Two deals of three.",
                run: &founding,
                viewer: 1,
                deals: founding.deals[..2].to_vec(),
            },
        ),
        (
            "two-deals",
            View {
                comment: "The deal of trustee 1 twice.",
                run: &founding,
                viewer: 1,
                deals: [twice, founding.deals[1..].to_vec()].concat(),
            },
        ),
    ];
    let case = |(name, view): &(&'static str, View<'_>)| {
        let (rule, line) = view.case(name);
        let valid = ["founding", "resharing"].contains(name);
        assert_eq!(rule, if valid { "valid" } else { name });
        line
    };
    views.iter().map(case).collect()
}

/// What trustee 1 deals if it is shown another hello of trustee 2.
fn spied(run: &Run) -> Deal {
    let spy = State::begin(&run.plan, Some(who(2)), None, &mut rng(3)).unwrap();
    let mut shown = run.hellos.clone();
    shown[1] = spy.hello();
    let mut fresh = State::begin(&run.plan, Some(who(1)), None, &mut rng(2)).unwrap();
    fresh
        .deal(&run.plan, None, &shown, &mut rng(4))
        .unwrap()
        .clone()
}

fn handed_on() -> (Run, Sharing) {
    let first = plan(2, 3, 1);
    let base = Generators::of(&first.nonce).u;
    let xi = Scalar::random(&mut rng(5));
    let (sharing, shares) = Sharing::deal(&base, &xi, quorum(2, 3), &mut rng(6)).unwrap();
    let group = GroupId([4; 16]);
    let place = Place {
        group,
        epoch: 3,
        id: EpochId([5; 32]),
    };
    let old = OldKey {
        since: 2,
        origin: Origin::TrustedDealer,
        sharing: sharing.clone(),
    };
    let key = |share: &SecretShare| TrusteeKeyFile {
        group,
        since: 2,
        share: OpeningShare::Xr(share.clone()),
    };
    let old_keys: Vec<_> = shares.iter().map(key).collect();
    let all = [
        (Some(who(1)), Some(&old_keys[0])),
        (Some(who(2)), Some(&old_keys[1])),
        (Some(who(3)), None),
    ];
    let plan = handing_on(&first, place, set([1, 2]), old);
    (Run::of(plan, &all, 7), sharing)
}

fn other_key(run: &Run, old: &Sharing) -> Deal {
    let parts = Parts::of(&run.deals[1]);
    let xi = Scalar::random(&mut rng(8));
    let (other, shares) = Sharing::deal(old.base(), &xi, quorum(2, 3), &mut rng(9)).unwrap();
    let round = Resharing::new(parts.context(), &other, set([1, 2]), quorum(2, 3)).unwrap();
    let forged = parts.redealt(round.deal(&shares[1], &mut rng(10)).unwrap());
    Secrets::of(&run.states[1]).deal(&forged.participants, &forged.broadcast, &forged.sealed)
}

#[test]
fn the_vectors_are_what_the_program_makes() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors");
    let (path, cases) = (folder.join("opening-key.jsonl"), cases());
    if env::var_os("CLEW_BLESS").is_some() {
        fs::write(&path, &cases).unwrap();
    }
    let same = fs::read_to_string(path).unwrap() == cases;
    assert!(same, "the vectors changed: CLEW_BLESS=1 approves it");
}
