//! What signing adds to packets, and what verifying them costs.

use super::traffic::{WAYS, Way};
use super::{Flow, SEEDS, added_bytes, receiving};
use crate::group::Group;
use crate::loss::{self, Loss};
use crate::measure::{Figures, Measured};
use clew_group::Scheme;
use clew_record::table::{BLANK, Table, number};

/// What all tables have in common.
pub fn note(sent: usize) -> String {
    format!(
        "{sent} packets are sent, {} of those that arrive are checked together; seeds 1 to {SEEDS} in turn; \
         bursts of {} on average (b)",
        receiving::TOGETHER,
        loss::MEAN_BURST,
    )
}

/// All tables.
pub fn all(
    groups: &[Group],
    flows: &[Flow<'_>],
    sent: &[Vec<u8>],
    measured: &Measured,
) -> Vec<Table> {
    let median = |figures: &Figures| figures.median;
    // Other jobs on the core only ever add: the quickest samples saw the least of them.
    let quick = |figures: &Figures| figures.p10;
    let us = |f: &Flow<'_>, l, of: fn(&Figures) -> f64| measured.get(&f.row(l)).map(of);
    let ratio = |f: &Flow<'_>, l, of| {
        let ratio = us(f, l, of)? / us(f, loss::NONE, of)?;
        Some(format!("{ratio:.3}"))
    };
    let verifications = |f: &Flow<'_>, l| {
        let (_, tally) = f.losses.iter().find(|(loss, _)| *loss == l)?;
        (f.group.scheme == Scheme::Xr).then(|| format!("{:.4}", tally.each()))
    };
    vec![
        bytes(groups, sent),
        by_loss(
            ("verifications", "Verifications per packet that arrived"),
            flows,
            verifications,
        ),
        by_loss(
            (
                "medians",
                "Microseconds per packet that arrived, medians; decoding and hashing included",
            ),
            flows,
            |f, l| us(f, l, median).map(number),
        ),
        by_loss(
            ("ratios", "Ratio to loss-free, of medians"),
            flows,
            |f, l| ratio(f, l, median),
        ),
        by_loss(
            ("ratios-p10", "Ratio to loss-free, of p10"),
            flows,
            |f, l| ratio(f, l, quick),
        ),
    ]
}

fn bytes(groups: &[Group], sent: &[Vec<u8>]) -> Table {
    let title = "Bytes that signing adds to a packet (D = 16)";
    let mut table = Table::new("bytes", title, ["mode", "plain", "incremental"]);
    let of = |group| WAYS.into_iter().map(move |way: Way| (group, way));
    for (group, way) in groups.iter().flat_map(of) {
        let cells = [false, true].map(|i| added_bytes(group, way, i, sent).to_string());
        table.row(format!("{}-{}", group.name(), way.name()), cells);
    }
    table
}

/// A row for each flow, a column for each loss.
fn by_loss(
    (name, title): (&str, &str),
    flows: &[Flow<'_>],
    cell: impl Fn(&Flow<'_>, Loss) -> Option<String>,
) -> Table {
    let heads = loss::ALL.map(|loss| loss.name() + " %");
    let mut table = Table::new(name, title, ["mode".to_owned()].into_iter().chain(heads));
    for flow in flows {
        let cells = loss::ALL.map(|loss| cell(flow, loss));
        if cells.iter().any(Option::is_some) {
            let name = format!("{}-{}", flow.group.name(), flow.way.name());
            table.row(name, cells.map(|cell| cell.unwrap_or(BLANK.into())));
        }
    }
    table
}
