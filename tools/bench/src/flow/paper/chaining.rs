//! Figures 4 and 5: stars and trees, at a signer and at a verifier, and what packets carry.

use super::quoted::{BLOCKS, CHAINING_16_MS, DSA, RSA, chaining_ms};
use super::textbook::{self, Verifier};
use super::{Finding, Measured, Table, at, quote, signature_us};
use crate::flow::block;
use crate::measure::Case;
use crate::options::Options;
use crate::plot::{Line, Look, Panel, Plot};
use clew_tree::{Digest, DigestSize, NodeCache, PACKETS_MAX, Suite, Tree};
use std::io;

/// Degrees of trees; the star has all packets under its root.
pub const TREES: [u16; 3] = [2, 4, 8];
pub const STAR: u16 = PACKETS_MAX;
pub const SHAPES: [u16; 4] = [STAR, 2, 4, 8];

#[derive(Clone, Copy, PartialEq)]
pub enum Side {
    Signer,
    Verifier,
}

/// Whose chaining.
#[derive(Clone, Copy, PartialEq)]
pub enum Way {
    /// The paper's.
    Md5,
    Sha256,
    Blake3,
}

const SIDES: [Side; 2] = [Side::Signer, Side::Verifier];
const WAYS: [Way; 3] = [Way::Md5, Way::Sha256, Way::Blake3];

impl Side {
    pub fn name(self) -> &'static str {
        match self {
            Self::Signer => "signer",
            Self::Verifier => "verifier",
        }
    }
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::Md5 => "md5",
            Self::Sha256 => "sha256",
            Self::Blake3 => "blake3",
        }
    }
}

pub fn shape_name(degree: u16) -> String {
    match degree {
        STAR => "star".into(),
        degree => format!("deg {degree}"),
    }
}

pub fn row(side: Side, way: Way, degree: u16, block: u16) -> String {
    let shape = shape_name(degree).replace(' ', "-");
    format!("chain-{}-{}-{shape}-m{block}", side.name(), way.name())
}

pub fn cases() -> Vec<Case<'static>> {
    let mut cases = Vec::new();
    for (way, degree) in WAYS.into_iter().flat_map(|way| SHAPES.map(|d| (way, d))) {
        for block in BLOCKS {
            let [signer, verifier] = SIDES.map(|side| row(side, way, degree, block));
            cases.extend(match way {
                Way::Md5 => [
                    md5_signer(signer, degree, block),
                    md5_verifier(verifier, degree, block),
                ],
                Way::Sha256 => ours([signer, verifier], Suite::Sha256, degree, block),
                Way::Blake3 => ours([signer, verifier], Suite::Blake3, degree, block),
            });
        }
    }
    cases
}

const ABOUT_SIGNER: &str = "the tree over a block's leaves, and the paths of all packets";
const ABOUT_VERIFIER: &str = "the paths of all packets of a block, with verified nodes kept";

fn md5_leaves(block: u16) -> Vec<textbook::Digest> {
    (0..block)
        .map(|i| textbook::md5(&i.to_be_bytes()))
        .collect()
}

fn md5_signer(name: String, degree: u16, block: u16) -> Case<'static> {
    let (leaves, mut outs) = (md5_leaves(block), vec![Vec::new(); block.into()]);
    Case::new(name, ABOUT_SIGNER, move || {
        let tree = textbook::Tree::new(&leaves, degree.into());
        for (position, out) in (0..).zip(&mut outs) {
            out.clear();
            tree.write_overhead(position, out);
        }
    })
}

fn md5_verifier(name: String, degree: u16, block: u16) -> Case<'static> {
    let leaves = md5_leaves(block);
    let tree = textbook::Tree::new(&leaves, degree.into());
    let overhead = |position| {
        let mut out = Vec::new();
        tree.write_overhead(position, &mut out);
        out
    };
    let (carried, root): (Vec<_>, _) = ((0..block).map(overhead).collect(), tree.root());
    Case::new(name, ABOUT_VERIFIER, move || {
        let mut verifier = Verifier::new(block.into(), degree.into(), root);
        for (leaf, overhead) in leaves.iter().zip(&carried) {
            assert!(verifier.verify(*leaf, overhead), "a packet of the block");
        }
    })
}

fn ours(names: [String; 2], suite: Suite, degree: u16, count: u16) -> [Case<'static>; 2] {
    let block = block(suite, degree, count);
    let packets: Vec<[u8; 2]> = (0..count).map(u16::to_be_bytes).collect();
    let leaves = (0..count).zip(&packets).map(|(i, p)| block.leaf(i, &[p]));
    let leaves: Vec<Digest> = leaves.collect();
    let tree = Tree::new(block, &leaves).expect("a leaf for each packet");
    let path = |tree: &Tree, i| tree.path(i).expect("a packet of the block");
    let (paths, root): (Vec<_>, _) = ((0..count).map(|i| path(&tree, i)).collect(), tree.root());
    let (own, [signer, verifier]) = (leaves.clone(), names);
    let sign = move || {
        let tree = Tree::new(block, &own).expect("a leaf for each packet");
        (0..count).map(|i| path(&tree, i).len()).sum::<usize>()
    };
    let verify = move || {
        let mut known = NodeCache::new(block, root);
        for ((i, leaf), path) in (0..).zip(&leaves).zip(&paths) {
            known.verify(i, leaf, path).expect("a packet of the block");
        }
    };
    [
        Case::new(signer, ABOUT_SIGNER, sign),
        Case::new(verifier, ABOUT_VERIFIER, verify),
    ]
}

/// Bytes of path that a packet has on average.
fn overhead(degree: u16, count: u16) -> f64 {
    let block = block(Suite::Blake3, degree, count);
    let digests: usize = (0..count).filter_map(|i| block.depth(i)).sum();
    (digests * DigestSize::D16.bytes()) as f64 / f64::from(count)
}

pub fn tables(tables: &mut Vec<Table>, measured: &Measured) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (side, figure) in SIDES.into_iter().zip(["4(a)", "4(b)"]) {
        tables.push(figure_4(measured, side, figure));
        let found = [star_or_tree(measured, side), degree_two(measured, side)];
        findings.append(&mut at(&format!("figure {figure}"), found));
    }
    tables.push(figure_5());
    findings.append(&mut at("figure 5", carried()));
    findings
}

fn by_block(name: String, title: String) -> Table {
    let columns = BLOCKS.map(|block| block.to_string());
    Table::new(name, title, ["chaining".into()].into_iter().chain(columns))
}

fn figure_4(measured: &Measured, side: Side, figure: &str) -> Table {
    let title = format!(
        "Figure {figure}: chaining a block at a {}, microseconds, by packets of the block; the paper's from its text and Table 1",
        side.name()
    );
    let mut table = by_block(format!("figure-{figure}"), title);
    for degree in SHAPES {
        let papers = BLOCKS.map(|block| papers_ms(side, degree, block));
        if papers.iter().any(Option::is_some) {
            let cells = papers.map(|ms| quote(ms.map(|ms| ms * 1e3), 0));
            table.row(format!("paper {}", shape_name(degree)), cells);
        }
    }
    for (way, degree) in WAYS.into_iter().flat_map(|way| SHAPES.map(|d| (way, d))) {
        let cells = BLOCKS.map(|m| format!("{:.2}", measured.us(&row(side, way, degree, m))));
        table.row(format!("{} {}", way.name(), shape_name(degree)), cells);
    }
    table
}

fn papers_ms(side: Side, degree: u16, block: u16) -> Option<f64> {
    match side {
        Side::Signer => chaining_ms(degree, block),
        Side::Verifier => (degree == 2 && block == 16).then_some(CHAINING_16_MS[1]),
    }
}

/// Of two packets star and trees are one shape, and times that differ by less are the same.
const SAME: f64 = 1.05;

/// Block sizes of more than two packets for which the star takes no more time than any tree.
fn star_wins(measured: &Measured, side: Side, way: Way) -> Vec<u16> {
    let us = |degree, block| measured.us(&row(side, way, degree, block));
    let wins = |block: &u16| {
        TREES
            .iter()
            .all(|degree| us(STAR, *block) <= us(*degree, *block) * SAME)
    };
    BLOCKS[1..].iter().copied().filter(wins).collect()
}

/// Judged by the paper's own chaining.
fn star_or_tree(measured: &Measured, side: Side) -> Finding {
    let (says, expected) = match side {
        Side::Signer => (
            "at a signer the star takes less time than trees up to 64 packets, and more above",
            &BLOCKS[1..6],
        ),
        Side::Verifier => (
            "at a verifier the star takes less time than trees for all sizes",
            &BLOCKS[1..],
        ),
    };
    let wins = WAYS.map(|way| star_wins(measured, side, way));
    let named = WAYS.iter().zip(&wins).map(|(way, wins)| {
        let sizes: Vec<_> = wins.iter().map(u16::to_string).collect();
        format!("{} {}", way.name(), sizes.join(" "))
    });
    let named: Vec<_> = named.collect();
    let because = format!("it takes no more for: {}", named.join("; "));
    Finding::new(says, wins[0] == expected, because)
}

/// That the shortest paths cost little time.
fn degree_two(measured: &Measured, side: Side) -> Finding {
    let us = |degree| measured.us(&row(side, Way::Blake3, degree, 16));
    let [sign, verify] = signature_us(measured);
    let (signature, paper) = match side {
        Side::Signer => (
            sign,
            [
                CHAINING_16_MS[0] / RSA.sign_ms,
                CHAINING_16_MS[0] / DSA.sign_ms,
            ],
        ),
        Side::Verifier => (
            verify,
            [
                CHAINING_16_MS[1] / RSA.verify_ms,
                CHAINING_16_MS[1] / DSA.verify_ms,
            ],
        ),
    };
    let others = TREES[1..]
        .iter()
        .map(|degree| us(*degree))
        .fold(f64::MAX, f64::min);
    let extra = (us(2) - others) / signature;
    Finding::new(
        "degree two takes slightly more time than degrees four and eight, which does not matter beside the signature",
        (0.0..0.1).contains(&extra),
        format!(
            "{:.2} us, the least of the others {others:.2}: {:.1} % of the signature; chaining in all {:.1} % (paper: {:.1} % RSA, {:.1} % DSA)",
            us(2),
            extra * 100.0,
            us(2) / signature * 100.0,
            paper[0] * 100.0,
            paper[1] * 100.0
        ),
    )
}

fn figure_5() -> Table {
    let title = "Figure 5: bytes of chaining that a packet carries on average, digests of 16 bytes, by packets of the block";
    let mut table = by_block("figure-5".into(), title.into());
    for degree in SHAPES {
        let cells = BLOCKS.map(|block| format!("{:.0}", overhead(degree, block)));
        table.row(shape_name(degree), cells);
    }
    table
}

/// What packets carry.
fn carried() -> [Finding; 2] {
    let least = |block: &u16| {
        SHAPES
            .iter()
            .all(|d| overhead(2, *block) <= overhead(*d, *block))
    };
    let star = |block: u16| {
        let most = TREES
            .iter()
            .map(|d| overhead(*d, block))
            .fold(0.0, f64::max);
        overhead(STAR, block) / most
    };
    [
        Finding::new(
            "degree two has the least bytes",
            BLOCKS.iter().all(least),
            format!(
                "64 packets: {} bytes, with degree four {}",
                overhead(2, 64),
                overhead(4, 64)
            ),
        ),
        Finding::new(
            "above 8 packets the star has many more than trees",
            BLOCKS[3..].iter().all(|block| star(*block) > 1.5) && star(8) <= 1.0,
            format!(
                "{:.1} times those of the largest tree for 16 packets, {:.1} times for 128",
                star(16),
                star(128)
            ),
        ),
    ]
}

/// Figures 4 and 5 as pictures.
pub fn plots(measured: &Measured, options: &Options) -> io::Result<()> {
    let places: Vec<String> = BLOCKS.iter().map(u16::to_string).collect();
    let panel = |side: Side| {
        let mut lines = Vec::new();
        for (way, look) in [(Way::Md5, Look::Solid), (Way::Blake3, Look::Dashed)] {
            let us = |degree, block| measured.us(&row(side, way, degree, block));
            lines.extend(shape_lines(way.name(), look, |d, m| Some(us(d, m))));
        }
        let ms = |degree, block| papers_ms(side, degree, block);
        lines.extend(shape_lines("paper:", Look::Rings, |d, m| {
            ms(d, m).map(|ms| ms * 1e3)
        }));
        let title = format!("at a {}", side.name());
        Panel { title, lines }
    };
    Plot {
        title: "Chaining a block (Wong and Lam, figure 4)".into(),
        note: "md5: the paper's procedure on this machine. blake3: clew-flow, which compares all of each path. \
               Rings: Pentium II of 300 MHz, as far as the paper's text and Table 1 tell."
            .into(),
        x: "packets of a block".into(),
        y: "microseconds for a block".into(),
        places: places.clone(),
        panels: SIDES.map(panel).into(),
    }
    .save(options, "flow-paper-4")?;
    let lines = shape_lines("", Look::Solid, |d, m| Some(overhead(d, m)));
    Plot {
        title: "What packets carry (Wong and Lam, figure 5)".into(),
        note: "Digests of 16 bytes, without the block's signature.".into(),
        x: "packets of a block".into(),
        y: "bytes of chaining for a packet, average".into(),
        places,
        panels: vec![Panel {
            title: "digests on the way to the root".into(),
            lines,
        }],
    }
    .save(options, "flow-paper-5")
}

fn shape_lines(who: &str, look: Look, value: impl Fn(u16, u16) -> Option<f64>) -> Vec<Line> {
    let line = |(colour, degree): (usize, u16)| Line {
        name: format!("{who} {}", shape_name(degree)).trim().to_owned(),
        colour,
        look,
        points: (0..)
            .zip(BLOCKS)
            .filter_map(|(at, m)| Some((at, value(degree, m)?)))
            .collect(),
    };
    let lines = (0..).zip(SHAPES).map(line);
    lines.filter(|line| !line.points.is_empty()).collect()
}
