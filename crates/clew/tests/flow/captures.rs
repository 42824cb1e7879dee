//! Captures: signed, changed, verified, and back to what they were.

use crate::folder::{CAPTURES, Folder, QUIC};
use clew_capture::{PacketLengths, Reader, Record, Writer};
use std::fs;
use std::path::Path;

/// All records of a capture.
fn records(path: &Path) -> Vec<Record> {
    let reader = Reader::new(fs::File::open(path).unwrap()).unwrap();
    reader.map(|record| record.unwrap()).collect()
}

fn write(path: &Path, records: &[Record]) {
    let mut writer = Writer::new(Vec::new(), PacketLengths::MayGrow);
    records
        .iter()
        .for_each(|record| writer.write(record).unwrap());
    fs::write(path, writer.finish().unwrap()).unwrap();
}

#[test]
fn what_was_signed_is_valid_and_comes_back() {
    let mut with_udp = 0;
    for keygen in [
        &[][..],
        &[
            "--hash", "sha256", "--digest", "32", "--salted", "--degree", "4",
        ],
    ] {
        let folder = Folder::new(keygen);
        let files = fs::read_dir(CAPTURES)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let captures = files.filter(|path| {
            path.extension()
                .is_some_and(|e| e == "pcap" || e == "pcapng")
        });
        for (path, carriage) in captures.zip(["full", "sparse", "coded"].into_iter().cycle()) {
            let input = path.to_str().unwrap();
            let sign = [
                "sign",
                "--key",
                "camera.key",
                input,
                "-w",
                "signed",
                "--force",
            ];
            let signed = folder.run(&[&sign[..], &["--carriage", carriage]].concat());
            let said = String::from_utf8(signed.stderr).unwrap();
            let damaged = signed.status.code() == Some(2);
            assert!(damaged || signed.status.success(), "{input}: {said}");
            let back = ["-w", "back", "--force", "--policy", "observe"];
            let (status, _, summary) = folder.verify("signed", &back);
            assert_eq!(
                summary["valid"], summary["datagrams"],
                "{input} {carriage}: {summary}"
            );
            assert_eq!(summary["lost_packets"], 0);
            let any = summary["datagrams"].as_u64() > Some(0);
            assert_eq!(
                status,
                if any && !damaged { 0 } else { 2 },
                "{input}: {summary}"
            );
            with_udp += u32::from(any);
            let original = records(&path);
            let restored = records(&folder.path("back"));
            let data = |records: &[Record]| -> Vec<Vec<u8>> {
                records
                    .iter()
                    .map(|record| record.data().to_vec())
                    .collect()
            };
            assert!(data(&original) == data(&restored), "{input}");
        }
    }
    assert!(with_udp >= 6, "captures with UDP: {with_udp}");
}

#[test]
fn what_was_changed_is_found_and_what_is_lost_is_named() {
    let folder = Folder::new(&[]);
    folder.yes(&["sign", "--key", "camera.key", QUIC, "-w", "signed"]);
    let all = records(&folder.path("signed"));
    let (_, packets, summary) = folder.verify("signed", &[]);
    assert_eq!(summary["unsigned"], 0);
    let last_of_a_block = packets
        .iter()
        .position(|packet| packet["count"].as_u64() > Some(2) && packet["index"] == 1)
        .unwrap();
    let frame = packets[last_of_a_block]["packet"].as_u64().unwrap() as usize;

    let mut changed = all.clone();
    let mut bytes = changed[frame].data().to_vec();
    bytes[60] ^= 1;
    changed[frame].replace(&bytes).unwrap();
    write(&folder.path("changed"), &changed);
    let (status, packets, _) = folder.verify("changed", &[]);
    assert_eq!(status, 1);
    let verdict = |packet: &serde_json::Value| packet["verdict"].as_str().unwrap().to_owned();
    for (place, packet) in packets.iter().enumerate() {
        let expected = if place == last_of_a_block {
            "invalid"
        } else {
            "valid"
        };
        assert_eq!(verdict(packet), expected, "{packet}");
    }

    let mut fewer = all.clone();
    fewer.remove(frame);
    fewer.push(all[1].clone());
    write(&folder.path("fewer"), &fewer);
    let (status, packets, summary) = folder.verify("fewer", &[]);
    assert_eq!((status, summary["lost_packets"].as_u64()), (0, Some(1)));
    assert_eq!(verdict(packets.last().unwrap()), "replayed");
}

/// A record whose wire length cannot shrink by the signature, as no signer writes it.
#[test]
fn a_signature_that_cannot_be_removed_is_told() {
    let folder = Folder::new(&[]);
    folder.yes(&["sign", "--key", "camera.key", QUIC, "-w", "signed"]);
    let mut bytes = fs::read(folder.path("signed")).unwrap();
    bytes[24 + 12..24 + 16].fill(0);
    fs::write(folder.path("odd"), &bytes).unwrap();
    let verified = folder.run(&["verify", "--flow", "camera.flow", "odd", "-w", "out"]);
    let said = String::from_utf8(verified.stderr).unwrap();
    let warning = "warning: 1 packets of the output keep their signature";
    assert!(said.contains(warning), "{said}");
    let (odd, out) = (records(&folder.path("odd")), records(&folder.path("out")));
    assert_eq!(odd[0].data(), out[0].data());
    let bytes = |records: &[Record]| -> usize { records.iter().map(|r| r.data().len()).sum() };
    assert!(bytes(&out) < bytes(&odd));
}

#[test]
fn policies_decide_what_is_written() {
    for (keygen, kept) in [(&[][..], [4, 2, 2]), (&["--partly"], [4, 3, 2])] {
        let folder = Folder::new(keygen);
        folder.yes(&["sign", "--key", "camera.key", QUIC, "-w", "signed"]);
        let signed = records(&folder.path("signed"));
        let unsigned = records(Path::new(QUIC));
        let mut bad = signed[2].clone();
        let mut bytes = bad.data().to_vec();
        bytes[100] ^= 1;
        bad.replace(&bytes).unwrap();
        let mixed = [&signed[..2], &[bad], &unsigned[3..4], &signed[4..5]].concat();
        write(&folder.path("mixed"), &mixed);
        for (policy, count) in ["observe", "balanced", "strict"].into_iter().zip(kept) {
            let write = ["-w", "out", "--policy", policy, "--force"];
            let (status, _, summary) = folder.verify("mixed", &write);
            assert_eq!(status, 1, "{summary}");
            let out = records(&folder.path("out"));
            let packets = out
                .iter()
                .filter(|record| record.packet().is_some())
                .count();
            assert_eq!(packets, count, "{policy} {keygen:?}");
        }
        let (status, ..) = folder.verify(QUIC, &[]);
        assert_eq!(status, 2, "nothing is signed");
        let (status, ..) = folder.verify(QUIC, &["--strict"]);
        assert_eq!(status, 1);
    }
}

#[test]
fn signing_is_selective_and_never_twice() {
    let folder = Folder::new(&[]);
    let sign = |input: &str, more: &[&str]| {
        let sign = [
            "sign",
            "--key",
            "camera.key",
            input,
            "-w",
            "signed",
            "--force",
        ];
        let output = folder.run(&[&sign[..], more].concat());
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let said = sign(QUIC, &["--port", "443"]);
    assert!(said.contains("destination not selected"), "{said}");
    let (_, packets, summary) = folder.verify("signed", &[]);
    let to_443 = packets
        .iter()
        .filter(|packet| packet["dst_port"] == 443)
        .count() as u64;
    assert!(to_443 > 0 && summary["valid"] == to_443 && summary["unsigned"] != 0);
    fs::rename(folder.path("signed"), folder.path("once")).unwrap();
    let said = sign("once", &[]);
    assert!(
        said.contains(&format!("{to_443}  already signed")),
        "{said}"
    );
    let (status, _, summary) = folder.verify("signed", &[]);
    assert_eq!(
        (status, summary["valid"] == summary["datagrams"]),
        (0, true)
    );
}

#[test]
fn a_flow_that_is_not_known_is_named_so() {
    let folder = Folder::new(&[]);
    folder.yes(&["sign", "--key", "camera.key", QUIC, "-w", "signed"]);
    folder.yes(&["keygen", "other"]);
    let output = folder.run(&["verify", "--flow", "other.flow", "signed"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("flow's public file not given"), "{said}");
    let table = folder.run(&["inspect", "--flow", "other.flow", "signed"]);
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(table.contains("unknown-flow"), "{table}");
    assert_eq!(
        folder.status(&["verify", "--flow", "other.key", "signed"]),
        2
    );
}

#[test]
fn old_captures_are_fresh_by_their_own_time_only() {
    let folder = Folder::new(&[]);
    folder.yes(&["sign", "--key", "camera.key", QUIC, "-w", "signed"]);
    let (status, _, summary) = folder.verify("signed", &["--max-age", "30s"]);
    assert_eq!(status, 1, "{summary}");
    assert_eq!(summary["reasons"]["stale"], summary["datagrams"]);
}

#[test]
fn keys_are_never_overwritten() {
    let folder = Folder::new(&[]);
    let key = fs::read(folder.path("camera.key")).unwrap();
    assert_eq!(folder.status(&["keygen", "camera"]), 2);
    fs::remove_file(folder.path("camera.key")).unwrap();
    assert_eq!(
        folder.status(&["keygen", "camera"]),
        2,
        "the public file is there"
    );
    assert!(
        !folder.path("camera.key").exists(),
        "neither is written alone"
    );
    fs::write(folder.path("camera.key"), key).unwrap();
    folder.yes(&["sign", "--key", "camera.key", QUIC, "-w", "signed"]);
    fs::write(folder.path("secret"), [7; 32]).unwrap();
    folder.yes(&["keygen", "sealed", "--encrypt-with", "secret"]);
    let sign = ["sign", "--key", "sealed.key", QUIC, "-w", "sealed"];
    assert_eq!(folder.status(&sign), 2);
    folder.yes(&[&sign[..], &["--unlock-with", "secret"]].concat());
}

#[test]
fn manifests_vouch_for_packets_that_stay_as_they_are() {
    let folder = Folder::new(&[]);
    let sign = ["sign", "--key", "camera.key", QUIC, "-w", "list"];
    folder.yes(&[&sign[..], &["--carriage", "manifest"]].concat());
    let beside = [
        "--manifest",
        "list",
        "-w",
        "out",
        "--force",
        "--policy",
        "strict",
    ];
    let (status, _, summary) = folder.verify(QUIC, &beside);
    assert_eq!(
        (status, &summary["valid"]),
        (0, &summary["datagrams"]),
        "{summary}"
    );
    let same = fs::read(QUIC).unwrap() == fs::read(folder.path("out")).unwrap();
    assert!(same, "every packet is UDP, and valid");

    let mut records = records(Path::new(QUIC));
    let mut bytes = records[3].data().to_vec();
    *bytes.last_mut().unwrap() ^= 1;
    records[3].replace(&bytes).unwrap();
    records.push(records[5].clone());
    records.remove(7);
    write(&folder.path("changed"), &records);
    let (status, packets, summary) = folder.verify("changed", &beside);
    assert_eq!(status, 2, "what is not listed may be of anybody");
    assert_eq!(packets[2]["reason"], "no-signature");
    assert_eq!(packets.last().unwrap()["reason"], "duplicate");
    assert_eq!(
        summary["lost_packets"], 2,
        "the changed one, and the one that is gone"
    );

    let list = fs::read(folder.path("list")).unwrap();
    let mut bad = list.clone();
    bad[100] ^= 1;
    fs::write(folder.path("bad"), bad).unwrap();
    let verify = ["verify", "--flow", "camera.flow", QUIC, "--manifest"];
    assert_eq!(folder.status(&[&verify[..], &["bad"]].concat()), 1);
    assert_eq!(folder.status(&[&verify[..], &[QUIC]].concat()), 2);
    let minute = ["list", "--max-age", "1m"];
    let output = folder.run(&[&verify[..], &minute].concat());
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.code() == Some(1) && said.contains("too old"),
        "{said}"
    );
    let century = ["--manifest", "list", "--max-age", "876000h"];
    let (status, _, summary) = folder.verify(QUIC, &century);
    assert_eq!(status, 0, "{summary}");
}
