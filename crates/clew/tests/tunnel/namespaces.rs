//! Two hosts on a wire, each a network namespace of its own.

use nix::sched::{CloneFlags, setns};
use std::fs::File;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

/// The host of the client, and the server's.
pub const CLIENT: usize = 0;
pub const SERVER: usize = 1;

/// Where the server is, and the client at first.
pub const SERVER_AT: &str = "10.8.1.2";
pub const CLIENT_AT: &str = "10.8.1.1";

/// Hosts; gone when dropped.
pub struct Hosts([String; 2]);

fn ip(arguments: &str) -> bool {
    let output = Command::new("ip").args(arguments.split(' ')).output();
    output.is_ok_and(|output| output.status.success())
}

impl Hosts {
    /// None where this machine has no namespaces to give: without root, or without `ip`.
    pub fn new() -> Option<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let (id, number) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let hosts = Self(["c", "s"].map(|host| format!("clew-tun-{id}-{number}{host}")));
        if !hosts.0.iter().all(|name| ip(&format!("netns add {name}"))) {
            return None;
        }
        let [c, s] = &hosts.0;
        let wire = format!("link add wire netns {c} type veth peer name wire netns {s}");
        assert!(ip(&wire), "namespaces, but no wire");
        hosts.ip(CLIENT, &format!("addr add {CLIENT_AT}/24 dev wire"));
        hosts.ip(SERVER, &format!("addr add {SERVER_AT}/24 dev wire"));
        for host in [CLIENT, SERVER] {
            hosts.ip(host, "link set wire up");
            hosts.ip(host, "link set lo up");
        }
        Some(hosts)
    }

    pub fn name(&self, host: usize) -> &str {
        &self.0[host]
    }

    /// Changes the network of a host.
    pub fn ip(&self, host: usize, arguments: &str) {
        let done = ip(&format!("-n {} {arguments}", self.0[host]));
        assert!(done, "ip {arguments}");
    }

    /// What `make` makes in the host, sockets for example: they stay there.
    pub fn within<T: Send>(&self, host: usize, make: impl FnOnce() -> T + Send) -> T {
        let path = format!("/var/run/netns/{}", self.0[host]);
        let enter = || {
            setns(File::open(path).unwrap(), CloneFlags::CLONE_NEWNET).unwrap();
            make()
        };
        thread::scope(|scope| scope.spawn(enter).join().unwrap())
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in &self.0 {
            ip(&format!("netns del {name}"));
        }
    }
}
