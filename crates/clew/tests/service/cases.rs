//! Cases as processes: other trustees, sealed requests, bundles, warrants that expire, policies.

use crate::folder::{GROUP, until};
use crate::requests::Story;
use clew_evidence::WarrantDraft;
use clew_keys::{AuthorKeyFile, TextFile};
use serde_json::Value;
use std::fs;
use std::time::Duration;

/// The requester names other trustees: those answer, and the silent one is not needed.
#[test]
fn a_requester_names_another_set() {
    let story = Story::new();
    let of = ["--match", "web-1", "--register", "acme"];
    story.warrant("1", "court", &of, "warrant");
    story.filed("1", "warrant", &of, "case");
    for index in [1, 2, 3] {
        story.answer("approve", index, "case", &[]);
        story.turn(&[index]);
    }
    let fetch = story.fetch_with_register("case", "match.txt");
    story.folder.ends(2, &fetch); // names trustees 1 and 2, and 2 goes silent
    story.turn(&[1]);
    let said = story
        .folder
        .ends(2, &[&fetch[..], &["--new-set", "1,3"]].concat());
    assert!(!said.is_empty());
    for _ in 0..3 {
        story.turn(&[1, 3]);
    }
    story.yes(&fetch);
    let events = story.status("case")["events"].clone();
    let gave = |trustee: u8| {
        let mut events = events.as_array().unwrap().iter();
        events.any(|event| event["what"] == "computed" && event["trustee"] == trustee)
    };
    assert_eq!([1, 2, 3].map(gave), [true, false, true]);
    assert_eq!(story.judged("match.txt", "case")["sent"], true);
}

/// A sealed request is counted at once and says nothing; its bundle and its judgement have the log's proofs.
#[test]
fn a_sealed_request_is_answered_and_its_bundle_judged() {
    let story = Story::new();
    story.warrant("1", "court", &[], "warrant");
    story.filed("1", "warrant", &["--seal", "30"], "case");
    for index in [1, 2] {
        story.answer("approve", index, "case", &[]);
        story.turn(&[index]);
    }
    story.yes(&story.fetch("case", "opening.txt"));
    let requests = story.log.get("pages/requests").unwrap();
    assert!(
        requests.contains("until ") && !requests.contains("4 KLs"),
        "{requests}"
    );
    let count = ["log", "count", "log", "--group", GROUP, "--json"];
    let counted: Value = serde_json::from_str(&story.yes(&count)).unwrap();
    assert_eq!(counted["months"][0]["openings"], 1, "{counted}");

    let decisions = [1, 2].map(|index| format!("case/decision-{index}.txt"));
    let witness = &story.folder.witnesses[0];
    let judge = ["judge", "--group", GROUP, "opening.txt", "signed", "--json"];
    let with = ["--request", "case/request.txt", "--witness", witness];
    let by = ["--decision", &decisions[0], "--decision", &decisions[1]];
    let judged: Value =
        serde_json::from_str(&story.yes(&[&judge[..], &with, &by].concat())).unwrap();
    let approved = judged["requested"]["approved"].as_array().unwrap().iter();
    let approved: Vec<_> = approved.map(|one| one["trustee"].as_u64()).collect();
    assert_eq!(approved, [Some(1), Some(2)], "{judged}");
    // A decision about another request is none.
    story.warrant("2", "court", &[], "warrant-2");
    story.filed("2", "warrant-2", &[], "case-2");
    for index in [1, 2] {
        story.answer("approve", index, "case-2", &[]);
        story.turn(&[index]);
    }
    story.yes(&story.fetch("case-2", "two.txt"));
    let other = ["--decision", "case-2/decision-1.txt"];
    let another = ["--request", "case-2/request.txt", "--witness", witness];
    let unknown = [
        "--request",
        "case/request.txt",
        "--witness",
        &story.folder.witnesses[1],
    ];
    for (shown, rule) in [
        ([&with[..], &other].concat(), "request-decision"),
        (another.to_vec(), "request-entry"),
        (unknown.to_vec(), "request-proof"),
    ] {
        let said = story.folder.ends(1, &[&judge[..], &shown].concat());
        assert!(said.contains(rule), "{rule}: {said}");
    }

    let bundle = [
        "bundle",
        "--group",
        GROUP,
        "opening.txt",
        "signed",
        "--case",
        "case",
    ];
    story.yes(&[&bundle[..], &["-o", "case.zip"]].concat());
    story.yes(&[&bundle[..], &["-o", "again.zip"]].concat());
    let read = |name: &str| fs::read(story.path(name)).unwrap();
    assert_eq!(read("case.zip"), read("again.zip"));
    let judged = story.yes(&["judge", "case.zip", "--json"]);
    assert!(judged.contains("web-1"), "{judged}");
}

/// A warrant that expires between two approvals: the first one alone opens nothing, and the second trustee
/// says why it gives nothing.
#[test]
fn a_warrant_that_expired_opens_nothing() {
    let story = Story::new();
    story.warrant("1", "court", &[], "warrant");
    let draft = fs::read_to_string(story.path("warrant.draft")).unwrap();
    let mut draft = WarrantDraft::decode(&draft).unwrap();
    draft.expires = crate::folder::now() + Duration::from_secs(12);
    let court = fs::read_to_string(story.path("court.key")).unwrap();
    let court = AuthorKeyFile::decode(&court).unwrap();
    let warrant = draft
        .sign(court.name().clone(), &court.signing_key())
        .unwrap();
    let expires = warrant.draft().expires;
    fs::write(story.path("short"), warrant.encode()).unwrap();
    story.filed("1", "short", &[], "case");
    story.answer("approve", 1, "case", &[]);
    story.turn(&[1]);
    assert_eq!(story.count("case", "computed"), 1);
    story.answer("approve", 2, "case", &[]);
    until("the warrant expires", || crate::folder::now() > expires);
    story.turn(&[2, 3]);
    let seen = story.seen(2, "case");
    let trouble = seen["trouble"].as_str().unwrap_or_default();
    assert!(trouble.contains("warrant-expired"), "{seen}");
    assert_eq!(story.state("case"), "expired");
    assert_eq!(
        (
            story.count("case", "approved"),
            story.count("case", "computed")
        ),
        (1, 1)
    );
    story.folder.ends(2, &story.fetch("case", "opening.txt"));
    a_policy_waives_and_limits(&story);
}

/// Trustee 3's policy waives that a warrant is in force; that of trustee 1 has one request a day.
fn a_policy_waives_and_limits(story: &Story) {
    let add = |trustee: u8, line: &str| {
        let path = story.path(&format!("t{trustee}/policy.toml"));
        let policy = fs::read_to_string(&path).unwrap();
        fs::write(path, policy + line).unwrap();
    };
    story.answer("approve", 3, "case", &[]);
    story.turn(&[3]);
    assert_eq!(story.state("case"), "expired");
    add(3, "waive = [\"warrant-expired\"]\n");
    story.turn(&[3]);
    assert_eq!(story.state("case"), "computed", "{}", story.status("case"));
    add(1, "requests-per-day = 1\n");
    story.warrant("2", "court", &[], "warrant-2");
    story.filed("2", "warrant-2", &[], "case-2");
    story.answer("approve", 1, "case-2", &[]);
    story.turn(&[1]);
    let seen = story.seen(1, "case-2");
    let trouble = seen["trouble"].as_str().unwrap_or_default();
    assert!(trouble.contains("in 24 hours"), "{seen}");
    assert_eq!(story.count("case-2", "approved"), 0);
}
