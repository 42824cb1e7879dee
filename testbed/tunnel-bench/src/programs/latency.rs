//! How long a single connection with its request and answer takes, by the delay of the line.

use super::connect::about;
use super::figure6;
use crate::measure::{self, Samples, Seat};
use crate::options::Options;
use crate::place::Cores;
use crate::report::{Figures, Row};
use crate::system::Work;
use clew_record::Record;
use line::{Condition, Line};
use std::io;
use std::time::{Duration, Instant};

/// Samples of one delay, at most.
const ROUNDS_MAX: u32 = 1000;

/// All rows at one delay (in milliseconds).
pub struct At {
    pub delay: f64,
    pub samples: Vec<Samples>,
}

/// Runs the program.
pub fn run(options: &Options, record: &mut Record, cores: Cores, delays: &[f64]) -> io::Result<()> {
    let systems = measure::rows(options, Work::Latency)?;
    let time = options.seconds / delays.len().max(1) as u32;
    let all = measure::on_line(&systems, cores, |seats, line| {
        let at = |delay: &f64| at(seats, line, *delay, time, options.rounds);
        delays.iter().map(at).collect::<io::Result<Vec<At>>>()
    })?;
    let percentile = |percent| move |samples: &Samples| samples.percentile(0, percent);
    let title = "milliseconds of an exchange on a new connection, by the milliseconds that the line adds each way";
    table(&all, "median", &format!("Median: {title}"), percentile(50)).add_to(record);
    table(
        &all,
        "p90",
        &format!("90 of 100 are faster: {title}"),
        percentile(90),
    )
    .add_to(record);
    gains(&all).add_to(record);
    figure6::save(options, &all)
}

fn at(
    seats: &mut [Seat<'_>],
    line: &Line,
    delay: f64,
    time: Duration,
    rounds_min: u32,
) -> io::Result<At> {
    line.set(Condition {
        delay: milliseconds(delay)?,
        ..Condition::default()
    })?;
    let start = Instant::now();
    measure::in_turn(seats, 0, sample);
    let once = start.elapsed();
    let rounds = (time.as_secs_f64() / once.as_secs_f64()) as u32;
    let rounds = rounds.clamp(rounds_min, ROUNDS_MAX.max(rounds_min));
    Ok(At {
        delay,
        samples: measure::in_turn(seats, rounds, sample),
    })
}

fn sample(seat: &mut Seat<'_>) -> io::Result<Vec<f64>> {
    let time = seat.client.exchange()?;
    Ok(vec![time.as_secs_f64() * 1e3])
}

/// As it was written on the command line.
pub fn milliseconds(number: f64) -> io::Result<Duration> {
    let time = Duration::try_from_secs_f64(number / 1e3);
    time.map_err(|error| io::Error::other(format!("{number} ms: {error}")))
}

fn table(all: &[At], name: &str, title: &str, figure: impl Fn(&Samples) -> Option<f64>) -> Figures {
    let Some(last) = all.last() else {
        return empty(name, title);
    };
    let rows = last.samples.iter().enumerate().map(|(row, samples)| Row {
        name: samples.name.clone(),
        about: about(samples),
        cells: all.iter().map(|at| figure(&at.samples[row])).collect(),
    });
    Figures {
        rows: rows.collect(),
        columns: all.iter().map(|at| column(at.delay)).collect(),
        ..empty(name, title)
    }
}

fn empty(name: &str, title: &str) -> Figures {
    Figures {
        name: name.into(),
        title: title.into(),
        columns: Vec::new(),
        rows: Vec::new(),
        notes: Vec::new(),
    }
}

fn column(delay: f64) -> String {
    format!("+{}", fraction(delay))
}

/// 1/16 rather than 0.0625.
pub fn fraction(number: f64) -> String {
    let whole = 1.0 / number;
    if number > 0.0 && number < 1.0 && whole.fract() == 0.0 {
        return format!("1/{whole}");
    }
    number.to_string()
}

/// How many times as fast as TCP each row is.
fn gains(all: &[At]) -> Figures {
    let medians = table(
        all,
        "gain",
        "TCP's median to the row's: above 1 is faster than TCP",
        |s| s.median(0),
    );
    let tcp = medians.rows.iter().find(|row| row.name == "tcp");
    let Some(tcp) = tcp.map(|row| row.cells.clone()) else {
        return medians;
    };
    let mut gains = medians;
    for row in &mut gains.rows {
        let cells = row.cells.iter().zip(&tcp);
        row.cells = cells.map(|(own, tcp)| Some((*tcp)? / (*own)?)).collect();
    }
    gains.notes = figure6::NOTES.map(str::to_owned).to_vec();
    gains
}

#[cfg(test)]
mod tests {
    use super::fraction;

    #[test]
    fn delays_are_fractions() {
        let texts = [0.0, 0.0625, 0.5, 0.3, 1.0, 64.0].map(fraction);
        assert_eq!(texts, ["0", "1/16", "1/2", "0.3", "1", "64"]);
    }
}
