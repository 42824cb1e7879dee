//! Flow signatures (`clew-flow`): the paper's tables and figures, rates, and what loss costs.

pub mod loss;
pub mod paper;
pub mod rates;
pub mod running;

use crate::groups::rng;
use clew::flow::ed25519::Signer;
use clew::flow::schemes;
use clew_flow::{
    Acceptance, BlockSigner, BlockVerifier, Chaining, Descriptor, Effort, FlowReceiver, FlowSender,
    WallTime,
};
use clew_simd::{Backend, hash};
use clew_tree::{Block, Content, Degree, Digest, DigestSize, Suite};
use rand_core::Rng as _;

/// When all blocks are signed and received, in nanoseconds since 1970.
const NOW: WallTime = WallTime::from_nanos(1_700_000_000_000_000_000);

/// Packets that a receiver takes from the system and verifies together.
const TOGETHER: usize = 64;

/// What packets are made of.
pub fn payloads(count: usize, bytes: usize) -> Vec<Vec<u8>> {
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

/// A block with digests of 16 bytes.
pub fn block(suite: Suite, degree: u16, count: u16) -> Block {
    let degree = Degree::new(degree).expect("a degree");
    Block::shaped([1; 16], count, DigestSize::D16, degree, suite).expect("a block")
}

/// The leaves of a block's packets, hashed together.
pub fn leaves(block: &Block, packets: &[Vec<u8>]) -> Vec<Digest> {
    let contents = (0..).zip(packets).map(|(index, packet)| Content {
        index,
        salt: &[],
        packet,
    });
    block.leaves(&contents.collect::<Vec<_>>())
}

/// The program's Ed25519: AWS-LC's.
fn signer() -> Signer {
    Signer::from_secret(&[7; 32])
}

fn verifier() -> Box<dyn BlockVerifier> {
    schemes::verifier(&descriptor(Chaining::default()), u16::MAX).expect("a key")
}

fn descriptor(chaining: Chaining) -> Descriptor {
    descriptor_of(chaining, &signer())
}

/// The flow of a signer.
fn descriptor_of(chaining: Chaining, signer: &impl BlockSigner) -> Descriptor {
    let (algorithm, key) = (signer.algorithm(), signer.public_key());
    Descriptor::new(chaining, algorithm, &key, "clew-bench").expect("a descriptor")
}

fn sender(chaining: Chaining) -> FlowSender<Signer> {
    FlowSender::new(descriptor(chaining), signer(), &mut rng(3)).expect("the signer's own key")
}

/// A receiver that has seen nothing, and verifies whatever comes.
fn receiver(chaining: Chaining) -> FlowReceiver {
    receiver_by(descriptor(chaining), verifier())
}

/// The same of a flow that this verifies.
fn receiver_by(flow: Descriptor, verifier: Box<dyn BlockVerifier>) -> FlowReceiver {
    let effort = Effort {
        reserve: u32::MAX,
        per_second: u32::MAX,
    };
    let acceptance = Acceptance {
        effort,
        ..Acceptance::default()
    };
    FlowReceiver::with_verifiers([(flow, verifier)], acceptance)
}

/// What signatures and hashes are computed by: of the ways to hash many messages that the machine has, the
/// first.
fn means() -> String {
    let names: Vec<_> = hash::backends().map(Backend::name).collect();
    format!(
        "Ed25519 of AWS-LC; hashing by {} (of {})",
        names[0],
        names.join(", ")
    )
}
