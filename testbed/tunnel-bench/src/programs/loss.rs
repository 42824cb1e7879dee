//! How long a transfer takes on a line that loses packets.

use super::connect::about;
use super::latency::milliseconds;
use crate::measure::{self, Samples};
use crate::options::{Lossy, Options};
use crate::place::Cores;
use crate::plot::{self, Look, Panel, Plot};
use crate::report::{Figures, Row};
use crate::system::Work;
use clew_record::Record;
use line::{Condition, Loss};
use std::collections::BTreeMap;
use std::io;

/// All rows at one loss, in per cent.
struct At {
    loss: f64,
    samples: Vec<Samples>,
}

/// Runs the program.
pub fn run(options: &Options, record: &mut Record, cores: Cores, lossy: &Lossy) -> io::Result<()> {
    let Lossy {
        loss,
        bytes,
        delay,
        seed,
    } = lossy;
    let (bytes, delay) = (*bytes, *delay);
    let systems = measure::rows(options, Work::Loss)?;
    let one_way = milliseconds(delay)?;
    let all = measure::on_line(&systems, cores, |seats, line| {
        let at = |loss: &f64| {
            let mut seeds = BTreeMap::new();
            let samples = measure::in_turn(seats, options.rounds, |seat| {
                let seed = seeds.entry(seat.system.name().to_owned()).or_insert(*seed);
                line.set(Condition {
                    delay: one_way,
                    loss: Loss::bernoulli(loss / 100.0),
                    seed: *seed,
                    ..Condition::default()
                })?;
                *seed += 1;
                let fetched = seat.client.fetch(bytes)?;
                Ok(vec![fetched.whole.as_secs_f64() * 1e3])
            });
            At {
                loss: *loss,
                samples,
            }
        };
        Ok(loss.iter().map(at).collect::<Vec<At>>())
    })?;
    for at in &all {
        let title = format!(
            "A new connection and {bytes} bytes on it, round trip {} ms, {} % of the packets lost each way",
            2.0 * delay,
            at.loss
        );
        table(at, title, bytes).with_ratios(0).add_to(record);
    }
    picture(&all, bytes, delay).save(options, "loss")
}

fn table(at: &At, title: String, bytes: u64) -> Figures {
    let row = |row: &Samples| Row {
        name: row.name.clone(),
        about: about(row),
        cells: vec![
            row.median(0),
            row.percentile(0, 10),
            row.percentile(0, 90),
            row.median(0).map(|ms| bytes as f64 * 8.0 / 1e3 / ms),
        ],
    };
    Figures {
        name: at.loss.to_string(),
        title,
        columns: ["ms", "p10", "p90", "Mbit/s"].map(String::from).into(),
        rows: at.samples.iter().map(row).collect(),
        notes: vec![
            "/tcp, /s2n, /quinn: milliseconds to that row's; below 1 is better than the peer."
                .into(),
        ],
    }
}

fn picture(all: &[At], bytes: u64, delay: f64) -> Plot {
    let rows = all.first().map_or(0, |at| at.samples.len());
    let lines = (0..rows).map(|row| {
        let points = all.iter().enumerate();
        let points = points.filter_map(|(place, at)| Some((place, at.samples[row].median(0)?)));
        plot::Line {
            name: all[0].samples[row].name.clone(),
            colour: row,
            look: Look::Solid,
            points: points.collect(),
        }
    });
    Plot {
        title: format!(
            "{bytes} bytes on a new connection, round trip {} ms",
            2.0 * delay
        ),
        note: "Medians of all rounds; each row loses the packets of the same numbers.".into(),
        x: "per cent of packets lost each way".into(),
        y: "ms".into(),
        places: all.iter().map(|at| at.loss.to_string()).collect(),
        panels: vec![Panel {
            title: "time to the last byte".into(),
            lines: lines.collect(),
        }],
    }
}
