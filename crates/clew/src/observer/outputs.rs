//! Lines and evidence of an observer.

use super::lines::{Lines, Wrote};
use super::ring::{self, Kept, Ring};
use crate::cli::Verify;
use crate::failure::Failure;
use crate::metrics::ObserverMetrics;
use crate::records::{Ending, Finding, Records, WRITER, json, records};
use clew_capture::{Note, Record};
use clew_engine::{AsFrame, Keyring};
use clew_packet::Conclusion;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tracing::{info, warn};

/// Lines are written when they take so many bytes, or when no packet is left to judge.
const TEXT_BYTES: usize = 64 << 10;

/// Lines and evidence.
pub struct Outputs<'a> {
    records: Box<dyn Records + 'a>,
    text: Vec<u8>,
    pub lines: Lines,
    pub ring: Option<Ring>,
    metrics: Arc<ObserverMetrics>,
    /// The reader of the lines went away.
    pub is_closed: bool,
    /// When flows were told last.
    flows_told: Instant,
}

impl<'a> Outputs<'a> {
    pub fn open(arguments: &'a Verify, metrics: &Arc<ObserverMetrics>) -> Result<Self, Failure> {
        let observe = &arguments.observe;
        let path = observe.report.as_deref();
        let named = path.unwrap_or(Path::new("standard output"));
        let lines = Lines::open(path).map_err(|error| Failure::io(named, &error))?;
        let ring = observe.write.as_ref().map(|prefix| {
            Ring::open(ring::Rules {
                prefix: prefix.clone(),
                files: observe.ring_files as usize,
                bytes: observe.ring_size,
                time: observe.ring_time,
                interface: observe.interface.clone().unwrap_or_default(),
                writer: WRITER,
            })
        });
        Ok(Self {
            records: records(arguments),
            text: Vec::new(),
            lines,
            ring: ring.transpose()?,
            metrics: Arc::clone(metrics),
            is_closed: false,
            flows_told: Instant::now(),
        })
    }

    pub fn packet(&mut self, record: Record, conclusion: &Conclusion, keyring: &Keyring) {
        let (Some(info), Some((frame, _))) = (record.packet(), record.as_frame()) else {
            return;
        };
        let finding = Finding::new(&info, &frame, conclusion, keyring);
        // Writing to memory does not fail.
        let _ = self.records.packet(&finding, &mut self.text);
        if let Some(ring) = &mut self.ring {
            let (comment, json) = (finding.comment(), json::packet(&finding).to_string());
            let note = Note {
                comment: &comment,
                json: &json,
            };
            let kept = ring.write(record, note, Instant::now());
            tell(kept, ring);
        }
        if self.text.len() >= TEXT_BYTES {
            self.flush();
        }
    }

    pub fn flush(&mut self) {
        let text = std::mem::take(&mut self.text);
        match self.lines.write(&text) {
            Err(_) => self.is_closed = true,
            Ok(Wrote::Failed(error)) => {
                warn!("cannot write the report: {error}; verification goes on");
            }
            Ok(Wrote::Again) => {
                info!("the report goes on, without {} lines", self.lines.lost());
            }
            Ok(Wrote::All | Wrote::Failing) => {}
        }
        ObserverMetrics::reach(&self.metrics.lost_lines, self.lines.lost());
        self.text = text;
        self.text.clear();
    }

    /// Goes on in a new file.
    pub fn reopen(&mut self) {
        let _ = self.records.leave(&mut self.text);
        self.flush();
        if let Err(error) = self.lines.reopen() {
            warn!("cannot open the report again: {error}; its lines are lost until that works");
        }
    }

    pub fn tick(&mut self, flows: Option<Duration>) {
        if flows.is_some_and(|time| self.flows_told.elapsed() >= time) {
            self.flows_told = Instant::now();
            // Writing to memory does not fail.
            let _ = self.records.tick(&mut self.text);
            self.flush();
        }
        if let Some(ring) = &mut self.ring {
            let kept = ring.tick(Instant::now());
            tell(kept, ring);
            ObserverMetrics::reach(&self.metrics.unwritten, ring.unwritten());
        }
    }

    pub fn end_ring(&mut self) {
        if let Some(Err(failure)) = self.ring.as_mut().map(Ring::end) {
            warn!("{}: the last evidence file has no name", failure.message);
        }
    }

    pub fn end(&mut self, ending: &Ending<'_>) {
        if self.is_closed {
            return;
        }
        self.flush();
        let _: io::Result<()> = self.records.end(ending, &mut self.text);
        self.flush();
    }
}

fn tell(kept: Kept, ring: &Ring) {
    match kept {
        Kept::Yes | Kept::No => {}
        Kept::Failed(failure) => warn!(
            "{}; no evidence is kept until that works again",
            failure.message
        ),
        Kept::Again => info!(
            "evidence is kept again, without {} packets",
            ring.unwritten()
        ),
    }
}
