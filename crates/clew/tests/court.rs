//! Opening, matching and judging with the program, where people do wrong: liars are named, altered
//! evidence is refused by its rule, and every answer has its exit status.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const CAPTURE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/captures/tcpdump--quic_handshake.pcap"
);
const GROUP: &str = "acme/public/group.clew";

/// A folder with a group, two machines, and a capture that the first one signed.
struct Court(TempDir);

impl Court {
    fn new(scheme: &str) -> Self {
        let court = Self(tempfile::tempdir().unwrap());
        let create = ["group", "create", "acme", "--name", "acme", "--scheme"];
        court.yes(&[&create[..], &[scheme]].concat());
        for machine in ["web-1", "web-2"] {
            court.yes(&["enrol", "acme", machine, "-o", &format!("{machine}.key")]);
        }
        court.yes(&["sign", "--key", "web-1.key", CAPTURE, "-w", "signed"]);
        court
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn clew(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_clew"));
        command
            .args(arguments)
            .current_dir(self.0.path())
            .stdin(Stdio::null());
        command.output().unwrap()
    }

    /// Exit status, and what was said to standard output and error.
    fn said(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = self.clew(arguments);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let status = output.status.code().unwrap();
        (status, text(output.stdout), text(output.stderr))
    }

    fn yes(&self, arguments: &[&str]) -> String {
        let (status, out, error) = self.said(arguments);
        assert_eq!(status, 0, "{arguments:?}: {error}");
        out
    }

    /// Trustee's share for a packet, with more arguments, in a file of that name.
    fn share(&self, trustee: u8, packet: &str, more: &[&str], to: &str) -> (i32, String, String) {
        let key = format!("acme/trustees/{trustee}.key");
        let of = ["share", "--trustee", &key, "--group", GROUP];
        let rest = ["signed", "--packet", packet, "-o", to];
        self.said(&[&of[..], more, &rest].concat())
    }

    fn open(&self, shares: &[&str], to: &str) -> (i32, String, String) {
        let given: Vec<&str> = shares.iter().flat_map(|s| ["--share", *s]).collect();
        let of = ["open", "--group", GROUP, "--register", "acme"];
        let rest = ["signed", "--packet", "1", "-o", to];
        self.said(&[&of[..], &given, &rest].concat())
    }

    fn judge(&self, evidence: &str) -> (i32, String, String) {
        self.said(&["judge", "--group", GROUP, evidence, "signed"])
    }

    /// The shares of trustees 1 to 3 for packet 1, and their opening.
    fn opened(&self) {
        for trustee in 1..=3 {
            let to = format!("{trustee}.share");
            assert_eq!(self.share(trustee, "1", &[], &to).0, 0);
        }
        assert_eq!(self.open(&["1.share", "2.share"], "opening").0, 0);
    }

    /// A copy of a text file whose payload was changed, with a checksum that fits.
    fn altered(&self, of: &str, to: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let text = fs::read_to_string(self.path(of)).unwrap();
        let line = text.lines().find(|line| !line.starts_with('#')).unwrap();
        let (label, encoded) = line.split_once(' ').unwrap();
        let mut payload = STANDARD.decode(encoded).unwrap();
        payload.truncate(payload.len() - 8);
        change(&mut payload);
        let checksum = Sha256::new_with_prefix(label)
            .chain_update(&payload)
            .finalize();
        payload.extend_from_slice(&checksum[..8]);
        let line = format!("{label} {}\n", STANDARD.encode(payload));
        fs::write(self.path(to), line).unwrap();
    }

    /// All three steps of a match by trustees 1 and 3; their last shares.
    fn compared(&self, machine: &str) -> [String; 2] {
        let step = |name: &str, more: &[&str]| {
            [1, 3].map(|trustee| {
                let to = format!("{machine}-{trustee}.{name}");
                let question = ["--match", machine, "--register", "acme"];
                let (status, _, error) =
                    self.share(trustee, "1", &[&question[..], more].concat(), &to);
                assert_eq!(status, 0, "{error}");
                to
            })
        };
        let [a, b] = step("commit", &["--with", "1,3"]);
        let [a, b] = step("blind", &["--share", &a, "--share", &b]);
        step("share", &["--share", &a, "--share", &b])
    }

    fn matched(&self, shares: &[String], machine: &str, to: &str) -> (i32, String, String) {
        let given: Vec<&str> = shares
            .iter()
            .flat_map(|s| ["--share", s.as_str()])
            .collect();
        let of = ["match", "--group", GROUP, "--register", "acme"];
        let rest = ["--machine", machine, "signed", "--packet", "1", "-o", to];
        self.said(&[&of[..], &given, &rest].concat())
    }
}

/// Where a share's first decryption starts: behind step, request and trustee.
const DECRYPTION: usize = 1 + 174 + 1;

#[test]
fn a_liar_is_named_and_left_out() {
    for scheme in ["xr", "bbs04"] {
        let court = Court::new(scheme);
        court.opened();
        // Trustee 2 hands in trustee 3's numbers as its own.
        court.altered("3.share", "lie.share", |payload| {
            payload[DECRYPTION - 1] = 2
        });
        let (status, _, error) = court.open(&["1.share", "lie.share"], "no");
        assert_eq!(status, 2);
        assert!(
            error.contains("trustee 2: its decryption does not hold"),
            "{error}"
        );
        assert!(!court.path("no").exists());
        let (status, out, error) = court.open(&["1.share", "lie.share", "3.share"], "despite");
        assert_eq!(status, 0, "{error}");
        assert!(out.starts_with("packet 1 was sent by web-1\n"));
        assert!(
            error.contains("trustee 2: its decryption does not hold"),
            "{error}"
        );
        assert_eq!(court.judge("despite").0, 0);
    }
}

/// Each field of an opening changed, with the rule that is named. The row comes behind the shares of
/// two trustees: length, index, joined, A, name, and for xr C, the device key and S.
#[test]
fn altered_openings_break_the_rule_they_break() {
    for (scheme, each) in [("xr", 1 + 112), ("bbs04", 1 + 224)] {
        let court = Court::new(scheme);
        court.opened();
        let row = 174 + 2 * each;
        let name = row + 2 + 4 + 4 + 48 + 1;
        let mut cases = vec![
            (16, "layout"), // kind
            (20, "group"),  // group id
            (40, "group"),  // epoch id
            (120, "share"), // warrant: another request id
            (174 + each - 1, "share"),
            (row + 6 + 3, "register"), // joined
            (name, "register"),
        ];
        if scheme == "xr" {
            cases.push((name + 5 + 48 + 5, "register")); // the device key
        }
        for (at, rule) in cases {
            court.altered("opening", "altered", |payload| payload[at] ^= 1);
            let (status, _, error) = court.judge("altered");
            assert_eq!(status, 1, "{scheme} byte {at}: {error}");
            let named = error.contains(&format!("(rule {rule})"));
            assert!(named, "{scheme} byte {at}: {error}");
            let json = ["judge", "--group", GROUP, "altered", "signed", "--json"];
            let (status, out, _) = court.said(&json);
            let answer: Value = serde_json::from_str(&out).unwrap();
            assert_eq!(
                (status, &answer["holds"], &answer["rule"]),
                (1, &false.into(), &rule.into())
            );
        }
        court.altered("opening", "longer", |payload| payload.push(0));
        assert!(court.judge("longer").2.contains("(rule layout)"));
        // Another packet: none of the capture has that digest.
        court.altered("opening", "other", |payload| payload[80] ^= 1);
        let (status, _, error) = court.judge("other");
        assert_eq!(status, 2);
        assert!(error.contains("is not in the capture"), "{error}");
    }
}

/// A share that does not hold names its trustee, in words and in JSON.
#[test]
fn judges_name_the_trustee_whose_share_fails() {
    let court = Court::new("xr");
    court.opened();
    court.altered("opening", "altered", |payload| {
        payload[174 + 113 + 112] ^= 1
    });
    let (status, _, error) = court.judge("altered");
    assert_eq!(status, 1);
    assert!(error.contains("trustee 2 (rule share)"), "{error}");
    let json = ["judge", "--group", GROUP, "altered", "signed", "--json"];
    let answer: Value = serde_json::from_str(&court.said(&json).1).unwrap();
    assert_eq!(answer["trustee"], 2);
}

/// The row of another machine, which is in the register and whose device signed it.
#[test]
fn an_opening_cannot_be_moved_to_another_machine() {
    for (scheme, each) in [("xr", 1 + 112), ("bbs04", 1 + 224)] {
        let court = Court::new(scheme);
        court.opened();
        court.yes(&["sign", "--key", "web-2.key", CAPTURE, "-w", "other"]);
        for trustee in ["1", "2"] {
            let key = format!("acme/trustees/{trustee}.key");
            let to = format!("other-{trustee}");
            let of = ["share", "--trustee", &key, "--group", GROUP, "other"];
            court.yes(&[&of[..], &["--packet", "1", "-o", &to]].concat());
        }
        let of = [
            "open",
            "--group",
            GROUP,
            "--register",
            "acme",
            "other",
            "--packet",
            "1",
        ];
        court.yes(
            &[
                &of[..],
                &["--share", "other-1", "--share", "other-2", "-o", "o2"],
            ]
            .concat(),
        );
        let row = 174 + 2 * each;
        let mut other = Vec::new();
        court.altered("o2", "scratch", |payload| other = payload[row..].to_vec());
        court.altered("opening", "moved", |payload| {
            payload.truncate(row);
            payload.extend_from_slice(&other);
        });
        let (status, _, error) = court.judge("moved");
        assert_eq!(status, 1);
        assert!(error.contains("(rule credential)"), "{error}");
    }
}

#[test]
fn the_packet_is_judged_too() {
    let court = Court::new("xr");
    court.opened();
    let mut signed = fs::read(court.path("signed")).unwrap();
    let at = signed.len() - 500; // in the last packet, not the first
    signed[at] ^= 1;
    fs::write(court.path("signed"), &signed).unwrap();
    assert_eq!(court.judge("opening").0, 0, "another packet was changed");
    signed[24 + 16 + 60] ^= 1;
    fs::write(court.path("signed"), &signed).unwrap();
    let (status, _, error) = court.judge("opening");
    assert_eq!(status, 2, "a changed packet is not the packet: {error}");
    let (status, _, error) = court.share(1, "1", &[], "x.share");
    assert_eq!(status, 1, "{error}");
    assert!(
        error.contains("packet 1 is invalid, bad-signature"),
        "{error}"
    );
}

#[test]
fn matches_answer_by_their_exit_status() {
    let court = Court::new("xr");
    for (machine, status, sent) in [("web-1", 0, true), ("web-2", 1, false)] {
        let shares = court.compared(machine);
        let result = format!("{machine}.match");
        let (found, out, error) = court.matched(&shares, machine, &result);
        assert_eq!(found, status, "{error}");
        let was = if sent { "was" } else { "was not" };
        assert!(
            out.starts_with(&format!("packet 1 {was} sent by {machine}\n")),
            "{out}"
        );
        // A judge says yes to evidence that holds, whichever answer it proves.
        assert_eq!(court.judge(&result).0, 0);
        let json = ["judge", "--group", GROUP, &result, "signed", "--json"];
        let answer: Value = serde_json::from_str(&court.yes(&json)).unwrap();
        assert_eq!(
            (&answer["holds"], &answer["sent"]),
            (&true.into(), &sent.into())
        );
        let (few, _, error) = court.matched(&shares[..1], machine, "few");
        assert_eq!(few, 2, "{error}");
        let set = 174 + 4;
        let blinds = set + 48;
        let cases = [
            (set - 1, "layout"),
            (100 + 20, "blind"), // the warrant: another session, for which no blind holds
            (150, "register"),   // the machine's leaf hash
            (blinds + 159, "blind"),
            (blinds + 2 * 160 + 111, "share"),
        ];
        for (at, rule) in cases {
            court.altered(&result, "altered", |payload| payload[at] ^= 1);
            let (status, _, error) = court.judge("altered");
            assert_eq!(status, 1, "byte {at}: {error}");
            assert!(
                error.contains(&format!("(rule {rule})")),
                "byte {at}: {error}"
            );
        }
    }
}

/// A blind that is not the one committed to: the honest trustee answers nothing, and names who it was.
#[test]
fn a_trustee_who_changes_its_blind_is_named() {
    let court = Court::new("xr");
    let question = ["--match", "web-1", "--register", "acme"];
    let step = |trustee, more: &[&str], to: &str| {
        court.share(trustee, "1", &[&question[..], more].concat(), to)
    };
    for round in ["old", "new"] {
        for trustee in [1, 3] {
            let to = format!("{round}-{trustee}.commit");
            assert_eq!(step(trustee, &["--with", "1,3"], &to).0, 0);
        }
        let given = [1, 3].map(|t| format!("{round}-{t}.commit"));
        for trustee in [1, 3] {
            let to = format!("{round}-{trustee}.blind");
            assert_eq!(
                step(trustee, &["--share", &given[0], "--share", &given[1]], &to).0,
                0
            );
        }
    }
    let (status, _, error) = step(
        1,
        &["--share", "new-1.blind", "--share", "old-3.blind"],
        "no",
    );
    assert_eq!(status, 2);
    assert!(error.contains("trustee 3"), "{error}");
    assert!(!court.path("no").exists());
    let both = ["--share", "new-1.blind", "--share", "new-3.blind"];
    let (status, _, error) = step(1, &both, "late");
    assert_eq!(status, 2);
    assert!(error.contains("all begin again"), "{error}");
}

/// Later epochs: only the issuer computes credentials, and a register file carries them.
#[test]
fn a_match_in_a_later_epoch_takes_a_register_file() {
    let court = Court::new("xr");
    court.yes(&["revoke", "acme", "web-2", "--at", "2001-01-01T00:00:00Z"]);
    court.yes(&["update", "--key", "web-1.key", "--group", GROUP]);
    court.yes(&[
        "sign",
        "--key",
        "web-1.key",
        CAPTURE,
        "-w",
        "signed",
        "--force",
    ]);
    let with = |register: &str, machine: &str, to: &str| {
        let question = ["--match", machine, "--register", register, "--with", "1,3"];
        court.share(1, "1", &question, to)
    };
    let (status, _, error) = with("acme", "web-1", "a");
    assert_eq!(status, 2);
    assert!(
        error.contains("clew group register DIR --machine web-1 --epoch 1"),
        "{error}"
    );
    for epoch in ["0", "1"] {
        let to = format!("register-{epoch}");
        court.yes(&["group", "register", "acme", "--epoch", epoch, "-w", &to]);
    }
    assert_eq!(with("register-0", "web-1", "b").0, 2);
    let (status, _, error) = with("register-1", "web-2", "c");
    assert_eq!(status, 1, "it was revoked: {error}");
    let (status, _, error) = with("register-1", "web-1", "d");
    assert_eq!(status, 0, "{error}");
}

/// Whatever form travels, trustees and judges look at the plain one: an opening of a packet in the
/// incremental form is judged with the same packet in either.
#[test]
fn the_incremental_form_opens_as_the_plain_one() {
    for scheme in ["xr", "bbs04"] {
        let court = Court::new(scheme);
        let more = ["--incremental", "--nat", "--tolerant", "--force"];
        let sign = ["sign", "--key", "web-2.key", CAPTURE, "-w", "signed"];
        court.yes(&[&sign[..], &more].concat());
        court.opened();
        let (status, out, error) = court.judge("opening");
        assert_eq!(status, 0, "{error}");
        assert!(out.starts_with("packet 1 was sent by web-2\n"), "{out}");
        // Signed once more by another, which marks it: still the same packet.
        court.yes(&["sign", "--key", "web-1.key", "signed", "-w", "marked"]);
        court.yes(&["judge", "--group", GROUP, "opening", "marked"]);
    }
}

/// The packet is found by its digest, wherever it stands in whatever capture.
#[test]
fn a_judge_finds_the_packet_by_itself() {
    let court = Court::new("xr");
    court.opened();
    let signed = fs::read(court.path("signed")).unwrap();
    let (header, records) = signed.split_at(24);
    fs::write(court.path("other"), [header, records, records].concat()).unwrap();
    let out = court.yes(&["judge", "--group", GROUP, "opening", "other"]);
    assert!(out.starts_with("packet 1 was"), "{out}");
    let first = 16 + u32::from_le_bytes(records[8..12].try_into().unwrap()) as usize;
    let (first, rest) = records.split_at(first);
    fs::write(court.path("moved"), [header, rest, first].concat()).unwrap();
    let out = court.yes(&["judge", "--group", GROUP, "opening", "moved"]);
    assert!(out.starts_with("packet 18 was sent by web-1\n"), "{out}");
    fs::write(court.path("gone"), [header, rest].concat()).unwrap();
    let judge = ["judge", "--group", GROUP, "opening", "gone"];
    assert_eq!(court.said(&judge).0, 2);
}
