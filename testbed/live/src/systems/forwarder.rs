//! clew's carrier alone: the same reads and writes, nothing signed and nothing verified. It is an
//! example of crate `clew-live`, which no configuration leads to.

use super::{Running, System};
use crate::bed::{Bed, Namespace};
use crate::process::{Process, built, wait_until};
use crate::topology::{FAR_INNER, FAR_OUTER, NEAR_INNER, NEAR_OUTER, Shape, Topology};
use std::io;
use std::time::Duration;

/// The carrier with trailers of zeros, or without any.
pub struct Forwarder {
    pub name: &'static str,
    pub about: &'static str,
    pub trailer: u16,
}

/// What a packet of mode `tree` has besides itself, from the largest TCP segments that clew lets pass.
pub const TREE: u16 = 223;

const PROGRAM: &str = "examples/forwarder";
const PORT: u16 = 4_908;
pub(super) const DEVICE: &str = "forward";
/// IPv4 and UDP outside.
const HEADERS: u16 = 28;

impl System for Forwarder {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn port(&self) -> Option<u16> {
        Some(PORT)
    }

    fn shapes(&self) -> &'static [Shape] {
        &[Shape::Pair, Shape::Gateway]
    }

    fn available(&self) -> io::Result<()> {
        built(PROGRAM).map(drop)
    }

    fn start(&self, _: &Bed, topology: &Topology) -> io::Result<Running> {
        let (client, server) = (topology.client(), topology.server());
        let own = (topology.shape != Shape::Gateway).then_some([&*client.v4, &client.v6]);
        let near = self.side(topology.near(), FAR_OUTER[0], FAR_INNER, own)?;
        let own = Some([&*server.v4, &server.v6]);
        let far = self.side(topology.far(), NEAR_OUTER[0], NEAR_INNER, own)?;
        Ok(Running {
            near: vec![near],
            far: vec![far],
            client: (&client).into(),
            server: (&server).into(),
            both_ways: true,
        })
    }
}

/// A TUN of a system that gets one, and what is behind it.
pub(super) struct Side<'a> {
    pub namespace: &'a Namespace,
    pub mtu: u16,
    /// The networks of the other side, and the own addresses.
    pub networks: [&'a str; 2],
    pub own: Option<[&'a str; 2]>,
}

impl Side<'_> {
    /// Makes the TUN, starts the program, and waits until it listens.
    pub fn start(
        &self,
        name: &str,
        command: &[&str],
        port: u16,
        patience: Duration,
    ) -> io::Result<Process> {
        let Self { namespace, mtu, .. } = self;
        // As clew sets up its own.
        namespace.ip(&format!("tuntap add dev {DEVICE} mode tun vnet_hdr"))?;
        namespace.ip(&format!("link set dev {DEVICE} addrgenmode none"))?;
        namespace.ip(&format!(
            "link set dev {DEVICE} mtu {mtu} txqueuelen 4000 up"
        ))?;
        let mut process = Process::start(namespace, name, command)?;
        for (place, network) in self.networks.iter().enumerate() {
            let source = self.own.map(|own| format!(" src {}", own[place]));
            let source = source.unwrap_or_default();
            let route = format!("route add {network} dev {DEVICE}{source}");
            // An MTU below 1280 has no IPv6.
            match namespace.ip(&route) {
                Err(_) if network.contains(':') && *mtu < 1_280 => {}
                other => other?,
            }
        }
        let port = port.to_string();
        let listens = || {
            if !process.runs() {
                return Err(io::Error::other("it ended"));
            }
            let sockets = crate::process::printed(namespace, &["ss", "-Hlnu"])?;
            Ok(sockets.contains(&port))
        };
        wait_until(name, patience, listens)?;
        Ok(process)
    }
}

impl Forwarder {
    fn side(
        &self,
        namespace: &Namespace,
        peer: &str,
        networks: [&str; 2],
        own: Option<[&str; 2]>,
    ) -> io::Result<Process> {
        let program = built(PROGRAM)?;
        let (port, trailer) = (PORT.to_string(), self.trailer.to_string());
        let to = format!("{peer}:{PORT}");
        let command = [&*program.to_string_lossy(), DEVICE, &port, &to, &trailer];
        let side = Side {
            namespace,
            mtu: 1_500 - HEADERS - self.trailer,
            networks,
            own,
        };
        side.start(self.name, &command, PORT, Duration::from_secs(10))
    }
}
