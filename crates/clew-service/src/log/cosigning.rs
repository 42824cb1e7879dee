//! Which checkpoint is published: the newest that enough witnesses cosigned.

use super::service::{Shared, lock};
use super::store::Signed;
use super::witnesses::{Report, Target, Witness, WitnessAddress};
use crate::pages::utc;
use clew_log::{CLOCK_DIFFERENCE_MAX, Cosignature, NoteSignature};
use clew_wire::WallTime;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

/// After so long without a new entry the newest checkpoint is cosigned again: trustees ask for
/// cosignatures of the last hour.
pub const COSIGN_AGAIN: Duration = Duration::from_secs(600);
/// How long the last witnesses are waited for once there are enough.
const GRACE: Duration = Duration::from_millis(50);
/// How long witnesses are waited for before a newer checkpoint takes the turn.
const ROUND: Duration = Duration::from_secs(10);

/// Whether a log adds entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// It waits for its witnesses.
    Starting,
    /// It does.
    Open,
    /// It never will: a witness has a checkpoint with this log's signature that is not of these
    /// entries. The witness's name and the reason.
    Halted(String),
}

/// What is known of a witness.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) name: String,
    /// The size that it cosigned last, and when that came.
    pub(super) last: Option<(u64, WallTime)>,
    /// Why it did not cosign, if it did not the last time.
    pub(super) error: Option<String>,
}

/// Keeps witnesses asked, and publishes what they cosign.
pub(super) async fn run(shared: Arc<Shared>, witnesses: Vec<WitnessAddress>, threshold: usize) {
    let names = witnesses.iter().map(|witness| Seen {
        name: witness.key.name().to_owned(),
        last: None,
        error: None,
    });
    *lock(&shared.witnesses) = names.collect();
    let first = shared.newest.borrow().clone();
    let (target, targets) = watch::channel(Target {
        turn: 0,
        signed: first,
    });
    let (reports, received) = mpsc::channel(2 * witnesses.len().max(1));
    let count = witnesses.len();
    // Dropped with this future, they end.
    let mut tasks = tokio::task::JoinSet::new();
    for (number, address) in witnesses.into_iter().enumerate() {
        let witness = Witness::new(number, address, Arc::clone(&shared), reports.clone());
        tasks.spawn(witness.run(targets.clone()));
    }
    drop(reports);
    let rounds = Rounds {
        shared,
        threshold,
        count,
        ready: vec![false; count],
        differing: vec![false; count],
        lines: Vec::new(),
        published: Vec::new(),
        target,
    };
    rounds.run(received).await;
}

struct Rounds {
    shared: Arc<Shared>,
    threshold: usize,
    count: usize,
    ready: Vec<bool>,
    /// Whose clock differs too much from the log's.
    differing: Vec<bool>,
    /// Cosignatures of the target, by witness.
    lines: Vec<(usize, NoteSignature)>,
    /// Those of the published checkpoint.
    published: Vec<(usize, NoteSignature)>,
    target: watch::Sender<Target>,
}

impl Rounds {
    async fn run(mut self, mut reports: mpsc::Receiver<Report>) {
        let mut newest = self.shared.newest.subscribe();
        loop {
            let asked = self.asked().await;
            let mut end = Instant::now() + ROUND;
            let mut is_enough = self.count == 0;
            // A round: until all cosigned, or enough and some grace, or it takes too long.
            while self.lines.len() < self.count {
                let report = tokio::select! {
                    report = reports.recv() => report,
                    () = sleep_until(end) => break,
                };
                let Some(report) = report else { return };
                self.take(report, &asked).await;
                if !is_enough && self.lines.len() >= self.threshold {
                    is_enough = true;
                    end = Instant::now() + GRACE;
                }
            }
            let again = Instant::now() + if is_enough { COSIGN_AGAIN } else { ROUND };
            while !newest.has_changed().unwrap_or(true) {
                let report = tokio::select! {
                    report = reports.recv(), if self.count > 0 => report,
                    changed = newest.changed() => match changed {
                        Ok(()) => { newest.mark_changed(); continue }
                        Err(_) => return,
                    },
                    () = sleep_until(again) => break,
                };
                let Some(report) = report else { return };
                self.take(report, &asked).await;
            }
            let signed = newest.borrow_and_update().clone();
            self.lines.clear();
            self.target.send_modify(|target| {
                target.turn += 1;
                target.signed = signed;
            });
        }
    }

    /// The checkpoint of this round. Without witnesses it is published at once.
    async fn asked(&self) -> Signed {
        let signed = self.target.borrow().signed.clone();
        if self.threshold == 0 {
            let is_new = {
                let published = self.shared.published.borrow();
                let before = published.as_ref();
                before.is_none_or(|before| before.size < signed.size)
            };
            if is_new {
                self.shared.publish(signed.clone()).await;
            }
        }
        signed
    }

    async fn take(&mut self, report: Report, asked: &Signed) {
        match report {
            Report::Halt(why) => self.halt(why),
            Report::Failed(number, why) => {
                self.shared.metrics.uncosigned.fetch_add(1, Relaxed);
                self.seen(number, |seen| seen.error = Some(why));
            }
            Report::Cosigned(number, size, line) => {
                self.shared.metrics.cosigned.fetch_add(1, Relaxed);
                let now = (self.shared.clock)();
                if !self.agrees(number, &line, now) {
                    return;
                }
                self.ready(number);
                self.seen(number, |seen| {
                    (seen.last, seen.error) = (Some((size, now)), None);
                });
                self.cosigned(number, size, line, asked).await;
            }
        }
    }

    fn halt(&self, why: String) {
        self.shared.tell(&why);
        self.shared.status.send_replace(Status::Halted(why));
    }

    /// Whether a witness's clock agrees with the log's. If too few do for a checkpoint to be published, the
    /// log's own clock is wrong: it stops.
    fn agrees(&mut self, number: usize, line: &NoteSignature, now: WallTime) -> bool {
        let time = Cosignature::decode(&line.bytes).map_or(0, |own| own.time);
        let differs = (now.as_nanos() / 1_000_000_000).abs_diff(time);
        let agrees = differs <= CLOCK_DIFFERENCE_MAX.as_secs();
        self.differing[number] = !agrees;
        if agrees {
            return true;
        }
        let why = format!("its clock differs by {differs} s from this log's");
        self.seen(number, |seen| seen.error = Some(why));
        let differing = self.differing.iter().filter(|differs| **differs).count();
        if self.count - differing < self.threshold {
            let own = utc(now);
            let names = self.names_of_differing().join(", ");
            self.halt(format!(
                "the clocks of its witnesses ({names}) differ by more than 1 hour from this log's, which says \
                 {own}: set the one that is wrong, and start the log again"
            ));
        }
        false
    }

    /// The witnesses whose clocks differ.
    fn names_of_differing(&self) -> Vec<String> {
        let seen = lock(&self.shared.witnesses);
        let named = seen.iter().zip(&self.differing);
        let named = named.filter(|(_, differs)| **differs);
        named.map(|(seen, _)| seen.name.clone()).collect()
    }

    fn seen(&self, number: usize, change: impl FnOnce(&mut Seen)) {
        if let Some(seen) = lock(&self.shared.witnesses).get_mut(number) {
            change(seen);
        }
    }

    /// A witness cosigned what this log has: it continues whatever the witness saw, and their clocks agree.
    /// Enough of them did if any `threshold` of them have one in common with
    /// those: whatever was published, one of them cosigned it.
    fn ready(&mut self, number: usize) {
        self.ready[number] = true;
        let ready = self.ready.iter().filter(|ready| **ready).count();
        let needed = self.count + 1 - self.threshold.clamp(1, self.count);
        self.shared.status.send_if_modified(|status| {
            let opens = *status == Status::Starting && ready >= needed;
            if opens {
                *status = Status::Open;
            }
            opens
        });
    }

    async fn cosigned(&mut self, number: usize, size: u64, line: NoteSignature, asked: &Signed) {
        let lines = match size == asked.size {
            true => &mut self.lines,
            // A late one, of the checkpoint that is published.
            false => &mut self.published,
        };
        let published = self.shared.published.borrow().as_ref().map(|p| p.size);
        if size != asked.size && Some(size) != published {
            return;
        }
        lines.retain(|(other, _)| *other != number);
        lines.push((number, line));
        if lines.len() < self.threshold {
            return;
        }
        let mut signed = asked.clone();
        if size != asked.size {
            let before = self.shared.published.borrow().clone();
            let Some(before) = before else { return };
            signed = before;
        }
        let bare = clew_log::Note::new(signed.note.text().to_owned());
        let own = signed.note.signature(&self.shared.key).cloned();
        let (Ok(mut note), Ok(own)) = (bare, own) else {
            return;
        };
        for line in std::iter::once(&own).chain(lines.iter().map(|(_, line)| line)) {
            // A log has fewer witnesses than a note signatures.
            let _ = note.add(line.clone());
        }
        if size == asked.size {
            self.published.clone_from(&self.lines);
        }
        signed.note = note;
        self.shared.publish(signed).await;
    }
}
