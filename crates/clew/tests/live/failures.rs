//! Daemons that are killed, and set-ups that fail half-way: nothing is left, nothing passes that must
//! not.

use super::hosts::both;
use super::lan::{Lan, NOBODY, ONE, TWO, until};
use crate::skipped::skipped;
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, User, mkfifo};
use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

fn kill_hard(process: i32) {
    kill(Pid::from_raw(process), Signal::SIGKILL).unwrap();
}

#[test]
fn down_undoes_what_killed_processes_left() {
    let Some(mut lan) = Lan::new() else { return };
    let before = lan.state(ONE);
    both(&mut lan, "inbound = \"enforce\"\noutbound = \"require\"");
    let [supervisor, _] = lan.processes(ONE);
    // Nobody would see to the set-up: the data plane ends, too.
    kill_hard(supervisor);
    until("silence", || !lan.pings(ONE, &Lan::v4(TWO)));
    until("the end of the data plane", || {
        let status = lan.in_host(ONE, &["status", &lan.name(ONE)]);
        let said = super::lan::text(&status.stderr);
        status.status.code() == Some(1) && said.contains("its daemon does not run")
    });
    assert_ne!(lan.state(ONE), before, "nothing passes");
    lan.down(ONE);
    assert_eq!(lan.state(ONE), before);
    let again = lan.in_host(ONE, &["down", &lan.name(ONE)]);
    assert_eq!(again.status.code(), Some(1), "it is not up");
}

/// A data plane that ends leaves the host as it was, unless the policy lets nothing pass then.
#[test]
fn a_killed_data_plane_is_undone_or_starts_again() {
    let Some(mut lan) = Lan::new() else { return };
    let before = lan.state(ONE);
    let config = lan.configure(ONE, "inbound = \"monitor\"", true);
    let daemon = lan.up(ONE, &config, &[]);
    kill_hard(lan.processes(ONE)[1]);
    assert_eq!(lan.ended(daemon), Some(2));
    assert!(lan.log(ONE).contains("all is undone"), "{}", lan.log(ONE));
    assert_eq!(lan.state(ONE), before);
    assert!(lan.pings(ONE, &Lan::v4(TWO)), "as before");
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, "inbound = \"enforce\"");
    let [supervisor, plane] = lan.processes(ONE);
    kill_hard(plane);
    until("another data plane", || {
        let output = lan.in_host(ONE, &["status", &lan.name(ONE), "--json"]);
        output.status.success() && lan.processes(ONE)[1] != plane
    });
    assert_eq!(lan.processes(ONE)[0], supervisor);
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
    assert!(lan.log(ONE).contains("nothing passes"), "{}", lan.log(ONE));
}

#[test]
fn a_second_daemon_of_the_name_is_refused() {
    let Some(mut lan) = Lan::new() else { return };
    let config = lan.configure(ONE, "", true);
    lan.up(ONE, &config, &[]);
    let [supervisor, _] = lan.processes(ONE);
    let second = lan.in_host(ONE, &["up", config.to_str().unwrap()]);
    let said = super::lan::text(&second.stderr);
    assert_eq!(second.status.code(), Some(2), "{said}");
    assert!(
        said.contains(&format!("runs already, as process {supervisor}")),
        "{said}"
    );
    assert!(
        lan.status(ONE)["process"].is_number(),
        "the first one goes on"
    );
}

#[test]
fn what_nobody_confirms_is_undone() {
    let Some(mut lan) = Lan::new() else { return };
    let before = lan.state(ONE);
    let config = lan.configure(ONE, "inbound = \"enforce\"", true);
    let daemon = lan.up(ONE, &config, &["--confirm", "3s"]);
    assert_eq!(lan.ended(daemon), Some(1));
    assert!(
        lan.log(ONE).contains("not confirmed in time"),
        "{}",
        lan.log(ONE)
    );
    assert_eq!(lan.state(ONE), before);
    let wait = Duration::from_secs(8);
    let daemon = lan.up(ONE, &config, &["--confirm", "8s"]);
    let confirmed = lan.in_host(ONE, &["confirm", &lan.name(ONE)]);
    assert!(confirmed.status.success(), "{confirmed:?}");
    std::thread::sleep(wait + Duration::from_secs(2));
    assert!(lan.status(ONE)["process"].is_number(), "it stays up");
    let again = lan.in_host(ONE, &["confirm", &lan.name(ONE)]);
    assert_eq!(again.status.code(), Some(1), "nothing waits");
    lan.down(ONE);
    assert_eq!(lan.ended(daemon), Some(0));
    let late = lan.in_host(ONE, &["confirm", &lan.name(ONE)]);
    assert_eq!(late.status.code(), Some(1));
}

/// The time is over, and the data plane takes seconds to end: whoever confirms meanwhile hears that it is too late.
#[test]
fn a_confirmation_during_the_undo_is_too_late() {
    let Some(mut lan) = Lan::new() else { return };
    let before = lan.state(ONE);
    let config = lan.configure(ONE, "inbound = \"enforce\"", true);
    let daemon = lan.up(ONE, &config, &["--confirm", "2s"]);
    let plane = lan.processes(ONE)[1];
    kill(Pid::from_raw(plane), Signal::SIGSTOP).unwrap();
    let status = format!("/proc/{plane}/status");
    until("the end of the time", || {
        is_pending(&status, Signal::SIGTERM)
    });
    let late = lan.in_host(ONE, &["confirm", &lan.name(ONE)]);
    let said = super::lan::text(&late.stderr);
    assert_eq!(late.status.code(), Some(1), "{said}");
    assert!(said.contains("too late to confirm it"), "{said}");
    assert_eq!(lan.ended(daemon), Some(1), "{}", lan.log(ONE));
    assert_eq!(lan.state(ONE), before);
}

/// Whether a stopped process will get a signal as soon as it goes on.
fn is_pending(status: &str, signal: Signal) -> bool {
    let text = fs::read_to_string(status).unwrap();
    let mut lines = text.lines();
    let pending = lines.find_map(|line| line.strip_prefix("ShdPnd:")).unwrap();
    let pending = u64::from_str_radix(pending.trim(), 16).unwrap();
    pending & (1 << (signal as u64 - 1)) != 0
}

/// `clew up` as a user who may have so many threads, and whom no other test has. `None` where there is no such user.
fn up_with_threads(lan: &Lan, user: &str, threads: u32) -> Option<Output> {
    let Ok(Some(found)) = User::from_name(user) else {
        skipped(&format!("user {user}"));
        return None;
    };
    let config = lan.configure(ONE, "", true);
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("nobody", user)).unwrap();
    chown(lan.path("0.key"), Some(found.uid.as_raw()), None).unwrap();
    let mut command = lan.within(ONE, "prlimit");
    command.arg(format!("--nproc={threads}"));
    let command = command.args([env!("CARGO_BIN_EXE_clew"), "up"]);
    Some(command.arg(&config).output().unwrap())
}

/// Its user may have no second thread.
#[test]
fn a_thread_that_the_system_refuses_is_one_sentence() {
    let Some(lan) = Lan::new() else { return };
    let before = lan.state(ONE);
    let Some(output) = up_with_threads(&lan, "bin", 1) else {
        return;
    };
    let said = super::lan::text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    let wanted = "the data plane did not start: cannot start a thread: ";
    assert_eq!(said.matches(wanted).count(), 1, "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert_eq!(lan.state(ONE), before);
}

/// It may have one thread more, which is not enough: the program of before may know no such file as this one keeps.
#[test]
fn a_data_plane_that_does_not_start_leaves_what_earlier_ones_knew() {
    let Some(lan) = Lan::new() else { return };
    let state = Path::new("/var/lib/clew-live").join(lan.name(ONE));
    fs::create_dir_all(&state).unwrap();
    fs::write(state.join("groups"), "[]").unwrap();
    let Some(output) = up_with_threads(&lan, "daemon", 2) else {
        return;
    };
    let said = super::lan::text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("cannot start a thread"), "{said}");
    let kept = fs::read_to_string(state.join("groups")).unwrap();
    assert_eq!(kept, "[]");
}

/// The service manager has killed both already, and gives their undo little time: a process that does not end is not
/// asked to first.
#[test]
fn after_a_service_nobody_is_waited_for_long() {
    let Some(mut lan) = Lan::new() else { return };
    let before = lan.state(ONE);
    let config = lan.configure(ONE, "", true);
    let daemon = lan.up(ONE, &config, &[]);
    let plane = Pid::from_raw(lan.processes(ONE)[1]);
    kill(plane, Signal::SIGSTOP).unwrap();
    lan.kill(daemon);
    let begin = Instant::now();
    assert!(lan.after_stop(ONE, "timeout").status.success());
    let waited = begin.elapsed();
    assert!(waited < Duration::from_secs(10), "{waited:?}");
    assert_eq!(lan.state(ONE), before);
}

/// The data plane's user put something that never ends into the place of what it remembers.
#[test]
fn a_pipe_in_the_place_of_a_file_is_said_at_once() {
    let Some(mut lan) = Lan::new() else { return };
    let before = lan.state(ONE);
    let config = lan.configure(ONE, "", true);
    let state = Path::new("/var/lib/clew-live").join(lan.name(ONE));
    fs::create_dir_all(&state).unwrap();
    let pipe = |name: &str| {
        mkfifo(&state.join(name), Mode::S_IRWXU).unwrap();
        chown(state.join(name), Some(NOBODY.0), Some(NOBODY.1)).unwrap();
    };
    pipe("groups");
    let daemon = lan.start(ONE, &config, &[]);
    assert_eq!(lan.ended(daemon), Some(2), "{}", lan.log(ONE));
    assert!(
        lan.log(ONE).contains("/groups: not a regular file"),
        "{}",
        lan.log(ONE)
    );
    assert_eq!(lan.state(ONE), before);
    fs::remove_file(state.join("groups")).unwrap();
    // What is only written takes the place of anything.
    pipe("groups.new");
    lan.up(ONE, &config, &[]);
    until("the file", || state.join("groups").is_file());
    lan.down(ONE);
}

/// Whoever had broken into the data plane can leave a file by which everything was accepted already. Status
/// names it, and what to do helps.
#[test]
fn a_file_by_which_all_was_accepted_already_is_named_with_what_helps() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, "");
    lan.down(TWO);
    let file = Path::new("/var/lib/clew-live")
        .join(lan.name(TWO))
        .join("accepted");
    let all = r#"{"version":2,"all":[[0,99999999999]],"groups":[]}"#;
    fs::write(&file, all).unwrap();
    let config = lan.path(&format!("{}.toml", lan.name(TWO)));
    lan.up(TWO, &config, &[]);
    let said = format!("{} names all of the next 30 seconds", file.display());
    until("the notice", || {
        assert!(!lan.pings(ONE, &Lan::v4(TWO)), "all is refused");
        lan.status(TWO)["notices"].to_string().contains(&said)
    });
    let verdicts = &lan.status(TWO)["inbound"]["verdicts"];
    assert!(verdicts["stale"].as_u64() > Some(0), "{verdicts}");
    // It is handed on.
    lan.down(TWO);
    lan.up(TWO, &config, &[]);
    until("the notice", || {
        lan.status(TWO)["notices"].to_string().contains(&said)
    });
    lan.down(TWO);
    fs::remove_file(&file).unwrap();
    lan.up(TWO, &config, &[]);
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
    let notices = lan.status(TWO)["notices"].to_string();
    assert!(!notices.contains("names"), "{notices}");
}
