//! Files signed in packets.

use crate::folder::{Folder, QUIC};
use std::fs;

#[test]
fn a_file_comes_back_whole_or_not_at_all() {
    let folder = Folder::new(&[]);
    folder.yes(&[
        "sign",
        "--key",
        "camera.key",
        QUIC,
        "-w",
        "signed",
        "--file",
    ]);
    let said = folder.yes(&["verify", "--flow", "camera.flow", "signed", "-w", "back"]);
    assert!(said.starts_with("valid: all "), "{said}");
    assert!(fs::read(QUIC).unwrap() == fs::read(folder.path("back")).unwrap());

    let signed = fs::read(folder.path("signed")).unwrap();
    let mut changed = signed.clone();
    changed[2000] ^= 1;
    for (name, bytes, status) in [
        ("changed", &changed[..], 1),
        ("cut", &signed[..signed.len() - 1], 2),
        ("empty", &signed[..16], 2),
        ("other", b"something else entirely", 2),
    ] {
        fs::write(folder.path(name), bytes).unwrap();
        let verify = ["verify", "--flow", "camera.flow", name, "-w", "out"];
        assert_eq!(folder.status(&verify), status, "{name}");
        assert!(!folder.path("out").exists(), "{name}");
    }
    assert_eq!(
        folder.status(&["sign", "--key", "camera.key", "signed", "-w", "twice"]),
        2
    );
}
