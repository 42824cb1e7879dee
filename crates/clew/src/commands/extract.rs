//! `clew extract`: one packet in full form, in a capture of its own.

use super::evidence::Evidence;
use super::restore::in_full;
use crate::capture::Capture;
use crate::cli::Extract;
use crate::failure::{Failure, Status};
use crate::groups::read_group_file;
use crate::output::Output;
use clew_capture::{PacketLengths, Record, Writer};

pub fn run(arguments: &Extract) -> Result<Status, Failure> {
    let (of, path) = (&arguments.of, &arguments.out.output);
    let group = read_group_file(&of.group)?;
    let mut capture = Capture::open(&of.input, "reading")?;
    let mut writer = Writer::new(
        Output::create(path, &of.input, arguments.out.force)?,
        PacketLengths::MayGrow,
    );
    let (mut packets, mut found) = (0, false);
    while let Some(batch) = capture.next_batch()? {
        for mut record in batch {
            let number = record.packet().map(|info| info.frame);
            packets = number.unwrap_or(packets);
            if number == Some(of.packet) {
                record = in_full(record, &of.input, of.packet, &group)?;
                Evidence::of_verified(&record, of.packet, &group)?;
                found = true;
            }
            if is_kept(&record, of.packet) {
                writer.write(&record).map_err(Failure::write)?;
            }
        }
    }
    if !found {
        let missing = format!(
            "packet {}: not found, the capture has {packets} packets",
            of.packet
        );
        return Err(Failure::file(&of.input, missing));
    }
    writer.finish().map_err(Failure::write)?.commit()?;
    let path = path.display();
    mention!("packet {}: valid, written to {path}", of.packet);
    Ok(Status::Yes)
}

/// The packet, and what is no packet: headers and the descriptions of interfaces.
fn is_kept(record: &Record, number: u64) -> bool {
    record.packet().is_none_or(|info| info.frame == number)
}
