//! Bytes, by hand from `spec/flow-signature.md`.

use crate::engine::setup::{Flow, NOW, descriptor, packet};
use clew_flow::{Chaining, Descriptor, Distribution};
use ed25519_dalek::{Signature, SigningKey};
use sha2::{Digest as _, Sha256};

#[test]
fn a_packet_signature_is_what_the_specification_says() {
    let chaining = Chaining {
        suite: clew_tree::Suite::Sha256,
        salted: true,
        ..Chaining::default()
    };
    let mut flow = Flow::new(chaining, 4);
    let block = flow.block(2, Distribution::Every);
    let described = descriptor(chaining).to_bytes();
    let head = [1, 2, 16, 0, 2, 0, 64, 3, 1, 0, 32];
    let key = SigningKey::from_bytes(&[7; 32]).verifying_key();
    assert_eq!(
        described,
        [&head[..], key.as_bytes(), b"\x06a flow"].concat()
    );
    assert_eq!(Descriptor::from_bytes(&described), Ok(descriptor(chaining)));
    let digest = Sha256::digest([b"clew-flow-desc-1", &described[..]].concat());

    let signed = &block[1];
    let (original, signature) = signed.split_at(packet(1).len());
    assert_eq!(original, packet(1));
    assert_eq!(signature.len(), 16 + 16 + 72 + 40);
    let (salt, rest) = signature.split_at(16);
    let (path, rest) = rest.split_at(16);
    let (carried, fixed) = rest.split_at(72);
    let (id, place) = (&fixed[..16], &fixed[16..24]);
    assert_eq!(&fixed[24..28], &digest[..4]);
    assert_eq!(
        fixed[28..],
        [0, 1, 0, 2, 1, 1, 0, 144, 0xc1, 0x4c, 0x46, 0x4c]
    );
    assert_eq!(carried[..8], NOW.as_nanos().to_be_bytes());

    let leaf = Sha256::digest([&[0], id, &[0, 1, 0, 2, 16], salt, original].concat());
    let root = Sha256::digest([&[1], id, &[1, 0, 0], path, &leaf[..16]].concat());
    let domain = b"clew-flow-v1\0\0\0\0";
    let message = [
        &domain[..],
        &digest,
        place,
        &carried[..8],
        &[0, 2],
        id,
        &root,
    ]
    .concat();
    let signature = Signature::from_slice(&carried[8..]).unwrap();
    assert!(key.verify_strict(&message, &signature).is_ok());
}
