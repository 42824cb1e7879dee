//! Writes any capture as pcapng with a note on each packet.

use std::io;

use crate::bytes::ByteOrder;
use crate::clock::Clock;
use crate::pcap;
use crate::pcapng::{self, block, enhanced, interface, option, section};
use crate::record::{Form, Kind, Packet, Record};
use crate::writer::{PacketLengths, Sink, Writer};
use crate::{ENTERPRISE_NUMBER, RECORD_LEN_MAX};

/// How every comment of a note begins.
pub const COMMENT_START: &str = "clew: ";

/// What no comment of others says, in lower case and without what is not seen.
const COMMENT_MARK: &[u8] = b"clew:";

/// A note on one packet.
#[derive(Clone, Copy, Debug)]
pub struct Note<'a> {
    /// A line for people: the packet's comment, `frame.comment` in Wireshark. Begins with
    /// [`COMMENT_START`].
    pub comment: &'a str,
    /// A JSON object for programs, whose first member is `packet`: a custom string option under [`ENTERPRISE_NUMBER`].
    pub json: &'a str,
}

/// Writes a capture as pcapng, with a comment in each section header and a note on each packet.
///
/// A pcapng input keeps all its blocks and options, but notes like ours: those of an earlier run, or
/// of somebody who wants to be believed. Ours come first in their lists. A pcap input
/// becomes one section with one interface of the same link type and time resolution. The opaque
/// rest of a damaged capture is left out, because no program could read beyond it.
///
/// Simple packet blocks stay without a note: they cannot hold options, and an enhanced block would
/// need a time that nobody knows. Verdict and hash options and custom blocks are never written:
/// common programs drop or corrupt the first two and number the third as packets.
pub struct Annotated<W: Sink> {
    writer: Writer<W>,
    section_comment: String,
    /// Set while the input is pcap.
    pcap: Option<pcap::Header>,
}

impl<W: Sink> Annotated<W> {
    /// Begins a capture whose sections carry a comment, which should name the program.
    pub fn new(sink: W, section_comment: &str) -> Self {
        Self {
            writer: Writer::new(sink, PacketLengths::NeverGrow),
            section_comment: section_comment.to_owned(),
            pcap: None,
        }
    }

    /// Writes one record, with a note if it is a packet and there is one to add.
    ///
    /// Returns whether the note was written. It is not where the record cannot hold one: it is no
    /// packet, a simple packet block, or would become too large.
    pub fn write(&mut self, mut record: Record, note: Option<Note<'_>>) -> io::Result<bool> {
        let mut noted = false;
        match &record.kind {
            Kind::Opaque => return Ok(false),
            Kind::Pcap(header) => {
                self.pcap = Some(*header);
                let section =
                    Record::new(section_header(header.order), Kind::Section(header.order));
                self.write(section, None)?;
                record = Record::new(interface_description(header), Kind::Interface(header.order));
            }
            Kind::Section(order) => {
                let options = comment(*order, &self.section_comment);
                insert_options(*order, &mut record.raw, section::OPTIONS, options);
            }
            Kind::Packet(packet) => {
                if let Some(header) = &self.pcap {
                    record = enhanced_packet(header, packet, &record);
                }
                noted = note.is_some_and(|note| add_note(&mut record, &note));
            }
            Kind::Interface(_) | Kind::Other => {}
        }
        self.writer.write(&record)?;
        Ok(noted)
    }

    /// Returns the sink, which has all records so far.
    pub fn sink(&mut self) -> &mut W {
        self.writer.sink()
    }

    /// Finishes the capture and returns the sink.
    pub fn finish(self) -> io::Result<W> {
        self.writer.finish()
    }
}

fn add_note(record: &mut Record, note: &Note<'_>) -> bool {
    let Kind::Packet(packet) = &record.kind else {
        return false;
    };
    if packet.form == Form::Simple {
        return false;
    }
    let (order, at) = (packet.order, packet.padded_end());
    pcapng::drop_options(order, &mut record.raw, at, |code, value| {
        is_note(order, code, value)
    });
    insert_options(order, &mut record.raw, at, note_options(order, note))
}

fn is_note(order: ByteOrder, code: u16, value: &[u8]) -> bool {
    match code {
        option::COMMENT => {
            // A filter, or a reader, may see no difference: blanks, hidden characters, capitals.
            let seen = value.iter().filter(|byte| byte.is_ascii_graphic());
            let seen: Vec<u8> = seen.map(u8::to_ascii_lowercase).collect();
            let mut parts = seen.windows(COMMENT_MARK.len());
            parts.any(|part| part == COMMENT_MARK)
        }
        // An object, however it is written.
        option::CUSTOM_STRING | option::CUSTOM_STRING_KEPT => value
            .strip_prefix(&order.u32_bytes(ENTERPRISE_NUMBER))
            .is_some_and(|text| text.contains(&b'{')),
        _ => false,
    }
}

/// Puts options, if they could be encoded, in front of those that a block has from `at` on.
/// Leaves the block alone if it became too large.
fn insert_options(
    order: ByteOrder,
    raw: &mut Vec<u8>,
    at: usize,
    options: Option<Vec<u8>>,
) -> bool {
    let Some(mut options) = options else {
        return false;
    };
    if at == pcapng::body_end(raw) {
        options.extend(END_OF_OPTIONS);
    }
    if raw.len() + options.len() > RECORD_LEN_MAX {
        return false;
    }
    raw.splice(at..at, options);
    pcapng::put_total_length(order, raw);
    true
}

/// Code and length zero: the same in both byte orders.
pub(crate) const END_OF_OPTIONS: [u8; option::HEADER_LEN] = [0; option::HEADER_LEN];

fn note_options(order: ByteOrder, note: &Note<'_>) -> Option<Vec<u8>> {
    let json = [&order.u32_bytes(ENTERPRISE_NUMBER), note.json.as_bytes()].concat();
    let mut options = comment(order, note.comment)?;
    options.extend(encode_option(order, option::CUSTOM_STRING, &json)?);
    Some(options)
}

fn comment(order: ByteOrder, text: &str) -> Option<Vec<u8>> {
    encode_option(order, option::COMMENT, text.as_bytes())
}

/// Returns nothing for a value longer than an option can hold.
pub(crate) fn encode_option(order: ByteOrder, code: u16, value: &[u8]) -> Option<Vec<u8>> {
    let len = u16::try_from(value.len()).ok()?;
    let mut encoded = [order.u16_bytes(code), order.u16_bytes(len)].concat();
    encoded.extend(value);
    encoded.resize(encoded.len() + pcapng::padding(value.len()), 0);
    Some(encoded)
}

pub(crate) fn section_header(order: ByteOrder) -> Vec<u8> {
    let mut raw = begin_block(order, block::SECTION);
    raw.extend(order.u32_bytes(section::MAGIC));
    raw.extend(order.u16_bytes(1));
    raw.extend(order.u16_bytes(0));
    raw.extend(order.u64_bytes(section::LENGTH_UNSTATED));
    debug_assert_eq!(raw.len(), section::OPTIONS);
    end_block(order, raw)
}

fn interface_description(header: &pcap::Header) -> Vec<u8> {
    let order = header.order;
    let mut raw = begin_block(order, block::INTERFACE);
    raw.extend(order.u16_bytes(header.link));
    raw.extend(order.u16_bytes(0));
    raw.extend(order.u32_bytes(header.snaplen));
    debug_assert_eq!(raw.len(), interface::OPTIONS);
    if header.clock != Clock::MICROSECONDS {
        let resolution = [header.clock.resolution];
        raw.extend(
            encode_option(order, option::INTERFACE_RESOLUTION, &resolution)
                .into_iter()
                .flatten(),
        );
        raw.extend(END_OF_OPTIONS);
    }
    end_block(order, raw)
}

/// Returns the record of a pcap file as an enhanced packet block.
fn enhanced_packet(header: &pcap::Header, packet: &Packet, record: &Record) -> Record {
    let order = header.order;
    let ticks = header.ticks(&record.raw);
    let mut raw = begin_block(order, block::ENHANCED);
    raw.extend(order.u32_bytes(0));
    raw.extend(order.u32_bytes((ticks >> 32) as u32));
    raw.extend(order.u32_bytes(ticks as u32));
    // Captured and wire length, as they are.
    raw.extend(&record.raw[pcap::record::CAPTURED..pcap::record::DATA]);
    debug_assert_eq!(raw.len(), enhanced::DATA);
    raw.extend(record.data());
    raw.resize(raw.len() + pcapng::padding(packet.len), 0);
    let packet = Packet {
        form: Form::Enhanced,
        ..packet.clone()
    };
    Record::new(end_block(order, raw), Kind::Packet(packet))
}

/// Type and room for the length.
pub(crate) fn begin_block(order: ByteOrder, block_type: u32) -> Vec<u8> {
    [order.u32_bytes(block_type), [0; 4]].concat()
}

pub(crate) fn end_block(order: ByteOrder, mut raw: Vec<u8>) -> Vec<u8> {
    raw.extend([0; 4]);
    pcapng::put_total_length(order, &mut raw);
    raw
}
