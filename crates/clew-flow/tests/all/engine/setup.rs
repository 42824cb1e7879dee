//! A flow with its sender and receiver.

use clew_flow::{
    Acceptance, Algorithm, BlockSigner, Chaining, Descriptor, Distribution, Ed25519Signer,
    FlowReceiver, FlowSender, Reason, WallTime,
};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

pub const NOW: WallTime = WallTime::from_nanos(1_800_000_000_000_000_000);

pub fn rng(seed: u64) -> ChaCha20Rng {
    println!("seed {seed}");
    ChaCha20Rng::seed_from_u64(seed)
}

pub struct Flow {
    pub sender: FlowSender<Ed25519Signer>,
    pub receiver: FlowReceiver,
    pub rng: ChaCha20Rng,
}

pub fn descriptor(chaining: Chaining) -> Descriptor {
    let key = Ed25519Signer::from_secret(&[7; 32]).public_key();
    Descriptor::new(chaining, Algorithm::Ed25519, &key, "a flow").unwrap()
}

impl Flow {
    pub fn new(chaining: Chaining, seed: u64) -> Self {
        let mut rng = rng(seed);
        let signer = Ed25519Signer::from_secret(&[7; 32]);
        Self {
            sender: FlowSender::new(descriptor(chaining), signer, &mut rng).unwrap(),
            receiver: receiver(chaining, Acceptance::default()),
            rng,
        }
    }

    /// A block of packets of different lengths, signed.
    pub fn block(&mut self, count: u16, distribution: Distribution) -> Vec<Vec<u8>> {
        let packets: Vec<Vec<u8>> = (0..count).map(packet).collect();
        let packets: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
        let mut outs = vec![Vec::new(); packets.len()];
        let signed = self
            .sender
            .sign_block(&packets, distribution, NOW, &mut self.rng, &mut outs);
        signed.unwrap();
        outs
    }

    pub fn receive(&mut self, signed: &[u8]) -> Reason {
        self.receiver.receive(signed, NOW, 0).reason
    }
}

pub fn receiver(chaining: Chaining, acceptance: Acceptance) -> FlowReceiver {
    FlowReceiver::new([descriptor(chaining)], acceptance).unwrap()
}

pub fn packet(index: u16) -> Vec<u8> {
    vec![index as u8; usize::from(index % 7) * 100]
}
