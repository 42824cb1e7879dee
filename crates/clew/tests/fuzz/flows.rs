//! Seeds of flow signatures, all of the flow that is received.

use crate::targets::flow::{NOW, SECRET, descriptor};
use clew::flow::proof::Proof;
use clew_flow::effs::{Instance, Parameters, Rule, SecretKey, Signer};
use clew_flow::manifest::Manifest;
use clew_flow::{Distribution, Ed25519Signer, Fixed, FlowSender, rtp};
use clew_tree::carriage::{Rate, TagSize};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

/// A flow with each carriage.
pub fn seeds() -> Vec<Vec<u8>> {
    let coded = [Some(TagSize::T8), Some(TagSize::T4), None];
    let rate = Rate::QUARTER;
    let coded = coded.map(|tags| Distribution::Coded { rate, tags });
    let others = [Distribution::Every, Distribution::OneIn(3)];
    others.into_iter().chain(coded).map(flow).collect()
}

fn sender(rng: &mut ChaCha20Rng) -> FlowSender<Ed25519Signer> {
    let signer = Ed25519Signer::from_secret(&SECRET);
    FlowSender::new(descriptor(), signer, rng).unwrap()
}

/// One packet in a block of its own.
fn alone(packet: &[u8]) -> Vec<u8> {
    let rng = &mut ChaCha20Rng::seed_from_u64(2);
    let mut outs = [Vec::new()];
    let signed = sender(rng).sign_block(&[packet], Distribution::Every, NOW, rng, &mut outs);
    signed.unwrap();
    let [out] = outs;
    out
}

/// A manifest between packets that it lists, and one that it does not.
pub fn manifests() -> Vec<u8> {
    let rng = &mut ChaCha20Rng::seed_from_u64(3);
    let manifest = sender(rng)
        .sign_manifest(&[b"one", b"two"], NOW, rng)
        .unwrap();
    let all: [&[u8]; 5] = [b"one", &manifest, b"two", b"three", &manifest];
    let behind_length = |bytes: &&[u8]| [&(bytes.len() as u16).to_be_bytes(), *bytes].concat();
    all.iter().flat_map(behind_length).collect()
}

/// A key of eFFS and a signature, in both forms of one with levels.
pub fn effs() -> Vec<Vec<u8>> {
    let rng = &mut ChaCha20Rng::seed_from_u64(5);
    let parameters: Parameters = "effs-2048(16,8)".parse().unwrap();
    let both = [
        parameters.with_rule(Rule::Williams),
        parameters.in_papers_form(),
    ];
    let seed = |parameters| {
        let key = SecretKey::generate(parameters, rng);
        let mut signer = Signer::new(&key, || Instance([0; 32]));
        let signature = signer.sign(b"message", rng).unwrap();
        let public = key.public().as_bytes();
        [&(public.len() as u16).to_be_bytes()[..], public, &signature].concat()
    };
    both.map(seed).to_vec()
}

/// A proof by a packet signature, and one by a manifest.
pub fn proofs() -> Vec<Vec<u8>> {
    let rng = &mut ChaCha20Rng::seed_from_u64(4);
    let bytes = sender(rng).sign_manifest(&[b"a packet"], NOW, rng).unwrap();
    let manifest = Manifest::of(&bytes, Fixed::of(&bytes).unwrap(), &descriptor()).unwrap();
    let listed = manifest.in_full(b"a packet", &descriptor()).unwrap();
    let proof = |signed| Proof {
        descriptor: descriptor(),
        signed,
    };
    [alone(b"a packet"), listed]
        .map(|signed| proof(signed).to_bytes())
        .to_vec()
}

/// A file of two packets and its end.
pub fn files() -> Vec<Vec<u8>> {
    let rng = &mut ChaCha20Rng::seed_from_u64(5);
    let packets: [&[u8]; 3] = [
        b"\0\0\0\0\0\0\0\0one",
        b"\0\0\0\0\0\0\0\x03two",
        b"\0\0\0\0\0\0\0\x06",
    ];
    let mut outs = vec![Vec::new(); 3];
    let signed = sender(rng).sign_block(&packets, Distribution::OneIn(3), NOW, rng, &mut outs);
    signed.unwrap();
    let mut file = Vec::new();
    for out in outs {
        file.extend((out.len() as u32).to_be_bytes());
        file.extend(out);
    }
    vec![file]
}

/// An RTP packet whose padding is its packet signature.
pub fn padded() -> Vec<u8> {
    let packet = [0x80, 96, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 4, 5];
    let mut signed = alone(&packet);
    let signature = signed.len() - packet.len();
    assert!(rtp::pad(&mut signed, signature));
    signed
}

fn flow(distribution: Distribution) -> Vec<u8> {
    let rng = &mut ChaCha20Rng::seed_from_u64(1);
    let mut sender = sender(rng);
    let mut seed = Vec::new();
    for count in [1, 2, 4, 9, 17] {
        let packets: Vec<&[u8]> = vec![b"a packet"; count];
        let mut outs = vec![Vec::new(); count];
        sender
            .sign_block(&packets, distribution, NOW, rng, &mut outs)
            .unwrap();
        for signed in outs {
            seed.extend((signed.len() as u16).to_be_bytes());
            seed.extend(signed);
        }
    }
    seed
}
