//! Requests by commands only: a manager, a log, a witness, three trustees of whom two are needed, a
//! requester, a court. Every process may be killed and asked again.

use crate::folder::{Folder, GROUP, Served, metric, until, wait};
use clew_report::{read_bundle, write_bundle};
use clew_service::http::Client;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

const CAPTURE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/captures/tcpdump--quic_handshake.pcap"
);

/// A group with a log, and everybody of a story.
pub struct Story {
    pub folder: Folder,
    pub log: Served,
    pub manager: Served,
    _witness: Served,
}

impl Story {
    pub fn new() -> Self {
        let folder = Folder::new();
        let witness = folder.witness(0, "127.0.0.1:0");
        let log = folder.serve("log", &[&witness]).ready();
        folder.yes(&["enrol", "acme", "web-2", "-o", "web-2.key"]);
        let sign = ["sign", "--mode", "each", "--key", "web-1.key", CAPTURE];
        folder.yes(&[&sign[..], &["-o", "signed"]].concat());
        folder.yes(&["manager", "set-log", "acme", &log.url]);
        let manager = folder.manager("acme", "127.0.0.1:0", &[]);
        let story = Self {
            folder,
            log,
            manager,
            _witness: witness,
        };
        story.author("police", "requester");
        story.keygen("court");
        (1..=3).for_each(|index| story.trustee(index));
        story
    }

    pub fn yes(&self, arguments: &[&str]) -> String {
        self.folder.yes(arguments)
    }

    pub fn keygen(&self, name: &str) {
        let (key, public) = (format!("{name}.key"), format!("{name}.pub"));
        self.yes(&["log", "keygen", name, "-o", &key, "--public", &public]);
    }

    /// An author that the log and the board know.
    fn author(&self, name: &str, role: &str) {
        self.keygen(name);
        let public = format!("{name}.pub");
        self.admit(&["manager", "admit", "acme", "--role", role, "--key", &public]);
    }

    /// Admits an author, and waits until the manager told the log.
    fn admit(&self, arguments: &[&str]) {
        let entries = || metric(&self.manager, "clew_manager_log_entries_total");
        let before = entries();
        self.yes(arguments);
        until("the log has the author", || entries() > before);
    }

    fn trustee(&self, index: u8) {
        let dir = format!("t{index}");
        let (key, index) = (format!("acme/trustees/{index}.key"), index.to_string());
        let init = ["trustee", "init", &dir, "--manager", &self.manager.url];
        let rest = ["--log-url", &self.log.url, "--name", &dir, "--key", &key];
        let believes = [
            "--issuer",
            "court.pub",
            "--witness",
            &self.folder.witnesses[0],
        ];
        self.yes(&[&init[..], &rest, &believes].concat());
        let public = format!("{dir}/author.pub");
        let admit = [
            "manager", "admit", "acme", "--role", "trustee", "--index", &index,
        ];
        self.admit(&[&admit[..], &["--key", &public]].concat());
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path(name)
    }

    /// A warrant about a packet, by a court for the police.
    pub fn warrant(&self, packet: &str, court: &str, more: &[&str], to: &str) {
        let draft = format!("{to}.draft");
        let create = ["warrant", "create", "--group", GROUP, "--capture", "signed"];
        let rest = [
            "--packet",
            packet,
            "--reference",
            "4 KLs 17/26",
            "-o",
            &draft,
        ];
        let of = ["--for", "police.pub"];
        self.yes(&[&create[..], &rest, &of, more].concat());
        let key = format!("{court}.key");
        self.yes(&["warrant", "sign", "--key", &key, &draft, "-o", to]);
    }

    /// The arguments that file a request about a packet.
    pub fn file<'a>(&'a self, packet: &'a str, warrant: &'a str, case: &'a str) -> Vec<&'a str> {
        let file = ["request", "file", "--group", GROUP, "--warrant", warrant];
        let whom = ["--manager", &self.manager.url, "--log-url", &self.log.url];
        let key = [
            "--key",
            "police.key",
            "--witness",
            &self.folder.witnesses[0],
        ];
        let of = ["signed", "--packet", packet, "-o", case];
        [&file[..], &whom, &key, &of].concat()
    }

    /// Files a request, and has every trustee look at it.
    pub fn filed(&self, packet: &str, warrant: &str, more: &[&str], case: &str) {
        self.yes(&[&self.file(packet, warrant, case)[..], more].concat());
        self.turn(&[1, 2, 3]);
    }

    /// One turn of trustees.
    pub fn turn(&self, trustees: &[u8]) {
        for index in trustees {
            self.yes(&["trustee", "serve", &format!("t{index}"), "--once"]);
        }
    }

    /// The requests that a trustee knows.
    pub fn listed(&self, trustee: u8) -> Vec<Value> {
        let lines = self.yes(&["trustee", "list", &format!("t{trustee}"), "--json"]);
        let all = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        all.collect()
    }

    /// What a trustee says of the request that it saw last under this warrant.
    pub fn seen(&self, trustee: u8, case: &str) -> Value {
        let id = self.id(case);
        let mut listed = self.listed(trustee).into_iter();
        listed.find(|one| one["id"] == id).unwrap_or(Value::Null)
    }

    pub fn id(&self, case: &str) -> String {
        self.status(case)["request"].as_str().unwrap().to_owned()
    }

    pub fn status(&self, case: &str) -> Value {
        let status = ["request", "status", case, "--key", "police.key", "--json"];
        let done = self.folder.clew(&status);
        let error = String::from_utf8_lossy(&done.stderr);
        assert!(
            done.status.code().unwrap() <= 2 && !done.stdout.is_empty(),
            "{error}"
        );
        serde_json::from_slice(&done.stdout).unwrap()
    }

    pub fn state(&self, case: &str) -> String {
        self.status(case)["state"].as_str().unwrap().to_owned()
    }

    pub fn answer(&self, what: &str, trustee: u8, case: &str, more: &[&str]) {
        let (dir, id) = (format!("t{trustee}"), self.id(case));
        self.yes(&[&["trustee", what, &dir, &id[..12]][..], more].concat());
    }

    pub fn fetch<'a>(&'a self, case: &'a str, to: &'a str) -> Vec<&'a str> {
        vec!["request", "fetch", case, "--key", "police.key", "-o", to]
    }

    /// The same with the register at hand, as a match needs it.
    pub fn fetch_with_register<'a>(&'a self, case: &'a str, to: &'a str) -> Vec<&'a str> {
        [&self.fetch(case, to)[..], &["--register", "acme"]].concat()
    }

    pub fn judged(&self, evidence: &str, case: &str) -> Value {
        let proof = format!("{case}/request.txt");
        let judge = ["judge", "--group", GROUP, evidence, "signed", "--json"];
        let with = ["--request", &proof, "--witness", &self.folder.witnesses[0]];
        serde_json::from_str(&self.yes(&[&judge[..], &with].concat())).unwrap()
    }
}

/// Rows are for authors: nothing of a stranger's question is read, so it uses up nothing.
fn strangers_get_no_rows(story: &Story) {
    let client = Client::new(&story.manager.url.parse().unwrap()).unwrap();
    wait(async {
        for _ in 0..700 {
            let patience = Duration::from_secs(30);
            let asked = client.post("request/row", vec![0; 64], 1 << 10, patience);
            let refused = asked.await.unwrap_err().to_string();
            assert!(refused.contains("did not sign this request"), "{refused}");
        }
    });
}

/// With proofs of the request and of both decisions a judge has no caveat about the log.
fn what_the_log_shows_is_said(story: &Story, of_request: &Value) {
    let about_log = |judged: &Value| -> Vec<String> {
        let caveats = judged["caveats"].as_array().unwrap().iter();
        let names = caveats.map(|caveat| caveat["name"].as_str().unwrap().to_owned());
        names
            .filter(|name| ["not-requested", "not-decided", "log-given-up"].contains(&&**name))
            .collect()
    };
    assert_eq!(about_log(of_request), ["not-decided"]);
    let judge = |of: &[&str]| -> Value {
        let said = story.yes(&[&["judge", "--json"][..], of].concat());
        serde_json::from_str(&said).unwrap()
    };
    let bare = judge(&["--group", GROUP, "opening.txt", "signed"]);
    assert_eq!(about_log(&bare), ["not-requested"]);
    let bundle = ["bundle", "--group", GROUP, "opening.txt", "signed"];
    story.yes(&[&bundle[..], &["--case", "case", "-o", "case.zip"]].concat());
    let whole = judge(&["case.zip"]);
    assert!(about_log(&whole).is_empty(), "{whole}");
    // A decision that is there twice does not count for another trustee.
    let path = |name: &str| story.folder.path(name);
    let mut files = read_bundle(&std::fs::read(path("case.zip")).unwrap()).unwrap();
    let own = |name: &String| name.starts_with("decision-");
    let names: Vec<String> = files.keys().filter(|name| own(name)).cloned().collect();
    files.insert(names[0].clone(), files[&names[1]].clone());
    std::fs::write(path("twice.zip"), write_bundle(files).unwrap()).unwrap();
    let said = story.folder.clew(&["judge", "twice.zip"]);
    let said = (said.status.code(), String::from_utf8(said.stderr).unwrap());
    assert!(
        said.0 == Some(1) && said.1.contains("(rule files)"),
        "{said:?}"
    );
}

#[test]
fn an_opening_goes_from_the_court_to_the_evidence() {
    let story = Story::new();
    story.warrant("1", "court", &[], "warrant");
    story.filed("1", "warrant", &[], "case");
    assert_eq!(story.state("case"), "reviewed");
    use std::os::unix::fs::PermissionsExt;
    let mode = story
        .folder
        .path("case")
        .metadata()
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
    let seen = story.seen(1, "case");
    assert_eq!(
        (&seen["answer"], &seen["request"]["answer"]),
        (&"waiting".into(), &1.into())
    );
    assert_eq!(seen["request"]["warrant"]["reference"], "4 KLs 17/26");
    // Nobody approves by itself.
    story.turn(&[1, 2, 3]);
    assert_eq!(story.state("case"), "reviewed");
    story.folder.ends(2, &story.fetch("case", "opening.txt"));

    story.answer("approve", 1, "case", &[]);
    story.turn(&[1]);
    let status = story.status("case");
    assert_eq!(
        (&status["state"], &status["approved"]),
        (&"approved".into(), &1.into())
    );
    // Filing again is the same request.
    story.yes(&story.file("1", "warrant", "case"));
    story.answer("refuse", 2, "case", &[]);
    story.answer("approve", 3, "case", &[]);
    story.turn(&[3, 2, 1]);
    let status = story.status("case");
    assert_eq!(status["state"], "computed", "{status}");
    let events = status["events"].as_array().unwrap();
    let of = |what: &str| {
        let all = events.iter().filter(|event| event["what"] == what);
        all.collect::<Vec<_>>()
    };
    assert_eq!(of("approved").len(), 2);
    let refused = of("refused")[0];
    assert_eq!(
        (&refused["rule"], &refused["trustee"]),
        (&"operator".into(), &2.into())
    );
    assert!(refused["place"].as_u64().unwrap() > 0);

    strangers_get_no_rows(&story);
    story.yes(&story.fetch("case", "opening.txt"));
    assert_eq!(story.state("case"), "delivered");
    // Again it gives the same.
    story.yes(&story.fetch("case", "opening.txt"));
    let judged = story.judged("opening.txt", "case");
    assert_eq!(judged["machine"], "web-1");
    assert_eq!(judged["requested"]["witnesses"], 1);
    assert!(judged["requested"]["place"].as_u64().unwrap() > 0);
    what_the_log_shows_is_said(&story, &judged);
    let counted = ["log", "count", "log", "--group", GROUP, "--json"];
    let counted: Value = serde_json::from_str(&story.yes(&counted)).unwrap();
    assert_eq!(counted["months"][0]["openings"], 1, "{counted}");
}

#[test]
fn a_match_is_answered_round_by_round() {
    let story = Story::new();
    let of = ["--match", "web-2", "--register", "acme"];
    story.warrant("1", "court", &of, "warrant");
    story.filed("1", "warrant", &of, "case");
    assert_eq!(
        story.seen(1, "case")["request"]["warrant"]["machine"],
        "web-2"
    );
    story.answer("approve", 1, "case", &[]);
    story.answer("approve", 3, "case", &[]);
    story.turn(&[1, 3]);
    // The first fetch names who answers together; then rounds go by themselves.
    story
        .folder
        .ends(2, &story.fetch_with_register("case", "match.txt"));
    for _ in 0..3 {
        story.turn(&[1, 3]);
    }
    assert_eq!(story.state("case"), "computed", "{}", story.status("case"));
    let said = story
        .folder
        .clew(&story.fetch_with_register("case", "match.txt"));
    assert_eq!(said.status.code(), Some(1), "web-2 did not");
    let judged = story.judged("match.txt", "case");
    assert_eq!(
        (&judged["machine"], &judged["sent"]),
        (&"web-2".into(), &false.into())
    );
}

/// What a first run was told wrongly the next one mends, and a lost directory is made again from the log.
#[test]
fn a_later_run_is_told_better() {
    let story = Story::new();
    story.warrant("1", "court", &[], "warrant");
    let [right, wrong] = &story.folder.witnesses;
    let url = story.manager.url.as_str();
    let wrongly = |case| {
        let file = story.file("1", "warrant", case).into_iter();
        let changed = file.map(|argument| match argument {
            _ if argument == right => wrong.as_str(),
            _ if argument == url => "http://127.0.0.1:1/",
            _ => argument,
        });
        changed.collect::<Vec<_>>()
    };
    for _ in 0..2 {
        let said = story.folder.ends(2, &wrongly("case"));
        assert!(said.contains("the log has the request now, but"), "{said}");
    }
    story.yes(&story.file("1", "warrant", "case"));
    // The same request from another directory, as if that one were lost.
    story.yes(&story.file("1", "warrant", "again"));
    assert_eq!(story.id("again"), story.id("case"));
    let proof =
        |case: &str| std::fs::read_to_string(story.path(&format!("{case}/request.txt"))).unwrap();
    let place = |case: &str| {
        let text = proof(case);
        text.lines()
            .find(|line| line.starts_with("index "))
            .unwrap()
            .to_owned()
    };
    assert_eq!(place("again"), place("case"));
    story.turn(&[1]);
    assert_eq!(story.state("again"), "reviewed");

    // The salt of a sealed one is nowhere else.
    story.warrant("2", "court", &[], "warrant-2");
    story.yes(
        &[
            &story.file("2", "warrant-2", "sealed")[..],
            &["--seal", "9"],
        ]
        .concat(),
    );
    let said = story.folder.ends(2, &story.file("2", "warrant-2", "lost"));
    assert!(said.contains("is this request, sealed"), "{said}");
}

/// Whoever is not the court, or not the requester, gets nothing; an honest request beside does.
#[test]
fn a_bad_request_is_refused_by_its_rule() {
    let story = Story::new();
    story.keygen("stranger");
    story.warrant("1", "stranger", &[], "forged");
    story.filed("1", "forged", &[], "case");
    let seen = story.seen(1, "case");
    assert_eq!(seen["request"]["answer"], 11, "{seen}");
    let events = story.status("case")["events"].clone();
    assert_eq!(events[1]["rule"], "warrant-issuer", "{events}");
    // An operator that approves it all the same: the trustee checks again.
    story.answer("approve", 1, "case", &[]);
    story.turn(&[1]);
    let seen = story.seen(1, "case");
    assert_eq!(seen["answer"], "decided, not in the log yet");
    assert!(seen["trouble"].as_str().unwrap().contains("warrant-issuer"));
    // A refusal has the rule that failed.
    story.answer("refuse", 2, "case", &[]);
    story.answer("refuse", 3, "case", &["--because", "warrant-scope"]);
    story.turn(&[2, 3]);
    let status = story.status("case");
    assert_eq!(status["state"], "refused", "{status}");
    let events = status["events"].as_array().unwrap();
    let rules: Vec<_> = events
        .iter()
        .filter(|event| event["what"] == "refused")
        .collect();
    assert_eq!(rules[0]["rule"], "warrant-issuer");
    assert_eq!(rules[1]["rule"], "warrant-scope");

    story.warrant("2", "court", &[], "honest");
    story.filed("2", "honest", &[], "case-2");
    for index in [1, 2] {
        story.answer("approve", index, "case-2", &[]);
    }
    story.turn(&[1, 2]);
    let said = story.yes(&story.fetch("case-2", "opening.txt"));
    let named = "packet 1 of the copied packets was sent by web-1\n";
    assert!(said.starts_with(named), "{said}");
    // By the number that it has in the capture that the user named.
    assert!(said.contains("packet 2 of \"signed\", as"), "{said}");
    assert!(
        said.contains("covers only packet 1 of this capture\n"),
        "{said}"
    );
}
