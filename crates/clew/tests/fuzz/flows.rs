//! Seeds of `flow_packets`: blocks of the flow that is received, one after the other.

use crate::targets::flow::{NOW, SECRET, descriptor};
use clew_flow::carriage::{Rate, TagSize};
use clew_flow::{Carry, Ed25519Signer, FlowSender};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

/// A flow with each carriage.
pub fn seeds() -> Vec<Vec<u8>> {
    let coded = [Some(TagSize::T8), Some(TagSize::T4), None];
    let rate = Rate::QUARTER;
    let coded = coded.map(|tags| Carry::Coded { rate, tags });
    let others = [Carry::Every, Carry::OneIn(3)];
    others.into_iter().chain(coded).map(flow).collect()
}

fn flow(carry: Carry) -> Vec<u8> {
    let rng = &mut ChaCha20Rng::seed_from_u64(1);
    let signer = Ed25519Signer::from_secret(&SECRET);
    let mut sender = FlowSender::new(descriptor(), signer, rng).unwrap();
    let mut seed = Vec::new();
    for count in [1, 2, 4, 9, 17] {
        let packets: Vec<&[u8]> = vec![b"a packet"; count];
        let mut outs = vec![Vec::new(); count];
        sender
            .sign_block(&packets, carry, NOW, rng, &mut outs)
            .unwrap();
        for signed in outs {
            seed.extend((signed.len() as u16).to_be_bytes());
            seed.extend(signed);
        }
    }
    seed
}
