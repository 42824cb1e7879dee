//! Up to 16 packets together: their blocks of Salsa20 share the lanes of vectors, whatever packet they
//! belong to, and then their tags do.
//!
//! The first 32 bytes of a packet's stream are its key for Poly1305, the rest is for its text (*Cryptography
//! in NaCl*, section 9). So the first blocks of all packets are computed first, and with them as many
//! others as there is room for.

use clew_simd::salsa20::{self, BLOCK, Block, LANES, State, blocks, state};
use clew_simd::{Backend, poly1305};
use subtle::ConstantTimeEq;
use zeroize::optimization_barrier;

use super::{Packet, TAG};

/// Packets that are encrypted or decrypted together at most.
pub(super) const GROUP: usize = poly1305::LANES;

/// Bytes of a packet's stream before those for its text.
const HEAD: usize = poly1305::KEY;

/// Encrypts and writes the tags.
pub(super) fn seal(backend: Backend, packets: &mut [Packet<'_>]) {
    let mut places = Places::of(packets);
    let mut streams = Streams::new(backend);
    streams.start(&mut places, packets);
    streams.apply(packets, &[true; GROUP]);
    while streams.next(&mut places, packets) {
        streams.apply(packets, &[true; GROUP]);
    }
    let tags = streams.tags(packets);
    for (packet, tag) in packets.iter_mut().zip(tags) {
        *packet.tag = tag;
    }
}

/// Decrypts where the tags are right, and says where they are.
pub(super) fn decrypt(backend: Backend, packets: &mut [Packet<'_>], are_good: &mut [bool]) {
    let mut places = Places::of(packets);
    let mut streams = Streams::new(backend);
    streams.start(&mut places, packets);
    let tags = streams.tags(packets);
    for ((packet, tag), is_good) in packets.iter().zip(&tags).zip(&mut *are_good) {
        *is_good = packet.tag.ct_eq(tag).into();
    }
    places.leave_out(are_good);
    streams.apply(packets, are_good);
    while streams.next(&mut places, packets) {
        streams.apply(packets, are_good);
    }
}

/// A block of a packet's stream: which packet's, and which one.
type Place = (usize, u64);

/// The blocks that a group needs, in order: the first of each packet, then the others of each.
struct Places {
    /// Blocks of each packet.
    blocks: [u64; GROUP],
    packets: usize,
    /// First blocks that were given out.
    firsts: usize,
    /// The next one.
    next: Place,
}

impl Places {
    fn of(packets: &[Packet<'_>]) -> Self {
        let mut blocks = [0; GROUP];
        for (blocks, packet) in blocks.iter_mut().zip(packets) {
            *blocks = (HEAD + packet.text.len()).div_ceil(BLOCK) as u64;
        }
        Self {
            blocks,
            packets: packets.len(),
            firsts: 0,
            next: (0, 1),
        }
    }

    fn next(&mut self) -> Option<Place> {
        if self.firsts < self.packets {
            self.firsts += 1;
            return Some((self.firsts - 1, 0));
        }
        let (packet, block) = &mut self.next;
        while *block >= *self.blocks.get(*packet)? {
            (*packet, *block) = (*packet + 1, 1);
        }
        *block += 1;
        Some((*packet, *block - 1))
    }

    /// Nothing more of packets that are not good.
    fn leave_out(&mut self, are_good: &[bool]) {
        for (blocks, is_good) in self.blocks.iter_mut().zip(are_good) {
            *blocks = if *is_good { *blocks } else { 0 };
        }
    }
}

/// Blocks of streams, as many as lanes, and the packets' keys for Poly1305.
struct Streams {
    backend: Backend,
    used: usize,
    places: [Place; LANES],
    states: [State; LANES],
    blocks: [Block; LANES],
    keys: [[u8; poly1305::KEY]; GROUP],
}

impl Streams {
    fn new(backend: Backend) -> Self {
        Self {
            backend,
            used: 0,
            places: [(0, 0); LANES],
            states: [[0; 16]; LANES],
            blocks: [[0; BLOCK]; LANES],
            keys: [[0; poly1305::KEY]; GROUP],
        }
    }

    /// Computes the first blocks, and keeps what is the keys.
    fn start(&mut self, places: &mut Places, packets: &[Packet<'_>]) {
        self.next(places, packets);
        for (key, block) in self.keys.iter_mut().zip(&self.blocks) {
            key.copy_from_slice(&block[..HEAD]);
        }
    }

    /// Computes the next blocks. False if there are none.
    fn next(&mut self, places: &mut Places, packets: &[Packet<'_>]) -> bool {
        self.used = 0;
        while self.used < LANES
            && let Some((packet, block)) = places.next()
        {
            let Packet { stream, nonce, .. } = &packets[packet];
            let [n0, n1] = salsa20::words(nonce);
            let counter = [n0, n1, block as u32, (block >> 32) as u32];
            self.states[self.used] = state(&stream.0, counter);
            self.places[self.used] = (packet, block);
            self.used += 1;
        }
        blocks(self.backend, &self.states, &mut self.blocks[..self.used]);
        self.used > 0
    }

    /// Encrypts or decrypts what these blocks are for, in the packets that are wanted.
    fn apply(&self, packets: &mut [Packet<'_>], wanted: &[bool]) {
        let all = self.places.iter().zip(&self.blocks).take(self.used);
        for (&(packet, block), stream) in all.filter(|((packet, _), _)| wanted[*packet]) {
            let (start, stream) = match block as usize {
                0 => (0, &stream[HEAD..]),
                block => (block * BLOCK - HEAD, &stream[..]),
            };
            for (text, stream) in packets[packet].text[start..].iter_mut().zip(stream) {
                *text ^= stream;
            }
        }
    }

    /// The tags of the packets' ciphertexts.
    fn tags(&self, packets: &[Packet<'_>]) -> [[u8; TAG]; GROUP] {
        let mut texts: [&[u8]; GROUP] = [&[]; GROUP];
        for (text, packet) in texts.iter_mut().zip(packets) {
            *text = packet.text;
        }
        let (mut tags, n) = ([[0; TAG]; GROUP], packets.len());
        poly1305::tags(self.backend, &self.keys[..n], &texts[..n], &mut tags[..n]);
        tags
    }
}

/// Secrets are erased as whole arrays: `zeroize` would do it byte by byte, which takes longer than the
/// blocks did.
impl Drop for Streams {
    fn drop(&mut self) {
        self.states = [[0; 16]; LANES];
        self.blocks = [[0; BLOCK]; LANES];
        self.keys = [[0; poly1305::KEY]; GROUP];
        optimization_barrier(self);
    }
}
