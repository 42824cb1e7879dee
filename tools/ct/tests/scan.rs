//! `clew-ct scan` of a `clew sign` that waits for packets: it holds what it signs with, on the heap,
//! and nothing else of its key.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

#[path = "../../../crates/clew/tests/common/skipped.rs"]
mod skipped;

use skipped::skipped;
use std::fs::{create_dir_all, read, read_dir, read_to_string, remove_dir_all};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

const CLEW_CT: &str = env!("CARGO_BIN_EXE_clew-ct");
const CAPTURE: &str = "../../crates/clew/tests/captures/zeek--ssh-ssh.pcap";
const KEY: &str = "web-1.key";

/// A folder with a group and the key of its machine.
struct TestFolder {
    clew: PathBuf,
    path: PathBuf,
}

impl TestFolder {
    fn new(clew: &Path, scheme: &str, test: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{scheme}"));
        let _ = remove_dir_all(&path); // of an earlier run, if there was one
        create_dir_all(&path).unwrap();
        let clew = clew.to_owned();
        let folder = Self { clew, path };
        let create = ["group", "create", "acme", "--name", "acme"];
        folder.clew(&[&create[..], &["--scheme", scheme]].concat());
        folder.clew(&["enrol", "acme", "web-1", "-o", KEY]);
        folder
    }

    fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.path);
        command
    }

    fn clew(&self, arguments: &[&str]) {
        let output = self.command(&self.clew, arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    /// Starts a program that reads its input, and waits until it took what is given and wants more.
    fn waiting(&self, program: &Path, arguments: &[&str], input: &[u8]) -> Child {
        let mut command = self.command(program, arguments);
        command.stdin(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(input).unwrap();
        sleeps(child.id());
        child
    }

    /// What the scan finds of the key in a process, which ends then. Returns `None` if the system
    /// forbids to look.
    fn found_in(&self, mut child: Child) -> Option<Vec<[String; 3]>> {
        let output = scan(&self.path.join(KEY), child.id());
        drop(child.stdin.take());
        child.wait().unwrap();
        let [out, err] = [output.stdout, output.stderr].map(|b| String::from_utf8(b).unwrap());
        if err.contains("Permission denied") {
            skipped("root, or a system without Yama");
            return None;
        }
        assert!(output.status.success(), "{err}");
        let columns = |line: &str| {
            let (secret, rest) = line.split_at(22);
            let (memory, halves) = rest.rsplit_once(' ').unwrap();
            [secret, memory, halves].map(|column| column.trim().to_owned())
        };
        Some(out.lines().skip(1).map(columns).collect())
    }
}

fn scan(key: &Path, process: u32) -> Output {
    let mut command = Command::new(CLEW_CT);
    command.arg("scan").arg("--key").arg(key);
    command.args(["--pid", &process.to_string()]);
    command.output().unwrap()
}

/// Waits until all threads of a process have slept for a while.
fn sleeps(process: u32) {
    let mut looks = 0;
    while looks < 10 {
        let tasks = read_dir(format!("/proc/{process}/task")).unwrap();
        let mut stats = tasks.map(|task| read_to_string(task.unwrap().path().join("stat")));
        let all = stats.all(|stat| stat.is_ok_and(|stat| stat.contains(") S ")));
        looks = if all { looks + 1 } else { 0 };
        sleep(Duration::from_millis(10));
    }
}

/// The program, which `./check` builds beside `clew-ct`.
fn clew() -> Option<PathBuf> {
    let clew = Path::new(CLEW_CT).with_file_name("clew");
    if clew.is_file() {
        return Some(clew);
    }
    skipped("clew beside clew-ct, in one target folder");
    None
}

#[test]
fn a_signing_process_holds_what_it_signs_with() {
    let Some(clew) = clew() else { return };
    let capture = read(Path::new(env!("CARGO_MANIFEST_DIR")).join(CAPTURE)).unwrap();
    for (scheme, secrets) in [("xr", &["x", "y"][..]), ("bbs04", &["x"])] {
        let folder = TestFolder::new(&clew, scheme, "signs");
        let sign = ["sign", "--key", KEY, "-", "-o", "signed"];
        let child = folder.waiting(&clew, &sign, &capture);
        let Some(found) = folder.found_in(child) else {
            return;
        };
        // Both halves, in the key that was read and in the one prepared for the epoch.
        let of = |secret| [&format!("{secret}, Montgomery"), "[heap]", "4"].map(str::to_owned);
        let expected: Vec<[String; 3]> = secrets.iter().map(of).collect();
        assert_eq!(found, expected, "{scheme}");
    }
}

/// The control: a shell that has read the file.
#[test]
fn the_text_of_a_key_file_is_found() {
    let Some(clew) = clew() else { return };
    let script = format!("{{ read -r comment; read -r key; }} < {KEY}; read -r end");
    for scheme in ["xr", "bbs04"] {
        let folder = TestFolder::new(&clew, scheme, "text");
        let child = folder.waiting(Path::new("sh"), &["-c", &script], b"");
        let Some(found) = folder.found_in(child) else {
            return;
        };
        assert!(
            found
                .iter()
                .all(|[secret, ..]| secret == "text of the file")
        );
        assert!(!found.is_empty(), "{scheme}");
    }
}

#[test]
fn what_cannot_be_scanned_is_named() {
    let Some(clew) = clew() else { return };
    let folder = TestFolder::new(&clew, "xr", "named");
    let none = u32::MAX;
    for (key, process, wanted) in [
        (KEY, none, format!("memory of process {none}: No such file")),
        ("acme/public/group.clew", none, "group.clew: ".to_owned()),
        ("web-2.key", none, "web-2.key: No such file".to_owned()),
    ] {
        let output = scan(&folder.path.join(key), process);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(&wanted), "{error}");
    }
}
