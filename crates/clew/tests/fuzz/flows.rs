//! Seeds of `flow_packets`: blocks of the flow that is received, one after the other.

use crate::targets::flow::{NOW, SECRET, descriptor};
use clew_flow::{Carry, Ed25519Signer, FlowSender};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

/// A flow with each carriage.
pub fn seeds() -> Vec<Vec<u8>> {
    [Carry::Every, Carry::OneIn(3)].map(flow).to_vec()
}

fn flow(carry: Carry) -> Vec<u8> {
    let rng = &mut ChaCha20Rng::seed_from_u64(1);
    let signer = Ed25519Signer::from_secret(&SECRET);
    let mut sender = FlowSender::new(descriptor(), signer, rng).unwrap();
    let mut seed = Vec::new();
    for count in [1, 2, 4, 5] {
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
