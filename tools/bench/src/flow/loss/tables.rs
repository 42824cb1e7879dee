//! The tables of the simulation, and its picture.

use super::costs::{BYTES, SIGNATURES, Signature};
use super::design::{SIGNATURE, UNIT};
use super::schemes::{FULL, OURS};
use super::{Costs, Results, SEED};
use crate::design;
use crate::flow::means;
use crate::loss::{Loss, MEAN_BURST};
use crate::plot::{Line, Look, Panel, Plot};
use crate::report::number;
use serde_json::json;
use std::io::{self, Write};

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
}

/// Prints everything.
pub fn print(results: &Results) -> io::Result<()> {
    let out = &mut io::stdout().lock();
    writeln!(
        out,
        "means     {}\n\n{} packets of {BYTES} bytes are sent in order on each line, from seed {SEED}; b: bursts of {MEAN_BURST} on \
         average. Windows: every k-th\none, best: wherever k packets follow each other. SAIDA: Park, Chong and \
         Siegel, 2002, here with 16-byte digests and our code.",
        means(),
        results.packets
    )?;
    units(out, results)?;
    counts(out, results)?;
    bytes(out, results)?;
    for signature in SIGNATURES {
        let title = format!(
            "microseconds for a received packet, signatures: {}",
            signature.name()
        );
        table(out, results, &title, |costs| {
            costs.us(signature).into_iter().map(number).collect()
        })?;
    }
    beside_design(out, results)?;
    ratios(out, results)?;
    engine(out, results)
}

fn units(out: &mut impl Write, results: &Results) -> io::Result<()> {
    writeln!(out, "\nmeasured, microseconds: what single operations take")?;
    let each = |costs: &&Costs| costs.scheme == FULL || costs.scheme.needed().is_some();
    for (at, (signature, unit)) in results.schemes[0].units.iter().enumerate() {
        let (name, bytes) = (signature.name(), signature.bytes());
        write!(
            out,
            "{name:<8} {bytes} bytes; verifying {}",
            number(unit.verify)
        )?;
        for costs in results.schemes.iter().filter(each) {
            let (_, unit) = &costs.units[at];
            match costs.scheme {
                FULL => write!(
                    out,
                    ", hashing a packet {:.2} and its path {:.2}",
                    unit.hash, unit.chain
                )?,
                scheme => write!(
                    out,
                    ", restoring {} {}",
                    scheme.name(),
                    number(unit.restore)
                )?,
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

fn counts(out: &mut impl Write, results: &Results) -> io::Result<()> {
    table(
        out,
        results,
        "verifications for a received packet",
        |costs| {
            let each = costs
                .tallies
                .iter()
                .map(|t| t.verifications as f64 / t.received as f64);
            each.map(|each| format!("{each:.4}")).collect()
        },
    )?;
    table(
        out,
        results,
        "received packets that can be verified, %",
        |costs| {
            let part = costs
                .tallies
                .iter()
                .map(|t| t.verified as f64 / t.received as f64);
            part.map(|part| format!("{:.2}", part * 100.0)).collect()
        },
    )
}

fn bytes(out: &mut impl Write, results: &Results) -> io::Result<()> {
    writeln!(
        out,
        "\nbytes for a packet on average: in our format (spec/flow-signature.md, tags of 8 bytes), in the design's with {} \
         bytes, and its figures\n{:<20}{:>9}{:>9}{:>12}{:>9}",
        SIGNATURE, "", "xr", "ed25519", "its format", "design"
    )?;
    for Costs { scheme, .. } in &results.schemes {
        let [xr, ed25519] = SIGNATURES.map(|s| scheme.bytes(&OURS, s.bytes()));
        let its = super::design::bytes(*scheme);
        let its = its.map_or("-".into(), |bytes| format!("{bytes:.0}"));
        let quoted =
            design::bytes(&scheme.name()).map_or("-".into(), |bytes| format!("{bytes:.0}"));
        let name = scheme.name();
        writeln!(out, "{name:<20}{xr:>9.0}{ed25519:>9.0}{its:>12}{quoted:>9}")?;
    }
    Ok(())
}

fn beside_design(out: &mut impl Write, results: &Results) -> io::Result<()> {
    let title = "with the design's costs (1000 for a verification, 0.66 for a packet), and the design's figures (4.1)";
    table(out, results, title, |costs| {
        let all = costs.tallies.iter().zip(results.losses());
        let cell = |(tally, loss)| {
            let quoted = design::us(&costs.scheme.name(), loss).map_or("-".into(), short);
            format!("{}/{quoted}", short(UNIT.us(tally)))
        };
        all.map(cell).collect()
    })
}

/// Three digits, as the design has them.
fn short(us: f64) -> String {
    number(us).trim_end_matches(".0").to_owned()
}

fn ratios(out: &mut impl Write, results: &Results) -> io::Result<()> {
    for signature in SIGNATURES {
        let title = format!(
            "cost of a received packet, to loss-free, signatures: {}",
            signature.name()
        );
        table(out, results, &title, |costs| {
            let us = costs.us(signature);
            us.iter()
                .map(|cost| format!("{:.3}", cost / us[0]))
                .collect()
        })?;
        let trees = results
            .schemes
            .iter()
            .filter(|costs| costs.scheme.has_tree());
        let worst = trees.flat_map(|costs| {
            let us = costs.us(signature);
            results.heavy().map(move |at| us[at] / us[0])
        });
        criterion(out, "trees", worst.fold(0.0, f64::max))?;
    }
    Ok(())
}

fn criterion(out: &mut impl Write, what: &str, worst: f64) -> io::Result<()> {
    let verdict = if worst <= CRITERION { "holds" } else { "fails" };
    writeln!(
        out,
        "* {what} at {HEAVY} % loss, to loss-free, at most {CRITERION}: {verdict}, {worst:.3} at most."
    )
}

fn engine(out: &mut impl Write, results: &Results) -> io::Result<()> {
    writeln!(
        out,
        "\nthe real sender and receiver on the same lines, Ed25519: verifications, and valid packets; microseconds for a received \
         packet, medians over blocks"
    )?;
    head(out, results)?;
    let (mut agree, mut worst) = (true, 0.0_f64);
    for (scheme, outcomes) in &results.engine {
        let costs = results.schemes.iter().find(|costs| costs.scheme == *scheme);
        let tallies = costs.map_or(&[][..], |costs| &costs.tallies);
        agree &= outcomes.iter().zip(tallies).all(|(outcome, tally)| {
            (outcome.verifications, outcome.valid) == (tally.verifications, tally.verified)
        });
        let name = scheme.name();
        line(
            out,
            &name,
            outcomes.iter().map(|o| o.verifications.to_string()),
        )?;
        line(out, "  valid", outcomes.iter().map(|o| o.valid.to_string()))?;
        line(out, "  us", outcomes.iter().map(|o| format!("{:.3}", o.us)))?;
        let ratios: Vec<f64> = outcomes.iter().map(|o| o.us / outcomes[0].us).collect();
        line(
            out,
            "  to loss-free",
            ratios.iter().map(|ratio| format!("{ratio:.3}")),
        )?;
        worst = results.heavy().map(|at| ratios[at]).fold(worst, f64::max);
    }
    let verdict = if agree { "agrees with" } else { "DIFFERS from" };
    writeln!(
        out,
        "* Each number of verifications and of valid packets {verdict} the model's."
    )?;
    criterion(out, "the engine", worst)
}

fn head(out: &mut impl Write, results: &Results) -> io::Result<()> {
    let heads = results.losses().map(|loss| loss.name() + " %");
    line(out, "", heads)
}

fn line(out: &mut impl Write, name: &str, cells: impl Iterator<Item = String>) -> io::Result<()> {
    let cells: String = cells.map(|cell| format!("{cell:>12}")).collect();
    writeln!(out, "{name:<20}{cells}")
}

/// A row for each scheme, a column for each line.
fn table(
    out: &mut impl Write,
    results: &Results,
    title: &str,
    cells: impl Fn(&Costs) -> Vec<String>,
) -> io::Result<()> {
    writeln!(out, "\n{title}")?;
    head(out, results)?;
    let mut schemes = results.schemes.iter();
    schemes.try_for_each(|costs| line(out, &costs.scheme.name(), cells(costs).into_iter()))
}

/// The same as JSON Lines.
pub fn print_json(results: &Results) -> io::Result<()> {
    let out = &mut io::stdout().lock();
    for costs in &results.schemes {
        let us = SIGNATURES.map(|signature| costs.us(signature));
        for (at, loss) in results.losses().enumerate() {
            let tally = &costs.tallies[at];
            let row = json!({
                "scheme": costs.scheme.name(),
                "loss": loss.name(),
                "received": tally.received,
                "verified": tally.verified,
                "verifications": tally.verifications,
                "xr_us": us[0][at],
                "ed25519_us": us[1][at],
            });
            writeln!(out, "{row}")?;
        }
    }
    for (scheme, outcomes) in &results.engine {
        for (outcome, loss) in outcomes.iter().zip(results.losses()) {
            let row = json!({
                "engine": scheme.name(),
                "loss": loss.name(),
                "valid": outcome.valid,
                "verifications": outcome.verifications,
                "us": outcome.us,
            });
            writeln!(out, "{row}")?;
        }
    }
    Ok(())
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
    use crate::flow::loss::schemes::{ALL, Scheme};

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
