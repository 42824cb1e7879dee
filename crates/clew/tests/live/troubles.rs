//! What commands say while something is wrong, and that they say it once.

use super::hosts::ready;
use super::lan::{Lan, ONE, TWO, text, until};
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use std::fs;
use std::path::PathBuf;
use std::process::Output;

pub const ENFORCE: &str = "inbound = \"enforce\"\noutbound = \"require\"";

pub fn said(output: &Output) -> String {
    text(&output.stderr) + &text(&output.stdout)
}

pub fn status(lan: &Lan) -> (Option<i32>, String) {
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
