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
mod served;

use crate::epochs::filled;
use crate::groups::quorum;
use crate::issuing::{Issuing, NOW};
use crate::measure::Case;
use crate::options::Options;
use crate::report;
use clew_group::Scheme;
use clew_manager::Store;
use cluster::Cluster;
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
    fn new(runtime: &Runtime, socket: Option<&Path>, large: &Issuing) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let restored = |from: &Store, name: &str| -> io::Result<Store> {
            let dir = folder.path().join(name);
            let url = socket.map(cluster::fresh);
            let mut backup = Vec::new();
            let made = from.backup(&mut backup, true, NOW, None);
            made.map_err(io::Error::other)?;
            Store::restore(&mut &backup[..], &dir, url.as_deref(), None)
                .and_then(|_| Store::open(&dir))
                .map_err(io::Error::other)
        };
        let small = Issuing::new(Scheme::Xr, quorum(1, 1));
        let small = restored(&small.store, "small")?;
        Ok(Self {
            name: socket.map_or("sqlite", |_| "postgresql"),
            large: restored(&large.store, "large")?,
            served: Served::start(runtime, small, folder.path())?,
            _folder: folder,
        })
    }
}

/// Runs the program.
pub fn run(options: &Options) -> io::Result<()> {
    let runtime = Runtime::new()?;
    let large = filled(options.members).map_err(io::Error::other)?;
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
        cases.extend(look_ups(world, options.members));
    }
    if let Some(world) = worlds.first() {
        cases.push(served::device(&world.served));
        cases.extend(heads::all(&runtime, &world.served));
    }
    report::run(options, &[], cases)
}

/// The row of an opening, once its index or an auditor's search has said which one.
fn look_ups(world: &World, members: u32) -> [Case<'_>; 2] {
    let mut next = 0_u32;
    let other = move || {
        // Far apart: a stride that meets every row.
        next = next.wrapping_add(0x9e37_79b1);
        next % members
    };
    let name = world.name;
    let mut again = other;
    [
        Case::with_input(
            format!("{name}-row"),
            "a row with its proof, by its place",
            other,
            |index| {
                let machine = world.large.machine_at(index).ok().flatten();
                machine.is_some_and(|machine| world.large.row(&machine).is_ok())
            },
        ),
        Case::with_input(
            format!("{name}-name"),
            "a row by its machine's name",
            move || format!("machine-{}", again()),
            |machine| world.large.machine(&machine).is_ok_and(|row| row.is_some()),
        ),
    ]
}
