//! The fleet of the demo: a capture moved to now, a group, and a machine for each end point.

use super::changes::copy;
use super::{CAPTURE, Stage};
use crate::capture::Capture;
use crate::clock;
use crate::failure::Failure;
use clew_capture::Record;
use clew_engine::AsFrame;
use clew_group::Scheme;
use clew_packet::{GroupId, Policy, SECOND_NS, Sender, SignOutcome, source};
use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Most end points that get a machine; packets of others stay unsigned.
const MACHINES_MAX: usize = 16;

/// One end point and its machine.
pub struct Machine {
    pub name: String,
    pub address: IpAddr,
    /// Packets that it sent and that can be signed.
    pub packets: u64,
}

/// The machines of the demo's group.
pub struct Fleet {
    pub machines: Vec<Machine>,
    /// Time of the first packet, nanoseconds since 1970, after the move.
    pub first_ns: u64,
}

impl Fleet {
    /// Packets that the machines sent.
    pub fn packets(&self) -> u64 {
        self.machines.iter().map(|m| m.packets).sum()
    }

    /// Prepares everything before the first signature.
    pub fn gather(stage: &mut Stage, given: Option<&Path>) -> Result<Self, Failure> {
        stage.step("1. A capture of real traffic, moved to now");
        let input = input(stage, given)?;
        let survey = Survey::of(&input)?;
        let later = survey.seconds_to_now();
        let moved = move_later(stage, &input, later)?;
        say!(
            "   {moved} packets from {} end points: {}",
            survey.senders.len(),
            stage.path("original.pcap").display()
        );
        let first_ns = survey.first_ns.unwrap_or(0);
        Ok(Self {
            machines: enrol(stage, survey.busiest())?,
            first_ns: first_ns.saturating_add_signed(later * SECOND_NS.cast_signed()),
        })
    }
}

/// Founds the group, and enrols a machine for each of these addresses.
fn enrol(stage: &mut Stage, senders: Vec<(IpAddr, u64)>) -> Result<Vec<Machine>, Failure> {
    stage.step("2. A group, and a machine enrolled for each end point");
    stage.run("group create @acme --name acme --trustees 3 --threshold 2")?;
    say!(
        "   Three trustees share the opening key; any two open together. This host is the trusted \
         dealer."
    );
    say!("   The demo enrols on this host; with clew enrol --invite a machine joins from its own,");
    say!("   and then not even the issuer can sign as that machine.");
    let enrol = |(i, (address, packets))| {
        let name = format!("machine-{i}");
        stage.run(&format!("enrol @acme {name} -o @keys/{name}.key"))?;
        say!("     {name} is {address}, which sent {packets} packets");
        Ok(Machine {
            name,
            address,
            packets,
        })
    };
    (1..).zip(senders).map(enrol).collect()
}

/// The capture as it was given, or the built-in one.
fn input(stage: &Stage, given: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(path) = given {
        return Ok(path.to_owned());
    }
    let path = stage.path("built-in.pcap");
    fs::write(&path, CAPTURE).map_err(|e| Failure::io(&path, &e))?;
    Ok(path)
}

/// Who sends, and when.
#[derive(Default)]
struct Survey {
    senders: BTreeMap<IpAddr, u64>,
    first_ns: Option<u64>,
    last_ns: u64,
    scratch: Vec<u8>,
}

impl Survey {
    fn of(path: &Path) -> Result<Self, Failure> {
        let mut survey = Self::default();
        let mut capture = Capture::open(path, "reading")?;
        while let Some(batch) = capture.next_batch()? {
            batch.iter().for_each(|record| survey.see(record));
        }
        if survey.senders.is_empty() {
            return Err(Failure::file(
                path,
                "does not contain an IP packet that can be signed",
            ));
        }
        Ok(survey)
    }

    fn see(&mut self, record: &Record) {
        let Some((frame, time)) = record.as_frame() else {
            return;
        };
        if let Some(time) = time {
            self.first_ns = Some(self.first_ns.map_or(time.0, |first| first.min(time.0)));
            self.last_ns = self.last_ns.max(time.0);
        }
        // A signature in form only: what counts is whether the packet takes one.
        let sender = Sender::new(Scheme::Xr, GroupId([0; 16]), 0, Policy::default());
        let takes =
            sender.sign_with(&frame, time, |_, _| {}, &mut self.scratch) == SignOutcome::Signed;
        if let Some(source) = source(&frame).ok().filter(|_| takes) {
            *self.senders.entry(source).or_default() += 1;
        }
    }

    /// How much later the last packet would be if it came now.
    fn seconds_to_now(&self) -> i64 {
        (clock::now_ns() / SECOND_NS) as i64 - (self.last_ns / SECOND_NS) as i64
    }

    fn busiest(&self) -> Vec<(IpAddr, u64)> {
        let mut senders: Vec<_> = self.senders.iter().map(|(a, n)| (*a, *n)).collect();
        senders.sort_by_key(|(address, packets)| (std::cmp::Reverse(*packets), *address));
        senders.truncate(MACHINES_MAX);
        senders
    }
}

/// Writes `original.pcap`: every packet later by the same number of seconds.
fn move_later(stage: &Stage, input: &Path, seconds: i64) -> Result<u64, Failure> {
    let path = stage.path("original.pcap");
    let mut packets = 0;
    copy(input, &path, |record| {
        packets += u64::from(record.packet().is_some());
        let _ = record.delay(seconds); // a packet without a time stays as it is
        Ok(())
    })?;
    Ok(packets)
}
