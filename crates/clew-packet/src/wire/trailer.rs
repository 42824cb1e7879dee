//! The wire format of the trailer: specification section 3.
//!
//! ```text
//! body | block | saved | head (22) | foot (9)          full carriage
//! block | body | saved | head (22) | foot (9)          coded
//! ```

use core::fmt;

use clew_group::Scheme;
use clew_wire::Hex;

use crate::{
    carrier::{self, Carrier},
    reason::Reason,
    time::Timestamp,
    wire::block::{Block, Mode},
    wire::bytes::{length_u16, put_u16, u16_at},
    wire::carriage::{Carriage, Coded, coded_parts},
    wire::saved::Saved,
};

/// The last four bytes of every packet with a trailer or a mark.
pub const MAGIC: [u8; 4] = [0xc1, 0x4c, 0x45, 0x57];

/// The version of the format.
pub const VERSION: u8 = 1;

/// Length of the head in bytes.
pub const HEAD_BYTES: usize = 22;

/// Length of the foot in bytes.
pub const FOOT_BYTES: usize = 9;

/// Byte ranges of the head.
mod head {
    use core::ops::Range;

    pub(super) const GROUP: Range<usize> = 0..8;
    pub(super) const EPOCH: Range<usize> = 8..12;
    pub(super) const TIMESTAMP: Range<usize> = 12..20;
    pub(super) const SCHEME: usize = 20;
    pub(super) const CARRIAGE: usize = 21;
}

/// Byte ranges of the foot.
mod foot {
    use core::ops::Range;

    pub(super) const FLAGS: usize = 0;
    pub(super) const MODE: usize = 1;
    pub(super) const LENGTH: usize = 2;
    pub(super) const VERSION: usize = 4;
    pub(super) const MAGIC: Range<usize> = 5..9;
}

/// Bits of the flags.
pub(crate) mod flag {
    pub(crate) const NAT: u8 = 1 << 0;
    pub(crate) const TOLERANT: u8 = 1 << 1;
    pub(crate) const INCREMENTAL: u8 = 1 << 5;
    pub(crate) const RESERVED: u8 = 0b1100_0000;
}

/// A group id: the first 16 bytes of SHA-256 of the group file's record 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupId(pub [u8; 16]);

impl GroupId {
    /// Returns the part that travels.
    pub fn tag(&self) -> GroupTag {
        GroupTag(array(&self.0[..8]))
    }
}

/// The first 8 bytes of a group id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupTag(pub [u8; 8]);

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Hex(&self.0).fmt(f)
    }
}

impl fmt::Display for GroupTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Hex(&self.0).fmt(f)
    }
}

/// A trailer, parsed; or head and tail, which stand for it in the carriers over UDP. Its parts borrow
/// from the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trailer<'a> {
    /// How the signed packet travels.
    pub carrier: Carrier,
    /// The group signature's encoding; in coded carriage this packet's share of it, with its tag.
    pub body: &'a [u8],
    /// What the mode needs.
    pub block: Block<'a>,
    /// What the original had in fields that signing rewrote.
    pub saved: Saved,
    /// Which group.
    pub group: GroupTag,
    /// Number of the epoch whose public key verifies.
    pub epoch: u32,
    /// When it was signed, rounded down; [`Timestamp::NONE`] if the packet had no time.
    pub timestamp: Timestamp,
    /// How it was signed.
    pub scheme: Scheme,
    /// How the signature travels.
    pub carriage: Carriage,
    /// Source address, source port and ICMP identifier are not signed.
    pub nat: bool,
    /// ECN flags of TCP and the MSS option's value are not signed.
    pub tolerant: bool,
    /// The body carries what makes verification incremental.
    pub incremental: bool,
}

impl<'a> Trailer<'a> {
    /// Parses the trailer at the end of `upper`, the bytes of an upper layer. Rules are checked in
    /// the order of the table in section 3.
    ///
    /// # Errors
    /// `no-trailer` and everything that makes a trailer ill-formed; `unknown-mode` for a mark.
    pub fn parse(upper: &'a [u8]) -> Result<Self, Reason> {
        let foot = Foot::parse(upper)?;
        foot.check(upper.len())?;
        let mode = Mode::parse(foot.mode)?;
        if foot.flags & flag::RESERVED != 0 {
            return Err(Reason::ReservedBits);
        }
        let rest = &upper[upper.len() - foot.length..upper.len() - FOOT_BYTES];
        let (rest, head) = split_end(rest, HEAD_BYTES)?;
        let (rest, saved) = split_end(rest, Saved::bytes(foot.flags))?;
        let parts = Parts {
            carrier: Carrier::Trailer,
            flags: foot.flags,
            mode,
            head,
        };
        parts.parse(rest, Saved::parse(foot.flags, saved))
    }

    /// Checks that in coded carriage there is a share.
    fn check_code(&self) -> Result<(), Reason> {
        let missing = self.carriage != Carriage::Full && self.coded().is_none();
        (!missing).then_some(()).ok_or(Reason::BadCode)
    }

    /// Returns the share of the block's signature that the body is, in coded carriage.
    pub fn coded(&self) -> Option<Coded<'a>> {
        let signature = self.scheme.signature_bytes(self.incremental);
        match (self.carriage, self.block) {
            (Carriage::Coded(size), Block::Tree { block, index, .. }) => {
                Coded::parse(self.body, &block, index, signature, size)
            }
            _ => None,
        }
    }

    /// Returns the length of the whole trailer in bytes; of head and tail, if these stand for it.
    pub fn length(&self) -> usize {
        let fixed = match self.carrier {
            Carrier::Trailer => HEAD_BYTES + FOOT_BYTES,
            Carrier::UdpTunnel | Carrier::UdpTransport => carrier::HEAD_BYTES,
        };
        self.body.len() + self.block.length() + self.saved.length() + fixed
    }

    /// Returns the flags as they travel.
    pub fn flags(&self) -> u8 {
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        bit(self.nat, flag::NAT)
            | bit(self.tolerant, flag::TOLERANT)
            | bit(self.incremental, flag::INCREMENTAL)
            | self.saved.flags()
    }

    /// Returns the flags as they are signed: how the signature travels is not.
    pub(crate) fn signed_flags(&self) -> u8 {
        self.flags() & !flag::INCREMENTAL
    }

    /// Writes the head to a buffer of [`HEAD_BYTES`].
    pub(crate) fn emit_head(&self, head: &mut [u8]) {
        head[head::GROUP].copy_from_slice(&self.group.0);
        head[head::EPOCH].copy_from_slice(&self.epoch.to_be_bytes());
        head[head::TIMESTAMP].copy_from_slice(&self.timestamp.0.to_be_bytes());
        head[head::SCHEME] = self.scheme.code();
        head[head::CARRIAGE] = self.carriage.code();
    }

    /// Writes the trailer, of the carrier [`Carrier::Trailer`].
    ///
    /// # Panics
    /// If `buffer` is not [`length`](Self::length) bytes long.
    pub fn emit(&self, buffer: &mut [u8]) {
        let (parts, rest) = buffer.split_at_mut(self.body.len() + self.block.length());
        let (body, block) = match self.carriage {
            Carriage::Full => parts.split_at_mut(self.body.len()),
            Carriage::Coded(_) => {
                let (block, body) = parts.split_at_mut(self.block.length());
                (body, block)
            }
        };
        let (saved, rest) = rest.split_at_mut(self.saved.length());
        let (head, foot) = rest.split_at_mut(HEAD_BYTES);
        body.copy_from_slice(self.body);
        self.block.emit(block);
        self.saved.emit(saved);
        self.emit_head(head);
        Foot {
            flags: self.flags(),
            mode: self.block.mode() as u8,
            length: self.length(),
            version: VERSION,
        }
        .emit(foot);
    }
}

/// A trailer before its body and block section are told apart: what all carriers have alike.
pub(crate) struct Parts<'a> {
    pub carrier: Carrier,
    pub flags: u8,
    pub mode: Mode,
    /// [`HEAD_BYTES`] bytes.
    pub head: &'a [u8],
}

impl Parts<'_> {
    /// Parses what is left, all of it body and block section, and judges it.
    ///
    /// # Errors
    /// `unknown-carriage`, `unknown-scheme`, `bad-trailer-length`, `bad-block`, `bad-code`.
    pub fn parse<'a>(&self, rest: &'a [u8], saved: Saved) -> Result<Trailer<'a>, Reason> {
        let Self {
            carrier,
            flags,
            mode,
            head,
        } = *self;
        let carriage = Carriage::parse(head[head::CARRIAGE], mode)?;
        let scheme = Scheme::from_code(head[head::SCHEME]).ok_or(Reason::UnknownScheme)?;
        let incremental = flags & flag::INCREMENTAL != 0;
        let signature = scheme.signature_bytes(incremental);
        let (body, block) = match (carriage, carrier) {
            (Carriage::Full, Carrier::Trailer) => rest
                .split_at_checked(signature)
                .ok_or(Reason::BadTrailerLength)?,
            (Carriage::Full, _) => {
                let (block, body) = split_end(rest, signature)?;
                (body, block)
            }
            (Carriage::Coded(tags), _) => coded_parts(rest, signature, tags)?,
        };
        let trailer = Trailer {
            carrier,
            body,
            block: Block::parse(mode, block)?,
            saved,
            group: GroupTag(array(&head[head::GROUP])),
            epoch: u32::from_be_bytes(array(&head[head::EPOCH])),
            timestamp: Timestamp(u64::from_be_bytes(array(&head[head::TIMESTAMP]))),
            scheme,
            carriage,
            nat: flags & flag::NAT != 0,
            tolerant: flags & flag::TOLERANT != 0,
            incremental,
        };
        trailer.check_code().map(|()| trailer)
    }
}

/// The last nine bytes, of trailers and marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Foot {
    pub flags: u8,
    pub mode: u8,
    /// Length in bytes of all parts, the foot counted.
    pub length: usize,
    pub version: u8,
}

impl Foot {
    /// Reads the last nine bytes of an upper layer, and judges the magic only.
    ///
    /// # Errors
    /// `no-trailer`; `bad-trailer-length` if the IP header would be part of the foot.
    pub fn parse(upper: &[u8]) -> Result<Self, Reason> {
        if !upper.ends_with(&MAGIC) {
            return Err(Reason::NoTrailer);
        }
        let (_, foot) = split_end(upper, FOOT_BYTES)?;
        Ok(Self {
            flags: foot[foot::FLAGS],
            mode: foot[foot::MODE],
            length: usize::from(u16_at(foot, foot::LENGTH)),
            version: foot[foot::VERSION],
        })
    }

    /// Checks version and length against an upper layer of `upper` bytes.
    pub fn check(&self, upper: usize) -> Result<(), Reason> {
        if self.version != VERSION {
            return Err(Reason::UnknownVersion);
        }
        if !(FOOT_BYTES..=upper).contains(&self.length) {
            return Err(Reason::BadTrailerLength);
        }
        Ok(())
    }

    /// Writes the foot to a buffer of nine bytes.
    pub fn emit(&self, buffer: &mut [u8]) {
        buffer[foot::FLAGS] = self.flags;
        buffer[foot::MODE] = self.mode;
        put_u16(buffer, foot::LENGTH, length_u16(self.length));
        buffer[foot::VERSION] = self.version;
        buffer[foot::MAGIC].copy_from_slice(&MAGIC);
    }
}

/// Splits the last `length` bytes off.
pub(crate) fn split_end(bytes: &[u8], length: usize) -> Result<(&[u8], &[u8]), Reason> {
    let at = bytes
        .len()
        .checked_sub(length)
        .ok_or(Reason::BadTrailerLength)?;
    Ok(bytes.split_at(at))
}

/// Copies a range of a known length.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(bytes);
    array
}
