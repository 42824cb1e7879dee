//! Packets per second, signed and verified, by block, hash function, digests and length of packets.

use super::running::{Shape, warm};
use super::{TOGETHER, block, leaves, means, payloads, signer, verifier};
use crate::groups::rng;
use crate::measure::{Case, Figures, Measured};
use crate::options::Options;
use crate::plot::{Line, Look, Panel, Plot};
use crate::report;
use clew_flow::{BlockSigner as _, Chaining};
use clew_record::table::Table;
use clew_tree::{DigestSize, Suite};
use std::hint::black_box;
use std::io;
use std::time::Instant;

const BLOCKS: [u16; 6] = [1, 4, 16, 64, 256, 1024];
const SUITES: [Suite; 2] = [Suite::Blake3, Suite::Sha256];
const DIGESTS: [DigestSize; 3] = [DigestSize::D16, DigestSize::D24, DigestSize::D32];
const BYTES: [usize; 4] = [64, 256, 1024, 1472];

/// A packet for itself, and so many of them in a sample.
const SINGLY: usize = 16;

/// A row of a table.
#[derive(Clone, Copy)]
struct Rate {
    suite: Suite,
    digest: DigestSize,
    block: u16,
    bytes: usize,
}

fn all() -> impl Iterator<Item = Rate> {
    let of_bytes = |bytes| SUITES.into_iter().map(move |suite| (bytes, suite));
    let of_suite = |(bytes, suite)| DIGESTS.into_iter().map(move |d| (bytes, suite, d));
    let of_digest = |(bytes, suite, digest)| {
        BLOCKS.into_iter().map(move |block| Rate {
            suite,
            digest,
            block,
            bytes,
        })
    };
    let suites = BYTES.into_iter().flat_map(of_bytes);
    suites.flat_map(of_suite).flat_map(of_digest)
}

/// Runs the program.
pub fn run(options: &Options) -> io::Result<()> {
    let mut cases = Vec::new();
    for bytes in BYTES {
        cases.extend(singly(bytes));
        cases.extend(SUITES.map(|suite| hashing(suite, bytes)));
    }
    for rate in all() {
        let (sign, verify) = (rate.row("sign"), rate.row("verify"));
        cases.push(
            rate.shape()
                .signing(sign)
                .against(single("sign", rate.bytes)),
        );
        let verifying = rate.shape().verifying(verify);
        cases.push(verifying.against(single("verify", rate.bytes)));
    }
    let (mut record, measured) = report::measure(options, &[], cases)?;
    record.notes.push(means());
    record.notes.push(format!(
        "One core, packets in order, signature in all of them; {TOGETHER} are received together. kpps: thousand packets a second; \
         x Ed25519: times as fast as a signature for each packet; x hash: times as long as hashing the packets alone."
    ));
    record.tables = BYTES.map(|bytes| table(bytes, &measured)).into();
    plot(&measured).save(options, "flow-rates")?;
    record.print(options.json)
}

impl Rate {
    fn shape(self) -> Shape {
        let chaining = Chaining {
            suite: self.suite,
            digest: self.digest,
            most: self.block,
            ..Chaining::default()
        };
        Shape {
            chaining,
            bytes: self.bytes,
        }
    }

    fn name(self) -> String {
        let (suite, digest) = (suite_name(self.suite), self.digest.bytes());
        format!("{suite}-d{digest}-m{}-{}", self.block, self.bytes)
    }

    fn row(self, side: &str) -> String {
        format!("{}-{side}", self.name())
    }
}

fn suite_name(suite: Suite) -> &'static str {
    match suite {
        Suite::Blake3 => "blake3",
        Suite::Sha256 => "sha256",
    }
}

fn single(side: &str, bytes: usize) -> String {
    format!("ed25519-{bytes}-{side}")
}

/// What there was before: a signature for each packet.
pub fn singly(bytes: usize) -> [Case<'static>; 2] {
    let packets = payloads(SINGLY, bytes);
    let mut signer = signer();
    let mut sign = move |packet: &[u8]| {
        let mut signature = Vec::new();
        let signed = signer.sign(packet, &mut rng(5), &mut signature);
        assert_eq!(signed, Ok(()));
        signature
    };
    let signed: Vec<_> = packets.iter().map(|p| (p.clone(), sign(p))).collect();
    let verifier = verifier();
    let verify = move || {
        let holds =
            |(packet, signature): &(Vec<u8>, Vec<u8>)| verifier.verify(packet, signature).is_some();
        assert!(signed.iter().all(holds), "every signature is good");
    };
    let sign_all = move || packets.iter().for_each(|p| drop(black_box(sign(p))));
    [
        case(
            single("sign", bytes),
            "a signature for the packet",
            SINGLY,
            sign_all,
        ),
        case(
            single("verify", bytes),
            "the packet's own signature",
            SINGLY,
            verify,
        ),
    ]
}

fn hash_row(suite: Suite, bytes: usize) -> String {
    format!("{}-{bytes}-hash", suite_name(suite))
}

/// What is left without trees and signatures.
fn hashing(suite: Suite, bytes: usize) -> Case<'static> {
    let (block, packets) = (block(suite, 2, TOGETHER as u16), payloads(TOGETHER, bytes));
    let work = move || drop(black_box(leaves(&block, &packets)));
    case(hash_row(suite, bytes), "the packet's leaf", TOGETHER, work)
}

fn case(
    name: String,
    about: &'static str,
    packets: usize,
    mut work: impl FnMut() + 'static,
) -> Case<'static> {
    warm(name, about, packets, move || {
        let start = Instant::now();
        work();
        start
    })
}

/// A row for each hash function, length of digests and block.
fn table(bytes: usize, measured: &Measured) -> Table {
    let ns = |row: &str| measured.us(row) * 1000.0;
    let [sign, verify] = ["sign", "verify"].map(|side| ns(&single(side, bytes)));
    let title = format!(
        "Packets of {bytes} bytes, nanoseconds for one; Ed25519 for each: signing {sign:.0}, verifying {verify:.0}"
    );
    let columns = ["hash", "D", "m", "trailer"].map(String::from).into_iter();
    let side = |name: &str| {
        ["ns", "p10", "p90", "kpps", "x Ed25519", "x hash"].map(|what| format!("{name} {what}"))
    };
    let columns = columns.chain(side("sign")).chain(side("verify"));
    let mut table = Table::new(bytes.to_string(), title, columns);
    for rate in all().filter(|rate| rate.bytes == bytes) {
        let hash = ns(&hash_row(rate.suite, bytes));
        let mut row = vec![
            rate.digest.bytes().to_string(),
            rate.block.to_string(),
            format!("{:.0}", rate.shape().added()),
        ];
        for (side, singly) in [("sign", sign), ("verify", verify)] {
            let figures = measured.get(&rate.row(side));
            row.extend(figures.into_iter().flat_map(|f| cells(f, singly, hash)));
        }
        table.row(suite_name(rate.suite), row);
    }
    table
}

/// Rates by block size: each length of packets, and what there was before.
fn plot(measured: &Measured) -> Plot {
    let rate = |row: &str| measured.get(row).map(|figures| 1e3 / figures.median);
    let panel = |(side, title): (&str, &str)| {
        let of = |suite, bytes| {
            let rates = all().filter(move |r| (r.suite, r.bytes) == (suite, bytes));
            let rates = rates.filter(|r| r.digest == DigestSize::D16);
            let points = (0..).zip(rates.filter_map(|r| rate(&r.row(side))));
            points.collect()
        };
        let mut lines = Vec::new();
        for (suite, look) in SUITES.into_iter().zip([Look::Solid, Look::Dashed]) {
            lines.extend(BYTES.into_iter().zip(0..).map(|(bytes, colour)| Line {
                name: format!("{}, {bytes} bytes", suite_name(suite)),
                colour,
                look,
                points: of(suite, bytes),
            }));
        }
        let singly = rate(&single(side, 1024));
        lines.push(Line {
            name: "Ed25519 for each, 1024 bytes".into(),
            colour: 6,
            look: Look::Dashed,
            points: (0..BLOCKS.len())
                .filter_map(|at| Some((at, singly?)))
                .collect(),
        });
        let title = title.into();
        Panel { title, lines }
    };
    Plot {
        title: "Flow signatures: packets a second on one core".into(),
        note: format!(
            "Digests of 16 bytes, one Ed25519 signature for a block, in all packets. {}.",
            means()
        ),
        x: "packets of a block".into(),
        y: "thousand packets a second".into(),
        places: BLOCKS.map(|block| block.to_string()).into(),
        panels: [("sign", "signing"), ("verify", "verifying, in order")]
            .map(panel)
            .into(),
    }
}

/// One side of a row.
fn cells(figures: &Figures, singly: f64, hash: f64) -> [String; 6] {
    let [ns, p10, p90] = [figures.median, figures.p10, figures.p90].map(|us| us * 1000.0);
    let whole = |figure: f64| format!("{figure:.0}");
    [
        whole(ns),
        whole(p10),
        whole(p90),
        whole(1e6 / ns),
        format!("{:.1}", singly / ns),
        format!("{:.1}", ns / hash),
    ]
}
