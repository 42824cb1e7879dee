//! Fuzzing of `clew-flow`.

use clew::flow::schemes::Flows;
use clew::flow::{file, proof::Proof};
use clew_flow::effs::{PublicKey, Verifier};
use clew_flow::manifest::{Manifest, ManifestReceiver};
use clew_flow::{
    Acceptance, Algorithm, BlockSigner, Chaining, Descriptor, Ed25519Signer, FlowReceiver, Verdict,
    WallTime,
};
use clew_flow::{Fixed, rtp};
use std::collections::HashSet;

/// The time at which everything is received, in nanoseconds since 1970.
pub const NOW: WallTime = WallTime::from_nanos(1_800_000_000_000_000_000);

/// Secret of the flow that everything is received for.
pub const SECRET: [u8; 32] = [7; 32];

/// The descriptor of that flow.
pub fn descriptor() -> Descriptor {
    let key = Ed25519Signer::from_secret(&SECRET).public_key();
    Descriptor::new(Chaining::default(), Algorithm::Ed25519, &key, "fuzz").expect("a descriptor")
}

/// A descriptor is read as it was written, and has a key that verifies or none.
pub fn flow_descriptor(data: &[u8]) {
    if let Ok(descriptor) = Descriptor::from_bytes(data) {
        assert_eq!(descriptor.to_bytes(), data);
        let _ = descriptor.verifier();
    }
}

/// A public key of eFFS behind its length (2 bytes), and a signature: the key is read as it was written, and what
/// holds at a level holds at those below.
pub fn effs(data: &[u8]) {
    let Some((length, rest)) = data.split_first_chunk() else {
        return;
    };
    let length = usize::from(u16::from_be_bytes(*length));
    let Some((key, signature)) = rest.split_at_checked(length) else {
        return;
    };
    let Ok(key) = PublicKey::from_bytes(key) else {
        return;
    };
    assert_eq!(key.as_bytes().len(), length);
    let verifier = Verifier::new(&key);
    let levels = 1..=key.parameters().t();
    let holds = levels.map(|level| verifier.verify(b"message", signature, level).is_ok());
    assert!(
        holds
            .collect::<Vec<_>>()
            .is_sorted_by(|low, high| low >= high)
    );
}

/// Packets one after the other, each behind its length (2 bytes), through one receiver.
pub fn flow_packets(data: &[u8]) {
    let acceptance = Acceptance {
        untagged: true,
        ..Acceptance::default()
    };
    let mut receiver = FlowReceiver::new([descriptor()], acceptance).expect("the key is one");
    let (mut rest, mut resolved) = (data, HashSet::new());
    for ticket in 0.. {
        let Some((length, after)) = rest.split_first_chunk() else {
            break;
        };
        let length = usize::from(u16::from_be_bytes(*length)).min(after.len());
        let (signed, after) = after.split_at(length);
        let finding = receiver.receive(signed, NOW, ticket);
        assert!(signed.starts_with(finding.packet));
        if finding.reason.verdict() == Verdict::Unsigned {
            assert_eq!(finding.packet, signed);
        }
        for (waited, _) in finding.resolved {
            assert!(waited < ticket && resolved.insert(waited), "once each");
        }
        if let Some(full) = receiver.full_form(signed) {
            assert_eq!(receiver.full_form(&full).as_ref(), Some(&full));
        }
        assert!(receiver.verifications() <= ticket + 1);
        rest = after;
    }
    receiver.end();
}

/// Manifests and packets one after the other, each behind its length (2 bytes), through one receiver;
/// what the receiver says of a manifest, its own reading says too.
pub fn flow_manifests(data: &[u8]) {
    let flow = descriptor();
    let receiver = ManifestReceiver::new([flow.clone()], Acceptance::default());
    let mut receiver = receiver.expect("the key is one");
    let (mut rest, mut resolved) = (data, HashSet::new());
    for ticket in 0.. {
        let Some((length, after)) = rest.split_first_chunk() else {
            break;
        };
        let length = usize::from(u16::from_be_bytes(*length)).min(after.len());
        let (bytes, after) = after.split_at(length);
        let fixed = Fixed::of(bytes).ok();
        let finding = match fixed.is_some() {
            true => receiver.receive_manifest(bytes, NOW),
            false => receiver.receive(bytes, ticket),
        };
        if fixed.is_some() && finding.reason.verdict() == Verdict::Valid {
            let read = fixed.and_then(|fixed| Manifest::of(bytes, fixed, &flow).ok());
            assert!(read.is_some_and(|manifest| manifest.packet.is_none()));
        }
        for (waited, _) in finding.resolved {
            assert!(waited <= ticket && resolved.insert(waited), "once each");
        }
        rest = after;
    }
    for (waited, _) in receiver.end().resolved {
        assert!(resolved.insert(waited), "once each");
    }
}

/// A proof is read as it was written, and holds only if it is of a packet.
pub fn flow_proof(data: &[u8]) {
    if let Ok(proof) = Proof::from_bytes(data) {
        assert_eq!(proof.to_bytes(), data);
        let valid = proof.verify().verdict() == Verdict::Valid;
        assert!(!valid || proof.packet().is_some());
    }
}

/// A signed file, behind its magic: what is said to be valid is written, and nothing else.
pub fn flow_file(data: &[u8]) {
    let flows = Flows::new(vec![descriptor()]);
    let mut out = Vec::new();
    let verified = file::verify(data, &mut out, &flows, None).expect("memory is written");
    assert_eq!(verified.bytes, out.len() as u64);
    let numbered = file::full_packet([&file::MAGIC[..], data].concat().as_slice(), &flows, 1);
    assert!(numbered.is_err() || verified.packets > 0);
}

/// Padded RTP is taken out of its padding, and goes back into it.
pub fn flow_rtp(data: &[u8]) {
    if let Some(mut signed) = rtp::unpadded(data) {
        let signature = data[data.len() - 1] - 1;
        assert!(rtp::pad(&mut signed, signature.into()));
        assert_eq!(signed, data);
    }
}
