//! Table 9 and figures 7 to 10: flows of blocks, signed with RSA, DSA and eFFS.

use super::keys::{ALL_SIZES, Keys, MEASURED};
use super::quoted::{self, MODULUS};
use super::schemes::{DSA, EFFS, RSA, by_modulus, rows, slug};
use super::work::Blocks;
use crate::effs::scheme::Hash;
use crate::findings::{Finding, at, quote};
use crate::flow::paper::chaining::{SHAPES, Side, shape_name};
use crate::flow::paper::flows::{SIZES, alike, growing, lengths, orders, papers};
use crate::flow::paper::quoted::{BYTES, Scheme};
use crate::measure::{Case, Measured};
use clew_record::table::Table;
use std::collections::BTreeSet;

/// The schemes of the figures.
pub const DRAWN: [&str; 3] = [RSA, DSA, EFFS];

/// Of table 9.
const BLOCKS: Blocks = Blocks {
    degree: 2,
    bytes: BYTES[1],
    block: 16,
};

/// Rates below this part of eFFS's are low, which all are that the paper calls so.
const LOW: f64 = 0.5;

/// Rates that differ by less are the same.
const SAME: f64 = 0.05;

/// Of RSA's verification rate, eFFS's least in table 9.
const HIGH: f64 = 0.88;

fn row(side: Side, scheme: &str, bits: usize, blocks: Blocks) -> String {
    let shape = shape_name(blocks.degree).replace(' ', "-");
    format!(
        "flow-{}-{bits}-{}-{shape}-{}-m{}",
        slug(scheme),
        side.name(),
        blocks.bytes,
        blocks.block
    )
}

/// Of the figures: all shapes for packets of the middle length, trees of degree two for all lengths.
fn drawn() -> impl Iterator<Item = Blocks> {
    let middle = SHAPES.map(|degree| (degree, BYTES[1]));
    let flows = middle.into_iter().chain([(2, BYTES[0]), (2, BYTES[2])]);
    flows.flat_map(|(degree, bytes)| {
        SIZES.map(|block| Blocks {
            degree,
            bytes,
            block,
        })
    })
}

pub fn cases(keys: &Keys) -> Vec<Case<'static>> {
    let figures = DRAWN.into_iter().flat_map(|name| {
        let of = move |blocks| (MODULUS, name, blocks);
        drawn().map(of)
    });
    let sizes = keys.sizes.iter();
    let rows = sizes.flat_map(|size| MEASURED.map(|name| (size.bits, name, BLOCKS)));
    let all: BTreeSet<_> = rows.chain(figures).collect();
    let mut cases = Vec::new();
    for (bits, name, blocks) in all {
        for side in [Side::Signer, Side::Verifier] {
            let row = row(side, name, bits, blocks);
            let scheme = keys.get(name, bits);
            let case = |scheme| blocks.case(row, side, scheme, Hash::of(bits));
            cases.extend(scheme.map(case));
        }
    }
    cases
}

/// Packets a second.
fn rate(measured: &Measured, side: Side, name: &str, bits: usize, blocks: Blocks) -> f64 {
    1e6 / measured.us(&row(side, name, bits, blocks))
}

pub fn tables(tables: &mut Vec<Table>, measured: &Measured) -> Vec<Finding> {
    tables.extend([(Side::Signer, "a"), (Side::Verifier, "b")].map(|s| table_9(measured, s)));
    let mut findings = at("table 9", high_and_low(measured));
    for (side, numbers) in [(Side::Signer, ["7", "9"]), (Side::Verifier, ["8", "10"])] {
        let rates = Rates { measured, side };
        tables.push(rates.by_shape(numbers[0]));
        findings.append(&mut at(
            &format!("figure {}", numbers[0]),
            rates.of_shapes(),
        ));
        tables.push(rates.by_length(numbers[1]));
        findings.append(&mut at(
            &format!("figure {}", numbers[1]),
            rates.of_lengths(),
        ));
    }
    findings
}

fn table_9(measured: &Measured, (side, part): (Side, &str)) -> Table {
    let all = || {
        let ours = |name, bits| {
            let rate = rate(measured, side, name, bits, BLOCKS);
            rate.is_finite().then_some(rate)
        };
        rows(|scheme| scheme.rates[side as usize], ours)
    };
    let title = format!(
        "Table 9({part}): packets a second at a {}, blocks of {}, packets of {} bytes, degree two; MD5, above 1024 bits SHA-256",
        side.name(),
        BLOCKS.block,
        BLOCKS.bytes
    );
    by_modulus(format!("table-9({part})"), title, ["packets/s"; 2], all)
}

fn high_and_low(measured: &Measured) -> [Finding; 3] {
    let part = |side, name: &str, of: &str| {
        let one = |bits| {
            rate(measured, side, name, bits, BLOCKS) / rate(measured, side, of, bits, BLOCKS)
        };
        ALL_SIZES.map(one)
    };
    let (signer, verifier) = (Side::Signer, Side::Verifier);
    let [rsa, dsa] = [part(signer, RSA, EFFS), part(verifier, DSA, EFFS)];
    let [ffs, effs] = [MEASURED[2], EFFS].map(|name| part(verifier, name, RSA));
    let mut others = [RSA, DSA, MEASURED[2]].into_iter();
    let fastest = others.all(|name| {
        part(signer, name, EFFS)
            .iter()
            .all(|part| *part < 1.0 + SAME)
    });
    let low = |part: &[f64]| part.iter().all(|part| *part <= LOW);
    let list = |part: [f64; 6]| part.map(|part| format!("{part:.2}")).join(", ");
    [
        Finding::new(
            "RSA has low signing rates",
            low(&rsa),
            format!(
                "{} of eFFS's, from 384 to 3072 bits (paper: 0.49, 0.35, 0.19, 0.12)",
                list(rsa)
            ),
        ),
        Finding::new(
            "DSA has low verification rates",
            low(&dsa),
            format!("{} of eFFS's (paper: 0.34, 0.26, 0.16, 0.12)", list(dsa)),
        ),
        Finding::new(
            "eFFS's rates are high in both: the highest signing rates, and verification rates like RSA's",
            fastest && effs.iter().all(|part| *part >= HIGH),
            format!(
                "verification rates are {} of RSA's (paper: 0.89, 0.91, 0.95, 0.99), those of FFS {}",
                list(effs),
                list(ffs)
            ),
        ),
    ]
}

/// What the figures show of a side.
pub struct Rates<'a> {
    pub measured: &'a Measured,
    pub side: Side,
}

impl Rates<'_> {
    /// Thousand packets a second.
    pub fn kpps(&self, name: &str, degree: u16, bytes: usize, block: u16) -> f64 {
        let blocks = Blocks {
            degree,
            bytes,
            block,
        };
        rate(self.measured, self.side, name, MODULUS, blocks) / 1e3
    }

    /// What the paper's text has, in packets a second.
    pub fn paper(&self, name: &str, place: usize, block: u16) -> Option<f64> {
        if let Some(scheme) = of_section_2(name) {
            return papers(&scheme, self.side, place, block);
        }
        let scheme = quoted::scheme(name).filter(|_| block == 16 && place == 1)?;
        Some(scheme.rates[self.side as usize][1])
    }

    fn by_shape(&self, figure: &str) -> Table {
        let shapes = SHAPES.map(shape_name);
        let mut table = self.table(figure, "shape of trees, packets of 1024 bytes", &shapes);
        for block in SIZES {
            let paper = DRAWN.map(|name| quote(self.paper(name, 1, block), 0));
            let ours = DRAWN.into_iter().flat_map(|name| {
                SHAPES.map(|d| format!("{:.1}", self.kpps(name, d, BYTES[1], block)))
            });
            table.row(block.to_string(), paper.into_iter().chain(ours));
        }
        table
    }

    fn of_shapes(&self) -> impl Iterator<Item = Finding> {
        DRAWN.into_iter().flat_map(|name| {
            let rate = |degree, block| self.kpps(name, degree, BYTES[1], block);
            let all = [orders(&rate, self.side), growing(&rate), alike(&rate)];
            all.map(|finding| finding.of(name))
        })
    }

    fn by_length(&self, figure: &str) -> Table {
        let columns = BYTES.map(|bytes| bytes.to_string());
        let mut table = self.table(figure, "bytes of packets, degree two", &columns);
        for block in SIZES {
            let paper = DRAWN
                .into_iter()
                .flat_map(|name| [0, 1, 2].map(|place| quote(self.paper(name, place, block), 0)));
            let ours = DRAWN.into_iter().flat_map(|name| {
                BYTES.map(|bytes| format!("{:.1}", self.kpps(name, 2, bytes, block)))
            });
            table.row(block.to_string(), paper.chain(ours));
        }
        table
    }

    fn of_lengths(&self) -> impl Iterator<Item = Finding> {
        DRAWN.into_iter().flat_map(|name| {
            let rate = |place: usize, block| self.kpps(name, 2, BYTES[place], block);
            lengths(&rate).map(|finding| finding.of(name))
        })
    }

    fn table(&self, figure: &str, by: &str, columns: &[String]) -> Table {
        // By length the paper has them all, by shape degree two alone.
        let quoted = if columns.len() == BYTES.len() {
            columns
        } else {
            &columns[1..2]
        };
        let heads = |who: &'static str, columns: &[String]| {
            let head = |name| {
                columns
                    .iter()
                    .map(move |column| format!("{who} {} {column}", short(name)))
            };
            DRAWN.into_iter().flat_map(head).collect::<Vec<_>>()
        };
        let title = format!(
            "Figure {figure}: rates at a {} by block and {by}, {MODULUS} bits, MD5; the paper's in packets a second, ours in thousands",
            self.side.name()
        );
        let columns = [
            vec!["m".into()],
            heads("paper", quoted),
            heads("here", columns),
        ];
        Table::new(format!("figure-{figure}"), title, columns.concat())
    }
}

/// RSA and DSA as the paper's section 2 has them.
fn of_section_2(name: &str) -> Option<Scheme> {
    use crate::flow::paper::quoted::{DSA, RSA};
    [RSA, DSA].into_iter().find(|scheme| scheme.name == name)
}

/// The name without its parameters.
fn short(name: &str) -> &str {
    name.split('(').next().unwrap_or(name)
}
