//! Undoing one run of signing on a capture.

use crate::capture::{Capture, frame};
use crate::failure::Failure;
use clew_capture::{PacketLengths, Record, Sink, Writer};
use clew_packet::{Stripped, strip};

/// What strip did.
#[derive(Debug, Default)]
pub struct StripReport {
    /// All packets.
    pub packets: u64,
    /// Packets whose trailer was removed.
    pub stripped: u64,
    /// Packets whose mark was lowered: signed by another run.
    pub unmarked: u64,
    /// What is wrong with the file, in a sentence.
    pub damage: Option<String>,
}

/// Strips a capture into `sink`.
pub fn strip_capture<S: Sink>(mut capture: Capture, sink: S) -> Result<(StripReport, S), Failure> {
    let mut writer = Writer::new(sink, PacketLengths::NeverGrow);
    let mut report = StripReport::default();
    let mut out = Vec::new();
    while let Some(batch) = capture.next_batch()? {
        for mut record in batch {
            report.strip(&mut record, &mut out);
            writer.write(&record).map_err(Failure::write)?;
        }
    }
    report.damage = capture.damage().map(ToString::to_string);
    let sink = writer.finish().map_err(Failure::write)?;
    Ok((report, sink))
}

impl StripReport {
    fn strip(&mut self, record: &mut Record, out: &mut Vec<u8>) {
        let Some((frame, _)) = frame(record) else {
            return;
        };
        self.packets += 1;
        let stripped = strip(&frame, out);
        // What signing could write, stripping can: the container was found exact then.
        if stripped == Stripped::Trailer && record.replace(out).is_ok() {
            self.stripped += 1;
        } else if stripped == Stripped::Mark && record.replace(out).is_ok() {
            self.unmarked += 1;
        }
    }
}
