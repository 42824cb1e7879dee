//! Epochs on the command line: planned ones, urgent ones, rebases, names issued again.

use super::Folder;
use super::captures::{CAPTURES, beginning};
use std::fs;
use std::path::Path;

const UPDATE: [&str; 5] = [
    "update",
    "--key",
    "web-1.key",
    "--group",
    "acme/public/group.clew",
];

/// A time that many days from now.
pub fn in_days(days: u64) -> String {
    let now = std::time::SystemTime::now();
    let now = now.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    clew::clock::rfc3339((now + days * 24 * 3600) * 1_000_000_000)
}

#[test]
fn a_planned_epoch_is_announced_and_brought_forward() {
    let folder = Folder::new();
    for name in ["leaves", "stolen"] {
        folder.yes(&["enrol", "acme", name, "-o", &format!("{name}.key")]);
    }
    folder.yes(&["revoke", "acme", "leaves", "--at", &in_days(7)]);
    let told = folder.yes(&UPDATE);
    assert!(
        told.contains("epoch 0, in force") && told.contains("epoch 1, from"),
        "{told}"
    );
    let shown = folder.yes(&["group", "show", "acme/public/group.clew"]);
    assert!(
        shown.contains("epoch     0\n") && shown.contains("announced 1 from"),
        "{shown}"
    );
    assert!(
        shown.contains("3 enrolled, 0 revoked, 1 more announced"),
        "{shown}"
    );
    let list = folder.yes(&["group", "list", "acme"]);
    assert!(
        list.contains(" announced 1 ") && list.contains("\nepoch 1 is announced from "),
        "{list}"
    );
    let told = folder.yes(&["revoke", "acme", "stolen"]);
    assert!(
        told.contains("Epoch 1, planned for later, starts at the same time."),
        "{told}"
    );
    let told = folder.yes(&UPDATE);
    assert!(
        told.contains("epoch 2, in force") && !told.contains("epoch 0"),
        "{told}"
    );
    let again = folder.yes(&UPDATE);
    assert!(again.starts_with("web-1 is up to date\n"), "{again}");
    let list = folder.yes(&["group", "list", "acme/public/group.clew"]);
    assert!(
        list.lines().count() == 4 && list.contains("1 revoked"),
        "{list}"
    );
}

/// A verifier, a trustee or a judge whose group file ends before the packet's epoch is told so.
#[test]
fn an_old_group_file_is_to_be_replaced() {
    let folder = Folder::new();
    let old = fs::read(folder.path("acme/public/group.clew")).unwrap();
    fs::write(folder.path("old.clew"), old).unwrap();
    folder.yes(&["enrol", "acme", "leaves", "-o", "leaves.key"]);
    folder.yes(&["revoke", "acme", "leaves"]);
    folder.yes(&UPDATE);
    let capture = Path::new(CAPTURES).join("zeek--ssh-ssh.pcap");
    beginning(&capture, &folder.path("in"));
    assert_eq!(folder.sign(&[]), 0);
    let verify = ["verify", "--group", "old.clew", "signed", "--max-age", "1h"];
    let told = folder.clew(&verify);
    assert_eq!(told.status.code(), Some(1));
    let told = String::from_utf8(told.stdout).unwrap();
    assert!(
        told.ends_with(" some of unknown epochs: get the newest group file\n"),
        "{told}"
    );
    let (status, said) = folder.no(&[
        "extract", "--group", "old.clew", "signed", "--packet", "1", "-w", "one",
    ]);
    assert!(
        status == 2 && said.ends_with("\nhint: get the newest group file\n"),
        "{said}"
    );
}

/// A name that no machine has is named first, whoever else was revoked before.
#[test]
fn a_wrong_name_among_those_to_revoke_is_named() {
    let folder = Folder::new();
    folder.yes(&["revoke", "acme", "web-1"]);
    let (status, said) = folder.no(&["revoke", "acme", "web-1", "web-9"]);
    assert!(
        status == 2 && said == "clew: machine web-9 is not enrolled\n",
        "{said}"
    );
}

#[test]
fn a_damaged_store_is_not_called_another_folder() {
    let folder = Folder::new();
    let database = folder.path("acme/issuer/store.db");
    let whole = fs::read(&database).unwrap();
    for damaged in [&[][..], &whole[..2000], b"another program's"] {
        fs::write(&database, damaged).unwrap();
        let (status, said) = folder.no(&["group", "list", "acme"]);
        let expected = "clew: acme/issuer/store.db: this database is damaged or of another \
            program\nhint: run clew manager check DIR, then clew manager restore with the newest backup\n";
        assert!(status == 2 && said == expected, "{said}");
    }
    let (_, said) = folder.no(&["enrol", "elsewhere", "web-2", "-o", "x"]);
    assert!(
        said.contains("elsewhere: not a group's directory"),
        "{said}"
    );
}

#[test]
fn times_that_cannot_be_meant_are_refused() {
    let folder = Folder::new();
    let refused = |more: &[&str], reason: &str| {
        let (status, said) = folder.no(&[&["revoke", "acme", "web-1"], more].concat());
        assert!(status == 2 && said.contains(reason), "{more:?}: {said}");
    };
    refused(
        &["--at", "2001-01-01T00:00:00Z"],
        "an epoch cannot start in the past",
    );
    refused(&["--at", &in_days(40)], "use --far to confirm");
    refused(&["--at", "tomorrow"], "tomorrow: not a time");
    folder.yes(&["revoke", "acme", "web-1", "--at", &in_days(40), "--far"]);
}

#[test]
fn a_rebase_asks_for_its_witnesses() {
    let folder = Folder::new();
    folder.yes(&["enrol", "acme", "web-2", "-o", "web-2.key"]);
    let told = folder.yes(&["revoke", "acme", "web-2", "--rebase"]);
    assert!(told.contains("acme/public/witnesses"), "{told}");
    let before = fs::read(folder.path("web-1.key")).unwrap();
    let (status, said) = folder.no(&UPDATE);
    assert!(status == 2 && said.contains("witnesses/1/0"), "{said}");
    let with = |witness| [&UPDATE[..], &["--witness", witness]].concat();
    for (wrong, reason) in [
        ("acme/public", "hint: use --witness acme/public/witnesses\n"),
        ("acme", "acme: does not have witnesses of epoch 1\n"),
        ("acme/public/group.clew", "not a witness file"),
        ("nowhere", "nowhere: "),
    ] {
        let (status, said) = folder.no(&with(wrong));
        assert!(status == 2 && said.contains(reason), "{wrong}: {said}");
    }
    assert_eq!(fs::read(folder.path("web-1.key")).unwrap(), before);
    folder.yes(&with("acme/public/witnesses"));
    folder.yes(&["group", "rebase", "acme"]);
    folder.yes(&with("acme/public/witnesses/2/0"));
    let told = folder.yes(&UPDATE);
    assert!(told.starts_with("web-1 is up to date\n"), "{told}");
}

/// Two rebases, one of them announced, take two buckets, or one credential.
#[test]
fn several_witnesses_are_given_and_given_again() {
    let folder = Folder::new();
    let again = |to| folder.yes(&["group", "witness", "acme", "web-1", "-o", to]);
    again("old");
    folder.yes(&["group", "rebase", "acme"]);
    folder.yes(&["group", "rebase", "acme", "--at", &in_days(7)]);
    let key = fs::read(folder.path("web-1.key")).unwrap();
    let with = |witnesses: &[&'static str]| {
        let given = witnesses.iter().flat_map(|file| ["--witness", file]);
        UPDATE.into_iter().chain(given).collect::<Vec<_>>()
    };
    let (one, two) = ("acme/public/witnesses/1/0", "acme/public/witnesses/2/0");
    let (status, said) = folder.no(&with(&["old", one]));
    let expected = format!(
        "clew: old: need a witness that leads to epoch 2, have those of epochs 0 to 0; {one}: is \
         for epoch 1\nhint: get witnesses/2/0 "
    );
    assert!(status == 2 && said.starts_with(&expected), "{said}");
    assert!(
        said.contains("clew group witness DIR web-1 -o FILE"),
        "{said}"
    );
    let told = folder.yes(&with(&[one, two]));
    assert!(
        told.contains("epoch 1, in force") && told.contains("epoch 2, from"),
        "{told}"
    );
    let updated = fs::read(folder.path("web-1.key")).unwrap();
    fs::write(folder.path("web-1.key"), key).unwrap();
    let told = again("new");
    assert!(
        told.starts_with("witnesses of web-1, row 0, of epochs 1, 2: new\n"),
        "{told}"
    );
    folder.yes(&with(&["old", "new"]));
    assert_eq!(fs::read(folder.path("web-1.key")).unwrap(), updated);
}

#[test]
fn a_name_is_issued_again_and_the_list_shows_it() {
    let folder = Folder::new();
    let enrol = ["enrol", "acme", "web-1", "-o", "web-1.new.key"];
    let (status, said) = folder.no(&enrol);
    assert!(
        status == 2 && said.contains("clew revoke DIR web-1"),
        "{said}"
    );
    folder.yes(&["revoke", "acme", "web-1"]);
    folder.yes(&enrol);
    let list = folder.yes(&["group", "list", "acme"]);
    let rows: Vec<&str> = list.lines().skip(1).collect();
    assert!(
        rows[0].contains("in epoch 1") && rows[1].contains("row 0"),
        "{list}"
    );
}
