//! The classic format: one file header, then records of a header and a packet.

use std::io::Read;

use crate::PACKET_LEN_MAX;
use crate::bytes::ByteOrder;
use crate::clock::Clock;
use crate::error::{Fault, Stop};
use crate::reader::Source;
use crate::record::{Form, Kind, Packet, PacketInfo};

/// The file header.
pub(crate) mod header {
    pub(crate) const SNAPLEN: usize = 16;
    pub(crate) const NETWORK: usize = 20;
    pub(crate) const LEN: usize = 24;
}

/// The header of a record, and where its packet begins.
pub(crate) mod record {
    pub(crate) const SECONDS: usize = 0;
    pub(crate) const FRACTION: usize = 4;
    pub(crate) const CAPTURED: usize = 8;
    pub(crate) const WIRE: usize = 12;
    pub(crate) const DATA: usize = 16;
}

/// `network` holds the link type in its low bits; above are flags on frame check sequences.
const LINK_MASK: u32 = 0xffff;

const MICROSECOND_MAGIC: u32 = 0xa1b2_c3d4;
const NANOSECOND_MAGIC: u32 = 0xa1b2_3c4d;

/// What a file header says, for all records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub(crate) order: ByteOrder,
    pub(crate) clock: Clock,
    pub(crate) link: u16,
    pub(crate) snaplen: u32,
}

impl Header {
    /// Returns the time of a raw record in ticks of the file's clock.
    pub(crate) fn ticks(&self, raw: &[u8]) -> u64 {
        let ticks_per_second = match self.clock {
            Clock::NANOSECONDS => 1_000_000_000,
            _ => 1_000_000,
        };
        let seconds = u64::from(self.order.u32(raw, record::SECONDS));
        let fraction = u64::from(self.order.u32(raw, record::FRACTION));
        seconds * ticks_per_second + fraction
    }
}

/// Moves a raw record's time.
pub(crate) fn put_seconds(order: ByteOrder, raw: &mut [u8], seconds: i64) -> Option<()> {
    let moved = i64::from(order.u32(raw, record::SECONDS)).checked_add(seconds)?;
    order.put_u32(raw, record::SECONDS, u32::try_from(moved).ok()?);
    Some(())
}

/// A pcap file being read.
pub(crate) struct Pcap {
    order: ByteOrder,
    clock: Clock,
    header: Option<Header>,
}

impl Pcap {
    /// Recognises a file by its first four bytes.
    pub(crate) fn with_magic(magic: [u8; 4]) -> Option<Self> {
        let (order, clock) = [ByteOrder::Little, ByteOrder::Big]
            .into_iter()
            .find_map(|order| match order.u32(&magic, 0) {
                MICROSECOND_MAGIC => Some((order, Clock::MICROSECONDS)),
                NANOSECOND_MAGIC => Some((order, Clock::NANOSECONDS)),
                _ => None,
            })?;
        Some(Self {
            order,
            clock,
            header: None,
        })
    }

    /// Reads the file header or the next record into `raw`. Returns `None` at the end of the file.
    pub(crate) fn read<R: Read>(
        &mut self,
        source: &mut Source<R>,
        raw: &mut Vec<u8>,
    ) -> Result<Option<Kind>, Stop> {
        match self.header {
            None => self.read_header(source, raw).map(Some),
            Some(header) => read_record(&header, source, raw),
        }
    }

    fn read_header<R: Read>(
        &mut self,
        source: &mut Source<R>,
        raw: &mut Vec<u8>,
    ) -> Result<Kind, Stop> {
        source.fill(raw, header::LEN)?;
        let header = Header {
            order: self.order,
            clock: self.clock,
            link: (self.order.u32(raw, header::NETWORK) & LINK_MASK) as u16,
            snaplen: self.order.u32(raw, header::SNAPLEN),
        };
        self.header = Some(header);
        Ok(Kind::Pcap(header))
    }
}

fn read_record<R: Read>(
    header: &Header,
    source: &mut Source<R>,
    raw: &mut Vec<u8>,
) -> Result<Option<Kind>, Stop> {
    if !source.begin(raw, record::DATA)? {
        return Ok(None);
    }
    let captured = header.order.u32(raw, record::CAPTURED);
    if captured as usize > PACKET_LEN_MAX {
        return Err(Fault::TooLong(captured).into());
    }
    source.fill(raw, record::DATA + captured as usize)?;
    Ok(Some(Kind::Packet(Packet {
        info: PacketInfo {
            frame: 0,
            interface: 0,
            link: header.link,
            wire_len: header.order.u32(raw, record::WIRE),
            time_ns: header.clock.time_ns(header.ticks(raw)),
        },
        form: Form::Pcap,
        order: header.order,
        clock: header.clock,
        snaplen: header.snaplen,
        len: captured as usize,
        read_len: captured as usize,
    })))
}
