//! Trustees as processes that are killed, that lie, and that are lied to; and their own page.

use crate::browser::look;
use crate::folder::{GROUP, Served, copy_folder, until, wait};
use crate::requests::Story;
use crate::skipped::skipped;
use clew_evidence::Share;
use clew_keys::post::BoardId;
use clew_keys::{AuthorKeyFile, TextFile};
use clew_service::board::BoardClient;
use clew_service::http::ServiceUrl;
use clew_trustee::request::{Message, open_share, sealed_share};
use clew_trustee::sealed::SealKey;
use rand_chacha::rand_core::SeedableRng;
use serde_json::{Value, json};
use std::fs;
use std::process::{Child, Stdio};
use std::time::Duration;

impl Story {
    /// A trustee that serves its page.
    fn page(&self, trustee: u8) -> Served {
        let dir = format!("t{trustee}");
        let serve = ["trustee", "serve", &dir, "--page", "127.0.0.1:0"];
        self.folder.start_telling("page at ", &serve)
    }

    /// A turn of a trustee, as a process that may be killed.
    fn begins(&self, trustee: u8) -> Child {
        let dir = format!("t{trustee}");
        let mut command = self.folder.command(&["trustee", "serve", &dir, "--once"]);
        command.stderr(Stdio::null()).stdout(Stdio::null());
        command.spawn().unwrap()
    }

    /// Turns of a trustee that is killed ever later, until one ends by itself. Returns how many were killed.
    fn killed_ever_later(&self, trustee: u8, step: Duration) -> u32 {
        let mut delay = step;
        for killed in 0.. {
            let mut turn = self.begins(trustee);
            std::thread::sleep(delay);
            if let Some(ended) = turn.try_wait().unwrap() {
                assert!(ended.success());
                return killed;
            }
            turn.kill().unwrap();
            turn.wait().unwrap();
            delay += step;
        }
        unreachable!("one ends")
    }

    fn board_of(&self, trustee: u8) -> BoardClient {
        let url: ServiceUrl = self.manager.url.parse().unwrap();
        let text = fs::read_to_string(self.path(&format!("t{trustee}/author.key"))).unwrap();
        let key = AuthorKeyFile::decode(&text).unwrap();
        let group = fs::read(self.path(GROUP)).unwrap();
        let group = clew_evidence::GroupFile::from_bytes(&group).unwrap();
        let clock = || crate::folder::now().as_nanos();
        BoardClient::new(&url, BoardId::of_group(group.id()), &key, clock).unwrap()
    }

    /// The topic of a case, on the board.
    fn topic(&self, case: &str) -> [u8; 32] {
        clew_wire::unhex(&self.id(case)).unwrap()
    }

    /// How many events of a kind a request has.
    pub fn count(&self, case: &str, what: &str) -> usize {
        let status = self.status(case);
        let events = status["events"].as_array().unwrap();
        events.iter().filter(|event| event["what"] == what).count()
    }
}

/// Approves one request on the page and refuses another one, by keyboard and without JavaScript.
#[test]
fn an_operator_decides_in_a_browser() {
    let story = Story::new();
    let page = story.page(1);
    for (packet, case) in [("1", "case-1"), ("2", "case-2")] {
        let warrant = format!("warrant-{packet}");
        story.warrant(packet, "court", &[], &warrant);
        story.yes(&story.file(packet, &warrant, case));
        until("trustee 1 looked", || story.state(case) == "reviewed");
    }
    let ids = ["case-1", "case-2"].map(|case| story.id(case));
    let [first, second] = [0, 1].map(|at| format!("pages/request?id={}", ids[at]));
    let link = story.yes(&["trustee", "login", "t1"]);
    // Who lacks the trustee's key does not log in.
    fs::copy(story.path("t1/page.url"), story.path("t2/page.url")).unwrap();
    let said = story.folder.ends(2, &["trustee", "login", "t2"]);
    assert!(said.contains("this key may not log in"), "{said}");
    let (health, metrics) = (page.get("health"), page.get("metrics"));
    assert_eq!(health.unwrap(), "ok\n");
    assert!(metrics.unwrap().contains("clew_trustee_turns_total"));

    let approve = json!({
        "page": first, "into": "read", "type": " ", "press": "Approve", "expect": "decided",
    });
    let refuse = json!({
        "page": second, "into": "because", "type": "warrant-scope", "press": "Refuse",
        "expect": "decided",
    });
    let leave = json!({ "page": "pages/state", "press": "Log out", "expect": "Log in" });
    let pages = ["pages/requests", "pages/plans", "pages/state", &second];
    let more = json!({ "login": link.trim(), "acts": [approve], "last": [refuse, leave] });
    if !look(&page, &pages, more) {
        return;
    }
    // The program that talks to the board does the rest, at once.
    until("trustee 1 gave its share", || {
        story.seen(1, "case-1")["answer"] == "share given"
    });
    until("the refusal is in the log", || {
        story.count("case-2", "refused") == 1
    });
    let events = story.status("case-2")["events"].clone();
    let events = events.as_array().unwrap();
    let refused = events.iter().find(|event| event["what"] == "refused");
    assert_eq!(refused.unwrap()["rule"], "warrant-scope");
    assert_eq!(story.count("case-1", "approved"), 1);
    // The requester sees it on the manager's pages.
    let login = ["manager", "login", "--manager", &story.manager.url];
    let link = story.yes(&[&login[..], &["--key", "police.key"]].concat());
    let seen = json!({ "page": "pages/requests", "expect": "approved by 1 of 2" });
    let more = json!({ "login": link.trim(), "acts": [seen] });
    look(&story.manager, &["pages/requests"], more);
    // One trustee alone opens nothing; the second one's operator uses the command.
    story.folder.ends(2, &story.fetch("case-1", "opening.txt"));
    story.turn(&[2]);
    story.answer("approve", 2, "case-1", &[]);
    story.turn(&[2]);
    story.yes(&story.fetch("case-1", "opening.txt"));
    assert_eq!(story.judged("opening.txt", "case-1")["machine"], "web-1");
    // An auditor reads the whole log over the network, and finds nothing amiss.
    let (log, witness) = (&story.folder.log, &story.folder.witnesses[0]);
    let verify = ["log", "verify", &story.log.url, "--group", GROUP];
    let audited = story.yes(&[&verify[..], &["--log", log, "--witness", witness]].concat());
    assert!(audited.contains("requests  2"), "{audited}");
}

/// Killed at any moment: nothing is lost, nothing is there twice, and a retry finishes.
#[test]
fn a_trustee_that_is_killed_goes_on() {
    let story = Story::new();
    story.warrant("1", "court", &[], "warrant");
    story.yes(&story.file("1", "warrant", "case"));
    let step = Duration::from_millis(70);
    let mut killed = story.killed_ever_later(1, step);
    story.turn(&[2]);
    assert_eq!(story.state("case"), "reviewed");
    story.answer("approve", 1, "case", &[]);
    story.answer("approve", 2, "case", &[]);
    killed += story.killed_ever_later(1, step);
    story.turn(&[2]);
    assert!(killed >= 2, "{killed} were killed");
    assert_eq!(story.state("case"), "computed", "{}", story.status("case"));
    for what in ["approved", "computed"] {
        assert_eq!(story.count("case", what), 2, "{what}");
    }
    story.yes(&story.fetch("case", "opening.txt"));
    let verify = ["log", "count", "log", "--group", GROUP, "--json"];
    let counted: Value = serde_json::from_str(&story.yes(&verify)).unwrap();
    assert_eq!(counted["months"][0]["openings"], 1, "{counted}");
}

/// A trustee that lost its state of a round: the requester's program asks again by itself.
#[test]
fn a_match_that_lost_a_round_begins_again() {
    let story = Story::new();
    let of = ["--match", "web-1", "--register", "acme"];
    story.warrant("1", "court", &of, "warrant");
    story.filed("1", "warrant", &of, "case");
    for index in [1, 3] {
        story.answer("approve", index, "case", &[]);
    }
    story.turn(&[1, 3]);
    let first = story.fetch_with_register("case", "match.txt");
    story.folder.ends(2, &first);
    story.turn(&[1, 3]); // commitments
    // As if it was killed between its two files: the state is used up, the blind not written.
    let keys = fs::read_dir(story.path("t1/keys")).unwrap();
    let is_state = |path: &std::path::PathBuf| path.to_str().unwrap().contains(".match-");
    let states = keys.map(|entry| entry.unwrap().path()).filter(is_state);
    let states: Vec<_> = states.collect();
    assert_eq!(states.len(), 1);
    fs::remove_file(&states[0]).unwrap();
    story.turn(&[1, 3, 1]);
    let trouble = story.seen(1, "case")["trouble"].clone();
    assert!(trouble.as_str().is_some(), "{trouble}");
    let waits = ["--wait", "--new-set-after", "1s"];
    let mut fetch = story.folder.command(&[&first[..], &waits].concat());
    let mut fetch = fetch.stdout(Stdio::null()).spawn().unwrap();
    until("it was asked again, and answered", || {
        story.turn(&[1, 3]);
        fetch.try_wait().unwrap().is_some()
    });
    assert!(fetch.wait().unwrap().success());
    assert!(story.count("case", "set") >= 2);
    assert_eq!(story.judged("match.txt", "case")["sent"], true);
}

/// Trustee 1 answers a request with its share of another packet, by a program of its own: it is named, and the
/// honest ones open the packet.
#[test]
fn a_lying_trustee_is_named() {
    let story = Story::new();
    for (packet, case, trustees) in [("1", "case-1", [2, 3]), ("2", "case-2", [1, 2])] {
        let warrant = format!("warrant-{packet}");
        story.warrant(packet, "court", &[], &warrant);
        story.filed(packet, &warrant, &[], case);
        for index in trustees {
            story.answer("approve", index, case, &[]);
        }
        story.turn(&trustees);
    }
    // The requests as they are, from what the honest trustees opened.
    copy_folder(&story.path("case-1"), &story.path("copy-1"));
    let requests = [("copy-1", "one.txt"), ("case-2", "two.txt")].map(|(case, to)| {
        story.yes(&story.fetch(case, to));
        let group = fs::read(story.path(GROUP)).unwrap();
        let group = clew_evidence::GroupFile::from_bytes(&group).unwrap();
        let text = fs::read_to_string(story.path(to)).unwrap();
        let opening = clew_evidence::Opening::decode(&text, &group).unwrap();
        opening.request
    });
    let police = fs::read_to_string(story.path("police.key")).unwrap();
    let police = AuthorKeyFile::decode(&police).unwrap();
    let reads = SealKey::from_bytes(police.receiving_key());
    let board = story.board_of(1);
    let [first, second] = ["case-1", "case-2"].map(|case| story.topic(case));
    let own = board.author();
    wait(async {
        let posts = board.topic(&second, 0, Duration::ZERO).await.unwrap();
        let mut own_posts = posts.iter().filter(|one| one.post.author == own);
        let given = own_posts
            .find_map(|one| Message::decode(one.post.kind, &one.post.body).filter(is_share));
        let Some(Message::Share {
            time,
            trustee,
            attempt,
            sealed,
        }) = given
        else {
            unreachable!("trustee 1 gave its share")
        };
        let share = open_share(&sealed, &reads, &requests[1], (&own, 1, 0)).unwrap();
        let lie = Share {
            request: requests[0].clone(),
            ..share
        };
        let to = police.public().receives;
        let mut rng = rand_chacha::ChaCha20Rng::from_seed([1; 32]);
        let sealed = sealed_share(&lie, &to, &own, 0, &mut rng).unwrap();
        let message = Message::Share {
            time,
            trustee,
            attempt,
            sealed,
        };
        let post = board.sign(first, message.kind(), message.encode().unwrap());
        board.post(&post.unwrap()).await.unwrap();
    });
    // Its yes is in the log, so its first share counts.
    story.answer("approve", 1, "case-1", &[]);
    story.turn(&[1]);
    let done = story.folder.clew(&story.fetch("case-1", "opening.txt"));
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(0), "{said}");
    assert!(said.contains("warning: trustee 1"), "{said}");
    assert_eq!(story.judged("opening.txt", "case-1")["machine"], "web-1");
}

fn is_share(message: &Message) -> bool {
    matches!(message, Message::Share { .. })
}

/// A log that was put back: no trustee that saw more of it works for it, and says why.
#[test]
fn a_log_that_went_back_opens_nothing() {
    let mut story = Story::new();
    story.warrant("1", "court", &[], "warrant");
    story.filed("1", "warrant", &[], "case");
    let at = story.log.at();
    let serve = ["log", "serve", "log", "--listen", &at];
    story.log.stop();
    copy_folder(&story.path("log"), &story.path("old"));
    story.log = story.folder.start(&serve).ready();
    story.warrant("2", "court", &[], "warrant-2");
    story.filed("2", "warrant-2", &[], "case-2"); // all trustees see a longer log
    story.log.stop();
    fs::rename(story.path("log"), story.path("newer")).unwrap();
    copy_folder(&story.path("old"), &story.path("log"));
    story.log = story.folder.start(&serve);
    for index in [1, 2] {
        story.answer("approve", index, "case", &[]);
    }
    story.turn(&[1, 2]);
    for index in [1, 2] {
        let seen = story.seen(index, "case");
        let trouble = seen["trouble"].as_str().unwrap_or_default();
        assert!(trouble.contains("log-older"), "{seen}");
    }
    assert_eq!(
        (
            story.count("case", "approved"),
            story.count("case", "computed")
        ),
        (0, 0)
    );
    // The true log is back: the same orders are carried out.
    story.log.stop();
    fs::rename(story.path("log"), story.path("forged")).unwrap();
    fs::rename(story.path("newer"), story.path("log")).unwrap();
    story.log = story.folder.start(&serve).ready();
    story.turn(&[1, 2]);
    assert_eq!(story.state("case"), "computed", "{}", story.status("case"));
}

/// A trustee whose clock is wrong decides nothing, and says that it is the clock.
#[test]
fn a_trustee_with_a_wrong_clock_gives_nothing() {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/service/clock.c");
    let story = Story::new();
    let shim = story.path("clock.so");
    let built = std::process::Command::new("cc")
        .args(["-shared", "-fPIC", "-o", shim.to_str().unwrap(), source])
        .status();
    if !built.is_ok_and(|built| built.success()) {
        return skipped("cc");
    }
    story.warrant("1", "court", &[], "warrant");
    story.filed("1", "warrant", &[], "case");
    story.answer("approve", 1, "case", &[]);
    story.answer("approve", 2, "case", &[]);
    for shift in ["7200", "-7200", "40000000"] {
        let mut turn = story.folder.command(&["trustee", "serve", "t1", "--once"]);
        let turn = turn.env("LD_PRELOAD", &shim).env("CLEW_TEST_SHIFT", shift);
        let done = turn.output().unwrap();
        let said = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(2), "{shift}: {said}");
        assert!(said.contains("clock"), "{shift}: {said}");
    }
    story.turn(&[2]);
    let done = ["approved", "computed"].map(|what| story.count("case", what));
    assert_eq!(done, [1, 1]);
    // With the right time it goes on.
    story.turn(&[1]);
    assert_eq!(story.state("case"), "computed");
}
