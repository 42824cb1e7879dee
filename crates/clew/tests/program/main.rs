//! The program as a whole, on real captures: what is signed is valid, what is changed is found, what
//! is stripped is the original, and nothing is lost when something goes wrong.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod attacks;
mod beginning;
mod captures;
mod coded;
mod community_id;
mod desk;
mod epochs;
mod forgery;
mod join;
mod linkability;
mod log;
mod modes;
mod plot;
mod records;
mod trustees;

use captures::{CAPTURES, beginning, without_snaplen};
use desk::Desk;
use serde_json::Value;
use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;

#[test]
fn all_policies_verify_and_strip() {
    let desk = Desk::new();
    beginning(
        &Path::new(CAPTURES).join("arkime--v6.pcap"),
        &desk.path("in"),
    );
    for policy in [
        &["--nat"][..],
        &["--tolerant"],
        &["--incremental"],
        &["--nat", "--tolerant", "--incremental"],
        &["--mtu", "1280"],
    ] {
        assert_eq!(desk.sign(policy), 0, "{policy:?}");
        let (status, _, summary) = desk.verify("signed");
        assert_eq!(status, 0, "{policy:?}: {summary}");
        desk.yes(&["strip", "signed", "-w", "restored", "--force"]);
        let read = |name| without_snaplen(fs::read(desk.path(name)).unwrap());
        assert!(read("in") == read("restored"), "{policy:?}");
    }
    assert_eq!(desk.sign(&["--mtu", "500", "--oversize", "refuse"]), 2);
}

#[test]
fn runs_after_each_other_are_undone_one_by_one() {
    let desk = Desk::new();
    desk.yes(&["enrol", "acme", "web-2", "-o", "web-2.key"]);
    beginning(
        &Path::new(CAPTURES).join("zeek--ssh-ssh.pcap"),
        &desk.path("in"),
    );
    assert_eq!(desk.sign(&["--from", "192.168.1.79"]), 0);
    desk.yes(&["sign", "--key", "web-2.key", "signed", "-w", "twice"]);
    desk.yes(&[
        "sign",
        "--key",
        "web-2.key",
        "--from",
        "10.0.0.99",
        "twice",
        "-w",
        "thrice",
    ]);
    let (status, _, summary) = desk.verify("thrice");
    assert_eq!((status, &summary["unsigned"]), (0, &Value::from(0)));
    for (from, to, same) in [
        ("thrice", "b", "twice"),
        ("b", "a", "signed"),
        ("a", "o", "in"),
    ] {
        desk.yes(&["strip", from, "-w", to]);
        let equal = fs::read(desk.path(to)).unwrap() == fs::read(desk.path(same)).unwrap();
        assert!(equal, "strip of {from} is not {same}");
    }
}

#[test]
fn a_damaged_capture_is_signed_as_far_as_it_goes() {
    let desk = Desk::new();
    beginning(
        &Path::new(CAPTURES).join("tcpdump--quic_handshake.pcap"),
        &desk.path("in"),
    );
    let whole = fs::read(desk.path("in")).unwrap();
    fs::write(desk.path("in"), &whole[..whole.len() - 10]).unwrap();
    assert_eq!(desk.sign(&[]), 2);
    let (status, packets, summary) = desk.verify("signed");
    assert_eq!((status, packets.len()), (2, 17));
    assert_eq!(summary["valid"], 17);
    assert!(summary["damage"].is_string());
    assert_eq!(desk.status(&["strip", "signed", "-w", "restored"]), 2);
    assert!(fs::read(desk.path("in")).unwrap() == fs::read(desk.path("restored")).unwrap());
}

#[test]
fn the_demo_plays_on_any_capture_and_overwrites_only_itself() {
    let desk = Desk::new();
    for (name, force) in [
        ("zeek--linux_dlt_sll2.pcap", false),
        ("zeek--ldap-gap-data-missing.pcapng", true),
    ] {
        let capture = Path::new(CAPTURES).join(name);
        let demo = ["demo", capture.to_str().unwrap(), "-o", "stage"];
        let told = desk.yes(&[&demo[..], if force { &["--force"] } else { &[] }].concat());
        assert!(told.ends_with(" passed, 0 failed\n"), "{told}");
        assert_eq!(desk.status(&demo), 2, "a second demo needs --force");
    }
    fs::create_dir(desk.path("mine")).unwrap();
    fs::write(desk.path("mine/file"), "precious").unwrap();
    assert_eq!(desk.status(&["demo", "-o", "mine", "--force"]), 2);
    assert_eq!(fs::read(desk.path("mine/file")).unwrap(), b"precious");
}

#[test]
fn pipes_work_on_both_ends() {
    let desk = Desk::new();
    beginning(
        &Path::new(CAPTURES).join("tcpdump--quic_handshake.pcap"),
        &desk.path("in"),
    );
    let sign = desk
        .command(&["sign", "--key", "web-1.key", "-", "-w", "-"])
        .stdin(File::open(desk.path("in")).unwrap())
        .stderr(Stdio::null())
        .output()
        .unwrap();
    assert!(sign.status.success());
    fs::write(desk.path("signed"), sign.stdout).unwrap();
    assert_eq!(desk.verify("signed").0, 0);
}

#[test]
fn a_full_disk_leaves_nothing_behind() {
    let desk = Desk::new();
    beginning(
        &Path::new(CAPTURES).join("tcpdump--quic_handshake.pcap"),
        &desk.path("in"),
    );
    let sign = desk.clew(&["sign", "--key", "web-1.key", "in", "-w", "/dev/full"]);
    assert_eq!(sign.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&sign.stderr).contains("No space left"));
    let before = fs::read_dir(desk.0.path()).unwrap().count();
    assert_eq!(before, 3, "the group, the key, the capture");
}

/// An answer that nobody got is no answer: not a yes, and not a crash.
#[test]
fn answers_that_cannot_be_printed_end_with_2() {
    let desk = Desk::new();
    let group = ["group", "show", "acme/public/group.clew"];
    for arguments in [&group[..], &["completions", "bash"], &["help", "judge"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = desk.command(arguments).stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    }
}

#[test]
fn registers_replace_registers_only() {
    let desk = Desk::new();
    let register = ["group", "register", "acme", "--force", "-o"];
    let key = fs::read(desk.path("web-1.key")).unwrap();
    let refused = desk.no(&[&register[..], &["web-1.key"]].concat());
    assert_eq!(refused.0, 2);
    assert!(refused.1.contains("not a register file"), "{}", refused.1);
    assert_eq!(fs::read(desk.path("web-1.key")).unwrap(), key);
    desk.yes(&[&register[..], &["rows"]].concat());
    desk.yes(&[&register[..], &["rows"]].concat());
}

#[test]
fn what_is_no_capture_is_said_to_be_none() {
    let desk = Desk::new();
    let cases: [(&[u8], &str); 4] = [
        (b"", "empty"),
        (b"hello, world", "neither pcap nor pcapng"),
        (b"\x1f\x8b\x08\0\0\0\0\0", "gunzip -c"),
        (b"\x28\xb5\x2f\xfd\0\0\0\0", "zstd"),
    ];
    for (bytes, said) in cases {
        fs::write(desk.path("in"), bytes).unwrap();
        let output = desk.clew(&["verify", "--group", "acme/public/group.clew", "in"]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(said), "{message}");
    }
}

#[test]
fn a_revoked_machine_signs_in_vain() {
    let desk = Desk::new();
    desk.yes(&["enrol", "acme", "web-2", "-o", "web-2.key"]);
    beginning(
        &Path::new(CAPTURES).join("tcpdump--quic_handshake.pcap"),
        &desk.path("in"),
    );
    desk.yes(&["revoke", "acme", "web-1"]);
    assert_eq!(
        desk.sign(&["--time", "now"]),
        0,
        "the thief has the key and the witness of the epoch before"
    );
    let live = ["--max-age", "5m", "--grace", "0s"];
    let (status, packets, _) = desk.verify_with("signed", &live);
    assert_eq!(status, 1);
    assert!(packets.iter().all(|p| p["reason"] == "epoch-over"));

    let update = |key| ["update", "--key", key, "--group", "acme/public/group.clew"];
    assert_eq!(desk.status(&update("web-1.key")), 1);
    desk.yes(&update("web-2.key"));
    let sign = ["sign", "--key", "web-2.key", "in", "-w", "signed-2"];
    desk.yes(&[&sign[..], &["--time", "now"]].concat());
    let (status, packets, _) = desk.verify_with("signed-2", &live);
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
        desk.yes(&[&of[..], &["signed-2", "--packet", "1", "-o", &to]].concat());
    }
    let of = [
        "open",
        "--group",
        "acme/public/group.clew",
        "--register",
        "acme",
    ];
    let shares = ["--share", "1.share", "--share", "3.share", "-o", "opening"];
    let opened = desk.yes(&[&of[..], &shares, &["signed-2", "--packet", "1"]].concat());
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
    let desk = Desk::new();
    for name in [
        "tcpdump--quic_handshake.pcap",
        "zeek--ldap-gap-data-missing.pcapng",
    ] {
        beginning(&Path::new(CAPTURES).join(name), &desk.path("in"));
        assert_eq!(desk.sign(&[]), 0);
        let group = "acme/public/group.clew";
        desk.yes(&[
            "verify",
            "--group",
            group,
            "signed",
            "-w",
            "annotated",
            "--force",
        ]);
        let mut reader = PcapNgReader::new(File::open(desk.path("annotated")).unwrap()).unwrap();
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
    let desk = Desk::new();
    beginning(
        &Path::new(CAPTURES).join("zeek--ssh-ssh.pcap"),
        &desk.path("in"),
    );
    let mut original = fs::read(desk.path("in")).unwrap();
    for (snaplen, is_kept) in [(65_535_u32, true), (100, false)] {
        original[16..20].copy_from_slice(&snaplen.to_le_bytes());
        fs::write(desk.path("in"), &original).unwrap();
        let signed = desk.clew(&["sign", "--key", "web-1.key", "in", "-o", "-"]);
        fs::write(desk.path("signed"), signed.stdout).unwrap();
        desk.yes(&["strip", "signed", "-o", "restored", "--force"]);
        let restored = fs::read(desk.path("restored")).unwrap();
        assert_eq!(restored == original, is_kept);
        assert!(without_snaplen(restored) == without_snaplen(original.clone()));
        let said = String::from_utf8_lossy(&signed.stderr);
        assert_eq!(!said.contains("snap length must rise"), is_kept, "{said}");
    }
}
