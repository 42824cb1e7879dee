//! Server and client as processes of their own, on hosts that share a file: for programs that try a network.

use crate::systems::{self, Shared, identity::Identity};
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

/// Serves until it is ended. The file says where, and who the server is.
pub fn serve(row: &str, host: IpAddr, file: &Path) -> io::Result<()> {
    let identity = Identity::new()?;
    let system = system(row, &identity)?;
    system.serve(host, &|address| {
        let lines = format!("{address}\n{}\n", identity.to_line());
        // Whoever waits for the file sees all of it.
        let unfinished = file.with_extension("new");
        let written = fs::write(&unfinished, lines).and_then(|()| fs::rename(&unfinished, file));
        if let Err(error) = written {
            eprintln!("tunnel-bench: {}: {error}", file.display());
        }
    })
}

/// Gets so many bytes on a new connection, and prints how many milliseconds that took.
pub fn fetch(row: &str, file: &Path, bytes: u64) -> io::Result<()> {
    let text = fs::read_to_string(file)?;
    let server = text.split_once('\n').and_then(|(address, identity)| {
        let address: SocketAddr = address.parse().ok()?;
        Some((address, Identity::from_line(identity.trim())?))
    });
    let wrong = || io::Error::other(format!("{}: not written by `serve`", file.display()));
    let (address, identity) = server.ok_or_else(wrong)?;
    let system = system(row, &identity)?;
    let fetched = system.client(address, 1)?.fetch(bytes)?;
    println!("{}", fetched.whole.as_secs_f64() * 1e3);
    Ok(())
}

fn system(row: &str, identity: &Identity) -> io::Result<Shared> {
    let mut systems = systems::all(identity).into_iter();
    let system = systems.find(|system| system.name() == row);
    system.ok_or_else(|| io::Error::other(format!("no row {row}")))
}
