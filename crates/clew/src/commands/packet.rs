//! Finding one packet of a capture by its number.

use crate::capture::Capture;
use crate::failure::Failure;
use clew_capture::Record;
use std::path::Path;

/// The record that holds packet `number`, as Wireshark numbers them.
pub fn find(path: &Path, number: u64) -> Result<Record, Failure> {
    let mut capture = Capture::open(path, "reading")?;
    let mut packets = 0;
    while let Some(batch) = capture.next_batch()? {
        for record in batch {
            match record.packet() {
                Some(info) if info.frame == number => return Ok(record),
                Some(info) => packets = info.frame,
                None => {}
            }
        }
    }
    let missing = format!("packet {number}: not found, the capture has {packets} packets");
    Err(Failure::file(path, missing))
}
