//! Who supervises: what it keeps for other versions, planes that fail, keys that it does not read.

use super::hosts::both;
use super::lan::{Lan, ONE, TWO, text, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::{BufRead, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

const ENFORCE: &str = "inbound = \"enforce\"\noutbound = \"require\"";

fn kill_hard(process: i32) {
    kill(Pid::from_raw(process), Signal::SIGKILL).unwrap();
}

fn kept(lan: &Lan) -> PathBuf {
    Path::new("/run/clew").join(lan.name(ONE)).join("kept")
}

fn edit(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from} is not in {text}");
    fs::write(path, text.replace(from, to)).unwrap();
}

fn config(lan: &Lan) -> PathBuf {
    lan.path(&format!("{}.toml", lan.name(ONE)))
}

fn replaced(lan: &Lan) -> Output {
    lan.in_host(ONE, &["up", "--replace", config(lan).to_str().unwrap()])
}

/// What another version kept: with a key that this one does not know, and with another form.
#[test]
fn set_ups_of_other_versions_are_compared_by_their_keys() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, ENFORCE);
    edit(
        &kept(&lan),
        "\"setup\":{",
        "\"later\":1,\"setup\":{\"new-key\":false,",
    );
    let done = replaced(&lan);
    assert!(done.status.success(), "{}", text(&done.stderr));
    // A crash of all: the set-up stays, and `clew up` takes it.
    kill_hard(lan.processes(ONE)[0]);
    until("the end of the data plane", || {
        !lan.in_host(ONE, &["status", &lan.name(ONE)])
            .status
            .success()
    });
    lan.up(ONE, &config(&lan), &[]);
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
    edit(&kept(&lan), "\"new-key\":false", "\"new-key\":true");
    let other_key = "new-key differ";
    let other_version =
        "version 2 of what supervisor and data plane exchange: this one has version 1";
    for said in [other_key, other_version] {
        let done = replaced(&lan);
        let stderr = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(said), "{stderr}");
        edit(&kept(&lan), "\"version\":", "\"version\":2,\"was\":");
    }
    assert!(lan.pings(ONE, &Lan::v4(TWO)), "it goes on");
    lan.down(ONE);
}

/// A data plane that fails again and again is replaced at once, and the service manager hears meanwhile that
/// its supervisor lives.
#[test]
fn a_plane_that_fails_again_and_again_can_be_replaced() {
    let Some(lan) = Lan::new() else { return };
    let path = lan.configure(ONE, ENFORCE, true);
    let socket = lan.path("notify");
    let manager = UnixDatagram::bind(&socket).unwrap();
    manager.set_nonblocking(true).unwrap();
    let log = fs::File::create(lan.path("0.log")).unwrap();
    let mut command = lan.within(ONE, env!("CARGO_BIN_EXE_clew"));
    let command = command.arg("up").arg(&path).env("NOTIFY_SOCKET", &socket);
    let mut daemon = command.stderr(log).spawn().unwrap();
    until("clew up", || lan.log(ONE).contains(" is up: "));
    let key = lan.path("0.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o000)).unwrap();
    let [supervisor, plane] = lan.processes(ONE);
    kill_hard(plane);
    let heard = || {
        let mut room = [0; 256];
        let mut next = || {
            let length = manager.recv(&mut room).ok()?;
            Some(text(&room[..length]))
        };
        std::iter::from_fn(&mut next)
            .filter(|said| said.contains("WATCHDOG=1"))
            .count()
    };
    let failures = |log: &str| log.matches("the data plane did not start: ").count();
    // A socket that nobody reads would hold up who writes.
    let signs_until_failure = |count: usize| {
        let mut signs = 0;
        until("failures", || {
            signs += heard();
            failures(&lan.log(ONE)) >= count
        });
        signs
    };
    signs_until_failure(3);
    assert!(
        signs_until_failure(4) >= 1,
        "eight seconds without a sign of life"
    );
    assert!(
        lan.log(ONE).contains("0.key: permission denied"),
        "{}",
        lan.log(ONE)
    );
    // From here on it waits for sixteen seconds.
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let begin = Instant::now();
    let done = replaced(&lan);
    assert!(
        done.status.success(),
        "{}{}",
        text(&done.stderr),
        lan.log(ONE)
    );
    assert!(
        begin.elapsed() < Duration::from_secs(12),
        "not at once: {:?}",
        begin.elapsed()
    );
    assert_eq!(lan.processes(ONE)[0], supervisor);
    lan.down(ONE);
    assert!(daemon.wait().unwrap().success());
}

/// A program that holds up whoever opens a file: its reader waits for a line. Before it goes on, another such
/// file takes the name. The last one holds up nobody.
const SLOW_FILE: &str = "import fcntl, os, signal, sys\n\
    key, slow = sys.argv[1:]\n\
    signal.signal(signal.SIGIO, lambda *_: print('asked', flush=True))\n\
    def put(lease):\n    \
        data = open(key, 'rb').read()\n    \
        fd = os.open(slow + '.new', os.O_RDWR | os.O_CREAT, 0o600)\n    \
        os.write(fd, data)\n    \
        os.fchown(fd, 65534, 65534)\n    \
        if lease: fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)\n    \
        os.rename(slow + '.new', slow)\n    \
        return fd\n\
    fd = put(True)\n\
    print('ready', flush=True)\n\
    for lease in [True, False]:\n    \
        sys.stdin.readline()\n    \
        old, fd = fd, put(lease)\n    \
        os.close(old)\n\
    sys.stdin.readline()";

/// The new data plane reads its key while packets still go to the one before alone; and it reads it once.
#[test]
fn a_new_plane_reads_its_files_before_packets_wait_for_it() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, &format!("{ENFORCE}\ninterface = \"tun7\""));
    let mut holder = std::process::Command::new("python3")
        .args(["-c", SLOW_FILE])
        .args([lan.path("0.key"), lan.path("slow.key")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut orders = holder.stdin.take().unwrap();
    let mut heard = std::io::BufReader::new(holder.stdout.take().unwrap()).lines();
    let mut hear = |word: &str| assert_eq!(heard.next().unwrap().unwrap(), word);
    hear("ready");
    edit(&config(&lan), "0.key", "slow.key");
    let queues = || {
        let mut ls = lan.within(ONE, "sh");
        let found = ls
            .args(["-c", "ls -d /sys/class/net/tun7/queues/tx-*"])
            .output();
        text(&found.unwrap().stdout).lines().count()
    };
    assert_eq!(queues(), 1);
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| replaced(&lan));
        for _ in ["the probe", "the new data plane"] {
            hear("asked");
            assert_eq!(queues(), 1, "a queue that nobody reads");
            assert!(lan.pings(ONE, &Lan::v4(TWO)));
            writeln!(orders, "go").unwrap();
        }
        let done = asked.join().unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
    });
    assert_eq!(queues(), 1);
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
    drop(orders);
    holder.wait().unwrap();
}

/// Root without the power to read others' files, and a key of the data plane's user.
#[test]
fn root_reads_no_key() {
    let Some(lan) = Lan::new() else { return };
    let path = lan.configure(ONE, ENFORCE, true);
    fs::set_permissions(lan.path("0.key"), fs::Permissions::from_mode(0o600)).unwrap();
    let mut command = lan.within(ONE, "setpriv");
    let command = command.args(["--bounding-set=-dac_override,-dac_read_search"]);
    let command = command.args([env!("CARGO_BIN_EXE_clew"), "up", "--check"]);
    let output = command.arg(&path).output().unwrap();
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}{}", text(&output.stderr));
    assert!(said.contains("signs as       host-0, epoch 0"), "{said}");
}

/// Nobody confirms, and the supervisor is killed: it is undone all the same.
#[test]
fn what_nobody_confirms_does_not_outlast_its_supervisor() {
    let Some(mut lan) = Lan::new() else { return };
    let before = lan.state(ONE);
    let path = lan.configure(ONE, ENFORCE, true);
    let crash = |lan: &mut Lan| {
        let daemon = lan.up(ONE, &path, &["--confirm", "5s"]);
        kill_hard(lan.processes(ONE)[0]);
        lan.ended(daemon);
        assert_ne!(lan.state(ONE), before);
    };
    // As a service manager does.
    crash(&mut lan);
    // Somebody may set the clock of day meanwhile.
    let uptime = fs::read_to_string("/proc/uptime").unwrap();
    let uptime: f64 = uptime.split(' ').next().unwrap().parse().unwrap();
    let until = kept(&lan).with_file_name("unconfirmed");
    let until: f64 = fs::read_to_string(until).unwrap().parse().unwrap();
    assert!(
        until <= uptime + 5.0,
        "{until}, and {uptime} since the start"
    );
    let mut command = lan.within(ONE, env!("CARGO_BIN_EXE_clew"));
    let command = command.env("SERVICE_RESULT", "signal");
    let after = command.args(["down", "--after-stop"]).arg(&path).output();
    assert!(after.unwrap().status.success());
    assert_eq!(lan.state(ONE), before);
    // Started again, the deadline goes on.
    crash(&mut lan);
    let again = lan.start(ONE, &path, &[]);
    assert_eq!(lan.ended(again), Some(1), "{}", lan.log(ONE));
    assert!(
        lan.log(ONE).contains("not confirmed in time"),
        "{}",
        lan.log(ONE)
    );
    assert_eq!(lan.state(ONE), before);
}

#[test]
fn a_second_daemon_with_a_prefix_of_the_first_is_refused() {
    let Some(mut lan) = Lan::new() else { return };
    let path = lan.configure(ONE, "", true);
    let first = fs::read_to_string(&path).unwrap();
    lan.up(ONE, &path, &[]);
    let before = lan.state(ONE);
    let other = lan.path(&format!("{}-b.toml", lan.name(ONE)));
    fs::write(
        &other,
        format!("port = 5909\ninterface = \"second\"\n{first}"),
    )
    .unwrap();
    let second = lan.in_host(ONE, &["up", other.to_str().unwrap()]);
    let said = text(&second.stderr);
    assert_eq!(second.status.code(), Some(2), "{said}");
    let wanted = format!("another daemon: {} has {}/32", lan.name(ONE), Lan::v4(TWO));
    assert!(said.contains(&wanted), "{said}");
    assert_eq!(lan.state(ONE), before);
    // In another namespace it is another network.
    let two = lan.configure(TWO, "", true);
    let same = first.replace("0.key", "1.key");
    fs::write(&two, same).unwrap();
    let mut moved = lan.within(TWO, "sh");
    let script = format!(
        "ip addr del {0}/24 dev wire; ip addr del {1}/64 dev wire; ip addr add 10.8.1.77/24 dev wire; \
         ip addr add fd08::77/64 dev wire nodad",
        Lan::v4(TWO),
        Lan::v6(TWO)
    );
    let moved = moved.args(["-c", &script]).stdout(Stdio::null()).status();
    assert!(moved.unwrap().success());
    lan.up(TWO, &two, &[]);
}

/// What root's process cannot make again stands in a file, and so in the metrics of the data plane.
#[test]
fn what_is_not_in_force_is_a_metric() {
    let Some(mut lan) = Lan::new() else { return };
    let path = lan.configure(ONE, "metrics = \"127.0.0.1:9909\"", true);
    lan.up(ONE, &path, &[]);
    let program = "import urllib.request\n\
        print(urllib.request.urlopen('http://127.0.0.1:9909/metrics').read().decode())";
    let shows = |line: &str| {
        let output = lan.python(ONE, program).wait_with_output().unwrap();
        text(&output.stdout).lines().any(|found| found == line)
    };
    until("the metric", || shows("clew_live_in_force 1"));
    let trouble = Path::new("/run/clew")
        .join(lan.name(ONE))
        .join("not-in-force");
    fs::write(&trouble, "nftables").unwrap();
    fs::set_permissions(&trouble, fs::Permissions::from_mode(0o644)).unwrap();
    until("the metric of trouble", || shows("clew_live_in_force 0"));
    fs::remove_file(&trouble).unwrap();
    until("the end of it", || shows("clew_live_in_force 1"));
}
