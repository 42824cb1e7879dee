//! Annotated files after the tools of Wireshark went over them.

use crate::desk::Desk;
use crate::files::{IPV4, PACKETS, begin, packets, plain, write};
use crate::reading::judgement;
use crate::shark::missing;
use serde_json::Value;
use std::fs;

/// A signed capture with some invalid packets and some unsigned ones, annotated as `noted`.
fn noted() -> Desk {
    let desk = Desk::new();
    begin(&desk, IPV4);
    assert_eq!(desk.sign(&["--from", "192.168.1.79"]), 0);
    let mut sent = packets(&desk.path("signed"));
    for packet in sent.iter_mut().step_by(5) {
        packet.bytes[60] ^= 1;
    }
    write(&desk.path("sent"), sent.iter().map(plain));
    let verify = ["verify", "--group", "acme/public/group.clew", "sent"];
    assert_eq!(desk.status(&[&verify[..], &["-w", "noted"]].concat()), 1);
    desk
}

/// Verdict and reason by clew.
fn verdicts(desk: &Desk, name: &str) -> Vec<Option<(String, String)>> {
    let (_, verified, _) = desk.verify(name);
    let of = |said: &Value, member: &str| said[member].as_str().map(str::to_owned);
    let both = |said: &Value| of(said, "verdict").zip(of(said, "reason"));
    verified.iter().map(both).collect()
}

/// What the comments say, and how many of the records for programs are still there, whole.
fn annotations(desk: &Desk, name: &str) -> (Vec<Option<(String, String)>>, usize) {
    let shown = desk.fields(name);
    for frame in &shown {
        assert!(
            frame["frame.comment"].starts_with("clew: "),
            "{name}: {frame:?}"
        );
    }
    let file = fs::read(desk.path(name)).unwrap();
    let file = String::from_utf8_lossy(&file);
    let (_, objects, _) = desk.verify("sent");
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
    let desk = noted();
    let all = verdicts(&desk, "sent");
    let count = |reason: &str| all.iter().flatten().filter(|of| of.1 == reason).count();
    assert!(count("ok") > 3 && count("bad-signature") > 1 && count("no-trailer") > 3);
    desk.tool("editcap", &["noted", "copied"]);
    desk.tool("editcap", &["-r", "noted", "some", "3-9"]);
    desk.tool("editcap", &["-d", "noted", "distinct"]);
    desk.tool("editcap", &["-t", "3600", "noted", "later"]);
    desk.tool("tshark", &["-r", "noted", "-w", "again"]);
    for (name, kept) in [
        ("noted", 0..PACKETS),
        ("copied", 0..PACKETS),
        ("some", 2..9),
        ("distinct", 0..PACKETS),
        ("later", 0..PACKETS),
        ("again", 0..PACKETS),
    ] {
        let (said, records) = annotations(&desk, name);
        assert_eq!(
            (said, records),
            (all[kept.clone()].to_vec(), kept.len()),
            "{name}"
        );
        if name != "later" {
            assert_eq!(verdicts(&desk, name), all[kept], "{name}");
        }
    }
    // Its comments are of the old times; clew sees that the packets claim to be younger.
    assert!(
        verdicts(&desk, "later")
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
    let desk = noted();
    let all = verdicts(&desk, "sent");
    desk.tool("editcap", &["-r", "noted", "begin", "1-10"]);
    desk.tool("editcap", &["-r", "noted", "end", "11-24"]);
    desk.tool("mergecap", &["-w", "merged", "end", "begin"]);
    desk.tool("mergecap", &["-a", "-w", "twice", "noted", "noted"]);
    let twice = [&all[..], &all].concat();
    assert_eq!(annotations(&desk, "merged"), (all.clone(), PACKETS));
    assert_eq!(annotations(&desk, "twice"), (twice.clone(), 2 * PACKETS));
    assert_eq!(verdicts(&desk, "merged"), all);
    let again = twice.into_iter().enumerate().map(|(i, of)| {
        let copy = i >= PACKETS;
        of.map(|(verdict, reason)| match reason.as_str() {
            "ok" if copy => (verdict, "duplicate".to_owned()),
            _ => (verdict, reason),
        })
    });
    assert_eq!(verdicts(&desk, "twice"), again.collect::<Vec<_>>());
}
