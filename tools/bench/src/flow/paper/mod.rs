//! The paper's section 2 again: Table 1, figures 3, 4, 5 and 7 to 10, each with what the paper found and
//! whether it holds here. Block signatures are Ed25519; the paper's RSA and DSA of 512 bits are in
//! `effs-paper`, its MD5 and its way of chaining here ([`textbook`]).

pub mod chaining;
mod delay;
pub mod flows;
mod hashing;
pub mod quoted;
pub mod textbook;

use super::means;
use super::rates::singly;
use crate::findings::{Finding, at, quote};
use crate::measure::Measured;
use crate::options::Options;
use crate::report;
use clew_record::table::Table;
use std::io;

/// A signature of a message of this length stands for that of a block.
const ROOT_MESSAGE_BYTES: usize = 64;

/// What a block's signature takes, in microseconds: signing and verifying.
fn signature_us(measured: &Measured) -> [f64; 2] {
    ["sign", "verify"].map(|side| measured.us(&format!("ed25519-{ROOT_MESSAGE_BYTES}-{side}")))
}

/// Runs the program.
pub fn run(options: &Options) -> io::Result<()> {
    let mut cases: Vec<_> = singly(ROOT_MESSAGE_BYTES).into();
    cases.extend(hashing::cases());
    cases.extend(chaining::cases());
    cases.extend(flows::cases());
    let (mut record, measured) = report::measure(options, &[], cases)?;
    chaining::plots(&measured, options)?;
    let [sign, verify] = signature_us(&measured);
    record.notes = vec![
        means(),
        "Paper: C. K. Wong and S. S. Lam, Digital Signatures for Flows and Multicasts, 1999, section 2: Pentium II of 300 MHz, \
         MD5, RSA and DSA with 512 bits. Its figures have no numbers in our copy: what stands beside them follows from the text."
            .into(),
        format!(
            "Here: Ed25519, signing {sign:.1} us, verifying {verify:.1} us; digests of 16 bytes; \"md5\" is the paper's own \
             chaining, in a way kept for this table; alone: digests and a binary tree, no signature."
        ),
    ];
    let parts = [
        delay::tables,
        hashing::tables,
        chaining::tables,
        flows::tables,
    ];
    let mut findings = Vec::new();
    for part in parts {
        findings.append(&mut part(&mut record.tables, &measured));
    }
    report::conclude(&mut record, &findings);
    record.print(options.json)
}
