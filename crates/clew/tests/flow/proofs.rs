//! Proofs of one packet.

use crate::folder::{Folder, QUIC};
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
        let folder = Folder::new(if beside { &[] } else { &["--salted"] });
        let sign = ["sign", "--key", "camera.key", QUIC, "-w", "signed"];
        folder.yes(&[&sign[..], &["--carriage", carriage]].concat());
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
            folder.yes(&[&extract[..], &[&text, "-w", "proof", "--force"]].concat());
            folder.yes(&["check", "proof", "-w", "content", "--force"]);
            folder.yes(&["check", "proof", "--flow", "camera.flow"]);
            let content = fs::read(folder.path("content")).unwrap();
            assert!(content == payload(number), "{carriage} {number}");
        }
        let proof = fs::read(folder.path("proof")).unwrap();
        let step = proof.len() / 40 + 1;
        for at in (0..proof.len()).step_by(step) {
            let mut changed = proof.clone();
            changed[at] ^= 0x20;
            fs::write(folder.path("changed"), &changed).unwrap();
            let status = folder.status(&["check", "changed", "--flow", "camera.flow"]);
            assert!(
                status == 1 || status == 2,
                "{carriage}, byte {at}: {status}"
            );
        }
        assert_eq!(
            folder.status(&[&extract[..], &["1000", "-w", "x"]].concat()),
            2
        );
    }
}

#[test]
fn a_proof_of_another_flow_is_a_no() {
    let folder = Folder::new(&[]);
    folder.yes(&["sign", "--key", "camera.key", QUIC, "-w", "signed"]);
    let extract = [
        "extract",
        "--flow",
        "camera.flow",
        "signed",
        "--packet",
        "2",
    ];
    folder.yes(&[&extract[..], &["-w", "proof"]].concat());
    folder.yes(&["keygen", "other"]);
    assert_eq!(
        folder.status(&["check", "proof", "--flow", "other.flow"]),
        1
    );
    fs::write(folder.path("none"), b"nothing").unwrap();
    assert_eq!(folder.status(&["check", "none"]), 2);
}
