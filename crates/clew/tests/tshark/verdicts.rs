//! What `clew verify -w` wrote: verdicts and reasons as fields, words, colours and advice.

use crate::files::{IPV4, Packet, begin, packets, plain, write};
use crate::folder::Folder;
use crate::reading::{judgement, speaks};
use crate::shark::{Shown, missing};
use clew::report::explain;
use clew_packet::{Reason, Replay, Verdict};
use serde_json::Value;
use std::fs;

const COLOURS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../contrib/wireshark/colorfilters"
);

/// Annotates as an analyst does, with the colours in the profile.
fn annotate(folder: &Folder, from: &str, to: &str) {
    let group = "acme/public/group.clew";
    folder.status(&["verify", "--group", group, from, "-w", to, "--force"]);
    install_colours(folder);
}

fn install_colours(folder: &Folder) {
    fs::create_dir_all(folder.path("config/wireshark")).unwrap();
    fs::copy(COLOURS, folder.path("config/wireshark/colorfilters")).unwrap();
}

fn text<'a>(said: &'a Value, member: &str) -> &'a str {
    said[member].as_str().unwrap()
}

#[test]
fn verdicts_and_reasons_are_seen_filtered_and_coloured() {
    if missing("tshark") {
        return;
    }
    let folder = Folder::new();
    write(&folder.path("mixed"), mixed(&folder).iter().map(plain));
    annotate(&folder, "mixed", "noted");
    let (status, verified, _) = folder.verify("mixed");
    let shown = folder.fields("noted");
    assert_eq!((status, shown.len()), (1, verified.len()));
    for (said, shown) in verified.iter().zip(&shown) {
        let (verdict, reason) = (text(said, "verdict"), text(said, "reason"));
        assert_eq!(judgement(shown), Some((verdict.into(), reason.into())));
        assert_eq!(shown["frame.coloring_rule.name"], colour(verdict, reason));
        let told = if reason == "ok" {
            verdict.to_owned()
        } else {
            format!("{verdict}: {reason}")
        };
        assert!(
            shown["_ws.col.Info"].ends_with(&format!("{told}]")),
            "{shown:?}"
        );
        let filter = format!("clew.verdict == \"{verdict}\" && clew.reason == \"{reason}\"");
        assert!(
            folder.filtered("noted", &filter).contains(&number(said)),
            "{filter}"
        );
    }
    let reasons = [
        "ok",
        "bad-signature",
        "duplicate",
        "no-trailer",
        "not-ip",
        "truncated",
        "stale",
        "unknown-group",
        "bad-block",
    ];
    for reason in reasons {
        assert!(
            verified.iter().any(|said| said["reason"] == reason),
            "{reason}"
        );
    }
}

fn number(said: &Value) -> usize {
    said["packet"].as_u64().unwrap() as usize
}

fn colour(verdict: &str, reason: &str) -> String {
    let but = if verdict == "valid" && reason != "ok" {
        ", but"
    } else {
        ""
    };
    format!("clew: {verdict}{but}")
}

/// Packets of every verdict, and invalid ones of several kinds.
fn mixed(folder: &Folder) -> Vec<Packet> {
    begin(folder, IPV4);
    assert_eq!(
        folder.sign(&["--mode", "window", "--from", "192.168.1.79"]),
        0
    );
    let mut all = packets(&folder.path("signed"));
    let good = all[0].clone();
    let mut late = good.clone();
    late.time_ns += 3_600_000_000_000;
    let cut = Packet {
        wire_len: good.bytes.len(),
        ..good.with(good.bytes[..100].to_vec())
    };
    let changed = |before_end: usize| {
        let mut bytes = good.bytes.clone();
        let at = bytes.len() - before_end;
        bytes[at] ^= 0xff;
        good.with(bytes)
    };
    let arp = good.with([&[0xff; 12][..], &[8, 6], &[0; 28]].concat());
    // Of the trailer's end: group, k of the window, path to the payload.
    let broken = [31, 65, good.bytes.len() - 20].map(changed);
    let of_body = changed(100);
    all.extend([good, late, cut, arp, of_body]);
    all.extend(broken);
    all
}

/// One packet for each reason, in the words that clew has for it.
#[test]
fn every_reason_has_clews_words() {
    if missing("tshark") {
        return;
    }
    let folder = Folder::new();
    begin(&folder, IPV4);
    let packet = packets(&folder.path("in")).remove(0);
    let reasons: Vec<(Reason, Verdict)> = Reason::ALL
        .into_iter()
        .map(|reason| (reason, reason.verdict(Replay::Flag)))
        .collect();
    let comment =
        |(reason, verdict): &(Reason, Verdict)| format!("clew: {verdict} reason={reason}");
    let comments: Vec<String> = reasons.iter().map(comment).collect();
    let noted = comments
        .iter()
        .map(|comment| (&packet, Some(comment.as_str())));
    write(&folder.path("noted"), noted);
    for ((reason, verdict), shown) in reasons.into_iter().zip(folder.fields("noted")) {
        let judged = (verdict.to_string(), reason.to_string());
        assert_eq!(judgement(&shown), Some(judged));
        let advice = format!("{verdict}: {}", explain(reason));
        let said = &shown["_ws.expert.message"];
        assert_eq!(said.contains(&advice), reason != Reason::Ok, "{said}");
        assert_eq!(topic(&shown), (reason != Reason::Ok).then(|| of(verdict)));
    }
}

/// Which expert gave advice.
fn topic(shown: &Shown) -> Option<&'static str> {
    let topics = [
        "clew.malformed",
        "clew.invalid",
        "clew.undecided",
        "clew.unsigned",
        "clew.remark",
    ];
    topics.into_iter().find(|topic| shown.contains_key(topic))
}

fn of(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Valid => "clew.remark",
        Verdict::Unsigned => "clew.unsigned",
        Verdict::Undecided => "clew.undecided",
        Verdict::Invalid => "clew.invalid",
    }
}

/// Who sends a capture may have commented it: the verdict is that of the run that came last, and
/// nothing makes a malformed trailer valid.
#[test]
fn comments_of_others_do_not_decide() {
    if missing("tshark") {
        return;
    }
    let folder = Folder::new();
    begin(&folder, IPV4);
    assert_eq!(folder.sign(&[]), 0);
    let mut packets = packets(&folder.path("signed"));
    packets[0].bytes[60] ^= 1;
    let (cut, last) = (packets[1].bytes.len() - 5, "looks odd");
    packets[1].bytes[cut] = 9;
    let forged = "clew: valid reason=ok group=00 epoch=0 mode=each";
    let comments = [Some(forged), Some(forged), Some(last), None];
    write(&folder.path("sent"), packets.iter().zip(comments));
    let of = |name| {
        let shown = folder.fields(name);
        let judgements = shown.iter().map(judgement);
        judgements
            .map(|of| of.map_or("none".into(), |of| of.1))
            .collect::<Vec<String>>()
    };
    assert_eq!(of("sent"), ["ok", "unknown-version", "none", "none"]);
    annotate(&folder, "sent", "noted");
    assert_eq!(
        of("noted"),
        ["bad-signature", "unknown-version", "ok", "ok"]
    );
}

#[test]
fn what_nobody_verified_says_so() {
    if missing("tshark") {
        return;
    }
    let folder = Folder::new();
    begin(&folder, IPV4);
    assert_eq!(folder.sign(&["--from", "192.168.1.79"]), 0);
    install_colours(&folder);
    let (_, verified, _) = folder.verify("signed");
    for (said, shown) in verified.iter().zip(folder.fields("signed")) {
        let signed = said["verdict"] == "valid";
        assert_eq!(speaks(&shown), signed);
        assert_eq!(judgement(&shown), None);
        let rule = shown.get("frame.coloring_rule.name").map(String::as_str);
        assert_eq!(rule, signed.then_some("clew: not verified"));
        let info = &shown["_ws.col.Info"];
        assert_eq!(info.ends_with(", not verified here]"), signed, "{info}");
    }
}
