//! One record of a capture, with its raw bytes.

use std::ops::Range;

use crate::bytes::ByteOrder;
use crate::clock::{Clock, NS_PER_SECOND};
use crate::error::NotExact;
use crate::{PACKET_LEN_MAX, RECORD_LEN_MAX, pcap, pcapng};

/// One record or block, as it stands in the file: a header, a packet, or anything else.
#[derive(Clone, Debug)]
pub struct Record {
    pub(crate) raw: Vec<u8>,
    pub(crate) kind: Kind,
    /// Length of `raw` in the input, before any change.
    pub(crate) read_len: usize,
}

/// What a capture says about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketInfo {
    /// Number of the packet in the file, from 1: Wireshark's frame number, except behind blocks
    /// that are no packets and that it lists all the same (custom blocks, journal entries).
    pub frame: u64,
    /// Interface within the section; 0 in pcap.
    pub interface: u32,
    /// `LINKTYPE_` number.
    pub link: u16,
    /// Length on the wire; more than was captured where the capture cut it.
    pub wire_len: u32,
    /// Nanoseconds since 1970, where the record has a time and 64 bits hold it.
    pub time_ns: Option<u64>,
}

impl Record {
    /// Returns the packet's description, or `None` if the record is not a packet.
    pub fn packet(&self) -> Option<PacketInfo> {
        match &self.kind {
            Kind::Packet(packet) => Some(packet.info),
            _ => None,
        }
    }

    /// Returns the captured bytes of the packet; empty if the record is not a packet.
    pub fn data(&self) -> &[u8] {
        match &self.kind {
            Kind::Packet(packet) => &self.raw[packet.range()],
            _ => &[],
        }
    }

    /// Returns the whole record as it would be written.
    pub fn bytes(&self) -> &[u8] {
        &self.raw
    }

    /// Exchanges the captured bytes; the wire length moves by the same difference.
    ///
    /// Succeeds only if exchanging them back would restore the record to the byte; otherwise the
    /// record is left untouched.
    pub fn replace(&mut self, new: &[u8]) -> Result<(), NotExact> {
        let Kind::Packet(packet) = &mut self.kind else {
            return Err(NotExact::NotAPacket);
        };
        let wire_len = packet.wire_len_with(&self.raw, new.len())?;
        packet.splice(&mut self.raw, new, wire_len);
        Ok(())
    }

    /// Moves the packet's time by whole seconds; false, and nothing moved, where the record has no
    /// time or the format cannot hold the new one.
    #[must_use]
    pub fn delay(&mut self, seconds: i64) -> bool {
        match &mut self.kind {
            Kind::Packet(packet) => packet.delay(&mut self.raw, seconds).is_some(),
            _ => false,
        }
    }

    pub(crate) fn new(raw: Vec<u8>, kind: Kind) -> Self {
        Self {
            read_len: raw.len(),
            raw,
            kind,
        }
    }
}

/// What a record is, as far as reading, replacing and writing need to know.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// A pcap file header: one interface.
    Pcap(pcap::Header),
    /// A pcapng section header.
    Section(ByteOrder),
    /// A pcapng interface description.
    Interface(ByteOrder),
    Packet(Packet),
    /// Any other block.
    Other,
    /// A piece of what follows after damage.
    Opaque,
}

/// The four shapes of a packet record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Pcap,
    Enhanced,
    /// The obsolete packet block: laid out as the enhanced one, but for a 16-bit interface.
    Obsolete,
    /// Has no captured length: it is the lesser of wire length and snap length.
    Simple,
}

impl Form {
    pub(crate) const fn data_at(self) -> usize {
        match self {
            Self::Pcap => pcap::record::DATA,
            Self::Enhanced | Self::Obsolete => pcapng::enhanced::DATA,
            Self::Simple => pcapng::simple::DATA,
        }
    }

    const fn captured_at(self) -> Option<usize> {
        match self {
            Self::Pcap => Some(pcap::record::CAPTURED),
            Self::Enhanced | Self::Obsolete => Some(pcapng::enhanced::CAPTURED),
            Self::Simple => None,
        }
    }

    const fn wire_at(self) -> usize {
        match self {
            Self::Pcap => pcap::record::WIRE,
            Self::Enhanced | Self::Obsolete => pcapng::enhanced::WIRE,
            Self::Simple => pcapng::simple::WIRE,
        }
    }

    const fn padding(self, len: usize) -> usize {
        match self {
            Self::Pcap => 0,
            _ => pcapng::padding(len),
        }
    }
}

/// Offsets and lengths in a packet record.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub(crate) info: PacketInfo,
    pub(crate) form: Form,
    pub(crate) order: ByteOrder,
    /// Clock of its interface.
    pub(crate) clock: Clock,
    /// The interface's; 0 where it has none.
    pub(crate) snaplen: u32,
    /// Captured length now.
    pub(crate) len: usize,
    /// Captured length in the input.
    pub(crate) read_len: usize,
}

impl Packet {
    pub(crate) fn range(&self) -> Range<usize> {
        let start = self.form.data_at();
        start..start + self.len
    }

    pub(crate) fn padded_end(&self) -> usize {
        self.range().end + self.form.padding(self.len)
    }

    /// Whether the snap length determines the captured length of this simple packet block.
    pub(crate) fn is_cut_simple(&self) -> bool {
        self.form == Form::Simple && self.len < self.info.wire_len as usize
    }

    fn delay(&mut self, raw: &mut [u8], seconds: i64) -> Option<()> {
        let shift_ns = i128::from(seconds) * NS_PER_SECOND;
        let time_ns = u64::try_from(i128::from(self.info.time_ns?) + shift_ns).ok()?;
        match self.form {
            Form::Pcap => pcap::put_seconds(self.order, raw, seconds)?,
            _ => pcapng::put_ticks(self.order, raw, self.clock.ticks(seconds)?)?,
        }
        self.info.time_ns = Some(time_ns);
        Some(())
    }

    fn wire_len_with(&self, raw: &[u8], new_len: usize) -> Result<u32, NotExact> {
        if raw[self.range().end..self.padded_end()]
            .iter()
            .any(|&byte| byte != 0)
        {
            return Err(NotExact::Padding);
        }
        let around = raw.len() - self.len - self.form.padding(self.len);
        if new_len > PACKET_LEN_MAX
            || around + new_len + self.form.padding(new_len) > RECORD_LEN_MAX
        {
            return Err(NotExact::Length);
        }
        let over_snaplen = self.snaplen != 0 && new_len > self.snaplen as usize;
        if self.form == Form::Simple && (self.is_cut_simple() || over_snaplen) {
            return Err(NotExact::SnapLength);
        }
        let wire_len = i64::from(self.info.wire_len) - self.len as i64 + new_len as i64;
        u32::try_from(wire_len).map_err(|_| NotExact::Length)
    }

    fn splice(&mut self, raw: &mut Vec<u8>, new: &[u8], wire_len: u32) {
        let old = self.form.data_at()..self.padded_end();
        let padding = std::iter::repeat_n(0, self.form.padding(new.len()));
        raw.splice(old, new.iter().copied().chain(padding));
        self.len = new.len();
        self.info.wire_len = wire_len;
        self.order.put_u32(raw, self.form.wire_at(), wire_len);
        if let Some(at) = self.form.captured_at() {
            self.order.put_u32(raw, at, new.len() as u32);
        }
        if self.form != Form::Pcap {
            pcapng::put_total_length(self.order, raw);
        }
    }
}
