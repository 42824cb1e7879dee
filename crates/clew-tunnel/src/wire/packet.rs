//! Packets: `spec/tunnel.md` section 4.

use alloc::vec::Vec;

use super::plaintext;
use crate::boxes::{self, Stream, TAG};
use crate::keys::{Nonce, canonical};
use crate::limits::{M_MIN, PACKET_MAX, PACKET_MIN};
use crate::puzzle::{HASH_BYTES, Interrogation, R_BYTES, SOLUTION_BYTES, Solution};
use crate::reason::Reason;
use crate::record::{ECERT_BYTES_MAX, ECERT_BYTES_MIN};
use crate::x25519::{BYTES, Public};
use clew_wire::Reader;

/// Bytes of TID and nonce.
pub const HEADER_BYTES: usize = 16;

/// Bytes of a packet of a tunnel without RPCs: all that stands around them.
pub const BARE_BYTES: usize = HEADER_BYTES + TAG + plaintext::FIXED_BYTES;

/// What an initiation packet has more than another.
pub const INITIATION_BYTES: usize = BYTES;

/// Bytes of an interrogation.
pub const INTERROGATION_BYTES: usize = HEADER_BYTES + R_BYTES + HASH_BYTES + 4;

const KEY: u8 = 0x80;
const PUZZLE: u8 = 0x40;

/// Who sends a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// Who opened the tunnel.
    Client,
    /// Who accepted it.
    Server,
}

/// A tunnel id: 62 bits, the highest two clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tid([u8; 8]);

impl Tid {
    /// The TID of these bytes. None if a flag is set in them.
    pub const fn new(bytes: [u8; 8]) -> Option<Self> {
        if bytes[0] & (KEY | PUZZLE) == 0 {
            Some(Self(bytes))
        } else {
            None
        }
    }

    /// The TID of random bytes, whose highest bits are cleared.
    pub const fn from_random(mut bytes: [u8; 8]) -> Self {
        bytes[0] &= !(KEY | PUZZLE);
        Self(bytes)
    }

    /// Its bytes, flags clear.
    pub const fn as_bytes(&self) -> &[u8; 8] {
        &self.0
    }

    const fn with(mut self, flags: u8) -> [u8; 8] {
        self.0[0] |= flags;
        self.0
    }
}

/// The box of a packet, still closed.
#[derive(Debug, PartialEq, Eq)]
pub struct Boxed<'a> {
    /// TID of the packet.
    pub tid: Tid,
    /// Nonce of the packet.
    pub nonce: Nonce,
    bytes: &'a mut [u8],
}

impl<'a> Boxed<'a> {
    /// For [`boxes::decrypt`], with others.
    pub(crate) fn packet<'b>(&'b mut self, stream: &'b Stream) -> Option<boxes::Packet<'b>> {
        boxes::Packet::new(stream, self.nonce.to_bytes(), self.bytes)
    }

    /// Decrypts it where it stands. False if it was not encrypted with this stream (`bad-box`); it remains
    /// closed then, and another may be tried.
    #[must_use]
    pub fn decrypt(&mut self, stream: &Stream) -> bool {
        let mut is_good = [false];
        if let Some(packet) = self.packet(stream) {
            boxes::decrypt(&mut [packet], &mut is_good);
        }
        is_good[0]
    }

    /// The plaintext, once the box is decrypted.
    pub fn into_text(self) -> &'a [u8] {
        self.bytes.get(TAG..).unwrap_or_default()
    }
}

/// A packet of section 4's table.
#[derive(Debug, PartialEq, Eq)]
pub enum Packet<'a> {
    /// Of a tunnel.
    Tunnel(Side, Boxed<'a>),
    /// Of a new tunnel or a rekey.
    Initiation(Initiation<'a>),
    /// A server asks for a solution.
    Interrogation(Interrogation),
    /// A server has a newer S'.
    StaleKey(StaleKey<'a>),
}

/// An initiation packet.
#[derive(Debug, PartialEq, Eq)]
pub struct Initiation<'a> {
    /// C', canonical.
    pub key: Public,
    /// What stands in the place of a solution, if the flag says that there is one.
    pub solution: Option<&'a [u8; SOLUTION_BYTES]>,
    /// TID, nonce and box.
    pub boxed: Boxed<'a>,
}

impl Initiation<'_> {
    /// Appends the packet as it came, box still closed.
    pub(crate) fn write_to(&self, out: &mut Vec<u8>) {
        let flags = self.solution.map_or(KEY, |_| KEY | PUZZLE);
        out.extend_from_slice(&self.boxed.tid.with(flags));
        out.extend_from_slice(&self.boxed.nonce.to_bytes());
        out.extend_from_slice(&self.key.0);
        // Without it, it would be below M.
        if let Some(solution) = self.solution {
            out.extend_from_slice(solution);
        }
        out.extend_from_slice(self.boxed.bytes);
    }
}

/// A stale-key answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaleKey<'a> {
    /// TID of the packet that it answers.
    pub tid: Tid,
    /// Nonce of the packet that it answers, with bit 0 clear.
    pub nonce: Nonce,
    /// What section 3.3 judges.
    pub ecert: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Takes a packet apart. `m` is the M of the server that listens here; [`M_MIN`] serves for a client,
    /// and is the least that counts.
    ///
    /// # Errors
    /// `bad-length`, `bad-flags`, `bad-size`, `bad-key` (C'): the first that applies.
    pub fn parse(bytes: &'a mut [u8], m: u16) -> Result<Self, Reason> {
        let length = bytes.len();
        if !(PACKET_MIN..=PACKET_MAX).contains(&length) {
            return Err(Reason::BadLength);
        }
        let (header, rest) = bytes
            .split_first_chunk_mut::<HEADER_BYTES>()
            .ok_or(Reason::BadLength)?;
        let mut at = Reader(header);
        let (tid, nonce) = (at.array().zip(at.array())).ok_or(Reason::BadLength)?;
        let flags = tid[0] & (KEY | PUZZLE);
        let (tid, nonce) = (Tid::from_random(tid), Nonce::from_bytes(nonce));
        match (flags, nonce.side()) {
            (0, side) => Ok(Self::Tunnel(side, boxed(tid, nonce, rest))),
            (PUZZLE, Side::Server) => {
                let read = Interrogation::parse(tid, nonce, rest);
                Ok(Self::Interrogation(read.ok_or(Reason::BadLength)?))
            }
            (KEY, Side::Server) => {
                let ecert = &*rest;
                let fits = (ECERT_BYTES_MIN..=ECERT_BYTES_MAX).contains(&ecert.len());
                let answer = StaleKey { tid, nonce, ecert };
                fits.then_some(Self::StaleKey(answer))
                    .ok_or(Reason::BadLength)
            }
            (PUZZLE, Side::Client) | (_, Side::Server) => Err(Reason::BadFlags),
            (_, Side::Client) if length < usize::from(m.max(M_MIN)) => Err(Reason::BadSize),
            (flags, Side::Client) => {
                let (key, rest) = rest.split_first_chunk_mut().ok_or(Reason::BadSize)?;
                let key = canonical(*key)?;
                let (solution, rest) = if flags & PUZZLE == 0 {
                    (None, rest)
                } else {
                    let (solution, rest) = rest.split_first_chunk_mut().ok_or(Reason::BadSize)?;
                    (Some(&*solution), rest)
                };
                Ok(Self::Initiation(Initiation {
                    key,
                    solution,
                    boxed: boxed(tid, nonce, rest),
                }))
            }
        }
    }
}

fn boxed(tid: Tid, nonce: Nonce, bytes: &mut [u8]) -> Boxed<'_> {
    Boxed { tid, nonce, bytes }
}

/// What stands before the box of a packet that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// TID.
    pub tid: Tid,
    /// Nonce: for one packet only.
    pub nonce: Nonce,
    /// C' and solution, for an initiation packet.
    pub initiation: Option<(Public, Option<Solution>)>,
}

impl Header {
    /// Bytes of a packet with this header and no RPCs.
    pub const fn bare_bytes(&self) -> usize {
        match self.initiation {
            None => BARE_BYTES,
            Some((_, None)) => BARE_BYTES + INITIATION_BYTES,
            Some((_, Some(_))) => BARE_BYTES + INITIATION_BYTES + SOLUTION_BYTES,
        }
    }

    /// Appends a packet whose box is still to be encrypted, padded to at least `length` bytes. Where in `out`
    /// the box begins, tag first; none, and nothing is written, if that makes more than [`PACKET_MAX`].
    pub(crate) fn write(
        &self,
        (seq, ack): (u32, u32),
        rpcs: &[u8],
        length: usize,
        out: &mut Vec<u8>,
    ) -> Option<usize> {
        let length = length.max(self.bare_bytes() + rpcs.len());
        if length > PACKET_MAX {
            return None;
        }
        let begin = out.len();
        let flags = match &self.initiation {
            None => 0,
            Some((_, None)) => KEY,
            Some((_, Some(_))) => KEY | PUZZLE,
        };
        out.extend_from_slice(&self.tid.with(flags));
        out.extend_from_slice(&self.nonce.to_bytes());
        if let Some((key, solution)) = &self.initiation {
            out.extend_from_slice(&key.0);
            if let Some(solution) = solution {
                out.extend_from_slice(&solution.to_bytes());
            }
        }
        let boxed = out.len();
        out.extend_from_slice(&[0; TAG]);
        out.extend_from_slice(&seq.to_be_bytes());
        out.extend_from_slice(&ack.to_be_bytes());
        out.extend_from_slice(rpcs);
        out.resize(begin + length, 0);
        Some(boxed)
    }

    /// The same, encrypted.
    pub fn seal(
        &self,
        numbers: (u32, u32),
        rpcs: &[u8],
        length: usize,
        stream: &Stream,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let begin = self.write(numbers, rpcs, length, out)?;
        let packet = boxes::Packet::new(stream, self.nonce.to_bytes(), &mut out[begin..])?;
        boxes::seal(&mut [packet]);
        Some(())
    }
}

impl StaleKey<'_> {
    /// Appends the packet.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.tid.with(KEY));
        out.extend_from_slice(&self.nonce.to_bytes());
        out.extend_from_slice(self.ecert);
    }
}

impl Interrogation {
    /// What stands behind TID and nonce.
    fn parse(tid: Tid, nonce: Nonce, bytes: &[u8]) -> Option<Self> {
        let mut at = Reader(bytes);
        let read = Self {
            tid,
            nonce,
            q: at.array()?,
            hash: at.array()?,
            w: at.u32()?,
        };
        at.0.is_empty().then_some(read)
    }

    /// Its packet.
    pub fn to_bytes(&self) -> [u8; INTERROGATION_BYTES] {
        let mut out = [0; INTERROGATION_BYTES];
        out[..8].copy_from_slice(&self.tid.with(PUZZLE));
        out[8..16].copy_from_slice(&self.nonce.to_bytes());
        out[16..96].copy_from_slice(&self.q);
        out[96..160].copy_from_slice(&self.hash);
        out[160..].copy_from_slice(&self.w.to_be_bytes());
        out
    }
}
