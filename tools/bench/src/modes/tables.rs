//! The program's own tables, after its rows.

use super::traffic::{WAYS, Way};
use super::{Flow, SEEDS, added_bytes, receiving};
use crate::group::Group;
use crate::loss::{self, Loss};
use crate::measure::Figures;
use crate::options::Options;
use crate::report::number;
use clew_group::Scheme;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Prints what signing adds to packets and what verifying them costs.
pub fn print(
    options: &Options,
    groups: &[Group],
    flows: &[Flow<'_>],
    sent: &[Vec<u8>],
    figures: &BTreeMap<String, Figures>,
) -> io::Result<()> {
    let out = &mut io::stdout().lock();
    if options.json {
        return print_json(out, groups, flows, sent);
    }
    writeln!(out, "\nbytes that signing adds to a packet (D = 16)")?;
    writeln!(out, "{:<16}{:>10}{:>14}", "", "plain", "incremental")?;
    for (group, way) in every(groups) {
        let [plain, incremental] = [false, true].map(|i| added_bytes(group, way, i, sent));
        let name = format!("{}-{}", group.name(), way.name());
        writeln!(out, "{name:<16}{plain:>10}{incremental:>14}")?;
    }
    writeln!(
        out,
        "\n{} packets are sent, {} of those that arrive are checked together; seeds 1 to {SEEDS} in turn; \
         bursts of {} on average (b)",
        sent.len(),
        receiving::TOGETHER,
        loss::MEAN_BURST,
    )?;
    table(
        out,
        "verifications per packet that arrived",
        flows,
        |f, l| {
            let (_, tally) = f.losses.iter().find(|(loss, _)| *loss == l)?;
            (f.group.scheme == Scheme::Xr).then(|| format!("{:.4}", tally.each()))
        },
    )?;
    let median = |f: &Flow<'_>, l| figures.get(&f.row(l)).map(|figures| figures.median);
    table(out, "microseconds, medians", flows, |f, l| {
        median(f, l).map(number)
    })?;
    table(out, "ratio to loss-free, of medians", flows, |f, l| {
        let ratio = median(f, l)? / median(f, loss::NONE)?;
        Some(format!("{ratio:.3}"))
    })?;
    // Other jobs on the core only ever add: the quickest samples saw the least of them.
    let quick = |f: &Flow<'_>, l| figures.get(&f.row(l)).map(|figures| figures.p10);
    table(out, "ratio to loss-free, of p10", flows, |f, l| {
        let ratio = quick(f, l)? / quick(f, loss::NONE)?;
        Some(format!("{ratio:.3}"))
    })
}

fn every(groups: &[Group]) -> impl Iterator<Item = (&Group, Way)> {
    let of = |group| WAYS.into_iter().map(move |way| (group, way));
    groups.iter().flat_map(of)
}

/// A row for each flow, a column for each loss.
fn table(
    out: &mut impl Write,
    title: &str,
    flows: &[Flow<'_>],
    cell: impl Fn(&Flow<'_>, Loss) -> Option<String>,
) -> io::Result<()> {
    let heads = loss::ALL.map(|loss| format!("{:>9}", loss.name() + " %"));
    writeln!(out, "\n{title}\n{:<16}{}", "", heads.concat())?;
    for flow in flows {
        let cells = loss::ALL.map(|loss| cell(flow, loss));
        if cells.iter().all(Option::is_none) {
            continue;
        }
        let cells = cells.map(|cell| format!("{:>9}", cell.unwrap_or("-".into())));
        let name = format!("{}-{}", flow.group.name(), flow.way.name());
        writeln!(out, "{name:<16}{}", cells.concat())?;
    }
    Ok(())
}

fn print_json(
    out: &mut impl Write,
    groups: &[Group],
    flows: &[Flow<'_>],
    sent: &[Vec<u8>],
) -> io::Result<()> {
    for (group, way) in every(groups) {
        let line = json!({
            "bytes_of": format!("{}-{}", group.name(), way.name()),
            "plain": added_bytes(group, way, false, sent),
            "incremental": added_bytes(group, way, true, sent),
        });
        writeln!(out, "{line}")?;
    }
    let of_xr = flows.iter().filter(|flow| flow.group.scheme == Scheme::Xr);
    for (flow, (loss, tally)) in of_xr.flat_map(|f| f.losses.iter().map(move |l| (f, l))) {
        let line = json!({
            "verifications_of": flow.row(*loss),
            "per_packet": tally.each(),
            "packets": tally.packets.get(),
        });
        writeln!(out, "{line}")?;
    }
    Ok(())
}
