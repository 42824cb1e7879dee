//! What commands say while something is wrong, and that they say it once.

use super::hosts::ready;
use super::lan::{Lan, ONE, TWO, text, until};
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const ENFORCE: &str = "inbound = \"enforce\"\noutbound = \"require\"";

fn said(output: &Output) -> String {
    text(&output.stderr) + &text(&output.stdout)
}

fn status(lan: &Lan) -> (Option<i32>, String) {
    let output = lan.in_host(ONE, &["status", &lan.name(ONE)]);
    (output.status.code(), said(&output))
}

/// A data plane whose key is gone fails again and again; then the key is there again.
#[test]
fn a_failing_data_plane_is_told_of_with_its_cause_until_it_is_up_again() {
    let Some(mut lan) = Lan::new() else { return };
    let config = lan.configure(ONE, ENFORCE, true);
    lan.up(ONE, &config, &[]);
    let plane = lan.processes(ONE)[1];
    let [key, away] = ["0.key", "away.key"].map(|name| lan.path(name));
    fs::rename(&key, &away).unwrap();
    kill(Pid::from_raw(plane), Signal::SIGKILL).unwrap();
    until("the cause", || {
        let (code, said) = status(&lan);
        code == Some(1)
            && said.contains("its data plane fails: /")
            && said.contains("0.key: file does not exist; it is tried again ")
    });
    let (_, said) = status(&lan);
    assert!(!said.contains("clew down"), "the supervisor lives: {said}");
    let json = lan.in_host(ONE, &["status", "--json", &lan.name(ONE)]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(
        (&json["running"], &json["set_up"]),
        (&false.into(), &true.into()),
        "{json}"
    );
    let failures = |log: &str| log.matches("0.key: file does not exist").count();
    until("two failures", || failures(&lan.log(ONE)) >= 2);
    fs::rename(&away, &key).unwrap();
    until("the end of it", || {
        lan.log(ONE).contains("the data plane is up again")
    });
    assert_eq!(status(&lan).0, Some(0));
    let log = lan.log(ONE);
    let again = log.matches("; it is tried again in ").count();
    assert_eq!(failures(&log), again, "each once, with its time: {log}");
    lan.down(ONE);
}

/// Somebody stops the data plane, and lets it go on.
#[test]
fn a_data_plane_that_hangs_is_told_of_once() {
    let Some(mut lan) = Lan::new() else { return };
    let config = lan.configure(ONE, ENFORCE, true);
    lan.up(ONE, &config, &[]);
    let plane = Pid::from_raw(lan.processes(ONE)[1]);
    kill(plane, Signal::SIGSTOP).unwrap();
    let hangs = "the data plane does not answer any more";
    until("a word of it", || lan.log(ONE).contains(hangs));
    let (code, said) = status(&lan);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("no answer from its data plane"), "{said}");
    assert!(
        said.contains(&format!("hint: ps -o stat,wchan -p {plane}")),
        "{said}"
    );
    kill(plane, Signal::SIGCONT).unwrap();
    let again = "the data plane answers again";
    until("the end of it", || lan.log(ONE).contains(again));
    let log = lan.log(ONE);
    let count = |said: &str| log.matches(said).count();
    assert_eq!((count(hangs), count(again)), (1, 1), "{log}");
    assert_eq!(status(&lan).0, Some(0));
}

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

/// Who starts then would find a set-up that is gone a moment later.
#[test]
fn nobody_starts_while_all_is_undone() {
    let Some(mut lan) = Lan::new() else { return };
    let before = lan.state(ONE);
    let config = lan.configure(ONE, ENFORCE, true);
    lan.up(ONE, &config, &[]);
    for process in lan.processes(ONE) {
        kill(Pid::from_raw(process), Signal::SIGKILL).unwrap();
    }
    let [asked, go] = ["asked", "go"].map(|name| lan.path(name));
    let script = format!(
        "[ \"$1 $2\" = 'link del' ] && {{ touch {}; until [ -e {} ]; do sleep 0.05; done; }}\nexec $REAL \"$@\"",
        asked.display(),
        go.display()
    );
    let mut command = with_another(&lan, "ip", &script);
    let mut down = command.args(["down", &lan.name(ONE)]).spawn().unwrap();
    until("the undo", || asked.exists());
    let again = lan.start(ONE, &config, &[]);
    assert_eq!(lan.ended(again), Some(2), "{}", lan.log(ONE));
    let wanted = format!("runs already, as process {}", down.id());
    assert!(lan.log(ONE).contains(&wanted), "{}", lan.log(ONE));
    fs::write(go, "").unwrap();
    assert!(down.wait().unwrap().success());
    assert_eq!(lan.state(ONE), before);
    lan.up(ONE, &config, &[]);
    lan.down(ONE);
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
    let mut after = lan.within(ONE, env!("CARGO_BIN_EXE_clew"));
    let after = after.env("SERVICE_RESULT", "exit-code");
    let after = after.args(["down", "--after-stop", &lan.name(ONE)]);
    assert!(after.status().unwrap().success());
    let hint = format!("hint: clew down {} undoes what is left", lan.name(ONE));
    assert!(text(&ended.stderr).contains(&hint));
    assert_eq!(lan.state(ONE), before);
}

/// While rules are made the old way in still works: a confirmation then would say nothing.
#[test]
fn nobody_confirms_before_all_is_set_up() {
    let Some(lan) = Lan::new() else { return };
    let config = lan.configure(ONE, ENFORCE, true);
    let [asked, go] = ["asked", "go"].map(|name| lan.path(name));
    let script = format!(
        "[ \"$1\" = -f ] && {{ touch {}; until [ -e {} ]; do sleep 0.05; done; }}\nexec $REAL \"$@\"",
        asked.display(),
        go.display()
    );
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
    let [asked, go] = ["asked", "go"].map(|name| lan.path(name));
    let script = format!(
        "touch {}\nuntil [ -e {} ]; do sleep 0.05; done\nexec $REAL \"$@\"",
        asked.display(),
        go.display()
    );
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

/// Nobody supervises: both ways out are named.
#[test]
fn after_a_killed_supervisor_both_ways_out_are_named() {
    let Some(mut lan) = Lan::new() else { return };
    let config = lan.configure(ONE, ENFORCE, true);
    let daemon = lan.up(ONE, &config, &[]);
    kill(Pid::from_raw(lan.processes(ONE)[0]), Signal::SIGKILL).unwrap();
    lan.ended(daemon);
    until("the end of the data plane", || {
        status(&lan).1.contains("its daemon does not run")
    });
    let (code, said) = status(&lan);
    let name = lan.name(ONE);
    let wanted = format!(
        "clew up CONFIG starts it again; clew down {name} undoes the set-up, which lets unsigned packets pass again"
    );
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(&wanted), "{said}");
    let confirmed = lan.in_host(ONE, &["confirm", &name]);
    assert_eq!(confirmed.status.code(), Some(1));
    let said = text(&confirmed.stderr);
    assert!(
        said.contains("is set up, but its daemon does not run"),
        "{said}"
    );
    // As the only daemon of a host, it needs no name.
    let copy = lan.path("run");
    let script = format!(
        "mkdir {0} && cp -a /run/clew/{name} {0} && mount --bind {0} /run/clew && $0 status --json; \
         rm -r {0}/{name}; $0 status; echo $?",
        copy.display()
    );
    let mut command = lan.within(ONE, "unshare");
    let command = command.args(["-m", "sh", "-c", &script, env!("CARGO_BIN_EXE_clew")]);
    let output = command.output().unwrap();
    let stdout = text(&output.stdout);
    let (json, code) = stdout.split_once('\n').unwrap();
    let json: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!(
        (&json["name"], &json["set_up"]),
        (&name.into(), &true.into()),
        "{json}"
    );
    assert_eq!(code, "1\n", "no daemon is set up: {}", text(&output.stderr));
    lan.up(ONE, &config, &[]);
    assert_eq!(status(&lan).0, Some(0));
}

/// The supervisor was killed while it set up: status, check and up say the same.
#[test]
fn a_set_up_in_part_is_said_by_all() {
    let Some(mut lan) = Lan::new() else { return };
    let config = lan.configure(ONE, ENFORCE, true);
    let kept = fs::read_to_string(&config).unwrap() + "keepalive = 25\n";
    fs::write(&config, kept).unwrap();
    let daemon = lan.up(ONE, &config, &[]);
    let check = ["up", "--check", config.to_str().unwrap()];
    let output = lan.in_host(ONE, &check);
    assert!(output.status.success(), "{}", said(&output));
    assert!(
        said(&output).contains("already, and runs as process"),
        "{}",
        said(&output)
    );
    let keepalive = format!("to {}/32 from {}: needed", Lan::v4(TWO), Lan::v4(ONE));
    assert!(said(&output).contains(&keepalive), "{}", said(&output));
    kill(Pid::from_raw(lan.processes(ONE)[0]), Signal::SIGKILL).unwrap();
    lan.ended(daemon);
    until("the end of the data plane", || {
        status(&lan).1.contains("its daemon does not run")
    });
    // What is written last.
    fs::remove_file(PathBuf::from("/run/clew").join(lan.name(ONE)).join("force")).unwrap();
    let name = lan.name(ONE);
    for (arguments, code) in [
        (&["status", &name][..], 1),
        (&check[..], 1),
        (&["up", config.to_str().unwrap()][..], 2),
    ] {
        let output = lan.in_host(ONE, arguments);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(
            said.contains("is set up in part, and no daemon runs"),
            "{said}"
        );
        assert!(said.contains(&format!("clew down {name}")), "{said}");
    }
    lan.down(ONE);
}

/// Ports of others and addresses of nobody: `clew up --check` says no, and `clew up` says the same.
#[test]
fn what_is_taken_is_named_by_check_and_up_alike() {
    let Some(lan) = Lan::new() else { return };
    let before = lan.state(ONE);
    let program = "import socket, time\nu = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
        u.bind(('0.0.0.0', 4909))\nt = socket.socket()\nt.bind(('127.0.0.1', 9909))\nt.listen()\n\
        print('ready', flush=True)\ntime.sleep(600)";
    let mut other = lan.python(ONE, program);
    ready(&mut other);
    let free = "port = 4919\ntable = 4919";
    for (keys, wanted, hint) in [
        (
            "".to_owned(),
            "UDP port 4909: another program has it",
            "`port` sets another one",
        ),
        (
            format!("{free}\nmetrics = \"127.0.0.1:9909\""),
            "metrics = \"127.0.0.1:9909\": another program has this address",
            "`metrics` sets another one",
        ),
        (
            format!("{free}\nmetrics = \"198.51.100.7:9909\""),
            "metrics = \"198.51.100.7:9909\": this host has no such address",
            "ip addr",
        ),
        (
            format!("{free}\ninterface = \"lo\""),
            "interface lo exists already",
            "choose another `interface`",
        ),
    ] {
        let config = lan.configure(ONE, &keys, true);
        let config = config.to_str().unwrap();
        for (arguments, code) in [(&["up", "--check", config][..], 1), (&["up", config], 2)] {
            let output = lan.in_host(ONE, arguments);
            let stderr = text(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
            assert_eq!(stderr.matches(wanted).count(), 1, "{arguments:?}: {stderr}");
            assert!(stderr.contains(hint), "{stderr}");
        }
        assert_eq!(lan.state(ONE), before);
    }
    other.kill().unwrap();
    other.wait().unwrap();
    let config = lan.configure(ONE, "metrics = \"127.0.0.1:9909\"", true);
    let output = lan.in_host(ONE, &["up", "--check", config.to_str().unwrap()]);
    assert!(output.status.success(), "{}", said(&output));
}

/// Whoever opens a pipe waits for another program: nobody opens one.
#[test]
fn pipes_are_refused_at_once() {
    let Some(lan) = Lan::new() else { return };
    let pipe = |name: &str| -> PathBuf {
        let path = lan.path(name);
        mkfifo(&path, Mode::from_bits_truncate(0o644)).unwrap();
        path
    };
    let [_, _, alone] = ["pipe.key", "pipe.clew", "pipe.toml"].map(pipe);
    let config = lan.configure(ONE, "", true);
    let good = fs::read_to_string(&config).unwrap();
    for (from, to) in [("0.key", "pipe.key"), ("group.clew", "pipe.clew")] {
        fs::write(&config, good.replace(from, to)).unwrap();
        let output = lan.in_host(ONE, &["up", "--check", config.to_str().unwrap()]);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        let wanted = format!("{to}: need a file, have a pipe or a device");
        assert!(said.contains(&wanted), "{said}");
    }
    let output = lan.in_host(ONE, &["up", "--check", alone.to_str().unwrap()]);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("pipe.toml: need a file, have a pipe"),
        "{said}"
    );
}
