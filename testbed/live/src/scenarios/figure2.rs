//! Clue's Figure 2: TCP throughput by round trip, one optimisation after another.

use super::throughput::{measure, milliseconds, report, row};
use crate::options::{Common, Figure2, SchemeName, Streams};
use crate::report::{Samples, number};
use clew_record::Record;
use clew_record::table::{BLANK, Table, optional};
use std::io;
use std::time::Duration;

/// A curve: as we call it, the system, what the paper calls it, and the figures in its text.
struct Curve {
    name: &'static str,
    system: &'static str,
    clue: &'static str,
    quoted: Quoted,
}

/// What the paper's text says of a curve, in Mbit/s. The figure itself is a picture without numbers.
enum Quoted {
    Nothing,
    /// At each round trip.
    Flat(f64),
    /// At one of so many milliseconds.
    At(f64, f64),
}

/// Rows with the paper's figures begin so.
pub const CLUE: &str = "Clue: ";
/// The tables' names begin so; scheme and loss follow.
pub const TABLE: &str = "figure2-";
/// What all curves are compared with.
const BASELINE: &str = "clew-plain";

/// "within a factor of 1.2 of Proxy itself" at 9.6 Mbit/s.
const PROXY: Quoted = Quoted::At(80.0, 9.6 * 1.2);

const NOTES: [&str; 6] = [
    "Clue's figures are those of its text (CACM 54(5), 2011, pages 86 and 87); the figure has no numbers, \
     and its text has none for Linux, precomputation or asynchronous verification alone, and Win-8",
    "Clue's Proxy at 80 ms is calculated: 9.6 Mbit/s are \"within a factor of 1.2\" of it; \
     Win-64 \"exceeds\" 17.5 Mbit/s at 20 ms",
    "Clue's machines: two Pentiums of 3.0 to 3.4 GHz a host, ttcp for at least 20 s, mean of five runs",
    "asynchronous: here verification overlaps with receiving, and packets wait for their verdicts; Clue's \
     TCP acknowledged packets before they were verified",
    "window: the receiver verifies a window at once if all its packets wait together (whole-windows)",
    "adaptive: as many packets as the connection has in flight, up to 64; Clue took the congestion window",
];

fn curves(scheme: SchemeName) -> [Curve; 9] {
    let of = |xr, bbs04| match scheme {
        SchemeName::Xr => xr,
        SchemeName::Bbs04 => bbs04,
    };
    let curve = |name, system, clue, quoted| Curve {
        name,
        system,
        clue,
        quoted,
    };
    let win = "Precomp+Async+Win-64";
    let nothing = Quoted::Nothing;
    [
        curve("plain", "none", "Linux", Quoted::Nothing),
        curve("forwarder", BASELINE, "Proxy", PROXY),
        curve(
            "Sign+Verify",
            of("sign-verify", "sign-verify-bbs04"),
            "Sign+Verify",
            Quoted::Flat(0.33),
        ),
        curve(
            "precomputation",
            of("precomputed", "precomputed-bbs04"),
            "Precomp",
            nothing,
        ),
        curve(
            "asynchronous",
            of("clew-each", "clew-bbs04-each"),
            "Precomp+Async",
            Quoted::Nothing,
        ),
        curve(
            "window 8",
            of("clew-window-8", "clew-bbs04-window-8"),
            "Precomp+Async+Win-8",
            Quoted::Nothing,
        ),
        curve(
            "window 64",
            of("clew-window", "clew-bbs04-window"),
            win,
            Quoted::At(20.0, 17.5),
        ),
        curve(
            "window adaptive",
            of("clew-adaptive", "clew-bbs04-adaptive"),
            "Precomp+Async+AdaptiveWin",
            Quoted::At(80.0, 9.6),
        ),
        curve("tree", of("clew", "clew-bbs04"), "none", Quoted::Nothing),
    ]
}

/// Runs the scenario.
pub fn run(common: &Common, figure: &Figure2, record: &mut Record) -> io::Result<()> {
    let wanted = |system: &str| {
        let named = &common.systems;
        named.is_empty() || named.iter().any(|name| name == system)
    };
    let curves: Vec<Curve> = curves(figure.scheme).into();
    let curves: Vec<Curve> = curves.into_iter().filter(|c| wanted(c.system)).collect();
    if curves.is_empty() {
        return Err(io::Error::other(
            "--systems: none of them is a curve of the figure",
        ));
    }
    let common = Common {
        systems: curves.iter().map(|curve| curve.system.into()).collect(),
        ..common.clone()
    };
    let streams = Streams {
        rtt: figure.rtt.clone(),
        conditions: figure.conditions.clone(),
        burst: 1.0,
        parallel: 1,
        datagrams: None,
        time: figure.time,
    };
    let samples = measure(&common, &streams)?;
    for loss in &figure.conditions.loss {
        let tables = tables(&curves, figure, *loss, &samples);
        record.tables.extend(tables);
    }
    report(samples, &streams, record);
    record.notes.extend(NOTES.map(String::from));
    Ok(())
}

/// Mbit/s of each curve, with the paper's below; and the shares of the forwarder's.
fn tables(curves: &[Curve], figure: &Figure2, loss: f64, samples: &Samples) -> [Table; 2] {
    let (scheme, per_cent) = (figure.scheme.name(), loss * 100.0);
    let times = figure.rtt.iter().map(|rtt| milliseconds(*rtt).to_string());
    let columns: Vec<String> = ["row", "system"]
        .map(String::from)
        .into_iter()
        .chain(times)
        .collect();
    let title =
        format!("Clue's Figure 2 with {scheme}, {per_cent} % loss: Mbit/s by round trip in ms");
    let mut rates = Table::new(
        format!("{TABLE}{scheme}-{per_cent}"),
        title,
        columns.clone(),
    );
    let title = format!(
        "The same in shares of the forwarder ({BASELINE}); Clue's adaptive window: 0.83 at 80 ms"
    );
    let mut shares = Table::new(format!("share-{scheme}-{per_cent}"), title, columns);
    let rate = |system: &str, rtt: &Duration| samples.median(&row(system, *rtt, loss));
    for curve in curves {
        let system = [curve.system.to_owned()].into_iter();
        let found = figure
            .rtt
            .iter()
            .map(|rtt| optional(rate(curve.system, rtt), number));
        rates.row(curve.name, system.clone().chain(found));
        let share = |rtt| Some(rate(curve.system, rtt)? / rate(BASELINE, rtt)?);
        let found = figure.rtt.iter().map(|rtt| optional(share(rtt), number));
        shares.row(curve.name, system.chain(found));
        let quoted = |rtt: &Duration| match curve.quoted {
            Quoted::Flat(rate) => Some(rate),
            Quoted::At(at, rate) if at == milliseconds(*rtt) => Some(rate),
            Quoted::At(..) | Quoted::Nothing => None,
        };
        // The paper's lines lost nothing.
        if loss == 0.0 && !matches!(curve.quoted, Quoted::Nothing) {
            let quoted = figure.rtt.iter().map(|rtt| optional(quoted(rtt), number));
            let name = format!("{CLUE}{}", curve.clue);
            rates.row(name, [BLANK.to_owned()].into_iter().chain(quoted));
        }
    }
    [rates, shares]
}
