//! What the rows mean for whoever has files.

use super::desk::{Desk, SHARE, Task};
use super::{Run, row, traffic};
use crate::measure::Figures;
use crate::options::Options;
use crate::report::number;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// What the program took beside time.
struct Program {
    cpu_us: f64,
    peak_mb: f64,
}

/// What a run comes to.
struct Throughput {
    packets_per_s: f64,
    mb_per_s: f64,
    /// Not of hashing, whose program also holds the whole capture.
    program: Option<Program>,
    medians: Ratios,
    /// Other jobs on the cores only ever add: the quickest runs saw the least of them.
    quickest: Ratios,
}

/// A run beside others.
struct Ratios {
    /// How many times as long as hashing alone.
    to_hashing: Option<f64>,
    /// How many times as fast as on one core.
    to_one_core: Option<f64>,
}

impl Ratios {
    fn of(run: &Run, us: impl Fn(String) -> Option<f64>) -> Self {
        let ratio = |us: Option<f64>, other: Option<f64>| Some(us? / other?);
        Self {
            to_hashing: ratio(us(run.row()), us(run.hashing())),
            to_one_core: ratio(us(row(run.task, 1)), us(run.row())),
        }
    }
}

impl Throughput {
    fn of(run: &Run, desk: &Desk, rows: &BTreeMap<String, Figures>) -> Option<Self> {
        let median = |row: String| rows.get(&row).map(|figures| figures.median);
        let us = median(run.row())?;
        let traffic = desk.traffic(run.task.mode());
        let packets_per_s = 1e6 / us;
        Some(Self {
            packets_per_s,
            mb_per_s: packets_per_s * traffic.bytes as f64 / traffic.packets as f64 / 1e6,
            program: match run.task {
                Task::Hash(_) => None,
                _ => Some(Program {
                    cpu_us: run.cpu_us(),
                    peak_mb: run.peak.get() as f64 / 1e6,
                }),
            },
            medians: Ratios::of(run, median),
            quickest: Ratios::of(run, |row| rows.get(&row).map(|figures| figures.p10)),
        })
    }
}

/// Prints throughput, memory and ratios.
pub fn print(
    options: &Options,
    desk: &Desk,
    runs: &[Run],
    rows: &BTreeMap<String, Figures>,
) -> io::Result<()> {
    let out = &mut io::stdout().lock();
    if !options.json {
        head(out, options, desk)?;
    }
    for run in runs {
        let Some(found) = Throughput::of(run, desk, rows) else {
            continue;
        };
        match options.json {
            true => writeln!(out, "{}", object(run, &found))?,
            false => writeln!(out, "{}", line(run, &found))?,
        }
    }
    Ok(())
}

fn head(out: &mut impl Write, options: &Options, desk: &Desk) -> io::Result<()> {
    let mb = |bytes: usize| bytes as f64 / 1e6;
    writeln!(
        out,
        "\ntree: {} packets, {:.1} MB; each and window: the first {} of them (1/{SHARE}), {:.1} MB",
        desk.all.packets,
        mb(desk.all.bytes),
        desk.first.packets,
        mb(desk.first.bytes),
    )?;
    if options.capture.is_none() {
        writeln!(
            out,
            "synthetic: UDP, {} flows in bursts of {} on average, IP datagrams of {:?} bytes",
            traffic::FLOWS,
            traffic::MEAN_BURST,
            traffic::LENGTHS
        )?;
    }
    writeln!(
        out,
        "MB are those of the packets before they are signed; hashing: SHA-256 of these on the same cores\n\n\
         {:<22}{:>6}{:>11}{:>9}{:>15}{:>9}{:>12}{:>9}{:>13}{:>9}",
        "",
        "cores",
        "packets/s",
        "MB/s",
        "CPU us/packet",
        "peak MB",
        "to hashing",
        "by p10",
        "to one core",
        "by p10"
    )
}

fn line(run: &Run, found: &Throughput) -> String {
    let optional = |figure: Option<f64>| figure.map_or("-".into(), number);
    let program = found.program.as_ref();
    format!(
        "{:<22}{:>6}{:>11.0}{:>9.1}{:>15}{:>9}{:>12}{:>9}{:>13}{:>9}",
        run.task.name(),
        run.cores,
        found.packets_per_s,
        found.mb_per_s,
        optional(program.map(|program| program.cpu_us)),
        optional(program.map(|program| program.peak_mb)),
        optional(found.medians.to_hashing),
        optional(found.quickest.to_hashing),
        optional(found.medians.to_one_core),
        optional(found.quickest.to_one_core),
    )
}

fn object(run: &Run, found: &Throughput) -> serde_json::Value {
    json!({
        "throughput_of": run.row(),
        "cores": run.cores,
        "packets_per_s": found.packets_per_s,
        "mb_per_s": found.mb_per_s,
        "cpu_us": found.program.as_ref().map(|program| program.cpu_us),
        "peak_mb": found.program.as_ref().map(|program| program.peak_mb),
        "ratio_to_hashing": found.medians.to_hashing,
        "ratio_to_hashing_p10": found.quickest.to_hashing,
        "ratio_to_one_core": found.medians.to_one_core,
        "ratio_to_one_core_p10": found.quickest.to_one_core,
    })
}
