//! Keys that are sealed, and files that are not replaced.

use crate::folder::Folder;
use std::fs;

#[test]
fn keys_are_sealed_on_request() {
    let folder = Folder::new();
    fs::write(folder.path("word"), "open sesame\n").unwrap();
    let key = folder.yes("keygen user -o me.key --new-passphrase-file word");
    let text = fs::read_to_string(folder.path("me.key")).unwrap();
    assert!(text.contains("clew-sealed-1"), "{text}");
    fs::write(folder.path("users"), &key).unwrap();
    folder.yes("keygen server --host a.example -o a.key --new-passphrase-file word");
    let line = "serve --key a.key --passphrase-file word --listen 127.0.0.1:0 --record web.record \
                --service echo=echo --users users";
    let _server = folder.start(line, "for ");
    let me = "--user me.key --passphrase-file";
    assert_eq!(folder.says(&format!("{me} word echo")).0, 0);
    assert_eq!(folder.says(&format!("{me} users echo")).0, 2);
}

/// `serve` and `directory` replace a record of the same host only.
#[test]
fn a_record_replaces_no_other_file() {
    let folder = Folder::new();
    folder.yes("keygen server --host a.example -o a.key");
    fs::write(folder.path("mine.txt"), "not a record\n").unwrap();
    fs::write(folder.path("mine.bin"), b"\xff\x00").unwrap();
    let (web, a) = ("--key web.key", "--key a.key");
    drop(folder.serve("--anonymous --service echo=echo"));
    for (key, record) in [
        (web, "web.key"),
        (web, "mine.txt"),
        (web, "mine.bin"),
        (a, "web.record"),
    ] {
        let before = fs::read(folder.path(record)).unwrap();
        let line = format!(
            "serve {key} --listen 127.0.0.1:0 --anonymous --service echo=echo --record {record}"
        );
        let (status, said) = folder.status(&format!("{line} --duration 1s"));
        assert_eq!(status, 2, "{record}: {said}");
        assert!(
            said.contains(record) && said.contains("not a tunnel record of"),
            "{said}"
        );
        assert!(said.contains("hint: use another --record"), "{said}");
        assert_eq!(fs::read(folder.path(record)).unwrap(), before, "{record}");
    }
    // Its own it replaces.
    let before = fs::read(folder.path("web.record")).unwrap();
    drop(folder.serve("--anonymous --service echo=echo"));
    assert_ne!(fs::read(folder.path("web.record")).unwrap(), before);
}
