//! Whoever breaks into a process without privileges does not reach the terminal of root.

use super::lan::{Lan, NOBODY, ONE, text, until};
use super::trailer;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::chown;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Runs a program in a terminal of its own, and copies what it writes there.
const IN_TERMINAL: &str = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)";

/// `clew up` in a terminal.
fn up_in_terminal(lan: &Lan, config: &Path) -> Child {
    let log = fs::File::create(lan.path("0.log")).unwrap();
    let mut command = lan.within(ONE, "python3");
    let command = command.args(["-c", IN_TERMINAL, env!("CARGO_BIN_EXE_clew"), "up"]);
    let command = command.arg(config).stdin(Stdio::null());
    let child = command.stdout(log).stderr(Stdio::null()).spawn().unwrap();
    until("clew up", || lan.log(ONE).contains(" is up: "));
    child
}

/// The numbers behind the name in `/proc/PID/stat`: state is the first one.
fn stat(process: i32) -> Vec<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let behind = stat.rsplit_once(") ").unwrap().1;
    behind.split(' ').map(str::to_owned).collect()
}

fn parent(process: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// Whether a process runs as the user of data planes. Those of root look after the set-up meanwhile.
fn is_nobodys(process: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    status.contains(&format!("\nUid:\t{}\t", NOBODY.0))
}

/// All processes without privileges that a process started, and that these started.
fn below(process: i32) -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let all: Vec<i32> = numbers.collect();
    let is_below = |one: &i32| {
        let mut at = Some(*one);
        std::iter::from_fn(|| {
            at = parent(at?);
            at
        })
        .any(|above| above == process)
    };
    let all = all.into_iter().filter(is_below);
    all.filter(|one| is_nobodys(*one)).collect()
}

/// Session and terminal, by `proc(5)`.
fn session_and_terminal(process: i32) -> (String, String) {
    let fields = stat(process);
    (fields[3].clone(), fields[4].clone())
}

fn standard_streams(process: i32) -> Vec<PathBuf> {
    let streams = [0, 1, 2].into_iter();
    let links = streams.filter_map(|fd| fs::read_link(format!("/proc/{process}/fd/{fd}")).ok());
    links.collect()
}

#[test]
fn no_process_without_privileges_has_a_terminal() {
    for carrier in ["udp-tunnel", "trailer"] {
        let Some(lan) = Lan::new() else { return };
        let config = match carrier {
            "trailer" => trailer::configure(&lan, ONE, "", 1_500),
            _ => lan.configure(ONE, "", true),
        };
        let mut daemon = up_in_terminal(&lan, &config);
        let [supervisor, plane] = lan.processes(ONE);
        let (session, terminal) = session_and_terminal(supervisor);
        assert_ne!(terminal, "0", "the test has no terminal");
        let below = below(supervisor);
        let count = if carrier == "trailer" { 2 } else { 1 };
        assert_eq!(below.len(), count, "{below:?}");
        assert!(below.contains(&plane), "{below:?}");
        for process in below {
            let (own, terminal) = session_and_terminal(process);
            assert_eq!(terminal, "0", "process {process}, {carrier}");
            assert_ne!(own, session, "process {process}, {carrier}");
            let streams = standard_streams(process);
            let is_terminal = |path: &PathBuf| path.starts_with("/dev/pts");
            assert!(!streams.iter().any(is_terminal), "{streams:?}");
        }
        lan.down(ONE);
        assert!(daemon.wait().unwrap().success());
    }
}

/// Ctrl-C and Ctrl-\\ reach the process of root alone, which ends the others and undoes everything.
#[test]
fn ctrl_c_ends_all_and_undoes_everything() {
    for signal in [Signal::SIGINT, Signal::SIGQUIT] {
        ends_all_and_undoes_everything(signal);
    }
}

fn ends_all_and_undoes_everything(signal: Signal) {
    let Some(lan) = Lan::new() else { return };
    let before = lan.state(ONE);
    let config = lan.configure(ONE, "inbound = \"enforce\"", true);
    let mut daemon = up_in_terminal(&lan, &config);
    let [supervisor, plane] = lan.processes(ONE);
    // As the terminal does: to the whole group in the foreground.
    let group: i32 = stat(supervisor)[5].parse().unwrap();
    kill(Pid::from_raw(-group), signal).unwrap();
    assert!(daemon.wait().unwrap().success(), "{}", lan.log(ONE));
    assert!(lan.log(ONE).contains(" is down"), "{}", lan.log(ONE));
    assert!(!Path::new(&format!("/proc/{plane}")).exists());
    assert_eq!(lan.state(ONE), before);
}

/// Writes into the standard error of the data plane, as code within it could.
fn write_as_plane(plane: i32, bytes: &[u8]) {
    let mut stderr = fs::OpenOptions::new()
        .write(true)
        .open(format!("/proc/{plane}/fd/2"))
        .unwrap();
    stderr.write_all(bytes).unwrap();
}

#[test]
fn what_a_data_plane_writes_controls_no_terminal() {
    let Some(mut lan) = Lan::new() else { return };
    let config = lan.configure(ONE, "", true);
    lan.up(ONE, &config, &[]);
    let plane = lan.processes(ONE)[1];
    let line = b"clew: warning: \x1b]0;title\x07\x1b[2J\x9b2J behind\r\n";
    write_as_plane(plane, line);
    // More than the pipe holds, and a line without end.
    write_as_plane(plane, &[b'x'; 200_000]);
    write_as_plane(plane, b"\nclew: warning: the last one\n");
    until("the lines", || lan.log(ONE).contains("the last one"));
    let log = lan.log(ONE);
    let said = "clew: warning: \\u{1b}]0;title\\u{7}\\u{1b}[2J\u{fffd}2J behind\n";
    assert!(log.contains(said), "{log}");
    let is_plain = |c: char| c == '\n' || !c.is_control();
    assert!(log.chars().all(is_plain), "{log:?}");
    let longest = log.lines().map(str::len).max();
    assert!(longest < Some(5_000), "{longest:?}");
}

/// A data plane that is somebody else's answers `clew status` and `clew reload`.
#[test]
fn what_a_data_plane_answers_controls_no_terminal() {
    let Some(lan) = Lan::new() else { return };
    let folder = Path::new("/run/clew").join(lan.name(ONE)).join("daemon");
    fs::create_dir_all(&folder).unwrap();
    let control = folder.join("control");
    let listener = UnixListener::bind(&control).unwrap();
    chown(&control, Some(NOBODY.0), Some(NOBODY.1)).unwrap();
    let asked = |command: &str, answer: Option<&str>| {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut stream = listener.accept().unwrap().0;
                // A socket that is closed with something unread resets the other end.
                let mut request = String::new();
                BufReader::new(&stream).read_line(&mut request).unwrap();
                match answer {
                    Some(answer) => writeln!(stream, "{answer}").unwrap(),
                    // A byte now and then.
                    None => {
                        while stream.write_all(b" ").is_ok() {
                            std::thread::sleep(Duration::from_millis(200));
                        }
                    }
                }
            });
            let output = lan.in_host(ONE, &[command, &lan.name(ONE)]);
            let said = text(&output.stderr) + &text(&output.stdout);
            (output.status.code(), said)
        })
    };
    let (status, said) = asked(
        "reload",
        Some("{\"refused\":\"\\u001b]52;c;eA==\\u0007\\nclew: fine\"}"),
    );
    assert_eq!(status, Some(1), "{said}");
    assert!(
        said.contains("\\u{1b}]52;c;eA==\\u{7}\\nclew: fine"),
        "{said:?}"
    );
    assert!(!said.contains('\u{1b}'), "{said:?}");
    let begin = Instant::now();
    let (status, said) = asked("status", None);
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("no answer"), "{said}");
    assert!(
        begin.elapsed() < Duration::from_secs(20),
        "{:?}",
        begin.elapsed()
    );
    fs::remove_dir_all(folder.parent().unwrap()).unwrap();
}
