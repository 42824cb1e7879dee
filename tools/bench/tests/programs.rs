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
    let names = lines.filter_map(|line| Some(line["row"]["name"].as_str()?.to_owned()));
    names.collect()
}

#[test]
fn lists_its_programs() {
    let list = bench(&["--list"]);
    for name in [
        "clue-table",
        "effs",
        "effs-paper",
        "group-signature",
        "files",
        "flow-paper",
        "sha256",
        "tunnel-crypto",
    ] {
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
        "/../../crates/clew/tests/captures/tcpdump--quic_handshake.pcap"
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

#[test]
fn seals_and_multiplies_in_every_way_of_the_machine() {
    let rows = rows(&["tunnel-crypto"]);
    for row in [
        "x25519-x8-portable",
        "x25519-x1-dalek",
        "x25519-x1-aws-lc",
        "public-x8-portable",
        "seal-1200-x16-portable",
        "seal-64-x1-portable",
        "open-300-x16-portable",
        "seal-300-x1-rustcrypto",
    ] {
        assert!(rows.iter().any(|name| name == row), "{row} in {rows:?}");
    }
}

/// The rows of printed tables: their cells, joined by one blank.
fn cells(text: &str) -> Vec<String> {
    let rows = text.lines().filter(|line| line.starts_with("| "));
    let words = rows.map(|row| row.replace('|', " "));
    words
        .map(|row| row.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

/// What a program prints for people, and the pictures that it draws.
fn tables(program: &[&str]) -> (String, Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let svg = folder.path().to_str().expect("a path of text");
    let brief = ["--seconds", "0", "--rounds", "1", "--svg", svg];
    let text = bench(&[program, &brief].concat());
    let plots = std::fs::read_dir(folder.path()).expect("the folder of plots");
    let plots = plots.map(|plot| {
        let path = plot.expect("a plot").path();
        let svg = std::fs::read_to_string(&path).expect("a file of text");
        assert!(svg.starts_with("<svg") && svg.contains("<polyline"));
        path.file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned()
    });
    let mut plots: Vec<_> = plots.collect();
    plots.sort();
    (text, plots)
}

/// How many findings of a paper were judged.
fn findings(text: &str) -> usize {
    let rows = cells(text).into_iter();
    let judged = rows.filter(|row| row.contains(" reproduced ") || row.contains(" refuted "));
    judged.count()
}

#[test]
fn has_the_tables_and_figures_of_wong_and_lam() {
    let (text, plots) = tables(&["flow-paper"]);
    let figures = ["3", "4(a)", "4(b)", "5", "7", "8", "9", "10"].map(|n| format!("Figure {n}:"));
    for title in figures
        .iter()
        .map(String::as_str)
        .chain(["Table 1:", "Section 2.5:"])
    {
        assert!(
            text.lines().any(|line| line.starts_with(title)),
            "{title} in {text}"
        );
    }
    assert_eq!(findings(&text), 20, "{text}");
    assert_eq!(plots, ["flow-paper-4", "flow-paper-5"]);
}

#[test]
fn has_the_evaluation_of_effs() {
    let (text, plots) = tables(&["effs-paper"]);
    let tables = ["2", "3", "4", "5", "6(a)", "6(b)", "7(a)", "7(b)", "7(c)"].into_iter();
    let tables = tables.chain(["8(a)", "8(b)", "9(a)", "9(b)"]);
    let figures = ["7", "8", "9", "10"].map(|n| format!("Figure {n}:"));
    let titles = tables.map(|n| format!("Table {n}:")).chain(figures);
    for title in titles {
        assert!(
            text.lines().any(|line| line.starts_with(&title)),
            "{title} in {text}"
        );
    }
    assert_eq!(findings(&text), 48, "{text}");
    assert!(!text.contains("NaN"), "every row is measured: {text}");
    assert_eq!(
        plots,
        ["10", "7", "8", "9"].map(|n| format!("effs-paper-{n}"))
    );
}

#[test]
fn has_effs_beside_todays_schemes() {
    let (text, plots) = tables(&["effs"]);
    let rows = cells(&text);
    let lines = |start: &str| rows.iter().filter(|row| row.starts_with(start)).count();
    // The paths of this machine, in the tables of keys, of signing and of verifying.
    let paths = lines("eFFS-3072(256,1) ") / 3;
    assert!(paths >= 1, "{text}");
    for parameters in ["2048(128,1)", "2048(256,1)", "3072(128,1)"] {
        assert!(lines(&format!("eFFS-{parameters} ")) >= 3 * paths, "{text}");
    }
    assert!(
        lines("Ed25519, AWS-LC ") >= 4,
        "two schemes' tables, two of flows: {text}"
    );
    for scheme in ["RSA-3072 e=3 (computed)", "group signature XR (computed)"] {
        assert_eq!(lines(scheme), 2, "{scheme} in {text}");
    }
    let targets = text.lines().filter(|line| line.starts_with("target"));
    assert_eq!(targets.count(), 4, "{text}");
    assert!(!text.contains("NaN"), "every row is measured: {text}");
    assert_eq!(plots, ["effs-rates", "effs-signatures"]);
}

#[test]
fn has_the_rates_of_flows() {
    let (text, plots) = tables(&["flow-rates"]);
    let rows = cells(&text).into_iter();
    let rates = rows.filter(|row| row.starts_with("blake3 ") || row.starts_with("sha256 "));
    assert_eq!(rates.count(), 144, "{text}");
    assert_eq!(plots, ["flow-rates"]);
}

#[test]
fn has_what_loss_costs_and_the_engine_agrees() {
    let (text, plots) = tables(&["flow-loss", "--packets", "4096"]);
    for scheme in ["each", "window-64-best", "tree-64-coded-25", "saida-64-90"] {
        let rows = cells(&text).into_iter();
        let of = rows.filter(|row| row.split(' ').next() == Some(scheme));
        assert!(of.count() >= 8, "{scheme} in {text}");
    }
    assert!(
        text.contains("valid packets agrees with the model's"),
        "{text}"
    );
    assert_eq!(plots, ["flow-loss"]);
}
