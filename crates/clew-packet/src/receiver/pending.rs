//! Packets between the receiver's two steps: step 7 of specification section 6, nearly all of the
//! work, on any thread.

use alloc::{boxed::Box, sync::Arc, vec, vec::Vec};

use clew_group::{Fault, Signed, VerifyingKey};
use clew_tree::carriage::Key;
use rand_core::CryptoRng;

use crate::{
    net::flow::Flow,
    reason::Reason,
    receiver::block_cache::BlockName,
    receiver::cover::{Cover, covers},
    receiver::replay::{AcceptedId, SignatureId, message_hash, naming_hash},
    receiver::waiting::{Ticket, Waiter},
    sender::window::{self, PacketDigest},
    signed::{SignedPacket, Summary},
    wire::block::Block,
};

/// What a message has besides the bytes of its packet, at most: one allocation is enough.
const MESSAGE_EXTRA_BYTES: usize = 64;

/// A packet whose group signature has to be checked. It owns all that this takes.
#[derive(Debug)]
pub struct Pending {
    summary: Summary,
    pub(super) key: Arc<VerifyingKey>,
    /// The message, then the body.
    bytes: Vec<u8>,
    message_bytes: usize,
    pub(crate) span: Span,
    /// In coded carriage, the bin that the body was restored from.
    pub(super) bin: Option<Box<Key>>,
    /// Who waited before it has a smaller one.
    pub(crate) ticket: Ticket,
}

/// What to make of windows whose packets are all there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Windows {
    /// Nothing: every packet is verified by its own signature.
    Alone,
    /// One verification for each, as Clue has it. The other packets are valid by the word of the
    /// packet that ends the window (reason `vouched`): it can be opened, they need not be so.
    Whole,
}

/// What packets share that may be verified together, to be compared and hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Affinity(Shared);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Shared {
    Block(BlockName),
    Flow(Flow),
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
                flow: packet.flow().key(),
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
            bin: None,
            ticket: Ticket::default(),
        }
    }

    /// The packet of a block in coded carriage whose signature was restored: `bytes` are the message.
    pub(crate) fn restored(
        summary: Summary,
        key: Arc<VerifyingKey>,
        mut bytes: Vec<u8>,
        (bin, index): (Key, u16),
        signature: &[u8],
    ) -> Self {
        let message_bytes = bytes.len();
        let name = BlockName::of(&bytes, signature);
        bytes.extend_from_slice(signature);
        Self {
            summary,
            key,
            bytes,
            message_bytes,
            span: Span::Block { index, name },
            bin: Some(Box::new(bin)),
            ticket: Ticket::default(),
        }
    }

    /// Decodes and verifies the group signature of this packet alone.
    pub fn check(self, rng: &mut impl CryptoRng) -> Checked {
        let verified = self.key.verify(self.signed(), rng);
        self.checked(verified)
    }

    /// Checks many packets at once, which is much cheaper for each: packets of a block share one
    /// verification, those of a window if [`Windows`] says so, and where the scheme has batches,
    /// signatures are verified together. The answers are in the order of the packets, which is that
    /// of their arrival, and those of [`check`](Self::check), but for packets of whole windows.
    pub fn check_all(
        pending: Vec<Self>,
        windows: Windows,
        rng: &mut impl CryptoRng,
    ) -> Vec<Checked> {
        let mut verified = vec![Ok(()); pending.len()];
        let covers = covers(&pending, windows);
        let own = |i: &usize| covers[*i] == Cover::Own;
        verify(&pending, (0..pending.len()).filter(own), &mut verified, rng);
        for (i, cover) in covers.iter().enumerate() {
            if let Cover::Block(by) = cover {
                verified[i] = verified[*by];
            }
        }
        let vouched = |i: &usize| matches!(covers[*i], Cover::Window(by) if verified[by].is_ok());
        let in_vain = |i: &usize| matches!(covers[*i], Cover::Window(by) if verified[by].is_err());
        let vouched: Vec<usize> = (0..pending.len()).filter(vouched).collect();
        let in_vain: Vec<usize> = (0..pending.len()).filter(in_vain).collect();
        verify(&pending, in_vain.into_iter(), &mut verified, rng);
        let answers = pending.into_iter().zip(verified);
        let mut answers: Vec<Checked> = answers.map(|(p, verified)| p.checked(verified)).collect();
        for i in vouched {
            answers[i].signature = Ok(Held::Vouched);
        }
        answers
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

    /// Returns the affinity: packets that have the same may share a verification. Returns `None` if
    /// this packet shares none.
    pub fn affinity(&self) -> Option<Affinity> {
        match self.span {
            Span::Nothing => None,
            Span::Block { name, .. } => Some(Affinity(Shared::Block(name))),
            Span::Window { flow, .. } => Some(Affinity(Shared::Flow(flow))),
        }
    }

    /// Whether both are verified by one key: they are of one group and epoch.
    pub(crate) fn has_key_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.key, &other.key)
    }

    /// The name of its signature.
    pub(crate) fn id(&self) -> AcceptedId {
        if let Span::Block { index, name } = self.span {
            return name.id(index);
        }
        let Signed { message, body, .. } = self.signed();
        AcceptedId {
            signature: SignatureId::of(&message_hash(message), &naming_hash(body)),
            index: None,
        }
    }

    /// Which packet of its block it is, in a tree.
    fn index(&self) -> Option<u16> {
        match self.span {
            Span::Block { index, .. } => Some(index),
            Span::Nothing | Span::Window { .. } => None,
        }
    }

    pub(super) fn signed(&self) -> Signed<'_> {
        let (message, body) = self.bytes.split_at(self.message_bytes);
        Signed {
            message,
            body,
            incremental: self.summary.incremental,
        }
    }

    /// What checking says, if this is what verifying said.
    pub(crate) fn checked(self, verified: Result<(), Fault>) -> Checked {
        let signature = verified.map_err(|fault| match fault {
            // What is wrong with a blob is not what is wrong with this packet.
            Fault::Encoding(_) if self.bin.is_none() => Reason::BadEncoding,
            Fault::Encoding(_) | Fault::Invalid => Reason::BadSignature,
        });
        Checked {
            summary: self.summary,
            id: self.id(),
            signature: signature.map(|()| Held::Own),
            block: self.block().zip(self.index()),
            bin: self.bin.map(|bin| *bin),
            ticket: self.ticket,
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
    pub(crate) id: AcceptedId,
    pub(crate) signature: Result<Held, Reason>,
    /// The block that was verified, and which packet of it this is.
    pub(crate) block: Option<(BlockName, u16)>,
    /// In coded carriage, the bin that its signature was restored from.
    pub(crate) bin: Option<Key>,
    pub(crate) ticket: Ticket,
}

impl Checked {
    /// What is known of a packet whose block's signature was verified.
    pub(crate) fn of_block(packet: &Waiter, block: BlockName) -> Self {
        let Waiter {
            summary,
            index,
            ticket,
        } = *packet;
        Self {
            summary,
            id: block.id(index),
            signature: Ok(Held::Own),
            block: Some((block, index)),
            bin: None,
            ticket,
        }
    }
}

/// Which signature holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// The packet's own.
    Own,
    /// That of a window that the packet is in.
    Vouched,
}

impl Held {
    pub const fn reason(self) -> Reason {
        match self {
            Self::Own => Reason::Ok,
            Self::Vouched => Reason::Vouched,
        }
    }
}
