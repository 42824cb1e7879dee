//! What a client is, and whom it opens tunnels to.

use alloc::boxed::Box;
use alloc::vec::Vec;
use clew_wire::WallTime;
use core::net::SocketAddr;
use core::time::Duration;

use crate::limits::{self, W_MAX};
use crate::record::{Ecert, EcertBody, Record};
use crate::x25519::Public;

/// What a client is.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Longest packet that it sends.
    pub packet: usize,
    /// The hardest puzzle that it solves, in bits.
    pub w: u8,
    /// Longest life of a certificate that it takes.
    pub cert_lifetime_max: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            packet: limits::PACKET,
            w: W_MAX,
            // Two years.
            cert_lifetime_max: Duration::from_secs(2 * 366 * 86_400),
        }
    }
}

/// The server of a tunnel.
#[derive(Clone, Debug)]
pub enum Target {
    /// By its record, which the program has verified (3.3).
    Host(Box<Record>),
    /// A server by its long-term key, to ask for its own record and nothing else (12.1): a directory, or
    /// any other whose record has ended.
    Directory {
        /// Its addresses: one at least.
        addresses: Vec<SocketAddr>,
        /// Its M.
        m: u16,
        /// The hardest puzzle in its headers.
        w: u8,
        /// Its boxing key.
        boxing: Public,
    },
}

impl Target {
    pub(super) fn addresses(&self) -> &[SocketAddr] {
        match self {
            Self::Host(record) => &record.ecert.body.addresses,
            Self::Directory { addresses, .. } => addresses,
        }
    }

    pub(super) fn m(&self) -> u16 {
        match self {
            Self::Host(record) => record.ecert.body.m,
            Self::Directory { m, .. } => *m,
        }
    }

    pub(super) fn w(&self) -> u8 {
        match self {
            Self::Host(record) => record.ecert.body.w,
            Self::Directory { w, .. } => *w,
        }
    }

    /// S', or what is in its place.
    pub(super) fn server_key(&self) -> Public {
        match self {
            Self::Host(record) => record.ecert.body.ephemeral,
            Self::Directory { boxing, .. } => *boxing,
        }
    }

    pub(super) fn ecert(&self) -> Option<&EcertBody> {
        match self {
            Self::Host(record) => Some(&record.ecert.body),
            Self::Directory { .. } => None,
        }
    }

    /// Whether the server may have erased S'.
    pub(super) fn has_ended(&self, wall: WallTime) -> bool {
        self.ecert()
            .is_some_and(|ecert| wall.as_millis() > ecert.end)
    }

    pub(super) fn renew(&mut self, ecert: Ecert) {
        if let Self::Host(record) = self {
            record.ecert = ecert;
        }
    }
}
