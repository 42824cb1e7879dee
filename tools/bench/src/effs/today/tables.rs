//! Keys, schemes and levels.

use super::Fixture;
use super::design::{Quoted, RATIOS};
use super::others::ED25519;
use crate::measure::{Figures, Measured};
use clew_record::table::{BLANK, Table, fixed, number, optional};

/// eFFS as it is judged.
pub const JUDGED: &str = "effs-2048-128x1";

/// What drawing keys took, and loading them.
pub fn keys(fixture: &Fixture) -> Table {
    let columns = ["keys", "key ms", "signer ms", "verifier ms"];
    let title = "Once each: drawing a key; making its signer and its verifier";
    let mut table = Table::new("keys", title, columns);
    for engine in &fixture.engines {
        let same = |key: &&super::Key| key.parameters == engine.parameters;
        let drawn = fixture.keys.iter().find(same).map(|key| key.drawn);
        let drawn = drawn.filter(|_| engine.is_best());
        let ms = |time: std::time::Duration| number(time.as_secs_f64() * 1e3);
        let [signer, verifier] = engine.loaded.map(ms);
        let drawn = drawn.map_or(BLANK.into(), ms);
        table.row(engine.title(), [drawn, signer, verifier]);
    }
    table
}

/// A row: its title, its name, RSA's modulus, bytes, the design's.
type Row = (String, String, Option<usize>, [usize; 2], Quoted);

fn rows(fixture: &Fixture) -> Vec<Row> {
    let engines = fixture.engines.iter().map(|engine| {
        let bits = Some(engine.bits());
        (
            engine.title(),
            engine.slug(),
            bits,
            engine.bytes(),
            engine.quoted(),
        )
    });
    let others = fixture.others.iter().map(|other| {
        let (title, slug) = (other.title.to_owned(), other.slug.to_owned());
        (title, slug, other.modulus, other.bytes, other.quoted)
    });
    engines.chain(others).collect()
}

/// Signing or verifying by all schemes.
pub fn schemes(fixture: &Fixture, measured: &Measured, side: &str) -> Table {
    let more = match side {
        "sign" => ["online", "online, design", "prepare"],
        _ => ["signature bytes", "key bytes", ""],
    };
    let columns = ["scheme", "us", "p10", "p90", "/ Ed25519", "/ RSA", "design"];
    let columns = columns
        .into_iter()
        .chain(more)
        .filter(|column| !column.is_empty());
    let title = format!("{side}, microseconds, from bytes to bytes");
    let mut table = Table::new(side, title, columns);
    for (title, slug, bits, bytes, quoted) in rows(fixture) {
        let Some(figures) = measured.get(&format!("{slug}-{side}")) else {
            continue;
        };
        let ratio = |other: &str| figures.median / measured.us(&format!("{other}-{side}"));
        let rsa = bits.map(|bits| ratio(&format!("rsa-{bits}")));
        let (design, more) = match side {
            "sign" => (quoted.sign, online(measured, &slug, quoted)),
            _ => (quoted.verify, bytes.map(|bytes| bytes.to_string()).into()),
        };
        let ratios = [
            fixed(3)(ratio(ED25519)),
            optional(rsa, fixed(4)),
            optional(design, number),
        ];
        table.row(title, spread(figures).into_iter().chain(ratios).chain(more));
    }
    table
}

fn spread(figures: &Figures) -> [String; 3] {
    [figures.median, figures.p10, figures.p90].map(number)
}

/// Only eFFS has a part that needs no message.
fn online(measured: &Measured, slug: &str, quoted: Quoted) -> Vec<String> {
    let us = |what| measured.get(&format!("{slug}-{what}")).map(|f| f.median);
    let online = us("online");
    let design = online.and(quoted.online);
    [online, design, us("prepare")]
        .map(|us| optional(us, number))
        .into()
}

/// Verification by levels.
pub fn levels(fixture: &Fixture, measured: &Measured) -> Table {
    let columns = ["level", "us", "p10", "p90", "bits"];
    let title = "Verifying level by level, microseconds; bits: a forgery takes 2 to so many hashes";
    let mut table = Table::new("levels", title, columns);
    for engine in &fixture.engines {
        for (level, row) in engine.levels() {
            let Some(figures) = measured.get(&row) else {
                continue;
            };
            let then = if level == 1 {
                "1".into()
            } else {
                format!("then {level}")
            };
            let bits = engine.parameters.assurance(level).bits().to_string();
            let cells = spread(figures).into_iter().chain([bits]);
            table.row(format!("{}: {then}", engine.title()), cells);
        }
    }
    table
}

/// Whether eFFS is as fast as the design says.
pub fn judge(measured: &Measured) -> [String; 2] {
    let verdict = |(side, most): (&str, f64)| {
        let us = |slug: &str| measured.us(&format!("{slug}-{side}"));
        let ratio = us(JUDGED) / us(ED25519);
        format!(
            "target: eFFS-2048(128,1) {side} <= {most} of Ed25519 by AWS-LC: {ratio:.3}, {}",
            met(ratio <= most)
        )
    };
    [("sign", RATIOS[0]), ("verify", RATIOS[1])].map(verdict)
}

pub fn met(holds: bool) -> &'static str {
    if holds { "met" } else { "missed" }
}
