//! How fast a pool of precursors is filled again: beside 64 streams, and when they have ended.

use super::in_turn;
use crate::measure::{Load, iperf};
use crate::options::Common;
use crate::systems::Counts;
use crate::topology::{Beside, Shape};
use clew_record::Record;
use line::Condition;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

const STREAMS: u32 = 64;
const TRIP: Duration = Duration::from_millis(20);
/// The longest look at a machine without traffic.
const REST_MAX: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_millis(100);

/// Runs the scenario.
pub fn run(common: &Common, time: Duration, record: &mut Record) -> io::Result<()> {
    let samples = in_turn(common, Shape::Pair, Beside::default(), |scene, samples| {
        scene.topology.set(Condition {
            delay: TRIP / 2,
            ..Condition::default()
        })?;
        let counts = || {
            let counts = scene.system.counts(scene.topology)?;
            counts.ok_or_else(|| io::Error::other("it has no pool"))
        };
        let load = Load {
            time,
            warm_up: Duration::ZERO,
            congestion: "cubic".into(),
            parallel: STREAMS,
            rate: 0,
            datagrams: None,
        };
        let (before, start) = (counts()?, Instant::now());
        let found = iperf(scene.hosts(), &scene.running.server.v4, &load)?;
        let (busy, under_load) = (start.elapsed().as_secs_f64(), counts()?);
        let (start, mut last, mut idle) = (Instant::now(), under_load, 0.0);
        while start.elapsed() < REST_MAX {
            thread::sleep(STEP);
            let now = counts()?;
            if sum(&now, |c| c.prepared) == sum(&last, |c| c.prepared) {
                break;
            }
            (last, idle) = (now, start.elapsed().as_secs_f64());
        }
        let made = |from, to| sum(to, |c: &Counts| c.prepared) - sum(from, |c| c.prepared);
        let signed = sum(&under_load, |c| c.signed) - sum(&before, |c| c.signed);
        let figures = vec![
            made(&under_load, &last) / idle,
            made(&before, &under_load) / busy,
            signed / busy,
            under_load[0].ready,
            sum(&under_load, |c| c.online) - sum(&before, |c| c.online),
            found.bits / 1e6,
        ];
        samples.add(scene.system.name(), figures);
        Ok(())
    })?;
    let columns = [
        "refill/s",
        "refill/s beside",
        "signed/s",
        "pool near",
        "online",
        "Mbit/s",
    ];
    let title = format!(
        "Precursors a second of both daemons, without traffic and beside {STREAMS} TCP streams (cubic), round trip {TRIP:?}"
    );
    samples.add_to(record, "refill", &title, &columns);
    let notes = [
        "refill/s: behind the streams, until the pools are full or for 5 s; - is a pool that stayed full",
        "pool near: precursors left behind the streams; online: signatures without one",
    ];
    record.notes.extend(notes.map(String::from));
    Ok(())
}

fn sum(counts: &[Counts; 2], of: impl Fn(&Counts) -> f64) -> f64 {
    counts.iter().map(of).sum()
}
