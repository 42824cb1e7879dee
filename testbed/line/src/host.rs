//! Two hosts of a line without names: each is the network namespace of a thread.
//!
//! Such a namespace ends with the process, and there is nothing to clean up.

use crate::device::Device;
use nix::sched::{CloneFlags, unshare};
use std::fs;
use std::io;
use std::net::IpAddr;
use std::process::Command;

/// The two hosts of a line.
#[derive(Clone, Copy)]
pub enum Host {
    /// Who listens.
    Server,
    /// Who begins.
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

    /// Makes this thread, and all that it starts, run on that host. Returns the host's end of the line.
    pub fn enter(self, offload: bool) -> io::Result<Device> {
        unshare(CloneFlags::CLONE_NEWNET).map_err(|error| {
            let hint = "needs a network namespace of its own: run it as root";
            io::Error::other(format!("{error}\nhint: it {hint}"))
        })?;
        // What IPv6 has to say on a new device would be lost or not lost in place of other packets.
        let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
        let device = Device::open("line", offload)?;
        let (own, other) = (self.address(), self.other().address());
        ip(&format!("address add {own} peer {other} dev line"))?;
        ip("link set line up")?;
        ip("link set lo up")?;
        // Thousands of short connections: ports must come back at once. Where it fails, ports may run out.
        let _ = fs::write("/proc/sys/net/ipv4/tcp_tw_reuse", "1");
        // Every connection starts knowing nothing of the line, as QUIC's do here.
        let _ = fs::write("/proc/sys/net/ipv4/tcp_no_metrics_save", "1");
        Ok(device)
    }
}

/// Runs `ip` of iproute2 with arguments between single spaces.
pub fn ip(arguments: &str) -> io::Result<()> {
    let output = Command::new("ip").args(arguments.split(' ')).output();
    let output = output.map_err(|error| {
        io::Error::new(error.kind(), format!("ip: {error}\nhint: install iproute2"))
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("ip {arguments}: {}", said.trim())))
}
