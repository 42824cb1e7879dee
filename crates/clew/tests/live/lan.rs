//! Hosts on one Ethernet, each a network namespace, with keys of one group.

use crate::skipped::skipped;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Hosts. The last one has no daemon.
pub const ONE: usize = 0;
pub const TWO: usize = 1;
pub const OTHER: usize = 2;
const HOSTS: usize = 3;
/// A host that few tests have: see [`Lan::add_behind`].
pub const BEHIND: usize = 3;

/// Precursors of a daemon.
const POOL: usize = 256;

/// The user who runs the data plane, on every Linux.
pub const NOBODY: (u32, u32) = (65_534, 65_534);

/// Longest wait for what takes a moment.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A network; gone when dropped.
pub struct Lan {
    folder: tempfile::TempDir,
    /// Short, so that names of daemons can be made of it.
    id: String,
    daemons: Vec<Child>,
}

fn command(program: &str, arguments: &str) -> Output {
    let output = Command::new(program).args(arguments.split(' ')).output();
    output.unwrap_or_else(|_| Output {
        status: ExitStatus::from_raw(256),
        stdout: Vec::new(),
        stderr: Vec::new(),
    })
}

/// Waits until something is so.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "{what}: not in {PATIENCE:?}");
        sleep(Duration::from_millis(20));
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Lan {
    /// None where this machine has no namespaces to give.
    pub fn new() -> Option<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let id = format!("{:x}{number:x}", std::process::id() % 0xfffff);
        let folder = tempfile::tempdir().unwrap();
        let lan = Self {
            folder,
            id,
            daemons: Vec::new(),
        };
        let has = |program: &str| command(program, "-V").status.success();
        let has_programs = ["nft", "ping", "python3"].into_iter().all(has);
        let made = |host: usize| command("ip", &format!("netns add {}", lan.host(host)));
        if !has_programs || !(0..HOSTS).all(|host| made(host).status.success()) {
            skipped("root, ip, nft, ping and python3");
            return None;
        }
        // The user of the data plane reads files of it.
        fs::set_permissions(lan.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        lan.wire();
        lan.enrol();
        Some(lan)
    }

    /// The namespace of a host.
    pub fn host(&self, host: usize) -> String {
        format!("clew-{}-{host}", self.id)
    }

    /// The name of a host's daemon.
    pub fn name(&self, host: usize) -> String {
        format!("{}-{host}", self.id)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn v4(host: usize) -> String {
        format!("10.8.1.{}", host + 1)
    }

    pub fn v6(host: usize) -> String {
        format!("fd08::{}", host + 1)
    }

    /// A bridge in the last host's namespace joins all.
    fn wire(&self) {
        self.ip(OTHER, "link add lan type bridge");
        self.ip(OTHER, "link set lan up");
        for host in 0..HOSTS {
            if host == OTHER {
                self.address(host, "lan");
                continue;
            }
            let peer = self.host(OTHER);
            self.ip(
                host,
                &format!("link add wire type veth peer name port{host} netns {peer}"),
            );
            self.ip(OTHER, &format!("link set port{host} master lan up"));
            self.ip(host, "link set lo up");
            // An address of the link that comes later would look like a change.
            self.ip(host, "link set wire addrgenmode none");
            self.ip(host, "link set wire up");
            self.address(host, "wire");
        }
    }

    /// Adds a host behind the first one: their devices are both called `inside`.
    pub fn add_behind(&self) {
        let behind = self.host(BEHIND);
        assert!(
            command("ip", &format!("netns add {behind}"))
                .status
                .success()
        );
        let cable = format!("link add inside type veth peer name inside netns {behind}");
        self.ip(ONE, &cable);
        for host in [ONE, BEHIND] {
            self.ip(host, "link set inside up");
            self.ip(host, "link set lo up");
        }
    }

    fn address(&self, host: usize, device: &str) {
        let (v4, v6) = (Self::v4(host), Self::v6(host));
        self.ip(host, &format!("addr add {v4}/24 dev {device}"));
        self.ip(host, &format!("addr add {v6}/64 dev {device} nodad"));
    }

    /// A group, with a key for each host that has a daemon.
    fn enrol(&self) {
        let group = self.path("acme");
        let group = group.to_str().unwrap();
        self.clew(&["group", "create", group, "--name", "acme"]);
        for host in [ONE, TWO] {
            let key = self.path(&format!("{host}.key"));
            self.clew(&[
                "enrol",
                group,
                &format!("host-{host}"),
                "-o",
                key.to_str().unwrap(),
            ]);
            chown(&key, Some(NOBODY.0), Some(NOBODY.1)).unwrap();
        }
        self.publish();
    }

    /// Copies the group file to where daemons read it, as an administrator does: another file takes
    /// its name.
    pub fn publish(&self) {
        fs::copy(self.path("acme/public/group.clew"), self.path("new.clew")).unwrap();
        let readable = fs::Permissions::from_mode(0o644);
        fs::set_permissions(self.path("new.clew"), readable).unwrap();
        fs::rename(self.path("new.clew"), self.path("group.clew")).unwrap();
    }

    /// Runs clew outside of the network.
    #[track_caller]
    pub fn clew(&self, arguments: &[&str]) {
        let output = Command::new(env!("CARGO_BIN_EXE_clew"))
            .args(arguments)
            .output();
        let output = output.unwrap();
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            text(&output.stderr)
        );
    }

    #[track_caller]
    pub fn ip(&self, host: usize, arguments: &str) -> String {
        let output = command("ip", &format!("-n {} {arguments}", self.host(host)));
        assert!(
            output.status.success(),
            "ip {arguments}: {}",
            text(&output.stderr)
        );
        text(&output.stdout)
    }

    /// A program in a host.
    pub fn within(&self, host: usize, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.host(host), program]);
        command
    }

    /// clew in a host.
    pub fn in_host(&self, host: usize, arguments: &[&str]) -> Output {
        let mut command = self.within(host, env!("CARGO_BIN_EXE_clew"));
        command.args(arguments).output().unwrap()
    }

    /// A Python program in a host, which says "ready" when it is.
    pub fn python(&self, host: usize, program: &str) -> Child {
        let mut command = self.within(host, "python3");
        let command = command.args(["-c", program]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        child.spawn().unwrap()
    }

    /// Writes the configuration of a host whose peer is the other one.
    pub fn configure(&self, host: usize, keys: &str, endpoint: bool) -> PathBuf {
        let peer = 1 - host;
        let (v4, v6) = (Self::v4(peer), Self::v6(peer));
        let endpoint = match endpoint {
            true => format!("endpoint = \"{v4}\"\n"),
            false => String::new(),
        };
        // More would take the time of other tests.
        let signing = match keys.contains("[signing]") {
            true => String::new(),
            false => format!("[signing]\npool = {POOL}\n"),
        };
        let path = self.path(&format!("{}.toml", self.name(host)));
        let config = format!(
            "key = \"{host}.key\"\nuser = \"nobody\"\n{keys}\n{signing}[[peer]]\n\
             prefixes = [\"{v4}/32\", \"{v6}/128\"]\n{endpoint}group = \"group.clew\"\n"
        );
        fs::write(&path, config).unwrap();
        path
    }

    /// Starts a host's daemon and waits until it is up.
    pub fn up(&mut self, host: usize, config: &Path, flags: &[&str]) -> usize {
        let place = self.start(host, config, flags);
        until("clew up", || self.is_up(host, place));
        place
    }

    /// Starts a host's daemon.
    pub fn start(&mut self, host: usize, config: &Path, flags: &[&str]) -> usize {
        let log = fs::File::create(self.path(&format!("{host}.log"))).unwrap();
        let mut command = self.within(host, env!("CARGO_BIN_EXE_clew"));
        let command = command.arg("up").args(flags).arg(config);
        let child = command.stdout(Stdio::null()).stderr(log).spawn().unwrap();
        self.daemons.push(child);
        self.daemons.len() - 1
    }

    pub fn log(&self, host: usize) -> String {
        fs::read_to_string(self.path(&format!("{host}.log"))).unwrap_or_default()
    }

    fn is_up(&mut self, host: usize, daemon: usize) -> bool {
        let ended = self.daemons[daemon].try_wait().unwrap();
        assert_eq!(ended, None, "{}", self.log(host));
        self.log(host).contains(" is up: ")
    }

    /// How `clew up` ended.
    pub fn ended(&mut self, daemon: usize) -> Option<i32> {
        let daemon = &mut self.daemons[daemon];
        until("the end of clew up", || {
            daemon.try_wait().unwrap().is_some()
        });
        daemon.wait().unwrap().code()
    }

    /// Kills `clew up`, however far it is.
    pub fn kill(&mut self, daemon: usize) {
        let daemon = &mut self.daemons[daemon];
        daemon.kill().unwrap();
        daemon.wait().unwrap();
    }

    /// The process that supervises, and the one of the data plane.
    pub fn processes(&self, host: usize) -> [i32; 2] {
        let status = self.status(host);
        let plane = status["process"].as_i64().unwrap() as i32;
        let parent = fs::read_to_string(format!("/proc/{plane}/stat")).unwrap();
        let parent = parent
            .rsplit(')')
            .next()
            .unwrap()
            .split(' ')
            .nth(2)
            .unwrap();
        [parent.parse().unwrap(), plane]
    }

    pub fn status(&self, host: usize) -> serde_json::Value {
        let output = self.in_host(host, &["status", &self.name(host), "--json"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    #[track_caller]
    pub fn down(&self, host: usize) {
        let output = self.in_host(host, &["down", &self.name(host)]);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }

    /// What the unit runs after its daemon ended in this way.
    pub fn after_stop(&self, host: usize, result: &str) -> Output {
        let mut command = self.within(host, env!("CARGO_BIN_EXE_clew"));
        command.env("SERVICE_RESULT", result);
        let command = command.args(["down", "--after-stop", &self.name(host)]);
        command.output().unwrap()
    }

    /// Everything that a daemon changes in a host.
    pub fn state(&self, host: usize) -> Vec<String> {
        let asked = [
            "-4 rule",
            "-6 rule",
            "-4 route show table all",
            "-6 route show table all",
        ];
        let mut state: Vec<String> = asked.iter().map(|of| self.ip(host, of)).collect();
        // Times and the counters of the table's generation change by themselves.
        state.push(self.ip(host, "-br link"));
        let rules = self
            .within(host, "nft")
            .args(["list", "ruleset"])
            .output()
            .unwrap();
        state.push(text(&rules.stdout));
        let filters = "cat /proc/sys/net/ipv4/conf/*/rp_filter";
        let filters = self
            .within(host, "sh")
            .args(["-c", filters])
            .output()
            .unwrap();
        state.push(text(&filters.stdout));
        let place = PathBuf::from("/run/clew").join(self.name(host));
        state.push(format!("place: {}", place.exists()));
        state
    }

    /// Whether a host answers.
    pub fn pings(&self, from: usize, to: &str) -> bool {
        let mut ping = self.within(from, "ping");
        let output = ping.args(["-c", "1", "-W", "2", to]).output().unwrap();
        output.status.success()
    }
}

impl Drop for Lan {
    fn drop(&mut self) {
        for host in [ONE, TWO] {
            self.in_host(host, &["down", &self.name(host)]);
            let state = Path::new("/var/lib/clew-live").join(self.name(host));
            let _ = fs::remove_dir_all(state);
        }
        for daemon in &mut self.daemons {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        for host in 0..=BEHIND {
            command("ip", &format!("netns del {}", self.host(host)));
        }
    }
}
