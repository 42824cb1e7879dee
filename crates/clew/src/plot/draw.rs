//! How the picture looks.

use super::Named;
use super::timeline::{Axis, Counts, Lane, VERDICTS};
use clew_packet::Verdict;
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const WIDTH: u32 = 1000;
const MARGIN: i32 = 60;
const HEAD: u32 = 70;
const RATES: u32 = 260;
const LANE: u32 = 34;
const STRIP: i32 = 12;
const FOOT: u32 = 40;

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
        let height = HEAD + RATES + LANE * self.lanes.len() as u32 + FOOT;
        let area = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        area.fill(&WHITE)?;
        let (head, below) = area.split_vertically(HEAD);
        let (rates, below) = below.split_vertically(RATES);
        let (lanes, foot) = below.split_vertically(LANE * self.lanes.len() as u32);
        self.head(&head)?;
        self.rates(&rates)?;
        for (lane, area) in self.lanes.iter().zip(lanes.split_evenly((self.lanes.len().max(1), 1))) {
            self.lane(&area, lane)?;
        }
        self.foot(&foot)?;
        area.present()?;
        drop((area, head, rates, lanes, below, foot));
        Ok(svg)
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

    /// All packets: how many in a second, stacked by verdict.
    fn rates(&self, area: &Area<'_>) -> Drawn {
        let per_second = 1e9 / self.axis.width() as f64;
        let columns = self.all.columns(&self.axis);
        let sum = |counts: &Counts| counts.iter().sum::<u64>() as f64 * per_second;
        let most = columns.iter().map(|(_, counts)| sum(counts)).fold(0.0, f64::max);
        let mut chart = ChartBuilder::on(area)
            .margin_right(MARGIN)
            .x_label_area_size(40)
            .y_label_area_size(MARGIN)
            .build_cartesian_2d(0.0..self.span(), 0.0..(most * 1.05).max(1.0))?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(WHITE)
            .x_desc(format!("seconds since {}", self.start))
            .y_desc("packets per second")
            .x_label_formatter(&short)
            .y_label_formatter(&short)
            .draw()?;
        for (column, counts) in &columns {
            let mut from = 0.0;
            for (verdict, count) in VERDICTS.iter().zip(counts).filter(|(_, count)| **count > 0) {
                let to = from + *count as f64 * per_second;
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
        text(area, &tally(named.lane.counts()), (right, 4), 13, HPos::Right)?;
        let (x, y) = (MARGIN..right, 20..20 + STRIP);
        area.draw(&Rectangle::new([(x.start, y.start), (x.end, y.end)], RGBColor(240, 240, 240).filled()))?;
        let strip = Cartesian2d::<RangedCoordf64, RangedCoordf64>::new(0.0..self.span(), 0.0..1.0, (x, y));
        let strip = area.apply_coord_spec(strip);
        for (column, counts) in named.lane.columns(&self.axis) {
            let seen = VERDICTS.iter().zip(counts).rev();
            if let Some((worst, _)) = seen.into_iter().find(|(_, count)| *count > 0) {
                let [left, right] = self.column(column);
                strip.draw(&Rectangle::new([(left, 0.0), (right, 1.0)], colour(*worst).filled()))?;
            }
        }
        Ok(())
    }

    fn foot(&self, area: &Area<'_>) -> Drawn {
        let width = short(&(self.axis.width() as f64 / 1e9));
        let mut words = format!("A flow's strip shows the worst verdict in each {width} s.");
        for note in &self.notes {
            words += &format!(" {note}.");
        }
        text(area, &words, (MARGIN, 12), 12, HPos::Left)
    }

    /// Seconds that are shown.
    fn span(&self) -> f64 {
        self.axis.columns().max(1) as f64 * self.axis.width() as f64 / 1e9
    }

    /// Where a column begins and ends, in seconds.
    fn column(&self, column: u64) -> [f64; 2] {
        [column, column + 1].map(|edge| edge as f64 * self.axis.width() as f64 / 1e9)
    }
}

fn text(area: &Area<'_>, words: &str, at: (i32, i32), size: i32, side: HPos) -> Drawn {
    let style = ("sans-serif", size).into_text_style(area);
    area.draw_text(words, &style.pos(Pos::new(side, VPos::Top)), at)
}

fn tally(counts: &Counts) -> String {
    let some = VERDICTS.iter().zip(counts).filter(|(_, count)| **count > 0);
    let words: Vec<String> = some.map(|(verdict, count)| format!("{count} {verdict}")).collect();
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
