//! How long single packets take at low load.

use super::in_turn;
use crate::measure::{percentile, ping};
use crate::options::{Common, Pings};
use crate::systems::Counts;
use crate::topology::{Beside, Shape};
use clew_record::Record;
use clew_record::table::{Table, fixed, optional};
use line::Condition;
use std::io;

/// The table of percentiles.
pub const DISTRIBUTION: &str = "latency-distribution";

/// The column of [`run`]'s table with the microseconds of a verification.
const VERIFICATION: usize = 6;

const PER_CENT: [f64; 11] = [
    1.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 98.0, 99.0, 99.5, 100.0,
];

const NOTES: [&str; 3] = [
    "one way a system adds half of the difference to `none`",
    "late p99: of the line itself, in microseconds",
    "verification: CPU microseconds of one, in this run",
];

/// Runs the scenario.
pub fn run(common: &Common, pings: &Pings, record: &mut Record) -> io::Result<()> {
    let mut trips: Vec<(&'static str, Vec<f64>)> = Vec::new();
    let samples = in_turn(common, Shape::Pair, Beside::default(), |scene, samples| {
        scene.topology.set(Condition {
            delay: pings.delay,
            ..Condition::default()
        })?;
        let client = scene.topology.client();
        let before = scene.system.counts(scene.topology)?;
        let times = ping(
            client.namespace,
            &scene.running.server.v4,
            pings.count,
            pings.pause,
        )?;
        if times.is_empty() {
            return Err(io::Error::other("no echo came back"));
        }
        let missing = f64::from(pings.count) - times.len() as f64;
        let at = |percent| percentile(&times, percent).unwrap_or(f64::NAN);
        let late = scene.topology.report()?;
        let late = late.iter().map(|report| report.lateness_us.p99);
        let late = late.fold(0.0, f64::max);
        let after = scene.system.counts(scene.topology)?;
        let verification = before.zip(after).map_or(f64::NAN, verification);
        let figures = vec![
            at(50.0),
            at(90.0),
            at(99.0),
            at(100.0),
            missing,
            late,
            verification,
        ];
        samples.add(scene.system.name(), figures);
        let name = scene.system.name();
        match trips.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => known.extend(times),
            None => trips.push((name, times)),
        }
        Ok(())
    })?;
    let columns = [
        "p50",
        "p90",
        "p99",
        "max",
        "missing",
        "late p99",
        "verification",
    ];
    let title = format!(
        "Round trips of {} pings, one each {:?}, in ms; the line adds {:?} each way",
        pings.count, pings.pause, pings.delay
    );
    let costs: Vec<(&str, f64)> = trips
        .iter()
        .filter_map(|(name, _)| Some((*name, samples.median_of(name, VERIFICATION)?)))
        .collect();
    samples.add_to(record, "latency", &title, &columns);
    record.tables.push(distribution(&trips));
    record.tables.push(goals(&trips, &costs));
    record.notes.extend(NOTES.map(String::from));
    Ok(())
}

/// One way, of all rounds together. Without routes only in the run, the line's time is included.
fn distribution(trips: &[(&str, Vec<f64>)]) -> Table {
    let base = trips.iter().find(|(name, _)| *name == "none");
    let base = base.and_then(|(_, times)| percentile(times, 50.0));
    let title = match base {
        Some(_) => {
            "Latency added one way, in ms: half of what a round trip takes more than the median of none"
        }
        None => "Latency one way, in ms: half of a round trip",
    };
    let columns = PER_CENT.map(|per_cent| per_cent.to_string());
    let columns = ["row".to_owned()].into_iter().chain(columns);
    let mut table = Table::new(DISTRIBUTION, title, columns);
    for (name, times) in trips {
        let at = |per_cent| Some((percentile(times, per_cent)? - base.unwrap_or(0.0)) / 2.0);
        table.row(*name, PER_CENT.map(|share| optional(at(share), fixed(3))));
    }
    table
}

/// What issue 18 allows beside one verification, in ms: in the median, and for 99 of 100 packets.
const ALLOWED: [f64; 2] = [0.5, 3.0];

/// What a system adds one way, and what it may. Nothing to compare with: no rows.
fn goals(trips: &[(&str, Vec<f64>)], costs: &[(&str, f64)]) -> Table {
    let columns = [
        "row",
        "median",
        "goal",
        "p99",
        "goal of p99",
        "verification",
    ];
    let title = "Latency added one way beside its goals, in ms";
    let mut table = Table::new("latency-goals", title, columns);
    let base = trips.iter().find(|(name, _)| *name == "none");
    let Some(base) = base.and_then(|(_, times)| percentile(times, 50.0)) else {
        return table;
    };
    for (name, cost) in costs {
        let own = trips.iter().find(|(known, _)| known == name);
        let added = |percent| Some((percentile(&own?.1, percent)? - base) / 2.0);
        let cost = cost / 1e3;
        let [median, p99] = ALLOWED.map(|more| fixed(3)(cost + more));
        let added = [50.0, 99.0].map(|percent| optional(added(percent), fixed(3)));
        let [own_median, own_p99] = added;
        table.row(*name, [own_median, median, own_p99, p99, fixed(3)(cost)]);
    }
    table
}

/// What one verification took, of both daemons.
fn verification((before, after): ([Counts; 2], [Counts; 2])) -> f64 {
    let sum = |of: fn(&Counts) -> f64| -> f64 {
        let sides = before.iter().zip(&after);
        sides.map(|(before, after)| of(after) - of(before)).sum()
    };
    sum(|counts| counts.verification) / sum(|counts| counts.verified).max(1.0) * 1e6
}
