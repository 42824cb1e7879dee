//! Bundles: made the same each time, judged alone, and refused when any of their files is another.

use super::*;
use clew_report::{Files, read_bundle, write_bundle};

/// Evidence of a court, and what the bundle needs besides.
fn bundled(court: &Court, evidence: &str, more: &[&str], to: &str) -> (i32, String, String) {
    let first = ["bundle", "--group", GROUP, evidence, "signed"];
    court.said(&[&first[..], more, &["-o", to]].concat())
}

/// Another part in a file of the same length.
fn swap(name: &'static str, old: &'static [u8], new: &'static [u8]) -> impl Fn(&mut Files) {
    move |files| {
        let file = files.get_mut(name).unwrap();
        let at = file.windows(old.len()).position(|part| part == old);
        file[at.unwrap()..][..old.len()].copy_from_slice(new);
    }
}

fn without(name: &'static str) -> impl Fn(&mut Files) {
    move |files| drop(files.remove(name))
}

fn further(name: &'static str) -> impl Fn(&mut Files) {
    move |files| drop(files.insert(name.to_owned(), Vec::new()))
}

impl Court {
    /// Writes a bundle with other files and right sums.
    fn rewrite(&self, from: &str, to: &str, change: impl FnOnce(&mut Files)) {
        let mut files = read_bundle(&fs::read(self.path(from)).unwrap()).unwrap();
        change(&mut files);
        fs::write(self.path(to), write_bundle(files).unwrap()).unwrap();
    }

    fn judge_alone(&self, bundle: &str, more: &[&str]) -> (i32, String, String) {
        self.said(&[&["judge", bundle][..], more].concat())
    }

    /// The rule that refuses a bundle.
    fn rule(&self, bundle: &str) -> Option<String> {
        let (status, out, error) = self.judge_alone(bundle, &["--json"]);
        assert_eq!(status, 1, "{out}{error}");
        let named = |text: &str| Some(text.split_once("(rule ")?.1.split_once(')')?.0.to_owned());
        let rule = named(&error);
        if let Ok(said) = serde_json::from_str::<Value>(&out) {
            assert_eq!(said["holds"], false);
            return Some(said["rule"].as_str()?.to_owned());
        }
        rule
    }
}

#[test]
fn a_bundle_is_judged_alone() {
    for scheme in ["xr", "bbs04"] {
        let court = Court::new(scheme);
        court.opened();
        let (status, _, error) = bundled(&court, "opening", &[], "case.zip");
        assert_eq!(status, 0, "{error}");
        assert_eq!(bundled(&court, "opening", &[], "again.zip").0, 0);
        let bundle = fs::read(court.path("case.zip")).unwrap();
        assert_eq!(bundle, fs::read(court.path("again.zip")).unwrap());
        // The original files are not needed.
        for file in ["opening", "signed"] {
            fs::remove_file(court.path(file)).unwrap();
        }
        let (status, out, error) = court.judge_alone("case.zip", &[]);
        assert_eq!(status, 0, "{error}");
        let named = "packet 1 of the copied packets was sent by web-1\n";
        assert!(out.starts_with(named), "{out}");
        let origin = "  origin     packet 1 of \"signed\", as the copy's maker says\n";
        assert!(out.contains(origin), "{out}");
        assert!(error.contains("compare the epoch's id"), "{error}");
        let (status, _, error) = court.judge_alone("case.zip", &["--group", GROUP]);
        assert_eq!((status, error.as_str()), (0, ""));
        let (_, out, _) = court.judge_alone("case.zip", &["--json"]);
        let said: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(said["reports"], "same");
        let files = read_bundle(&bundle).unwrap();
        let page = String::from_utf8(files["report.html"].clone()).unwrap();
        assert!(page.contains("Packet 1 was sent by web-1."), "{page}");
        assert!(files["report.pdf"].starts_with(b"%PDF-1.7"));
        // An evidence file is never overwritten.
        assert_eq!(bundled(&court, "opening", &[], "again.zip").0, 2);
    }
}

/// What comes through a pipe comes once: a good bundle is not called false.
#[test]
fn a_bundle_may_come_through_a_pipe() {
    use std::io::Write;
    let court = Court::new("xr");
    court.opened();
    assert_eq!(bundled(&court, "opening", &[], "case.zip").0, 0);
    let (status, _, error) = court.judge_alone("case.zip", &["signed"]);
    assert!(
        status == 2 && error.contains("a bundle has its own packets"),
        "{error}"
    );
    let bundle = fs::read(court.path("case.zip")).unwrap();
    for name in ["-", "/dev/stdin"] {
        let mut judge = Command::new(env!("CARGO_BIN_EXE_clew"));
        let judge = judge.args(["judge", name]).stdin(Stdio::piped());
        let mut judge = judge
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        judge.stdin.take().unwrap().write_all(&bundle).unwrap();
        let done = judge.wait_with_output().unwrap();
        assert_eq!(done.status.code(), Some(0), "{name}: {done:?}");
    }
}

/// The name of the maker's file is never part of what is proved.
#[test]
fn a_captures_name_is_no_sentence() {
    let court = Court::new("xr");
    court.opened();
    let name = format!("in.pcap was sent by web-2{}x", " ".repeat(100));
    fs::rename(court.path("signed"), court.path(&name)).unwrap();
    let bundle = [
        "bundle", "--group", GROUP, "opening", &name, "-o", "case.zip",
    ];
    court.yes(&bundle);
    let (status, out, _) = court.judge_alone("case.zip", &[]);
    assert_eq!(status, 0);
    let mut lines = out.lines();
    assert_eq!(
        lines.next(),
        Some("packet 1 of the copied packets was sent by web-1")
    );
    let origin = lines.next().unwrap();
    let begin =
        "  origin     packet 1 of \"in.pcap[U+0020]was[U+0020]sent[U+0020]by[U+0020]web-2[U+0020]";
    assert!(origin.starts_with(begin), "{origin}");
    assert!(!out.contains("by web-2"), "{out}");
    // A name that no file has.
    let longer = |files: &mut Files| {
        let origin = String::from_utf8(files["origin.json"].clone()).unwrap();
        let origin = origin.replace(
            "\"capture\":\"",
            &format!("\"capture\":\"{}", "a".repeat(256)),
        );
        files.insert("origin.json".to_owned(), origin.into_bytes());
    };
    court.rewrite("case.zip", "long.zip", longer);
    assert_eq!(court.rule("long.zip").as_deref(), Some("files"));
}

#[test]
fn a_bundle_with_other_files_is_refused() {
    let court = Court::new("xr");
    court.opened();
    assert_eq!(bundled(&court, "opening", &[], "case.zip").0, 0);
    type Change = Box<dyn FnOnce(&mut Files)>;
    let changes: [(&str, Change); 8] = [
        (
            "report",
            Box::new(swap("report.html", b"sent by web-1", b"sent by web-2")),
        ),
        ("files", Box::new(without("report.pdf"))),
        (
            "report",
            Box::new(swap("origin.json", b"\"frames\":[1]", b"\"frames\":[2]")),
        ),
        (
            "files",
            Box::new(swap("origin.json", b"\"clew\"", b"\"clow\"")),
        ),
        ("files", Box::new(without("group.clew"))),
        ("files", Box::new(without("opening.txt"))),
        ("files", Box::new(further("match.txt"))),
        (
            "signature",
            Box::new(|files| files.get_mut("group.clew").unwrap()[600] ^= 1),
        ),
    ];
    for (number, (rule, change)) in changes.into_iter().enumerate() {
        court.rewrite("case.zip", "bad.zip", change);
        if rule == "signature" {
            // A group file that nobody signed is not one: nobody can tell.
            assert_eq!(court.judge_alone("bad.zip", &[]).0, 2);
            continue;
        }
        assert_eq!(
            court.rule("bad.zip").as_deref(),
            Some(rule),
            "change {number}"
        );
    }
    let mut bundle = fs::read(court.path("case.zip")).unwrap();
    bundle.push(0);
    fs::write(court.path("long.zip"), &bundle).unwrap();
    assert_eq!(court.rule("long.zip").as_deref(), Some("form"));
}

/// A bundle has the files that its specification lists, and a version that is safe to show.
#[test]
fn a_bundle_has_no_further_files() {
    let court = Court::new("xr");
    court.opened();
    assert_eq!(bundled(&court, "opening", &[], "case.zip").0, 0);
    let names = [
        "README-FIRST.html",
        "decision-1.txt", // without request.txt
        "decision-01.txt",
        "decision-33.txt",
    ];
    for name in names {
        court.rewrite("case.zip", "bad.zip", further(name));
        assert_eq!(court.rule("bad.zip").as_deref(), Some("files"), "{name}");
    }
    let version = swap("origin.json", b"\"clew\":\"0.", b"\"clew\":\"0 ");
    court.rewrite("case.zip", "bad.zip", version);
    assert_eq!(court.rule("bad.zip").as_deref(), Some("files"));
}

/// Reports of another version are not compared: they may be forged, and nobody can tell.
#[test]
fn reports_of_another_version_are_not_believed() {
    let court = Court::new("xr");
    court.opened();
    assert_eq!(bundled(&court, "opening", &[], "case.zip").0, 0);
    court.rewrite("case.zip", "old.zip", |files| {
        swap("report.html", b"sent by web-1", b"sent by web-2")(files);
        swap("origin.json", b"\"clew\":\"0.", b"\"clew\":\"9.")(files);
    });
    let (status, out, _) = court.judge_alone("old.zip", &[]);
    assert_eq!(status, 2);
    assert!(out.contains("  reports    NOT compared, clew 9."), "{out}");
    let (status, out, _) = court.judge_alone("old.zip", &["--json"]);
    let said: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((status, &said["reports"]), (2, &"not-compared".into()));
    // Its reader accepts that, and has this version's report written instead.
    for (name, first) in [("own.html", &b"<!"[..]), ("own.pdf", b"%PDF")] {
        let given = ["--ignore-reports", "--report", name];
        let (status, _, error) = court.judge_alone("old.zip", &given);
        assert_eq!(status, 0, "{error}");
        assert!(court.bytes(name).starts_with(first), "{name}");
    }
    let page = String::from_utf8(court.bytes("own.html")).unwrap();
    assert!(page.contains("Packet 1 was sent by web-1."), "{page}");
    let given = ["--ignore-reports", "--report", "own.html"];
    assert_eq!(
        court.judge_alone("old.zip", &given).0,
        2,
        "never overwritten"
    );
    court.rewrite("old.zip", "none.zip", without("report.html"));
    assert_eq!(court.rule("none.zip").as_deref(), Some("files"));
}

/// The warrant belongs to the evidence, and so into the bundle.
#[test]
fn a_bundle_has_the_warrant() {
    let court = Court::new("xr");
    fs::write(court.path("warrant"), "number 12").unwrap();
    for trustee in ["1", "2"] {
        let key = format!("acme/trustees/{trustee}.key");
        let share = format!("{trustee}.share");
        let of = ["--group", GROUP, "signed", "--packet", "1", "-o", &share];
        court.yes(
            &[
                &["share", "--trustee", &key, "--warrant", "warrant"][..],
                &of,
            ]
            .concat(),
        );
    }
    let (status, _, error) = court.open_with("acme", &[], "opening");
    assert_eq!(status, 0, "{error}");
    let (status, _, error) = bundled(&court, "opening", &[], "case.zip");
    assert_eq!(status, 2);
    assert!(error.contains("hint: --warrant FILE"), "{error}");
    assert_eq!(
        bundled(&court, "opening", &["--warrant", "signed"], "case.zip").0,
        1
    );
    assert_eq!(
        bundled(&court, "opening", &["--warrant", "warrant"], "case.zip").0,
        0
    );
    assert_eq!(court.judge_alone("case.zip", &[]).0, 0);
    court.rewrite("case.zip", "bad.zip", |files| {
        drop(files.remove("warrant.txt"))
    });
    assert_eq!(court.rule("bad.zip").as_deref(), Some("files"));
    court.rewrite("case.zip", "bad.zip", |files| {
        files.insert("warrant.txt".to_owned(), b"number 13".to_vec());
    });
    assert_eq!(court.rule("bad.zip").as_deref(), Some("warrant-pin"));
}

/// What is not a bundle needs the group file and the capture.
#[test]
fn only_a_bundle_stands_alone() {
    let court = Court::new("xr");
    court.opened();
    let (status, _, error) = court.judge_alone("opening", &[]);
    assert_eq!(status, 2);
    assert!(
        error.contains("need --group GROUPFILE and the capture"),
        "{error}"
    );
    fs::write(court.path("empty.zip"), b"PK\x05\x06").unwrap();
    assert_eq!(court.rule("empty.zip").as_deref(), Some("form"));
}
