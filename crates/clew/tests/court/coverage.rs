//! Which packets of a capture one signature covers, and which was asked about.

use super::*;

/// The header of a capture, and its records.
fn records(court: &Court, capture: &str) -> (Vec<u8>, Vec<Vec<u8>>) {
    let bytes = fs::read(court.path(capture)).unwrap();
    let (header, mut rest) = bytes.split_at(24);
    let mut records = Vec::new();
    while !rest.is_empty() {
        let length = 16 + u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        let (record, behind) = rest.split_at(length);
        records.push(record.to_vec());
        rest = behind;
    }
    (header.to_vec(), records)
}

fn write(court: &Court, to: &str, header: &[u8], records: &[Vec<u8>]) {
    fs::write(court.path(to), [header, &records.concat()].concat()).unwrap();
}

/// Packets of a block have one signature: an opening of one is an opening of each, and says so.
#[test]
fn opening_a_packet_opens_its_block() {
    let court = Court::new("xr");
    court.yes(&[&["sign", "--force"][..], &KEY_AND_FILES].concat());
    court.opened();
    let (status, out, error) = court.judge("opening");
    assert_eq!(status, 0, "{error}");
    assert!(out.starts_with("packet 1 was sent by web-1\n"), "{out}");
    let block = "a block of 9 packets of this capture: 1, 5, 6, 7, 11, 12, 14, 17, 18";
    assert!(
        out.contains(&format!("covers {block}; asked for: 1\n")),
        "{out}"
    );
    let answer = court.judged("opening", &[]);
    let packets = serde_json::json!([1, 5, 6, 7, 11, 12, 14, 17, 18]);
    assert_eq!(
        (&answer["packets"], &answer["asked"]),
        (&packets, &1.into())
    );
    let said = court.share(1, "5", &[], "5.share").1;
    assert!(said.contains(&format!("{block}; asked for: 5")), "{said}");
}

/// Of a capture without the packet that was asked about a judge says nothing.
#[test]
fn the_packet_that_was_asked_about_must_be_there() {
    let court = Court::new("xr");
    court.yes(&[&["sign", "--force"][..], &KEY_AND_FILES].concat());
    court.opened();
    let (header, records) = records(&court, "signed");
    write(&court, "rest", &header, &records[1..]);
    let (status, _, error) = court.said(&["judge", "--group", GROUP, "opening", "rest"]);
    assert_eq!(status, 2);
    assert!(
        error.contains("only 8 other packets with the same signature"),
        "{error}"
    );
    assert!(error.contains("hint: use a capture"), "{error}");
    // Others may be missing, and the order does not count.
    let few = [&records[5..7], &records[..1]].concat();
    write(&court, "few", &header, &few);
    let out = court.yes(&["judge", "--group", GROUP, "opening", "few"]);
    assert!(
        out.contains("a block of 3 packets of this capture: 1, 2, 3; asked for: 3"),
        "{out}"
    );
}

/// Shares for two packets of a block answer two requests, and do not mix.
#[test]
fn shares_are_bound_to_the_packet_that_was_asked_about() {
    let court = Court::new("xr");
    court.yes(&[&["sign", "--force"][..], &KEY_AND_FILES].concat());
    for (trustee, packet) in [(1, "1"), (2, "5")] {
        let to = format!("{trustee}.share");
        assert_eq!(court.share(trustee, packet, &[], &to).0, 0);
    }
    let (status, _, error) = court.open(&["1.share", "2.share"], "no");
    assert_eq!(status, 2);
    assert!(
        error.contains("trustee 2: share is for another request"),
        "{error}"
    );
}

#[test]
fn coded_blocks_are_covered_whole() {
    let court = Court::new("xr");
    let coded = ["sign", "--force", "--carriage", "coded"];
    court.yes(&[&coded[..], &KEY_AND_FILES].concat());
    court.opened();
    let answer = court.judged("opening", &[]);
    let packets = serde_json::json!([1, 5, 6, 7, 11, 12, 14, 17, 18]);
    assert_eq!(
        (&answer["packets"], &answer["asked"]),
        (&packets, &1.into())
    );
}

/// A window's signature covers packets that have signatures of their own.
#[test]
fn windows_cover_the_packets_before() {
    let court = Court::new("xr");
    let window = ["sign", "--force", "--mode", "window", "--window", "3"];
    court.yes(&[&window[..], &KEY_AND_FILES].concat());
    for trustee in [1, 2] {
        let to = format!("{trustee}.share");
        assert_eq!(court.share(trustee, "7", &[], &to).0, 0);
    }
    let shares = ["--share", "1.share", "--share", "2.share"];
    let of = ["open", "--group", GROUP, "--register", "acme", "signed"];
    court.yes(&[&of[..], &shares, &["--packet", "7", "-o", "opening"]].concat());
    let answer = court.judged("opening", &[]);
    assert_eq!(answer["packets"], serde_json::json!([5, 6, 7]));
    // Without one of them the window is not whole, and only the packet itself is sure.
    let (header, mut records) = records(&court, "signed");
    records.remove(5);
    write(&court, "signed", &header, &records);
    let answer = court.judged("opening", &[]);
    assert_eq!(answer["packets"], serde_json::json!([6]));
    assert_eq!(
        (&answer["covered"], &answer["absent"]),
        (&3.into(), &2.into())
    );
}

/// A packet taken out of its block is valid and opened alone.
#[test]
fn an_extracted_packet_stands_alone() {
    let court = Court::new("xr");
    court.yes(&[&["sign", "--force", "--block", "4"][..], &KEY_AND_FILES].concat());
    court.opened();
    let extract = ["extract", "--group", GROUP, "signed", "--packet"];
    court.yes(&[&extract[..], &["1", "-w", "one"]].concat());
    let (status, out, _) = court.said(&["verify", "--group", GROUP, "one", "--json"]);
    assert_eq!(status, 0);
    assert_eq!(out.lines().count(), 2, "one packet and the summary: {out}");
    let out = court.yes(&["judge", "--group", GROUP, "opening", "one"]);
    assert!(
        out.contains("covers packet 1 of this capture, one of a block of 4 packets: 3 are not in this capture"),
        "{out}"
    );
    let (status, _, error) = court.said(&[&extract[..], &["99", "-w", "none"]].concat());
    assert_eq!(status, 2);
    assert!(error.contains("packet 99: not found"), "{error}");
    assert!(!court.path("none").exists(), "nothing is written");
}

/// The packet is found by its digest, wherever it stands in whatever capture.
#[test]
fn a_judge_finds_the_packet_by_itself() {
    let court = Court::new("xr");
    court.opened();
    let (header, mut records) = records(&court, "signed");
    write(&court, "other", &header, &[&records[..], &records].concat());
    let out = court.yes(&["judge", "--group", GROUP, "opening", "other"]);
    assert!(out.starts_with("packet 1 was"), "{out}");
    assert!(
        out.contains("covers 2 copies of one packet of this capture: 1, 19;"),
        "{out}"
    );
    records.rotate_left(1);
    write(&court, "moved", &header, &records);
    let out = court.yes(&["judge", "--group", GROUP, "opening", "moved"]);
    assert!(out.starts_with("packet 18 was sent by web-1\n"), "{out}");
    records.pop();
    write(&court, "gone", &header, &records);
    let judge = ["judge", "--group", GROUP, "opening", "gone"];
    assert_eq!(court.said(&judge).0, 2);
}

/// Long lists are cut in words, and whole in JSON.
#[test]
fn long_lists_are_shortened() {
    let court = Court::new("xr");
    court.opened();
    let (header, records) = records(&court, "signed");
    let copies = vec![records[0].clone(); 30];
    write(&court, "signed", &header, &copies);
    let out = court.judge("opening").1;
    let list = "30 copies of one packet of this capture: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...;";
    assert!(out.contains(list), "{out}");
    let answer = court.judged("opening", &[]);
    assert_eq!(answer["packets"].as_array().unwrap().len(), 30);
}

#[test]
fn a_pipe_cannot_be_read_twice() {
    let court = Court::new("xr");
    court.opened();
    for arguments in [
        ["judge", "--group", GROUP, "opening", "-"],
        ["judge", "--group", GROUP, "opening", "/dev/stdin"],
    ] {
        let (status, _, error) = court.said(&arguments);
        assert_eq!(status, 2);
        assert!(error.contains("hint: save it to a file first"), "{error}");
    }
}
