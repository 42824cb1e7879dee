//! The block format: sections, in them interfaces, and packets in three kinds of blocks.

use std::io::Read;

use crate::bytes::ByteOrder;
use crate::clock::Clock;
use crate::error::{Fault, Stop};
use crate::reader::Source;
use crate::record::{Form, Kind, Packet, PacketInfo};
use crate::{INTERFACES_MAX, RECORD_LEN_MAX};

/// Block types. That of a section reads the same in both byte orders.
pub(crate) mod block {
    pub(crate) const SECTION: u32 = 0x0a0d_0d0a;
    pub(crate) const INTERFACE: u32 = 1;
    pub(crate) const OBSOLETE: u32 = 2;
    pub(crate) const SIMPLE: u32 = 3;
    pub(crate) const ENHANCED: u32 = 6;
}

/// Option codes.
pub(crate) mod option {
    pub(crate) const END: u16 = 0;
    pub(crate) const COMMENT: u16 = 1;
    pub(crate) const INTERFACE_NAME: u16 = 2;
    pub(crate) const INTERFACE_DESCRIPTION: u16 = 3;
    pub(crate) const INTERFACE_RESOLUTION: u16 = 9;
    pub(crate) const INTERFACE_OFFSET: u16 = 14;
    /// A string behind an enterprise number, which programs that edit a file should copy.
    pub(crate) const CUSTOM_STRING: u16 = 2988;
    /// The same, which they should not copy.
    pub(crate) const CUSTOM_STRING_KEPT: u16 = 19372;
    /// Code and length of an option's value.
    pub(crate) const HEADER_LEN: usize = 4;
}

/// A section header, from the start of the block.
pub(crate) mod section {
    pub(crate) const BYTE_ORDER: usize = 8;
    pub(crate) const MAJOR: usize = 12;
    pub(crate) const LENGTH: usize = 16;
    pub(crate) const OPTIONS: usize = 24;
    pub(crate) const MAGIC: u32 = 0x1a2b_3c4d;
    /// The section length that stands for "not stated".
    pub(crate) const LENGTH_UNSTATED: u64 = u64::MAX;
}

/// An interface description.
pub(crate) mod interface {
    pub(crate) const LINK: usize = 8;
    pub(crate) const SNAPLEN: usize = 12;
    pub(crate) const OPTIONS: usize = 16;
}

/// An enhanced packet block; the obsolete one differs in the interface only.
pub(crate) mod enhanced {
    pub(crate) const INTERFACE: usize = 8;
    pub(crate) const TIME_HIGH: usize = 12;
    pub(crate) const TIME_LOW: usize = 16;
    pub(crate) const CAPTURED: usize = 20;
    pub(crate) const WIRE: usize = 24;
    pub(crate) const DATA: usize = 28;
    pub(crate) const LEN_MIN: usize = DATA + super::TRAILING_LENGTH_LEN;
}

/// A simple packet block. It belongs to interface 0.
pub(crate) mod simple {
    pub(crate) const WIRE: usize = 8;
    pub(crate) const DATA: usize = 12;
}

const TOTAL_LENGTH: usize = 4;
const TRAILING_LENGTH_LEN: usize = 4;
/// Type and the two total lengths: the least that a block has, and what is read of it first.
const BLOCK_LEN_MIN: usize = 12;
const MAJOR_VERSION: u16 = 1;

/// Returns how many bytes bring `len` to a multiple of four.
pub(crate) const fn padding(len: usize) -> usize {
    len.wrapping_neg() % 4
}

/// Writes the length of the block `raw` to both of its ends.
pub(crate) fn put_total_length(order: ByteOrder, raw: &mut [u8]) {
    let total = raw.len();
    order.put_u32(raw, TOTAL_LENGTH, total as u32);
    order.put_u32(raw, total - TRAILING_LENGTH_LEN, total as u32);
}

/// Returns where the body of a block ends.
pub(crate) fn body_end(raw: &[u8]) -> usize {
    raw.len() - TRAILING_LENGTH_LEN
}

/// The description of an interface.
#[derive(Clone, Copy)]
struct Interface {
    link: u16,
    snaplen: u32,
    clock: Clock,
}

/// A section being read: all state there is between blocks.
pub(crate) struct Section {
    order: ByteOrder,
    interfaces: Vec<Interface>,
}

impl Section {
    /// Recognises a file by its first four bytes. Its byte order shows in the block that they begin.
    pub(crate) fn with_magic(magic: [u8; 4]) -> Option<Self> {
        let order = ByteOrder::Big;
        let found = order.u32(&magic, 0) == block::SECTION;
        found.then(|| Self {
            order,
            interfaces: Vec::new(),
        })
    }

    /// Reads the next block into `raw`. Returns `None` at the end of the file.
    pub(crate) fn read<R: Read>(
        &mut self,
        source: &mut Source<R>,
        raw: &mut Vec<u8>,
    ) -> Result<Option<Kind>, Stop> {
        if !source.begin(raw, BLOCK_LEN_MIN)? {
            return Ok(None);
        }
        if self.order.u32(raw, 0) == block::SECTION {
            self.order = section_order(raw)?;
            self.interfaces.clear();
        }
        let block_type = self.order.u32(raw, 0);
        let first = self.order.u32(raw, TOTAL_LENGTH);
        check_length(block_type, first)?;
        source.fill(raw, first as usize)?;
        let last = self.order.u32(raw, body_end(raw));
        if first != last {
            return Err(Fault::LengthsDiffer { first, last }.into());
        }
        Ok(Some(self.understand(block_type, raw)?))
    }

    fn understand(&mut self, block_type: u32, raw: &[u8]) -> Result<Kind, Fault> {
        let order = self.order;
        match block_type {
            block::SECTION => match order.u16(raw, section::MAJOR) {
                MAJOR_VERSION => Ok(Kind::Section(order)),
                other => Err(Fault::Version(other)),
            },
            block::INTERFACE => self.describe_interface(raw),
            block::ENHANCED => {
                let interface = order.u32(raw, enhanced::INTERFACE);
                self.packet(Form::Enhanced, interface, raw)
            }
            block::OBSOLETE => {
                let interface = u32::from(order.u16(raw, enhanced::INTERFACE));
                self.packet(Form::Obsolete, interface, raw)
            }
            block::SIMPLE => self.simple_packet(raw),
            _ => Ok(Kind::Other),
        }
    }

    fn describe_interface(&mut self, raw: &[u8]) -> Result<Kind, Fault> {
        if self.interfaces.len() == INTERFACES_MAX {
            return Err(Fault::TooManyInterfaces);
        }
        self.interfaces.push(Interface {
            link: self.order.u16(raw, interface::LINK),
            snaplen: self.order.u32(raw, interface::SNAPLEN),
            clock: clock(self.order, &raw[interface::OPTIONS..body_end(raw)]),
        });
        Ok(Kind::Interface(self.order))
    }

    fn packet(&self, form: Form, interface: u32, raw: &[u8]) -> Result<Kind, Fault> {
        let clock = self.interface(interface)?.clock;
        let time_ns = clock.time_ns(ticks(self.order, raw));
        let wire_len = self.order.u32(raw, enhanced::WIRE);
        let captured = self.order.u32(raw, enhanced::CAPTURED);
        self.checked(form, interface, raw, wire_len, captured, time_ns)
    }

    fn simple_packet(&self, raw: &[u8]) -> Result<Kind, Fault> {
        let wire_len = self.order.u32(raw, simple::WIRE);
        let captured = match self.interface(0)?.snaplen {
            0 => wire_len,
            snaplen => wire_len.min(snaplen),
        };
        self.checked(Form::Simple, 0, raw, wire_len, captured, None)
    }

    fn checked(
        &self,
        form: Form,
        interface: u32,
        raw: &[u8],
        wire_len: u32,
        captured: u32,
        time_ns: Option<u64>,
    ) -> Result<Kind, Fault> {
        let Interface {
            link,
            snaplen,
            clock,
        } = self.interface(interface)?;
        let room = body_end(raw) - form.data_at();
        if captured as usize > room {
            return Err(Fault::CapturedTooLong { captured, room });
        }
        Ok(Kind::Packet(Packet {
            info: PacketInfo {
                frame: 0,
                interface,
                link,
                wire_len,
                time_ns,
            },
            form,
            order: self.order,
            clock,
            snaplen,
            len: captured as usize,
            read_len: captured as usize,
        }))
    }

    fn interface(&self, number: u32) -> Result<Interface, Fault> {
        let found = self.interfaces.get(number as usize).copied();
        found.ok_or(Fault::UnknownInterface(number))
    }
}

/// Reads the time of an enhanced or obsolete packet block.
fn ticks(order: ByteOrder, raw: &[u8]) -> u64 {
    let high = u64::from(order.u32(raw, enhanced::TIME_HIGH));
    high << 32 | u64::from(order.u32(raw, enhanced::TIME_LOW))
}

/// Moves the time of an enhanced or obsolete packet block.
pub(crate) fn put_ticks(order: ByteOrder, raw: &mut [u8], shift: i64) -> Option<()> {
    let moved = ticks(order, raw).checked_add_signed(shift)?;
    order.put_u32(raw, enhanced::TIME_HIGH, (moved >> 32) as u32);
    order.put_u32(raw, enhanced::TIME_LOW, moved as u32);
    Some(())
}

fn section_order(raw: &[u8]) -> Result<ByteOrder, Fault> {
    [ByteOrder::Little, ByteOrder::Big]
        .into_iter()
        .find(|order| order.u32(raw, section::BYTE_ORDER) == section::MAGIC)
        .ok_or_else(|| {
            let mut magic = [0; 4];
            magic.copy_from_slice(&raw[section::BYTE_ORDER..section::MAJOR]);
            Fault::ByteOrder(magic)
        })
}

fn check_length(block_type: u32, stated: u32) -> Result<(), Fault> {
    let fixed = match block_type {
        block::SECTION => section::OPTIONS,
        block::INTERFACE => interface::OPTIONS,
        block::ENHANCED | block::OBSOLETE => enhanced::DATA,
        block::SIMPLE => simple::DATA,
        _ => BLOCK_LEN_MIN - TRAILING_LENGTH_LEN,
    };
    let least = fixed + TRAILING_LENGTH_LEN;
    let len = stated as usize;
    match len {
        _ if len < least => Err(Fault::TooShort { stated, least }),
        _ if len > RECORD_LEN_MAX => Err(Fault::TooLong(stated)),
        _ if padding(len) != 0 => Err(Fault::Unaligned(stated)),
        _ => Ok(()),
    }
}

/// Reads an interface's clock from its options. A malformed option ends the list: the times are
/// then the default's, which is what a reader without options would show.
fn clock(order: ByteOrder, options: &[u8]) -> Clock {
    let mut clock = Clock::MICROSECONDS;
    for (code, value) in (Options {
        order,
        rest: options,
    }) {
        match (code, value) {
            (option::INTERFACE_RESOLUTION, &[resolution]) => clock.resolution = resolution,
            (option::INTERFACE_OFFSET, offset) if offset.len() == 8 => {
                clock.offset_s = order.u64(offset, 0).cast_signed();
            }
            _ => {}
        }
    }
    clock
}

/// Takes options out of a block that has them from `at` on. The end mark, or the first that does not
/// fit, stays with all that follows it: nobody reads beyond.
pub(crate) fn drop_options(
    order: ByteOrder,
    raw: &mut Vec<u8>,
    at: usize,
    unwanted: impl Fn(u16, &[u8]) -> bool,
) {
    let end = body_end(raw);
    let mut kept = Vec::new();
    let mut options = Options {
        order,
        rest: &raw[at..end],
    };
    loop {
        let before = options.rest;
        let Some((code, value)) = options.next() else {
            kept.extend_from_slice(before);
            break;
        };
        if !unwanted(code, value) {
            kept.extend_from_slice(&before[..before.len() - options.rest.len()]);
        }
    }
    raw.splice(at..end, kept);
    put_total_length(order, raw);
}

/// The options of a block, up to the end mark or the first that does not fit.
struct Options<'a> {
    order: ByteOrder,
    rest: &'a [u8],
}

impl<'a> Iterator for Options<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (header, rest) = self.rest.split_at_checked(option::HEADER_LEN)?;
        let code = self.order.u16(header, 0);
        let len = usize::from(self.order.u16(header, 2));
        let (value, rest) = rest.split_at_checked(len)?;
        self.rest = rest.get(padding(len)..)?;
        (code != option::END).then_some((code, value))
    }
}
