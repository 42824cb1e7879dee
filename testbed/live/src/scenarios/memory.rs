//! What a flow takes in memory: each case in a process of its own, which says how much more of it is
//! resident when so many flows were seen than when the first was.

use crate::bed::Bed;
use crate::report::Samples;
use crate::signer::{Clock, PEER, identity, inbound, outbound, packet, rng};
use crate::systems::clew;
use crate::topology::NEAR_INNER;
use clap::Args;
use clew_live::identity::EpochKey;
use clew_live::packet::{Burst, Clear, Outer};
use clew_live::pool::PrecursorSource;
use clew_live::sender::{Cover, WindowSize};
use clew_record::Record;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Bytes of data in a packet.
const DATA: usize = 600;
/// Packets of a flow in a window.
const WINDOW: u16 = 8;
/// Flows that are seen before the first look.
const FIRST: u32 = 32;

/// Holds flows.
#[derive(Args)]
pub struct Hold {
    /// What it is
    #[arg(long, value_enum)]
    side: Side,
    #[arg(long)]
    flows: u32,
    /// The folder with the keys of both sides
    #[arg(long)]
    keys: PathBuf,
    /// Datagrams, each after its length: what a sender writes, and a receiver reads
    #[arg(long)]
    datagrams: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Side {
    SenderTree,
    SenderWindow,
    Receiver,
}

/// Runs all cases.
pub fn run(flows: u32, record: &mut Record) -> io::Result<()> {
    let bed = Bed::open()?;
    let keys = clew::keys("xr")?;
    let file = bed.folder.join("datagrams");
    let mut samples = Samples::default();
    // The receiver reads what the sender before it wrote.
    for side in ["sender-tree", "receiver", "sender-window"] {
        let [before, after] = child(side, flows, &keys, &file)?;
        let each = (after - before) * 1024.0 / f64::from(flows - FIRST);
        samples.add(side, vec![each, before / 1024.0, after / 1024.0]);
    }
    let title = format!(
        "Memory of {flows} flows, a packet each ({WINDOW} in windows of as many): resident bytes a flow, \
         and MiB of the process with {FIRST} flows and with all"
    );
    let columns = ["bytes a flow", "MiB first", "MiB all"];
    samples.add_to(record, "memory", &title, &columns);
    record.notes.push(
        "resident: with buffers that were freed and not returned to the system; the receiver's has \
         its duplicate filter and known roots, which time bounds"
            .into(),
    );
    Ok(())
}

/// What is resident in KiB, before and after.
fn child(side: &str, flows: u32, keys: &Path, file: &Path) -> io::Result<[f64; 2]> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["hold", "--side", side, "--flows", &flows.to_string()]);
    let output = command
        .arg("--keys")
        .arg(keys)
        .arg("--datagrams")
        .arg(file)
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let mut figures = said.split_whitespace().map(str::parse);
    match (figures.next(), figures.next()) {
        (Some(Ok(before)), Some(Ok(after))) if output.status.success() => Ok([before, after]),
        _ => {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(io::Error::other(format!("{side}: {why}")))
        }
    }
}

impl Hold {
    /// Prints what is resident, in KiB.
    pub fn run(&self) -> io::Result<()> {
        let [before, after] = match self.side {
            Side::SenderTree => self.send(Cover::Tree(64), 1)?,
            Side::SenderWindow => {
                self.send(Cover::Window(WindowSize::Fixed(WINDOW)), WINDOW.into())?
            }
            Side::Receiver => self.receive()?,
        };
        println!("{before} {after}");
        Ok(())
    }

    fn send(&self, cover: Cover, packets: u32) -> io::Result<[u64; 2]> {
        let (clock, mut rng) = (Clock::start(), rng()?);
        let remote = SocketAddr::from(([198, 18, 0, 2], 4_909));
        let mut outbound = outbound(identity(&self.keys, "near")?, cover, remote);
        let mut file = BufWriter::new(File::create(&self.datagrams)?);
        let (mut bursts, mut before): (Vec<Burst>, u64) = (Vec::new(), 0);
        for flow in 0..self.flows {
            if flow == FIRST {
                before = resident()?;
            }
            for _ in 0..packets {
                let bytes = packet(flow as u16, DATA);
                let pushed = outbound.push(Clear { peer: PEER, bytes }, clock.now());
                pushed.map_err(|reason| io::Error::other(format!("not sent: {reason:?}")))?;
            }
            outbound.flush(clock.now(), &mut Online, &mut rng, &mut bursts);
            for burst in bursts.drain(..) {
                for datagram in burst.bytes.chunks(burst.segment) {
                    file.write_all(&(datagram.len() as u16).to_be_bytes())?;
                    file.write_all(datagram)?;
                }
                outbound.recycle(burst.bytes);
            }
        }
        file.flush()?;
        Ok([before, resident()?])
    }

    fn receive(&self) -> io::Result<[u64; 2]> {
        let (clock, mut rng) = (Clock::start(), rng()?);
        let mut inbound = inbound(&self.keys, NEAR_INNER, None, clock.now())?;
        let outer = Outer {
            source: SocketAddr::from(([198, 18, 0, 1], 4_909)),
            destination: SocketAddr::from(([198, 18, 0, 2], 4_909)),
            ecn: 0,
        };
        let bytes = fs::read(&self.datagrams)?;
        let (mut rest, mut out, mut before) = (bytes.as_slice(), Vec::new(), 0);
        let (mut seen, mut delivered) = (0, 0);
        while let [high, low, behind @ ..] = rest {
            if seen == FIRST {
                before = resident()?;
            }
            seen += 1;
            let length = usize::from(u16::from_be_bytes([*high, *low]));
            let (datagram, behind) = behind.split_at(length.min(behind.len()));
            rest = behind;
            inbound.receive(datagram, &outer, clock.now());
            while let Some(work) = inbound.take_work(clock.now()) {
                let done = work.run(&mut rng);
                inbound.finish(done, std::time::Duration::ZERO, clock.now());
            }
            inbound.deliver(clock.now(), &mut out);
            delivered += out.len();
            out.drain(..)
                .for_each(|packet| inbound.recycle(packet.bytes));
        }
        match delivered == self.flows as usize {
            true => Ok([before, resident()?]),
            false => Err(io::Error::other(format!(
                "delivered {delivered} of {} packets",
                self.flows
            ))),
        }
    }
}

/// Every signature is computed when it is needed.
struct Online;

impl PrecursorSource for Online {
    fn take(&mut self, _: &EpochKey) -> Option<clew_group::Precursor> {
        None
    }

    fn is_low(&self) -> bool {
        false
    }
}

/// KiB of this process that are in memory.
fn resident() -> io::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let figure = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    figure.ok_or_else(|| io::Error::other("/proc/self/status: no VmRSS"))
}
