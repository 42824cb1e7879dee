//! What carries the packets: the systems under test, a file each.
//!
//! A system gets a [`Topology`] without any route between the inner addresses. It starts what it needs in
//! the namespaces of both carriers, and returns when packets pass. What it started ends with what it returns.

pub mod clew;
mod clue;
mod forwarder;
mod none;
mod wireguard_go;

use crate::bed::Bed;
use crate::process::Process;
use crate::topology::{Endpoint, Shape, Topology};
use clap::ValueEnum;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// A system under test: a row of a table.
pub trait System {
    /// By which the row is found; without spaces.
    fn name(&self) -> &'static str;

    /// What a reader must know of it, in a line.
    fn about(&self) -> &'static str;

    /// Whether it runs if nobody names systems.
    fn is_default(&self) -> bool {
        true
    }

    /// The networks that it can be in.
    fn shapes(&self) -> &'static [Shape] {
        Shape::value_variants()
    }

    /// The UDP port of the far carrier that an attacker aims at. `None` if it has no datagrams of its own.
    fn port(&self) -> Option<u16>;

    /// Whether what is on the line are the hosts' own packets, which an attacker copies as they are.
    fn leaves_packets(&self) -> bool {
        false
    }

    /// Says what is missing on this machine, with a hint.
    fn available(&self) -> io::Result<()>;

    /// A file of datagrams for the far carrier, a line of hex digits each, whose signatures are good but
    /// for the credential. `None` of a system that does not sign.
    fn forged(&self, _: &Bed) -> io::Result<Option<PathBuf>> {
        Ok(None)
    }

    /// Carries packets until the result is dropped.
    fn start(&self, bed: &Bed, topology: &Topology) -> io::Result<Running>;

    /// What the daemons of both sides have counted so far. `None` of a system that does not sign.
    fn counts(&self, _: &Topology) -> io::Result<Option<[Counts; 2]>> {
        Ok(None)
    }
}

/// What a daemon that signs has counted since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Signatures made.
    pub signed: f64,
    /// Signatures verified.
    pub verified: f64,
    /// The CPU time of that, in seconds.
    pub verification: f64,
    /// Precursors that are ready now.
    pub ready: f64,
    /// Precursors prepared.
    pub prepared: f64,
    /// Signatures without one that was ready.
    pub online: f64,
    /// Packets dropped.
    pub dropped: f64,
    /// Of these, datagrams that the kernel had no room for, because more came than were read.
    pub unread: f64,
}

/// A system that carries packets.
pub struct Running {
    /// Its processes beside the near host.
    pub near: Vec<Process>,
    /// Those beside the far host.
    pub far: Vec<Process>,
    /// The near host's addresses (IPv4, IPv6) as the far host knows them. No IPv6: packets of IPv6 do not pass.
    pub client: Addresses,
    /// The far host's.
    pub server: Addresses,
    /// Whether the far host can begin a connection.
    pub both_ways: bool,
}

/// Where a host is reached.
#[derive(Clone, Debug)]
pub struct Addresses {
    /// Its IPv4 address.
    pub v4: String,
    /// Its IPv6 address, if packets of IPv6 pass.
    pub v6: Option<String>,
}

impl From<&Endpoint<'_>> for Addresses {
    fn from(host: &Endpoint<'_>) -> Self {
        Self {
            v4: host.v4.clone(),
            v6: Some(host.v6.clone()),
        }
    }
}

impl Running {
    /// The CPU time of the processes at both sides so far.
    pub fn cpu(&self) -> io::Result<[Duration; 2]> {
        let sum = |side: &[Process]| side.iter().map(Process::cpu).sum::<io::Result<_>>();
        Ok([sum(&self.near)?, sum(&self.far)?])
    }

    /// The name of a process that ended, though nobody ended it.
    pub fn crashed(&mut self) -> Option<String> {
        let mut all = self.near.iter_mut().chain(&mut self.far);
        all.find_map(|process| (!process.runs()).then(|| process.name.clone()))
    }
}

/// All systems, the baseline first.
pub fn all() -> Vec<Box<dyn System>> {
    let mut all: Vec<Box<dyn System>> = vec![Box::new(none::Routes)];
    all.extend(FORWARDERS.map(|(name, about, trailer)| -> Box<dyn System> {
        Box::new(forwarder::Forwarder {
            name,
            about,
            trailer,
        })
    }));
    all.push(Box::new(wireguard_go::WireguardGo));
    all.extend(
        SYNCHRONOUS.map(|(name, about, scheme, has_pool)| -> Box<dyn System> {
            Box::new(clue::Clue {
                name,
                about,
                scheme,
                has_pool,
            })
        }),
    );
    all.extend(
        DAEMONS.map(|(name, about, scheme, mode, block)| -> Box<dyn System> {
            Box::new(clew::Clew {
                name,
                about,
                scheme,
                mode,
                block,
                is_adaptive: name.ends_with("adaptive"),
                carrier: match name {
                    "clew-transport" => clew::TRANSPORT,
                    "clew-trailer" => clew::TRAILER,
                    _ => clew::TUNNEL,
                },
            })
        }),
    );
    all
}

const FORWARDERS: [(&str, &str, u16); 2] = [
    ("clew-plain", "clew's carrier, nothing beside the packet", 0),
    (
        "clew-empty",
        "clew's carrier, zeros of the same length in place of signatures",
        forwarder::TREE,
    ),
];

/// Name, text, scheme, and whether there are precursors.
type Synchronous = (&'static str, &'static str, &'static str, bool);

const SYNCHRONOUS: [Synchronous; 4] = [
    (
        "sign-verify",
        "xr, mode each, no precursors; each packet is verified before the next is read",
        "xr",
        false,
    ),
    ("precomputed", "the same with precursors", "xr", true),
    (
        "sign-verify-bbs04",
        "bbs04, mode each, no precursors; each packet is verified before the next is read",
        "bbs04",
        false,
    ),
    (
        "precomputed-bbs04",
        "the same with precursors",
        "bbs04",
        true,
    ),
];

/// Name, text, scheme, mode, and the largest block.
type Daemon = (&'static str, &'static str, &'static str, &'static str, u16);

const DAEMONS: [Daemon; 14] = [
    ("clew", "clew up, xr, mode tree", "xr", "tree", 64),
    (
        "clew-128",
        "the same, blocks of up to 128 packets",
        "xr",
        "tree",
        128,
    ),
    (
        "clew-256",
        "the same, blocks of up to 256 packets",
        "xr",
        "tree",
        256,
    ),
    (
        "clew-window",
        "clew up, xr, mode window, 64 packets, whole windows verified at once",
        "xr",
        "window",
        64,
    ),
    (
        "clew-window-8",
        "the same with 8 packets",
        "xr",
        "window",
        8,
    ),
    (
        "clew-adaptive",
        "the same with as many packets as are in flight, up to 64",
        "xr",
        "window",
        64,
    ),
    ("clew-each", "clew up, xr, mode each", "xr", "each", 64),
    (
        "clew-bbs04",
        "clew up, bbs04, mode tree",
        "bbs04",
        "tree",
        64,
    ),
    (
        "clew-bbs04-window",
        "clew up, bbs04, mode window, 64 packets, whole windows verified at once",
        "bbs04",
        "window",
        64,
    ),
    (
        "clew-bbs04-window-8",
        "the same with 8 packets",
        "bbs04",
        "window",
        8,
    ),
    (
        "clew-bbs04-adaptive",
        "the same with as many packets as are in flight, up to 64",
        "bbs04",
        "window",
        64,
    ),
    (
        "clew-bbs04-each",
        "clew up, bbs04, mode each",
        "bbs04",
        "each",
        64,
    ),
    (
        "clew-transport",
        "clew up, udp-transport, between the ends of the line",
        "xr",
        "tree",
        64,
    ),
    (
        "clew-trailer",
        "clew up, trailer, between the ends of the line",
        "xr",
        "tree",
        64,
    ),
];

/// Those that are named, or the usual ones that this machine has.
pub fn chosen(names: &[String]) -> io::Result<Vec<Box<dyn System>>> {
    let mut systems = all();
    if names.is_empty() {
        systems.retain(|system| system.is_default());
        systems.retain(|system| match system.available() {
            Ok(()) => true,
            Err(error) => {
                eprintln!("live-bench: without {}: {error}", system.name());
                false
            }
        });
        return Ok(systems);
    }
    let known: Vec<_> = systems.iter().map(|system| system.name()).collect();
    let known = known.join(", ");
    if let Some(name) = names
        .iter()
        .find(|name| !known.split(", ").any(|known| known == *name))
    {
        let text = format!("--systems: no system {name}\nhint: there are {known}");
        return Err(io::Error::other(text));
    }
    systems.retain(|system| names.iter().any(|name| name == system.name()));
    systems.iter().try_for_each(|system| system.available())?;
    Ok(systems)
}
