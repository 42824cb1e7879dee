//! Flows whose blocks eFFS signs, and that are verified in levels.

use crate::engine::setup::{NOW, packet};
use clew_flow::effs::{Instance, Parameters, SecretKey, Signer};
use clew_flow::manifest::ManifestReceiver;
use clew_flow::{
    Acceptance, Algorithm, Chaining, Descriptor, Distribution, FlowReceiver, FlowSender, Reason,
    Verdict,
};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

struct Flow {
    descriptor: Descriptor,
    sender: FlowSender<Signer>,
    rng: ChaCha20Rng,
}

impl Flow {
    fn new(name: &str) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(4);
        let parameters: Parameters = name.parse().unwrap();
        let key = SecretKey::generate(parameters, &mut rng);
        let (chaining, public) = (Chaining::default(), key.public().as_bytes());
        let descriptor = Descriptor::new(chaining, Algorithm::Effs, public, "a flow").unwrap();
        let descriptor = Descriptor::from_bytes(&descriptor.to_bytes()).unwrap();
        assert_eq!(descriptor.effs(), Some(parameters));
        let signer = Signer::new(&key, || Instance([0; 32]));
        let sender = FlowSender::new(descriptor.clone(), signer.clone(), &mut rng).unwrap();
        Self {
            descriptor,
            sender,
            rng,
        }
    }

    fn sign(&mut self, count: usize, distribution: Distribution) -> Vec<Vec<u8>> {
        let packets: Vec<Vec<u8>> = (0..count as u16).map(packet).collect();
        let slices: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
        let mut outs = vec![Vec::new(); count];
        self.sender.prepare(&mut self.rng);
        let signed = self
            .sender
            .sign_block(&slices, distribution, NOW, &mut self.rng, &mut outs);
        assert_eq!(signed, Ok(()));
        outs
    }

    /// A receiver that verifies to so many bits.
    fn receiver(&self, bits: u16) -> FlowReceiver {
        let verifier = self.descriptor.verifier_for(bits).unwrap();
        FlowReceiver::with_verifiers([(self.descriptor.clone(), verifier)], Acceptance::default())
    }
}

fn reasons(receiver: &mut FlowReceiver, block: &[Vec<u8>]) -> Vec<Reason> {
    let signed: Vec<&[u8]> = block.iter().map(Vec::as_slice).collect();
    let findings = receiver.receive_many(&signed, NOW, 0);
    findings.iter().map(|finding| finding.reason).collect()
}

#[test]
fn blocks_are_signed_and_verified_in_every_carriage() {
    for name in ["effs-2048(128,1)", "effs-2048(64,2)", "effs-3072(128,2)"] {
        let mut flow = Flow::new(name);
        for distribution in [
            Distribution::Every,
            Distribution::OneIn(4),
            Distribution::CODED,
        ] {
            let mut receiver = flow.receiver(256);
            let block = flow.sign(16, distribution);
            let found = reasons(&mut receiver, &block);
            assert_eq!(
                receiver.counters().of(Reason::Ok),
                16,
                "{name} {distribution:?} {found:?}"
            );
            assert_eq!(receiver.verifications(), 1);
            let mut spoiled = flow.sign(9, Distribution::Every);
            let at = spoiled[0].len() - 100;
            spoiled[0][at] ^= 1;
            assert_eq!(
                reasons(&mut receiver, &spoiled[..1]),
                [Reason::BadSignature]
            );
        }
    }
}

/// What is verified to less than 128 bits is never accepted, in no carriage, and costs one verification.
#[test]
fn low_levels_refuse_and_never_accept() {
    let mut flow = Flow::new("effs-2048(64,2)");
    for distribution in [Distribution::Every, Distribution::CODED] {
        let block = flow.sign(16, distribution);
        let mut receiver = flow.receiver(64);
        let found = reasons(&mut receiver, &block);
        assert_eq!(receiver.verifications(), 1);
        assert_eq!(receiver.counters().of(Reason::Ok), 0);
        assert_eq!(found[15], Reason::Weak);
        assert_eq!(Reason::Weak.verdict(), Verdict::Undecided);
        // The level above accepts the same packets.
        let mut receiver = flow.receiver(65);
        reasons(&mut receiver, &block);
        assert_eq!(receiver.counters().of(Reason::Ok), 16);
    }
    let mut spoiled = flow.sign(1, Distribution::Every);
    let at = spoiled[0].len() - 500;
    spoiled[0][at] ^= 1;
    assert_eq!(
        reasons(&mut flow.receiver(64), &spoiled),
        [Reason::BadSignature]
    );
    let manifest = flow
        .sender
        .sign_manifest(&[b"packet"], NOW, &mut flow.rng)
        .unwrap();
    for (bits, reason) in [(64, Reason::Weak), (128, Reason::Ok)] {
        let verifier = flow.descriptor.verifier_for(bits).unwrap();
        let flows = [(flow.descriptor.clone(), verifier)];
        let mut receiver = ManifestReceiver::with_verifiers(flows, Acceptance::default());
        assert_eq!(receiver.receive_manifest(&manifest, NOW).reason, reason);
    }
}

#[test]
fn keys_that_are_none_are_no_descriptors() {
    let flow = Flow::new("effs-2048(64,2)");
    let key = flow.descriptor.public_key().to_vec();
    let describe = |key: &[u8]| Descriptor::new(Chaining::default(), Algorithm::Effs, key, "");
    for bad in [&key[1..], &key[..key.len() - 1], &[], &[0; 32]] {
        assert!(describe(bad).is_err());
    }
    // n is even: the length is right, and the verifier looks.
    let mut even = key.clone();
    even[5 + 255] ^= 1;
    assert!(describe(&even).unwrap().verifier().is_err());
    // Signatures that no packet carries.
    let parameters: Parameters = "effs-3072(32,4)".parse().unwrap();
    for parameters in [parameters, parameters.in_papers_form()] {
        let key = SecretKey::generate(parameters, &mut ChaCha20Rng::seed_from_u64(1));
        assert!(describe(key.public().as_bytes()).is_err());
    }
}
