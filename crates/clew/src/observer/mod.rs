//! `clew verify -i`: live verdicts about what passes an interface.
//!
//! One thread reads the [`tap`] into a backlog; this one verifies, writes lines and
//! evidence, and looks after group files. Whoever is slow, the tap is read on: what there is no room for is
//! counted.

mod backlog;
mod groups;
mod lines;
mod outputs;
mod patience;
mod prefix;
mod reader;
mod recover;
mod ring;
mod sample;
mod steps;

pub use backlog::{BACKLOG_BYTES_MAX, BACKLOG_PACKETS_MAX};
pub use sample::parse_sample;

use crate::cli::{Observe, Verify};
use crate::failure::{Failure, Status};
use crate::metrics::{Endpoint, Heartbeat, ObserverMetrics};
use crate::records::{Ending, Format, Missed};
use crate::tap::{self, Tap, give_up_privileges};
use crate::{clock, is_interrupted, progress, random};
use backlog::{Backlog, Taken};
use clew_capture::Record;
use clew_engine::captures::VerifyReport;
use clew_engine::{Judged, Keyring, Rules, Verifier};
use groups::{Change, Groups};
use indicatif::ProgressBar;
use outputs::Outputs;
use patience::Patience;
use rand_core::Rng;
use reader::Reader;
use ring::Ring;
use sample::Chooser;
use sd_notify::NotifyState;
use signal_hook::consts::SIGHUP;
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use steps::Clocks;
use tracing::{info, warn};

/// Most packets that are verified at once.
const BATCH: usize = 1024;

/// How long one wait for packets takes.
const WAIT: Duration = Duration::from_millis(100);

/// How often group files are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// How long packets that wait are still judged when the command ends.
const DRAIN_MAX: Duration = Duration::from_secs(2);

/// Observes an interface until the end that was asked for.
///
/// # Errors
/// The tap cannot be opened or read; a file cannot be read or opened at the start.
pub fn run(arguments: &Verify, interface: &str, rules: Rules) -> Result<Status, Failure> {
    let observe = &arguments.observe;
    let tap = Tap::open(&tap::Options {
        interface: interface.to_owned(),
        promiscuous: observe.promiscuous,
        buffer: observe.buffer.map(|bytes| bytes as usize),
    })?;
    give_up_privileges()?;
    let metrics = Arc::new(ObserverMetrics::new());
    let mut observer = Observer::new(arguments, rules, Arc::clone(&metrics))?;
    let backlog = Arc::<Backlog>::default();
    let stop = Arc::<AtomicBool>::default();
    let reader = Reader {
        tap,
        interface: interface.to_owned(),
        chooser: chooser(observe),
        backlog: Arc::clone(&backlog),
        metrics,
        stop: Arc::clone(&stop),
        exit_if_down: observe.exit_if_down,
        packets: 0,
    };
    let reading = thread::spawn(move || reader.run());
    info!("observing {interface}");
    // Without a service manager nobody is told.
    let _ = sd_notify::notify(&[NotifyState::Ready]);
    let end = observer.observe(&backlog);
    stop.store(true, Ordering::Relaxed);
    // It ends within a wait; if it panicked, it has said so.
    let _ = reading.join();
    let last = end.and_then(|()| observer.drain(&backlog));
    observer.finish(last)
}

fn chooser(observe: &Observe) -> Chooser {
    Chooser {
        from: observe.from.clone(),
        to: observe.to.clone(),
        sample: observe.sample.unwrap_or(1),
        seed: random::os().next_u64(),
    }
}

/// All but the thread that reads.
struct Observer<'a> {
    arguments: &'a Verify,
    verifier: Verifier<Keyring, Record>,
    groups: Groups,
    patience: Patience,
    outputs: Outputs<'a>,
    metrics: Arc<ObserverMetrics>,
    heartbeat: Option<Heartbeat>,
    hangup: Arc<AtomicBool>,
    /// Packets that were given to the verifier.
    pushed: u64,
    ends: Option<Instant>,
    looked: Instant,
    clocks: Clocks,
    bar: ProgressBar,
}

impl<'a> Observer<'a> {
    fn new(
        arguments: &'a Verify,
        rules: Rules,
        metrics: Arc<ObserverMetrics>,
    ) -> Result<Self, Failure> {
        let observe = &arguments.observe;
        if observe.flows.is_some() && arguments.format() == Format::Table {
            return Err(Failure::new(
                "--flows requires --json, --format tsv or --format eve",
            ));
        }
        let (groups, keyring) = Groups::read(&arguments.group).map_err(without_privileges)?;
        let outputs = Outputs::open(arguments, &metrics).map_err(without_privileges)?;
        let hangup = Arc::<AtomicBool>::default();
        flag::register(SIGHUP, Arc::clone(&hangup))
            .map_err(|error| Failure::new(format!("cannot listen to SIGHUP: {error}")))?;
        let mut heartbeat = None;
        if let Some(at) = observe.metrics {
            let shown = Arc::clone(&metrics);
            let endpoint = Endpoint::listen(at, move || shown.text())?;
            mention!("metrics: http://{}/metrics", endpoint.at);
            heartbeat = Some(endpoint.heartbeat);
        }
        Ok(Self {
            arguments,
            verifier: Verifier::new(keyring, rules),
            groups,
            patience: Patience::default(),
            outputs,
            metrics,
            heartbeat,
            hangup,
            pushed: 0,
            ends: observe.duration.map(|duration| Instant::now() + duration),
            looked: Instant::now(),
            clocks: Clocks::new(Instant::now(), clock::now_ns()),
            bar: progress::observing(),
        })
    }

    /// Judges packets until it is told to end.
    fn observe(&mut self, backlog: &Backlog) -> Result<(), Failure> {
        while !self.is_over() {
            let most = BATCH.min(usize::try_from(self.left()).unwrap_or(BATCH));
            let taken = backlog.take(most, WAIT);
            self.metrics.backlog.set(backlog.len() as i64);
            if let Some(end) = self.judge(taken) {
                return end;
            }
            self.turn();
        }
        Ok(())
    }

    /// Judges what was read before the end, up to the number that was asked for, for a while. What
    /// is left is skipped.
    fn drain(&mut self, backlog: &Backlog) -> Result<(), Failure> {
        let ends = Instant::now() + DRAIN_MAX;
        while self.left() > 0 && !self.outputs.is_closed {
            if Instant::now() >= ends {
                self.metrics.skipped.inc_by(backlog.len() as u64);
                break;
            }
            let most = BATCH.min(usize::try_from(self.left()).unwrap_or(BATCH));
            let taken = backlog.take(most, Duration::ZERO);
            let is_empty = taken.records.is_empty();
            if let Some(end) = self.judge(taken) {
                return end;
            }
            if is_empty {
                break;
            }
        }
        Ok(())
    }

    /// Judges packets, and returns why no more will come if that is so.
    fn judge(&mut self, taken: Taken) -> Option<Result<(), Failure>> {
        let now = Instant::now();
        self.pushed += taken.records.len() as u64;
        self.patience.came(taken.records.len(), now);
        let judged = self.verifier.push(taken.records, clock::now(), &random::os);
        self.tell(judged);
        let late = self.verifier.give_up(self.patience.may_wait(now));
        self.tell(late);
        self.outputs.flush();
        taken.end
    }

    fn tell(&mut self, judged: Vec<Judged<Record>>) {
        for (record, conclusion) in judged {
            if let Some(conclusion) = conclusion {
                self.metrics.judge(conclusion.reason);
                self.outputs
                    .packet(record, &conclusion, self.verifier.keys());
            }
        }
    }

    /// What is done between batches.
    fn turn(&mut self) {
        if let Some(heartbeat) = &self.heartbeat {
            heartbeat.beat();
        }
        self.metrics.held.set(self.verifier.held() as i64);
        self.bar.set_position(self.pushed);
        if self.hangup.swap(false, Ordering::Relaxed) {
            self.outputs.reopen();
        }
        if self.looked.elapsed() < LOOK {
            return;
        }
        self.looked = Instant::now();
        let _ = sd_notify::notify(&[NotifyState::Watchdog]);
        if let Some(seconds) = self.clocks.look(self.looked, clock::now_ns()) {
            warn!(
                "the clock of this machine stepped by {seconds} s, or it slept: freshness is judged by it"
            );
        }
        self.verifier.forget_stale(clock::now());
        let forgotten = self.verifier.totals().forgotten;
        ObserverMetrics::reach(&self.metrics.forgotten, forgotten);
        self.outputs.tick(self.arguments.observe.flows);
        for change in self.groups.refresh(self.verifier.keys_mut()) {
            match change {
                Change::Newer(path, epoch) => {
                    self.metrics.group_files.inc();
                    info!("{}: read again, newest epoch {epoch}", path.display());
                }
                Change::Refused(failure) => {
                    self.metrics.refused_group_files.inc();
                    warn!("{}; what was read before counts", failure.message);
                }
            }
        }
    }

    fn is_over(&self) -> bool {
        let is_late = self.ends.is_some_and(|ends| Instant::now() >= ends);
        is_interrupted() || is_late || self.left() == 0 || self.outputs.is_closed
    }

    /// How many packets are still to be judged.
    fn left(&self) -> u64 {
        let count = self.arguments.observe.count.unwrap_or(u64::MAX);
        count.saturating_sub(self.pushed)
    }

    /// Gives up what waits, ends the evidence, and tells the summary.
    fn finish(mut self, end: Result<(), Failure>) -> Result<Status, Failure> {
        let last = self.verifier.finish();
        self.tell(last);
        self.bar.finish_and_clear();
        self.outputs.end_ring();
        for defect in self.verifier.keys().defects() {
            mention!("clew: warning: group file: {defect}");
        }
        let verified = VerifyReport {
            totals: self.verifier.totals(),
            damage: None,
        };
        let ending = Ending {
            verified: &verified,
            keyring: self.verifier.keys(),
            missed: Some(self.missed()),
        };
        self.outputs.end(&ending);
        end?;
        // Nobody read all of the answer, as with files.
        Ok(match self.outputs.is_closed {
            true => Status::CouldNotTell,
            false => ending.status(self.arguments.strict),
        })
    }

    fn missed(&self) -> Missed {
        let metrics = &self.metrics;
        Missed {
            dropped: metrics.dropped.get(),
            skipped: metrics.skipped.get(),
            joined: metrics.joined.get(),
            malformed: metrics.malformed.get(),
            unsampled: metrics.unsampled.get(),
            filtered: metrics.filtered.get(),
            lost_lines: self.outputs.lines.lost(),
            unwritten: self.outputs.ring.as_ref().map_or(0, Ring::unwritten),
        }
    }
}

/// Says why a file cannot be read that root could read before.
fn without_privileges(failure: Failure) -> Failure {
    match failure.message.ends_with("permission denied") {
        true => failure.hint(
            "once the tap is open, the command has no privileges, not even as root: give this user \
             access, or move the file",
        ),
        false => failure,
    }
}
