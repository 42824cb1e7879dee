//! Whether special secrets take another time than random ones, after *Dude, is my code constant
//! time?* (Reparaz, Balasch and Verbauwhede, DATE 2017): samples of both classes in random order, the
//! slowest cut off, and Welch's t.

use super::operations::{Draws, Fixture, Operation, Work, all, controls};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The paper's threshold: a |t| above it is a difference beyond doubt.
const LIMIT: f64 = 10.0;

/// Samples of an operation before the next one has its turn, so that load falls on all alike.
const BATCH: usize = 32;

/// Batches that only warm up.
const WARM_UP: usize = 4;

/// With fewer samples than this a quiet result says little.
const SAMPLES_MIN: usize = 100_000;
const SAMPLES_MAX: usize = 1_000_000;

/// A class with fewer samples than this has no variance to speak of.
const CLASS_MIN: usize = 16;

/// Shares of the samples, the fastest, that each t is computed over: a difference may hide in the
/// noise of the slow ones, or be in them alone.
const CROPS: [f64; 6] = [1.0, 0.99, 0.95, 0.9, 0.75, 0.5];

/// Measures all timed operations and the control for about `time`, and prints what came out.
pub fn run(time: Duration) -> ExitCode {
    let fixture = Fixture::new();
    let mut operations: Vec<Operation<'_>> = all(&fixture);
    let control = operations.len();
    operations.extend(controls());
    let is_timed = |(_, operation): &(usize, Operation<'_>)| operation.is_timed;
    let operations = operations.into_iter().enumerate().filter(is_timed);
    let rows = operations.map(|(i, operation)| Row {
        operation,
        must_leak: i >= control,
        samples: Vec::new(),
    });
    let mut rows: Vec<Row<'_>> = rows.collect();
    measure(&mut rows, time);
    report(&rows)
}

struct Row<'a> {
    operation: Operation<'a>,
    must_leak: bool,
    samples: Vec<Sample>,
}

/// One run of an operation.
#[derive(Clone, Copy)]
struct Sample {
    nanoseconds: f64,
    sparse: bool,
}

fn measure(rows: &mut [Row<'_>], time: Duration) {
    let mut rng = ChaCha20Rng::seed_from_u64(11);
    let start = Instant::now();
    let mut batches = 0;
    while batches <= WARM_UP || start.elapsed() < time && batches * BATCH < SAMPLES_MAX {
        for row in &mut *rows {
            let samples = batch(&row.operation, &mut rng);
            if batches >= WARM_UP {
                row.samples.extend(samples);
            }
        }
        batches += 1;
    }
}

/// Draws all secrets first, so that between two samples there is nothing but the clock.
fn batch(operation: &Operation<'_>, rng: &mut ChaCha20Rng) -> Vec<Sample> {
    let mut prepared: Vec<(bool, Work<'_>)> = Vec::with_capacity(BATCH);
    for _ in 0..BATCH {
        let sparse = rng.next_u32() & 1 == 1;
        let seed = rng.next_u64();
        let mut draws = if sparse {
            Draws::sparse()
        } else {
            Draws::random(seed)
        };
        prepared.push((sparse, operation.prepare(&mut draws)));
    }
    let timed = prepared.into_iter().map(|(sparse, work)| {
        let start = Instant::now();
        work();
        let nanoseconds = start.elapsed().as_nanos() as f64;
        Sample {
            nanoseconds,
            sparse,
        }
    });
    timed.collect()
}

fn report(rows: &[Row<'_>]) -> ExitCode {
    println!(
        "t of special against random secrets, the worst of {} crops",
        CROPS.len()
    );
    println!(
        "visible: the least difference of means, in the best crop, that makes |t| reach {LIMIT}\n"
    );
    println!(
        "{:<22} {:>8} {:>10} {:>9} {:>6} {:>11}",
        "operation", "samples", "median ns", "t", "crop", "visible ns"
    );
    let mut sound = true;
    for row in rows {
        sound &= report_row(row);
    }
    if rows.iter().any(|row| row.samples.len() < SAMPLES_MIN) {
        println!("\nfewer than {SAMPLES_MIN} samples: ask for more --seconds before believing it");
    }
    println!("\nA small t shows no difference between these two classes on this machine, no more.");
    if sound {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Prints a line and says whether it is as it has to be.
fn report_row(row: &Row<'_>) -> bool {
    let mut samples = row.samples.clone();
    samples.sort_by(|a, b| a.nanoseconds.total_cmp(&b.nanoseconds));
    let welch = CROPS.map(|crop| {
        (
            crop,
            welch(&samples[..(samples.len() as f64 * crop) as usize]),
        )
    });
    let (crop, worst) = welch
        .into_iter()
        .max_by(|(_, a), (_, b)| a.t().abs().total_cmp(&b.t().abs()))
        .unwrap_or(welch[0]);
    let errors = welch.map(|(_, welch)| welch.error);
    let visible = LIMIT * errors.into_iter().fold(f64::INFINITY, f64::min);
    let leaks = worst.t().abs() >= LIMIT;
    let verdict = match (leaks, row.must_leak) {
        (false, false) => "",
        (true, true) => "found, as it must be",
        (true, false) => "DIFFERS",
        (false, true) => "NOT FOUND: this run is blind",
    };
    println!(
        "{:<22} {:>8} {:>10.0} {:>9.2} {:>6.2} {:>11.2}  {verdict}",
        row.operation.name,
        samples.len(),
        samples[samples.len() / 2].nanoseconds,
        worst.t(),
        crop,
        visible,
    );
    leaks == row.must_leak
}

/// Difference of the two means, and its standard error.
#[derive(Clone, Copy)]
struct Welch {
    difference: f64,
    error: f64,
}

impl Welch {
    fn t(&self) -> f64 {
        if self.error > 0.0 {
            self.difference / self.error
        } else {
            0.0
        }
    }
}

/// Nothing to tell where a crop leaves too little of a class; the wider crops tell it then.
fn welch(samples: &[Sample]) -> Welch {
    let of = |sparse: bool| {
        let class = samples.iter().filter(move |s| s.sparse == sparse);
        let values: Vec<f64> = class.map(|s| s.nanoseconds).collect();
        if values.len() < CLASS_MIN {
            return (0.0, f64::INFINITY);
        }
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
        (mean, squares / (n - 1.0) / n)
    };
    let ((sparse, a), (random, b)) = (of(true), of(false));
    Welch {
        difference: sparse - random,
        error: (a + b).sqrt(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each value four times, so that there are enough.
    fn samples(of_sparse: [f64; 4], of_random: &[f64]) -> Vec<Sample> {
        let class = |values: &[f64], sparse| {
            let samples = values.iter().map(|&nanoseconds| Sample {
                nanoseconds,
                sparse,
            });
            samples.collect::<Vec<_>>().repeat(4)
        };
        [class(&of_sparse, true), class(of_random, false)].concat()
    }

    #[test]
    fn t_is_welchs() {
        // Means 5 and 2; sums of squares 4 * 20 and 4 * 2; 16 samples each.
        let t = welch(&samples([2.0, 4.0, 6.0, 8.0], &[1.0, 2.0, 2.0, 3.0])).t();
        assert!(
            (t - 3.0 / (88.0f64 / 15.0 / 16.0).sqrt()).abs() < 1e-12,
            "{t}"
        );
        assert_eq!(welch(&samples([1.0; 4], &[1.0; 4])).t(), 0.0);
        assert_eq!(welch(&samples([1.0; 4], &[9.0])).t(), 0.0, "too few");
    }
}
