//! The packet signature: `spec/flow-signature.md` section 3.

use alloc::vec::Vec;

use super::descriptor::{Descriptor, KeyId};
use super::part::{Carriage, SignaturePart};
use crate::reason::Reason;
use clew_tree::{Block, Claim, Content, Digest, ID_BYTES};
use clew_wire::Reader;

/// Size of the fixed part.
pub const FIXED_BYTES: usize = 40;

const MAGIC: [u8; 4] = [0xc1, 0x4c, 0x46, 0x4c];
const VERSION: u8 = 1;

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

    /// The carriage's code.
    pub(crate) const fn code(&self) -> u8 {
        self.carriage
    }

    /// Returns how the packet says that it carries the block signature, or `None` if that is not
    /// known.
    pub const fn carriage(&self) -> Option<Carriage> {
        Carriage::from_byte(self.carriage)
    }

    fn to_bytes(self) -> [u8; FIXED_BYTES] {
        let mut out = [0; FIXED_BYTES];
        out[..16].copy_from_slice(&self.id);
        out[16..20].copy_from_slice(&self.tag);
        out[20..24].copy_from_slice(&self.seq.to_be_bytes());
        out[24..28].copy_from_slice(&self.key.0);
        out[28..30].copy_from_slice(&self.index.to_be_bytes());
        out[30..32].copy_from_slice(&self.count.to_be_bytes());
        out[32..34].copy_from_slice(&[self.carriage, VERSION]);
        out[34..36].copy_from_slice(&self.length.to_be_bytes());
        out[36..].copy_from_slice(&MAGIC);
        out
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
    /// What the application sent.
    pub packet: &'a [u8],
    /// The salt, if the flow has salts.
    pub salt: &'a [u8],
    /// The way to the root.
    pub path: &'a [u8],
    /// What it carries of the block signature.
    pub part: SignaturePart<'a>,
}

impl<'a> SignedPacket<'a> {
    /// Takes a signed packet apart: steps 4 and 5. `fixed` is what [`Fixed::of`] read, `descriptor`
    /// the flow's that it names.
    ///
    /// # Errors
    /// `bad-block`, `unknown-carriage`, `coded-count`, `needed`, `bad-length`.
    pub fn of(signed: &'a [u8], fixed: Fixed, descriptor: &Descriptor) -> Result<Self, Reason> {
        let chaining = descriptor.chaining();
        let block = chaining.block(fixed.id, fixed.count);
        let block = block.ok_or(Reason::BadBlock)?;
        let depth = block.depth(fixed.index).ok_or(Reason::BadBlock)?;
        let carriage = Carriage::from_byte(fixed.carriage).ok_or(Reason::UnknownCarriage)?;
        let behind = signed.len().checked_sub(fixed.length.into());
        let behind = behind.ok_or(Reason::BadLength)?;
        let (packet, mut rest) = signed.split_at(behind);
        let mut take = |bytes| {
            let (taken, after) = rest.split_at_checked(bytes).ok_or(Reason::BadLength)?;
            rest = after;
            Ok(taken)
        };
        let salt = take(chaining.salt_bytes())?;
        let path = take(depth * chaining.digest.bytes())?;
        let part = rest.len().checked_sub(FIXED_BYTES);
        let part = &rest[..part.ok_or(Reason::BadLength)?];
        let place = (&block, fixed.index);
        let part = SignaturePart::of(part, carriage, place, descriptor)?;
        Ok(Self {
            fixed,
            block,
            packet,
            salt,
            path,
            part,
        })
    }

    /// Returns the signed packet with full carriage: `blob` is what full packets of its block
    /// carry.
    pub fn in_full(&self, blob: &[u8]) -> Vec<u8> {
        let mut out = [self.packet, self.salt, self.path, blob].concat();
        let fixed = Fixed {
            carriage: Carriage::Full.byte(),
            ..self.fixed
        };
        fixed.write_behind(self.packet.len(), &mut out);
        out
    }

    /// Returns the content of which the packet's leaf is the digest.
    pub const fn content(&self) -> Content<'a> {
        Content {
            index: self.fixed.index,
            salt: self.salt,
            packet: self.packet,
        }
    }

    /// Whether another packet is of the same block.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        let place = |packet: &Self| (packet.fixed.key, packet.fixed.tag, packet.fixed.seq);
        self.block == other.block && place(self) == place(other)
    }

    /// The way from its leaf to the root.
    pub(crate) const fn claim(&self, leaf: Digest) -> Claim<'a> {
        Claim {
            index: self.fixed.index,
            leaf,
            path: self.path,
        }
    }

    /// Returns the packet's leaf.
    pub fn leaf(&self) -> Digest {
        self.block.leaf(self.fixed.index, &[self.salt, self.packet])
    }
}

impl Fixed {
    /// The fixed part of a packet of a block.
    pub(crate) fn new(
        block: &Block,
        (tag, seq, key): ([u8; 4], u32, KeyId),
        index: u16,
        carriage: Carriage,
    ) -> Self {
        Self::with_code(block, (tag, seq, key), index, carriage.byte())
    }

    /// The same for a carriage by its code.
    pub(crate) const fn with_code(
        block: &Block,
        (tag, seq, key): ([u8; 4], u32, KeyId),
        index: u16,
        carriage: u8,
    ) -> Self {
        Self {
            id: *block.id(),
            tag,
            seq,
            key,
            index,
            count: block.count(),
            carriage,
            length: 0,
        }
    }

    /// The same for another packet of the block.
    pub(crate) const fn at(self, index: u16) -> Self {
        Self { index, ..self }
    }

    /// Ends a packet signature that begins at `begin`, with its length. It fits: a path has at most
    /// 1023 digests of 32 bytes.
    pub(crate) fn write_behind(self, begin: usize, out: &mut Vec<u8>) {
        let length = (out.len() - begin + FIXED_BYTES) as u16;
        out.extend_from_slice(&Self { length, ..self }.to_bytes());
    }
}
