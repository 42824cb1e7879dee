//! Keys, schemes and levels.

use super::Fixture;
use super::design::{Quoted, RATIOS};
use super::others::ED25519;
use crate::findings::Measured;
use crate::measure::Figures;
use crate::report::number;
use std::io::{self, Write};

/// eFFS as it is judged.
pub const JUDGED: &str = "effs-2048-128x1";

/// What drawing keys took, and loading them.
pub fn keys(out: &mut dyn Write, fixture: &Fixture) -> io::Result<()> {
    writeln!(
        out,
        "\nkeys, once each: drawing one; making its signer and its verifier\n{:<34}{:>10}{:>12}{:>12}",
        "", "key ms", "signer ms", "verifier ms"
    )?;
    for engine in &fixture.engines {
        let same = |key: &&super::Key| key.parameters == engine.parameters;
        let drawn = fixture.keys.iter().find(same).map(|key| key.drawn);
        let drawn = drawn.filter(|_| engine.is_best());
        let ms = |time: std::time::Duration| number(time.as_secs_f64() * 1e3);
        let [signer, verifier] = engine.loaded.map(ms);
        writeln!(
            out,
            "{:<34}{:>10}{signer:>12}{verifier:>12}",
            engine.title(),
            drawn.map_or("-".into(), ms)
        )?;
    }
    Ok(())
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

/// Signing and verifying by all schemes.
pub fn schemes(out: &mut dyn Write, fixture: &Fixture, measured: &Measured) -> io::Result<()> {
    for side in ["sign", "verify"] {
        head(out, side)?;
        for (title, slug, bits, bytes, quoted) in rows(fixture) {
            let Some(figures) = measured.0.get(&format!("{slug}-{side}")) else {
                continue;
            };
            let ratio = |other: &str| figures.median / measured.us(&format!("{other}-{side}"));
            let rsa = bits.map(|bits| ratio(&format!("rsa-{bits}")));
            let (design, more) = match side {
                "sign" => (quoted.sign, online(measured, &slug, quoted)),
                _ => (quoted.verify, format!("{:>7}{:>7}", bytes[0], bytes[1])),
            };
            let cells = spread(figures);
            writeln!(
                out,
                "{title:<34}{cells}{:>10}{:>10}{:>9}  {more}",
                format!("{:.3}", ratio(ED25519)),
                rsa.map_or("-".into(), |ratio| format!("{ratio:.4}")),
                design.map_or("-".into(), number),
            )?;
        }
    }
    Ok(())
}

fn head(out: &mut dyn Write, side: &str) -> io::Result<()> {
    let more = match side {
        "sign" => format!("{:>9}{:>9}{:>9}", "online", "design", "prepare"),
        _ => format!("{:>7}{:>7}", "sig B", "key B"),
    };
    writeln!(
        out,
        "\n{:<34}{:>9}{:>9}{:>9}{:>10}{:>10}{:>9}  {more}",
        format!("{side}, us"),
        "median",
        "p10",
        "p90",
        "/ Ed25519",
        "/ RSA",
        "design"
    )
}

fn spread(figures: &Figures) -> String {
    let cells = [figures.median, figures.p10, figures.p90];
    cells.map(|us| format!("{:>9}", number(us))).concat()
}

/// Only eFFS has a part that needs no message.
fn online(measured: &Measured, slug: &str, quoted: Quoted) -> String {
    let us = |what| measured.0.get(&format!("{slug}-{what}"));
    match (us("online"), us("prepare")) {
        (Some(online), Some(prepare)) => format!(
            "{:>9}{:>9}{:>9}",
            number(online.median),
            quoted.online.map_or("-".into(), number),
            number(prepare.median)
        ),
        _ => String::new(),
    }
}

/// Verification by levels.
pub fn levels(out: &mut dyn Write, fixture: &Fixture, measured: &Measured) -> io::Result<()> {
    writeln!(
        out,
        "\n{:<40}{:>9}{:>9}{:>9}{:>8}: a forgery takes 2 to so many hashes",
        "levels, us", "median", "p10", "p90", "bits"
    )?;
    for engine in &fixture.engines {
        for (level, row) in engine.levels() {
            let Some(figures) = measured.0.get(&row) else {
                continue;
            };
            let title = match level {
                1 => format!("{}: 1", engine.title()),
                _ => format!("{:>width$}: then {level}", "", width = engine.title().len()),
            };
            let bits = engine.parameters.assurance(level).bits();
            writeln!(out, "{title:<40}{}{bits:>8}", spread(figures))?;
        }
    }
    Ok(())
}

/// Whether eFFS is as fast as the design says.
pub fn judge(out: &mut dyn Write, measured: &Measured) -> io::Result<()> {
    writeln!(out)?;
    for (side, most) in ["sign", "verify"].into_iter().zip(RATIOS) {
        let us = |slug: &str| measured.us(&format!("{slug}-{side}"));
        let ratio = us(JUDGED) / us(ED25519);
        writeln!(
            out,
            "target: eFFS-2048(128,1) {side} <= {most} of Ed25519 by AWS-LC: {ratio:.3}, {}",
            met(ratio <= most)
        )?;
    }
    Ok(())
}

pub fn met(holds: bool) -> &'static str {
    if holds { "met" } else { "missed" }
}
