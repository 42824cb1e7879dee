//! Flows that eFFS signs, and how far they are verified.

use crate::folder::{Folder, QUIC};

#[test]
fn every_key_signs_and_verifies() {
    for keygen in [
        "--alg effs-2048",
        "--alg effs-2048 --strength 256 --v-rule williams",
        "--alg effs-3072 --strength 256 --levels 2",
        "--alg effs-2048 --levels 2 --form paper",
        "--alg ed25519",
    ] {
        let folder = Folder::new(&keygen.split_whitespace().collect::<Vec<_>>());
        for carriage in ["full", "sparse", "coded"] {
            let sign = [
                "sign",
                "--key",
                "camera.key",
                "--carriage",
                carriage,
                "--force",
            ];
            folder.yes(&[&sign[..], &[QUIC, "-w", "signed.pcap"]].concat());
            let (status, _, summary) = folder.verify("signed.pcap", &[]);
            assert_eq!(status, 0, "{keygen} {carriage} {summary}");
            assert_eq!(summary["valid"], summary["datagrams"]);
        }
    }
}

/// Below 128 bits nothing is accepted, and what does not hold is refused all the same.
#[test]
fn low_levels_refuse_and_never_accept() {
    let folder = Folder::new(&["--alg", "effs-2048", "--levels", "2"]);
    folder.yes(&["sign", "--key", "camera.key", QUIC, "-w", "signed.pcap"]);
    let (status, packets, summary) = folder.verify("signed.pcap", &["--assurance", "64"]);
    assert_eq!(status, 2);
    assert!(packets.iter().all(|packet| packet["reason"] == "weak"));
    assert_eq!(summary["undecided"], summary["datagrams"]);
    let bits = summary["assurance_bits"].as_object().unwrap();
    assert!(bits.values().all(|bits| *bits == 64));
    for assurance in ["65", "128", "256"] {
        let (status, _, summary) = folder.verify("signed.pcap", &["--assurance", assurance]);
        assert_eq!((status, &summary["valid"]), (0, &summary["datagrams"]));
    }
    let all = folder.run(&["verify", "--flow", "camera.flow", "signed.pcap"]);
    let said = String::from_utf8_lossy(&all.stderr);
    assert!(
        said.contains("effs-2048(64,2), verified to 128 of 128 bits"),
        "{said}"
    );
    // Of the last packet's signature: row 2 of 2, then what all levels cover.
    let capture = std::fs::read(folder.path("signed.pcap")).unwrap();
    let spoil = |behind: usize, assurance: &str| {
        let mut spoiled = capture.clone();
        let at = spoiled.len() - behind;
        spoiled[at] ^= 1;
        std::fs::write(folder.path("spoiled.pcap"), spoiled).unwrap();
        let (_, packets, _) = folder.verify("spoiled.pcap", &["--assurance", assurance]);
        packets.last().unwrap()["reason"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let (row_2, carried) = (40 + 32 + 100, 40 + 10);
    assert_eq!(spoil(row_2, "64"), "weak");
    assert_eq!(spoil(row_2, "128"), "bad-signature");
    assert_eq!(spoil(carried, "64"), "bad-signature");
}

#[test]
fn keys_that_packets_do_not_carry_are_refused() {
    let folder = Folder::new(&["--alg", "effs-2048"]);
    for (wrong, said) in [
        (
            "--alg effs-3072 --levels 4",
            "need signatures of at most 1192 bytes",
        ),
        (
            "--alg effs-3072 --levels 3",
            "--levels must be 1, 2, 4 or 8",
        ),
        ("--alg ed25519 --levels 2", "require eFFS"),
        ("--alg rsa", "invalid value 'rsa'"),
    ] {
        let arguments = [
            &["keygen", "other"][..],
            &wrong.split_whitespace().collect::<Vec<_>>(),
        ];
        let output = folder.run(&arguments.concat());
        assert_eq!(output.status.code(), Some(2));
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains(said), "{text}");
        assert!(!folder.path("other.key").exists());
    }
    let rtp = folder.run(&[
        "sign",
        "--key",
        "camera.key",
        "--rtp",
        QUIC,
        "-w",
        "out.pcap",
    ]);
    assert_eq!(rtp.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&rtp.stderr).contains("at most 254 bytes"));
}
