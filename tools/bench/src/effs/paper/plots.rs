//! Figures 7 to 10 as pictures: a panel for each scheme.

use super::flows::{DRAWN, Rates};
use crate::flow::paper::chaining::{SHAPES, Side, shape_name};
use crate::flow::paper::flows::SIZES;
use crate::flow::paper::quoted::BYTES;
use crate::measure::Measured;
use crate::options::Options;
use crate::plot::{Line, Look, Panel, Plot};
use std::io;

/// Writes them into the folder of `--svg`.
pub fn save(measured: &Measured, options: &Options) -> io::Result<()> {
    for (side, numbers) in [(Side::Signer, ["7", "9"]), (Side::Verifier, ["8", "10"])] {
        let rates = Rates { measured, side };
        for (number, lines) in numbers.into_iter().zip([by_shape, by_length]) {
            let title = format!("Flows at a {} (Wong and Lam, figure {number})", side.name());
            let panel = |name: &str| Panel {
                title: name.to_owned(),
                lines: lines(&rates, name),
            };
            Plot {
                title,
                note: "Moduli of 512 bits, MD5, the paper's procedures on this machine. Rings: Pentium II of 300 MHz, \
                       as far as the paper's text tells."
                    .into(),
                x: "packets of a block".into(),
                y: "packets a second".into(),
                places: SIZES.map(|block| block.to_string()).into(),
                panels: DRAWN.map(panel).into(),
            }
            .save(options, &format!("effs-paper-{number}"))?;
        }
    }
    Ok(())
}

fn by_shape(rates: &Rates<'_>, name: &str) -> Vec<Line> {
    let ours = (0..).zip(SHAPES).map(|(colour, degree)| {
        let rate = |block| Some(rates.kpps(name, degree, BYTES[1], block) * 1e3);
        line(shape_name(degree), colour, Look::Solid, rate)
    });
    let paper = line("paper: deg 2".into(), 1, Look::Rings, |block| {
        rates.paper(name, 1, block)
    });
    ours.chain([paper]).collect()
}

fn by_length(rates: &Rates<'_>, name: &str) -> Vec<Line> {
    let lengths = || BYTES.into_iter().enumerate();
    let ours = lengths().map(|(place, bytes)| {
        let rate = |block| Some(rates.kpps(name, 2, bytes, block) * 1e3);
        line(format!("{bytes} bytes"), place, Look::Solid, rate)
    });
    let paper = lengths().map(|(place, bytes)| {
        let rate = |block| rates.paper(name, place, block);
        line(format!("paper: {bytes} bytes"), place, Look::Rings, rate)
    });
    ours.chain(paper)
        .filter(|line| !line.points.is_empty())
        .collect()
}

fn line(name: String, colour: usize, look: Look, rate: impl Fn(u16) -> Option<f64>) -> Line {
    let points = SIZES.into_iter().enumerate();
    Line {
        name,
        colour,
        look,
        points: points
            .filter_map(|(at, block)| Some((at, rate(block)?)))
            .collect(),
    }
}
