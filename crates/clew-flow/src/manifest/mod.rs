//! Manifests: signatures beside packets that cannot be touched (`spec/flow-signature.md` section 10).

mod receiver;
mod wire;

pub use receiver::ManifestReceiver;
pub use wire::{Manifest, digest};

use alloc::vec::Vec;
use rand_core::CryptoRng;

use crate::sender::{FlowSender, Unsignable, count};
use crate::signing::BlockSigner;
use crate::wire::{Descriptor, FIXED_BYTES};
use clew_tree::{Block, Digest, DigestSize, ID_BYTES};
use clew_wire::WallTime;

/// Longest manifest that is sent, where its packets allow.
const SENT_BYTES: usize = 1200;

/// Returns the most packets of a manifest of the flow that is sent: 1,200 bytes hold it, or it has
/// but one.
pub fn sent_max(descriptor: &Descriptor) -> u16 {
    let rest = FIXED_BYTES + descriptor.blob_bytes();
    let room = SENT_BYTES.saturating_sub(rest) / size_of::<Digest>();
    room.max(1) as u16
}

impl<S: BlockSigner> FlowSender<S> {
    /// Signs packets as one block and leaves them as they are: what is returned goes beside them.
    ///
    /// # Errors
    /// See [`Unsignable`].
    pub fn sign_manifest(
        &mut self,
        packets: &[&[u8]],
        timestamp: WallTime,
        rng: &mut impl CryptoRng,
    ) -> Result<Vec<u8>, Unsignable> {
        let mut id = [0; ID_BYTES];
        rng.fill_bytes(&mut id);
        let count = count(packets, self.descriptor())?;
        let block = wire::block(self.descriptor(), id, count).ok_or(Unsignable::Salted)?;
        let digests = packets
            .iter()
            .flat_map(|packet| wire::digest(self.descriptor(), packet));
        let digests: Vec<u8> = digests.collect();
        let place = self.place();
        let message = wire::message(self.descriptor(), place, timestamp, &block, &digests);
        let mut blob = timestamp.as_nanos().to_be_bytes().to_vec();
        self.sign(&message, rng, &mut blob)?;
        let key = self.descriptor().key_id();
        self.advance(rng);
        Ok(wire::write(&block, place, key, &digests, &blob))
    }
}

/// The size of digests within trees, which manifests do not have: any will do.
const NO_TREE: DigestSize = DigestSize::D32;

/// The block of a manifest: its id and count.
fn listed(id: [u8; ID_BYTES], count: u16) -> Option<Block> {
    Block::new(id, count, NO_TREE)
}
