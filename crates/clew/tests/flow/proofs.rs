//! Proofs of one packet.

use crate::desk::{Desk, QUIC};
use std::fs;

/// The payload of the packet with that number in the capture that is signed here.
fn payload(number: usize) -> Vec<u8> {
    let reader = clew_capture::Reader::new(fs::File::open(QUIC).unwrap()).unwrap();
    let records: Vec<_> = reader.map(|record| record.unwrap()).collect();
    let udp = clew::flow::capture::datagram(&records[number]).unwrap();
    udp.payload().to_vec()
}

#[test]
fn proofs_hold_alone_and_not_after_any_change() {
    for carriage in ["full", "sparse", "coded", "manifest"] {
        let beside = carriage == "manifest";
        let desk = Desk::new(if beside { &[] } else { &["--salted"] });
        let sign = ["sign", "--key", "camera.key", QUIC, "-w", "signed"];
        desk.yes(&[&sign[..], &["--carriage", carriage]].concat());
        let extract: &[&str] = match beside {
            true => &[
                "extract",
                "--flow",
                "camera.flow",
                QUIC,
                "--manifest",
                "signed",
            ],
            false => &["extract", "--flow", "camera.flow", "signed"],
        };
        let extract = [extract, &["--packet"]].concat();
        for number in [1, 7, 12] {
            let text = number.to_string();
            desk.yes(&[&extract[..], &[&text, "-w", "proof", "--force"]].concat());
            desk.yes(&["check", "proof", "-w", "content", "--force"]);
            desk.yes(&["check", "proof", "--flow", "camera.flow"]);
            let content = fs::read(desk.path("content")).unwrap();
            assert!(content == payload(number), "{carriage} {number}");
        }
        let proof = fs::read(desk.path("proof")).unwrap();
        let step = proof.len() / 40 + 1;
        for at in (0..proof.len()).step_by(step) {
            let mut changed = proof.clone();
            changed[at] ^= 0x20;
            fs::write(desk.path("changed"), &changed).unwrap();
            let status = desk.status(&["check", "changed", "--flow", "camera.flow"]);
            assert!(
                status == 1 || status == 2,
                "{carriage}, byte {at}: {status}"
            );
        }
        assert_eq!(
            desk.status(&[&extract[..], &["1000", "-w", "x"]].concat()),
            2
        );
    }
}

#[test]
fn a_proof_of_another_flow_is_a_no() {
    let desk = Desk::new(&[]);
    desk.yes(&["sign", "--key", "camera.key", QUIC, "-w", "signed"]);
    let extract = [
        "extract",
        "--flow",
        "camera.flow",
        "signed",
        "--packet",
        "2",
    ];
    desk.yes(&[&extract[..], &["-w", "proof"]].concat());
    desk.yes(&["keygen", "other"]);
    assert_eq!(desk.status(&["check", "proof", "--flow", "other.flow"]), 1);
    fs::write(desk.path("none"), b"nothing").unwrap();
    assert_eq!(desk.status(&["check", "none"]), 2);
}
