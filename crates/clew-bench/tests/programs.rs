//! Programs of `clew-bench`, run as briefly as they can be: that they run, and say what they should.

use serde_json::Value;
use std::process::Command;

fn bench(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clew-bench"));
    let output = command.args(arguments).output().expect("the program runs");
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{arguments:?}: {out}{err}");
    out.into_owned()
}

/// The names of the rows of one round.
fn rows(program: &[&str]) -> Vec<String> {
    let brief = ["--json", "--seconds", "0", "--rounds", "1"];
    let lines = bench(&[program, &brief].concat());
    let lines = lines
        .lines()
        .map(|line| line.parse::<Value>().expect("JSON"));
    let names = lines.filter_map(|line| Some(line["row"].as_str()?.to_owned()));
    names.collect()
}

#[test]
fn lists_its_programs() {
    let list = bench(&["--list"]);
    for name in ["clue-table", "group-signature", "files", "sha256"] {
        assert!(list.lines().any(|line| line.starts_with(name)), "{list}");
    }
}

#[test]
fn has_every_row_of_the_table_of_clue() {
    let rows = rows(&["clue-table"]);
    for scheme in ["bbs04", "xr"] {
        for operation in [
            "sign",
            "precomp-sign",
            "verify",
            "incr-verify",
            "incr-corrupted",
        ] {
            for cover in ["1", "8", "tree-8"] {
                let row = format!("{scheme}-{operation}-{cover}");
                assert!(rows.contains(&row), "{row} in {rows:?}");
            }
        }
        assert!(rows.contains(&format!("{scheme}-precompute-1")));
    }
    for baseline in ["blst-g1-mul", "blst-pairing", "sha256-1277"] {
        assert!(rows.iter().any(|row| row == baseline), "{baseline}");
    }
}

#[test]
fn hashes_a_capture() {
    let capture = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../clew/tests/captures/tcpdump--quic_handshake.pcap"
    );
    assert_eq!(rows(&["sha256", "--capture", capture]), ["sha256"]);
}

#[test]
fn hashes_in_every_way_of_the_machine() {
    let rows = rows(&["hash-lanes"]);
    for hash in ["blake3", "sha256"] {
        for way in ["portable", "chosen"] {
            let row = format!("{hash}-1046-x16-{way}");
            assert!(rows.contains(&row), "{row} in {rows:?}");
        }
    }
}
