//! The thread that reads the tap: it never waits for the verifier.

use super::backlog::Backlog;
use super::sample::{Choice, Chooser};
use crate::clock;
use crate::failure::Failure;
use crate::metrics::ObserverMetrics;
use crate::tap::{NotOnWire, Seen, Tap, is_down};
use clew_capture::{PacketInfo, Record};
use clew_packet::{Frame, LinkType};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tracing::{info, warn};

/// How long one wait for packets takes.
const WAIT: Duration = Duration::from_millis(100);

/// How often a missing interface is looked for.
const LOOK: Duration = Duration::from_millis(250);

/// How often the kernel is asked what it dropped.
const ASK: Duration = Duration::from_secs(1);

/// What the reading thread has.
pub struct Reader {
    pub tap: Tap,
    pub interface: String,
    pub chooser: Chooser,
    pub backlog: Arc<Backlog>,
    pub metrics: Arc<ObserverMetrics>,
    /// Set when the observer ends.
    pub stop: Arc<AtomicBool>,
    pub exit_if_down: bool,
    /// Packets that were chosen so far.
    pub packets: u64,
}

impl Reader {
    /// Reads until it is told to stop.
    pub fn run(mut self) {
        let end = self.read();
        self.count_drops();
        self.backlog.end(end);
    }

    fn read(&mut self) -> Result<(), Failure> {
        let (mut looked, mut asked, mut is_up) = (Instant::now(), Instant::now(), true);
        self.metrics.up.set(1);
        while !self.stop.load(Ordering::Relaxed) {
            if let Err(error) = self.receive() {
                if !is_down(&error) {
                    let what = format!("{}: cannot read packets: {error}", self.interface);
                    return Err(Failure::new(what));
                }
                self.went_down(is_up)?;
                is_up = false;
            }
            if !is_up && looked.elapsed() >= LOOK {
                looked = Instant::now();
                is_up = self.tap.is_back()?;
                if is_up {
                    self.metrics.up.set(1);
                    info!("{}: interface is up again", self.interface);
                }
            }
            if asked.elapsed() >= ASK {
                asked = Instant::now();
                self.count_drops();
            }
        }
        Ok(())
    }

    /// Says once that the interface is away.
    fn went_down(&self, was_up: bool) -> Result<(), Failure> {
        self.metrics.up.set(0);
        let what = format!("{}: interface is down", self.interface);
        if self.exit_if_down {
            return Err(Failure::new(what).hint(format!("ip link set {} up", self.interface)));
        }
        if was_up {
            warn!("{what}: waiting for it");
        }
        Ok(())
    }

    fn receive(&mut self) -> std::io::Result<()> {
        let (mut records, mut joined) = (Vec::new(), 0);
        let split_before = self.tap.split();
        let (metrics, chooser, packets) = (&self.metrics, &self.chooser, &mut self.packets);
        let received = self.tap.receive(WAIT, |seen| match seen {
            Ok(seen) => records.extend(choose(&seen, chooser, metrics, packets)),
            Err(NotOnWire::Joined) => joined += 1,
            Err(NotOnWire::Malformed) => drop(metrics.malformed.inc()),
        });
        metrics.split.inc_by(self.tap.split() - split_before);
        if metrics.joined.inc_by(joined) == 0 && joined > 0 {
            let interface = &self.interface;
            warn!(
                "{interface}: the kernel joined packets (GRO, TSO) in a way that cannot be split: \
                 these are not judged. To see each packet: ethtool -K {interface} gro off lro off \
                 tso off gso off"
            );
        }
        let skipped = match records.is_empty() {
            true => 0,
            false => self.backlog.offer(records),
        };
        if metrics.skipped.inc_by(skipped) == 0 && skipped > 0 {
            warn!(
                "packets come faster than they are verified: some are skipped (--sample 1/N takes fewer)"
            );
        }
        received
    }

    fn count_drops(&self) {
        let drops = self.tap.drops();
        if self.metrics.dropped.inc_by(drops) == 0 && drops > 0 {
            warn!("the kernel drops packets before they are read (--buffer makes more room)");
        }
    }
}

/// The record of a packet, if it is to be verified.
fn choose(
    seen: &Seen<'_>,
    chooser: &Chooser,
    metrics: &ObserverMetrics,
    packets: &mut u64,
) -> Option<Record> {
    match chooser.choose(&Frame::whole(LinkType(seen.link.into()), seen.bytes)) {
        Choice::Take => {}
        Choice::Filtered => {
            metrics.filtered.inc();
            return None;
        }
        Choice::Unsampled => {
            metrics.unsampled.inc();
            return None;
        }
    }
    *packets += 1;
    let info = PacketInfo {
        frame: *packets,
        interface: 0,
        link: seen.link,
        wire_len: u32::try_from(seen.bytes.len()).unwrap_or(u32::MAX),
        time_ns: Some(seen.time_ns.unwrap_or_else(clock::now_ns)),
    };
    Some(Record::live(info, seen.bytes))
}
