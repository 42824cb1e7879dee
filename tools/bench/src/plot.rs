//! Line plots as SVG: panels beside each other over the same places on the x axis, y logarithmic, one
//! legend for all.

use crate::options::Options;
use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::fs;
use std::io;

const PANEL: (u32, u32) = (440, 380);
const HEAD: u32 = 44;
const FOOT: u32 = 34;
const LEGEND: u32 = 240;
const LEGEND_LINE: i32 = 22;
const MARGIN: i32 = 16;
const LABELS: u32 = 62;

/// Okabe and Ito's colours, which people of all kinds of sight can tell apart.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
    RGBColor(130, 130, 130),
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<io::Error>>;

/// A picture.
pub struct Plot {
    pub title: String,
    /// What stands below the panels.
    pub note: String,
    pub x: String,
    pub y: String,
    /// The labels of the places on the x axis.
    pub places: Vec<String>,
    pub panels: Vec<Panel>,
}

/// A part of it.
pub struct Panel {
    pub title: String,
    pub lines: Vec<Line>,
}

/// A line: a value at some of the places.
#[derive(Clone)]
pub struct Line {
    /// As the legend has it; lines of one name look alike in all panels.
    pub name: String,
    /// Which of the colours.
    pub colour: usize,
    pub look: Look,
    pub points: Vec<(usize, f64)>,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Look {
    Solid,
    Dashed,
    /// Rings that no line connects: somebody else's figures.
    Rings,
}

impl Plot {
    /// Writes the picture into the folder of `--svg`, if there is one.
    pub fn save(&self, options: &Options, name: &str) -> io::Result<()> {
        let Some(folder) = &options.svg else {
            return Ok(());
        };
        fs::create_dir_all(folder)?;
        let mut svg = String::new();
        let width = PANEL.0 * self.panels.len() as u32 + LEGEND;
        let size = (width, HEAD + PANEL.1 + FOOT);
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        let drawn = self.draw(&area);
        drop(area);
        drawn.map_err(io::Error::other)?;
        let file = folder.join(name).with_extension("svg");
        fs::write(&file, svg)?;
        eprintln!("{} is written", file.display());
        Ok(())
    }

    fn draw(&self, area: &Area<'_>) -> Drawn {
        area.fill(&WHITE)?;
        let (head, below) = area.split_vertically(HEAD);
        let (body, foot) = below.split_vertically(PANEL.1);
        let (panels, legend) = body.split_horizontally(PANEL.0 * self.panels.len() as u32);
        text(&head, &self.title, (MARGIN, 12), 19, HPos::Left)?;
        text(&foot, &self.note, (MARGIN, 8), 12, HPos::Left)?;
        let areas = panels.split_evenly((1, self.panels.len()));
        let range = self.range();
        for (panel, area) in self.panels.iter().zip(areas) {
            self.panel(&area, panel, range)?;
        }
        self.legend(&legend)?;
        area.present()
    }

    /// The least and the most, rounded to whole powers of ten.
    fn range(&self) -> (f64, f64) {
        let lines = self.panels.iter().flat_map(|panel| &panel.lines);
        let values = lines.flat_map(|line| line.points.iter().map(|(_, y)| *y));
        let (low, high) = values.fold((f64::MAX, 0.0), |(low, high): (f64, f64), y| {
            (low.min(y), high.max(y))
        });
        let decade = |y: f64, round: fn(f64) -> f64| 10f64.powf(round(y.log10()));
        // A little lower, so that the lowest label is not lost by rounding.
        (decade(low, f64::floor) * 0.999, decade(high, f64::ceil))
    }

    fn panel(&self, area: &Area<'_>, panel: &Panel, (low, high): (f64, f64)) -> Drawn {
        let last = self.places.len() as f64 - 1.0;
        let mut chart = ChartBuilder::on(area)
            .margin(MARGIN)
            .margin_top(MARGIN as u32 + 18)
            .x_label_area_size(42)
            .y_label_area_size(LABELS)
            .build_cartesian_2d(-0.25..last + 0.25, (low..high).log_scale())?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .disable_x_axis()
            .y_desc(&self.y)
            .y_label_formatter(&short)
            .light_line_style(RGBColor(240, 240, 240))
            .bold_line_style(RGBColor(215, 215, 215))
            .draw()?;
        let (left, top) = area.get_base_pixel();
        let at = |x: f64, y: f64| {
            let (x, y) = chart.backend_coord(&(x, y));
            (x - left, y - top)
        };
        let middle = at(last / 2.0, high);
        text(
            area,
            &panel.title,
            (middle.0, middle.1 - 22),
            15,
            HPos::Center,
        )?;
        for (place, label) in self.places.iter().enumerate() {
            let (x, y) = at(place as f64, low);
            area.draw(&PathElement::new([(x, y), (x, y + 5)], BLACK))?;
            text(area, label, (x, y + 8), 13, HPos::Center)?;
        }
        text(
            area,
            &self.x,
            (middle.0, at(0.0, low).1 + 27),
            13,
            HPos::Center,
        )?;
        for line in &panel.lines {
            let points = line.points.iter().map(|(x, y)| at(*x as f64, *y));
            draw_line(area, line, &points.collect::<Vec<_>>())?;
        }
        Ok(())
    }

    /// Each name once.
    fn legend(&self, area: &Area<'_>) -> Drawn {
        let mut seen: Vec<&Line> = Vec::new();
        for line in self.panels.iter().flat_map(|panel| &panel.lines) {
            if seen.iter().all(|other| other.name != line.name) {
                seen.push(line);
            }
        }
        for (line, row) in seen.into_iter().zip(0..) {
            let y = MARGIN + 26 + row * LEGEND_LINE;
            draw_line(area, line, &[(4, y), (40, y)])?;
            text(area, &line.name, (54, y - 7), 13, HPos::Left)?;
        }
        Ok(())
    }
}

fn draw_line(area: &Area<'_>, line: &Line, points: &[(i32, i32)]) -> Drawn {
    let colour = COLOURS[line.colour % COLOURS.len()];
    match line.look {
        Look::Solid => area.draw(&PathElement::new(points.to_vec(), colour.stroke_width(2)))?,
        Look::Dashed => {
            let dashes =
                DashedPathElement::new(points.iter().copied(), 6, 4, colour.stroke_width(2));
            area.draw(&dashes)?;
        }
        Look::Rings => {}
    }
    for point in points {
        match line.look {
            // Rings in one place are within each other.
            Look::Rings => {
                let radius = 3 + 2 * (line.colour % 3) as i32;
                area.draw(&Circle::new(*point, radius, colour.stroke_width(2)))?;
            }
            _ => area.draw(&Circle::new(*point, 3, colour.filled()))?,
        }
    }
    Ok(())
}

fn text(area: &Area<'_>, words: &str, at: (i32, i32), size: i32, side: HPos) -> Drawn {
    let style = ("sans-serif", size).into_text_style(area);
    area.draw_text(words, &style.pos(Pos::new(side, VPos::Top)), at)
}

/// A number without zeros behind its point.
fn short(number: &f64) -> String {
    let decimals = (-number.log10().floor()).max(0.0) as usize;
    format!("{number:.decimals$}")
}
