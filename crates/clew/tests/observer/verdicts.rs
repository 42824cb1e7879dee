//! What an observer says of packets on a wire.

use crate::folder::{Folder, GROUP, Observer, objects, summary, verdicts, wait_for_lines};
use crate::offload::udp_sum;
use crate::skipped::{NAMESPACES, skipped};
use crate::wire::Wire;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Packets that each test sends at most.
const PACKETS: usize = 300;

/// Changes a bit in every third trailer, each time at another place.
fn forge(frames: &mut [Vec<u8>]) {
    for (n, frame) in frames.iter_mut().step_by(3).enumerate() {
        let at = frame.len() - 20 - n % 60;
        frame[at] ^= 1 << (n % 8);
    }
}

/// Writes frames as a capture, in the records of another one.
fn write(folder: &Folder, from: &str, to: &str, frames: &[Vec<u8>]) {
    let reader = clew_capture::Reader::new(fs::File::open(folder.path(from)).unwrap()).unwrap();
    let mut frames = frames.iter();
    let mut file = Vec::new();
    for record in reader {
        let mut record = record.unwrap();
        if record.packet().is_some() {
            record.replace(frames.next().unwrap()).unwrap();
        }
        file.extend_from_slice(record.bytes());
    }
    fs::write(folder.path(to), file).unwrap();
}

#[test]
fn verdicts_on_a_wire_are_those_of_the_file() {
    let Some(wire) = Wire::new() else {
        return skipped(NAMESPACES);
    };
    let folder = Folder::new();
    let mut reasons = BTreeSet::new();
    for mode in ["--mode each", "--mode window", "", "--carriage coded"] {
        let packets = if mode == "--mode each" { 30 } else { PACKETS };
        let mut frames = folder.signed("signed", packets, mode);
        forge(&mut frames);
        frames[7] = folder.frames("clear")[7].clone(); // not signed
        frames[8] = frames[10].clone(); // comes twice
        write(&folder, "signed", "forged", &frames);
        let expected = folder.verdicts("forged");
        let mut observer = folder.observe(&wire, &format!("--count {packets}"));
        wire.send(&frames);
        let (status, text) = observer.end();
        assert_eq!(verdicts(&text), expected, "{mode}");
        assert_eq!(status, 1, "forged packets are a no");
        let all = objects(&text);
        assert!(all[..packets].iter().all(|o| o["community_id"].is_string()));
        reasons.extend(expected.into_iter().map(|(_, reason)| reason));
    }
    for reason in ["ok", "bad-signature", "no-trailer", "duplicate"] {
        assert!(reasons.contains(reason), "{reason} is not in {reasons:?}");
    }
}

/// A wire that falls silent in the middle of a block.
#[test]
fn a_block_that_stays_incomplete_is_undecided_in_time() {
    let Some(wire) = Wire::new() else {
        return skipped(NAMESPACES);
    };
    let folder = Folder::new();
    let frames = folder.signed("signed", PACKETS, "--carriage coded");
    let mut observer = folder.observe(&wire, "--format eve");
    wire.send(&frames[..1]);
    let mut events = BufReader::new(observer.stdout());
    let mut line = String::new();
    events.read_line(&mut line).unwrap();
    assert!(
        line.contains(r#""verdict":"undecided","reason":"too-few-shares""#),
        "{line}"
    );
    assert!(line.contains("community_id"), "{line}");
}

#[test]
fn tags_of_a_vlan_and_the_loopback_interface() {
    let Some(wire) = Wire::new() else {
        return skipped(NAMESPACES);
    };
    let folder = Folder::new();
    let frames = folder.signed("signed", 40, "");
    let tagged: Vec<Vec<u8>> = frames
        .iter()
        .map(|frame| [&frame[..12], &[0x81, 0, 0, 7], &frame[12..]].concat())
        .collect();
    let mut observer = folder.observe(&wire, "--count 40 --write tap");
    wire.send(&tagged);
    let (status, text) = observer.end();
    assert_eq!(
        (status, &summary(&text)["valid"]),
        (0, &40.into()),
        "{text}"
    );
    assert_eq!(folder.frames("tap-0000000001.pcapng"), tagged);

    let mut observer = folder.observe_at(&wire, "lo", "--count 40");
    wire.send_on_loopback(&frames);
    let (status, text) = observer.end();
    assert_eq!(
        (status, &summary(&text)["reasons"]["ok"]),
        (0, &40.into()),
        "{text}"
    );
}

#[test]
fn an_interface_that_goes_is_waited_for() {
    let Some(wire) = Wire::new() else {
        return skipped(NAMESPACES);
    };
    let folder = Folder::new();
    let frames = folder.signed("signed", 30, "");
    let report = folder.path("report");
    let mut observer = folder.observe(&wire, "--count 30 --report report");
    wire.send(&frames[..10]);
    wait_for_lines(&report, 10);
    wire.ip("link set wire down");
    observer.wait_for("wire: interface is down");
    wire.ip("link set wire up");
    observer.wait_for("wire: interface is up again");
    wire.send(&frames[10..20]);
    wait_for_lines(&report, 20);
    wire.ip("link del wire");
    observer.wait_for("wire: interface is down");
    wire.connect();
    observer.wait_for("wire: interface is up again");
    wire.send(&frames[20..]);
    let (status, _) = observer.end();
    let text = fs::read_to_string(report).unwrap();
    assert_eq!(
        (status, &summary(&text)["valid"]),
        (0, &30.into()),
        "{text}"
    );
    assert_eq!(
        (observer.times("is down"), observer.times("up again")),
        (2, 2)
    );
}

#[test]
fn an_interface_that_goes_ends_the_command_on_request() {
    let Some(wire) = Wire::new() else {
        return skipped(NAMESPACES);
    };
    let folder = Folder::new();
    let frames = folder.signed("signed", 10, "");
    let mut observer = folder.observe(&wire, "--exit-if-down --format tsv");
    wire.send(&frames);
    wire.ip("link set wire down");
    let (status, text) = observer.end();
    assert_eq!(status, 2);
    assert_eq!(observer.times("clew: wire: interface is down"), 1);
    assert!(text.lines().last().unwrap().starts_with("#close"), "{text}");
}

#[test]
fn what_cannot_be_observed_is_said_in_a_sentence() {
    let Some(wire) = Wire::new() else {
        return skipped(NAMESPACES);
    };
    let folder = Folder::new();
    let mut observer = folder.start(&wire, "none", "");
    assert_eq!(observer.end().0, 2);
    assert_eq!(observer.said[0], "clew: none: interface does not exist");

    let clew = env!("CARGO_BIN_EXE_clew");
    let mut command = Command::new("setpriv");
    command.args([
        "--bounding-set=-all",
        "--inh-caps=-all",
        clew,
        "verify",
        "-i",
        "lo",
    ]);
    command
        .args(["--group", GROUP])
        .current_dir(folder.0.path());
    let mut observer = Observer::new(command);
    assert_eq!(observer.end().0, 2);
    assert_eq!(
        observer.said[0],
        "clew: lo: a tap needs the privilege CAP_NET_RAW"
    );
}

#[test]
fn no_thread_keeps_a_privilege() {
    let Some(wire) = Wire::new() else {
        return skipped(NAMESPACES);
    };
    let folder = Folder::new();
    let frames = folder.signed("signed", 10, "");
    let mut observer = folder.observe(&wire, "--metrics 127.0.0.1:0");
    wire.send(&frames);
    let mut line = String::new();
    // Once a packet is judged, all threads are there.
    BufReader::new(observer.stdout())
        .read_line(&mut line)
        .unwrap();
    let tasks = fs::read_dir(format!("/proc/{}/task", observer.id())).unwrap();
    let mut threads = 0;
    for task in tasks {
        let status = fs::read_to_string(task.unwrap().path().join("status")).unwrap();
        threads += 1;
        for (name, value) in [
            ("CapEff", "0000000000000000"),
            ("CapPrm", "0000000000000000"),
            ("CapInh", "0000000000000000"),
            ("NoNewPrivs", "1"),
        ] {
            assert!(status.contains(&format!("{name}:\t{value}\n")), "{status}");
        }
    }
    assert!(threads >= 4, "{threads} threads");
}

#[test]
fn a_closed_pipe_ends_the_command_quietly() {
    let Some(wire) = Wire::new() else {
        return skipped(NAMESPACES);
    };
    let folder = Folder::new();
    let frames = folder.signed("signed", 60, "");
    let mut observer = folder.observe(&wire, "");
    wire.send(&frames[..1]);
    let mut line = String::new();
    let mut lines = BufReader::new(observer.stdout());
    lines.read_line(&mut line).unwrap();
    drop(lines);
    wire.send(&frames[1..]);
    let (status, _) = observer.end();
    assert_eq!((status, observer.said.len()), (2, 1), "{:?}", observer.said);
}

/// What this host itself sends: checksums that a card would fill in, and packets that it would cut.
#[test]
fn own_packets_are_seen_as_on_the_wire() {
    let Some(wire) = Wire::new() else {
        return skipped(NAMESPACES);
    };
    let folder = Folder::new();
    let frames = folder.signed("signed", 10, "");
    let mut observer = folder.observe_at(&wire, "lo", "--write tap");
    wire.observed_side(|| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = socket.local_addr().unwrap();
        socket.send_to(b"one", to).unwrap();
        socket.send_to(b"four", to).unwrap();
    });
    wire.observed_side(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut from = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut to, _) = listener.accept().unwrap();
        let reading = thread::spawn(move || std::io::copy(&mut to, &mut std::io::sink()));
        from.write_all(&vec![0; 8 << 20]).unwrap();
        drop(from);
        reading.join().unwrap().unwrap();
    });
    wire.send_on_loopback(&frames);
    observer.listen(Duration::from_secs(1));
    let (status, text) = observer.interrupt();
    let seen = summary(&text);
    assert!(seen["joined"].is_null(), "{seen}");
    assert_eq!((&seen["valid"], &seen["invalid"]), (&10.into(), &0.into()));
    assert_eq!((status, observer.times("joined packets")), (0, 0));
    let evidence = folder.frames("tap-0000000001.pcapng");
    let is_udp = |frame: &&Vec<u8>| frame.get(23) == Some(&17) && frame.len() < 50;
    let udp: Vec<_> = evidence.iter().filter(is_udp).collect();
    assert_eq!(udp.len(), 2, "each packet once");
    assert!(
        udp.iter().all(|frame| udp_sum(&frame[14..]) == 0xffff),
        "{udp:x?}"
    );
}
