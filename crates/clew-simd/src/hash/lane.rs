//! What lanes are given: messages that are read where they stand, and what belongs to each.

use core::array;

/// What is hashed in one lane: some blocks of a message.
#[derive(Clone, Copy)]
pub struct Lane<'a, const PIECES: usize> {
    /// The message is the concatenation of these; the second is the packet.
    pieces: [&'a [u8]; PIECES],
    /// Where the blocks start, and how many they are.
    from: usize,
    pub blocks: u32,
    /// Blocks that stand in the packet as they are, and the number of the first.
    whole: &'a [[u8; 64]],
    first_whole: u32,
}

impl<'a, const PIECES: usize> Lane<'a, PIECES> {
    /// A lane that is not needed.
    pub const IDLE: Self = Self {
        pieces: [&[]; PIECES],
        from: 0,
        blocks: 0,
        whole: &[],
        first_whole: 0,
    };

    /// Creates a lane over `blocks` blocks of a message, from byte `from` on.
    #[inline]
    pub fn new(pieces: [&'a [u8]; PIECES], from: usize, blocks: u32) -> Self {
        let head = pieces[0].len();
        let first_whole = head.saturating_sub(from).div_ceil(64);
        let start = from + first_whole * 64 - head;
        let (whole, _) = pieces[1].get(start..).unwrap_or_default().as_chunks();
        Self {
            pieces,
            from,
            blocks,
            whole,
            first_whole: first_whole as u32,
        }
    }

    /// Returns the block, if the packet has it as it is.
    #[inline]
    pub fn in_place(&self, block: u32) -> Option<&'a [u8; 64]> {
        self.whole
            .get(block.wrapping_sub(self.first_whole) as usize)
    }

    /// Returns all pieces, each with the place at which it starts in the block: before it, within
    /// or behind.
    #[inline]
    pub fn pieces(&self, block: u32) -> impl Iterator<Item = (isize, &'a [u8])> {
        let mut end = -((self.from + block as usize * 64) as isize);
        self.pieces.into_iter().map(move |piece| {
            let start = end;
            end += piece.len() as isize;
            (start, piece)
        })
    }

    /// Returns the block, with zeros behind the end of the message.
    pub fn copied(&self, block: u32) -> [u8; 64] {
        let mut bytes = [0; 64];
        for (start, piece) in self.pieces(block) {
            let skip = start.min(0).unsigned_abs();
            let to = bytes.get_mut(start.max(0) as usize..).unwrap_or_default();
            let from = piece.get(skip..).unwrap_or_default();
            let n = from.len().min(to.len());
            to[..n].copy_from_slice(&from[..n]);
        }
        bytes
    }
}

/// Returns the block of each lane, if all packets have theirs as it is.
#[inline]
pub fn all_in_place<'a, const P: usize, const N: usize>(
    lanes: &[Lane<'a, P>; N],
    block: u32,
) -> Option<[&'a [u8; 64]; N]> {
    let mut all = [&[0; 64]; N];
    for (one, lane) in all.iter_mut().zip(lanes) {
        *one = lane.in_place(block)?;
    }
    Some(all)
}

/// Returns how many blocks each lane has.
pub fn blocks<const P: usize, const N: usize>(lanes: &[Lane<'_, P>; N]) -> [u32; N] {
    array::from_fn(|i| lanes[i].blocks)
}

/// Returns how many blocks the longest lane has.
pub fn most(blocks: &[u32]) -> u32 {
    blocks.iter().copied().max().unwrap_or(0)
}

/// A chunk or a node of BLAKE3 in a lane.
pub type ChunkLane<'a> = Lane<'a, 3>;

/// What BLAKE3 wants to know of the chunks or nodes in all lanes.
pub struct Chunks<const N: usize> {
    /// Places within the input; 0 for nodes.
    pub counter: [u32; N],
    /// Bytes in the last block.
    pub last_len: [u32; N],
    /// Flags of every block, and those added in the first and in the last one.
    pub flags: [u32; N],
    pub first: [u32; N],
    pub last: [u32; N],
}

/// A message and the mark of its end, for SHA-256.
pub type MessageLane<'a> = Lane<'a, 4>;

/// How many bits the messages of SHA-256 in all lanes have.
pub struct Bits<const N: usize> {
    pub high: [u32; N],
    pub low: [u32; N],
}
