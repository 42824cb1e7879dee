//! Figures 7 to 10: whole flows, by block size, shape and length of packets.

use super::chaining::{self, SHAPES, Side, TREES, Way, shape_name};
use super::hashing;
use super::quoted::{self, BLOCKS, BYTES, DSA, RSA, Scheme};
use super::{Finding, Measured, Table, at, quote};
use crate::flow::running::Shape;
use crate::flow::{block, leaves, payloads};
use crate::measure::Case;
use clew_flow::Chaining;
use clew_tree::{Degree, Suite};

/// Blocks of the figures: of one packet, each is signed by itself.
pub const SIZES: [u16; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// Rates that differ by less vary slightly, and those that fall by less do not fall.
const SLIGHTLY: f64 = 0.10;
const NOISE: f64 = 0.03;

/// Packets of the comparison of shapes.
const COMPARED: usize = BYTES[1];

fn row(side: Side, degree: u16, bytes: usize, block: u16) -> String {
    let shape = shape_name(degree).replace(' ', "-");
    format!("flow-{}-{shape}-{bytes}-m{block}", side.name())
}

fn leaves_row(block: u16) -> String {
    format!("leaves-blake3-{COMPARED}-m{block}")
}

pub fn cases() -> Vec<Case<'static>> {
    let mut flows: Vec<(u16, usize)> = SHAPES.map(|degree| (degree, COMPARED)).into();
    flows.extend([(2, BYTES[0]), (2, BYTES[2])]);
    let mut cases: Vec<_> = BLOCKS.into_iter().map(hashing_block).collect();
    for ((degree, bytes), block) in flows.into_iter().flat_map(|f| SIZES.map(|m| (f, m))) {
        let chaining = Chaining {
            degree: Degree::new(degree).expect("a degree"),
            most: block,
            ..Chaining::default()
        };
        let shape = Shape { chaining, bytes };
        cases.push(shape.signing(row(Side::Signer, degree, bytes, block)));
        cases.push(shape.verifying(row(Side::Verifier, degree, bytes, block)));
    }
    cases
}

/// Hashing the packets of a block.
fn hashing_block(count: u16) -> Case<'static> {
    let (block, packets) = (
        block(Suite::Blake3, 2, count),
        payloads(count.into(), COMPARED),
    );
    let hash = move || leaves(&block, &packets);
    Case::new(leaves_row(count), "the leaf of a packet of the block", hash).each_of(count.into())
}

pub fn tables(tables: &mut Vec<Table>, measured: &Measured) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (side, figures) in [(Side::Signer, ["7", "9"]), (Side::Verifier, ["8", "10"])] {
        tables.push(by_shape(measured, side, figures[0]));
        let rate = |degree, block| kpps(measured, side, degree, COMPARED, block);
        let found = [orders(&rate, side), growing(&rate), alike(&rate)];
        findings.append(&mut at(&format!("figure {}", figures[0]), found));
        tables.push(by_length(measured, side, figures[1]));
        let rate = |place: usize, block| kpps(measured, side, 2, BYTES[place], block);
        findings.append(&mut at(&format!("figure {}", figures[1]), lengths(&rate)));
    }
    findings
}

/// Thousand packets a second.
fn kpps(measured: &Measured, side: Side, degree: u16, bytes: usize, block: u16) -> f64 {
    1e3 / measured.us(&row(side, degree, bytes, block))
}

/// The same if block signatures took no time: digests and a binary tree.
fn alone(measured: &Measured, side: Side, way: Way, block: u16) -> f64 {
    let leaf = match way {
        Way::Md5 => measured.us(&hashing::row("md5", COMPARED)),
        _ => measured.us(&leaves_row(block)),
    };
    let chaining = measured.us(&chaining::row(side, way, 2, block));
    1e3 / (leaf + chaining / f64::from(block))
}

/// What the paper's text has for packets of [`BYTES`] at this place.
pub fn papers(scheme: &Scheme, side: Side, place: usize, block: u16) -> Option<f64> {
    let (singly, flow) = match side {
        Side::Signer => (scheme.singly_sign, scheme.flow_sign),
        Side::Verifier => (scheme.singly_verify, scheme.flow_verify),
    };
    match block {
        1 => Some(singly[place]),
        16 if BYTES[place] == COMPARED => Some(flow),
        _ => None,
    }
}

fn by_shape(measured: &Measured, side: Side, figure: &str) -> Table {
    let title = format!(
        "Figure {figure}: rates at a {}, packets of {COMPARED} bytes; the paper's in packets a second, ours in thousands",
        side.name()
    );
    let columns = [
        "m",
        "paper RSA",
        "paper DSA",
        "paper alone",
        "md5 alone",
        "blake3 alone",
    ];
    let columns = columns.map(String::from).into_iter();
    let mut table = Table::new(
        format!("figure-{figure}"),
        title,
        columns.chain(SHAPES.map(shape_name)),
    );
    for block in SIZES {
        let quoted = [RSA, DSA].map(|s| quote(papers(&s, side, 1, block), 0));
        let place = usize::from(side == Side::Verifier);
        let paper = (block == 16).then(|| quoted::chaining_alone()[place]);
        let ours = [Way::Md5, Way::Blake3].map(|way| match block {
            1 => "-".into(),
            _ => format!("{:.0}", alone(measured, side, way, block)),
        });
        let flows = SHAPES.map(|d| format!("{:.0}", kpps(measured, side, d, COMPARED, block)));
        let cells = quoted.into_iter().chain([quote(paper, 0)]);
        table.row(block.to_string(), cells.chain(ours).chain(flows));
    }
    table
}

/// That blocks are much faster than single packets.
pub fn orders(rate: &impl Fn(u16, u16) -> f64, side: Side) -> Finding {
    let gain = |degree, block| rate(degree, block) / rate(degree, 1);
    let papers_gain = |scheme: Scheme| {
        let at = |block| papers(&scheme, side, 1, block).unwrap_or(f64::NAN);
        format!("{:.1} with {}", at(16) / at(1), scheme.name)
    };
    Finding::new(
        "trees and stars are one to two orders of magnitude faster than signing each packet",
        gain(2, 16) >= 10.0 || gain(2, 128) >= 10.0,
        format!(
            "a binary tree is {:.1} times as fast with 16 packets and {:.1} times with 128 (paper, 16: {}, {})",
            gain(2, 16),
            gain(2, 128),
            papers_gain(RSA),
            papers_gain(DSA)
        ),
    )
}

/// That rates grow with the block.
pub fn growing(rate: &impl Fn(u16, u16) -> f64) -> Finding {
    let grows = |degree: &u16| {
        let steps = SIZES.windows(2);
        steps
            .map(|w| rate(*degree, w[1]) / rate(*degree, w[0]))
            .all(|step| step > 1.0 - NOISE)
    };
    let falling = SHAPES.into_iter().filter(|degree| !grows(degree));
    let falling: Vec<_> = falling.map(shape_name).collect();
    Finding::new(
        "rates grow with the block",
        falling.is_empty(),
        match falling.is_empty() {
            true => format!("they do up to 128 packets, within {:.0} %", NOISE * 100.0),
            false => format!("not with: {}", falling.join(", ")),
        },
    )
}

/// That shapes differ little.
pub fn alike(rate: &impl Fn(u16, u16) -> f64) -> Finding {
    let spread = |shapes: &[u16], block| {
        let rates = shapes.iter().map(|degree| rate(*degree, block));
        let (low, high) = rates.fold((f64::MAX, 0.0), |(low, high): (f64, f64), rate| {
            (low.min(rate), high.max(rate))
        });
        high / low - 1.0
    };
    let widest = |shapes: &[u16]| {
        let all = BLOCKS
            .into_iter()
            .map(|block| (spread(shapes, block), block));
        all.fold((0.0, 0), |a: (f64, u16), b| if b.0 > a.0 { b } else { a })
    };
    let (trees, all) = (widest(&TREES), widest(&SHAPES));
    Finding::new(
        "rates vary only slightly with the technique and the degree",
        all.0 <= SLIGHTLY,
        format!(
            "trees of all degrees are within {:.0} % (m = {}), with stars within {:.0} % (m = {}); slightly: {:.0} %",
            trees.0 * 100.0,
            trees.1,
            all.0 * 100.0,
            all.1,
            SLIGHTLY * 100.0
        ),
    )
}

fn by_length(measured: &Measured, side: Side, figure: &str) -> Table {
    let title = format!(
        "Figure {figure}: rates at a {} by bytes of packets, degree two: the paper's in packets a second, ours in thousands",
        side.name()
    );
    let heads = ["paper RSA", "paper DSA", "here"].into_iter();
    let heads = heads.flat_map(|who| BYTES.map(|bytes| format!("{who} {bytes}")));
    let columns = ["m".into()].into_iter().chain(heads);
    let mut table = Table::new(format!("figure-{figure}"), title, columns);
    for block in SIZES {
        let of = |scheme| [0, 1, 2].map(|place| quote(papers(&scheme, side, place, block), 0));
        let ours = BYTES.map(|bytes| format!("{:.0}", kpps(measured, side, 2, bytes, block)));
        table.row(block.to_string(), [of(RSA), of(DSA), ours].concat());
    }
    table
}

/// What the length of packets does: rates by the place in [`BYTES`] and the block.
pub fn lengths(rate: &impl Fn(usize, u16) -> f64) -> [Finding; 2] {
    let falls = |block: u16| (rate(0, block), rate(1, block), rate(2, block));
    let lower = |block: &u16| {
        let (short, middle, long) = falls(*block);
        middle <= short * (1.0 + NOISE) && long <= middle * (1.0 + NOISE)
    };
    let ratio = |block| rate(0, block) / rate(2, block);
    let gain = |place| rate(place, 128) / rate(place, 1);
    [
        Finding::new(
            "rates fall as packets get longer, and more so with large blocks",
            SIZES.iter().all(lower) && ratio(128) > ratio(1),
            format!(
                "512 bytes are {:.2} times as fast as 2048 with one packet and {:.2} times with 128",
                ratio(1),
                ratio(128)
            ),
        ),
        Finding::new(
            "rates grow with the block more for shorter packets",
            gain(0) > gain(2),
            format!(
                "from 1 to 128 packets {:.1} times for 512 bytes, {:.1} times for 2048",
                gain(0),
                gain(2)
            ),
        ),
    ]
}
