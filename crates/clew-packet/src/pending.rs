//! Packets between the receiver's two steps: step 7 of specification section 6, nearly all of the
//! work, on any thread.

use alloc::{sync::Arc, vec, vec::Vec};

use clew_group::{Fault, Signed, VerifyingKey};
use rand_core::CryptoRng;

use crate::{
    block::Block,
    cover::{Cover, covers},
    flow::Flow,
    reason::Reason,
    replay::SignatureId,
    signed::{SignedPacket, Summary},
    verified::BlockName,
    window::{self, PacketDigest},
};

/// What a message has besides the bytes of its packet, at most: one allocation is enough.
const MESSAGE_EXTRA_BYTES: usize = 64;

/// A packet whose group signature has to be checked. It owns all that this takes.
#[derive(Debug)]
pub struct Pending {
    summary: Summary,
    key: Arc<VerifyingKey>,
    /// The message, then the body.
    bytes: Vec<u8>,
    message_bytes: usize,
    pub(crate) span: Span,
}

/// What the packet's signature covers besides it.
#[derive(Debug)]
pub(crate) enum Span {
    Nothing,
    /// The packets of its flow before it: k with its own, and their hash.
    Window {
        flow: Flow,
        k: usize,
        h: [u8; 32],
        digest: PacketDigest,
    },
    /// The packets of its block.
    Block {
        index: u16,
        name: BlockName,
    },
}

impl Pending {
    pub(crate) fn new(packet: &SignedPacket<'_>, summary: Summary, key: Arc<VerifyingKey>) -> Self {
        let mut bytes = Vec::with_capacity(packet.length() + MESSAGE_EXTRA_BYTES);
        packet.write_message(&mut bytes);
        let message_bytes = bytes.len();
        bytes.extend_from_slice(packet.trailer().body);
        let (message, body) = bytes.split_at(message_bytes);
        let span = match packet.trailer().block {
            Block::Each => Span::Nothing,
            Block::Window { k, h } => Span::Window {
                flow: packet.flow(),
                k: k.into(),
                h: *h,
                digest: window::digest(message, body),
            },
            Block::Tree { index, .. } => Span::Block {
                index,
                name: BlockName::of(message, body),
            },
        };
        Self {
            summary,
            key,
            bytes,
            message_bytes,
            span,
        }
    }

    /// Decodes and verifies the group signature of this packet alone.
    pub fn check(self, rng: &mut impl CryptoRng) -> Checked {
        let verified = self.key.verify(self.signed(), rng);
        self.checked(verified)
    }

    /// The same for many packets, which is much cheaper for each: packets of a block and of a window
    /// share one verification, and where the scheme has batches, signatures are verified together.
    /// The answers are those of [`check`](Self::check), in the order of the packets, which is that of
    /// their arrival.
    pub fn check_all(pending: Vec<Self>, rng: &mut impl CryptoRng) -> Vec<Checked> {
        let mut verified = vec![Ok(()); pending.len()];
        let covers = covers(&pending);
        let own = |i: &usize| covers[*i] == Cover::Own;
        verify(&pending, (0..pending.len()).filter(own), &mut verified, rng);
        let in_vain = |i: &usize| match covers[*i] {
            Cover::Own => false,
            Cover::Block(by) => {
                verified[*i] = verified[by];
                false
            }
            Cover::Window(by) => verified[by].is_err(),
        };
        let alone: Vec<usize> = (0..pending.len()).filter(in_vain).collect();
        verify(&pending, alone.into_iter(), &mut verified, rng);
        let answers = pending.into_iter().zip(verified);
        answers
            .map(|(packet, verified)| packet.checked(verified))
            .collect()
    }

    /// Its block with its signature, if it is of one.
    pub(crate) fn block(&self) -> Option<BlockName> {
        match self.span {
            Span::Block { name, .. } => Some(name),
            Span::Nothing | Span::Window { .. } => None,
        }
    }

    /// Its digest in windows, if it is of one.
    pub(crate) fn window_digest(&self) -> Option<PacketDigest> {
        match self.span {
            Span::Window { digest, .. } => Some(digest),
            Span::Nothing | Span::Block { .. } => None,
        }
    }

    /// What checking would say, known without it.
    pub(crate) fn known(self, verified: Result<(), Fault>) -> Checked {
        self.checked(verified)
    }

    /// Whether both are verified by one key: they are of one group and epoch.
    pub(crate) fn has_key_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.key, &other.key)
    }

    fn signed(&self) -> Signed<'_> {
        let (message, body) = self.bytes.split_at(self.message_bytes);
        Signed {
            message,
            body,
            incremental: self.summary.incremental,
        }
    }

    fn checked(self, verified: Result<(), Fault>) -> Checked {
        let signature = verified.map_err(|fault| match fault {
            Fault::Encoding(_) => Reason::BadEncoding,
            Fault::Invalid => Reason::BadSignature,
        });
        let index = match self.span {
            Span::Block { index, .. } => Some(index),
            Span::Nothing | Span::Window { .. } => None,
        };
        Checked {
            summary: self.summary,
            id: SignatureId::of(self.signed().body, index),
            signature,
            block: self.block(),
        }
    }
}

/// Verifies some of the packets, those of one key together.
fn verify(
    pending: &[Pending],
    which: impl Iterator<Item = usize>,
    verified: &mut [Result<(), Fault>],
    rng: &mut impl CryptoRng,
) {
    let mut which: Vec<usize> = which.collect();
    which.sort_by_key(|i| Arc::as_ptr(&pending[*i].key));
    for same_key in which.chunk_by(|a, b| pending[*a].has_key_of(&pending[*b])) {
        let signed: Vec<Signed<'_>> = same_key.iter().map(|i| pending[*i].signed()).collect();
        let answers = pending[same_key[0]].key.verify_batch(&signed, rng);
        for (i, answer) in same_key.iter().zip(answers) {
            verified[*i] = answer;
        }
    }
}

/// A packet whose group signature was checked, for [`Receiver::conclude`](crate::Receiver::conclude).
#[derive(Clone, Copy, Debug)]
pub struct Checked {
    pub(crate) summary: Summary,
    pub(crate) id: SignatureId,
    pub(crate) signature: Result<(), Reason>,
    /// The block that was verified.
    pub(crate) block: Option<BlockName>,
}
