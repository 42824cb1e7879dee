//! Packets in coded carriage, brought into full form by the others of their block.

use super::evidence::conclude;
use super::fragments::Fragments;
use crate::capture::Capture;
use crate::failure::Failure;
use crate::output::STANDARD_STREAM;
use clew_capture::Record;
use clew_engine::AsFrame;
use clew_evidence::GroupFile;
use clew_packet::{Carriage, Reason, Restorer, SignedPacket, read};
use std::collections::BTreeSet;
use std::path::Path;

/// Packet `number` of a capture, found in that record, in full form: verifiable alone. What is in full
/// form, or has no readable trailer, comes back as it is. The signature holds, unless the group's key
/// is not known here.
pub fn in_full(
    record: Record,
    path: &Path,
    number: u64,
    group: &GroupFile,
) -> Result<Record, Failure> {
    let Some((frame, _)) = record.as_frame() else {
        return Ok(record);
    };
    let coded = read(&frame).ok();
    let Some(packet) = coded.filter(|p| p.trailer().carriage != Carriage::Full) else {
        return Ok(record);
    };
    let share = format!("packet {number} has only a part of its block's signature");
    if path == Path::new(STANDARD_STREAM) {
        let failure = Failure::new(format!("{share}, and the capture must be read again"));
        return Err(failure.hint("save it to a file first"));
    }
    let (mut block, mut fragments) = (Block::of(&packet), Fragments::new());
    let mut capture = Capture::open(path, "restoring the signature")?;
    while let Some(batch) = capture.next_batch()? {
        for other in batch.into_iter().filter_map(|r| fragments.take(r)) {
            let Some(signature) = block.take(&other.record) else {
                continue;
            };
            let full = with_signature(&record, &packet, &signature)?;
            let reason = conclude(&full, group).reason;
            if !matches!(reason, Reason::BadSignature | Reason::BadEncoding) {
                return Ok(full);
            }
            block.refused = true;
        }
    }
    let (here, needed) = (block.shares.len(), block.needed);
    Err(match block.refused {
        true => Failure::new(format!("{share}, and the restored signature is invalid")).no(),
        false => Failure::new(format!(
            "{share}: need {needed} parts to restore it, have {here}"
        )),
    })
}

/// The record with its packet in full form.
fn with_signature(
    record: &Record,
    packet: &SignedPacket<'_>,
    signature: &[u8],
) -> Result<Record, Failure> {
    let (mut full, mut bytes) = (record.clone(), Vec::new());
    let too_long = |why: &dyn std::fmt::Display| {
        Failure::new(format!("the packet does not fit in its full form: {why}"))
    };
    let written = packet.in_full(signature, &mut bytes);
    written.map_err(|reason| too_long(&reason))?;
    full.replace(&bytes).map_err(|error| too_long(&error))?;
    Ok(full)
}

/// The block of one packet.
struct Block {
    message: Vec<u8>,
    /// The form of its signature: another one is another blob.
    incremental: bool,
    needed: u16,
    restorer: Restorer<()>,
    /// Indices of the shares seen.
    shares: BTreeSet<u16>,
    /// Whether a signature was restored that did not hold.
    refused: bool,
}

impl Block {
    fn of(packet: &SignedPacket<'_>) -> Self {
        Self {
            message: message(packet),
            incremental: packet.trailer().incremental,
            needed: packet.trailer().coded().map_or(0, |coded| coded.needed()),
            restorer: Restorer::new(),
            shares: BTreeSet::new(),
            refused: false,
        }
    }

    /// A signature of the block that the packet in a record carries or completes.
    fn take(&mut self, record: &Record) -> Option<Vec<u8>> {
        let (frame, _) = record.as_frame()?;
        let packet = read(&frame).ok()?;
        let is_same = packet.trailer().incremental == self.incremental;
        if !is_same || message(&packet) != self.message {
            return None;
        }
        let Some(coded) = packet.trailer().coded() else {
            return Some(packet.trailer().body.to_vec());
        };
        self.shares.insert(coded.index());
        Some(self.restorer.take(&packet, ())?.signature)
    }
}

fn message(packet: &SignedPacket<'_>) -> Vec<u8> {
    let mut message = Vec::new();
    packet.write_message(&mut message);
    message
}
