//! What an administrator mends while a daemon runs: a revoked key, a full disk, threads that stand still.
//! Each is said once, and over without a restart.

use super::hosts::both;
use super::lan::{Lan, NOBODY, ONE, TWO, text, until};
use super::traffic::settled;
use nix::sys::ptrace;
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use std::fs;
use std::os::unix::fs::chown;

const ENFORCE: &str = "inbound = \"enforce\"\noutbound = \"require\"";

fn notices(lan: &Lan, host: usize) -> String {
    lan.status(host)["notices"].to_string()
}

/// A machine is revoked while it runs, and gets a new key: it signs again, and is the same process.
#[test]
fn a_new_key_after_a_revocation_needs_no_restart() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, ENFORCE);
    let processes = lan.processes(ONE);
    let group = lan.path("acme");
    let group = group.to_str().unwrap();
    lan.clew(&["revoke", group, "host-0"]);
    lan.publish();
    until("the news", || notices(&lan, ONE).contains("was revoked"));
    assert!(!lan.pings(ONE, &Lan::v4(TWO)), "nothing is signed");
    let new = lan.path("new.key");
    lan.clew(&["enrol", group, "host-0b", "-o", new.to_str().unwrap()]);
    chown(&new, Some(NOBODY.0), Some(NOBODY.1)).unwrap();
    lan.publish();
    fs::rename(&new, lan.path("0.key")).unwrap();
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
    let status = lan.status(ONE);
    assert_eq!(status["signer"]["machine"], "host-0b", "{status}");
    assert!(status["signer"]["trouble"].is_null(), "{status}");
    assert!(!notices(&lan, ONE).contains("was revoked"), "it is over");
    assert_eq!(lan.processes(ONE), processes, "{}", lan.log(ONE));
    let log = lan.log(ONE);
    assert_eq!(log.matches("was revoked").count(), 1, "said once: {log}");
}

/// Runs a program where the daemon sees the file system.
#[track_caller]
fn beside_daemon(lan: &Lan, process: i32, script: &str) {
    let mut command = lan.within(ONE, "nsenter");
    let command = command.args(["-m", "-t", &process.to_string(), "sh", "-c", script]);
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{script}: {}",
        text(&output.stderr)
    );
}

/// The folder that keeps how new group files are has no room. The daemon follows them all the same, and
/// keeps that as soon as there is room.
#[test]
fn a_disk_that_is_full_while_a_daemon_runs_is_named_and_tried_again() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, &format!("{ENFORCE}\ngrace = 0"));
    let plane = lan.processes(ONE)[1];
    let folder = format!("/var/lib/clew-live/{}", lan.name(ONE));
    let fill = format!(
        "mount -t tmpfs -o size=32k,mode=0777 none {folder}; dd if=/dev/zero of={folder}/full 2>/dev/null; \
         test $(stat -c %s {folder}/full) -gt 0"
    );
    beside_daemon(&lan, plane, &fill);
    let group = lan.path("acme");
    let group = group.to_str().unwrap();
    lan.clew(&[
        "enrol",
        group,
        "other",
        "-o",
        lan.path("x").to_str().unwrap(),
    ]);
    lan.clew(&["revoke", group, "other"]);
    lan.publish();
    let said = "after a restart an older group file would count";
    until("the news", || lan.log(ONE).contains(said));
    until("a notice", || notices(&lan, ONE).contains(said));
    let accepted = format!("{folder}: no space left on device: {said}");
    until("a notice", || {
        lan.pings(ONE, &Lan::v4(TWO)) && notices(&lan, ONE).contains(&accepted)
    });
    assert!(lan.log(ONE).contains(&folder), "{}", lan.log(ONE));
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
    assert_eq!(lan.status(ONE)["signer"]["epoch"], 1, "it follows the file");
    let again = lan.in_host(ONE, &["reload", &lan.name(ONE)]);
    assert!(again.status.success(), "{}", text(&again.stderr));
    beside_daemon(&lan, plane, &format!("rm {folder}/full"));
    until("room", || {
        lan.log(ONE)
            .contains("what has to outlast a restart or a crash is kept again")
    });
    beside_daemon(&lan, plane, &format!("test -s {folder}/groups"));
    until("no such notice", || {
        let notices = notices(&lan, ONE);
        lan.pings(ONE, &Lan::v4(TWO)) && !notices.contains(said) && !notices.contains(&accepted)
    });
    let log = lan.log(ONE);
    assert_eq!(log.matches(said).count(), 1, "said once: {log}");
    assert_eq!(lan.processes(ONE)[1], plane);
}

/// Stops all threads of this name in a process, until [`go_on`].
fn stop(process: i32, of: &str) -> Vec<Pid> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let tasks: Vec<_> = tasks.map(|task| task.unwrap().path()).collect();
    let name = |path: &std::path::PathBuf| fs::read_to_string(path.join("comm")).unwrap();
    let wanted = tasks.iter().filter(|path| name(path).trim() == of);
    let number = |path: &std::path::PathBuf| path.file_name()?.to_str()?.parse().ok();
    let threads: Vec<Pid> = wanted.filter_map(number).map(Pid::from_raw).collect();
    assert!(!threads.is_empty(), "{tasks:?}");
    for thread in &threads {
        ptrace::seize(*thread, ptrace::Options::empty()).unwrap();
        ptrace::interrupt(*thread).unwrap();
        waitpid(*thread, Some(WaitPidFlag::__WALL)).unwrap();
    }
    threads
}

fn go_on(threads: Vec<Pid>) {
    for thread in threads {
        ptrace::detach(thread, None).unwrap();
    }
}

/// What writes in which seconds packets were accepted hangs, as with a disk that does not answer. Packets go
/// on, the daemon answers and says so, and it is over when the disk answers.
#[test]
fn a_disk_that_hangs_stops_neither_packets_nor_answers() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, ENFORCE);
    let plane = lan.processes(TWO)[1];
    let threads = stop(plane, "clew-accepted");
    let said = ": the disk is slow";
    until("the news", || {
        assert!(lan.pings(ONE, &Lan::v4(TWO)), "it goes on");
        notices(&lan, TWO).contains(said)
    });
    // Each of these seconds is one that the file lacks.
    let mut ping = lan.within(ONE, "ping");
    let ping = ping.args(["-q", "-c", "25", "-i", "0.2", "-W", "2", &Lan::v4(TWO)]);
    let output = text(&ping.output().unwrap().stdout);
    assert!(output.contains(" 0% packet loss"), "{output}");
    let answer = lan.in_host(TWO, &["reload", &lan.name(TWO)]);
    assert!(answer.status.success(), "{}", text(&answer.stderr));
    go_on(threads);
    until("no such notice", || !notices(&lan, TWO).contains(said));
    until("the news", || {
        lan.log(TWO)
            .contains("what has to outlast a restart or a crash is kept again")
    });
    let log = lan.log(TWO);
    assert_eq!(log.matches(said).count(), 1, "said once: {log}");
    assert_eq!(lan.processes(TWO)[1], plane);
    settled(&lan);
    // A daemon whose disk hangs ends all the same.
    let threads = stop(plane, "clew-accepted");
    std::thread::scope(|scope| {
        // The process is gone when its tracer saw the end of all threads.
        scope.spawn(|| {
            threads
                .iter()
                .try_for_each(|thread| waitpid(*thread, Some(WaitPidFlag::__WALL)).map(drop))
        });
        lan.down(TWO);
    });
}

/// Every verifier of the second host stands still: packets are given up in time, status says so, and all
/// goes on when they do.
#[test]
fn verifiers_that_stand_still_are_told_of_and_hold_nothing_for_long() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, ENFORCE);
    let threads = stop(lan.processes(TWO)[1], "clew-verify");
    let said = "verification has stood still";
    until("the news", || {
        assert!(!lan.pings(ONE, &Lan::v4(TWO)), "nothing is verified");
        notices(&lan, TWO).contains(said)
    });
    until("the end of what is held", || {
        lan.status(TWO)["inbound"]["held"] == 0
    });
    let refused = &lan.status(TWO)["inbound"]["refused"];
    assert!(refused["no-verdict"].as_u64() > Some(0), "{refused}");
    go_on(threads);
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
    until("no such notice", || !notices(&lan, TWO).contains(said));
    let log = lan.log(TWO);
    assert_eq!(log.matches(said).count(), 1, "said once: {log}");
    settled(&lan);
}
