//! The bytes of manifests.

use alloc::vec::Vec;
use sha2::{Digest as _, Sha256};

use super::listed;
use crate::effs::Assurance;
use crate::reason::Reason;
use crate::signing::BlockVerifier;
use crate::wire::{self, Descriptor, FIXED_BYTES, Fixed, KeyId, Message};
use clew_tree::{Block, Digest, ID_BYTES, Suite};
use clew_wire::WallTime;

/// The carriage's code.
const CARRIAGE: u8 = 6;

/// The index of a manifest that stands beside its packets.
const ALONE: u16 = u16::MAX;

const LIST_DOMAIN: &[u8; 16] = b"clew-flow-list-1";
const MESSAGE_DOMAIN: &[u8; 16] = b"clew-flow-m1\0\0\0\0";

/// Size of a packet's digest, whatever the flow's trees have.
const DIGEST_BYTES: usize = size_of::<Digest>();

/// Returns the digest of a packet in the flow's manifests.
pub fn digest(descriptor: &Descriptor, packet: &[u8]) -> Digest {
    match descriptor.chaining().suite {
        Suite::Blake3 => {
            let mut hash = blake3::Hasher::new_keyed(descriptor.digest());
            *hash
                .update(LIST_DOMAIN)
                .update(packet)
                .finalize()
                .as_bytes()
        }
        Suite::Sha256 => Sha256::new_with_prefix(LIST_DOMAIN)
            .chain_update(descriptor.digest())
            .chain_update(packet)
            .finalize()
            .into(),
    }
}

/// Returns a block of the flow's, or `None` if it may not have so many packets, or packets have
/// salts.
pub fn block(descriptor: &Descriptor, id: [u8; ID_BYTES], count: u16) -> Option<Block> {
    let chaining = descriptor.chaining();
    let fits = count <= chaining.most && !chaining.salted;
    fits.then(|| listed(id, count))?
}

/// Returns the message that the block's signature covers.
pub fn message(
    descriptor: &Descriptor,
    place: ([u8; 4], u32),
    timestamp: WallTime,
    block: &Block,
    digests: &[u8],
) -> Message {
    let root = Sha256::digest(digests).into();
    wire::message_in(MESSAGE_DOMAIN, descriptor, place, timestamp, block, &root)
}

/// Returns the encoded manifest.
pub fn write(
    block: &Block,
    (tag, seq): ([u8; 4], u32),
    key: KeyId,
    digests: &[u8],
    blob: &[u8],
) -> Vec<u8> {
    let mut out = [digests, blob].concat();
    let fixed = Fixed::with_code(block, (tag, seq, key), ALONE, CARRIAGE);
    fixed.write_behind(0, &mut out);
    out
}

/// A manifest in its parts, alone or behind one of its packets. Nothing of it is verified.
#[derive(Clone, Copy, Debug)]
pub struct Manifest<'a> {
    /// The fixed part.
    pub fixed: Fixed,
    /// The block that it says it is of.
    pub block: Block,
    /// The packet, if it stands behind one.
    pub packet: Option<&'a [u8]>,
    digests: &'a [[u8; DIGEST_BYTES]],
    /// Timestamp and block signature.
    pub blob: &'a [u8],
}

impl<'a> Manifest<'a> {
    /// Returns whether a fixed part says that it is one of a manifest.
    pub const fn is(fixed: &Fixed) -> bool {
        fixed.code() == CARRIAGE
    }

    /// Takes a manifest apart: steps 4 and 5. `fixed` is what [`Fixed::of`] read, `descriptor` the
    /// flow's that it names.
    ///
    /// # Errors
    /// `bad-block`, `unknown-carriage`, `bad-length`.
    pub fn of(bytes: &'a [u8], fixed: Fixed, descriptor: &Descriptor) -> Result<Self, Reason> {
        let block = block(descriptor, fixed.id, fixed.count).ok_or(Reason::BadBlock)?;
        let alone = fixed.index == ALONE;
        if !alone && fixed.index >= fixed.count {
            return Err(Reason::BadBlock);
        }
        if !Self::is(&fixed) {
            return Err(Reason::UnknownCarriage);
        }
        let begin = bytes.len().checked_sub(fixed.length.into());
        let (packet, rest) = bytes.split_at(begin.ok_or(Reason::BadLength)?);
        let listed = usize::from(fixed.count) * DIGEST_BYTES;
        let behind = rest.len().checked_sub(FIXED_BYTES);
        let (digests, blob) = rest[..behind.ok_or(Reason::BadLength)?]
            .split_at_checked(listed)
            .ok_or(Reason::BadLength)?;
        if blob.len() != descriptor.blob_bytes() || alone && !packet.is_empty() {
            return Err(Reason::BadLength);
        }
        Ok(Self {
            fixed,
            block,
            packet: (!alone).then_some(packet),
            digests: digests.as_chunks().0,
            blob,
        })
    }

    /// Returns the digests of its packets, in their order.
    pub const fn digests(&self) -> &'a [Digest] {
        self.digests
    }

    /// Returns when it was signed.
    pub fn timestamp(&self) -> Option<WallTime> {
        wire::blob_parts(self.blob).map(|(timestamp, _)| timestamp)
    }

    /// Returns the message that the block's signature covers.
    pub(super) fn message(&self, descriptor: &Descriptor, timestamp: WallTime) -> Message {
        let place = (self.fixed.tag, self.fixed.seq);
        let digests = self.digests.as_flattened();
        message(descriptor, place, timestamp, &self.block, digests)
    }

    /// Judges a packet by the manifest behind it, whenever it was signed: steps 7 and 10.
    pub fn verify(&self, descriptor: &Descriptor) -> Reason {
        let own = self.digests.get(usize::from(self.fixed.index));
        let listed = |packet| own == Some(&digest(descriptor, packet));
        if !self.packet.is_some_and(listed) {
            return Reason::BadDigest;
        }
        let verifier = descriptor.verifier();
        match verifier.is_ok_and(|verifier| self.is_signed(descriptor, verifier.as_ref())) {
            true => Reason::Ok,
            false => Reason::BadSignature,
        }
    }

    /// Returns whether its block signature holds, by the flow's verifier.
    pub fn is_signed(&self, descriptor: &Descriptor, verifier: &dyn BlockVerifier) -> bool {
        wire::blob_parts(self.blob).is_some_and(|(timestamp, signature)| {
            let message = self.message(descriptor, timestamp);
            let found = verifier.verify(&message, signature);
            found.is_some_and(Assurance::is_enough)
        })
    }

    /// Returns the full form of a packet: the packet, and the manifest behind it, or `None` if the
    /// manifest does not list it.
    pub fn in_full(&self, packet: &[u8], descriptor: &Descriptor) -> Option<Vec<u8>> {
        let digest = digest(descriptor, packet);
        let index = self.digests.iter().position(|listed| *listed == digest)?;
        let mut out = [packet, self.digests.as_flattened(), self.blob].concat();
        let fixed = self.fixed.at(index as u16);
        fixed.write_behind(packet.len(), &mut out);
        Some(out)
    }
}
