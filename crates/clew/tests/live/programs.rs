//! `ip` and `nft` that wait or refuse: what is done, undone and said then.

use super::lan::{Lan, ONE, text, until};
use super::troubles::{ENFORCE, said, status};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// `clew up` where a script is in the place of `ip` or `nft`: see [`with_another`].
fn up_with_another(lan: &Lan, program: &str, script: &str, config: &Path) -> Command {
    let mut command = with_another(lan, program, script);
    command.arg("up").arg(config);
    command
}

/// `clew` where a script is in the place of `ip` or `nft`, which the script finds as `$REAL`.
fn with_another(lan: &Lan, program: &str, script: &str) -> Command {
    let [other, real] = ["other", "real"].map(|name| lan.path(&format!("{program}.{name}")));
    let script = format!("#!/bin/sh\nREAL={}\n{script}\n", real.display());
    fs::write(&other, script).unwrap();
    fs::set_permissions(&other, fs::Permissions::from_mode(0o755)).unwrap();
    let [sbin, bin] = ["sbin", "bin"].map(|folder| format!("/usr/{folder}/{program}"));
    let program = fs::canonicalize(sbin).or_else(|_| fs::canonicalize(bin));
    let program = program.unwrap();
    fs::copy(&program, &real).unwrap();
    let mount = format!(
        "mount --bind {} {} && exec \"$0\" \"$@\"",
        other.display(),
        program.display()
    );
    let mut command = lan.within(ONE, "unshare");
    command.args(["-m", "sh", "-c", &mount, env!("CARGO_BIN_EXE_clew")]);
    command.stderr(Stdio::piped());
    command
}

/// A program that waits if the condition holds: the first file appears then, and the second one lets it go on.
fn waiting(lan: &Lan, condition: &str) -> (String, [PathBuf; 2]) {
    let files = ["asked", "go"].map(|name| lan.path(name));
    let [asked, go] = files.each_ref().map(|path| path.display());
    let script = format!(
        "{condition} && {{ touch {asked}; until [ -e {go} ]; do sleep 0.05; done; }}\nexec $REAL \"$@\""
    );
    (script, files)
}

/// Who looks then finds a set-up that is gone a moment later: it waits, and makes its own.
#[test]
fn a_start_while_all_is_undone_waits_and_sets_up() {
    let Some(mut lan) = Lan::new() else { return };
    let before = lan.state(ONE);
    let config = lan.configure(ONE, ENFORCE, true);
    lan.up(ONE, &config, &[]);
    for process in lan.processes(ONE) {
        kill(Pid::from_raw(process), Signal::SIGKILL).unwrap();
    }
    let (script, [asked, go]) = waiting(&lan, "[ \"$1 $2\" = 'link del' ]");
    let mut command = with_another(&lan, "ip", &script);
    let mut down = command.args(["down", &lan.name(ONE)]).spawn().unwrap();
    until("the undo", || asked.exists());
    let again = lan.start(ONE, &config, &[]);
    // It has read its files by then.
    sleep(Duration::from_secs(1));
    fs::write(go, "").unwrap();
    assert!(down.wait().unwrap().success());
    until("clew up", || status(&lan).0 == Some(0));
    assert_ne!(lan.state(ONE), before);
    lan.down(ONE);
    assert_eq!(lan.ended(again), Some(0), "{}", lan.log(ONE));
    assert_eq!(lan.state(ONE), before);
}

/// A step fails, and so does the undo of those before: `clew up` says what helps.
#[test]
fn an_undo_that_fails_is_said_with_what_helps() {
    let Some(lan) = Lan::new() else { return };
    let before = lan.state(ONE);
    let config = lan.configure(ONE, ENFORCE, true);
    // Once the interface is made, nothing works.
    let made = lan.path("made");
    let script = "[ -e MADE ] && { echo refused >&2; exit 1; }\n\
                  [ \"$1\" = tuntap ] && touch MADE\nexec $REAL \"$@\"";
    let script = script.replace("MADE", made.to_str().unwrap());
    let output = up_with_another(&lan, "ip", &script, &config)
        .output()
        .unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("; the undo failed, too: ip "), "{said}");
    let hint = format!("hint: clew down {} undoes what is left", lan.name(ONE));
    assert!(said.contains(&hint), "{said}");
    let (_, status) = status(&lan);
    assert!(status.contains("is set up in part"), "{status}");
    lan.down(ONE);
    assert_eq!(lan.state(ONE), before);
}

/// Of an undo that failed nobody knows what is left: nobody makes the rest again, which no journal would have. The
/// service manager undoes it, and so does `clew down`.
#[test]
fn what_a_failed_undo_left_is_not_taken_for_a_whole_set_up() {
    let Some(mut lan) = Lan::new() else { return };
    let before = lan.state(ONE);
    let config = lan.configure(ONE, ENFORCE, true);
    let stuck = lan.path("stuck");
    let script = "[ -e STUCK -a \"$1 $2\" = 'link del' ] && { echo refused >&2; exit 1; }\n\
                  exec $REAL \"$@\"";
    let script = script.replace("STUCK", stuck.to_str().unwrap());
    let daemon = up_with_another(&lan, "ip", &script, &config)
        .spawn()
        .unwrap();
    until("clew up", || status(&lan).0 == Some(0));
    fs::write(stuck, "").unwrap();
    kill(Pid::from_raw(lan.processes(ONE)[0]), Signal::SIGTERM).unwrap();
    let ended = daemon.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(2), "{}", said(&ended));
    let left = lan.state(ONE);
    assert_ne!(left, before, "the interface is left");
    let again = lan.start(ONE, &config, &[]);
    assert_eq!(lan.ended(again), Some(2), "{}", lan.log(ONE));
    let said = lan.log(ONE);
    assert!(said.contains("is set up in part"), "{said}");
    assert_eq!(lan.state(ONE), left, "nothing is made again");
    let (code, said) = status(&lan);
    assert!(
        code == Some(1) && said.contains("is set up in part"),
        "{said}"
    );
    assert!(lan.after_stop(ONE, "exit-code").status.success());
    let hint = format!("hint: clew down {} undoes what is left", lan.name(ONE));
    assert!(text(&ended.stderr).contains(&hint));
    assert_eq!(lan.state(ONE), before);
}

/// While rules are made the old way in still works: a confirmation then would say nothing.
#[test]
fn nobody_confirms_before_all_is_set_up() {
    let Some(lan) = Lan::new() else { return };
    let config = lan.configure(ONE, ENFORCE, true);
    let (script, [asked, go]) = waiting(&lan, "[ \"$1\" = -f ]");
    let mut command = up_with_another(&lan, "nft", &script, &config);
    let mut daemon = command.args(["--confirm", "600s"]).spawn().unwrap();
    let name = lan.name(ONE);
    let confirm = || lan.in_host(ONE, &["confirm", &name]);
    until("its data plane", || {
        asked.exists() && status(&lan).0 == Some(0)
    });
    let early = confirm();
    fs::write(go, "").unwrap();
    let said = text(&early.stderr);
    assert_eq!(early.status.code(), Some(1), "{said}");
    assert!(said.contains("is starting"), "{said}");
    until("a confirmation", || confirm().status.success());
    let again = confirm();
    assert!(text(&again.stderr).contains("stays up already"), "once");
    lan.down(ONE);
    assert!(daemon.wait().unwrap().success());
}

/// Somebody removes the interface, and nobody can make it: nobody says that it was made.
#[test]
fn an_interface_that_cannot_be_made_again_is_not_said_to_be() {
    let Some(lan) = Lan::new() else { return };
    let before = lan.state(ONE);
    let config = lan.configure(ONE, ENFORCE, true);
    let stuck = lan.path("stuck");
    let script = format!(
        "[ -e {} -a \"$1\" = tuntap ] && {{ echo refused >&2; exit 1; }}\nexec $REAL \"$@\"",
        stuck.display()
    );
    let mut command = up_with_another(&lan, "ip", &script, &config);
    let log = fs::File::create(lan.path("0.log")).unwrap();
    let mut daemon = command.stderr(log).spawn().unwrap();
    until("clew up", || lan.log(ONE).contains(" is up: "));
    let interface = lan.status(ONE)["interface"].as_str().unwrap().to_owned();
    fs::write(&stuck, "").unwrap();
    lan.ip(ONE, &format!("link del dev {interface}"));
    // Each try of the data plane's start has had a try to make it before.
    let tries = || lan.log(ONE).matches(": refused; it is tried again").count();
    until("three tries", || tries() >= 3);
    let log = lan.log(ONE);
    assert!(!log.contains("made again"), "{log}");
    assert_eq!(log.matches("NOT in force: ").count(), 1, "{log}");
    fs::remove_file(stuck).unwrap();
    let made = format!("interface {interface} was removed: it is made again");
    until("the interface", || lan.log(ONE).contains(&made));
    until("a data plane", || status(&lan).0 == Some(0));
    assert_eq!(lan.log(ONE).matches(&made).count(), 1);
    lan.down(ONE);
    assert!(daemon.wait().unwrap().success());
    assert_eq!(lan.state(ONE), before);
}

/// Both look at the host before either changes it: the later one is told of the earlier one, not of its interface.
#[test]
fn of_two_starts_at_once_the_later_one_names_the_earlier_one() {
    let Some(mut lan) = Lan::new() else { return };
    let config = lan.configure(ONE, ENFORCE, true);
    let (script, [asked, go]) = waiting(&lan, "true");
    let later = up_with_another(&lan, "ip", &script, &config)
        .spawn()
        .unwrap();
    until("its first look", || asked.exists());
    lan.up(ONE, &config, &[]);
    fs::write(go, "").unwrap();
    let output = later.wait_with_output().unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    let process = lan.processes(ONE)[0];
    assert!(
        said.contains(&format!("runs already, as process {process}")),
        "{said}"
    );
    lan.down(ONE);
}
