//! Opening, matching and judging with the program, where people do wrong: liars are named, altered
//! evidence is refused by its rule, and every answer has its exit status.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod altered;
mod anchors;
mod bundle;
mod coverage;
mod epochs;
mod finding;
mod forks;
mod live;
mod logged;
mod matches;
mod trustees;
mod warrants;

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
const KEY_AND_FILES: [&str; 5] = ["--key", "web-1.key", CAPTURE, "-w", "signed"];
/// Bytes of a request, and in it: packet, asked, warrant, machine.
const REQUEST: usize = 206;
const PACKET: usize = 70;
const WARRANT: usize = 134;
const MACHINE: usize = 166;
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
        court.yes(&[&["sign", "--mode", "each"][..], &KEY_AND_FILES].concat());
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

    /// The capture signed by that key now, packet by packet: in the epoch that is in force.
    fn sign(&self, key: &str) {
        let now = ["--mode", "each", "--time", "now", "--force"];
        let sign = ["sign", "--key", key, CAPTURE, "-w", "signed"];
        self.yes(&[&sign[..], &now].concat());
    }

    fn judge(&self, evidence: &str) -> (i32, String, String) {
        self.said(&["judge", "--group", GROUP, evidence, "signed"])
    }

    /// What a judge answers as JSON.
    fn judged(&self, evidence: &str, more: &[&str]) -> Value {
        let judge = ["judge", "--group", GROUP, evidence, "signed", "--json"];
        let (_, out, error) = self.said(&[&judge[..], more].concat());
        serde_json::from_str(&out).unwrap_or_else(|_| unreachable!("{error}"))
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
