//! An observer's evidence files get into the log by themselves.

use crate::folder::{Folder, GROUP};
use std::fs;

/// The log is away, comes back, and is caught up; what cannot be anchored is said; proofs of files that
/// are gone are removed.
#[test]
fn evidence_is_anchored_as_it_appears() {
    let folder = Folder::new();
    let (log, witnesses) = folder.whole();
    folder.publish(&log);
    folder.author("watcher", "observer", &log);
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cmd/court.in/in.pcap");
    let captured = fs::read(capture).unwrap();
    let put = |name: &str, bytes: &[u8]| fs::write(folder.path(name), bytes).unwrap();
    put("tap-0000000001.pcapng", &captured);
    put("tap-0000000003.pcapng", &captured[..captured.len() - 3]);
    for other in [
        "tap-x.pcapng",
        "tap-1.pcapng.partial",
        "other-0000000001.pcapng",
    ] {
        put(other, &captured);
    }
    let (url, at) = (log.url.clone(), log.at());
    log.kill();
    let ring = ["log", "anchor-ring", &url, "--prefix", "tap", "--once"];
    let by = ["--group", GROUP, "--key", "watcher.key"];
    let [first, second] = &folder.witnesses;
    let ring = [&ring[..], &by, &["--witness", first, "--witness", second]].concat();
    let anchors = || {
        let names = fs::read_dir(folder.path(".")).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut anchors: Vec<_> = names.filter(|name| name.ends_with(".anchor")).collect();
        anchors.sort();
        anchors
    };
    folder.ends(2, &ring);
    assert_eq!(anchors(), [""; 0]);
    // A packet more, so that it is another file.
    put(
        "tap-0000000002.pcapng",
        &[&captured[..], &captured[24..]].concat(),
    );
    let _log = folder
        .start(&["log", "serve", "log", "--listen", &at])
        .ready();
    let told = folder.ends(1, &ring);
    assert!(told.contains("tap-0000000003.pcapng"), "{told}");
    let both = [
        "tap-0000000001.pcapng.anchor",
        "tap-0000000002.pcapng.anchor",
    ];
    assert_eq!(anchors(), both);
    let check = ["log", "verify", "--proof", both[0]];
    assert!(folder.yes(&folder.with(&check)).contains(": anchor, added"));
    // That the log only grew between the two, for somebody who keeps proofs.
    let since = |old, new, status: i32| {
        let prove = [
            "log", "prove", &url, "--since", old, "--to", new, "-o", "since",
        ];
        folder.ends(status, &folder.with(&prove))
    };
    let told = since(both[1], both[0], 1);
    assert!(told.contains("fewer than"), "{told}");
    since(both[0], both[1], 0);
    let text = fs::read_to_string(folder.path("since")).unwrap();
    let continued = clew_log::AddCheckpoint::parse(&text).unwrap();
    let size = clew_log::Checkpoint::parse(continued.checkpoint.text())
        .unwrap()
        .size;
    assert_eq!(size, continued.old_size + 1);
    // A proof that was lost is the same one again; a file that is gone leaves none.
    let entry = |name: &str| {
        let said = folder.yes(&folder.with(&["log", "verify", "--proof", name]));
        said.split(": anchor").next().unwrap().to_owned()
    };
    let before = entry(both[1]);
    fs::remove_file(folder.path(both[1])).unwrap();
    fs::remove_file(folder.path("tap-0000000001.pcapng")).unwrap();
    fs::remove_file(folder.path("tap-0000000003.pcapng")).unwrap();
    folder.yes(&ring);
    assert_eq!(anchors(), both[1..]);
    assert_eq!(entry(both[1]), before);
    drop(witnesses);
}
