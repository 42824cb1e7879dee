//! `clew-ct memcheck` by valgrind: no branch and no address depends on a secret, and the check finds
//! what does.

use std::io::{Write, stderr};
use std::process::{Command, Output};

/// The script that everybody runs, on the program that cargo built for this test.
fn ct(arguments: &[&str]) -> Option<Output> {
    if cfg!(not(target_arch = "x86_64"))
        || Command::new("valgrind").arg("--version").output().is_err()
    {
        // Straight to the terminal: of a test that passes, cargo shows nothing else.
        writeln!(
            stderr(),
            "skipped: valgrind is not installed, or this is not x86-64"
        )
        .expect("the terminal takes a line");
        return None;
    }
    let mut command = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/ct"));
    command.env("CLEW_CT", env!("CARGO_BIN_EXE_clew-ct"));
    Some(command.args(arguments).output().expect("the script runs"))
}

fn text(output: &Output) -> (String, String) {
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    (out.into_owned(), err.into_owned())
}

/// Some of each part of the table.
const NAMED: [&str; 16] = [
    "fixed-base mul",
    "bbs04 sign",
    "bbs04 open",
    "bbs04 issue",
    "xr sign",
    "xr device accepts",
    "xr witness after steps",
    "xr bases",
    "xr offer",
    "share decrypts",
    "ceremony receive",
    "x25519 shared",
    "box seal",
    "effs load and sign",
    "effs load, sign: 3072",
    "effs sign",
];

#[test]
fn no_secret_shows() {
    let Some(output) = ct(&[]) else { return };
    let (out, err) = text(&output);
    assert!(output.status.success(), "{out}\n{err}");
    for operation in NAMED {
        let lines = out
            .lines()
            .filter(|line| line.contains(&format!(" {operation:<22} ")));
        let ok = lines.filter(|line| line.trim_start().starts_with("ok "));
        assert_eq!(ok.count(), 2, "{operation}, in both codes of blst:\n{out}");
    }
}

#[test]
fn a_secret_that_shows_is_reported() {
    let Some(output) = ct(&["--leak"]) else {
        return;
    };
    let (out, err) = text(&output);
    assert_eq!(output.status.code(), Some(1), "{out}\n{err}");
    assert!(
        err.contains("Conditional jump or move depends on uninitialised value"),
        "{err}"
    );
    assert!(err.contains("Use of uninitialised value"), "{err}");
    let leaks = out.lines().filter(|line| line.contains("LEAK   control: "));
    assert_eq!(leaks.count(), 6, "{out}");
}

#[test]
fn without_valgrind_it_says_so() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clew-ct"));
    let output = command.arg("memcheck").output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output).1.contains("needs valgrind"));
}
