//! Directories and name servers.

use crate::folder::Folder;
use crate::renewal::age;
use clew::tunnel::{keys, records};
use std::fs;
use std::thread::sleep;
use std::time::Duration;

/// Waits until a file is there.
fn wait_for(folder: &Folder, name: &str) {
    let mut looks = (0..200).map(|_| {
        sleep(Duration::from_millis(50));
        folder.path(name).exists()
    });
    assert!(looks.any(|is_there| is_there), "no {name}");
}

#[test]
fn a_host_registers_and_is_found() {
    let folder = Folder::new();
    let issuer = folder.server("--host issuer.example -o issuer.key");
    let key = folder.server("--host shop.example -o shop.key --issuer issuer.key");
    folder.server("--host name.example -o name.key");
    let names = format!(
        "name --key name.key --listen 127.0.0.1:0 --record name.record --store store --trust \
         {issuer}"
    );
    let _names = folder.start(&names, "records in");
    let _server = folder.start(
        "serve --key shop.key --listen 127.0.0.1:0 --service echo=echo --anonymous --publish-to \
         name.record",
        "for ",
    );
    wait_for(&folder, "store/shop.example.record");
    folder.server("--host dir.example -o dir.key");
    let directory =
        "directory --key dir.key --listen 127.0.0.1:0 --record dir.record --records store";
    let _directory = folder.start(directory, "1 records in store");
    age(&folder, "dir.key", "dir.record", "old.record");
    let find = |by: &str, more: &str| {
        let line = format!("--directory {by} {more} echo");
        let output = folder.connect(&line, b"hello");
        let said = String::from_utf8(output.stderr).unwrap();
        let status = output.status.code().unwrap();
        assert_eq!(status == 0, output.stdout == b"hello", "{line}: {said}");
        (status, said)
    };
    for by in ["name.record", "dir.record", "old.record"] {
        for trust in [format!("--pin {key}"), format!("--trust {issuer}")] {
            let (status, said) = find(by, &format!("--host shop.example {trust}"));
            assert_eq!(status, 0, "{by} {trust}: {said}");
        }
        let (status, said) = find(by, &format!("--host shop.example --trust {key}"));
        assert_eq!((status, said.contains("untrusted")), (1, true), "{said}");
        for unknown in [
            format!("--host web.example --pin {key}"),
            format!("--host shop.example --pin {issuer}"),
        ] {
            let (status, said) = find(by, &unknown);
            assert_eq!(
                (status, said.contains("not have a record")),
                (2, true),
                "{said}"
            );
        }
    }
}

#[test]
fn who_is_not_trusted_is_not_registered() {
    let folder = Folder::new();
    let key = folder.server("--host name.example -o name.key");
    let names = format!(
        "name --key name.key --listen 127.0.0.1:0 --record name.record --store store --pin \
         web.example={key}"
    );
    let mut names = folder.start(&names, "records in");
    let mut server = folder.serve("--service echo=echo --anonymous --publish-to name.record");
    server.line("name.record does not accept this host's record");
    assert_eq!(fs::read_dir(folder.path("store")).unwrap().count(), 0);
    let (status, said) = names.stop();
    assert_eq!((status, said.contains("untrusted")), (0, true), "{said}");
}

#[test]
fn a_directory_sees_what_changes() {
    let folder = Folder::new();
    fs::create_dir(folder.path("records")).unwrap();
    folder.server("--host dir.example -o dir.key");
    let directory =
        "directory --key dir.key --listen 127.0.0.1:0 --record dir.record --records records";
    let _directory = folder.start(directory, "0 records in records");
    let _server = folder.serve("--service echo=echo --anonymous");
    let pin = records::read_file(&folder.path("web.record")).unwrap();
    let pin = keys::PublicKey(pin.cert.body.signing);
    let find = format!("--directory dir.record --host web.example --pin {pin} echo");
    let status = || folder.connect(&find, b"").status.code();
    assert_eq!(status(), Some(2));
    fs::copy(folder.path("web.record"), folder.path("records/web.record")).unwrap();
    sleep(Duration::from_secs(2));
    assert_eq!(status(), Some(0));
    fs::remove_file(folder.path("records/web.record")).unwrap();
    sleep(Duration::from_secs(2));
    assert_eq!(status(), Some(2));
}

#[test]
fn a_directory_asks_name_services() {
    let folder = Folder::new();
    let key = folder.server("--host shop.example -o shop.key");
    let pin = format!("--pin shop.example={key}");
    folder.server("--host name.example -o name.key");
    folder.server("--host other.example -o other.key");
    let names = |host: &str, more: &str| {
        format!(
            "name --key {host}.key --listen 127.0.0.1:0 --record {host}.record --store {host} \
             {more}"
        )
    };
    let _other = folder.start(&names("other", &pin), "records in");
    let _names = folder.start(&names("name", &pin), "records in");
    // The directory has old records of both, as somebody copied them once.
    for host in ["other", "name"] {
        age(
            &folder,
            &format!("{host}.key"),
            &format!("{host}.record"),
            &format!("{host}.old"),
        );
    }
    folder.server("--host dir.example -o dir.key");
    let directory = "directory --key dir.key --listen 127.0.0.1:0 --record dir.record \
        --name-server other.old --name-server name.old";
    let mut directory = folder.start(directory, "those that other.old or name.old has");
    let find = format!("--directory dir.record --host shop.example --pin {key} echo");
    let output = folder.connect(&find, b"");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("shop.example: the directory does not have a record"),
        "{said}"
    );
    let _server = folder.start(
        "serve --key shop.key --listen 127.0.0.1:0 --service echo=echo --anonymous --publish-to \
         name.record",
        "for ",
    );
    wait_for(&folder, "name/shop.example.record");
    // That there was none is kept for some seconds.
    sleep(Duration::from_secs(6));
    for _ in 0..2 {
        let output = folder.connect(&find, b"hello");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert_eq!(output.stdout, b"hello");
    }
    assert_eq!(directory.stop().0, 0);
}
