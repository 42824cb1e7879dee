//! Tables 5 and 6: signatures with levels, and verifying one level after the other.

use super::keys::Keys;
use super::quoted::{MODULUS, PRODUCTS, SHAPES, TABLE_5, TABLE_6, TWO_KEYS_MS};
use super::schemes::{self, RSA};
use super::table::{Row, Table};
use super::work;
use crate::effs::ffs::{EFFS, Ffs, Shape};
use crate::effs::scheme::Hash;
use crate::findings::{Finding, at};
use crate::flow::paper::chaining::Side;
use crate::groups::rng;
use crate::measure::{Case, Measured};
use clew_record::table;
use std::cell::RefCell;
use std::rc::Rc;

/// k t of table 6.
const PRODUCT: usize = 128;

/// Steps add up if they miss the whole by no more; the paper's by 3 %.
const ADDS_UP: f64 = 0.10;

fn sign_row(product: usize, t: usize) -> String {
    format!("levels-sign-kt{product}-t{t}")
}

fn verify_row(t: usize, from: usize, to: usize) -> String {
    format!("levels-verify-t{t}-from{from}-to{to}")
}

/// The paper's steps: (from, to).
fn steps(t: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..t).flat_map(move |from| (from + 1..=t).map(move |to| (from, to)))
}

pub fn cases(keys: &Keys) -> Vec<Case<'static>> {
    let hash = Hash::of(MODULUS);
    let key = |shape| Ffs::new(&keys.material, shape, EFFS, rng(8)).with_levels();
    let mut cases = Vec::new();
    for Shape { k, t } in SHAPES {
        let key = Rc::new(RefCell::new(key(Shape { k, t })));
        cases.push(work::signing(sign_row(k * t, t), key, hash));
    }
    for (t, _) in TABLE_6 {
        let key = Rc::new(RefCell::new(key(Shape { k: PRODUCT / t, t })));
        for (from, to) in steps(t) {
            let (name, own) = (verify_row(t, from, to), Rc::clone(&key));
            let check = move |digest: &[u8], signature: &[u8]| match from {
                0 => own.borrow().verify_level(digest, signature, to),
                _ => own.borrow().raise(signature, from, to),
            };
            let about = "verifying at a level, or raising to it";
            let shared = Rc::clone(&key) as _;
            cases.push(work::checking(name, about, &shared, hash, check));
        }
    }
    cases
}

pub fn tables(tables: &mut Vec<table::Table>, measured: &Measured) -> Vec<Finding> {
    let (table, found) = signing(measured);
    tables.push(table.render());
    let mut findings = at("table 5", found);
    for ((t, paper), part) in TABLE_6.into_iter().zip(["a", "b"]) {
        let (table, found) = verifying(measured, t, paper, part);
        tables.push(table.render());
        findings.append(&mut at(&format!("table 6({part})"), [found]));
    }
    findings
}

fn signing(measured: &Measured) -> (Table, [Finding; 2]) {
    let us = |product, t| measured.us(&sign_row(product, t));
    let rows = TABLE_5.map(|(t, paper)| Row {
        name: format!("{t}-level signature"),
        paper: paper.into(),
        ours: PRODUCTS
            .iter()
            .zip(paper)
            .map(|(product, paper)| paper.map(|_| us(*product, t)))
            .collect(),
    });
    let [paper, own] = schemes::rsa(measured, Side::Signer);
    let table = Table {
        name: "table-5".into(),
        title: format!("Table 5: signing with t levels, modulus of {MODULUS} bits"),
        columns: PRODUCTS.map(|product| format!("kt={product}")).into(),
        units: ["ms", "us"],
        rows: rows.into(),
        rsa: Row {
            name: RSA.into(),
            paper: vec![Some(paper); PRODUCTS.len()],
            ours: vec![Some(own); PRODUCTS.len()],
        },
    };
    let two = us(64, 1) + us(128, 1);
    let findings = [
        Finding::new(
            "for the same kt signing takes longer with more levels",
            us(64, 1) < us(64, 2) && us(128, 1) < us(128, 2) && us(128, 2) < us(128, 4),
            format!(
                "for kt = 128 two levels take {:.2} times what one takes, four {:.2} times (paper: 1.27, 1.81)",
                us(128, 2) / us(128, 1),
                us(128, 4) / us(128, 1)
            ),
        ),
        Finding::new(
            "a signature of two levels takes less than two with two keys",
            us(128, 2) < two,
            format!(
                "{:.1} us, not {two:.1}: {:.0} % less (paper: {:.0} % less)",
                us(128, 2),
                (1.0 - us(128, 2) / two) * 100.0,
                (1.0 - TABLE_5[1].1[2].unwrap_or(f64::NAN) / TWO_KEYS_MS) * 100.0
            ),
        ),
    ];
    (table, findings)
}

fn verifying(measured: &Measured, t: usize, paper: &[&[f64]], part: &str) -> (Table, Finding) {
    let us = |from, to| measured.us(&verify_row(t, from, to));
    let rows = paper.iter().enumerate().map(|(from, row)| {
        let blanks = vec![None; from];
        let papers = row.iter().copied().map(Some);
        let ours = (from + 1..=t).map(|to| Some(us(from, to)));
        Row {
            name: format!("from level {from}"),
            paper: blanks.iter().copied().chain(papers).collect(),
            ours: blanks.iter().copied().chain(ours).collect(),
        }
    });
    let [papers, own] = schemes::rsa(measured, Side::Verifier);
    let table = Table {
        name: format!("table-6({part})"),
        title: format!(
            "Table 6({part}): verifying a {t}-level signature, kt = {PRODUCT}, modulus of {MODULUS} bits"
        ),
        columns: (1..=t).map(|to| format!("to {to}")).collect(),
        units: ["ms", "us"],
        rows: rows.collect(),
        rsa: Row {
            name: RSA.into(),
            paper: vec![Some(papers); t],
            ours: vec![Some(own); t],
        },
    };
    let miss = |to: usize| {
        let sum: f64 = (0..to).map(|from| us(from, from + 1)).sum();
        (sum / us(0, to) - 1.0).abs()
    };
    let most = (2..=t).map(miss).fold(0.0, f64::max);
    let finding = Finding::new(
        format!(
            "verification of {t} levels is incremental: what a level adds is what is left to do"
        ),
        most <= ADDS_UP,
        format!(
            "the steps miss the whole by at most {:.1} %; of {t} levels the first takes {:.0} % (paper: {:.0} %)",
            most * 100.0,
            us(0, 1) / us(0, t) * 100.0,
            paper[0][0] / paper[0][t - 1] * 100.0
        ),
    );
    (table, finding)
}
