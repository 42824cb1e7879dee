//! Requests beside other requests: floods, squatters, what passes, what is over, services that are away.

use crate::folder::{Author, until, wait};
use crate::requests::Story;
use clew_evidence::{GroupFile, Warrant};
use clew_keys::post::BoardId;
use clew_keys::{AuthorKeyFile, TextFile};
use clew_log::entry::{Asks, Body, Filed, Seal, warrant_hash};
use clew_service::board::BoardClient;
use clew_trustee::request::{CASE_KIND, CaseFile};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs;
use std::num::NonZeroU64;
use std::time::Duration;

/// More requests than a trustee works on before it looks at news again, and fewer than a board takes in a day.
const CROWD: u64 = 200;

/// Another admitted requester.
struct Rival {
    author: Author,
    board: BoardClient,
}

impl Rival {
    fn of(story: &Story) -> Self {
        story.author("rival", "requester");
        let group = fs::read(story.path(crate::folder::GROUP)).unwrap();
        let group = GroupFile::from_bytes(&group).unwrap();
        let key = fs::read_to_string(story.path("rival.key")).unwrap();
        let key = AuthorKeyFile::decode(&key).unwrap();
        let url = story.manager.url.parse().unwrap();
        let id = BoardId::of_group(group.id());
        let clock = || crate::folder::now().as_nanos();
        Self {
            author: story.folder.key("rival"),
            board: BoardClient::new(&url, id, &key, clock).unwrap(),
        }
    }

    async fn post(&self, topic: [u8; 32], case: &CaseFile) {
        let post = self.board.sign(topic, CASE_KIND, case.encode().unwrap());
        self.board.post(&post.unwrap()).await.unwrap();
    }
}

fn case(place: u64, salt: [u8; 32], warrant: &str, capture: Vec<u8>) -> CaseFile {
    CaseFile {
        place: NonZeroU64::new(place).unwrap(),
        frame: 1,
        original: 0,
        salt,
        warrant: warrant.to_owned(),
        machine: None,
        capture,
    }
}

/// However many requests one requester has, another's is looked at in the next turn, and the operator sees that
/// one alone.
#[test]
fn one_requester_with_hundreds_keeps_nobody_waiting() {
    let story = Story::new();
    let (rival, log) = (Rival::of(&story), story.log.log());
    let end = crate::folder::now() + Duration::from_secs(86_400);
    wait(async {
        for number in 0..CROWD {
            let body = rival.author.request(number, Seal::Until(end));
            let Body::Request(filed) = &body else {
                unreachable!("it is a request")
            };
            let topic = filed.request;
            let place = rival.author.says(&log, body).await.unwrap();
            rival
                .post(topic, &case(place, [7; 32], "none", vec![1]))
                .await;
        }
    });
    story.warrant("1", "court", &[], "warrant");
    story.yes(&story.file("1", "warrant", "case"));
    let said = story.yes(&["trustee", "serve", "t1", "--once"]);
    let id = story.id("case");
    let place = said.lines().position(|line| line.contains(&id[..8]));
    assert!(place.unwrap() < 2, "it is among the first: {said}");
    let seen = story.seen(1, "case");
    assert_eq!(seen["answer"], "waiting", "{seen}");
    // All of them had a turn. As many as one requester may have are listed, and none waits for the operator.
    let known = fs::read_dir(story.path("t1/requests")).unwrap().count();
    assert_eq!(known as u64, CROWD + 1);
    let listed = story.listed(1);
    assert_eq!(listed.len(), 64 + 1);
    let waiting = listed.iter().filter(|one| one["answer"] == "waiting");
    assert_eq!(waiting.count(), 1);
    let faulty = listed
        .iter()
        .filter(|one| one["answer"] == "cannot be approved");
    assert_eq!(faulty.count(), 64);
    // What nobody can approve takes no room.
    let packets = |id: &str| story.path(&format!("t1/requests/{id}/packets")).exists();
    let ids = listed.iter().map(|one| one["id"].as_str().unwrap());
    assert_eq!(ids.filter(|id| packets(id)).count(), 1);
    story.answer("approve", 1, "case", &[]);
    story.turn(&[1]);
    assert_eq!(story.count("case", "computed"), 1);
}

/// Whoever files the same request sealed, and shows a copy of the case first, does not take its place.
#[test]
fn a_copy_of_a_case_does_not_take_its_place() {
    let story = Story::new();
    let (rival, log) = (Rival::of(&story), story.log.log());
    story.warrant("1", "court", &[], "warrant");
    let file = story.file("1", "warrant", "case");
    let url = story.manager.url.as_str();
    let away = |argument| {
        if argument == url {
            "http://127.0.0.1:1/"
        } else {
            argument
        }
    };
    let away: Vec<&str> = file.iter().copied().map(away).collect();
    story.folder.ends(2, &away); // it is in the log, and not on the board
    let text = fs::read_to_string(story.path("case/warrant.txt")).unwrap();
    assert!(Warrant::decode(&text).is_ok());
    let packets = fs::read(story.path("case/packets")).unwrap();
    let proof = fs::read_to_string(story.path("case/request.txt")).unwrap();
    let proof = clew_log::Proof::parse(&proof).unwrap();
    let logged = clew_log::entry::Logged::decode(&proof.extra.unwrap()).unwrap();
    let Body::Request(true_one) = logged.entry.body else {
        unreachable!("it is a request")
    };
    let salt = [9; 32];
    let end = crate::folder::now() + Duration::from_secs(86_400);
    let same = Body::Request(Filed {
        asks: Asks::Opening,
        request: true_one.request,
        signatures: 1,
        warrant: warrant_hash(&salt, &Sha256::digest(&text).into()),
        seal: Seal::Until(end),
    });
    wait(async {
        let place = rival.author.says(&log, same).await.unwrap();
        let copy = case(place, salt, &text, packets);
        rival.post(true_one.request, &copy).await;
    });
    story.turn(&[1, 2]);
    story.yes(&file);
    story.turn(&[1, 2]);
    for trustee in [1, 2] {
        let seen = story.seen(trustee, "case");
        let place = seen["request"]["place"].as_u64();
        assert_eq!(
            (place, &seen["answer"]),
            (Some(proof.index), &"waiting".into())
        );
        story.answer("approve", trustee, "case", &[]);
    }
    story.turn(&[1, 2]);
    story.yes(&story.fetch("case", "opening.txt"));
    assert_eq!(story.judged("opening.txt", "case")["machine"], "web-1");
}

/// What depends on the trustee itself is said as such, checked again later, and not final.
#[test]
fn a_passing_rule_is_checked_again() {
    let story = Story::new();
    let policy = story.path("t1/policy.toml");
    let good = fs::read_to_string(&policy).unwrap();
    story.keygen("other");
    let line = fs::read_to_string(story.path("other.pub")).unwrap();
    let line = line
        .lines()
        .find(|line| line.starts_with("clew-author"))
        .unwrap();
    let witnesses = good
        .lines()
        .find(|line| line.starts_with("witnesses"))
        .unwrap();
    fs::write(&policy, format!("issuers = [\"{line}\"]\n{witnesses}\n")).unwrap();
    story.warrant("1", "court", &[], "warrant");
    story.filed("1", "warrant", &[], "case");
    let events = |what: &str| story.count("case", what);
    assert_eq!(story.seen(1, "case")["answer"], "checked again later");
    assert_eq!((events("postponed"), events("reviewed")), (1, 2));
    let said = story
        .folder
        .clew(&["request", "status", "case", "--key", "police.key"]);
    let said = String::from_utf8(said.stdout).unwrap();
    let line = "trustee 1: checked, rule warrant-issuer does not hold yet: it looks again";
    assert!(said.contains(line), "{said}");
    // Not before its time, which nothing but the trustee's clock says.
    fs::write(&policy, good).unwrap();
    story.turn(&[1]);
    assert_eq!(story.seen(1, "case")["answer"], "checked again later");
    let review = story.path(&format!("t1/requests/{}/review.json", story.id("case")));
    let mut found: Value = serde_json::from_slice(&fs::read(&review).unwrap()).unwrap();
    found["checked"] = 0.into();
    fs::write(&review, found.to_string()).unwrap();
    story.turn(&[1]);
    assert_eq!(story.seen(1, "case")["answer"], "waiting");
    assert_eq!((events("postponed"), events("reviewed")), (1, 3));
}

/// A result in the log ends a request for every trustee; and a second fetch asks nobody.
#[test]
fn a_delivered_request_asks_nobody_any_more() {
    let story = Story::new();
    story.warrant("2", "court", &[], "warrant");
    story.filed("2", "warrant", &[], "case");
    // By its number in the capture that the requester named, in its word.
    assert_eq!(story.seen(1, "case")["request"]["warrant"]["original"], 2);
    for index in [1, 2] {
        story.answer("approve", index, "case", &[]);
    }
    story.turn(&[1, 2]);
    story.yes(&story.fetch("case", "opening.txt"));
    let id = story.id("case");
    story.turn(&[1, 2, 3]);
    for trustee in 1..=3 {
        assert_eq!(story.seen(trustee, "case"), Value::Null);
        let filed = story.path(&format!("t{trustee}/filed/{id}"));
        assert!(filed.is_dir() && !filed.join("packets").exists());
    }
    let all = story.yes(&["trustee", "list", "t3", "--all", "--json"]);
    assert!(all.contains("delivered without this trustee"), "{all}");
    let evidence = fs::read(story.path("opening.txt")).unwrap();
    let Story {
        folder,
        log,
        manager,
        ..
    } = story;
    log.kill();
    manager.kill();
    folder.yes(&[
        "request",
        "fetch",
        "case",
        "--key",
        "police.key",
        "-o",
        "again.txt",
    ]);
    assert_eq!(fs::read(folder.path("again.txt")).unwrap(), evidence);
}

/// A command that waits goes on when the manager was away.
#[test]
fn a_waiting_fetch_outlasts_the_manager() {
    let mut story = Story::new();
    story.warrant("1", "court", &[], "warrant");
    story.filed("1", "warrant", &[], "case");
    for index in [1, 2] {
        story.answer("approve", index, "case", &[]);
    }
    let fetch = [&story.fetch("case", "opening.txt")[..], &["--wait"]].concat();
    let fetch: Vec<String> = fetch.into_iter().map(str::to_owned).collect();
    let fetch: Vec<&str> = fetch.iter().map(String::as_str).collect();
    let mut waiting = story.folder.spawn(&fetch, &[]);
    story.restart_manager();
    assert!(waiting.is_running(), "it waits");
    story.turn(&[1, 2]);
    until("it has the evidence", || story.path("opening.txt").exists());
    until("it ends", || !waiting.is_running());
    assert_eq!(story.state("case"), "delivered");
}
