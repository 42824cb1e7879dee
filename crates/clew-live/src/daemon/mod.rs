//! The data plane: threads between the host's packets, the core, and the network.
//!
//! [`send`] reads the TUN, [`receive`] the sockets; verifiers take signatures from a queue, and
//! [`refill`] prepares precursors when nothing else is to do. The thread that called
//! [`run`] answers `clew status`, and reads files again that changed.

mod peers;
mod receive;
mod refill;
mod reload;
mod report;
mod send;
mod shared;
mod supervise;
mod wake;

pub use reload::{Load, Material};
pub use shared::Dropped;
pub use supervise::{Hooks, run};

use crate::carrier::{Offloads, Tun, Udp};
use crate::config::Config;
use std::io;

/// What is opened while there are privileges, if there are.
pub struct Devices {
    tun: Tun,
    udp: Udp,
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
    /// The port.
    #[error("UDP port {port}: {error}")]
    Udp {
        /// Its number.
        port: u16,
        /// Why.
        error: io::Error,
    },
}

fn tun_trouble(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "it does not exist, or belongs to another user: \
             clew up --setup-only makes it for the configured user"
            .into(),
        io::ErrorKind::ResourceBusy => "another process has it".into(),
        _ => error.to_string(),
    }
}

impl Devices {
    /// Opens them.
    ///
    /// # Errors
    /// The system refuses one.
    pub fn open(config: &Config) -> Result<Self, DeviceError> {
        let tun = Tun::attach(&config.interface, config.mtu, config.offload);
        let tun = tun.map_err(|error| DeviceError::Tun {
            name: config.interface.clone(),
            error,
        })?;
        let port = config.port;
        let udp = Udp::bind(port).map_err(|error| DeviceError::Udp { port, error })?;
        Ok(Self { tun, udp })
    }

    /// Returns what the kernel does for them.
    pub fn offloads(&self) -> Offloads {
        let mut offloads = Offloads::default();
        self.tun.offloads(&mut offloads);
        self.udp.offloads(&mut offloads);
        offloads
    }
}
