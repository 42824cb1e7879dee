//! The packets that a signature covers, in a capture of their own.

use super::{PCAP, PCAPNG};
use crate::capture::Capture;
use crate::commands::coverage::Coverage;
use crate::commands::fragments::Fragments;
use crate::failure::Failure;
use clew_capture::{PacketLengths, Writer};
use clew_report::BUNDLE_MAX;
use std::collections::BTreeSet;
use std::path::Path;

/// First bytes of a section header block.
const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// The frames of all packets that the signature covers: of a packet in fragments, each.
pub fn covered(path: &Path, coverage: &Coverage) -> Result<BTreeSet<u64>, Failure> {
    let packets: BTreeSet<u64> = coverage.packets.iter().copied().collect();
    let (mut frames, mut fragments) = (BTreeSet::new(), Fragments::new());
    let mut capture = Capture::open(path, "looking for the packets")?;
    while let Some(batch) = capture.next_batch()? {
        for whole in batch
            .into_iter()
            .filter_map(|record| fragments.take(record))
        {
            if whole
                .numbers
                .first()
                .is_some_and(|first| packets.contains(first))
            {
                frames.extend(whole.numbers);
            }
        }
    }
    Ok(frames)
}

/// Copies frames with the headers of their capture, byte for byte.
pub fn copy(path: &Path, frames: &BTreeSet<u64>) -> Result<Vec<u8>, Failure> {
    let mut writer = Writer::new(Vec::new(), PacketLengths::NeverGrow);
    let mut capture = Capture::open(path, "copying the packets")?;
    let mut left = BUNDLE_MAX;
    while let Some(batch) = capture.next_batch()? {
        for record in batch {
            let is_wanted = record
                .packet()
                .is_none_or(|info| frames.contains(&info.frame));
            if !is_wanted {
                continue;
            }
            let too_long = || Failure::file(path, "more than 64 MiB of it would be in the bundle");
            left = left
                .checked_sub(record.bytes().len())
                .ok_or_else(too_long)?;
            writer.write(&record).map_err(Failure::write)?;
        }
    }
    writer.finish().map_err(Failure::write)
}

/// The name of a capture's file in a bundle.
pub fn name(capture: &[u8]) -> &'static str {
    match capture.starts_with(&SECTION) {
        true => PCAPNG,
        false => PCAP,
    }
}
