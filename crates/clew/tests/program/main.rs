//! The program as a whole, on real captures: what is signed is valid, what is changed is found, what
//! is stripped is the original, and nothing is lost when something goes wrong.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

#[path = "../common/skipped.rs"]
mod skipped;

mod attacks;
mod beginning;
mod captures;
mod coded;
mod community_id;
mod epochs;
mod folder;
mod forgery;
mod join;
mod linkability;
mod log;
mod manager;
mod modes;
mod package;
mod plot;
mod records;
mod sealing;
mod trustees;

use captures::{CAPTURES, beginning, without_snaplen};
use folder::Folder;
use serde_json::Value;
use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;

#[test]
fn all_policies_verify_and_strip() {
    let folder = Folder::new();
    beginning(
        &Path::new(CAPTURES).join("arkime--v6.pcap"),
        &folder.path("in"),
    );
    for policy in [
        &["--nat"][..],
        &["--tolerant"],
        &["--incremental"],
        &["--nat", "--tolerant", "--incremental"],
        &["--mtu", "1280"],
    ] {
        assert_eq!(folder.sign(policy), 0, "{policy:?}");
        let (status, _, summary) = folder.verify("signed");
        assert_eq!(status, 0, "{policy:?}: {summary}");
        folder.yes(&["strip", "signed", "-w", "restored", "--force"]);
        let read = |name| without_snaplen(fs::read(folder.path(name)).unwrap());
        assert!(read("in") == read("restored"), "{policy:?}");
    }
    assert_eq!(folder.sign(&["--mtu", "500", "--oversize", "refuse"]), 2);
}

#[test]
fn runs_after_each_other_are_undone_one_by_one() {
    let folder = Folder::new();
    folder.yes(&["enrol", "acme", "web-2", "-o", "web-2.key"]);
    beginning(
        &Path::new(CAPTURES).join("zeek--ssh-ssh.pcap"),
        &folder.path("in"),
    );
    assert_eq!(folder.sign(&["--from", "192.168.1.79"]), 0);
    folder.yes(&["sign", "--key", "web-2.key", "signed", "-w", "twice"]);
    folder.yes(&[
        "sign",
        "--key",
        "web-2.key",
        "--from",
        "10.0.0.99",
        "twice",
        "-w",
        "thrice",
    ]);
    let (status, _, summary) = folder.verify("thrice");
    assert_eq!((status, &summary["unsigned"]), (0, &Value::from(0)));
    for (from, to, same) in [
        ("thrice", "b", "twice"),
        ("b", "a", "signed"),
        ("a", "o", "in"),
    ] {
        folder.yes(&["strip", from, "-w", to]);
        let equal = fs::read(folder.path(to)).unwrap() == fs::read(folder.path(same)).unwrap();
        assert!(equal, "strip of {from} is not {same}");
    }
}

#[test]
fn a_damaged_capture_is_signed_as_far_as_it_goes() {
    let folder = Folder::new();
    beginning(
        &Path::new(CAPTURES).join("tcpdump--quic_handshake.pcap"),
        &folder.path("in"),
    );
    let whole = fs::read(folder.path("in")).unwrap();
    fs::write(folder.path("in"), &whole[..whole.len() - 10]).unwrap();
    assert_eq!(folder.sign(&[]), 2);
    let (status, packets, summary) = folder.verify("signed");
    assert_eq!((status, packets.len()), (2, 17));
    assert_eq!(summary["valid"], 17);
    assert!(summary["damage"].is_string());
    assert_eq!(folder.status(&["strip", "signed", "-w", "restored"]), 2);
    assert!(fs::read(folder.path("in")).unwrap() == fs::read(folder.path("restored")).unwrap());
}

#[test]
fn the_demo_plays_on_any_capture_and_overwrites_only_itself() {
    let folder = Folder::new();
    for (name, force) in [
        ("zeek--linux_dlt_sll2.pcap", false),
        ("zeek--ldap-gap-data-missing.pcapng", true),
    ] {
        let capture = Path::new(CAPTURES).join(name);
        let demo = ["demo", capture.to_str().unwrap(), "-o", "stage"];
        let told = folder.yes(&[&demo[..], if force { &["--force"] } else { &[] }].concat());
        assert!(told.ends_with(" passed, 0 failed\n"), "{told}");
        assert_eq!(folder.status(&demo), 2, "a second demo needs --force");
    }
    fs::create_dir(folder.path("mine")).unwrap();
    fs::write(folder.path("mine/file"), "precious").unwrap();
    assert_eq!(folder.status(&["demo", "-o", "mine", "--force"]), 2);
    assert_eq!(fs::read(folder.path("mine/file")).unwrap(), b"precious");
}

#[test]
fn pipes_work_on_both_ends() {
    let folder = Folder::new();
    beginning(
        &Path::new(CAPTURES).join("tcpdump--quic_handshake.pcap"),
        &folder.path("in"),
    );
    let sign = folder
        .command(&["sign", "--key", "web-1.key", "-", "-w", "-"])
        .stdin(File::open(folder.path("in")).unwrap())
        .stderr(Stdio::null())
        .output()
        .unwrap();
    assert!(sign.status.success());
    fs::write(folder.path("signed"), sign.stdout).unwrap();
    assert_eq!(folder.verify("signed").0, 0);
}

#[test]
fn a_full_disk_leaves_nothing_behind() {
    let folder = Folder::new();
    beginning(
        &Path::new(CAPTURES).join("tcpdump--quic_handshake.pcap"),
        &folder.path("in"),
    );
    let sign = folder.clew(&["sign", "--key", "web-1.key", "in", "-w", "/dev/full"]);
    assert_eq!(sign.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&sign.stderr).contains("No space left"));
    let before = fs::read_dir(folder.0.path()).unwrap().count();
    assert_eq!(before, 3, "the group, the key, the capture");
}

/// An answer that nobody got is no answer: not a yes, and not a crash.
#[test]
fn answers_that_cannot_be_printed_end_with_2() {
    let folder = Folder::new();
    let group = ["group", "show", "acme/public/group.clew"];
    for arguments in [&group[..], &["completions", "bash"], &["help", "judge"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = folder.command(arguments).stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    }
}

#[test]
fn registers_replace_registers_only() {
    let folder = Folder::new();
    let register = ["group", "register", "acme", "--force", "-o"];
    let key = fs::read(folder.path("web-1.key")).unwrap();
    let refused = folder.no(&[&register[..], &["web-1.key"]].concat());
    assert_eq!(refused.0, 2);
    assert!(refused.1.contains("not a register file"), "{}", refused.1);
    assert_eq!(fs::read(folder.path("web-1.key")).unwrap(), key);
    folder.yes(&[&register[..], &["rows"]].concat());
    folder.yes(&[&register[..], &["rows"]].concat());
}

#[test]
fn what_is_no_capture_is_said_to_be_none() {
    let folder = Folder::new();
    let cases: [(&[u8], &str); 4] = [
        (b"", "empty"),
        (b"hello, world", "neither pcap nor pcapng"),
        (b"\x1f\x8b\x08\0\0\0\0\0", "gunzip -c"),
        (b"\x28\xb5\x2f\xfd\0\0\0\0", "zstd"),
    ];
    for (bytes, said) in cases {
        fs::write(folder.path("in"), bytes).unwrap();
        let output = folder.clew(&["verify", "--group", "acme/public/group.clew", "in"]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(said), "{message}");
    }
}

#[test]
fn a_revoked_machine_signs_in_vain() {
    let folder = Folder::new();
    folder.yes(&["enrol", "acme", "web-2", "-o", "web-2.key"]);
    beginning(
        &Path::new(CAPTURES).join("tcpdump--quic_handshake.pcap"),
        &folder.path("in"),
    );
    folder.yes(&["revoke", "acme", "web-1"]);
    assert_eq!(
        folder.sign(&["--time", "now"]),
        0,
        "the thief has the key and the witness of the epoch before"
    );
    let live = ["--max-age", "5m", "--grace", "0s"];
    let (status, packets, _) = folder.verify_with("signed", &live);
    assert_eq!(status, 1);
    assert!(packets.iter().all(|p| p["reason"] == "epoch-over"));

    let update = |key| ["update", "--key", key, "--group", "acme/public/group.clew"];
    assert_eq!(folder.status(&update("web-1.key")), 1);
    folder.yes(&update("web-2.key"));
    let sign = ["sign", "--key", "web-2.key", "in", "-w", "signed-2"];
    folder.yes(&[&sign[..], &["--time", "now"]].concat());
    let (status, packets, _) = folder.verify_with("signed-2", &live);
    assert_eq!((status, &packets[0]["epoch"]), (0, &Value::from(1)));
    for trustee in ["1", "3"] {
        let (key, to) = (
            format!("acme/trustees/{trustee}.key"),
            format!("{trustee}.share"),
        );
        let of = [
            "share",
            "--trustee",
            &key,
            "--group",
            "acme/public/group.clew",
        ];
        folder.yes(&[&of[..], &["signed-2", "--packet", "1", "-o", &to]].concat());
    }
    let of = [
        "open",
        "--group",
        "acme/public/group.clew",
        "--register",
        "acme",
    ];
    let shares = ["--share", "1.share", "--share", "3.share", "-o", "opening"];
    let opened = folder.yes(&[&of[..], &shares, &["signed-2", "--packet", "1"]].concat());
    assert!(
        opened.starts_with("packet 1 was sent by web-2\n"),
        "{opened}"
    );
}

/// Comments and custom options as `pcap-file` reads them.
#[test]
fn annotated_captures_say_each_verdict() {
    use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
    use pcap_file::pcapng::{Block, PcapNgReader};
    let folder = Folder::new();
    for name in [
        "tcpdump--quic_handshake.pcap",
        "zeek--ldap-gap-data-missing.pcapng",
    ] {
        beginning(&Path::new(CAPTURES).join(name), &folder.path("in"));
        assert_eq!(folder.sign(&[]), 0);
        let group = "acme/public/group.clew";
        folder.yes(&[
            "verify",
            "--group",
            group,
            "signed",
            "-w",
            "annotated",
            "--force",
        ]);
        let mut reader = PcapNgReader::new(File::open(folder.path("annotated")).unwrap()).unwrap();
        let mut packets = 0;
        while let Some(block) = reader.next_block() {
            let Block::EnhancedPacket(packet) = block.unwrap() else {
                continue;
            };
            packets += 1;
            assert!(packet.options.iter().any(|option| matches!(
                option,
                EnhancedPacketOption::Comment(c) if c.starts_with("clew: valid reason=ok group=")
            )));
        }
        assert_eq!(packets, 18, "{name}");
    }
}

/// A stream cannot be corrected afterwards: the file is measured first.
#[test]
fn a_capture_that_is_signed_into_a_pipe_is_stripped_to_the_original() {
    let folder = Folder::new();
    beginning(
        &Path::new(CAPTURES).join("zeek--ssh-ssh.pcap"),
        &folder.path("in"),
    );
    let mut original = fs::read(folder.path("in")).unwrap();
    for (snaplen, is_kept) in [(65_535_u32, true), (100, false)] {
        original[16..20].copy_from_slice(&snaplen.to_le_bytes());
        fs::write(folder.path("in"), &original).unwrap();
        let signed = folder.clew(&["sign", "--key", "web-1.key", "in", "-o", "-"]);
        fs::write(folder.path("signed"), signed.stdout).unwrap();
        folder.yes(&["strip", "signed", "-o", "restored", "--force"]);
        let restored = fs::read(folder.path("restored")).unwrap();
        assert_eq!(restored == original, is_kept);
        assert!(without_snaplen(restored) == without_snaplen(original.clone()));
        let said = String::from_utf8_lossy(&signed.stderr);
        assert_eq!(!said.contains("snap length must rise"), is_kept, "{said}");
    }
}
