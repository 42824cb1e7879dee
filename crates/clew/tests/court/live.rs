//! Evidence from live traffic: a capture of packets in UDP datagrams, some in fragments.

use super::{Court, GROUP};
use clew_keys::{MemberKeyFile, TextFile};
use clew_packet::{Candidate, Carrier, Frame, LinkType, Mode, Policy, Sender, Timestamp, fragment};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
use serde_json::Value;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// A block of coded carriage has at least nine packets; all of them travel.
const PACKETS: u8 = 9;

fn udp(ports: u16, payload: &[u8]) -> Vec<u8> {
    let length = payload.len() as u16;
    let mut bytes = vec![0x45, 0];
    bytes.extend((length + 28).to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    bytes.extend([ports.to_be_bytes(), ports.to_be_bytes()].concat());
    bytes.extend((length + 8).to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(payload);
    bytes
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(now.as_nanos()).unwrap()
}

/// The datagrams of a block that the machine with that key signed.
fn block(key: &MemberKeyFile, carrier: Carrier, coded: bool, time: u64) -> Vec<Vec<u8>> {
    let policy = Policy {
        coded,
        ..Policy::default()
    };
    let held = &key.epochs[0];
    let sender = Sender::new(key.scheme(), key.group, held.epoch, policy).with_carrier(carrier);
    let packets: Vec<Vec<u8>> = (0..PACKETS).map(|i| udp(7, &[i; 900])).collect();
    let admit = |packet| {
        let frame = Frame::whole(LinkType::RAW, packet);
        let admitted = sender.admit(&frame, Mode::Tree, PACKETS.into(), &mut Vec::new());
        admitted.unwrap()
    };
    let candidates: Vec<Candidate<'_>> = packets.iter().map(|p| admit(p.as_slice())).collect();
    let mut outs = vec![Vec::new(); packets.len()];
    let mut rng = ChaCha20Rng::seed_from_u64(time);
    let signing = key.signing_key(held).unwrap();
    let precursor = || signing.precursor(&mut rng);
    let time = Some(Timestamp(time));
    let signed = sender.sign_block(&candidates, time, [7; 16], precursor, &mut outs);
    signed.unwrap();
    outs
}

/// A capture with these frames at that time.
fn pcap(frames: &[Vec<u8>], time: u64) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend(0xa1b2_3c4du32.to_le_bytes());
    out.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 101, 0, 0, 0]);
    for frame in frames {
        let length = frame.len() as u32;
        for word in [
            (time / 1_000_000_000) as u32,
            (time % 1_000_000_000) as u32,
            length,
            length,
        ] {
            out.extend(word.to_le_bytes());
        }
        out.extend(frame);
    }
    out
}

/// The capture, in which the first packet comes in two fragments: frames 1 and 3.
fn captured(court: &Court, carrier: Carrier, coded: bool) {
    let key = fs::read_to_string(court.path("web-1.key")).unwrap();
    let key = MemberKeyFile::decode(&key).unwrap();
    let time = now();
    let datagrams = block(&key, carrier, coded, time);
    let mut cut = Vec::new();
    let segment = fragment::split(&datagrams[0], 800, None, &mut cut).unwrap();
    let parts: Vec<Vec<u8>> = cut
        .chunks(segment)
        .map(|payload| udp(4909, payload))
        .collect();
    let mut frames: Vec<Vec<u8>> = datagrams[1..].iter().map(|d| udp(4909, d)).collect();
    frames.insert(0, parts[0].clone());
    frames.insert(2, parts[1].clone());
    fs::write(court.path("signed"), pcap(&frames, time)).unwrap();
}

#[test]
fn a_quorum_opens_a_packet_of_live_traffic() {
    let court = Court::new("xr");
    for (carrier, coded) in [(Carrier::UdpTunnel, true), (Carrier::UdpTransport, false)] {
        captured(&court, carrier, coded);
        let verify = ["verify", "--group", GROUP, "signed"];
        let (status, out, error) = court.said(&[&verify[..], &["--json"]].concat());
        assert_eq!(status, 0, "{error}");
        let lines: Vec<Value> = out
            .lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect();
        let (summary, packets) = lines.split_last().unwrap();
        assert_eq!(packets.len(), usize::from(PACKETS) + 1);
        for packet in packets {
            assert_eq!(packet["verdict"], "valid");
            assert_eq!(packet["carrier"], carrier.as_str());
        }
        // The first packet was whole after the second.
        let reasons = &summary["summary"]["reasons"];
        assert_eq!(
            (&reasons["ok"], &reasons["reordered"]),
            (&8.into(), &2.into())
        );
        check_judged(&court);
        check_taken_out(&court, carrier);
        for file in ["1.share", "2.share", "3.share", "opening"] {
            fs::remove_file(court.path(file)).unwrap();
        }
    }
}

/// Packet 1 is a fragment.
fn check_judged(court: &Court) {
    court.opened();
    let (status, out, error) = court.judge("opening");
    assert_eq!(status, 0, "{error}");
    assert!(out.starts_with("packet 1 was sent by web-1\n"), "{out}");
    let block = "covers a block of 9 packets of this capture: 1, 2, 4, 5, 6, 7, 8, 9, 10;";
    assert!(out.contains(block), "{out}");
}

/// Either fragment names the packet.
fn check_taken_out(court: &Court, carrier: Carrier) {
    for number in ["1", "3"] {
        let shown = court.yes(&["show", "signed", "--packet", number]);
        assert!(shown.contains(carrier.as_str()), "{shown}");
        let parts = "\nput together from packets 1 and 3\n";
        assert!(shown.contains(parts), "{shown}");
        let other = court.yes(&["show", "signed", "--packet", "2"]);
        assert!(!other.contains("put together"), "{other}");
        let extract = ["extract", "--group", GROUP, "signed", "--packet", number];
        court.yes(&[&extract[..], &["--force", "-w", "alone"]].concat());
        let verified = court.yes(&["verify", "--group", GROUP, "alone", "--json"]);
        assert!(verified.contains("\"packets\":1,\"valid\":1"), "{verified}");
        let judged = court.yes(&["judge", "--group", GROUP, "opening", "alone"]);
        assert!(
            judged.starts_with("packet 1 was sent by web-1\n"),
            "{judged}"
        );
    }
}

#[test]
fn signing_and_stripping_leave_live_traffic() {
    let court = Court::new("xr");
    captured(&court, Carrier::UdpTunnel, false);
    let sign = ["sign", "--key", "web-2.key", "signed", "-w", "again"];
    let (_, out, error) = court.said(&sign);
    assert!((out + &error).contains("carrier"));
    let strip = ["strip", "signed", "-w", "stripped"];
    court.said(&strip);
    let signed = fs::read(court.path("signed")).unwrap();
    for other in ["again", "stripped"] {
        assert_eq!(fs::read(court.path(other)).unwrap(), signed, "{other}");
    }
}

#[test]
fn a_fragment_alone_is_undecided() {
    let court = Court::new("xr");
    captured(&court, Carrier::UdpTunnel, false);
    let mut capture = fs::read(court.path("signed")).unwrap();
    let length = u32::from_le_bytes(capture[24 + 12..24 + 16].try_into().unwrap());
    capture.truncate(24 + 16 + length as usize);
    fs::write(court.path("signed"), capture).unwrap();
    let (status, out, _) = court.said(&["verify", "--group", GROUP, "signed", "--json"]);
    assert_eq!(status, 2, "{out}");
    assert!(out.contains("\"missing-fragment\""), "{out}");
    let (status, out, _) = court.said(&["show", "signed", "--packet", "1"]);
    assert_eq!(status, 1);
    assert!(out.contains("missing-fragment"), "{out}");
    let (status, _, error) = court.share(1, "1", &[], "1.share");
    assert_eq!(status, 2);
    assert!(error.contains("missing-fragment"), "{error}");
    let extract = [
        "extract", "--group", GROUP, "signed", "--packet", "1", "-w", "none",
    ];
    let (status, _, error) = court.said(&extract);
    assert_eq!(status, 2);
    assert!(error.contains("missing-fragment"), "{error}");
}
