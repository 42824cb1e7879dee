//! Who may connect, and to whom.

use crate::folder::Folder;
use std::fs;
use std::process::Command;

#[test]
fn users_are_known_by_their_keys() {
    let folder = Folder::new();
    let (alice, bob) = (folder.user("alice.key"), folder.user("bob.key"));
    fs::write(folder.path("users"), format!("# staff\n{alice} Alice\n")).unwrap();
    let _server = folder.serve("--service echo=echo --users users --authenticators both");
    let (status, said) = folder.says("--user alice.key echo");
    assert_eq!(status, 0, "{said}");
    for stranger in ["--user bob.key echo", "echo", "--user alice.key other"] {
        let (status, said) = folder.says(stranger);
        assert_eq!(status, 1, "{stranger}: {said}");
        assert!(said.contains("the server refused the connection"), "{said}");
    }
    fs::write(folder.path("users"), format!("{alice}\n{bob}\n")).unwrap();
    assert_eq!(folder.says("--user bob.key echo").0, 0);
    fs::write(folder.path("users"), "").unwrap();
    assert_eq!(folder.says("--user bob.key echo").0, 1);
}

#[test]
fn box_is_taken_where_it_is_offered() {
    let folder = Folder::new();
    fs::write(folder.path("users"), folder.user("alice.key")).unwrap();
    let _server = folder.serve("--service echo=echo --users users --authenticators box");
    assert_eq!(folder.says("--user alice.key echo").0, 0);
}

#[test]
fn a_record_of_another_key_is_refused() {
    let folder = Folder::new();
    let issuer = folder.server("--host issuer.example -o issuer.key");
    let key = folder.server("--host shop.example -o shop.key --issuer issuer.key");
    let _server = folder.start(
        "serve --key shop.key --listen 127.0.0.1:0 --record web.record --service echo=echo \
         --anonymous",
        "for ",
    );
    for good in [
        format!("--pin {key}"),
        format!("--trust {issuer}"),
        "--host shop.example".to_owned(),
    ] {
        assert_eq!(folder.says(&format!("{good} echo")).0, 0, "{good}");
    }
    for (bad, reason) in [
        (format!("--pin {issuer}"), "untrusted"),
        (format!("--trust {key}"), "untrusted"),
        ("--host web.example".to_owned(), "wrong-host"),
    ] {
        let (status, said) = folder.says(&format!("{bad} echo"));
        assert_eq!(status, 1, "{bad}");
        assert!(said.contains(reason), "{said}");
    }
}

#[test]
fn wrong_usage_says_what_to_do() {
    let folder = Folder::new();
    let serve = "serve --key web.key --service echo=echo";
    for (line, has) in [
        (format!("{serve} --listen 127.0.0.1:0"), "--anonymous"),
        (
            format!("{serve} --anonymous --listen 0.0.0.0:4433"),
            "use --address",
        ),
        (
            format!("{serve} --anonymous --listen 127.0.0.1:0 --listen 127.0.0.2:0"),
            "at most one IPv4",
        ),
        (
            format!("{serve} --anonymous --listen 127.0.0.1:0 --rotation 1s"),
            "60s to 12h",
        ),
        ("connect --record none echo".to_owned(), "none"),
        (
            "connect --record web.key echo".to_owned(),
            "clew-tunnel-server-1",
        ),
        ("connect echo".to_owned(), "--record"),
        (
            "connect --directory web.record --host web.example echo".to_owned(),
            "--pin",
        ),
        (
            "keygen server --host Web -o other.key".to_owned(),
            "web.example",
        ),
        (
            "keygen server --host web -o web.key".to_owned(),
            "already exists",
        ),
        ("keygen user -o web.key".to_owned(), "already exists"),
        ("status 127.0.0.1:1".to_owned(), "--metrics"),
    ] {
        let (status, said) = folder.status(&line);
        assert_eq!(status, 2, "{line}: {said}");
        assert!(said.contains(has), "{line}: {said}");
    }
}

/// A pipe that nobody writes holds up neither the start nor a server that runs.
#[test]
fn a_pipe_in_place_of_a_file_blocks_nobody() {
    let folder = Folder::new();
    let pipe = |name: &str| {
        let made = Command::new("mkfifo").arg(folder.path(name)).status();
        assert!(made.unwrap().success());
    };
    pipe("pipe");
    let serve = "serve --key web.key --listen 127.0.0.1:0 --service echo=echo --users pipe";
    let (status, said) = folder.status(serve);
    assert!(status == 2 && said.contains("not a regular file"), "{said}");
    fs::write(folder.path("users"), folder.user("alice.key")).unwrap();
    let _server = folder.serve("--service echo=echo --users users --anonymous");
    assert_eq!(folder.says("echo").0, 0);
    fs::rename(folder.path("pipe"), folder.path("users")).unwrap();
    assert_eq!(folder.says("echo").0, 0, "it waits for the pipe");
    fs::create_dir(folder.path("records")).unwrap();
    pipe("records/evil.record");
    let directory = "directory --key web.key --listen 127.0.0.1:0 --records records";
    let mut directory = folder.begin(directory);
    // The log has a thread of its own, so either line may be first.
    let said = [directory.line("record"), directory.line("record")].concat();
    assert!(
        said.contains("not a record") && said.contains("0 records"),
        "{said}"
    );
}

/// A server whose standard error nobody reads serves, and ends as it should.
#[test]
fn a_server_that_nobody_hears_serves() {
    let folder = Folder::new();
    let serve = "serve --key web.key --listen 127.0.0.1:0 --service echo=echo --anonymous";
    assert_eq!(folder.unheard(&format!("{serve} --duration 1s")), Some(0));
}
