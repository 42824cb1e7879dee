//! Writes records, and corrects header fields that depend on later records.

use std::io::{self, Write};

use crate::bytes::ByteOrder;
use crate::pcapng::section::{LENGTH, LENGTH_UNSTATED};
use crate::record::{Kind, Packet, Record};
use crate::{PIPE_SNAPLEN, pcap, pcapng};

/// The output of a capture: a stream of bytes, some of which can be corrected later.
pub trait Sink: Write {
    /// Returns whether [`Sink::patch`] works; a pipe cannot go back.
    fn can_patch(&self) -> bool;

    /// Overwrites bytes already written, at `offset` from the first; further writes still append.
    fn patch(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Returns the greatest length of a packet to come, in bytes, if it is known.
    fn longest(&self) -> Option<u32> {
        None
    }

    /// Tells that a snap length was raised in front: nothing restores it.
    fn raised(&mut self, _snaplen: u32) {}
}

impl Sink for Vec<u8> {
    fn can_patch(&self) -> bool {
        true
    }

    fn patch(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let target = usize::try_from(offset)
            .ok()
            .and_then(|start| self.get_mut(start..)?.get_mut(..bytes.len()))
            .ok_or(io::ErrorKind::InvalidInput)?;
        target.copy_from_slice(bytes);
        Ok(())
    }
}

/// What the caller does to packets. It matters on a pipe only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketLengths {
    /// Packets may become longer than they were read.
    MayGrow,
    /// Packets stay or become shorter, so that no snap length need rise.
    NeverGrow,
}

/// Writes a capture from its records: all of them, in the order in which they were read.
///
/// Two fields follow the packets. A nonzero **snap length** rises to the longest packet that has
/// grown beyond it, unless simple packet blocks were cut by it: their captured length is derived
/// from it. A **section length** that was true of the input becomes true of the output.
///
/// A sink that cannot be patched gets both up front: a snap length of at least
/// [`PIPE_SNAPLEN`] if packets may grow beyond theirs, and an unstated section length. If a cut simple packet
/// block follows then, writing it is an error, because it would be misread.
pub struct Writer<W: Sink> {
    sink: W,
    lengths: PacketLengths,
    /// Bytes written so far, and bytes of the input that they stand for.
    at: Position,
    section: Section,
}

#[derive(Clone, Copy, Default)]
struct Position {
    written: u64,
    read: u64,
}

/// What may have to be corrected when the section ends. A pcap file is a section with one interface.
#[derive(Default)]
struct Section {
    length: Option<SectionLength>,
    interfaces: Vec<Interface>,
}

struct SectionLength {
    field_at: u64,
    order: ByteOrder,
    stated: u64,
    body: Position,
}

struct Interface {
    field_at: u64,
    order: ByteOrder,
    snaplen: u32,
    grown_max: u32,
    raised_in_front: bool,
    has_cut_simple: bool,
}

/// A field of a record that is written with another value: its offset in the record, and its bytes.
type Change = (usize, Vec<u8>);

impl<W: Sink> Writer<W> {
    /// Begins a capture at the current end of `sink`, which must be empty if it can be patched.
    pub fn new(sink: W, lengths: PacketLengths) -> Self {
        Self {
            sink,
            lengths,
            at: Position::default(),
            section: Section::default(),
        }
    }

    /// Writes one record.
    pub fn write(&mut self, record: &Record) -> io::Result<()> {
        let change = match &record.kind {
            Kind::Section(order) => {
                self.end_section()?;
                self.begin_section(record, *order)
            }
            Kind::Pcap(header) => self.add_interface(record, header.order, pcap::header::SNAPLEN),
            Kind::Interface(order) => {
                self.add_interface(record, *order, pcapng::interface::SNAPLEN)
            }
            Kind::Packet(packet) => {
                self.section.note(packet)?;
                None
            }
            Kind::Other | Kind::Opaque => None,
        };
        self.put(&record.raw, change)?;
        self.at.read += record.read_len as u64;
        Ok(())
    }

    /// Returns the sink, which has all records so far.
    pub(crate) fn sink(&mut self) -> &mut W {
        &mut self.sink
    }

    /// Corrects what has to be, flushes, and returns the sink.
    pub fn finish(mut self) -> io::Result<W> {
        self.end_section()?;
        self.sink.flush()?;
        Ok(self.sink)
    }

    fn put(&mut self, raw: &[u8], change: Option<Change>) -> io::Result<()> {
        match change {
            None => self.sink.write_all(raw)?,
            Some((at, field)) => {
                self.sink.write_all(&raw[..at])?;
                self.sink.write_all(&field)?;
                self.sink.write_all(&raw[at + field.len()..])?;
            }
        }
        self.at.written += raw.len() as u64;
        Ok(())
    }

    fn begin_section(&mut self, record: &Record, order: ByteOrder) -> Option<Change> {
        let stated = order.u64(&record.raw, LENGTH);
        if stated == LENGTH_UNSTATED {
            return None;
        }
        if !self.sink.can_patch() {
            return Some((LENGTH, order.u64_bytes(LENGTH_UNSTATED).to_vec()));
        }
        let body = Position {
            written: self.at.written + record.raw.len() as u64,
            read: self.at.read + record.read_len as u64,
        };
        let field_at = self.at.written + LENGTH as u64;
        self.section.length = Some(SectionLength {
            field_at,
            order,
            stated,
            body,
        });
        None
    }

    fn add_interface(
        &mut self,
        record: &Record,
        order: ByteOrder,
        snaplen_at: usize,
    ) -> Option<Change> {
        let snaplen = order.u32(&record.raw, snaplen_at);
        let longest = self.sink.longest().unwrap_or(PIPE_SNAPLEN);
        let raised_in_front = !self.sink.can_patch()
            && self.lengths == PacketLengths::MayGrow
            && (1..longest.min(PIPE_SNAPLEN)).contains(&snaplen);
        if raised_in_front {
            self.sink.raised(snaplen);
        }
        self.section.interfaces.push(Interface {
            field_at: self.at.written + snaplen_at as u64,
            order,
            snaplen,
            grown_max: 0,
            raised_in_front,
            has_cut_simple: false,
        });
        raised_in_front.then(|| (snaplen_at, order.u32_bytes(PIPE_SNAPLEN).to_vec()))
    }

    fn end_section(&mut self) -> io::Result<()> {
        let section = std::mem::take(&mut self.section);
        if !self.sink.can_patch() {
            return Ok(());
        }
        for interface in section
            .interfaces
            .iter()
            .filter(|interface| interface.must_rise())
        {
            let field = interface.order.u32_bytes(interface.grown_max);
            self.sink.patch(interface.field_at, &field)?;
        }
        match section.length {
            Some(length) => self.correct_length(&length),
            None => Ok(()),
        }
    }

    fn correct_length(&mut self, length: &SectionLength) -> io::Result<()> {
        let read = self.at.read - length.body.read;
        let written = self.at.written - length.body.written;
        if length.stated != read || written == read {
            return Ok(());
        }
        self.sink
            .patch(length.field_at, &length.order.u64_bytes(written))
    }
}

impl Section {
    fn note(&mut self, packet: &Packet) -> io::Result<()> {
        let Some(interface) = self.interfaces.get_mut(packet.info.interface as usize) else {
            return Ok(());
        };
        if packet.is_cut_simple() {
            if interface.raised_in_front {
                return Err(io::Error::new(
                    io::ErrorKind::Unsupported,
                    "cannot write to a pipe: the snap length cuts simple packet blocks; \
                     write it to a file",
                ));
            }
            interface.has_cut_simple = true;
        }
        if packet.len > packet.read_len {
            interface.grown_max = interface.grown_max.max(packet.len as u32);
        }
        Ok(())
    }
}

impl Interface {
    fn must_rise(&self) -> bool {
        self.snaplen != 0 && self.grown_max > self.snaplen && !self.has_cut_simple
    }
}
