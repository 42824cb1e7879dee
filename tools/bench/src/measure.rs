//! Measuring: many short samples of each case in turn, so that all cases see the same machine.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// A sample repeats its case until it has lasted about this long: far above the clock's resolution.
const SAMPLE: Duration = Duration::from_micros(100);

/// A sample and the making of its inputs together take no longer than about this.
const SAMPLE_WITH_INPUTS: Duration = Duration::from_millis(10);

/// Repetitions of one sample; the shortest case takes about 100 ns.
const REPETITIONS_MAX: u32 = 1000;

/// One row of a report: a piece of work and what others say it took.
pub struct Case<'a> {
    /// By which `--peer` and readers of the JSON find the row.
    pub name: String,
    pub about: &'static str,
    /// What published sources have for the row, in microseconds, by the name of the source.
    pub quotes: Vec<(&'static str, f64)>,
    /// The row of the same run that this one is to be compared with.
    pub against: Option<String>,
    /// How many of what the figures are for the work does at once.
    share: f64,
    /// How often a sample repeats the work; if not given, as often as fills one.
    repetitions: Option<u32>,
    /// Does the work that many times and says how long that took, and how many pieces it was.
    sample: Box<dyn FnMut(u32) -> (Duration, usize) + 'a>,
}

impl<'a> Case<'a> {
    /// A case that repeats `work`.
    pub fn new<T>(
        name: impl Into<String>,
        about: &'static str,
        mut work: impl FnMut() -> T + 'a,
    ) -> Self {
        Self::with_input(name, about, || (), move |()| work())
    }

    /// A case whose work consumes an input, which is made outside the measured time.
    pub fn with_input<I, T>(
        name: impl Into<String>,
        about: &'static str,
        input: impl FnMut() -> I + 'a,
        mut work: impl FnMut(I) -> T + 'a,
    ) -> Self {
        let one = move |input| {
            black_box(work(input));
            1
        };
        Self::per_piece(name, about, input, one)
    }

    /// A case whose work says how many pieces it did; its figures are for one.
    pub fn per_piece<I>(
        name: impl Into<String>,
        about: &'static str,
        mut input: impl FnMut() -> I + 'a,
        mut work: impl FnMut(I) -> usize + 'a,
    ) -> Self {
        let sample = move |repetitions| {
            let inputs: Vec<I> = (0..repetitions).map(|_| input()).collect();
            let mut pieces = 0;
            let start = Instant::now();
            for input in inputs {
                pieces += work(black_box(input));
            }
            (start.elapsed(), pieces)
        };
        Self {
            name: name.into(),
            about,
            quotes: Vec::new(),
            against: None,
            share: 1.0,
            repetitions: None,
            sample: Box::new(sample),
        }
    }

    /// A case that says itself how long its work took, and how many pieces it was. What runs so long
    /// is neither repeated nor tried before.
    pub fn timed(
        name: impl Into<String>,
        about: &'static str,
        mut work: impl FnMut() -> (Duration, usize) + 'a,
    ) -> Self {
        Self {
            repetitions: Some(1),
            sample: Box::new(move |_| work()),
            ..Self::new(name, about, || ())
        }
    }

    /// The same with a published figure.
    pub fn quote(mut self, source: &'static str, microseconds: f64) -> Self {
        self.quotes.push((source, microseconds));
        self
    }

    /// The same beside another row.
    pub fn against(mut self, row: impl Into<String>) -> Self {
        self.against = Some(row.into());
        self
    }

    /// The same, its figures for one of the `n` that the work does at once.
    pub fn each_of(mut self, n: usize) -> Self {
        self.share = n as f64;
        self
    }
}

/// What a case took, in microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    pub median: f64,
    pub mean: f64,
    pub p10: f64,
    pub p90: f64,
    pub samples: usize,
    pub repetitions: u32,
}

/// What was measured, by the names of rows.
pub struct Measured(pub BTreeMap<String, Figures>);

impl Measured {
    /// The figures of a row, if it was measured.
    pub fn get(&self, row: &str) -> Option<&Figures> {
        self.0.get(row)
    }

    /// The median in microseconds; NaN if the row was not measured.
    pub fn us(&self, row: &str) -> f64 {
        self.get(row).map_or(f64::NAN, |figures| figures.median)
    }
}

/// Runs all cases in turn for about `time`, and at least so many rounds.
pub fn run(cases: &mut [Case<'_>], time: Duration, rounds_min: u32) -> Vec<Figures> {
    let repetitions: Vec<u32> = cases.iter_mut().map(repetitions).collect();
    let mut samples = vec![Vec::new(); cases.len()];
    let start = Instant::now();
    let mut rounds = 0;
    while rounds < rounds_min || start.elapsed() < time {
        for ((case, samples), n) in cases.iter_mut().zip(&mut samples).zip(&repetitions) {
            let (time, pieces) = (case.sample)(*n);
            samples.push(time.as_secs_f64() * 1e6 / (pieces as f64 * case.share));
        }
        rounds += 1;
    }
    let figures = samples.into_iter().zip(repetitions);
    figures.map(|(samples, n)| summary(samples, n)).collect()
}

/// How often a case must be repeated to fill a sample, or how often its inputs can be made in
/// [`SAMPLE_WITH_INPUTS`]. Warms it up, too.
fn repetitions(case: &mut Case<'_>) -> u32 {
    if let Some(repetitions) = case.repetitions {
        return repetitions;
    }
    let trials = (0..3).map(|_| {
        let start = Instant::now();
        let (work, _) = (case.sample)(1);
        (work, start.elapsed())
    });
    let (work, whole) = trials.min().unwrap_or((SAMPLE, SAMPLE));
    let fill = |time: Duration, once: Duration| time.as_nanos() / once.as_nanos().max(1);
    let repetitions = fill(SAMPLE, work).min(fill(SAMPLE_WITH_INPUTS, whole));
    u32::try_from(repetitions)
        .unwrap_or(REPETITIONS_MAX)
        .clamp(1, REPETITIONS_MAX)
}

fn summary(mut samples: Vec<f64>, repetitions: u32) -> Figures {
    samples.sort_by(f64::total_cmp);
    let at = |percent: usize| samples[(samples.len() - 1) * percent / 100];
    Figures {
        median: at(50),
        mean: samples.iter().sum::<f64>() / samples.len() as f64,
        p10: at(10),
        p90: at(90),
        samples: samples.len(),
        repetitions,
    }
}
