//! Fuzzing of `clew-flow`.

use clew_flow::{
    Acceptance, Algorithm, BlockSigner, Chaining, Descriptor, Ed25519Signer, FlowReceiver, Verdict,
};
use std::collections::HashSet;

/// The time at which everything is received, in nanoseconds since 1970.
pub const NOW: u64 = 1_800_000_000_000_000_000;

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
