//! What evidence says of packets: which one was asked about, and which ones a signature covers.

use crate::common::{NOW, Owned, packets::*, precursor, sender};
use clew_packet::{Candidate, LinkType, Mode, Policy, Restorer, SignedPacket, Window, read};
use clew_tree::DigestSize;
use sha2::{Digest, Sha256};

const ID: [u8; 16] = [9; 16];

/// UDP packets of one flow, each with its own content.
fn flow(count: usize) -> Vec<Owned> {
    let packet = |i: usize| ipv4(&[], UDP, &udp(&vec![i as u8; 20 + i % 7]));
    let packets = (0..count).map(packet);
    packets.map(|p| Owned::new(LinkType::RAW, p)).collect()
}

fn policy(incremental: bool, coded: bool) -> Policy {
    Policy {
        incremental,
        coded,
        ..Policy::default()
    }
}

fn block(packets: &[Owned], policy: Policy, id: [u8; 16]) -> Vec<Owned> {
    let (sender, mut out) = (sender(policy), Vec::new());
    let most = packets.len() as u16;
    let frames: Vec<_> = packets.iter().map(Owned::frame).collect();
    let admit = |frame| sender.admit(frame, Mode::Tree, most, &mut out).unwrap();
    let candidates: Vec<Candidate<'_>> = frames.iter().map(admit).collect();
    let mut outs = vec![Vec::new(); packets.len()];
    sender
        .sign_block(&candidates, Some(NOW), id, precursor, &mut outs)
        .unwrap();
    let signed = outs.into_iter();
    signed.map(|out| Owned::new(LinkType::RAW, out)).collect()
}

fn with<T>(packet: &Owned, look: impl FnOnce(&SignedPacket<'_>) -> T) -> T {
    let frame = packet.frame();
    look(&read(&frame).unwrap())
}

fn asked(packet: &Owned) -> [u8; 32] {
    with(packet, |packet| packet.asked())
}

fn message(packet: &Owned) -> Vec<u8> {
    let mut message = Vec::new();
    with(packet, |packet| packet.write_message(&mut message));
    message
}

/// What a packet in full carriage was verified with.
fn signature(packet: &Owned) -> (Vec<u8>, Vec<u8>) {
    let body = with(packet, |packet| packet.trailer().body.to_vec());
    (message(packet), body)
}

fn covers((message, body): &(Vec<u8>, Vec<u8>), packet: &Owned) -> bool {
    with(packet, |packet| packet.is_covered_by(message, body))
}

fn marked(packet: &Owned) -> Owned {
    packet.sign(Policy::default()).0.unwrap()
}

/// The signature that the packets of a coded block restore.
fn restored(block: &[Owned]) -> Vec<u8> {
    let mut restorer = Restorer::new();
    let mut take = |packet| with(packet, |packet| restorer.take(packet, ()));
    block.iter().find_map(&mut take).unwrap().signature
}

fn in_full(packet: &Owned, signature: &[u8]) -> Owned {
    let mut out = Vec::new();
    with(packet, |packet| packet.in_full(signature, &mut out)).unwrap();
    packet.with(out)
}

#[test]
fn a_packet_with_its_own_signature_is_named_by_its_message() {
    let packets = flow(3);
    let each = packets[0].signed(Policy::default());
    assert_eq!(asked(&each), *Sha256::digest(message(&each)));
    assert_eq!(asked(&marked(&each)), asked(&each));
    let (sender, mut window, mut out) = (sender(Policy::default()), Window::new(3), Vec::new());
    for packet in &packets {
        let frame = packet.frame();
        let candidate = sender.admit(&frame, Mode::Window, 3, &mut out).unwrap();
        sender.sign_in_window(&candidate, Some(NOW), &mut window, precursor, &mut out);
        let signed = packet.with(out.clone());
        assert_eq!(asked(&signed), *Sha256::digest(message(&signed)));
    }
}

/// `leaf(i)` of `spec/tree.md` section 2, hashed here.
#[test]
fn a_packet_of_a_block_is_named_by_its_leaf() {
    let packets = flow(16);
    for digest in [DigestSize::D16, DigestSize::D24, DigestSize::D32] {
        let policy = Policy {
            digest,
            nat: true,
            ..Policy::default()
        };
        let signed = block(&packets, policy, ID);
        for (index, (packet, signed)) in (0u16..).zip(packets.iter().zip(&signed)) {
            // Flags, then saved values and fields: what the message of mode `each` has of them.
            let alone = message(&packet.signed(policy));
            let leaf = Sha256::new_with_prefix([0])
                .chain_update(ID)
                .chain_update(index.to_be_bytes())
                .chain_update(16u16.to_be_bytes())
                .chain_update([digest as u8, alone[20]])
                .chain_update(&alone[43..])
                .finalize();
            assert_eq!(asked(signed), *leaf);
        }
    }
}

#[test]
fn the_name_is_that_of_every_form() {
    let packets = flow(16);
    for incremental in [false, true] {
        let (full, coded) = (policy(incremental, false), policy(incremental, true));
        let (full, coded) = (block(&packets, full, ID), block(&packets, coded, ID));
        for (full, coded) in full.iter().zip(&coded) {
            assert_eq!(asked(coded), asked(full));
            assert_eq!(asked(&marked(coded)), asked(full));
        }
    }
}

#[test]
fn a_signature_covers_the_packets_of_its_block() {
    let packets = flow(16);
    for incremental in [false, true] {
        let signed = block(&packets, policy(incremental, false), ID);
        let other = block(&packets, policy(incremental, false), [8; 16]);
        let (message, mut body) = signature(&signed[3]);
        for plain in [false, true] {
            if plain {
                body.truncate(336);
            }
            let signature = (message.clone(), body.clone());
            assert!(signed.iter().all(|p| covers(&signature, p)));
            assert!(signed.iter().all(|p| covers(&signature, &marked(p))));
            assert!(!other.iter().any(|p| covers(&signature, p)));
        }
    }
}

/// With address translation two machines may sign one message: neither signature covers the other's
/// packet.
#[test]
fn equal_messages_are_not_one_signature() {
    let packet = &flow(1)[0];
    let [one, other] = [(); 2].map(|()| packet.signed(Policy::default()));
    assert_eq!(message(&one), message(&other));
    assert!(covers(&signature(&one), &one) && covers(&signature(&other), &other));
    assert!(!covers(&signature(&one), &other));
    let (message, body) = signature(&one);
    assert!(!covers(&(message[1..].to_vec(), body.clone()), &one));
    for short in [0, 335] {
        assert!(!covers(&(message.clone(), body[..short].to_vec()), &one));
    }
}

#[test]
fn a_restored_signature_covers_coded_packets_and_their_full_forms() {
    let signed = block(&flow(16), policy(false, true), ID);
    let other = block(&flow(16), policy(false, true), [8; 16]);
    let signature = (message(&signed[0]), restored(&signed));
    assert!(signed.iter().all(|p| covers(&signature, p)));
    assert!(signed.iter().all(|p| covers(&signature, &marked(p))));
    assert!(!other.iter().any(|p| covers(&signature, p)));
    let full: Vec<Owned> = signed.iter().map(|p| in_full(p, &signature.1)).collect();
    assert!(full.iter().all(|p| covers(&signature, p)));
    // Another signature over the same block.
    let again = restored(&block(&flow(16), policy(false, true), ID));
    assert!(!covers(&(signature.0.clone(), again), &full[0]));
}

/// Who alters a share on the way takes no packet out of the evidence; who alters the packet does.
#[test]
fn a_packet_is_covered_by_what_was_signed_of_it() {
    let signed = block(&flow(16), policy(false, true), ID);
    let signature = (message(&signed[0]), restored(&signed));
    let share = with(&signed[5], |packet| {
        packet.trailer().coded().unwrap().share.to_vec()
    });
    let found = signed[5]
        .bytes
        .windows(share.len())
        .rposition(|at| at == share);
    let altered = |at: usize| {
        let mut bytes = signed[5].bytes.clone();
        bytes[at] ^= 1;
        signed[5].with(bytes)
    };
    assert!(covers(&signature, &altered(found.unwrap())));
    assert!(!covers(&signature, &altered(30)));
}
