//! Hashing the packets of a capture and nothing else: no program that hashes each packet once can be
//! faster.

use crate::measure::Case;
use crate::options::Options;
use crate::report;
use clew_capture::{CaptureError, Reader, Record};
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::hint::black_box;
use std::io;
use std::path::Path;

/// The row's name.
pub const ROW: &str = "sha256";

/// Runs the program.
pub fn run(options: &Options) -> io::Result<()> {
    let path = options.capture.as_deref();
    let path = path.ok_or_else(|| io::Error::other("sha256 needs a --capture"))?;
    let packets = packets(path)?;
    let hash = |packet: &Record| {
        black_box(Sha256::digest(packet.data()));
    };
    let case = Case::new(ROW, "a packet, all threads at work", || {
        packets.par_iter().for_each(hash);
    });
    report::run(options, &[], vec![case.each_of(packets.len())])
}

/// The packets of a capture.
pub fn packets(path: &Path) -> io::Result<Vec<Record>> {
    let unreadable = |error: CaptureError| io::Error::other(error.to_string());
    let records: io::Result<Vec<Record>> = Reader::new(File::open(path)?)
        .map_err(unreadable)?
        .collect();
    let mut packets = records?;
    packets.retain(|record| record.packet().is_some());
    if packets.is_empty() {
        return Err(io::Error::other("the capture has no packets"));
    }
    Ok(packets)
}
