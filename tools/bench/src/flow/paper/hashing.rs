//! Figure 3: hashing by the length of what is hashed.

use super::quoted::md5_ms;
use super::textbook::md5;
use super::{Finding, Measured, Table, at, quote};
use crate::flow::{TOGETHER, payloads};
use crate::measure::Case;
use clew_simd::hash::{self, Input};

const BYTES: [usize; 8] = [64, 128, 256, 512, 1024, 2048, 4096, 8192];

/// Above this length the paper calls the time linear.
const LINEAR_FROM: usize = 1024;

/// A line may miss the points by this part.
const STRAIGHT: f64 = 0.05;

const WAYS: [&str; 4] = ["md5", "sha256", "blake3", "blake3-64"];

pub fn row(way: &str, bytes: usize) -> String {
    format!("hash-{way}-{bytes}")
}

pub fn cases() -> Vec<Case<'static>> {
    let of = |bytes| WAYS.into_iter().map(move |way| case(way, bytes));
    BYTES.into_iter().flat_map(of).collect()
}

fn case(way: &'static str, bytes: usize) -> Case<'static> {
    let count = if way == "blake3-64" { TOGETHER } else { 1 };
    let packets = payloads(count, bytes);
    let mut digests = vec![[0; 32]; count];
    let hash = move || {
        let inputs = packets.iter().map(|packet| Input {
            body: packet,
            ..Input::default()
        });
        let inputs: Vec<_> = inputs.collect();
        match way {
            "md5" => digests[0][..16].copy_from_slice(&md5(&packets[0])),
            "sha256" => hash::sha256(&inputs, &mut digests),
            _ => hash::blake3_keyed(&[5; 32], &inputs, &mut digests),
        }
        digests[0]
    };
    Case::new(row(way, bytes), "a message", hash).each_of(count)
}

pub fn tables(tables: &mut Vec<Table>, measured: &Measured) -> Vec<Finding> {
    let title = "Figure 3: hashing one message in microseconds, and 64 together; the paper's follow from its rates of 1.1";
    let columns = [
        "bytes",
        "paper md5",
        "md5",
        "sha256",
        "blake3",
        "blake3, 64",
    ];
    let mut table = Table::new("figure-3", title, columns);
    for bytes in BYTES {
        let paper = quote(md5_ms(bytes).map(|ms| ms * 1e3), 0);
        let cells = WAYS.map(|way| {
            let decimals = if way == "blake3-64" { 3 } else { 2 };
            format!("{:.decimals$}", measured.us(&row(way, bytes)))
        });
        table.row(bytes.to_string(), [paper].into_iter().chain(cells));
    }
    tables.push(table);
    let miss = |way| off_line(BYTES.map(|bytes| (bytes as f64, measured.us(&row(way, bytes)))));
    let misses = WAYS.map(miss);
    let because = WAYS.iter().zip(misses);
    let because: Vec<_> = because
        .map(|(way, miss)| format!("{way} {:.1} %", miss * 100.0))
        .collect();
    let finding = Finding::new(
        "MD5's time is a linear function of the length from 1024 bytes on",
        misses[0] <= STRAIGHT,
        format!(
            "the line through the ends misses the points between by at most {}",
            because.join(", ")
        ),
    );
    at("figure 3", [finding])
}

/// How far the straight line from the first to the last point is off those between, from
/// [`LINEAR_FROM`] on.
fn off_line(points: [(f64, f64); 8]) -> f64 {
    let points = points.iter().filter(|(x, _)| *x >= LINEAR_FROM as f64);
    let points: Vec<_> = points.collect();
    let ((x0, y0), (x1, y1)) = (points[0], points[points.len() - 1]);
    let line = |x: f64| y0 + (x - x0) / (x1 - x0) * (y1 - y0);
    let misses = points.iter().map(|(x, y)| (line(*x) / y - 1.0).abs());
    misses.fold(0.0, f64::max)
}
