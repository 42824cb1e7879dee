//! Annotated files after the tools of Wireshark went over them.

use crate::files::{IPV4, PACKETS, begin, packets, plain, write};
use crate::folder::Folder;
use crate::reading::judgement;
use crate::shark::missing;
use serde_json::Value;
use std::fs;

/// A signed capture with some invalid packets and some unsigned ones, annotated as `noted`.
fn noted() -> Folder {
    let folder = Folder::new();
    begin(&folder, IPV4);
    assert_eq!(folder.sign(&["--from", "192.168.1.79"]), 0);
    let mut sent = packets(&folder.path("signed"));
    for packet in sent.iter_mut().step_by(5) {
        packet.bytes[60] ^= 1;
    }
    write(&folder.path("sent"), sent.iter().map(plain));
    let verify = ["verify", "--group", "acme/public/group.clew", "sent"];
    assert_eq!(folder.status(&[&verify[..], &["-w", "noted"]].concat()), 1);
    folder
}

/// Verdict and reason by clew.
fn verdicts(folder: &Folder, name: &str) -> Vec<Option<(String, String)>> {
    let (_, verified, _) = folder.verify(name);
    let of = |said: &Value, member: &str| said[member].as_str().map(str::to_owned);
    let both = |said: &Value| of(said, "verdict").zip(of(said, "reason"));
    verified.iter().map(both).collect()
}

/// What the comments say, and how many of the records for programs are still there, whole.
fn annotations(folder: &Folder, name: &str) -> (Vec<Option<(String, String)>>, usize) {
    let shown = folder.fields(name);
    for frame in &shown {
        assert!(
            frame["frame.comment"].starts_with("clew: "),
            "{name}: {frame:?}"
        );
    }
    let file = fs::read(folder.path(name)).unwrap();
    let file = String::from_utf8_lossy(&file);
    let (_, objects, _) = folder.verify("sent");
    let count = |object: &Value| file.matches(&object.to_string()).count();
    (
        shown.iter().map(judgement).collect(),
        objects.iter().map(count).sum(),
    )
}

#[test]
fn annotated_files_survive_editcap_and_tshark() {
    if ["tshark", "editcap"].into_iter().any(missing) {
        return;
    }
    let folder = noted();
    let all = verdicts(&folder, "sent");
    let count = |reason: &str| all.iter().flatten().filter(|of| of.1 == reason).count();
    assert!(count("ok") > 3 && count("bad-signature") > 1 && count("no-trailer") > 3);
    folder.tool("editcap", &["noted", "copied"]);
    folder.tool("editcap", &["-r", "noted", "some", "3-9"]);
    folder.tool("editcap", &["-d", "noted", "distinct"]);
    folder.tool("editcap", &["-t", "3600", "noted", "later"]);
    folder.tool("tshark", &["-r", "noted", "-w", "again"]);
    for (name, kept) in [
        ("noted", 0..PACKETS),
        ("copied", 0..PACKETS),
        ("some", 2..9),
        ("distinct", 0..PACKETS),
        ("later", 0..PACKETS),
        ("again", 0..PACKETS),
    ] {
        let (said, records) = annotations(&folder, name);
        assert_eq!(
            (said, records),
            (all[kept.clone()].to_vec(), kept.len()),
            "{name}"
        );
        if name != "later" {
            assert_eq!(verdicts(&folder, name), all[kept], "{name}");
        }
    }
    // Its comments are of the old times; clew sees that the packets claim to be younger.
    assert!(
        verdicts(&folder, "later")
            .iter()
            .flatten()
            .any(|of| of.1 == "stale")
    );
}

#[test]
fn annotated_files_survive_mergecap() {
    if ["tshark", "editcap", "mergecap"].into_iter().any(missing) {
        return;
    }
    let folder = noted();
    let all = verdicts(&folder, "sent");
    folder.tool("editcap", &["-r", "noted", "begin", "1-10"]);
    folder.tool("editcap", &["-r", "noted", "end", "11-24"]);
    folder.tool("mergecap", &["-w", "merged", "end", "begin"]);
    folder.tool("mergecap", &["-a", "-w", "twice", "noted", "noted"]);
    let twice = [&all[..], &all].concat();
    assert_eq!(annotations(&folder, "merged"), (all.clone(), PACKETS));
    assert_eq!(annotations(&folder, "twice"), (twice.clone(), 2 * PACKETS));
    assert_eq!(verdicts(&folder, "merged"), all);
    let again = twice.into_iter().enumerate().map(|(i, of)| {
        let copy = i >= PACKETS;
        of.map(|(verdict, reason)| match reason.as_str() {
            "ok" if copy => (verdict, "duplicate".to_owned()),
            _ => (verdict, reason),
        })
    });
    assert_eq!(verdicts(&folder, "twice"), again.collect::<Vec<_>>());
}
