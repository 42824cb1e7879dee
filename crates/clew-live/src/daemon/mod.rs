//! The data plane: threads between the host's packets, the core, and the network.
//!
//! `send` reads the TUN, `receive` the sockets; verifiers take signatures from a queue, and
//! `refill` prepares precursors when nothing else is to do. The thread that called
//! [`run`] answers `clew status`, and reads files again that changed.

mod accepted;
mod clocks;
mod drops;
mod keepalive;
mod learn;
mod notices;
mod options;
mod peers;
mod quoted;
mod receive;
mod refill;
mod reload;
mod report;
mod route;
mod send;
mod shared;
mod stall;
mod succession;
mod supervise;
mod wake;

pub use clocks::status as clock_status;
pub use drops::{DroppedIn, DroppedOut};
pub use reload::{Load, Loaded, Material};
pub use supervise::{Hooks, run};

use crate::carrier::{Network, Offloads, Raw, Tun, Udp};
use crate::config::{Config, plain};
use std::fs::OpenOptions;
use std::io;
use std::os::fd::{OwnedFd, RawFd};

/// What is opened while there are privileges, if there are.
pub struct Devices {
    tun: Tun,
    network: Network,
}

/// Why the devices cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// The TUN.
    #[error("interface {name}: {}", tun_trouble(error))]
    Tun {
        /// Its name.
        name: String,
        /// Why.
        error: io::Error,
    },
    /// Sockets for packets with trailers, and the kernel's queue.
    #[error("carrier trailer: {0}")]
    Raw(io::Error),
    /// The port.
    #[error("UDP port {port}: {}", plain(error))]
    Udp {
        /// Its number.
        port: u16,
        /// Why.
        error: io::Error,
    },
}

fn tun_trouble(error: &io::Error) -> String {
    if error.raw_os_error() == Some(nix::libc::ENODEV) {
        return "there is no such interface".into();
    }
    match error.kind() {
        io::ErrorKind::PermissionDenied if !may_open_tun() => {
            "/dev/net/tun: permission denied: chmod 666 /dev/net/tun, or clew up alone".into()
        }
        io::ErrorKind::PermissionDenied => "it does not exist, or belongs to another user: \
             clew up --setup-only makes it for the configured user"
            .into(),
        io::ErrorKind::ResourceBusy => "another process has it".into(),
        _ => plain(error),
    }
}

fn may_open_tun() -> bool {
    let tun = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/net/tun");
    tun.is_ok()
}

/// What a data plane is given, so that it need not open it.
#[derive(Debug)]
pub enum Given {
    /// The numbers of bound UDP sockets. The families that are missing are bound here.
    Sockets(Vec<RawFd>),
    /// The data plane's end of [`copies_socket`](crate::carrier::copies_socket), for the carrier
    /// `trailer`.
    Copies(OwnedFd),
}

impl Devices {
    /// Opens them. The carrier `trailer` needs privileges for that.
    ///
    /// # Errors
    /// The system refuses one.
    pub fn open(config: &Config, given: Given) -> Result<Self, DeviceError> {
        let tun = Tun::attach(&config.interface, config.mtu, config.offload);
        let tun = tun.map_err(|error| DeviceError::Tun {
            name: config.interface.clone(),
            error,
        })?;
        let port = config.port;
        let network = match given {
            Given::Copies(copies) => {
                Network::Raw(Raw::open(config.table, copies).map_err(DeviceError::Raw)?)
            }
            Given::Sockets(numbers) => {
                let udp = Udp::adopt(&numbers, port);
                Network::Udp(udp.map_err(|error| DeviceError::Udp { port, error })?)
            }
        };
        Ok(Self { tun, network })
    }

    /// Leaves all packets of the interface to the queues of others until [`Self::attach`].
    pub fn detach(&self) {
        self.tun.detach();
    }

    /// Takes part in the interface's packets again.
    ///
    /// # Errors
    /// The interface is gone.
    pub fn attach(&self) -> io::Result<()> {
        self.tun.attach_again()
    }

    /// Returns what the kernel does for them.
    pub fn offloads(&self) -> Offloads {
        let mut offloads = Offloads::default();
        self.tun.offloads(&mut offloads);
        self.network.offloads(&mut offloads);
        offloads
    }
}

/// Why a thread did not start, and what to look at.
fn no_thread(error: &std::io::Error) -> String {
    format!("cannot start a thread: {error}: look at limits of memory and tasks")
}
