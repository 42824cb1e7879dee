//! Flow signatures (`clew-flow`): the paper's tables and figures, rates, and what loss costs.

pub mod loss;
pub mod paper;
pub mod rates;
mod running;

use crate::groups::rng;
use clew_flow::{
    Acceptance, Algorithm, BlockSigner as _, Chaining, Descriptor, Ed25519Signer, Effort,
    FlowReceiver, FlowSender,
};
use rand_core::Rng as _;

/// When all blocks are signed and received, in nanoseconds since 1970.
const NOW: u64 = 1_700_000_000_000_000_000;

/// Packets that a receiver takes from the system and verifies together.
const TOGETHER: usize = 64;

/// What packets are made of.
fn payloads(count: usize, bytes: usize) -> Vec<Vec<u8>> {
    let mut rng = rng(2);
    let mut payload = |_| {
        let mut payload = vec![0; bytes];
        rng.fill_bytes(&mut payload);
        payload
    };
    (0..count).map(&mut payload).collect()
}

fn slices(packets: &[Vec<u8>]) -> Vec<&[u8]> {
    packets.iter().map(Vec::as_slice).collect()
}

fn signer() -> Ed25519Signer {
    Ed25519Signer::from_secret(&[7; 32])
}

fn descriptor(chaining: Chaining) -> Descriptor {
    let key = signer().public_key();
    Descriptor::new(chaining, Algorithm::Ed25519, &key, "clew-bench").expect("a descriptor")
}

fn sender(chaining: Chaining) -> FlowSender<Ed25519Signer> {
    FlowSender::new(descriptor(chaining), signer(), &mut rng(3)).expect("the signer's own key")
}

/// A receiver that has seen nothing, and verifies whatever comes.
fn receiver(chaining: Chaining) -> FlowReceiver {
    let effort = Effort {
        reserve: u32::MAX,
        per_second: u32::MAX,
    };
    let acceptance = Acceptance {
        effort,
        ..Acceptance::default()
    };
    FlowReceiver::new([descriptor(chaining)], acceptance).expect("a key")
}

/// The way to hash many messages that is in use, of those that the machine has.
fn lanes() -> String {
    let names: Vec<_> = clew_flow::lanes::Path::all().map(|p| p.name()).collect();
    format!("{} (of {})", names[0], names.join(", "))
}
