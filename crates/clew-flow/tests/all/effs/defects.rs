//! The six defects of the paper: that each attack works on the scheme as it is written, and not on ours
//! (`spec/effs.md` section 8).

use super::naive::{Naive, Signature, md5};
use super::{key, rng, signer};
use clew_flow::effs::{Form, Refusal, Rule, Verifier};
use clew_flow::{Acceptance, BlockSigner as _, FlowReceiver, FlowSender, Reason};
use clew_flow::{Chaining, Descriptor, Distribution, Ed25519Signer, WallTime};
use clew_simd::Backend;
use clew_tree::{Block, DigestSize, Tree};
use num_bigint::BigUint;
use std::collections::HashMap;

const START: WallTime = WallTime::from_nanos(0);

fn nonces(seed: u64, t: usize) -> Vec<BigUint> {
    (1..=t as u64)
        .map(|i| BigUint::from(seed * 1_000_003 + i * 7_919))
        .collect()
}

#[test]
fn the_naive_scheme_is_the_papers() {
    for (k, t) in [(128, 1), (32, 4), (16, 8)] {
        let naive = Naive::new(k, t);
        let signature = naive.sign(b"m", &nonces(5, t));
        assert!((1..=t).all(|level| naive.verify(b"m", &signature, level)));
        assert!(!naive.verify(b"n", &signature, 1));
    }
}

/// 1: y = 0 verifies for every key and message.
#[test]
fn zero_is_no_root() {
    let naive = Naive::new(128, 1);
    let zero = BigUint::ZERO;
    let forged = Signature {
        b: naive.hash(b"anything", std::slice::from_ref(&zero)),
        y: vec![zero],
        x: vec![],
    };
    assert!(naive.verify(b"anything", &forged, 1));
    let key = key("effs-2048(128,1)", Rule::Paper, Form::Paper, 1);
    let verifier = Verifier::new(key.public());
    for b in [[0; 16], [0xff; 16], [0x5a; 16]] {
        let forged = [&b[..], &[0; 256]].concat();
        assert_eq!(
            verifier.verify(b"anything", &forged, 1),
            Err(Refusal::ZeroRoot)
        );
    }
}

/// 2: a signature that passes level 1 of (16,8) takes 2^16 hashes, not 2^128.
#[test]
fn levels_are_worth_their_own_bits() {
    let naive = Naive::new(16, 8);
    // y_1 and the first row are fixed, the rest is tried until the hash begins with that row.
    let (y, row) = (BigUint::from(12_345u32), [true, false].repeat(8));
    let z = naive.z(&y, &row);
    let mut x = vec![BigUint::from(1u32); 8];
    x[0] = z;
    let tries = (1u32..).find(|last| {
        x[7] = BigUint::from(*last);
        naive.hash(b"forged", &x).starts_with(&row)
    });
    let forged = Signature {
        b: naive.hash(b"forged", &x),
        y: vec![y; 8],
        x: x[1..].to_vec(),
    };
    assert!(naive.verify(b"forged", &forged, 1));
    assert!(!naive.verify(b"forged", &forged, 2));
    assert!(tries < Some(1 << 21), "some 2^16 of them: {tries:?}");
    // Ours says how much that is worth, and that it is not enough.
    let key = key("effs-2048(16,8)", Rule::Paper, Form::Compact, 1);
    let signed = signer(&key, Backend::best())
        .sign(b"m", &mut rng(1))
        .unwrap();
    let verifier = Verifier::new(key.public());
    let found: Vec<_> = (1..=8)
        .map(|level| verifier.verify(b"m", &signed, level).unwrap())
        .collect();
    assert!(found[..7].iter().all(|found| !found.is_enough()));
    assert!(found[7].is_enough());
}

/// 3: digests of leaves and nodes are made alike, so that a packet of two digests verifies as their parent.
#[test]
fn leaves_are_no_nodes() {
    let packets: [&[u8]; 4] = [b"one", b"two", b"three", b"four"];
    let leaves = packets.map(md5);
    let node = |a: [u8; 16], b: [u8; 16]| md5(&[a, b].concat());
    let root = node(node(leaves[0], leaves[1]), node(leaves[2], leaves[3]));
    let forged = [leaves[0], leaves[1]].concat();
    assert_eq!(node(md5(&forged), node(leaves[2], leaves[3])), root);
    // Ours: no packet made of digests leads anywhere.
    let block = Block::new([7; 16], 4, DigestSize::D16).unwrap();
    let leaves: Vec<_> = (0..)
        .zip(packets)
        .map(|(i, p)| block.leaf(i, &[p]))
        .collect();
    let tree = Tree::new(block, &leaves).unwrap();
    let (path, other) = (tree.path(0).unwrap(), tree.path(2).unwrap());
    assert_eq!(block.root(0, &leaves[0], &path), Some(tree.root()));
    let forged = [&leaves[0][..16], &leaves[1][..16]].concat();
    for count in 1..=4 {
        let block = Block::new([7; 16], count, DigestSize::D16).unwrap();
        for index in 0..count {
            let leaf = block.leaf(index, &[&forged]);
            for path in [&path[16..], &other[16..], &path[..], &[][..]] {
                assert_ne!(block.root(index, &leaf, path), Some(tree.root()));
            }
        }
    }
}

/// 4: two packets with one MD5 digest (Wang and others, 2004) have one signature.
#[test]
fn digests_do_not_collide() {
    let one = from_hex(concat!(
        "d131dd02c5e6eec4693d9a0698aff95c2fcab58712467eab4004583eb8fb7f89",
        "55ad340609f4b30283e488832571415a085125e8f7cdc99fd91dbdf280373c5b",
        "d8823e3156348f5bae6dacd436c919c6dd53e2b487da03fd02396306d248cda0",
        "e99f33420f577ee8ce54b67080a80d1ec69821bcb6a8839396f9652b6ff72a70"
    ));
    let mut other = one.clone();
    for at in [19, 45, 59, 83, 109, 123] {
        other[at] ^= 0x80;
    }
    assert!(one != other && md5(&one) == md5(&other));
    for suite in [clew_tree::Suite::Blake3, clew_tree::Suite::Sha256] {
        let block = Block::shaped(
            [7; 16],
            1,
            DigestSize::D16,
            clew_tree::Degree::BINARY,
            suite,
        )
        .unwrap();
        assert_ne!(block.leaf(0, &[&one]), block.leaf(0, &[&other]));
    }
}

fn from_hex(digits: &str) -> Vec<u8> {
    let byte = |i| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).unwrap();
    (0..digits.len() / 2).map(byte).collect()
}

/// 5: a signer finds two messages for one signature in 2^(kt/2): at 32 bits, in a moment. Where that
/// matters kt is 256.
#[test]
fn one_signature_of_two_messages_takes_half_the_bits() {
    let naive = Naive::new(32, 1);
    let r = nonces(5, 1);
    let x = [&r[0] * &r[0] % &naive.n];
    let (mut seen, mut pair) = (HashMap::new(), None);
    for message in 0..1u32 << 20 {
        let b = naive.hash(&message.to_be_bytes(), &x);
        if let Some(before) = seen.insert(b, message) {
            pair = Some((before, message));
            break;
        }
    }
    let (one, other) = pair.unwrap();
    let signature = naive.sign(&one.to_be_bytes(), &r);
    assert!(naive.verify(&one.to_be_bytes(), &signature, 1));
    assert!(naive.verify(&other.to_be_bytes(), &signature, 1));
    let strong: clew_flow::effs::Parameters = "effs-3072(256,1)".parse().unwrap();
    assert_eq!(strong.assurance(1).bits() / 2, 128);
}

/// 6: each bogus packet costs a signature, and every packet counts again. Ours has a budget, remembers, and
/// knows what came.
#[test]
fn bogus_packets_and_replays_cost_little() {
    let (signer, rng) = (Ed25519Signer::from_secret(&[3; 32]), &mut rng(1));
    let descriptor = Descriptor::new(
        Chaining::default(),
        signer.algorithm(),
        &signer.public_key(),
        "",
    )
    .unwrap();
    let mut sender = FlowSender::new(descriptor.clone(), signer, rng).unwrap();
    let mut outs = vec![Vec::new(); 2];
    sender
        .sign_block(
            &[b"one", b"two"],
            Distribution::Every,
            START,
            rng,
            &mut outs,
        )
        .unwrap();
    let mut receiver = FlowReceiver::new([descriptor], Acceptance::default()).unwrap();
    let naive = Naive::new(128, 1);
    let signature = naive.sign(b"one", &nonces(1, 1));
    assert!(
        (0..2).all(|_| naive.verify(b"one", &signature, 1)),
        "a replay is as good"
    );
    assert_eq!(receiver.receive(&outs[0], START, 0).reason, Reason::Ok);
    assert_eq!(
        receiver.receive(&outs[0], START, 1).reason,
        Reason::Duplicate
    );
    let before = receiver.verifications();
    for bogus in 0..10_000u32 {
        // The path's end: every one leads to another root.
        let mut packet = outs[1].clone();
        packet[3..7].copy_from_slice(&bogus.to_be_bytes());
        assert_ne!(
            receiver
                .receive(&packet, START, u64::from(bogus) + 2)
                .reason,
            Reason::Ok
        );
    }
    assert!(
        receiver.verifications() - before < 200,
        "{}",
        receiver.verifications()
    );
}

/// And the mirror image of a root, which the paper does not mention.
#[test]
fn signatures_have_one_form() {
    let naive = Naive::new(64, 2);
    let mut mirrored = naive.sign(b"m", &nonces(9, 2));
    mirrored.y[0] = &naive.n - &mirrored.y[0];
    assert!(naive.verify(b"m", &mirrored, 2));
    // Ours refuses it: `signatures::every_rule_has_its_reason`.
}
