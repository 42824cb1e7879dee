//! Whole flows, signed and verified in order: one case for each side.

use super::{NOW, TOGETHER, descriptor_of, payloads, receiver_by, signer, slices, verifier};
use crate::groups::rng;
use crate::measure::Case;
use clew_flow::effs::Assurance;
use clew_flow::{
    BlockSigner, BlockVerifier, Chaining, Distribution, FlowReceiver, FlowSender, Reason,
};
use rand_chacha::ChaCha20Rng;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A sample of small blocks has so many of them or so many packets, whichever is less: it is shorter than the
/// system's time slices.
const BLOCKS: usize = 16;
const PACKETS: usize = 256;

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
        self.block().max(PACKETS.min(BLOCKS * self.block()))
    }

    /// Signing by the program's Ed25519: what each packet takes.
    pub fn signing(self, name: String) -> Case<'static> {
        self.signing_by(name, WARM, signer())
    }

    /// Signing: what each packet takes, after so long a time of the same work.
    pub fn signing_by<S: BlockSigner + 'static>(
        self,
        name: String,
        before: Duration,
        signer: S,
    ) -> Case<'static> {
        let mut signing = Signing::new(self, signer);
        let work = move || {
            let start = Instant::now();
            signing.all();
            start
        };
        warm_for(name, "signing, a packet", self.packets(), before, work)
    }

    /// Verifying in order without loss, by the program's Ed25519: what each packet takes.
    pub fn verifying(self, name: String) -> Case<'static> {
        self.verifying_by(name, signer(), verifier().into())
    }

    /// The same by another scheme.
    pub fn verifying_by<S: BlockSigner + 'static>(
        self,
        name: String,
        signer: S,
        verifier: Arc<dyn BlockVerifier>,
    ) -> Case<'static> {
        let mut signing = Signing::new(self, signer);
        signing.all();
        let flow = signing.sender.descriptor().clone();
        let work = move || {
            let verifier = Box::new(Shared(Arc::clone(&verifier)));
            let receiver = receiver_by(flow.clone(), verifier);
            let start = Instant::now();
            verify(receiver, &signing.outs);
            start
        };
        warm(name, "verifying in order, a packet", self.packets(), work)
    }

    /// Bytes that signing adds to a packet, on average.
    pub fn added(self) -> f64 {
        let mut signing = Signing::new(self, signer());
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
    work: impl FnMut() -> Instant + 'static,
) -> Case<'static> {
    warm_for(name, about, packets, WARM, work)
}

/// The same for so long a time, before it is measured.
fn warm_for(
    name: String,
    about: &'static str,
    packets: usize,
    before: Duration,
    mut work: impl FnMut() -> Instant + 'static,
) -> Case<'static> {
    Case::timed(name, about, move || {
        let begin = Instant::now();
        while begin.elapsed() < before {
            work();
        }
        (work().elapsed(), packets)
    })
}

/// What several receivers verify by.
#[derive(Debug)]
struct Shared(Arc<dyn BlockVerifier>);

impl BlockVerifier for Shared {
    fn verify(&self, message: &[u8], signature: &[u8]) -> Option<Assurance> {
        self.0.verify(message, signature)
    }
}

struct Signing<S> {
    shape: Shape,
    sender: FlowSender<S>,
    payloads: Vec<Vec<u8>>,
    outs: Vec<Vec<u8>>,
    rng: ChaCha20Rng,
}

impl<S: BlockSigner> Signing<S> {
    fn new(shape: Shape, signer: S) -> Self {
        let flow = descriptor_of(shape.chaining, &signer);
        let sender = FlowSender::new(flow, signer, &mut rng(3));
        Self {
            shape,
            sender: sender.expect("the signer's own key"),
            payloads: payloads(shape.packets(), shape.bytes),
            outs: vec![Vec::new(); shape.packets()],
            rng: rng(4),
        }
    }

    fn all(&mut self) {
        let (payloads, size) = (slices(&self.payloads), self.shape.block());
        for (block, outs) in payloads.chunks(size).zip(self.outs.chunks_mut(size)) {
            let signed =
                self.sender
                    .sign_block(block, Distribution::Every, NOW, &mut self.rng, outs);
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
