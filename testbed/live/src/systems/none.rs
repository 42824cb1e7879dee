//! No carrier: the kernel routes packets as they are.

use super::{Addresses, Running, System};
use crate::bed::Bed;
use crate::topology::{FAR_INNER, FAR_OUTER, NEAR_INNER, NEAR_TRANSLATED, Shape, Topology};
use std::io;

/// Routes only.
pub struct Routes;

impl System for Routes {
    fn name(&self) -> &'static str {
        "none"
    }

    fn about(&self) -> &'static str {
        "no carrier: routes only"
    }

    fn port(&self) -> Option<u16> {
        None
    }

    fn available(&self) -> io::Result<()> {
        Ok(())
    }

    fn start(&self, _: &Bed, topology: &Topology) -> io::Result<Running> {
        let (client, server) = (topology.client(), topology.server());
        if topology.shape == Shape::Nat {
            // A private address is no destination for the far host.
            return Ok(Running {
                near: Vec::new(),
                far: Vec::new(),
                client: Addresses {
                    v4: NEAR_TRANSLATED.into(),
                    v6: None,
                },
                server: Addresses {
                    v4: FAR_OUTER[0].into(),
                    v6: None,
                },
                both_ways: false,
            });
        }
        for net in FAR_INNER {
            route(
                topology.near(),
                net,
                source(topology, [&client.v4, &client.v6], net),
            )?;
        }
        for net in NEAR_INNER {
            let address = if net.contains(':') {
                &server.v6
            } else {
                &server.v4
            };
            route(topology.far(), net, Some(address))?;
        }
        Ok(Running {
            near: Vec::new(),
            far: Vec::new(),
            client: (&client).into(),
            server: (&server).into(),
            both_ways: true,
        })
    }
}

/// The near carrier's own traffic comes from its inner address; a gateway has none of its own.
fn source<'a>(topology: &Topology, [v4, v6]: [&'a String; 2], net: &str) -> Option<&'a String> {
    let own = if net.contains(':') { v6 } else { v4 };
    (topology.shape != Shape::Gateway).then_some(own)
}

fn route(namespace: &crate::bed::Namespace, net: &str, source: Option<&String>) -> io::Result<()> {
    let source = source
        .map(|source| format!(" src {source}"))
        .unwrap_or_default();
    namespace.ip(&format!("route add {net} dev net0{source}"))
}
