//! The log as a program of others reads it: Go's `sumdb/tlog` and `sumdb/note`, which the Go
//! distribution brings along.

use crate::folder::{Folder, wait};
use crate::skipped::skipped;
use clew_log::entry::Seal;
use std::path::Path;
use std::process::Command;

const PROGRAM: &str = include_str!("independent.go");
const GO: [&str; 2] = ["go", "/usr/local/go/bin/go"];
const MODULE: &str = "golang.org/x/mod";

/// A folder in which Go finds the module without a network.
fn go_in(folder: &Path) -> Option<Command> {
    let go = GO
        .into_iter()
        .find(|go| Command::new(go).arg("version").output().is_ok())?;
    let root = Command::new(go).args(["env", "GOROOT"]).output().ok()?;
    let root = String::from_utf8(root.stdout).ok()?;
    let vendored = Path::new(root.trim()).join("src/cmd/vendor").join(MODULE);
    if !vendored.join("sumdb/tlog").exists() {
        return None;
    }
    let vendor = folder.join("vendor/golang.org/x");
    std::fs::create_dir_all(&vendor).unwrap();
    std::os::unix::fs::symlink(&vendored, vendor.join("mod")).unwrap();
    std::fs::write(folder.join("main.go"), PROGRAM).unwrap();
    let module = format!("module check\n\ngo 1.23\n\nrequire {MODULE} v0.0.0\n");
    std::fs::write(folder.join("go.mod"), module).unwrap();
    let vendored = format!(
        "# {MODULE} v0.0.0\n## explicit; go 1.23\n{MODULE}/sumdb/note\n{MODULE}/sumdb/tlog\n"
    );
    std::fs::write(folder.join("vendor/modules.txt"), vendored).unwrap();
    let mut command = Command::new(go);
    let run = ["run", "-mod=vendor", "."];
    command
        .args(run)
        .current_dir(folder)
        .env("GOFLAGS", "")
        .env("GOTOOLCHAIN", "local");
    Some(command)
}

/// Go checks the checkpoint's signature, the proof of an entry that a command wrote, our tiles, and
/// that the log of the proof leads to the log of now.
#[test]
fn go_reads_the_log() {
    let module = tempfile::tempdir().unwrap();
    let Some(mut go) = go_in(module.path()) else {
        return skipped("Go, with its vendored modules");
    };
    let folder = Folder::new();
    let log = folder.serve("log", &[]);
    let court = folder.author("court", "requester", &log);
    let add = |numbers: std::ops::Range<u64>| {
        for number in numbers {
            wait(court.says(
                &log.log(),
                court.request(number, Seal::Open(court.warrant())),
            ))
            .unwrap();
        }
    };
    add(0..11);
    let prove = [
        "log",
        "prove",
        &log.url,
        "5",
        "--log",
        &folder.log,
        "-o",
        "proof",
    ];
    folder.yes(&prove);
    add(11..300);
    let proof = folder.path("proof");
    let address = format!("https://{}/", log.at());
    go.args([&address, &folder.log]).arg(&proof);
    let done = go.output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    let told = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{told}{said}");
    assert_eq!(told, "signed, included and consistent: 5 of 14, then 303\n");

    // It is no friend of what is wrong, either.
    let text = std::fs::read_to_string(&proof).unwrap();
    std::fs::write(&proof, text.replacen("index 5", "index 6", 1)).unwrap();
    assert!(!go.output().unwrap().status.success());
}
