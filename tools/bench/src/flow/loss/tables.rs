//! The tables of the simulation, and its picture.

use super::costs::{BYTES, SIGNATURES, Signature};
use super::design::{SIGNATURE, UNIT};
use super::engine::Outcome;
use super::schemes::{FULL, OURS, Scheme, Tally};
use super::{Costs, Results, SEED};
use crate::design;
use crate::flow::means;
use crate::loss::{Loss, MEAN_BURST};
use crate::plot::{Line, Look, Panel, Plot};
use clew_record::table::{Table, fixed, number, optional};

/// Issue 5's criterion: what a packet may cost at 5 % loss, to loss-free.
const CRITERION: f64 = 1.06;

/// The per cent of that criterion.
const HEAVY: f64 = 5.0;

impl Results {
    fn losses(&self) -> impl Iterator<Item = Loss> {
        self.lines.iter().map(|line| line.loss)
    }

    /// The places of lines that lose as much as the criterion says.
    fn heavy(&self) -> impl Iterator<Item = usize> {
        let heavy = self
            .losses()
            .enumerate()
            .filter(|(_, loss)| loss.percent == HEAVY);
        heavy.map(|(at, _)| at)
    }

    /// Of costs on each line: those on heavy lines to that without loss.
    fn to_loss_free(&self, us: &[f64]) -> Vec<f64> {
        self.heavy().map(|at| us[at] / us[0]).collect()
    }
}

/// The lines, what was judged, and by which means.
pub fn notes(results: &Results) -> Vec<String> {
    let mut notes = vec![
        means(),
        format!(
            "{} packets of {BYTES} bytes are sent in order on each line, from seed {SEED}; b: bursts of {MEAN_BURST} on average. \
             Windows: every k-th one, best: wherever k packets follow each other. SAIDA: Park, Chong and Siegel, 2002, here with \
             16-byte digests and our code.",
            results.packets
        ),
    ];
    for signature in SIGNATURES {
        let trees = results
            .schemes
            .iter()
            .filter(|costs| costs.scheme.has_tree());
        let worst = trees.flat_map(|costs| results.to_loss_free(&costs.us(signature)));
        notes.push(criterion(&format!("trees, {}", signature.name()), worst));
    }
    let engine = |(scheme, outcomes): &(Scheme, Vec<Outcome>)| {
        let costs = results.schemes.iter().find(|costs| costs.scheme == *scheme);
        let tallies = costs.map_or(&[][..], |costs| &costs.tallies);
        outcomes.iter().zip(tallies).all(|(outcome, tally)| {
            (outcome.verifications, outcome.valid) == (tally.verifications, tally.verified)
        })
    };
    let verdict = match results.engine.iter().all(engine) {
        true => "agrees with",
        false => "DIFFERS from",
    };
    notes.push(format!(
        "Each number of verifications and of valid packets {verdict} the model's."
    ));
    let us = |(_, outcomes): &(_, Vec<Outcome>)| outcomes.iter().map(|o| o.us).collect::<Vec<_>>();
    let worst = results
        .engine
        .iter()
        .flat_map(|own| results.to_loss_free(&us(own)));
    notes.push(criterion("the engine", worst));
    notes
}

fn criterion(what: &str, ratios: impl Iterator<Item = f64>) -> String {
    let worst = ratios.fold(0.0, f64::max);
    let verdict = if worst <= CRITERION { "holds" } else { "fails" };
    format!(
        "{what} at {HEAVY} % loss, to loss-free, at most {CRITERION}: {verdict}, {worst:.3} at most."
    )
}

/// All tables.
pub fn all(results: &Results) -> Vec<Table> {
    let each = |tally: &Tally| tally.verifications as f64 / tally.received as f64;
    let valid = |tally: &Tally| tally.verified as f64 / tally.received as f64 * 100.0;
    let tallies = |costs: &Costs, text: &dyn Fn(&Tally) -> String| {
        costs.tallies.iter().map(text).collect::<Vec<_>>()
    };
    let mut tables = vec![
        units(results),
        by_line(
            results,
            ("verifications", "Verifications for a received packet"),
            |costs| tallies(costs, &|tally| format!("{:.4}", each(tally))),
        ),
        by_line(
            results,
            ("verifiable", "Received packets that can be verified, %"),
            |costs| tallies(costs, &|tally| format!("{:.2}", valid(tally))),
        ),
        bytes(results),
        beside_design(results),
    ];
    for signature in SIGNATURES {
        let name = signature.name();
        let title = format!(
            "Microseconds for a received packet, {name} signatures; decoding and hashing included"
        );
        tables.push(by_line(results, (&format!("us-{name}"), &title), |costs| {
            costs.us(signature).into_iter().map(number).collect()
        }));
        let title = format!("Cost of a received packet, to loss-free, {name} signatures");
        tables.push(by_line(
            results,
            (&format!("ratios-{name}"), &title),
            |costs| {
                let us = costs.us(signature);
                us.iter()
                    .map(|cost| format!("{:.3}", cost / us[0]))
                    .collect()
            },
        ));
    }
    tables.push(engine(results));
    tables
}

fn units(results: &Results) -> Table {
    let columns = [
        "signature",
        "bytes",
        "verifying",
        "hashing a packet",
        "its path",
    ]
    .map(String::from);
    let restored = || {
        results
            .schemes
            .iter()
            .filter(|costs| costs.scheme.needed().is_some())
    };
    let restoring = restored().map(|costs| format!("restoring {}", costs.scheme.name()));
    let title = "Microseconds that single operations of a receiver take";
    let mut table = Table::new("units", title, columns.into_iter().chain(restoring));
    let full = results.schemes.iter().find(|costs| costs.scheme == FULL);
    for (at, (signature, unit)) in full
        .into_iter()
        .flat_map(|costs| costs.units.iter().enumerate())
    {
        let cells = [
            signature.bytes().to_string(),
            number(unit.verify),
            format!("{:.2}", unit.hash),
            format!("{:.2}", unit.chain),
        ];
        let restoring = restored().map(|costs| number(costs.units[at].1.restore));
        table.row(signature.name(), cells.into_iter().chain(restoring));
    }
    table
}

fn bytes(results: &Results) -> Table {
    let title = format!(
        "Bytes for a packet on average: ours (spec/flow-signature.md, tags of 8 bytes), and the design's with signatures of {SIGNATURE}"
    );
    let columns = ["scheme", "xr", "ed25519", "its format", "design"];
    let mut table = Table::new("bytes", title, columns);
    for Costs { scheme, .. } in &results.schemes {
        let ours = SIGNATURES.map(|s| Some(scheme.bytes(&OURS, s.bytes())));
        let design = [super::design::bytes(*scheme), design::bytes(&scheme.name())];
        let cells = ours.into_iter().chain(design);
        table.row(scheme.name(), cells.map(|bytes| optional(bytes, fixed(0))));
    }
    table
}

fn beside_design(results: &Results) -> Table {
    let title = "With the design's costs (1000 for a verification, 0.66 for a packet), and the design's figures (4.1)";
    by_line(results, ("design", title), |costs| {
        let all = costs.tallies.iter().zip(results.losses());
        let cell = |(tally, loss)| {
            let quoted = optional(design::us(&costs.scheme.name(), loss), short);
            format!("{}/{quoted}", short(UNIT.us(tally)))
        };
        all.map(cell).collect()
    })
}

/// Three digits, as the design has them.
fn short(us: f64) -> String {
    number(us).trim_end_matches(".0").to_owned()
}

fn engine(results: &Results) -> Table {
    let title = "The real sender and receiver on the same lines, Ed25519; microseconds for a received packet, medians over blocks";
    let columns = ["scheme", "what"].map(String::from).into_iter();
    let mut table = Table::new("engine", title, columns.chain(heads(results)));
    for (scheme, outcomes) in &results.engine {
        let mut line = |what: &str, cell: &dyn Fn(&Outcome) -> String| {
            let cells = outcomes.iter().map(cell);
            table.row(scheme.name(), [what.to_owned()].into_iter().chain(cells));
        };
        line("verifications", &|o| o.verifications.to_string());
        line("valid", &|o| o.valid.to_string());
        line("us", &|o| fixed(3)(o.us));
        line("to loss-free", &|o| fixed(3)(o.us / outcomes[0].us));
    }
    table
}

fn heads(results: &Results) -> impl Iterator<Item = String> {
    results.losses().map(|loss| loss.name() + " %")
}

/// A row for each scheme, a column for each line.
fn by_line(
    results: &Results,
    (name, title): (&str, &str),
    cells: impl Fn(&Costs) -> Vec<String>,
) -> Table {
    let columns = ["scheme".to_owned()].into_iter().chain(heads(results));
    let mut table = Table::new(name, title, columns);
    for costs in &results.schemes {
        table.row(costs.scheme.name(), cells(costs));
    }
    table
}

/// Schemes that differ in the picture.
const SHOWN: [(&str, &str, usize, Look); 9] = [
    ("each", "a signature for each", 6, Look::Solid),
    ("window-8", "Clue's window of 8", 0, Look::Dashed),
    ("window-8-best", "window of 8, best", 0, Look::Solid),
    ("window-64", "Clue's window of 64", 1, Look::Dashed),
    ("window-64-best", "window of 64, best", 1, Look::Solid),
    ("tree-8-full", "tree of 8", 4, Look::Solid),
    ("tree-64-full", "tree of 64, any carriage", 2, Look::Solid),
    ("tree-256-full", "tree of 256", 5, Look::Solid),
    ("saida-64-50", "SAIDA of 64, g = 0.5", 3, Look::Rings),
];

/// The cost of a packet by loss.
pub fn plot(results: &Results) -> Plot {
    let of_kind = |bursty| {
        let loss = results.losses().enumerate();
        let kind = loss.filter(move |(_, loss)| loss.bursty == bursty || loss.percent == 0.0);
        kind.map(|(at, _)| at).collect::<Vec<_>>()
    };
    let panel = |(title, bursty): (&str, bool)| {
        let line = |(scheme, name, colour, look): (&str, &str, usize, Look)| {
            let costs = results
                .schemes
                .iter()
                .find(|costs| costs.scheme.name() == scheme);
            let us = costs.map_or(Vec::new(), |costs| costs.us(Signature::Xr));
            Line {
                name: name.into(),
                colour,
                look,
                points: of_kind(bursty)
                    .into_iter()
                    .map(|at| us[at])
                    .enumerate()
                    .collect(),
            }
        };
        let title = title.into();
        let lines = SHOWN.map(line).into();
        Panel { title, lines }
    };
    let percents = of_kind(false)
        .into_iter()
        .map(|at| results.lines[at].loss.percent);
    Plot {
        title: "Cost of a received packet when others are lost".into(),
        note: format!(
            "Group signatures (XR), 1024-byte packets, {} sent on each line. Windows: every k-th one; best: wherever \
             k packets follow each other.",
            results.packets
        ),
        x: "packets lost, %".into(),
        y: "microseconds".into(),
        places: percents.map(|percent| percent.to_string()).collect(),
        panels: [("random loss", false), ("bursts of 4 on average", true)]
            .map(panel)
            .into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::loss::schemes::ALL;

    #[test]
    fn what_is_shown_is_there() {
        let names = ALL.map(Scheme::name);
        assert!(
            SHOWN
                .iter()
                .all(|(scheme, ..)| names.iter().any(|name| name == scheme))
        );
    }
}
