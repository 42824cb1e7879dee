//! The tables as pictures.

use super::Fixture;
use super::design::quoted;
use super::flows::{BLOCKS, COMPUTED, MEASURED, kpps};
use super::others::ED25519;
use crate::measure::Measured;
use crate::options::Options;
use crate::plot::{Line, Look, Panel, Plot};
use std::io;

const SIDES: [(&str, &str); 2] = [("sign", "signing"), ("verify", "verifying")];
const SIZES: [usize; 2] = [2048, 3072];

/// Writes them into the folder of `--svg`.
pub fn save(fixture: &Fixture, measured: &Measured, options: &Options) -> io::Result<()> {
    Plot {
        title: "Signatures of a block's message, by modulus".into(),
        note: "One core, 148 bytes. Level lines: schemes without a modulus. Rings: the design's prototype on a Zen 5 machine."
            .into(),
        x: "bits of the modulus".into(),
        y: "microseconds".into(),
        places: SIZES.map(|bits| bits.to_string()).into(),
        panels: SIDES.map(|side| schemes(fixture, measured, side)).into(),
    }
    .save(options, "effs-signatures")?;
    Plot {
        title: "Flows: packets a second on one core".into(),
        note: "Packets of 1024 bytes, BLAKE3, digests of 16 bytes, the signature in every packet. Dashed: computed.".into(),
        x: "packets of a block".into(),
        y: "thousand packets a second".into(),
        places: BLOCKS.map(|block| block.to_string()).into(),
        panels: SIDES.map(|side| rates(measured, side)).into(),
    }
    .save(options, "effs-rates")
}

fn schemes(fixture: &Fixture, measured: &Measured, (side, title): (&str, &str)) -> Panel {
    let us = |slug: &str| Some(measured.us(&format!("{slug}-{side}")));
    let design = |slug: &str| match side {
        "sign" => quoted(slug).sign,
        _ => quoted(slug).verify,
    };
    let mut lines = Vec::new();
    let mut line = |name: &str, colour, look, at: &dyn Fn(usize) -> Option<f64>| {
        let points = SIZES.into_iter().enumerate();
        let points = points.filter_map(|(place, bits)| Some((place, at(bits)?)));
        let points: Vec<_> = points.filter(|(_, us)| us.is_finite()).collect();
        let name = name.into();
        if !points.is_empty() {
            lines.push(Line {
                name,
                colour,
                look,
                points,
            });
        }
    };
    let effs = |bits| format!("effs-{bits}-128x1");
    line("eFFS (128,1)", 0, Look::Solid, &|bits| us(&effs(bits)));
    let portable = |bits| format!("{}-portable", effs(bits));
    if fixture.engine(&portable(2048)).is_some() {
        line("eFFS (128,1), portable", 4, Look::Solid, &|bits| {
            us(&portable(bits))
        });
    }
    line("RSA", 1, Look::Solid, &|bits| us(&format!("rsa-{bits}")));
    line("RSA e=3", 5, Look::Solid, &|bits| {
        us(&format!("rsa-{bits}-e3"))
    });
    for (slug, name, colour) in [
        (ED25519, "Ed25519, AWS-LC", 2),
        ("p256", "ECDSA P-256", 3),
        ("bls", "BLS12-381 min-sig", 6),
        ("xr", "group signature XR", 7),
    ] {
        line(name, colour, Look::Dashed, &|_| us(slug));
    }
    line("design: eFFS (128,1)", 0, Look::Rings, &|bits| {
        design(&effs(bits))
    });
    line("design: RSA", 1, Look::Rings, &|bits| {
        design(&format!("rsa-{bits}"))
    });
    Panel {
        title: title.into(),
        lines,
    }
}

fn rates(measured: &Measured, (side, title): (&str, &str)) -> Panel {
    let line = |(colour, ((slug, name), look)): (usize, ((&str, &str), Look))| {
        let rate = |block| kpps(measured, slug, block, side);
        let points = BLOCKS.into_iter().enumerate();
        Line {
            name: name.into(),
            colour,
            look,
            points: points.map(|(place, block)| (place, rate(block))).collect(),
        }
    };
    let of = |look| move |scheme| (scheme, look);
    let measured_ones = MEASURED.into_iter().map(of(Look::Solid));
    let all = measured_ones.chain(COMPUTED.into_iter().map(of(Look::Dashed)));
    Panel {
        title: title.into(),
        lines: all.enumerate().map(line).collect(),
    }
}
