//! Tables 2 to 4: sizes of FFS, and signing and verifying with each of the extensions.

use super::keys::{Keys, shared};
use super::quoted::{MODULUS, SHAPES, TABLE_2, TABLE_3, TABLE_4};
use super::schemes::{self, RSA};
use super::table::{Row, Table};
use super::work;
use crate::effs::ffs::{BASIC, EFFS, Ffs, Shape, Speedups};
use crate::effs::scheme::{Hash, Scheme as _};
use crate::findings::{Finding, at};
use crate::flow::paper::chaining::Side;
use crate::groups::rng;
use crate::measure::{Case, Measured};
use clew_record::table;

const SMALL: Speedups = Speedups {
    small: true,
    ..BASIC
};

/// In the order of table 3.
const SIGNING: [Speedups; 5] = [
    BASIC,
    SMALL,
    Speedups { crt: true, ..SMALL },
    Speedups { signing: 4, ..EFFS },
    EFFS,
];

/// In the order of table 4.
const VERIFYING: [Speedups; 4] = [
    BASIC,
    SMALL,
    Speedups {
        verifying: 4,
        ..SMALL
    },
    Speedups {
        verifying: 8,
        ..SMALL
    },
];

/// Times that differ by less are the same.
const SAME: f64 = 0.05;

fn row(side: Side, speedup: usize, shape: Shape) -> String {
    let (speedup, names) = match side {
        Side::Signer => ("sign", ["basic", "small", "crt", "4-bit", "8-bit"][speedup]),
        Side::Verifier => ("verify", ["basic", "small", "4-bit", "8-bit", ""][speedup]),
    };
    format!("ffs-{speedup}-{names}-k{}-t{}", shape.k, shape.t)
}

fn product_row(bits: usize) -> String {
    format!("product-{bits}")
}

pub fn cases(keys: &Keys) -> Vec<Case<'static>> {
    let hash = Hash::of(MODULUS);
    let key = |shape, speedups| shared(Ffs::new(&keys.material, shape, speedups, rng(7)));
    let products = [MODULUS / 2, MODULUS].map(|bits| work::product(product_row(bits), bits));
    let mut cases: Vec<_> = products.into();
    for shape in SHAPES {
        for (place, speedups) in SIGNING.into_iter().enumerate() {
            let name = row(Side::Signer, place, shape);
            cases.push(work::signing(name, key(shape, speedups), hash));
        }
        for (place, speedups) in VERIFYING.into_iter().enumerate() {
            let name = row(Side::Verifier, place, shape);
            cases.push(work::verifying(name, key(shape, speedups), hash));
        }
    }
    cases
}

pub fn tables(tables: &mut Vec<table::Table>, measured: &Measured, keys: &Keys) -> Vec<Finding> {
    let (table, finding) = sizes(keys);
    tables.push(table);
    let mut findings = at("table 2", [finding]);
    for (side, number) in [(Side::Signer, 3), (Side::Verifier, 4)] {
        let (table, found) = times(measured, side, number);
        tables.push(table.render());
        findings.append(&mut at(&format!("table {number}"), found));
    }
    findings
}

fn sizes(keys: &Keys) -> (table::Table, Finding) {
    let title = format!(
        "Table 2: bytes of a key and of a signature of FFS, modulus of {MODULUS} bits: paper, here"
    );
    let columns = ["kt", "t = 1", "t = 2", "t = 4"];
    let (mut table, mut alike) = (table::Table::new("table-2", title, columns), true);
    for (product, row) in TABLE_2 {
        let mut cells = Vec::new();
        for ([key, signature], t) in row.into_iter().zip([1, 2, 4]) {
            let shape = Shape { k: product / t, t };
            let [own, _, other] = Ffs::new(&keys.material, shape, BASIC, rng(7)).sizes();
            alike &= [key, signature] == [own, other];
            cells.push(format!("{key} {signature}, {own} {other}"));
        }
        table.row(product.to_string(), cells);
    }
    let finding = Finding::new(
        "with a smaller t the signature is smaller and the key larger",
        alike,
        match alike {
            true => "all sizes are the paper's",
            false => "sizes are not the paper's",
        },
    );
    (table, finding)
}

/// Medians by the speed-up, each for all [`SHAPES`].
fn medians(measured: &Measured, side: Side, count: usize) -> Vec<[f64; 6]> {
    let of = |speedup| SHAPES.map(|shape| measured.us(&row(side, speedup, shape)));
    (0..count).map(of).collect()
}

fn times(measured: &Measured, side: Side, number: u8) -> (Table, Vec<Finding>) {
    let (verb, quoted): (_, &[(&str, [f64; 6])]) = match side {
        Side::Signer => ("signing", &TABLE_3),
        Side::Verifier => ("verifying", &TABLE_4),
    };
    let ours = medians(measured, side, quoted.len());
    let rows = quoted.iter().zip(&ours).map(|((name, paper), ours)| Row {
        name: (*name).into(),
        paper: paper.map(Some).into(),
        ours: ours.map(Some).into(),
    });
    let [paper, own] = schemes::rsa(measured, side);
    let table = Table {
        name: format!("table-{number}"),
        title: format!(
            "Table {number}: {verb} a digest of 128 bits by (k,t), modulus of {MODULUS} bits"
        ),
        columns: SHAPES
            .iter()
            .map(|s| format!("({},{})", s.k, s.t))
            .collect(),
        units: ["ms", "us"],
        rows: rows.collect(),
        rsa: Row {
            name: RSA.into(),
            paper: vec![Some(paper); SHAPES.len()],
            ours: vec![Some(own); SHAPES.len()],
        },
    };
    let mut findings = match side {
        Side::Signer => vec![order(&ours, measured)],
        Side::Verifier => verifying(&ours).into(),
    };
    findings.push(smaller_t(verb, &ours));
    (table, findings)
}

/// The paper's last column, of (128,1).
const LAST: usize = 5;

fn order(ours: &[[f64; 6]], measured: &Measured) -> Finding {
    let [half, whole] = [MODULUS / 2, MODULUS].map(|bits| measured.us(&product_row(bits)));
    let faster = |(before, after): (&[f64; 6], &[f64; 6])| {
        before
            .iter()
            .zip(after)
            .all(|(before, after)| after < before)
    };
    let mut steps = ours[1..].iter().zip(&ours[2..]);
    let same = ours[0].iter().zip(ours[1]);
    let same = same.fold(0.0, |most: f64, (basic, small)| {
        most.max((small / basic - 1.0).abs())
    });
    let gain = |place: usize| ours[0][LAST] / ours[place][LAST];
    let papers = |place: usize| TABLE_3[0].1[LAST] / TABLE_3[place].1[LAST];
    Finding::new(
        "each extension but the small v-key speeds signing up: the remainder theorem, then 4 bits of precomputation, then 8",
        steps.all(faster) && same <= SAME,
        format!(
            "(128,1): {:.1}, {:.1}, {:.1} times basic FFS (paper: {:.1}, {:.1}, {:.1}); small v-key within {:.0} %; a {}-bit product takes \
             {:.2} of a {MODULUS}-bit one",
            gain(2),
            gain(3),
            gain(4),
            papers(2),
            papers(3),
            papers(4),
            same * 100.0,
            MODULUS / 2,
            half / whole
        ),
    )
}

fn verifying(ours: &[[f64; 6]]) -> [Finding; 2] {
    let gain = |place: usize| ours[0][LAST] / ours[place][LAST];
    let small = ours[0]
        .iter()
        .zip(ours[1])
        .map(|(basic, small)| basic / small);
    let (least, papers) = (
        small.fold(f64::MAX, f64::min),
        TABLE_4[0].1[LAST] / TABLE_4[1].1[LAST],
    );
    let saved = |place: usize| 1.0 - ours[place][LAST] / ours[1][LAST];
    let papers_saved = |place: usize| 1.0 - TABLE_4[place].1[LAST] / TABLE_4[1].1[LAST];
    // The paper calls 12 % not effective.
    let most = papers_saved(3) + SAME;
    [
        Finding::new(
            "the small v-key reduces the verification time",
            least > 1.0,
            format!(
                "it is {:.1} times as fast for (128,1) (paper: {papers:.1}), and at least {least:.1} times",
                gain(1)
            ),
        ),
        Finding::new(
            "precomputation is then not effective",
            saved(2) <= most && saved(3) <= most,
            format!(
                "for (128,1) it saves {:.0} % with 4 bits and {:.0} % with 8 (paper: {:.0} % and {:.0} %)",
                saved(2) * 100.0,
                saved(3) * 100.0,
                papers_saved(2) * 100.0,
                papers_saved(3) * 100.0
            ),
        ),
    ]
}

/// For a fixed product k t. Rows without extensions have as many products whatever t is but for two of each row.
fn smaller_t(verb: &str, ours: &[[f64; 6]]) -> Finding {
    let at = |shape: Shape| SHAPES.iter().position(|s| *s == shape).unwrap_or(LAST);
    let pairs = SHAPES.iter().flat_map(|more| {
        let less = SHAPES.iter();
        let less = less.filter(|less| less.t < more.t && less.k * less.t == more.k * more.t);
        less.map(|less| (at(*more), at(*less)))
    });
    let pairs: Vec<_> = pairs.collect();
    let faster = |row: &[f64; 6]| pairs.iter().all(|(more, less)| row[*less] < row[*more]);
    let last = ours[ours.len() - 1];
    Finding::new(
        format!("for a fixed kt {verb} is faster with a smaller t"),
        ours.iter().all(faster),
        format!(
            "with all extensions (32,4) takes {:.2} times and (64,2) {:.2} times what (128,1) takes",
            last[3] / last[LAST],
            last[4] / last[LAST]
        ),
    )
}
