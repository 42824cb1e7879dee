//! Group files that change while an observer runs.

use crate::folder::{self, Folder, PATIENCE, verdicts};
use crate::skipped::{NAMESPACES, skipped};
use crate::wire::Wire;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

fn metrics(wire: &Wire, said: &[String]) -> String {
    wire.observed_side(|| folder::metrics(said))
}

#[test]
fn a_newer_group_file_counts_and_others_are_refused() {
    let Some(wire) = Wire::new() else {
        return skipped(NAMESPACES);
    };
    let folder = Folder::new();
    folder.yes("enrol acme web-2 -o web-2.key");
    folder.yes("enrol acme web-3 -o web-3.key");
    let public = folder.path("acme/public/group.clew");
    fs::copy(&public, folder.path("known.clew")).unwrap();
    // Another history of the same group.
    let copied = std::process::Command::new("cp")
        .args(["-r", "acme", "fork"])
        .current_dir(folder.0.path())
        .status();
    assert!(copied.unwrap().success());
    folder.yes("revoke fork web-3");
    folder.yes("revoke acme web-2");
    folder.yes("update --key web-1.key --group acme/public/group.clew");
    let frames = folder.signed("signed", 12, "");

    let options = "--group known.clew --count 48 --metrics 127.0.0.1:0";
    let mut observer = folder.observe(&wire, options);
    wire.send(&frames);
    let ends = Instant::now() + PATIENCE;
    while !metrics(&wire, &observer.said).contains("reason=\"unknown-epoch\"} 12\n") {
        assert!(Instant::now() < ends, "{:?}", observer.said);
        thread::sleep(Duration::from_millis(20));
    }
    let replace = |from: &str| {
        fs::copy(folder.path(from), folder.path("new")).unwrap();
        fs::rename(folder.path("new"), folder.path("known.clew")).unwrap();
    };
    replace("acme/public/group.clew");
    observer.wait_for("known.clew: read again, newest epoch 1");
    wire.send(&frames);

    replace("web-1.key");
    observer.wait_for("what was read before counts");
    replace("fork/public/group.clew");
    observer.wait_for("someone shows two histories of the group");
    wire.send(&frames);
    let text = metrics(&wire, &observer.said);
    for line in [
        "clew_observer_group_files_total{cause=\"taken\"} 1\n",
        "clew_observer_group_files_total{cause=\"refused\"} 2\n",
        "clew_observer_interface_up 1\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
    replace("acme/public/group.clew");
    wire.send(&frames);
    let (status, text) = observer.end();
    let reasons: Vec<String> = verdicts(&text)
        .into_iter()
        .map(|(_, reason)| reason)
        .collect();
    assert!(reasons[..12].iter().all(|reason| reason == "unknown-epoch"));
    assert!(
        reasons[12..24].iter().all(|reason| reason == "ok"),
        "{reasons:?}"
    );
    assert!(
        reasons[24..].iter().all(|reason| reason == "duplicate"),
        "{reasons:?}"
    );
    assert_eq!(status, 1);
    assert_eq!(observer.times("what was read before counts"), 2);
}
