//! `clew sign` and `clew verify` on capture files, by number of cores. The program itself is run, as
//! a child: start, keys, reading, writing and all.

mod child;
mod folder;
mod tables;
mod traffic;

use crate::measure::Case;
use crate::options::Options;
use crate::report;
use crate::sha256;
use child::Ran;
use folder::{Folder, Mode, TASKS, Task};
use serde_json::Value;
use std::cell::Cell;
use std::io;
use std::time::Duration;

/// Packets of the synthetic capture, if it is not said how many.
const PACKETS: u32 = 32_768;

/// Runs the program.
pub fn run(options: &Options) -> io::Result<()> {
    let packets = options.packets.unwrap_or(PACKETS);
    let folder = Folder::new(options.clew.as_deref(), options.capture.as_deref(), packets)?;
    let cores = child::cores()?;
    let mut runs = Vec::new();
    for task in TASKS {
        let counts = child::counts(cores.len());
        runs.extend(counts.into_iter().map(|count| Run::new(task, count)));
    }
    let cases = runs
        .iter()
        .map(|run| run.case(&folder, &cores[..run.cores]));
    let (mut record, measured) = report::measure(options, &[], cases.collect())?;
    record.notes = tables::notes(options, &folder);
    record
        .tables
        .push(tables::throughput(&folder, &runs, &measured));
    record.print(options.json)
}

/// A task on so many cores.
struct Run {
    task: Task,
    cores: usize,
    /// The most memory of all its children.
    peak: Cell<u64>,
    /// What its children computed, and for how many packets.
    cpu: Cell<Duration>,
    packets: Cell<usize>,
}

impl Run {
    fn new(task: Task, cores: usize) -> Self {
        Self {
            task,
            cores,
            peak: Cell::default(),
            cpu: Cell::default(),
            packets: Cell::default(),
        }
    }

    fn row(&self) -> String {
        row(self.task, self.cores)
    }

    /// The row of hashing the same packets on the same cores.
    fn hashing(&self) -> String {
        row(yardstick(self.task.mode()), self.cores)
    }

    fn note(&self, ran: &Ran, packets: usize) {
        self.peak.set(self.peak.get().max(ran.peak));
        self.cpu.set(self.cpu.get() + ran.cpu);
        self.packets.set(self.packets.get() + packets);
    }

    /// Microseconds of computing for a packet, on all cores together: the mean.
    fn cpu_us(&self) -> f64 {
        self.cpu.get().as_secs_f64() * 1e6 / self.packets.get() as f64
    }

    fn case<'a>(&'a self, folder: &'a Folder, cores: &'a [usize]) -> Case<'a> {
        let packets = folder.traffic(self.task.mode()).packets;
        let work = move || {
            let ran = folder.run(self.task, cores).expect("it was done before");
            self.note(&ran, packets);
            match self.task {
                Task::Hash(_) => (hashed(&ran.stdout).expect("a row of our own"), 1),
                _ => (ran.time, packets),
            }
        };
        match self.task {
            Task::Hash(_) => Case::timed(self.row(), "hashing alone, per packet", work),
            _ => {
                let case = Case::timed(self.row(), "the whole program, per packet", work);
                case.against(self.hashing())
            }
        }
    }
}

fn row(task: Task, cores: usize) -> String {
    format!("{}-c{cores}", task.name())
}

/// Hashing the packets of a mode.
fn yardstick(mode: Mode) -> Task {
    Task::Hash(match mode {
        Mode::Each | Mode::Window => Mode::Each,
        Mode::Tree => Mode::Tree,
    })
}

/// What `sha256 --json` found for one packet: the mean, since load that stops the program in the middle
/// stops hashing too.
fn hashed(lines: &[u8]) -> Option<Duration> {
    let lines = lines.split(|byte| *byte == b'\n');
    let mut rows = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let row = rows.find(|line| line["row"]["name"] == sha256::ROW)?;
    let us = row["row"]["mean_us"].as_f64()?;
    Some(Duration::from_secs_f64(us / 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_sha256_found() {
        let lines = b"{\"run\":{}}\n{\"row\":{\"name\":\"sha256\",\"mean_us\":2.5}}\n";
        assert_eq!(hashed(lines), Some(Duration::from_nanos(2500)));
        assert_eq!(hashed(b"{\"run\":{}}\n"), None);
    }
}
