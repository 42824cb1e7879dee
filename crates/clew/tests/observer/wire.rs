//! A wire between two network namespaces: a sender, and an interface that is observed.

use nix::ifaddrs::getifaddrs;
use nix::sched::{CloneFlags, setns};
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, bind, send, socket,
};
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

/// The interface on both sides.
pub const INTERFACE: &str = "wire";

/// The namespaces; gone when dropped.
pub struct Wire {
    names: [String; 2],
}

pub fn ip(arguments: &str) -> bool {
    let output = Command::new("ip").args(arguments.split(' ')).output();
    output.is_ok_and(|output| output.status.success())
}

impl Wire {
    /// None where this machine has no namespaces to give. Nobody but the test sends on the wire.
    pub fn new() -> Option<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let (id, number) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let names = ["s", "o"].map(|end| format!("clew-obs-{id}-{number}{end}"));
        let wire = Self { names };
        if !wire
            .names
            .iter()
            .all(|name| ip(&format!("netns add {name}")))
        {
            return None;
        }
        for name in &wire.names {
            let quiet =
                "for c in all default; do echo 1 > /proc/sys/net/ipv6/conf/$c/disable_ipv6; done";
            let exec = ["netns", "exec", name, "sh", "-c", quiet];
            // A kernel without IPv6 is quiet already.
            let _ = Command::new("ip").args(exec).output();
            assert!(ip(&format!("-n {name} link set lo up")));
        }
        wire.connect();
        Some(wire)
    }

    /// Adds the interfaces.
    pub fn connect(&self) {
        let [s, o] = &self.names;
        let pair =
            format!("link add wire mtu 4000 netns {s} type veth peer name wire mtu 4000 netns {o}");
        assert!(ip(&pair), "namespaces, but no wire");
        for name in &self.names {
            assert!(ip(&format!("-n {name} link set wire up")));
        }
    }

    /// The namespace that is observed.
    pub fn observed(&self) -> &str {
        &self.names[1]
    }

    /// Changes the network of the observed side.
    pub fn ip(&self, arguments: &str) {
        let done = ip(&format!("-n {} {arguments}", self.observed()));
        assert!(done, "ip {arguments}");
    }

    /// Sends frames on the wire.
    pub fn send(&self, frames: &[Vec<u8>]) {
        self.send_on(0, INTERFACE, frames);
    }

    /// Sends frames on the loopback interface of the observed side.
    pub fn send_on_loopback(&self, frames: &[Vec<u8>]) {
        self.send_on(1, "lo", frames);
    }

    fn send_on(&self, side: usize, interface: &str, frames: &[Vec<u8>]) {
        self.within(side, || {
            let socket = packet_socket(interface);
            for frame in frames {
                // The sender is faster than the wire: then its buffer is full for a moment.
                while send(socket.as_raw_fd(), frame, MsgFlags::empty()).is_err_and(is_full) {
                    thread::yield_now();
                }
            }
        });
    }

    /// What `make` makes in the observed namespace.
    pub fn observed_side<T: Send>(&self, make: impl FnOnce() -> T + Send) -> T {
        self.within(1, make)
    }

    fn within<T: Send>(&self, side: usize, make: impl FnOnce() -> T + Send) -> T {
        let path = format!("/var/run/netns/{}", self.names[side]);
        let enter = || {
            setns(File::open(path).unwrap(), CloneFlags::CLONE_NEWNET).unwrap();
            make()
        };
        thread::scope(|scope| scope.spawn(enter).join().unwrap())
    }
}

fn is_full(error: nix::Error) -> bool {
    assert_eq!(error, nix::Error::ENOBUFS, "the wire takes every frame");
    true
}

fn packet_socket(interface: &str) -> OwnedFd {
    let mut all = getifaddrs().unwrap();
    let address = all.find_map(|found| {
        let address = found
            .address
            .filter(|_| found.interface_name == interface)?;
        address.as_link_addr().copied()
    });
    let (flags, all) = (SockFlag::empty(), SockProtocol::EthAll);
    let socket = socket(AddressFamily::Packet, SockType::Raw, flags, all).unwrap();
    bind(socket.as_raw_fd(), &address.unwrap()).unwrap();
    socket
}

impl Drop for Wire {
    fn drop(&mut self) {
        for name in &self.names {
            ip(&format!("netns del {name}"));
        }
    }
}
