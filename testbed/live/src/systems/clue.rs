//! Clue's carrier before its optimisations: [`crate::synchronous`], this program again.

use super::forwarder::{DEVICE, Side};
use super::{Running, System, clew};
use crate::bed::Bed;
use crate::process::{Process, built};
use crate::topology::{FAR_INNER, FAR_OUTER, NEAR_INNER, NEAR_OUTER, Shape, Topology};
use std::io;
use std::time::Duration;

/// One signature a packet, made and verified while everything else waits.
pub struct Clue {
    pub name: &'static str,
    pub about: &'static str,
    pub scheme: &'static str,
    /// Whether precursors are ready before the first packet.
    pub has_pool: bool,
}

const PORT: u16 = 4_907;
const PATIENCE: Duration = Duration::from_secs(180);

impl System for Clue {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn is_default(&self) -> bool {
        false
    }

    fn port(&self) -> Option<u16> {
        Some(PORT)
    }

    fn shapes(&self) -> &'static [Shape] {
        &[Shape::Pair]
    }

    fn available(&self) -> io::Result<()> {
        // It makes the keys.
        built(clew::PROGRAM).map(drop)
    }

    fn start(&self, _: &Bed, topology: &Topology) -> io::Result<Running> {
        let (client, server) = (topology.client(), topology.server());
        let near = Side {
            namespace: topology.near(),
            mtu: 1_500,
            networks: FAR_INNER,
            own: Some([&client.v4, &client.v6]),
        };
        let far = Side {
            namespace: topology.far(),
            networks: NEAR_INNER,
            own: Some([&server.v4, &server.v6]),
            ..near
        };
        Ok(Running {
            near: vec![self.side("near", near, FAR_OUTER[0])?],
            far: vec![self.side("far", far, NEAR_OUTER[0])?],
            client: (&client).into(),
            server: (&server).into(),
            both_ways: true,
        })
    }
}

impl Clue {
    fn side(&self, name: &str, side: Side<'_>, peer: &str) -> io::Result<Process> {
        let program = std::env::current_exe()?;
        let keys = clew::keys(self.scheme)?;
        let (to, port) = (format!("{peer}:{PORT}"), PORT.to_string());
        let (program, keys) = (program.to_string_lossy(), keys.to_string_lossy());
        let pool = if self.has_pool { clew::pool() } else { 0 };
        let pool = pool.to_string();
        let command = [
            &*program,
            "synchronous",
            "--device",
            DEVICE,
            "--port",
            &port,
            "--remote",
            &to,
            "--keys",
            &keys,
            "--side",
            name,
            "--precursors",
            &pool,
        ];
        side.start(self.name, &command, PORT, PATIENCE)
    }
}
