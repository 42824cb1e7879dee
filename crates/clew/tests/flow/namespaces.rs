//! Network namespaces: three hosts in a row, the middle one of which is the network.

use nix::sched::{CloneFlags, setns};
use std::fs::File;
use std::process::Command;
use std::thread;

/// Hosts `sender`, `line` and `receiver`, joined by two wires; gone when dropped.
pub struct Hosts {
    names: [String; 3],
}

/// The interface of each host towards its neighbour, by name.
pub const TO_LINE: &str = "wire";
pub const TO_SENDER: &str = "left";
pub const TO_RECEIVER: &str = "right";

fn ip(arguments: &str) -> bool {
    let status = Command::new("ip").args(arguments.split(' ')).status();
    status.is_ok_and(|status| status.success())
}

impl Hosts {
    /// None where this machine has no namespaces to give: without root, or without `ip`.
    pub fn new() -> Option<Self> {
        let id = std::process::id();
        let hosts = Self {
            names: ["a", "b", "c"].map(|host| format!("clew-{id}-{host}")),
        };
        let [a, b, c] = &hosts.names;
        if !hosts
            .names
            .iter()
            .all(|name| ip(&format!("netns add {name}")))
        {
            return None;
        }
        let made = [
            format!("link add {TO_LINE} netns {a} type veth peer name {TO_SENDER} netns {b}"),
            format!("link add {TO_RECEIVER} netns {b} type veth peer name {TO_LINE} netns {c}"),
            format!("-n {a} addr add 10.7.1.1/24 dev {TO_LINE}"),
            format!("-n {b} addr add 10.7.1.2/24 dev {TO_SENDER}"),
            format!("-n {b} addr add 10.7.2.2/24 dev {TO_RECEIVER}"),
            format!("-n {c} addr add 10.7.2.3/24 dev {TO_LINE}"),
            format!("-n {a} link set {TO_LINE} up"),
            format!("-n {b} link set {TO_SENDER} up"),
            format!("-n {b} link set {TO_RECEIVER} up"),
            format!("-n {c} link set {TO_LINE} up"),
            format!("-n {a} link set lo up"),
            format!("-n {b} link set lo up"),
            format!("-n {c} link set lo up"),
        ];
        assert!(
            made.iter().all(|command| ip(command)),
            "namespaces, but no wires"
        );
        Some(hosts)
    }

    pub fn sender(&self) -> &str {
        &self.names[0]
    }

    pub fn receiver(&self) -> &str {
        &self.names[2]
    }

    /// What `make` makes in the host, sockets for example: they stay there.
    pub fn within<T: Send>(&self, host: usize, make: impl FnOnce() -> T + Send) -> T {
        let path = format!("/var/run/netns/{}", self.names[host]);
        let enter = || {
            let file = File::open(path).unwrap();
            setns(file, CloneFlags::CLONE_NEWNET).unwrap();
            make()
        };
        thread::scope(|scope| scope.spawn(enter).join().unwrap())
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in &self.names {
            ip(&format!("netns del {name}"));
        }
    }
}
