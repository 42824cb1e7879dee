//! How the picture looks.

use super::Named;
use super::timeline::{Axis, Counts, Lane, VERDICTS};
use clew_packet::Verdict;
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const WIDTH: u32 = 1000;
const MARGIN: i32 = 80;
const HEAD: u32 = 70;
const RATES: u32 = 270;
const LABELS: i32 = 60;
const LANE: u32 = 34;
const STRIP: i32 = 12;
const FOOT: u32 = 40;

const UNITS: [(&str, f64); 4] = [
    ("second", 1e9),
    ("minute", 60e9),
    ("hour", 3600e9),
    ("day", 86400e9),
];

type Strip = Cartesian2d<RangedCoordf64, RangedCoordf64>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// Okabe and Ito's colours, which people of all kinds of sight can tell apart.
const fn colour(verdict: Verdict) -> RGBColor {
    match verdict {
        Verdict::Valid => RGBColor(0, 158, 115),
        Verdict::Unsigned => RGBColor(170, 170, 170),
        Verdict::Undecided => RGBColor(230, 159, 0),
        Verdict::Invalid => RGBColor(213, 0, 0),
    }
}

/// Everything that is shown.
pub struct Picture<'a> {
    pub title: String,
    pub start: String,
    pub notes: Vec<String>,
    pub axis: Axis,
    pub all: &'a Lane,
    pub lanes: &'a [Named<'a>],
}

impl Picture<'_> {
    /// The picture as a file.
    pub fn svg(&self) -> Result<String, DrawingAreaErrorKind<std::io::Error>> {
        let mut svg = String::new();
        let size = (WIDTH, HEAD + RATES + self.lanes_height() + FOOT);
        self.draw(&SVGBackend::with_string(&mut svg, size).into_drawing_area())?;
        Ok(svg)
    }

    fn draw(&self, area: &Area<'_>) -> Drawn {
        area.fill(&WHITE)?;
        let (head, below) = area.split_vertically(HEAD);
        let (rates, below) = below.split_vertically(RATES);
        let (lanes, foot) = below.split_vertically(self.lanes_height());
        self.head(&head)?;
        self.rates(&rates)?;
        let areas = lanes.split_evenly((self.lanes.len().max(1), 1));
        for (lane, area) in self.lanes.iter().zip(areas) {
            self.lane(&area, lane)?;
        }
        self.foot(&foot)?;
        area.present()
    }

    fn lanes_height(&self) -> u32 {
        LANE * self.lanes.len() as u32
    }

    /// What this is, and what the colours mean.
    fn head(&self, area: &Area<'_>) -> Drawn {
        text(area, &self.title, (MARGIN, 14), 18, HPos::Left)?;
        let mut x = MARGIN;
        for (verdict, count) in VERDICTS.iter().zip(self.all.counts()) {
            let square = Rectangle::new([(x, 44), (x + 12, 56)], colour(*verdict).filled());
            area.draw(&square)?;
            let words = format!("{count} {verdict}");
            text(area, &words, (x + 18, 43), 14, HPos::Left)?;
            x += 50 + 8 * words.len() as i32;
        }
        Ok(())
    }

    /// All packets: how many in a second or longer unit, stacked by verdict.
    fn rates(&self, area: &Area<'_>) -> Drawn {
        let (unit, _) = self.unit();
        let rate = 1.0 / self.edge(1);
        let columns = self.all.columns(&self.axis);
        let sum = |(_, counts): &(u64, Counts)| counts.iter().sum::<u64>() as f64 * rate;
        let most = columns.iter().map(sum).fold(0.0, f64::max);
        let top = if most > 0.0 { most * 1.05 } else { 1.0 };
        let mut chart = ChartBuilder::on(area)
            .margin_left(MARGIN - LABELS)
            .margin_right(MARGIN)
            .margin_bottom(10)
            .x_label_area_size(40)
            .y_label_area_size(LABELS)
            .build_cartesian_2d(0.0..self.span(), 0.0..top)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(WHITE)
            .x_desc(format!("{unit}s since {}", self.start))
            .y_desc(format!("packets per {unit}"))
            .x_label_formatter(&short)
            .y_label_formatter(&short)
            .draw()?;
        for (column, counts) in &columns {
            let mut from = 0.0;
            for (verdict, count) in VERDICTS.iter().zip(counts).filter(|(_, count)| **count > 0) {
                let to = from + *count as f64 * rate;
                let [left, right] = self.column(*column);
                let corners = [(left, from), (right, to)];
                chart.draw_series([Rectangle::new(corners, colour(*verdict).filled())])?;
                from = to;
            }
        }
        Ok(())
    }

    /// A flow: the worst verdict of each column, so that one bad packet among thousands shows.
    fn lane(&self, area: &Area<'_>, named: &Named<'_>) -> Drawn {
        let right = WIDTH as i32 - MARGIN;
        text(area, &named.name, (MARGIN, 4), 13, HPos::Left)?;
        text(
            area,
            &tally(named.lane.counts()),
            (right, 4),
            13,
            HPos::Right,
        )?;
        // Cells are placed on the whole picture, everything else on this area.
        let (left, top) = area.get_base_pixel();
        let (x, y) = (left + MARGIN..left + right, top + 20..top + 20 + STRIP);
        let strip = area.apply_coord_spec(Strip::new(0.0..self.span(), 0.0..1.0, (x, y)));
        let all = [(0.0, 0.0), (self.span(), 1.0)];
        strip.draw(&Rectangle::new(all, RGBColor(240, 240, 240).filled()))?;
        for (column, counts) in named.lane.columns(&self.axis) {
            let seen = VERDICTS.iter().zip(counts).rev();
            if let Some((worst, _)) = seen.into_iter().find(|(_, count)| *count > 0) {
                let [left, right] = self.column(column);
                strip.draw(&Rectangle::new(
                    [(left, 0.0), (right, 1.0)],
                    colour(*worst).filled(),
                ))?;
            }
        }
        Ok(())
    }

    fn foot(&self, area: &Area<'_>) -> Drawn {
        let ((unit, _), width) = (self.unit(), short(&self.edge(1)));
        let mut words = format!("A flow's strip shows the worst verdict in each {width} {unit}s.");
        for note in &self.notes {
            words += &format!(" {note}.");
        }
        text(area, &words, (MARGIN, 12), 12, HPos::Left)
    }

    /// What time is told in, and how many nanoseconds that is: the largest of which the picture
    /// shows a few.
    fn unit(&self) -> (&'static str, f64) {
        let span = self.axis.columns() as f64 * self.axis.width() as f64;
        let fit = UNITS.into_iter().rev().find(|(_, ns)| span >= 3.0 * ns);
        fit.unwrap_or(UNITS[0])
    }

    /// What is shown, in the unit of time.
    fn span(&self) -> f64 {
        self.edge(self.axis.columns().max(1))
    }

    /// Where a column begins, in the unit of time.
    fn edge(&self, column: u64) -> f64 {
        column as f64 * self.axis.width() as f64 / self.unit().1
    }

    fn column(&self, column: u64) -> [f64; 2] {
        [column, column + 1].map(|column| self.edge(column))
    }
}

fn text(area: &Area<'_>, words: &str, at: (i32, i32), size: i32, side: HPos) -> Drawn {
    let style = ("sans-serif", size).into_text_style(area);
    area.draw_text(words, &style.pos(Pos::new(side, VPos::Top)), at)
}

fn tally(counts: &Counts) -> String {
    let some = VERDICTS.iter().zip(counts).filter(|(_, count)| **count > 0);
    let words: Vec<String> = some
        .map(|(verdict, count)| format!("{count} {verdict}"))
        .collect();
    words.join(", ")
}

/// A number with as many digits as somebody reads.
fn short(number: &f64) -> String {
    if *number == 0.0 || *number >= 100.0 {
        return format!("{number:.0}");
    }
    let digits = 2 - number.log10().floor() as i32;
    let exact = format!("{number:.*}", digits.max(0) as usize);
    exact.trim_end_matches('0').trim_end_matches('.').to_owned()
}
