//! The address for metrics, which other users of the host would like to have.

use super::hosts::{both, ready};
use super::lan::{Lan, ONE, TWO, text, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const METRICS: &str = "inbound = \"enforce\"\noutbound = \"require\"\nmetrics = \"127.0.0.1:9909\"";

fn answers(lan: &Lan) -> bool {
    let program = "import urllib.request\n\
        urllib.request.urlopen('http://127.0.0.1:9909/metrics', timeout=10)";
    let output = lan.python(ONE, program).wait_with_output().unwrap();
    output.status.success()
}

fn notices(lan: &Lan) -> String {
    lan.status(ONE)["notices"].to_string()
}

/// A user without privileges tries to take the port, without a pause, and keeps it.
const TAKE: &str = "import os, socket, time\nos.setuid(65534)\nprint('ready', flush=True)\n\
    while True:\n  s = socket.socket()\n  s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n  \
      try:\n    s.bind(('127.0.0.1', 9909))\n    s.listen()\n    time.sleep(600)\n  \
      except OSError: s.close()";

#[test]
fn nobody_takes_the_address_between_two_data_planes() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, METRICS);
    let mut thief = lan.python(ONE, TAKE);
    ready(&mut thief);
    let config = lan.path(&format!("{}.toml", lan.name(ONE)));
    for _ in 0..2 {
        let done = lan.in_host(ONE, &["up", "--replace", config.to_str().unwrap()]);
        assert!(done.status.success(), "{}", text(&done.stderr));
        assert!(answers(&lan));
    }
    let [_, plane] = lan.processes(ONE);
    kill(Pid::from_raw(plane), Signal::SIGKILL).unwrap();
    until("another process", || {
        let done = lan.in_host(ONE, &["status", &lan.name(ONE)]);
        done.status.success()
    });
    assert!(answers(&lan));
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
    assert!(!notices(&lan).contains("9909"), "{}", notices(&lan));
    thief.kill().unwrap();
    thief.wait().unwrap();
}

/// All processes were killed, and somebody has the address before they start again.
#[test]
fn a_set_up_goes_on_without_metrics_until_the_address_is_free() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, METRICS);
    let [supervisor, plane] = lan.processes(ONE);
    for process in [supervisor, plane] {
        // The data plane may have ended with its supervisor.
        let _ = kill(Pid::from_raw(process), Signal::SIGKILL);
    }
    let program = "import socket, time\ns = socket.socket()\n\
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n\
        while True:\n  try:\n    s.bind(('127.0.0.1', 9909))\n    break\n  except OSError: time.sleep(0.01)\n\
        s.listen()\nprint('ready', flush=True)\ntime.sleep(600)";
    let mut thief = lan.python(ONE, program);
    ready(&mut thief);
    let config = lan.path(&format!("{}.toml", lan.name(ONE)));
    lan.up(ONE, &config, &[]);
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
    until("a notice", || {
        notices(&lan).contains("another program has this address")
    });
    thief.kill().unwrap();
    thief.wait().unwrap();
    until("metrics", || answers(&lan));
    until("no notice", || !notices(&lan).contains("9909"));
}
