//! `clew show`

use super::fragments::Whole;
use super::packet;
use crate::cli::Show;
use crate::clock;
use crate::failure::{Failure, Status};
use crate::report;
use clew_engine::AsFrame;
use clew_packet::{Block, Carrier, SignedPacket, Summary, flow, read};
use clew_wire::Hex;

pub fn run(arguments: &Show) -> Result<Status, Failure> {
    let Whole { record, numbers } = packet::find(&arguments.input, arguments.packet)?;
    let number = arguments.packet;
    let (frame, time) = record
        .as_frame()
        .ok_or_else(|| Failure::new("not a packet"))?;
    let captured = time.map_or("without a time".to_owned(), |t| clock::to_the_second(t.0));
    say!("packet {number}, {} bytes, {captured}", frame.bytes.len());
    if let [parts @ .., last] = numbers.as_slice()
        && !parts.is_empty()
    {
        let parts: Vec<String> = parts.iter().map(u64::to_string).collect();
        say!("put together from packets {} and {last}", parts.join(", "));
    }
    if let Ok(flow) = flow(&frame) {
        say!("{}", report::endpoints(&flow));
    }
    match read(&frame) {
        Ok(packet) => {
            describe(&packet);
            Ok(Status::Yes)
        }
        Err(reason) => {
            say!("no readable trailer: {reason}, {}", report::explain(reason));
            Ok(Status::No)
        }
    }
}

/// Which packet of its window or block it is.
fn place(block: &Block<'_>) -> String {
    match block {
        Block::Each => String::new(),
        Block::Window { k: 1, .. } => ": this packet alone".to_owned(),
        Block::Window { k, .. } => format!(": this packet and the {} before it in its flow", k - 1),
        Block::Tree { block, index, .. } => {
            let (number, count, id) = (index + 1, block.count(), Hex(block.id()));
            format!(": packet {number} of {count} of block {id}")
        }
    }
}

fn describe(packet: &SignedPacket<'_>) {
    let Summary {
        group,
        epoch,
        timestamp,
        mode,
        marks,
        ..
    } = packet.summary();
    let summary = packet.summary();
    let trailer = packet.trailer();
    match trailer.carrier {
        Carrier::Trailer => say!("trailer of {} bytes (not verified here)", trailer.length()),
        carrier => {
            let (carrier, length) = (carrier.as_str(), trailer.length());
            say!("{carrier} with head and tail of {length} bytes (not verified here)");
            say!("  packet     {}", report::endpoints(&packet.flow()));
        }
    }
    say!("  scheme     {}", report::scheme(&summary));
    say!("  mode       {}{}", mode.as_str(), place(&trailer.block));
    say!("  group      {group}.. (first 8 bytes of its id)");
    say!("  epoch      {epoch}");
    match timestamp.0 {
        0 => say!("  signed at  not stated"),
        ns => say!("  signed at  {} (rounded down)", clock::to_the_second(ns)),
    }
    let sources = if summary.nat {
        "not signed (nat)"
    } else {
        "signed"
    };
    say!("  source     address and port are {sources}");
    if summary.tolerant {
        say!("  tolerant   ECN flags and the MSS value are not signed");
    }
    match trailer.coded() {
        None => {
            let (bytes, start) = (trailer.body.len(), Hex(&trailer.body[..16]));
            say!("  carriage   full: the signature is in this packet");
            say!("  signature  {bytes} bytes, starts {start}");
        }
        Some(coded) => {
            let (share, tag, digest) = (coded.share.len(), coded.tag.len(), coded.digest_bytes());
            let needed = coded.needed();
            say!("  carriage   coded: any {needed} packets of the block restore the signature");
            say!("  share      {share} bytes, with a tag of {tag} bytes ({digest} for each level)");
        }
    }
    if marks > 0 {
        say!("  marks      {marks} later signing runs copied this packet");
    }
}
