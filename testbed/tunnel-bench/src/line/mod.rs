//! A line between two hosts of this machine: two network namespaces, each with a TUN device, and a thread
//! between them that delays packets and loses some.
//!
//! A network namespace belongs to a thread. It ends with the process, and there is nothing to clean up.

mod forwarder;
mod tun;

pub use forwarder::{Condition, Line};

use nix::sched::{CloneFlags, unshare};
use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::process::Command;

/// The two hosts of a line.
#[derive(Clone, Copy)]
pub enum Host {
    Server,
    Client,
}

impl Host {
    /// Its address.
    pub fn address(self) -> IpAddr {
        let last = match self {
            Self::Server => 1,
            Self::Client => 2,
        };
        // Of the block for benchmarks, RFC 2544.
        IpAddr::from([198, 18, 0, last])
    }

    fn other(self) -> Self {
        match self {
            Self::Server => Self::Client,
            Self::Client => Self::Server,
        }
    }

    /// Makes this thread, and all that it starts, run on that host. The result is the host's end of the line.
    pub fn enter(self) -> io::Result<OwnedFd> {
        unshare(CloneFlags::CLONE_NEWNET).map_err(|error| {
            let hint = "needs a network namespace of its own: run it as root";
            io::Error::other(format!("{error}\nhint: it {hint}"))
        })?;
        let device = tun::open("line")?;
        let (own, other) = (self.address(), self.other().address());
        ip(&format!("address add {own} peer {other} dev line"))?;
        // Only what the line loses is lost.
        ip("link set line up txqueuelen 20000")?;
        ip("link set lo up")?;
        // Thousands of short connections: ports must come back at once. Where it fails, ports may run out.
        let _ = fs::write("/proc/sys/net/ipv4/tcp_tw_reuse", "1");
        // Every connection starts knowing nothing of the line, as QUIC's do here.
        let _ = fs::write("/proc/sys/net/ipv4/tcp_no_metrics_save", "1");
        Ok(device)
    }
}

fn ip(arguments: &str) -> io::Result<()> {
    let status = Command::new("ip").args(arguments.split(' ')).status();
    let status = status.map_err(|error| {
        io::Error::new(error.kind(), format!("ip: {error}\nhint: install iproute2"))
    })?;
    if status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("ip {arguments}: {status}")))
}
