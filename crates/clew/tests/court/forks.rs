//! A manager with two histories of its group: a copy of the store, in which somebody else has the
//! name of an innocent machine.

use super::*;
use std::path::Path;

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

const FORK: &str = "fork/public/group.clew";

/// Packets of the copy's machine verify under the original group file, and its rows are the manager's:
/// but they are in no register that the original group file knows.
#[test]
fn a_copy_of_the_store_names_nobody_who_is_innocent() {
    for scheme in ["xr", "bbs04"] {
        let court = Court::new(scheme);
        copy(&court.path("acme"), &court.path("fork"));
        court.yes(&["enrol", "acme", "victim", "-o", "victim.key"]);
        court.yes(&["enrol", "fork", "victim", "-o", "forged.key"]);
        let sign = ["sign", "--key", "forged.key", "--force", CAPTURE];
        court.yes(&[&sign[..], &["-w", "signed", "--mode", "each"]].concat());
        court.yes(&["verify", "--group", GROUP, "signed"]);
        for trustee in 1..=2 {
            let to = format!("{trustee}.share");
            assert_eq!(court.share(trustee, "1", &[], &to).0, 0);
        }
        let open = |group: &str, register: &str, to: &str| {
            let of = ["open", "--group", group, "--register", register, "signed"];
            let shares = ["--share", "1.share", "--share", "2.share"];
            court.said(&[&of[..], &shares, &["--packet", "1", "-o", to]].concat())
        };
        // The original has no row for it: what that means is said.
        let (status, _, error) = open(GROUP, "acme", "no");
        assert_eq!(status, 2);
        assert!(
            error.contains("none of the 3 rows of the register signed this"),
            "{error}"
        );
        assert!(
            error.contains("the manager hides a row, or machines and trustees have"),
            "{error}"
        );
        assert!(error.contains("hint: compare epoch 0, "), "{error}");
        // Nor does the copy's directory count beside the original group file.
        let (status, _, error) = open(GROUP, "fork", "no");
        assert_eq!(status, 2);
        assert!(error.contains("another history"), "{error}");
        // With the copy's own file the manager makes evidence, which holds under that file only.
        let (status, out, error) = open(FORK, "fork", "framed");
        assert_eq!(status, 0, "{error}");
        assert!(out.starts_with("packet 1 was sent by victim\n"), "{out}");
        court.yes(&["judge", "--group", FORK, "framed", "signed"]);
        for grown in 0..3 {
            let (status, _, error) = court.judge("framed");
            assert_eq!(status, 1, "{error}");
            assert!(error.contains("(rule register)"), "{error}");
            let name = format!("more-{grown}");
            court.yes(&["enrol", "acme", &name, "-o", &format!("{name}.key")]);
            court.yes(&[
                "group",
                "register",
                "acme",
                "-o",
                &format!("register-{grown}"),
            ]);
        }
        // A register file of the copy is no better.
        court.yes(&["group", "register", "fork", "-o", "rows"]);
        let (status, _, error) = open(GROUP, "rows", "no");
        assert_ne!(status, 0);
        assert!(error.contains("(rule register)"), "{error}");
        assert!(!court.path("no").exists());
    }
}

/// The copy has another history from its first revocation on: nothing of it is about this group file.
#[test]
fn another_history_has_other_epochs() {
    let court = Court::new("xr");
    copy(&court.path("acme"), &court.path("fork"));
    court.yes(&["revoke", "acme", "web-2"]);
    court.yes(&["revoke", "fork", "web-2"]);
    court.yes(&["update", "--key", "web-1.key", "--group", FORK]);
    court.sign("web-1.key");
    let (status, _, error) = court.share(1, "1", &[], "1.share");
    assert_ne!(status, 0, "{error}");
    let short = |group: &str| {
        let out = court.yes(&["group", "show", group]);
        let id = out.lines().find(|line| line.starts_with("          id "));
        id.unwrap().to_owned()
    };
    assert_ne!(short(GROUP), short(FORK));
}

/// A trustee compares with no row of a copy either.
#[test]
fn a_match_with_a_row_of_a_copy_is_refused() {
    let court = Court::new("xr");
    copy(&court.path("acme"), &court.path("fork"));
    court.yes(&["enrol", "acme", "victim", "-o", "victim.key"]);
    court.yes(&["enrol", "fork", "victim", "-o", "forged.key"]);
    let points = ["group", "register", "fork", "--points", "-o", "points"];
    court.yes(&points);
    for (register, wanted) in [("points", "(rule register)"), ("fork", "another history")] {
        let question = ["--match", "victim", "--register", register, "--with", "1,3"];
        let (status, _, error) = court.share(1, "1", &question, "no");
        assert_eq!(status, 2);
        assert!(error.contains(wanted), "{error}");
    }
    assert!(!court.path("no").exists());
}
