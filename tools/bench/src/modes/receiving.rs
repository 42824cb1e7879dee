//! The verifier, as `clew verify` is one, and the count of what it verifies.

use super::traffic::{GROUP, NOW, frame};
use crate::groups::rng;
use clew_group::{Scheme, VerifyingKey};
use clew_packet::{
    Acceptance, GroupTag, KeySource, Pending, Received, Receiver, Timestamp, Unknown, Verdict,
    Windows,
};
use rand_chacha::ChaCha20Rng;
use rand_core::{Infallible, TryCryptoRng, TryRng};
use std::sync::Arc;

/// Packets that are checked together: the batch of `clew verify`, on one core.
pub const TOGETHER: usize = 512;

/// Randomness that XR's batch draws for each signature in plain form that it verifies.
const DRAWN_BYTES: usize = 16;

/// The one group's key.
#[derive(Clone)]
pub struct Keys(pub Arc<VerifyingKey>);

impl KeySource for Keys {
    fn scheme(&self, group: GroupTag) -> Result<Scheme, Unknown> {
        match group == GROUP.tag() {
            true => Ok(self.0.scheme()),
            false => Err(Unknown::Group),
        }
    }

    fn successor_start(&self, _: GroupTag, _: u32) -> Result<Option<Timestamp>, Unknown> {
        Ok(None)
    }

    fn key(&self, _: GroupTag, _: u32) -> Option<Arc<VerifyingKey>> {
        Some(Arc::clone(&self.0))
    }
}

/// Counts what is drawn: 16 bytes for each group signature of XR that passes its hash and enters the
/// sums of a batch, and nothing else. So the library itself tells how many it verifies.
pub struct Counting {
    rng: ChaCha20Rng,
    bytes: usize,
}

impl Counting {
    pub fn new(seed: u64) -> Self {
        let (rng, bytes) = (rng(seed), 0);
        Self { rng, bytes }
    }

    /// How many signatures of XR were verified.
    pub fn verifications(&self) -> usize {
        self.bytes / DRAWN_BYTES
    }
}

impl TryRng for Counting {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.bytes += 4;
        self.rng.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.bytes += 8;
        self.rng.try_next_u64()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.bytes += bytes.len();
        self.rng.try_fill_bytes(bytes)
    }
}

impl TryCryptoRng for Counting {}

/// A receiver that has seen nothing.
pub fn receiver(keys: &Keys) -> Receiver<Keys> {
    Receiver::new(keys.clone(), Acceptance::capture())
}

/// Receives the packets at these places, [`TOGETHER`] at a time, and says how many are valid.
pub fn verify(
    mut receiver: Receiver<Keys>,
    signed: &[Vec<u8>],
    arrivals: &[usize],
    rng: &mut Counting,
) -> usize {
    let mut valid = 0;
    for batch in arrivals.chunks(TOGETHER) {
        let mut pending = Vec::new();
        for place in batch {
            match receiver.receive(&frame(&signed[*place]), Some(NOW)) {
                Received::Done(conclusion) => {
                    valid += usize::from(conclusion.verdict == Verdict::Valid)
                }
                Received::Pending(packet) => pending.push(packet),
                Received::Waiting(_) => {} // nothing here is in coded carriage
            }
        }
        for checked in Pending::check_all(pending, Windows::Whole, rng) {
            valid += usize::from(receiver.conclude(checked).verdict == Verdict::Valid);
        }
    }
    valid
}

/// Everything but group signatures and the hashes of windows: steps 1 to 6 of all packets.
pub fn receive(mut receiver: Receiver<Keys>, signed: &[Vec<u8>]) -> Vec<Received> {
    let receive = |bytes: &Vec<u8>| receiver.receive(&frame(bytes), Some(NOW));
    signed.iter().map(receive).collect()
}
