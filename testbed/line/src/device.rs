//! The ends of a line: TUN devices, and TAP devices for who listens.

use crate::superpacket::{HEADER, Shape};
use nix::sched::{CloneFlags, setns};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::thread;
use tun_rs::{DeviceBuilder, GROTable, Layer, SyncDevice};

/// Packets that the kernel keeps for the line while the line's thread does not run.
const KERNEL_QUEUE: u32 = 20_000;

/// Locally administered addresses: who listens sees Ethernet from 2 to 1.
const ETHERNET: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];

/// A device that a line reads and writes. Neither ever waits.
pub struct Device {
    device: SyncDevice,
    name: String,
    namespace: Option<String>,
    is_tap: bool,
}

impl Device {
    /// Makes a TUN device in the network namespace of this thread. With `offload` super-packets come and go whole.
    pub fn open(name: &str, offload: bool) -> io::Result<Self> {
        Self::build(name, offload, Layer::L3)
    }

    /// Makes a TUN device in a network namespace that `ip netns` made.
    pub fn open_in(namespace: &str, name: &str, offload: bool) -> io::Result<Self> {
        in_namespace(namespace, || Self::open(name, offload)).map(|device| device.of(namespace))
    }

    /// Makes a TAP device there, for who listens on the line.
    pub fn listener_in(namespace: &str, name: &str) -> io::Result<Self> {
        in_namespace(namespace, || Self::build(name, false, Layer::L2))
            .map(|device| device.of(namespace))
    }

    fn of(self, namespace: &str) -> Self {
        let namespace = Some(namespace.to_owned());
        Self { namespace, ..self }
    }

    fn build(name: &str, offload: bool, layer: Layer) -> io::Result<Self> {
        let is_tap = layer == Layer::L2;
        let builder = DeviceBuilder::new().name(name).layer(layer);
        let builder = builder.offload(offload).tx_queue_len(KERNEL_QUEUE);
        let device = builder.enable(false).build_sync().map_err(|error| {
            let hint = "run it as root, with /dev/net/tun";
            io::Error::new(
                error.kind(),
                format!("device {name}: {error}\nhint: {hint}"),
            )
        })?;
        device.set_nonblocking(true)?;
        let name = name.to_owned();
        Ok(Self {
            device,
            name,
            namespace: None,
            is_tap,
        })
    }

    /// The name in its namespace.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether packets have a header before them, and may be super-packets.
    pub fn has_offload(&self) -> bool {
        self.device.tcp_gso()
    }

    /// How many bytes stand before a packet.
    pub fn header(&self) -> usize {
        if self.has_offload() { HEADER } else { 0 }
    }

    /// Takes a packet. Returns `None` if there is none.
    pub fn take(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self.device.recv(buffer) {
            Ok(length) => Ok(Some(length)),
            // EIO: the device is down.
            Err(error) if is_nothing(&error) || error.raw_os_error() == Some(5) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Gives a packet to the kernel.
    pub fn give(&self, packet: &[u8]) -> io::Result<()> {
        self.device.send(packet).map(drop)
    }

    /// Gives packets to the kernel, joined where a network card would.
    pub fn give_joined(&self, table: &mut GROTable, packets: &mut [Vec<u8>]) -> io::Result<()> {
        self.device
            .send_multiple(table, packets, self.header())
            .map(drop)
    }

    /// Shows an IP packet to who listens on this TAP device.
    pub fn show(&self, ip: &[u8]) -> io::Result<()> {
        debug_assert!(self.is_tap);
        let kind: [u8; 2] = match ip.first().map(|first| first >> 4) {
            Some(6) => [0x86, 0xdd],
            _ => [8, 0],
        };
        self.give(&[&ETHERNET[..], &kind, ip].concat())
    }

    /// What a packet of this device is on a wire.
    pub(crate) fn shape(&self, packet: &[u8]) -> io::Result<Option<Shape>> {
        self.has_offload().then(|| Shape::read(packet)).transpose()
    }

    /// How many packets the kernel dropped because the line did not take them in time.
    /// Returns `None` if the namespace has no name.
    pub fn dropped_by_kernel(&self) -> Option<u64> {
        let namespace = self.namespace.as_ref()?;
        let arguments = [
            "-n", namespace, "-j", "-s", "link", "show", "dev", &self.name,
        ];
        let output = std::process::Command::new("ip")
            .args(arguments)
            .output()
            .ok()?;
        let links: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
        links.pointer("/0/stats64/tx/dropped")?.as_u64()
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

fn is_nothing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// Does something in a namespace that `ip netns` made, on a thread of its own: a namespace belongs to a thread.
pub fn in_namespace<T: Send>(
    namespace: &str,
    work: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    let path = Path::new("/run/netns").join(namespace);
    let file = File::open(&path).map_err(|error| {
        let hint = format!("ip netns add {namespace}");
        io::Error::new(
            error.kind(),
            format!("namespace {namespace}: {error}\nhint: {hint}"),
        )
    })?;
    let enter_and_work = || {
        setns(&file, CloneFlags::CLONE_NEWNET)?;
        work()
    };
    thread::scope(|scope| {
        let panicked = |_| Err(io::Error::other("a thread panicked"));
        scope.spawn(enter_and_work).join().unwrap_or_else(panicked)
    })
}
