//! Servers that end, and are there again.

use crate::folder::{Folder, Started};
use crate::renewal::address;
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Says something on a new connection: whether it comes back before long.
fn is_answered(at: &str) -> bool {
    let mut stream = TcpStream::connect(at).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(3)))
        .unwrap();
    stream.write_all(b"hello").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut back = Vec::new();
    stream.read_to_end(&mut back).is_ok() && back == b"hello"
}

/// Tries until it is.
fn is_answered_in(at: &str, time: Duration) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < time {
        if is_answered(at) {
            return true;
        }
        sleep(Duration::from_millis(100));
    }
    false
}

/// Serves at the address of the record that there is. The old record stays as it is.
fn again(folder: &Folder) -> Started {
    let at = address(folder);
    let line = format!("serve --key web.key --listen {at} --service web=echo --anonymous");
    folder.start(&line, "for ")
}

#[test]
fn new_connections_find_a_server_that_was_stopped_and_started() {
    let folder = Folder::new();
    let mut server = folder.serve("--service web=echo --anonymous");
    let (_client, at) = folder.listen("web");
    assert!(is_answered(&at));
    assert_eq!(server.stop().0, 0);
    let _server = again(&folder);
    assert!(is_answered_in(&at, Duration::from_secs(15)));
}

#[test]
fn a_server_that_crashed_is_named_and_found_again() {
    let folder = Folder::new();
    let server = folder.serve("--service web=echo --anonymous");
    let (mut client, at) = folder.listen("web");
    let mut open = TcpStream::connect(&at).unwrap();
    open.write_all(b"x").unwrap();
    let mut back = [0];
    open.read_exact(&mut back).unwrap();
    // Killed, without a word.
    drop(server);
    let _server = again(&folder);
    // What is asked for under the old key is not answered, and people learn it.
    open.write_all(b"y").unwrap();
    client.line("web: no answer: the server is gone, or began anew");
    assert!(is_answered_in(&at, Duration::from_secs(15)));
}

#[test]
fn a_server_without_a_word_leaves_the_record_for_the_next_start() {
    let folder = Folder::new();
    drop(folder.serve("--service web=echo --anonymous"));
    let record = fs::read(folder.path("web.record")).unwrap();
    let _server = again(&folder);
    assert_eq!(fs::read(folder.path("web.record")).unwrap(), record);
    // Its S' is gone, the record has not ended: the server says which one is new.
    assert_eq!(folder.says("web").0, 0);
}

#[test]
fn a_server_that_cannot_start_leaves_the_record_of_the_one_that_runs() {
    let folder = Folder::new();
    let _server = folder.serve("--service web=echo --anonymous");
    let record = fs::read(folder.path("web.record")).unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap();
    let (status, said) = folder.status(&format!(
        "serve --key web.key --listen 127.0.0.1:0 --record web.record --service web=echo \
         --anonymous --metrics {at}"
    ));
    assert_eq!(status, 2, "{said}");
    assert_eq!(fs::read(folder.path("web.record")).unwrap(), record);
}

#[test]
fn two_servers_do_not_share_an_address() {
    let folder = Folder::new();
    let _server = folder.serve("--service web=echo --anonymous --cores 2");
    let at = address(&folder);
    for cores in [1, 2] {
        let line = format!(
            "serve --key web.key --listen {at} --service web=echo --anonymous --cores {cores} --duration 1s"
        );
        let (status, said) = folder.status(&line);
        assert_eq!(status, 2, "{said}");
        assert!(said.contains("the address is in use"), "{said}");
    }
}
