//! A group ends: its keys were stolen, or it is given up. Members, verifiers and judges see it.

use crate::folder::{Folder, GROUP, copy_folder};

/// A thief with a copy of the store writes the next epoch into the log. The owner ends the thief's history
/// there, and the log takes nothing from the thief any more.
#[test]
fn the_logs_order_decides_between_owner_and_thief() {
    let folder = Folder::new();
    let (log, _witnesses) = folder.whole();
    folder.publish(&log);
    copy_folder(&folder.path("acme"), &folder.path("thief"));
    folder.yes(&["enrol", "thief", "nobody", "-o", "nobody.key"]);
    folder.yes(&["group", "rebase", "thief"]);
    folder.yes(&["log", "publish", "thief", &log.url]);
    // The owner's own end comes too late for the log.
    copy_folder(&folder.path("acme"), &folder.path("late"));
    folder.yes(&["group", "end", "late", "--confirm", "acme"]);
    let told = folder.ends(1, &["log", "publish", "late", &log.url]);
    assert!(told.contains("another history"), "{told}");
    // So the owner ends what the log has.
    let theirs = "thief/public/group.clew";
    let since = ["--stolen-since", "2026-01-01T00:00:00Z"];
    let of = ["group", "end", "acme", "--confirm", "acme", "--published"];
    let to = [theirs, "-o", "ended.clew", "--log-url", &log.url];
    folder.yes(&[&of[..], &to, &since].concat());
    // Killed in between, the same command finishes.
    folder.yes(&[&of[..], &to, &since].concat());
    folder.yes(&["group", "rebase", "thief"]);
    let told = folder.ends(1, &["log", "publish", "thief", &log.url]);
    assert!(told.contains("another history"), "{told}");
    // An auditor finds the ended file to be the log's.
    let audit = ["log", "verify", &log.url, "--group", "ended.clew"];
    folder.yes(&folder.with(&audit));
    let audit = ["log", "verify", &log.url, "--group", theirs];
    let told = folder.ends(1, &folder.with(&audit));
    assert!(told.contains("epoch 2"), "{told}");
}

/// What users see of an end, by commands.
#[test]
fn everybody_sees_an_end() {
    let folder = Folder::new();
    folder.yes(&["group", "create", "next", "--name", "next"]);
    let successor = "next/public/group.clew";
    let told = folder.ends(2, &["group", "end", "acme", "--confirm", "other"]);
    assert!(told.contains("this group is acme"), "{told}");
    let future = ["--stolen-since", "2126-01-01T00:00:00Z"];
    let end = ["group", "end", "acme", "--confirm", "acme"];
    folder.ends(2, &[&end[..], &future].concat());
    let said = folder.yes(&[&end[..], &["--successor", successor]].concat());
    let shown = folder.yes(&["group", "show", "next"]);
    // The id that `group show` always shows, also after later epochs of the new group.
    let mut lines = shown.lines();
    let id = lines
        .find_map(|line| line.strip_prefix("id        "))
        .unwrap();
    assert!(said.contains(&format!("successor {id}")), "{said}\n{shown}");
    assert!(
        folder
            .yes(&["group", "show", GROUP])
            .contains("ended     in epoch 1")
    );
    let update = ["update", "--key", "web-1.key", "--group", GROUP];
    let told = folder.ends(1, &update);
    assert!(told.contains("the group ended in epoch 1"), "{told}");
    let told = folder.ends(2, &["enrol", "acme", "web-2", "-o", "web-2.key"]);
    assert!(told.contains("this group ended"), "{told}");
    let told = folder.ends(2, &["revoke", "acme", "web-1"]);
    assert!(told.contains("this group ended"), "{told}");
}
