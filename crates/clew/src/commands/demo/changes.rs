//! What happens to packets on their way: somebody edits a capture, a router forwards.

use super::Stage;
use crate::capture::Capture;
use crate::failure::Failure;
use crate::output::Output;
use clew_capture::{NotExact, PacketLengths, Record};
use clew_engine::{AsFrame, captures};
use clew_packet::{Frame, flow};
use std::net::IpAddr;
use std::path::Path;

/// Writes a copy of a capture, each record as `change` leaves it.
pub fn copy(
    input: &Path,
    path: &Path,
    mut change: impl FnMut(&mut Record) -> Result<(), NotExact>,
) -> Result<(), Failure> {
    let mut capture = Capture::open(input, "copying")?;
    let output = Output::create(path, input, false)?;
    let (output, _) = captures::copy(&mut capture, output, PacketLengths::NeverGrow, |batch| {
        let changed = batch.iter_mut().try_for_each(&mut change);
        changed.map_err(|e| Failure::file(path, e))
    })?;
    Ok(output.commit()?)
}

/// Writes a copy of `signed.pcap` in which `change` replaced some packets.
pub fn edit(
    stage: &Stage,
    name: &str,
    change: impl Fn(u64, &Frame<'_>) -> Option<Vec<u8>>,
) -> Result<(), Failure> {
    copy(&stage.path("signed.pcap"), &stage.path(name), |record| {
        let number = record.packet().map_or(0, |info| info.frame);
        let changed = record
            .as_frame()
            .and_then(|(frame, _)| change(number, &frame));
        changed.map_or(Ok(()), |bytes| record.replace(&bytes))
    })
}

/// What a router does to the outermost IP header, which is found by its addresses.
pub fn forward(frame: &Frame<'_>) -> Option<Vec<u8>> {
    let flow = flow(frame).ok()?;
    let mut bytes = frame.bytes.to_vec();
    let (addresses, before) = match (flow.source, flow.destination) {
        (IpAddr::V4(s), IpAddr::V4(d)) => ([s.octets(), d.octets()].concat(), 12),
        (IpAddr::V6(s), IpAddr::V6(d)) => ([s.octets(), d.octets()].concat(), 8),
        _ => return None,
    };
    let at = bytes
        .windows(addresses.len())
        .position(|w| w == addresses)?
        .checked_sub(before)?;
    let header = &mut bytes[at..];
    if flow.source.is_ipv4() {
        header[1] |= 0xb8; // DSCP: expedited forwarding
        header[8] = header[8].wrapping_sub(1);
        let length = usize::from(header[0] & 0x0f) * 4;
        header[10..12].fill(0);
        let checksum = internet_checksum(header.get(..length)?);
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
    } else {
        header[0] |= 0x0b;
        header[7] = header[7].wrapping_sub(1);
    }
    Some(bytes)
}

fn internet_checksum(header: &[u8]) -> u16 {
    let words = header
        .chunks(2)
        .map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
