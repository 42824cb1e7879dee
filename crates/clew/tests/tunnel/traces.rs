//! `--qlog`.

use crate::folder::Folder;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// The names of all events in a trace.
fn events(folder: &Folder, name: &str) -> Vec<String> {
    let text = fs::read_to_string(folder.path(name)).unwrap();
    let records = text.lines().map(|line| {
        let json = line.strip_prefix('\u{1e}').unwrap();
        serde_json::from_str::<Value>(json).unwrap()
    });
    let names = records.skip(1).map(|event| {
        let name = event["name"].as_str().unwrap();
        name.to_owned()
    });
    names.collect()
}

#[test]
fn both_sides_write_what_happens() {
    let folder = Folder::new();
    let one =
        "--service echo=echo --anonymous --cores 1 --offload-handshakes 1 --qlog server.sqlog";
    let mut server = folder.serve(one);
    assert_eq!(folder.says("--qlog client.sqlog echo").0, 0);
    assert_eq!(server.stop().0, 0);
    for name in ["client.sqlog", "server.sqlog"] {
        let events = events(&folder, name);
        for event in ["packet_sent", "packet_received"] {
            let event = format!("tunnel:{event}");
            assert!(events.contains(&event), "{name}: {events:?}");
        }
        let mode = fs::metadata(folder.path(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    // Older traces stay, and a supervisor may start the same command again.
    let before = fs::read(folder.path("client.sqlog")).unwrap();
    let mut server = folder.serve(one);
    assert_eq!(folder.says("--qlog client.sqlog echo").0, 0);
    assert_eq!(server.stop().0, 0);
    assert_eq!(fs::read(folder.path("client.sqlog")).unwrap(), before);
    for name in ["client.2.sqlog", "server.2.sqlog"] {
        assert!(!events(&folder, name).is_empty(), "{name}");
    }
}

#[test]
fn each_core_has_a_trace_of_its_own() {
    let folder = Folder::new();
    let three = "--service echo=echo --anonymous --cores 3 --qlog server.sqlog";
    let mut server = folder.serve(three);
    for _ in 0..8 {
        assert_eq!(folder.says("echo").0, 0);
    }
    assert_eq!(server.stop().0, 0);
    let all = (1..=3).flat_map(|core| events(&folder, &format!("server-{core}.sqlog")));
    let received = all.filter(|event| event == "tunnel:packet_received");
    assert!(received.count() >= 8);
    assert!(!folder.path("server.sqlog").exists());
}
