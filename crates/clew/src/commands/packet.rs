//! Finding one packet of a capture by its number.

use super::fragments::{Fragments, Whole};
use crate::capture::Capture;
use crate::failure::Failure;
use std::path::Path;

/// The record that holds packet `number`, as Wireshark numbers them. If that is a fragment, it is the
/// whole packet instead, as far as the capture has it, with the numbers of all its fragments.
pub fn find(path: &Path, number: u64) -> Result<Whole, Failure> {
    let mut capture = Capture::open(path, "reading")?;
    let (mut packets, mut fragments, mut part) = (0, Fragments::new(), None);
    while let Some(batch) = capture.next_batch()? {
        for record in batch {
            packets = record.packet().map_or(packets, |info| info.frame);
            let is_it = packets == number && record.packet().is_some();
            part = part.or_else(|| is_it.then(|| record.clone()));
            match fragments.take(record) {
                Some(whole) if whole.numbers.contains(&number) => return Ok(whole),
                _ => {}
            }
        }
    }
    let missing = format!("packet {number}: not found, the capture has {packets} packets");
    let part = part.ok_or_else(|| Failure::file(path, missing))?;
    Ok(Whole {
        record: part,
        numbers: vec![number],
    })
}
