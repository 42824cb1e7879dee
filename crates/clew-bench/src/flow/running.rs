//! Whole flows, signed and verified in order: one case for each side.

use super::{NOW, TOGETHER, payloads, receiver, sender, slices};
use crate::groups::rng;
use crate::measure::Case;
use clew::flow::ed25519::Signer;
use clew_flow::{Carry, Chaining, FlowReceiver, FlowSender, Reason};
use rand_chacha::ChaCha20Rng;
use std::time::{Duration, Instant};

/// A sample has at least so many packets, so that small blocks are many.
const PACKETS_MIN: usize = 256;

/// A flow of packets of one length, in blocks of one size.
#[derive(Clone, Copy)]
pub struct Shape {
    pub chaining: Chaining,
    pub bytes: usize,
}

impl Shape {
    fn block(self) -> usize {
        self.chaining.most.into()
    }

    fn packets(self) -> usize {
        self.block().max(PACKETS_MIN)
    }

    /// Signing: what each packet takes.
    pub fn signing(self, name: String) -> Case<'static> {
        let mut signing = Signing::new(self);
        warm(name, "signing, a packet", self.packets(), move || {
            let start = Instant::now();
            signing.all();
            start
        })
    }

    /// Verifying in order without loss: what each packet takes.
    pub fn verifying(self, name: String) -> Case<'static> {
        let mut signing = Signing::new(self);
        signing.all();
        let work = move || {
            let receiver = receiver(self.chaining);
            let start = Instant::now();
            verify(receiver, &signing.outs);
            start
        };
        warm(name, "verifying in order, a packet", self.packets(), work)
    }

    /// Bytes that signing adds to a packet, on average.
    pub fn added(self) -> f64 {
        let mut signing = Signing::new(self);
        signing.all();
        let signed: usize = signing.outs.iter().map(Vec::len).sum();
        signed as f64 / self.packets() as f64 - self.bytes as f64
    }
}

/// Work is done for so long before it is measured.
const WARM: Duration = Duration::from_micros(200);

/// A case whose work, which says when it began, is done several times before it is measured: packets and
/// buffers are in the caches, as when the system has just copied them, and vectors run at full speed.
pub fn warm(
    name: String,
    about: &'static str,
    packets: usize,
    mut work: impl FnMut() -> Instant + 'static,
) -> Case<'static> {
    Case::timed(name, about, move || {
        let begin = Instant::now();
        while begin.elapsed() < WARM {
            work();
        }
        (work().elapsed(), packets)
    })
}

struct Signing {
    shape: Shape,
    sender: FlowSender<Signer>,
    payloads: Vec<Vec<u8>>,
    outs: Vec<Vec<u8>>,
    rng: ChaCha20Rng,
}

impl Signing {
    fn new(shape: Shape) -> Self {
        Self {
            shape,
            sender: sender(shape.chaining),
            payloads: payloads(shape.packets(), shape.bytes),
            outs: vec![Vec::new(); shape.packets()],
            rng: rng(4),
        }
    }

    fn all(&mut self) {
        let (payloads, size) = (slices(&self.payloads), self.shape.block());
        for (block, outs) in payloads.chunks(size).zip(self.outs.chunks_mut(size)) {
            let signed = self
                .sender
                .sign_block(block, Carry::Every, NOW, &mut self.rng, outs);
            signed.expect("a block that the flow may have");
        }
    }
}

fn verify(mut receiver: FlowReceiver, signed: &[Vec<u8>]) {
    for some in slices(signed).chunks(TOGETHER) {
        let findings = receiver.receive_many(some, NOW, 0);
        assert!(
            findings.iter().all(|f| f.reason == Reason::Ok),
            "every packet is valid"
        );
    }
}
