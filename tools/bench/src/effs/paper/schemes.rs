//! Tables 7 and 8: sizes, signing and verifying of all schemes, by modulus.

use super::keys::{ALL_SIZES, Keys, LIBRARY, MEASURED};
use super::quoted::{self, MODULUS, SCHEMES, SIZES};
use super::table::{Row, Table};
use super::work;
use crate::effs::scheme::Hash;
use crate::findings::{Finding, at};
use crate::flow::paper::chaining::Side;
use crate::measure::{Case, Measured};
use clew_record::table;

pub const RSA: &str = MEASURED[0];
pub const DSA: &str = MEASURED[1];
const FFS: &str = MEASURED[2];
pub const EFFS: &str = MEASURED[3];

/// What a scheme has in names of rows.
pub fn slug(scheme: &str) -> &'static str {
    match scheme {
        RSA => "rsa",
        DSA => "dsa",
        FFS => "ffs",
        EFFS => "effs",
        LIBRARY => "rsa-aws-lc",
        _ => "quoted only",
    }
}

fn row(side: Side, scheme: &str, bits: usize) -> String {
    let side = match side {
        Side::Signer => "sign",
        Side::Verifier => "verify",
    };
    format!("{}-{bits}-{side}", slug(scheme))
}

/// What RSA with the modulus of tables 2 to 6 takes: ms in the paper, us here.
pub fn rsa(measured: &Measured, side: Side) -> [f64; 2] {
    let paper = quoted::scheme(RSA).map_or(f64::NAN, |rsa| rsa.ms[side as usize][1]);
    [paper, measured.us(&row(side, RSA, MODULUS))]
}

pub fn cases(keys: &Keys) -> Vec<Case<'static>> {
    let mut cases = Vec::new();
    for size in &keys.sizes {
        let hash = Hash::of(size.bits);
        for (name, scheme) in &size.schemes {
            let [sign, verify] =
                [Side::Signer, Side::Verifier].map(|side| row(side, name, size.bits));
            cases.push(work::signing(sign, scheme.clone(), hash));
            cases.push(work::verifying(verify, scheme.clone(), hash));
        }
    }
    cases
}

/// All that the paper has, and RSA of the library.
fn names() -> impl Iterator<Item = &'static str> {
    SCHEMES.iter().map(|scheme| scheme.name).chain([LIBRARY])
}

/// Rows for a table by modulus.
pub fn rows(
    paper: impl Fn(&quoted::Scheme) -> [f64; 4],
    ours: impl Fn(&'static str, usize) -> Option<f64>,
) -> Vec<Row> {
    let row = |name: &'static str| {
        let quoted = quoted::scheme(name).map(|scheme| paper(scheme).map(Some));
        let mut paper: Vec<_> = quoted.unwrap_or_default().into();
        paper.resize(ALL_SIZES.len(), None);
        let ours = ALL_SIZES.map(|bits| ours(name, bits)).into();
        let name = name.into();
        Row { name, paper, ours }
    };
    names().map(row).collect()
}

/// A table by modulus, with RSA's row again for the ratios.
pub fn by_modulus(
    name: String,
    title: String,
    units: [&'static str; 2],
    rows: impl Fn() -> Vec<Row>,
) -> table::Table {
    let table = Table {
        name,
        title,
        columns: ALL_SIZES.map(|bits| bits.to_string()).into(),
        units,
        rsa: rows().remove(0),
        rows: rows(),
    };
    table.render()
}

pub fn tables(tables: &mut Vec<table::Table>, measured: &Measured, keys: &Keys) -> Vec<Finding> {
    let (mut of_sizes, alike) = sizes(keys);
    tables.append(&mut of_sizes);
    let mut findings = at("table 7", [alike]);
    for side in [Side::Signer, Side::Verifier] {
        let (part, verb) = match side {
            Side::Signer => ("a", "signing"),
            Side::Verifier => ("b", "verifying"),
        };
        let all = || {
            let us = |name, bits| measured.0.get(&row(side, name, bits)).map(|f| f.median);
            rows(|scheme| scheme.ms[side as usize], us)
        };
        let title = format!("Table 8({part}): {verb} a digest by bits of the modulus");
        tables.push(by_modulus(
            format!("table-8({part})"),
            title,
            ["ms", "us"],
            all,
        ));
    }
    findings.append(&mut at("table 8", times(measured)));
    findings
}

fn sizes(keys: &Keys) -> (Vec<table::Table>, Finding) {
    let own = |place: usize, name, bits| {
        let scheme = keys.get(name, bits)?;
        let sizes = scheme.borrow().sizes();
        Some(sizes[place] as f64)
    };
    let (mut tables, mut alike) = (Vec::new(), true);
    for (place, what) in ["signing key", "verification key", "signature"]
        .into_iter()
        .enumerate()
    {
        let part = ["a", "b", "c"][place];
        let all = || {
            let paper = |scheme: &quoted::Scheme| scheme.bytes[place].map(|bytes| bytes as f64);
            rows(paper, |name, bits| own(place, name, bits))
        };
        for row in all() {
            let both = row.paper.iter().zip(&row.ours);
            let both = both.filter_map(|(paper, ours)| Some(((*paper)?, (*ours)?)));
            alike &= both.into_iter().all(|(paper, ours)| paper == ours);
        }
        let title = format!("Table 7({part}): bytes of a {what} by bits of the modulus");
        tables.push(by_modulus(
            format!("table-7({part})"),
            title,
            ["bytes"; 2],
            all,
        ));
    }
    let ratio = |bits| Some(own(2, EFFS, bits)? / own(2, RSA, bits)?);
    let ratios = [384, 1024, 3072].map(|bits| ratio(bits).unwrap_or(f64::NAN));
    let finding = Finding::new(
        "signatures of eFFS and RSA have about the same size; eFFS has large signing keys and small verification keys",
        alike,
        format!(
            "{} the paper's; an eFFS signature has {:.2}, {:.2} and {:.2} times RSA's bytes for 384, 1024 and 3072 bits",
            if alike {
                "all sizes are"
            } else {
                "not all sizes are"
            },
            ratios[0],
            ratios[1],
            ratios[2]
        ),
    );
    (tables, finding)
}

/// Sizes for which something holds, and all for which it could.
fn holding(sizes: &[usize], holds: impl Fn(usize) -> bool) -> (bool, String) {
    let failing: Vec<_> = sizes.iter().filter(|bits| !holds(**bits)).collect();
    let named: Vec<_> = failing.iter().map(|bits| bits.to_string()).collect();
    match failing.is_empty() {
        true => (true, "for all moduli".into()),
        false => (false, format!("not for {} bits", named.join(", "))),
    }
}

fn times(measured: &Measured) -> Vec<Finding> {
    let us = |side, name, bits| measured.us(&row(side, name, bits));
    let sign = |name, bits| us(Side::Signer, name, bits);
    let verify = |name, bits| us(Side::Verifier, name, bits);
    let others = [RSA, DSA, FFS];
    let least = |bits| {
        others
            .iter()
            .map(|name| sign(name, bits))
            .fold(f64::MAX, f64::min)
    };
    let gains = ALL_SIZES.map(|bits| format!("{:.1}", least(bits) / sign(EFFS, bits)));
    let (fastest, for_which) = holding(&ALL_SIZES, |bits| sign(EFFS, bits) < least(bits));
    let library = [2048, 3072].map(|bits| sign(LIBRARY, bits) / sign(EFFS, bits));
    let fastest = Finding::new(
        "eFFS signs fastest of all, by a large margin",
        fastest,
        format!(
            "{for_which}; the next takes {} times (paper: 1.7, 1.8, 2.0, 2.0); AWS-LC's RSA {:.0} and {:.0} (2048, 3072)",
            gains.join(", "),
            library[0],
            library[1]
        ),
    );
    let (efficient, for_which) = holding(&ALL_SIZES, |bits| {
        sign(DSA, bits) < sign(RSA, bits) && verify(RSA, bits) < verify(DSA, bits)
    });
    let pairs = Finding::new(
        "DSA signs more efficiently than RSA, and RSA verifies more efficiently than DSA",
        efficient,
        format!(
            "{for_which}; RSA's signing takes {:.1} times DSA's for 512 bits and {:.1} times for 1024 (paper: 2.3, 4.9)",
            sign(RSA, 512) / sign(DSA, 512),
            sign(RSA, 1024) / sign(DSA, 1024)
        ),
    );
    let (inefficient, for_which) = holding(&ALL_SIZES, |bits| {
        sign(FFS, bits) > sign(DSA, bits) && verify(FFS, bits) > verify(RSA, bits)
    });
    let both = Finding::new(
        "FFS is inefficient in both: it signs slower than DSA and verifies slower than RSA",
        inefficient,
        format!(
            "{for_which}; with 512 bits {:.2} times DSA's signing and {:.1} times RSA's verification (paper: 2.4, 34)",
            sign(FFS, 512) / sign(DSA, 512),
            verify(FFS, 512) / verify(RSA, 512)
        ),
    );
    vec![fastest, as_fast(&verify), pairs, both]
}

/// What is slower by no more than this part ties.
const TIE: f64 = 0.25;

/// "As efficient as": times RSA's time as in the paper's own table, where that is from 2.0 to 1.0, or a tie with that.
fn as_fast(verify: &impl Fn(&'static str, usize) -> f64) -> Finding {
    let ratio = |bits| verify(EFFS, bits) / verify(RSA, bits);
    let ms = |name| quoted::scheme(name).map_or([f64::NAN; 4], |scheme| scheme.ms[1]);
    let (rsa, effs) = (ms(RSA), ms(EFFS));
    let papers = |bits: usize| {
        let place = SIZES.iter().position(|size| *size == bits);
        place.map_or(1.0, |place| effs[place] / rsa[place])
    };
    let (holds, for_which) = holding(&ALL_SIZES, |bits| ratio(bits) <= papers(bits) * (1.0 + TIE));
    let [ours, theirs] = [&ratio as &dyn Fn(usize) -> f64, &papers]
        .map(|of| ALL_SIZES.map(|bits| format!("{:.2}", of(bits))));
    Finding::new(
        "eFFS verifies as fast as RSA",
        holds,
        format!(
            "{for_which}: {} times RSA's time (paper: {})",
            ours.join(", "),
            theirs[..SIZES.len()].join(", ")
        ),
    )
}
