//! The manager as a service, with each database: whole joins over the network, requests for the feed's
//! head, and look-ups in a large store. Clients run on the same cores; what they compute has a row of its
//! own.

#[path = "../../../../crates/clew/tests/common/cluster.rs"]
#[allow(
    clippy::unwrap_used,
    dead_code,
    reason = "helpers of tests, of which this uses a part"
)]
mod cluster;
mod heads;
mod large;
mod served;

use crate::groups::quorum;
use crate::issuing::{Issuing, NOW};
use crate::options::Options;
use crate::report;
use clew_group::Scheme;
use clew_manager::Store;
use cluster::Cluster;
use large::Large;
use served::Served;
use std::io;
use std::path::Path;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// One database: a service with a small store, and a large store.
struct World {
    name: &'static str,
    served: Served,
    large: Store,
    _folder: TempDir,
}

impl World {
    /// With a server of PostgreSQL, if there is its socket.
    fn new(runtime: &Runtime, socket: Option<&Path>, large: &Large) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let [small_dir, large_dir] = ["small", "large"].map(|name| folder.path().join(name));
        let made = Issuing::new(Scheme::Xr, quorum(1, 1));
        let mut backup = Vec::new();
        let url = socket.map(cluster::fresh);
        let small = made
            .store
            .backup(&mut backup, true, NOW, None)
            .and_then(|_| Store::restore(&mut &backup[..], &small_dir, url.as_deref(), None))
            .and_then(|_| Store::open(&small_dir))
            .map_err(io::Error::other)?;
        Ok(Self {
            name: socket.map_or("sqlite", |_| "postgresql"),
            large: match socket {
                Some(socket) => large.in_server(socket, &large_dir)?,
                None => Store::open(&large.issuing.dir()).map_err(io::Error::other)?,
            },
            served: Served::start(runtime, small, folder.path())?,
            _folder: folder,
        })
    }
}

/// Runs the program.
pub fn run(options: &Options) -> io::Result<()> {
    let runtime = Runtime::new()?;
    let large = Large::new(options.members)?;
    let server = Cluster::start();
    let mut worlds = vec![World::new(&runtime, None, &large)?];
    match &server {
        Some(server) => worlds.push(World::new(&runtime, Some(server.socket()), &large)?),
        None => eprintln!(
            "clew-bench: no {}: its rows are left out",
            cluster::POSTGRES
        ),
    }
    let mut cases = Vec::new();
    for world in &worlds {
        cases.extend(served::all(&runtime, world.name, &world.served));
        cases.extend(large.look_ups(world.name, &world.large));
    }
    if let Some(world) = worlds.first() {
        cases.push(served::device(&world.served));
        cases.extend(heads::all(&runtime, &world.served));
    }
    eprintln!("clew-bench: measuring from now on");
    report::run(options, &[], cases)
}
