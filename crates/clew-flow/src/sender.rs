//! Signs blocks of packets: `spec/flow-signature.md` sections 3, 4 and 6.

use alloc::vec::Vec;

use rand_core::CryptoRng;

use crate::distribution::{Distribution, SignatureParts};
use crate::effs::Fault;
use crate::signing::BlockSigner;
use crate::wire::{BadDescriptor, Descriptor, Fixed, SALT_BYTES, message};
use clew_tree::{Content, ID_BYTES, Tree};
use clew_wire::WallTime;

/// Starts of sequences are below this, so that none wraps for 2^31 blocks.
const START_END: u32 = 1 << 31;

/// Signs the blocks of one flow.
#[derive(Debug)]
pub struct FlowSender<S> {
    descriptor: Descriptor,
    signer: S,
    tag: [u8; 4],
    seq: u32,
}

/// Why a block is not signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsignable {
    /// It has no packets.
    Empty,
    /// It has more packets than the flow's blocks may have.
    TooMany,
    /// It has more packets than a code has shares.
    TooManyToCode,
    /// There are more buffers than packets, or fewer.
    Buffers,
    /// The flow's packets have salts, and a manifest has none.
    Salted,
    /// The signature that was made does not hold.
    Fault,
}

impl From<Fault> for Unsignable {
    fn from(_: Fault) -> Self {
        Self::Fault
    }
}

/// Returns how many packets a block is to have, which its flow's blocks may have.
pub(crate) fn count(packets: &[&[u8]], descriptor: &Descriptor) -> Result<u16, Unsignable> {
    match u16::try_from(packets.len()) {
        Ok(0) => Err(Unsignable::Empty),
        Ok(count) if count <= descriptor.chaining().most => Ok(count),
        _ => Err(Unsignable::TooMany),
    }
}

impl<S: BlockSigner> FlowSender<S> {
    /// Creates a sender of the flow that the descriptor describes.
    ///
    /// # Errors
    /// The descriptor has another key than the signer.
    pub fn new(
        descriptor: Descriptor,
        signer: S,
        rng: &mut impl CryptoRng,
    ) -> Result<Self, BadDescriptor> {
        let same = descriptor.algorithm() == signer.algorithm()
            && descriptor.public_key() == signer.public_key();
        if !same {
            return Err(BadDescriptor);
        }
        let mut sender = Self {
            descriptor,
            signer,
            tag: [0; 4],
            seq: 0,
        };
        sender.renew(rng);
        Ok(sender)
    }

    /// Returns the flow's descriptor.
    pub const fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// Draws tag and sequence anew: after idle time, so that they identify nobody.
    pub fn renew(&mut self, rng: &mut impl CryptoRng) {
        rng.fill_bytes(&mut self.tag);
        self.seq = rng.next_u32() % START_END;
    }

    /// Signs packets as one block: each is put into its own buffer, with its packet signature behind
    /// it.
    ///
    /// # Errors
    /// See [`Unsignable`].
    pub fn sign_block(
        &mut self,
        packets: &[&[u8]],
        distribution: Distribution,
        timestamp: WallTime,
        rng: &mut impl CryptoRng,
        outs: &mut [Vec<u8>],
    ) -> Result<(), Unsignable> {
        let count = count(packets, &self.descriptor)?;
        if outs.len() != packets.len() {
            return Err(Unsignable::Buffers);
        }
        // Drawn here: the packets are fixed.
        let mut id = [0; ID_BYTES];
        rng.fill_bytes(&mut id);
        let block = self.descriptor.chaining().block(id, count);
        let block = block.ok_or(Unsignable::TooMany)?;
        let salts = self.salts(packets.len(), rng);
        let salt = |index: u16| salts.get(usize::from(index)).map_or(&[][..], |salt| salt);
        let contents = (0..count).zip(packets).map(|(index, packet)| Content {
            index,
            salt: salt(index),
            packet,
        });
        let contents: Vec<Content<'_>> = contents.collect();
        let tree =
            Tree::new(block, &block.leaves(&contents)).expect("there is a leaf for each packet");
        let blob = self.blob(&tree, timestamp, rng)?;
        let parts = SignatureParts::new(blob, &block, distribution)
            .map_err(|_| Unsignable::TooManyToCode)?;
        let place = (self.tag, self.seq, self.descriptor.key_id());
        for (content, out) in contents.iter().zip(outs) {
            let index = content.index;
            out.clear();
            out.extend_from_slice(content.packet);
            out.extend_from_slice(content.salt);
            tree.write_path(index, out);
            let carriage = parts.write(index, out);
            let fixed = Fixed::new(&block, place, index, carriage);
            fixed.write_behind(content.packet.len(), out);
        }
        self.advance(rng);
        Ok(())
    }

    fn salts(&self, count: usize, rng: &mut impl CryptoRng) -> Vec<[u8; SALT_BYTES]> {
        if !self.descriptor.chaining().salted {
            return Vec::new();
        }
        let mut salts = alloc::vec![[0; SALT_BYTES]; count];
        salts.iter_mut().for_each(|salt| rng.fill_bytes(salt));
        salts
    }

    /// Timestamp and signature.
    fn blob(
        &mut self,
        tree: &Tree,
        timestamp: WallTime,
        rng: &mut impl CryptoRng,
    ) -> Result<Vec<u8>, Fault> {
        let place = (self.tag, self.seq);
        let message = message(
            &self.descriptor,
            place,
            timestamp,
            tree.block(),
            &tree.root(),
        );
        let mut blob = timestamp.as_nanos().to_be_bytes().to_vec();
        self.signer.sign(&message, rng, &mut blob)?;
        Ok(blob)
    }

    /// Where the next block is in its sequence.
    pub(crate) const fn place(&self) -> ([u8; 4], u32) {
        (self.tag, self.seq)
    }

    /// Appends the signature of a message.
    pub(crate) fn sign(
        &mut self,
        message: &[u8],
        rng: &mut impl CryptoRng,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        self.signer.sign(message, rng, out)
    }

    /// Does in advance what the next blocks need, while there is time.
    pub fn prepare(&mut self, rng: &mut impl CryptoRng) {
        self.signer.prepare(rng);
    }

    pub(crate) fn advance(&mut self, rng: &mut impl CryptoRng) {
        match self.seq.checked_add(1) {
            Some(next) => self.seq = next,
            None => self.renew(rng),
        }
    }
}
