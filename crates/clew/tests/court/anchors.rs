//! When a capture existed: what a log's anchor shows, and what it does not.

use super::logged::{Log, ORIGIN, log_key, seconds, secret, witness_key};
use super::*;
use clew_evidence::GroupFile;
use clew_log::entry::{Body, Entry};
use clew_log::{KeyKind, Proof, VerifierKey};
use clew_wire::WallTime;

struct Case {
    court: Court,
    log: Log,
    place: u64,
}

impl Case {
    /// An opening of a packet of a group with a log, which has an anchor of the capture.
    fn new() -> Self {
        let court = Court::new("xr");
        court.opened(); // before the group had a log
        court.yes(&["group", "set-log", "acme", &log_key().to_string()]);
        let mut log = Log::new();
        let place = log.add(&anchor(&court, "signed"));
        Self { court, log, place }
    }

    /// What a judge says with this anchor and more arguments.
    fn judged(&self, proof: &Proof, more: &[&str]) -> Value {
        fs::write(self.court.path("anchor"), proof.to_string()).unwrap();
        let with = [&["--anchor", "anchor"], more].concat();
        self.court.judged("opening", &with)
    }

    fn proof(&self) -> Proof {
        self.log.proof(self.place)
    }
}

fn group_id(court: &Court) -> [u8; 16] {
    let file = fs::read(court.path(GROUP)).unwrap();
    GroupFile::from_bytes(&file).unwrap().id().0
}

/// The entry of an observer about a file.
fn anchor(court: &Court, file: &str) -> Vec<u8> {
    let now = WallTime::from_nanos(seconds() * 1_000_000_000);
    let body = Body::Anchor {
        segment: Sha256::digest(fs::read(court.path(file)).unwrap()).into(),
        first: now,
        last: now,
        packets: 1,
    };
    Entry::sign(group_id(court), now, body, &secret(5))
        .unwrap()
        .encode()
}

fn has_caveat(judged: &Value) -> bool {
    let caveats = judged["caveats"].as_array().unwrap();
    caveats.iter().any(|one| one["name"] == "not-anchored")
}

#[test]
fn an_anchor_shows_when_a_capture_existed() {
    let case = Case::new();
    assert!(has_caveat(&case.court.judged("opening", &[])));
    let witness = witness_key().to_string();
    // Epoch 0 ended when the log was set: now is too late, and an hour ago was in time.
    for (age, in_time) in [(0, false), (3_600, true)] {
        let proof = Proof {
            checkpoint: case
                .log
                .checkpoint(&secret(1), &secret(2), seconds() - age + 2),
            ..case.proof()
        };
        let judged = case.judged(&proof, &["--witness", &witness]);
        assert_eq!(judged["holds"], true, "{judged}");
        let anchored = &judged["anchored"];
        assert_eq!(
            (&anchored["in_time"], &anchored["witnessed"]),
            (&in_time.into(), &true.into())
        );
        assert_eq!(has_caveat(&judged), !in_time);
    }
    // Without witnesses it is the log's word.
    let judged = case.judged(&case.proof(), &[]);
    assert_eq!(judged["anchored"]["witnessed"], false);
    let said = case.court.said(&[
        "judge", "--group", GROUP, "--anchor", "anchor", "opening", "signed",
    ]);
    assert!(
        said.0 == 0 && said.1.contains("as the log alone says"),
        "{said:?}"
    );
}

#[test]
fn an_anchor_that_does_not_hold_is_refused() {
    let mut case = Case::new();
    let witness = witness_key().to_string();
    let refused = |case: &Case, proof: &Proof, more: &[&str]| {
        let judged = case.judged(proof, more);
        assert_eq!(judged["holds"], false, "{judged}");
        judged["rule"].as_str().unwrap().to_owned()
    };
    let good = case.proof();
    let by = |log: u8, witness: u8| Proof {
        checkpoint: case
            .log
            .checkpoint(&secret(log), &secret(witness), seconds()),
        ..good.clone()
    };
    assert_eq!(refused(&case, &by(9, 2), &[]), "anchor-log");
    assert_eq!(
        refused(&case, &by(1, 9), &["--witness", &witness]),
        "anchor-proof"
    );
    let elsewhere = Proof {
        index: 0,
        ..good.clone()
    };
    assert_eq!(refused(&case, &elsewhere, &[]), "anchor-proof");
    let bare = Proof {
        extra: None,
        ..good
    };
    assert_eq!(refused(&case, &bare, &[]), "anchor-entry");
    // An anchor of another group, and one of another file.
    let stranger = Entry::decode(&anchor(&case.court, "signed")).unwrap();
    let stranger = Entry::sign([7; 16], stranger.time, stranger.body, &secret(5)).unwrap();
    let place = case.log.add(&stranger.encode());
    assert_eq!(refused(&case, &case.log.proof(place), &[]), "anchor-entry");
    let place = case.log.add(&anchor(&case.court, "opening"));
    assert_eq!(
        refused(&case, &case.log.proof(place), &[]),
        "anchor-capture"
    );
    // The witness of a judge is a witness, and counts once.
    let key = VerifierKey::new(ORIGIN, KeyKind::Log, secret(1).verifying_key()).unwrap();
    let judge = [
        "judge",
        "--group",
        GROUP,
        "--anchor",
        "anchor",
        "opening",
        "signed",
        "--witness",
    ];
    let key = key.to_string();
    for more in [
        &[&*key][..],
        &[&witness, "--witness", &witness],
        &[&witness, "--threshold", "2"],
    ] {
        let (status, _, error) = case.court.said(&[&judge[..], more].concat());
        assert_eq!(status, 2, "{error}");
    }
}
