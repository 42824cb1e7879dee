//! Throughput, memory and ratios.

use super::folder::{Folder, SHARE, Task};
use super::{Run, row, traffic};
use crate::measure::{Figures, Measured};
use crate::options::Options;
use clew_record::table::{Table, number, optional};

/// The captures, and what figures include.
pub fn notes(options: &Options, folder: &Folder) -> Vec<String> {
    let mb = |bytes: usize| bytes as f64 / 1e6;
    let mut notes = vec![
        format!(
            "tree: {} packets, {:.1} MB; each and window: the first {} of them (1/{SHARE}), {:.1} MB",
            folder.all.packets,
            mb(folder.all.bytes),
            folder.first.packets,
            mb(folder.first.bytes),
        ),
        "MB are those of the packets before they are signed; hashing: SHA-256 of these on the same cores".into(),
    ];
    if options.capture.is_none() {
        notes.push(format!(
            "synthetic: UDP, {} flows in bursts of {} on average, IP datagrams of {:?} bytes",
            traffic::FLOWS,
            traffic::MEAN_BURST,
            traffic::LENGTHS
        ));
    }
    notes
}

/// A row for each task and number of cores.
pub fn throughput(folder: &Folder, runs: &[Run], measured: &Measured) -> Table {
    let columns = [
        "task",
        "cores",
        "packets/s",
        "MB/s",
        "CPU us/packet",
        "peak MB",
        "to hashing",
        "to hashing, p10",
        "to one core",
        "to one core, p10",
    ];
    let title = "The whole process: start, keys, reading, decoding, hashing, signatures, writing";
    let mut table = Table::new("throughput", title, columns);
    for run in runs {
        table.row(run.task.name(), cells(run, folder, measured));
    }
    table
}

fn cells(run: &Run, folder: &Folder, measured: &Measured) -> Vec<String> {
    let traffic = folder.traffic(run.task.mode());
    let packets_per_s = 1e6 / measured.us(&run.row());
    let mb_per_s = packets_per_s * traffic.bytes as f64 / traffic.packets as f64 / 1e6;
    // The program that hashes holds the whole capture.
    let program = !matches!(run.task, Task::Hash(_));
    let [cpu_us, peak_mb] = [run.cpu_us(), run.peak.get() as f64 / 1e6];
    let by_p10 = ratios(run, measured, |figures| figures.p10);
    let by_median = ratios(run, measured, |figures| figures.median);
    let mut cells = vec![
        run.cores.to_string(),
        format!("{packets_per_s:.0}"),
        format!("{mb_per_s:.1}"),
    ];
    let rest = [
        program.then_some(cpu_us),
        program.then_some(peak_mb),
        by_median[0],
        by_p10[0],
        by_median[1],
        by_p10[1],
    ];
    cells.extend(rest.map(|figure| optional(figure, number)));
    cells
}

/// How many times as long as hashing alone, and how many times as fast as on one core. Other jobs on the
/// cores only ever add: the quickest runs saw the least of them.
fn ratios(run: &Run, measured: &Measured, us: impl Fn(&Figures) -> f64) -> [Option<f64>; 2] {
    let us = |row: String| measured.get(&row).map(&us);
    let own = us(run.row());
    let ratio = |one: Option<f64>, other: Option<f64>| Some(one? / other?);
    [
        ratio(own, us(run.hashing())),
        ratio(us(row(run.task, 1)), own),
    ]
}
