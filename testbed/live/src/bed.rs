//! The namespaces of a run. What a run leaves behind when it is killed, the next one removes.

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::Command;

/// Nothing else on the machine begins so.
pub const PREFIX: &str = "clewbed-";
const LOCK: &str = "/run/clewbed.lock";

/// The right to run: one run at a time, as root.
pub struct Bed {
    _lock: File,
    /// For keys, configurations and logs.
    pub folder: PathBuf,
}

impl Bed {
    /// Waits for nobody: if another run is under way, that is an error.
    pub fn open() -> io::Result<Self> {
        if !geteuid().is_root() {
            return Err(io::Error::other("it needs root\nhint: sudo live-bench ..."));
        }
        let lock = File::create(LOCK)?;
        lock.try_lock().map_err(|_| {
            io::Error::other(format!("another run is under way ({LOCK} is locked)"))
        })?;
        clean()?;
        let folder = PathBuf::from("/run/clewbed");
        fs::create_dir_all(&folder)?;
        Ok(Self {
            _lock: lock,
            folder,
        })
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        if let Err(error) = clean() {
            eprintln!("live-bench: cleaning up: {error}");
        }
    }
}

/// A namespace with its loopback device.
pub struct Namespace {
    /// As `ip netns` knows it.
    pub name: String,
}

impl Namespace {
    /// Makes it, and states in it what every host here has.
    pub fn make(short: &str) -> io::Result<Self> {
        let name = format!("{PREFIX}{short}");
        line::ip(&format!("netns add {name}"))?;
        let namespace = Self { name };
        namespace.ip("link set lo up")?;
        for (setting, value) in SETTINGS {
            namespace.set(setting, value)?;
        }
        Ok(namespace)
    }

    /// Runs `ip` in it.
    pub fn ip(&self, arguments: &str) -> io::Result<()> {
        line::ip(&format!("-n {} {arguments}", self.name))
    }

    /// Sets a variable below /proc/sys/net.
    pub fn set(&self, setting: &str, value: &str) -> io::Result<()> {
        let path = format!("/proc/sys/net/{setting}");
        line::in_namespace(&self.name, || fs::write(&path, value))
            .map_err(|error| io::Error::new(error.kind(), format!("{setting}: {error}")))
    }

    /// Runs a program in it to its end.
    pub fn run(&self, command: &str) -> io::Result<()> {
        let all = ["netns", "exec", &self.name];
        let output = Command::new("ip")
            .args(all)
            .args(command.split(' '))
            .output()?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(io::Error::other(format!("{command}: {}", said.trim())))
    }
}

/// What every host has. Reports state the buffers.
const SETTINGS: [(&str, &str); 6] = [
    ("ipv4/tcp_wmem", "4096 16384 67108864"),
    ("ipv4/tcp_rmem", "4096 131072 67108864"),
    // A connection starts knowing nothing of those before.
    ("ipv4/tcp_no_metrics_save", "1"),
    ("ipv6/conf/default/accept_dad", "0"),
    ("ipv4/conf/all/rp_filter", "0"),
    ("ipv4/conf/default/rp_filter", "0"),
];

/// What reports say of the buffers.
pub const BUFFERS: &str = "tcp_wmem and tcp_rmem: at most 64 MiB";

/// Removes all namespaces of runs, with the processes in them.
pub fn clean() -> io::Result<()> {
    let names = fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    for name in names.filter(|name| name.starts_with(PREFIX)) {
        let pids = Command::new("ip").args(["netns", "pids", &name]).output()?;
        let pids = String::from_utf8_lossy(&pids.stdout).into_owned();
        for pid in pids.split_whitespace().filter_map(|pid| pid.parse().ok()) {
            // It may have ended meanwhile.
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        line::ip(&format!("netns delete {name}"))?;
    }
    match fs::remove_dir_all("/run/clewbed") {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
