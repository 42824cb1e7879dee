//! The packet signature: `spec/flow-signature.md` section 3.

use alloc::vec::Vec;

use super::bytes::Reader;
use super::descriptor::{Descriptor, KeyId};
use crate::block::{Block, Digest, ID_BYTES};
use crate::reason::Reason;
use crate::suite::Content;
use crate::tree::Tree;

/// Size of the fixed part.
pub const FIXED_BYTES: usize = 40;

const MAGIC: [u8; 4] = [0xc1, 0x4c, 0x46, 0x4c];
const VERSION: u8 = 1;

/// Size of a timestamp.
pub const TIMESTAMP_BYTES: usize = 8;

/// How a packet carries the block signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carriage {
    /// Whole.
    Full = 1,
    /// Not at all: other packets of the block do.
    Sparse = 2,
}

impl Carriage {
    const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::Full),
            2 => Some(Self::Sparse),
            _ => None,
        }
    }

    /// Size of what a packet carries.
    fn bytes(self, descriptor: &Descriptor) -> usize {
        match self {
            Self::Full => TIMESTAMP_BYTES + descriptor.algorithm().signature_bytes(),
            Self::Sparse => 0,
        }
    }
}

/// Whether bytes end as a signed packet does.
pub(crate) fn is_signed(bytes: &[u8]) -> bool {
    bytes.len() >= FIXED_BYTES && bytes.ends_with(&MAGIC)
}

/// The fixed part, as it stands in the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// The block's id.
    pub id: [u8; ID_BYTES],
    /// Which sequence of blocks.
    pub tag: [u8; 4],
    /// Which block of it.
    pub seq: u32,
    /// Which flow descriptor.
    pub key: KeyId,
    /// Which packet of the block.
    pub index: u16,
    /// How many packets the block has.
    pub count: u16,
    carriage: u8,
    /// Size of the packet signature.
    pub length: u16,
}

impl Fixed {
    /// Reads the end of a signed packet: steps 1 and 2.
    ///
    /// # Errors
    /// `unsigned`, `unknown-version`, `bad-length`.
    pub fn of(signed: &[u8]) -> Result<Self, Reason> {
        let (_, fixed) = signed
            .split_last_chunk::<FIXED_BYTES>()
            .ok_or(Reason::Unsigned)?;
        if !fixed.ends_with(&MAGIC) {
            return Err(Reason::Unsigned);
        }
        let version = fixed[FIXED_BYTES - 7];
        if version != VERSION {
            return Err(Reason::UnknownVersion);
        }
        let read = parse(&mut Reader(fixed)).ok_or(Reason::BadLength)?;
        let length = usize::from(read.length);
        if length < FIXED_BYTES || length > signed.len() {
            return Err(Reason::BadLength);
        }
        Ok(read)
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.id);
        out.extend(self.tag);
        out.extend(self.seq.to_be_bytes());
        out.extend(self.key.0);
        out.extend(self.index.to_be_bytes());
        out.extend(self.count.to_be_bytes());
        out.extend([self.carriage, VERSION]);
        out.extend(self.length.to_be_bytes());
        out.extend(MAGIC);
    }
}

fn parse(at: &mut Reader<'_>) -> Option<Fixed> {
    let fixed = Fixed {
        id: at.array()?,
        tag: at.array()?,
        seq: at.u32()?,
        key: KeyId(at.array()?),
        index: at.u16()?,
        count: at.u16()?,
        carriage: at.u8()?,
        length: {
            at.u8()?;
            at.u16()?
        },
    };
    Some(fixed)
}

/// A signed packet in its parts. Nothing of it is verified.
#[derive(Clone, Copy, Debug)]
pub struct SignedPacket<'a> {
    /// The fixed part.
    pub fixed: Fixed,
    /// The block that it says it is of.
    pub block: Block,
    /// How it carries the block signature.
    pub carriage: Carriage,
    /// What the application sent.
    pub packet: &'a [u8],
    /// The salt, if the flow has salts.
    pub salt: &'a [u8],
    /// The way to the root.
    pub path: &'a [u8],
    /// What it carries of the block signature.
    pub carried: &'a [u8],
}

impl<'a> SignedPacket<'a> {
    /// Takes a signed packet apart: steps 4 and 5. `fixed` is what [`Fixed::of`] read, `descriptor`
    /// the flow's that it names.
    ///
    /// # Errors
    /// `bad-block`, `unknown-carriage`, `bad-length`.
    pub fn of(signed: &'a [u8], fixed: Fixed, descriptor: &Descriptor) -> Result<Self, Reason> {
        let chaining = descriptor.chaining();
        let block = chaining.block(fixed.id, fixed.count);
        let block = block.ok_or(Reason::BadBlock)?;
        let depth = block.depth(fixed.index).ok_or(Reason::BadBlock)?;
        let carriage = Carriage::from_byte(fixed.carriage).ok_or(Reason::UnknownCarriage)?;
        let parts = [
            chaining.salt_bytes(),
            depth * chaining.digest.bytes(),
            carriage.bytes(descriptor),
            FIXED_BYTES,
        ];
        let length = usize::from(fixed.length);
        if length != parts.iter().sum() || length > signed.len() {
            return Err(Reason::BadLength);
        }
        let (packet, rest) = signed.split_at(signed.len() - length);
        let (salt, rest) = rest.split_at(parts[0]);
        let (path, rest) = rest.split_at(parts[1]);
        let carried = &rest[..parts[2]];
        Ok(Self {
            fixed,
            block,
            carriage,
            packet,
            salt,
            path,
            carried,
        })
    }

    /// What the packet's leaf is of.
    pub const fn content(&self) -> Content<'a> {
        Content {
            index: self.fixed.index,
            salt: self.salt,
            packet: self.packet,
        }
    }

    /// The packet's leaf.
    pub fn leaf(&self) -> Digest {
        self.block.leaf(self.fixed.index, &[self.salt, self.packet])
    }
}

/// What is to be put behind a packet.
pub(crate) struct Signature<'a> {
    pub fixed: Fixed,
    pub salt: &'a [u8],
    pub tree: &'a Tree,
    pub carried: &'a [u8],
}

impl Fixed {
    /// The fixed part of a packet of a block.
    pub(crate) fn new(
        block: &Block,
        (tag, seq, key): ([u8; 4], u32, KeyId),
        index: u16,
        carriage: Carriage,
    ) -> Self {
        Self {
            id: *block.id(),
            tag,
            seq,
            key,
            index,
            count: block.count(),
            carriage: carriage as u8,
            length: 0,
        }
    }
}

impl Signature<'_> {
    /// Appends the packet signature.
    pub fn write(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend_from_slice(self.salt);
        self.tree.write_path(self.fixed.index, out);
        out.extend_from_slice(self.carried);
        // It fits: a path has at most 1023 digests of 32 bytes.
        let length = (out.len() - begin + FIXED_BYTES) as u16;
        Fixed {
            length,
            ..self.fixed
        }
        .write(out);
    }
}
