//! What loss costs a receiver: signing each packet, Clue's windows, trees in each carriage, SAIDA.
//!
//! A model counts verifications on simulated lines; what they take was measured. For trees of 64 the
//! real sender and receiver run over the same lines, too.

mod costs;
mod design;
mod engine;
mod schemes;
mod tables;

use crate::group::Group;
use crate::loss::{self, Loss};
use crate::options::Options;
use crate::report;
use clew_group::Scheme as GroupScheme;
use costs::{BYTES, SIGNATURES, Signature, Unit};
use engine::{Line, Outcome};
use schemes::{ALL, Scheme, Tally};
use std::io;

/// Packets that are sent on each line, unless something else is chosen.
const PACKETS: u32 = 1 << 20;

/// What all lines come from.
const SEED: u64 = 1;

/// Blocks of all sizes end with a multiple of this.
const WHOLE: usize = 512;

/// All that the tables are made of.
struct Results {
    packets: usize,
    lines: Vec<Line>,
    schemes: Vec<Costs>,
    engine: Vec<(Scheme, Vec<Outcome>)>,
}

/// A scheme: what a receiver did on each line, and what that takes with each signature.
struct Costs {
    scheme: Scheme,
    tallies: Vec<Tally>,
    units: [(Signature, Unit); 2],
}

impl Costs {
    /// Microseconds for a received packet on each line.
    fn us(&self, signature: Signature) -> Vec<f64> {
        let unit = self.units.iter().find(|(of, _)| *of == signature);
        let us = |tally| unit.map_or(f64::NAN, |(_, unit)| unit.us(tally));
        self.tallies.iter().map(us).collect()
    }
}

/// Runs the program.
pub fn run(options: &Options) -> io::Result<()> {
    let packets = options.packets.unwrap_or(PACKETS) as usize / WHOLE * WHOLE;
    let line = |loss: Loss| Line {
        loss,
        arrived: loss.arrived(SEED, packets),
    };
    let lines: Vec<Line> = loss::ALL.into_iter().map(line).collect();
    let group = Group::new(GroupScheme::Xr);
    let (mut record, measured) = report::measure(options, &[], costs::cases(&group))?;
    let costs = |scheme: Scheme| Costs {
        scheme,
        tallies: lines
            .iter()
            .map(|line| scheme.tally(&line.arrived))
            .collect(),
        units: SIGNATURES.map(|s| (s, Unit::measured(&measured, scheme, s))),
    };
    let schemes = ALL.into_iter().map(costs).collect();
    let run = |(scheme, distribution)| (scheme, engine::run(scheme, distribution, &lines, BYTES));
    let engine = engine::RUN.into_iter().map(run).collect();
    let results = Results {
        packets,
        lines,
        schemes,
        engine,
    };
    tables::plot(&results).save(options, "flow-loss")?;
    record.notes = tables::notes(&results);
    record.tables = tables::all(&results);
    record.print(options.json)
}
