//! The evaluation of Wong and Lam's sections 3 and 4 again: tables 2 to 9, and figures 7 to 10 with the signature schemes
//! that the paper has there, each number of theirs beside ours.
//!
//! As the paper's schemes all used CryptoLib, ours all use one library's numbers: RSA, DSA, FFS and eFFS are textbook
//! implementations on the Montgomery products of AWS-LC and its powers in variable time. The library's own RSA, in constant
//! time, is one more row: it signs with vector instructions for some sizes, which no other scheme here can use. Its DSA makes no
//! parameters of 384 bits, so all sizes have a textbook's. Rabin and ElGamal are quoted only.

mod flows;
mod keys;
mod levels;
mod plots;
mod quoted;
mod schemes;
mod speedups;
mod table;
pub mod work;

use crate::measure::{Figures, Measured};
use crate::options::Options;
use crate::report;
use keys::Keys;
use std::io;

/// Runs the program.
pub fn run(options: &Options) -> io::Result<()> {
    let keys = Keys::new();
    let mut cases = speedups::cases(&keys);
    cases.extend(levels::cases(&keys));
    cases.extend(schemes::cases(&keys));
    cases.extend(flows::cases(&keys));
    let (mut record, measured) = report::measure(options, &[], cases)?;
    plots::save(&measured, options)?;
    record.notes = vec![
        "Paper: C. K. Wong and S. S. Lam, Digital Signatures for Flows and Multicasts, 1999, sections 3 and 4: Pentium II of 300 MHz, \
         CryptoLib, MD5."
            .into(),
        "Here: textbook schemes on the numbers of AWS-LC, MD5, above 1024 bits SHA-256; RSA and FFS have the same moduli, e = 3. \
         \"RSA of AWS-LC\" is the library's own, blinded and checked."
            .into(),
        format!("Medians; {}.", spread(&measured)),
    ];
    let tables = &mut record.tables;
    let mut findings = speedups::tables(tables, &measured, &keys);
    findings.append(&mut levels::tables(tables, &measured));
    findings.append(&mut schemes::tables(tables, &measured, &keys));
    findings.append(&mut flows::tables(tables, &measured));
    report::conclude(&mut record, &findings);
    record.print(options.json)
}

/// How far the rows' samples lie apart.
fn spread(measured: &Measured) -> String {
    let of = |figures: &Figures| (figures.p90 - figures.p10) / figures.median * 100.0;
    let mut all: Vec<f64> = measured.0.values().map(of).collect();
    all.sort_by(f64::total_cmp);
    let at = |part: usize| all.get(all.len() * part / 10).copied().unwrap_or(f64::NAN);
    format!(
        "from the tenth to the ninetieth percentile half of the {} rows spread by less than {:.0} % of them, nine tenths by less than {:.0} %",
        all.len(),
        at(5),
        at(9)
    )
}
