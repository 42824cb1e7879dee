//! `clew extract`: one packet in full form, in a capture of its own.

use super::evidence::Evidence;
use super::fragments::Fragments;
use super::restore::in_full;
use crate::capture::Capture;
use crate::cli::Extract;
use crate::failure::{Failure, Status};
use crate::groups::read_group_file;
use crate::output::Output;
use clew_capture::{PacketLengths, Writer};
use clew_packet::Reason;

pub fn run(arguments: &Extract) -> Result<Status, Failure> {
    let (of, path) = (&arguments.of, &arguments.out.output);
    let group = read_group_file(&of.group)?;
    let mut capture = Capture::open(&of.input, "reading")?;
    let mut writer = Writer::new(
        Output::create(path, &of.input, arguments.out.force)?,
        PacketLengths::MayGrow,
    );
    let (mut packets, mut found, mut fragments) = (0, false, Fragments::new());
    while let Some(batch) = capture.next_batch()? {
        for record in batch {
            let Some(info) = record.packet() else {
                // Headers and the descriptions of interfaces.
                writer.write(&record).map_err(Failure::write)?;
                continue;
            };
            packets = info.frame;
            let whole = fragments.take(record);
            let Some(whole) = whole.filter(|whole| whole.numbers.contains(&of.packet)) else {
                continue;
            };
            let full = in_full(whole.record, &of.input, of.packet, &group)?;
            Evidence::of_verified(&full, of.packet, &group)?;
            writer.write(&full).map_err(Failure::write)?;
            found = true;
        }
    }
    if !found {
        let missing = match packets < of.packet {
            true => format!("not found, the capture has {packets} packets"),
            false => format!("{}", Reason::MissingFragment),
        };
        let missing = format!("packet {}: {missing}", of.packet);
        return Err(Failure::file(&of.input, missing));
    }
    writer.finish().map_err(Failure::write)?.commit()?;
    let path = path.display();
    mention!("packet {}: valid, written to {path}", of.packet);
    Ok(Status::Yes)
}
