//! How fast streams are, by round trip and loss.

use super::{Scene, in_turn};
use crate::measure::{Load, iperf};
use crate::options::{Common, Streams};
use crate::report::{Samples, number};
use crate::systems::Counts;
use crate::topology::{Beside, Shape};
use clew_record::Record;
use clew_record::table::{Table, optional};
use line::{Condition, Loss, QUEUE_MIN, Queue};
use std::io;
use std::time::{Duration, Instant};

const COLUMNS: [&str; 16] = [
    "Mbit/s",
    "packets/s",
    "sent again",
    "CPU near",
    "CPU far",
    "lost",
    "queue full",
    "accidents",
    "late p99",
    "signed/s",
    "verified/s",
    "verification",
    "pool near",
    "pool far",
    "refill/s",
    "dropped",
];

/// Runs the scenario.
pub fn run(common: &Common, streams: &Streams, record: &mut Record) -> io::Result<()> {
    let samples = measure(common, streams)?;
    report(samples, streams, record);
    Ok(())
}

/// All cases of all systems.
pub fn measure(common: &Common, streams: &Streams) -> io::Result<Samples> {
    in_turn(common, Shape::Pair, Beside::default(), |scene, samples| {
        let cases = streams
            .conditions
            .loss
            .iter()
            .flat_map(|loss| streams.rtt.iter().map(move |rtt| (loss, rtt)));
        for (loss, rtt) in cases {
            let figures = case(scene, streams, *rtt, *loss);
            samples.add_or_say(&row(scene.system.name(), *rtt, *loss), figures);
        }
        Ok(())
    })
}

/// The name of a case.
pub fn row(system: &str, rtt: Duration, loss: f64) -> String {
    format!("{system} {} ms {} %", milliseconds(rtt), loss * 100.0)
}

/// The table of all figures, and what a reader must know.
pub fn report(samples: Samples, streams: &Streams, record: &mut Record) {
    let shaped = match streams.conditions.rate {
        Some(rate) => format!(
            "{} Mbit/s, queue of {}",
            rate as f64 / 1e6,
            queue(streams.conditions.queue)
        ),
        None => "as fast as the machine".into(),
    };
    let what = match streams.datagrams {
        Some(length) => format!("UDP datagrams of {length} bytes"),
        None => format!("TCP with {}", streams.conditions.congestion),
    };
    let compared = compared(&samples, streams);
    samples.add_to(
        record,
        "throughput",
        &format!(
            "{what}, {} at once; line: {shaped}. By round trip and loss each way",
            streams.parallel
        ),
        &COLUMNS,
    );
    record.tables.extend(compared);
    for note in [
        "CPU: per cent of a core of the system's processes, without the kernel's routing",
        "lost, queue full, accidents: packets that the line dropped both ways, the last by its own fault",
        "late p99: how late the line was with 99 of 100 packets, in microseconds",
        "signed/s, verified/s, refill/s, dropped: of both daemons; verification: CPU microseconds a signature",
    ] {
        record.notes.push(note.into());
    }
}

/// The queue before the rate, in words.
fn queue(queue: Option<Queue>) -> String {
    match queue {
        None | Some(Queue::BandwidthDelay) => {
            format!("rate times round trip, at least {} KiB", QUEUE_MIN >> 10)
        }
        Some(Queue::Bytes(bytes)) => format!("{} KiB", bytes >> 10),
        Some(Queue::Time(time)) => format!("{} ms", milliseconds(time)),
    }
}

/// Systems, what they are compared with, and the least share that issue 18 wants.
const COMPARED: [(&str, &str); 3] = [
    ("clew", "clew-empty"),
    ("clew-bbs04", "clew-empty"),
    ("clew-plain", "wireguard-go"),
];
/// The line of the issue's goals.
const GOAL_RATE: u64 = 300_000_000;

/// What the issue wants of `clew` on its line, and of the forwarder on any.
fn goal(system: &str, streams: &Streams, loss: f64) -> Option<f64> {
    let is_its_line = streams.conditions.rate == Some(GOAL_RATE) && streams.parallel == 1;
    match (system, streams.conditions.rate) {
        ("clew", _) if is_its_line && loss == 0.0 => Some(0.9),
        ("clew", _) if is_its_line && loss == 0.01 => Some(0.85),
        ("clew-plain", None) if streams.parallel == 1 => Some(3.0),
        _ => None,
    }
}

/// The medians of systems that are compared, by round trip and loss.
fn compared(samples: &Samples, streams: &Streams) -> Option<Table> {
    let columns = [
        "row",
        "Mbit/s",
        "compared with",
        "its Mbit/s",
        "ratio",
        "goal",
    ];
    let title = format!(
        "Medians compared; TCP with {}, {} at once",
        streams.conditions.congestion, streams.parallel
    );
    let mut table = Table::new("compared", title, columns);
    let losses = streams.conditions.loss.iter().copied();
    let cases: Vec<(f64, Duration)> = losses
        .flat_map(|loss| streams.rtt.iter().map(move |rtt| (loss, *rtt)))
        .collect();
    for (system, base) in COMPARED {
        for (loss, rtt) in &cases {
            let name = row(system, *rtt, *loss);
            let other = samples.median(&row(base, *rtt, *loss));
            let (Some(own), Some(other)) = (samples.median(&name), other) else {
                continue;
            };
            let goal = optional(goal(system, streams, *loss), number);
            let cells = [
                number(own),
                base.into(),
                number(other),
                number(own / other),
                goal,
            ];
            table.row(name, cells);
        }
    }
    (!table.rows.is_empty() && streams.datagrams.is_none()).then_some(table)
}

fn case(scene: &Scene<'_>, streams: &Streams, rtt: Duration, loss: f64) -> io::Result<Vec<f64>> {
    scene.topology.set(Condition {
        delay: rtt / 2,
        rate: streams.conditions.rate,
        queue: streams.conditions.queue.unwrap_or(Queue::BandwidthDelay),
        loss: Loss {
            share: loss,
            burst: streams.burst,
        },
        ..Condition::default()
    })?;
    let load = Load {
        time: streams.time,
        warm_up: streams.conditions.warm_up,
        congestion: streams.conditions.congestion.clone(),
        parallel: streams.parallel,
        rate: 0,
        datagrams: streams.datagrams,
    };
    let before = scene.system.counts(scene.topology)?;
    let start = Instant::now();
    let (found, cpu) = scene.with_cpu(|| iperf(scene.hosts(), &scene.running.server.v4, &load))?;
    let time = start.elapsed().as_secs_f64();
    let after = scene.system.counts(scene.topology)?;
    let reports = scene.topology.report()?;
    let sum = |count: fn(&line::Report) -> u64| reports.iter().map(count).sum::<u64>() as f64;
    let late = reports
        .iter()
        .map(|report| report.lateness_us.p99)
        .fold(0.0, f64::max);
    let mut figures = vec![
        found.bits / 1e6,
        found.datagrams,
        found.retransmits,
        cpu[0],
        cpu[1],
        sum(|report| report.dropped.lost),
        sum(|report| report.dropped.queue_full),
        sum(|report| report.dropped.by_accident()),
        late,
    ];
    figures.extend(signing(before.zip(after), time));
    Ok(figures)
}

/// What both daemons did in that time; the pools as they are after it.
fn signing(counts: Option<([Counts; 2], [Counts; 2])>, time: f64) -> [f64; 7] {
    let Some((before, after)) = counts else {
        return [f64::NAN; 7];
    };
    let sum = |of: fn(&Counts) -> f64| -> f64 {
        let sides = before.iter().zip(&after);
        sides.map(|(before, after)| of(after) - of(before)).sum()
    };
    let verified = sum(|counts| counts.verified);
    [
        sum(|counts| counts.signed) / time,
        verified / time,
        sum(|counts| counts.verification) / verified.max(1.0) * 1e6,
        after[0].ready,
        after[1].ready,
        sum(|counts| counts.prepared) / time,
        sum(|counts| counts.dropped),
    ]
}

/// A time as tables have it.
pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Conditions;

    #[test]
    fn goals_are_those_of_the_issue() {
        let streams = |rate, parallel| Streams {
            rtt: vec![Duration::from_millis(1)],
            conditions: Conditions {
                rate,
                queue: None,
                loss: vec![0.01],
                congestion: "bbr".into(),
                warm_up: Duration::ZERO,
            },
            burst: 1.0,
            parallel,
            datagrams: None,
            time: Duration::ZERO,
        };
        let line = streams(Some(GOAL_RATE), 1);
        assert_eq!(goal("clew", &line, 0.0), Some(0.9));
        assert_eq!(goal("clew-bbs04", &line, 0.0), None);
        assert_eq!(goal("clew", &streams(None, 1), 0.0), None);
        assert_eq!(goal("clew", &streams(Some(GOAL_RATE), 64), 0.0), None);
        assert_eq!(goal("clew-plain", &streams(None, 1), 0.0), Some(3.0));
        let mut samples = Samples::default();
        for (system, bits) in [("clew", 90.0), ("clew-empty", 120.0), ("clew-plain", 1.0)] {
            samples.add(&row(system, line.rtt[0], 0.01), vec![bits]);
        }
        let table = compared(&samples, &line).unwrap();
        let expected = [
            "clew 1 ms 1 %",
            "90.0",
            "clew-empty",
            "120",
            "0.750",
            "0.850",
        ];
        assert_eq!(table.rows, [expected.map(String::from)]);
    }
}
