//! What a trustee of a group with a log demands, each rule broken once.

use super::logged::{Log, log_key, seconds, secret};
use super::warrants::{REQUEST_OF, witnessed};
use super::*;
use clew_log::Proof;

/// A group with a log, whose trustee wants proofs.
struct Case {
    court: Court,
    log: Log,
    place: u64,
}

const GIVEN: [&str; 6] = [
    "--policy",
    "policy.toml",
    "--warrant",
    "warrant",
    "--proof",
    "proof",
];

impl Case {
    fn new() -> Self {
        let court = Court::with_policy(&witnessed());
        court.yes(&["group", "set-log", "acme", &log_key().to_string()]);
        court.warrant("1", "court", &[], "warrant");
        court.yes(
            &[
                &REQUEST_OF[..],
                &["warrant", "--key", "police.key", "-o", "entry"],
            ]
            .concat(),
        );
        let mut log = Log::new();
        let place = log.add(&court.bytes("entry"));
        court.write("proof", &log.proof(place));
        Self { court, log, place }
    }

    /// The decision of trustee 1, logged; and the proofs that its share needs.
    fn decided(&mut self) {
        let given = [&GIVEN[..], &["--decide", "trustee.key"]].concat();
        let (status, _, error) = self.court.share(1, "1", &given, "decision.entry");
        assert_eq!(status, 0, "{error}");
        let (before, log) = (self.log.size(), &mut self.log);
        let decision = log.add(&self.court.bytes("decision.entry"));
        self.court.write("proof", &log.proof(self.place));
        self.court.write("decision", &log.proof(decision));
        self.court.put("since", log.since(before));
    }
}

const DECIDED: [&str; 4] = ["--decision", "decision", "--consistency", "since"];

#[test]
fn a_trustee_gives_what_the_log_has() {
    let mut case = Case::new();
    case.decided();
    let given = [&GIVEN[..], &DECIDED].concat();
    let (status, _, error) = case.court.share(1, "1", &given, "1.share");
    assert_eq!(status, 0, "{error}");
    // The second trustee, with its own decision.
    let given = [&GIVEN[..], &["--decide", "trustee.key"]].concat();
    let (status, _, error) = case.court.share(2, "1", &given, "2.entry");
    assert_eq!(status, 0, "{error}");
    let before = case.log.size();
    let decision = case.log.add(&case.court.bytes("2.entry"));
    case.court.write("proof", &case.log.proof(case.place));
    case.court.write("decision", &case.log.proof(decision));
    case.court.put("since", case.log.since(before));
    let given = [&GIVEN[..], &DECIDED].concat();
    let (status, _, error) = case.court.share(2, "1", &given, "2.share");
    assert_eq!(status, 0, "{error}");
    let (status, _, error) = case.court.open(&["1.share", "2.share"], "opening");
    assert_eq!(status, 0, "{error}");
    assert_eq!(
        case.court.judged("opening", &["--warrant", "warrant"])["holds"],
        true
    );
}

#[test]
fn no_share_without_the_log() {
    let mut case = Case::new();
    let court = &case.court;
    let bare = &GIVEN[..4];
    assert_eq!(court.refused(&[]), "no-policy");
    assert_eq!(court.refused(&["--warrant", "warrant"]), "no-policy");
    assert_eq!(court.refused(bare), "log-missing");
    assert_eq!(court.refused(&GIVEN), "log-decision");
    court.policy("policy.toml", "");
    assert_eq!(court.refused(&GIVEN), "log-policy");
    court.policy("policy.toml", &witnessed());
    // Somebody else's yes, and the request itself in the place of the decision.
    case.decided();
    let court = &case.court;
    let request = ["--decision", "proof", "--consistency", "since"];
    assert_eq!(
        court.refused(&[&GIVEN[..], &request].concat()),
        "log-decision"
    );
    let text = fs::read_to_string(court.path("policy.toml")).unwrap();
    let other = text.replacen(&court.line("trustee.pub"), &court.line("stranger.pub"), 1);
    court.put("other.toml", other);
    let given = [
        "--policy",
        "other.toml",
        "--warrant",
        "warrant",
        "--proof",
        "proof",
    ];
    assert_eq!(
        court.refused(&[&given[..], &DECIDED].concat()),
        "log-decision"
    );
    // The same files with the right policy are enough.
    let (status, _, error) = court.share(1, "1", &[&GIVEN[..], &DECIDED].concat(), "1.share");
    assert_eq!(status, 0, "{error}");
}

#[test]
fn proofs_are_of_this_request_and_fresh() {
    let mut case = Case::new();
    let (court, good) = (&case.court, case.log.proof(case.place));
    let refused = |proof: &Proof| {
        court.write("proof", proof);
        court.refused(&[&GIVEN[..], &["--decide", "trustee.key"]].concat())
    };
    let signed = |log, witness, age| Proof {
        checkpoint: case
            .log
            .checkpoint(&secret(log), &secret(witness), seconds() - age),
        ..good.clone()
    };
    assert_eq!(refused(&signed(9, 2, 0)), "log-proof", "another log's key");
    assert_eq!(
        refused(&signed(1, 9, 0)),
        "log-proof",
        "another witness's key"
    );
    assert_eq!(refused(&signed(1, 2, 3_700)), "log-proof", "an hour old");
    let moved = Proof {
        index: 0,
        ..good.clone()
    };
    assert_eq!(refused(&moved), "log-proof", "another place");
    let bare = Proof {
        extra: None,
        ..good.clone()
    };
    assert_eq!(refused(&bare), "log-entry", "no entry");
    // Requests about another packet, and by somebody else.
    court.warrant("2", "court", &[], "packet-2");
    let of_2 = [
        "warrant",
        "request",
        "--group",
        GROUP,
        "signed",
        "--packet",
        "2",
        "--warrant",
    ];
    court.yes(
        &[
            &of_2[..],
            &["packet-2", "--key", "police.key", "-o", "entry-2"],
        ]
        .concat(),
    );
    let place = case.log.add(&court.bytes("entry-2"));
    let other = case.log.proof(place);
    court.write("proof", &other);
    let decide = [&GIVEN[..], &["--decide", "trustee.key"]].concat();
    assert_eq!(court.refused(&decide), "log-entry");
    let stolen = clew_log::entry::Entry::decode(&court.bytes("entry")).unwrap();
    let stolen = clew_log::entry::Entry::sign(stolen.group, stolen.time, stolen.body, &secret(7));
    let place = case.log.add(&stolen.unwrap().encode());
    court.write("proof", &case.log.proof(place));
    assert_eq!(court.refused(&decide), "warrant-requester");
    court.write("proof", &case.log.proof(case.place));
    let (status, _, error) = court.share(1, "1", &decide, "decision.entry");
    assert_eq!(status, 0, "{error}");
    // Somebody else's author key does not sign the decision.
    let stranger = [&GIVEN[..], &["--decide", "stranger.key"]].concat();
    let (status, _, error) = court.share(1, "1", &stranger, "no");
    assert!(status == 2 && error.contains("author key"), "{error}");
}

#[test]
fn a_trustee_never_goes_back() {
    let mut case = Case::new();
    let old = case.log.clone();
    case.decided();
    let all = [&GIVEN[..], &DECIDED].concat();
    let (status, _, error) = case.court.share(1, "1", &all, "1.share");
    assert_eq!(status, 0, "{error}");
    let court = &case.court;
    let decide = [&GIVEN[..], &["--decide", "trustee.key"]].concat();
    // The checkpoint of before.
    court.write("proof", &old.proof(case.place));
    assert_eq!(court.refused(&decide), "log-older");
    // Another history of the same log, longer than the first: cosigned, too.
    let mut fork = old.clone();
    for _ in 0..3 {
        fork.add(&court.bytes("entry"));
    }
    court.write("proof", &fork.proof(case.place));
    assert_eq!(court.refused(&decide), "log-consistency");
    court.put("fork", fork.since(old.size()));
    assert_eq!(
        court.refused(&[&decide[..], &["--consistency", "fork"]].concat()),
        "log-consistency"
    );
    // Of one size, with another root.
    let mut fork = old;
    fork.add(&court.bytes("entry"));
    assert_eq!(fork.size(), case.log.size());
    court.write("proof", &fork.proof(case.place));
    assert_eq!(court.refused(&decide), "log-consistency");
    // A manager that takes the log away does not thereby open without it.
    court.yes(&["group", "set-log", "acme", "none"]);
    assert_eq!(court.refused(&["--warrant", "warrant"]), "log-given-up");
    let given = ["--policy", "policy.toml", "--warrant", "warrant"];
    assert_eq!(court.refused(&given), "log-given-up");
    court.policy("waives.toml", "waive = [\"log-given-up\"]");
    let given = ["--policy", "waives.toml", "--warrant", "warrant"];
    let (status, _, error) = court.share(1, "1", &given, "unlogged");
    assert_eq!(status, 0, "{error}");
    // And a group file of another history: what was seen does not fit.
    let seen = fs::read_dir(court.path("acme/trustees")).unwrap();
    let seen = seen.map(|file| file.unwrap().path());
    let seen: Vec<_> = seen
        .filter(|path| path.extension().is_some_and(|e| e == "log"))
        .collect();
    assert_eq!(seen.len(), 1, "of the one trustee that saw the log");
    let name = seen[0]
        .strip_prefix(court.path(""))
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    court.altered(&name, &name, |payload| payload[10] ^= 1);
    assert_eq!(court.refused(&["--warrant", "warrant"]), "group-fork");
    court.altered(&name, &name, |payload| {
        payload[10] ^= 1;
        payload[3] = 9;
    });
    assert_eq!(court.refused(&["--warrant", "warrant"]), "group-older");
    fs::write(&seen[0], "damaged").unwrap();
    let (status, _, error) = court.share(1, "1", &["--warrant", "warrant"], "no");
    assert!(status == 2 && !court.path("no").exists(), "{error}");
}

/// A sealed request: the log has the hash alone, and the trustee the salt.
#[test]
fn a_sealed_request_needs_its_salt() {
    let mut case = Case::new();
    let court = &case.court;
    let rest = [
        "warrant",
        "--key",
        "police.key",
        "-o",
        "sealed",
        "--seal",
        "30",
    ];
    let said = court.yes(&[&REQUEST_OF[..], &rest].concat());
    let salt = said.split_once("salt       ").unwrap().1;
    let salt = salt.split_whitespace().next().unwrap();
    let place = case.log.add(&court.bytes("sealed"));
    court.write("proof", &case.log.proof(place));
    let decide = [&GIVEN[..], &["--decide", "trustee.key"]].concat();
    assert_eq!(court.refused(&decide), "log-entry");
    let zeros = "0".repeat(64);
    assert_eq!(
        court.refused(&[&decide[..], &["--salt", &zeros]].concat()),
        "log-entry"
    );
    let with = [&decide[..], &["--salt", salt]].concat();
    let (status, _, error) = court.share(1, "1", &with, "decision.entry");
    assert_eq!(status, 0, "{error}");
}
