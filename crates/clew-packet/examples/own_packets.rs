//! A program that signs its own packets and verifies them where they arrive.
//!
//! `cargo run -p clew-packet --example own_packets`
//!
//! A machine sends UDP packets over a link that loses one and damages one. It signs them as blocks,
//! one group signature each; the receiver judges every packet alone. What such a program brings
//! along: packets, the time, randomness, a key. What it gets: packets that are a little longer, and
//! a verdict with a reason for each that arrives.

use std::sync::Arc;

use clew_group::{
    EpochId, MemberKey, PublicKey, Scheme, SigningKey, VerifyingKey, curve::Scalar, xr,
};
use clew_packet::{
    Acceptance, Candidate, Conclusion, Frame, GroupId, GroupTag, KeySource, LinkType, Mode, Policy,
    Reason, Received, Receiver, SECOND_NS, Sender, SignOutcome, Timestamp, Unknown, strip,
};
use etherparse::PacketBuilder;
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
use rand_core::CryptoRng;

type Failure = Box<dyn std::error::Error>;

const GROUP: GroupId = GroupId(*b"an example group");
const EPOCH: u32 = 0;
const NOW: Timestamp = Timestamp(1_800_000_000 * SECOND_NS);

/// Packets that go under one signature: what the program had ready at once. 1 to 1024, all of one
/// flow; a lone packet is a block of one.
const BLOCK: usize = 16;

fn main() -> Result<(), Failure> {
    let conclusions = exchange(&mut ChaCha20Rng::seed_from_u64(1))?; // really: the system's randomness
    for (number, conclusion) in conclusions {
        println!(
            "packet {number}: {}, {}",
            conclusion.verdict, conclusion.reason
        );
    }
    Ok(())
}

/// Sends 32 packets; the conclusions about those that arrive.
fn exchange(rng: &mut impl CryptoRng) -> Result<Vec<(usize, Conclusion)>, Failure> {
    let (signing, keys) = found(rng)?;
    let packets: Vec<Vec<u8>> = (0..2 * BLOCK).map(packet).collect::<Result<_, _>>()?;

    let mut sent = Vec::new();
    for block in packets.chunks(BLOCK) {
        sent.extend(sign(&signing, block, rng)?);
    }

    let mut receiver = Receiver::new(keys, Acceptance::live(NOW));
    let mut conclusions = Vec::new();
    for (number, mut arrived) in sent.into_iter().enumerate() {
        match number {
            5 => continue,         // lost: the others of its block need it for nothing
            9 => arrived[40] ^= 1, // damaged
            _ => {}
        }
        let Some(conclusion) = verify(&mut receiver, &arrived, rng) else {
            continue;
        };
        if conclusion.reason == Reason::Ok {
            let mut original = Vec::new();
            strip(&Frame::whole(LinkType::RAW, &arrived), &mut original);
            assert_eq!(original, packets[number], "what the application gets");
        }
        conclusions.push((number, conclusion));
    }
    Ok(conclusions)
}

// ANCHOR: sign
/// Signs packets of one flow with one signature.
fn sign(
    signing: &SigningKey,
    packets: &[Vec<u8>],
    rng: &mut impl CryptoRng,
) -> Result<Vec<Vec<u8>>, Failure> {
    let sender = Sender::new(Scheme::Xr, GROUP, EPOCH, Policy::default());
    let mut marked = Vec::new();
    let candidates: Vec<Candidate<'_>> = packets
        .iter()
        .map(|packet| {
            // LinkType::RAW is IP alone, as of a TUN device; LinkType(1) is Ethernet.
            let frame = Frame::whole(LinkType::RAW, packet);
            sender.admit(&frame, Mode::Tree, BLOCK as u16, &mut marked)
        })
        .collect::<Result<_, SignOutcome>>()
        .map_err(|outcome| format!("a packet cannot be signed: {outcome}"))?;
    let mut id = [0; 16];
    rng.fill_bytes(&mut id); // after the packets are fixed: nobody can choose them to fit the id
    let mut signed = vec![Vec::new(); packets.len()];
    let precursor = || signing.precursor(rng); // most of the work: may be done ahead of time
    sender.sign_block(&candidates, Some(NOW), id, precursor, &mut signed)?;
    Ok(signed)
}
// ANCHOR_END: sign

// ANCHOR: verify
/// Judges one packet. A program with many takes them together, on all cores: [`Receiver::look`],
/// `Pending::check_all`.
fn verify(
    receiver: &mut Receiver<Keys>,
    packet: &[u8],
    rng: &mut impl CryptoRng,
) -> Option<Conclusion> {
    match receiver.receive(&Frame::whole(LinkType::RAW, packet), Some(NOW)) {
        Received::Done(conclusion) => Some(conclusion), // refused, or of a block that was verified before
        Received::Pending(pending) => Some(receiver.conclude(pending.check(rng))),
        // In coded carriage, which this program's senders do not use: `Receiver::settled` would say
        // what becomes of it.
        Received::Waiting(_) => None,
    }
}
// ANCHOR_END: verify

/// What the receiver knows: one group in one epoch. A real program has it from the group file
/// (`clew-evidence`).
struct Keys(Arc<VerifyingKey>);

impl KeySource for Keys {
    fn scheme(&self, group: GroupTag) -> Result<Scheme, Unknown> {
        let known = group == GROUP.tag();
        known.then_some(Scheme::Xr).ok_or(Unknown::Group)
    }

    fn successor_start(&self, _: GroupTag, epoch: u32) -> Result<Option<Timestamp>, Unknown> {
        let known = epoch == EPOCH;
        known.then_some(None).ok_or(Unknown::Epoch)
    }

    fn key(&self, _: GroupTag, _: u32) -> Option<Arc<VerifyingKey>> {
        Some(Arc::clone(&self.0))
    }
}

/// A group with one machine: what `clew group create` and `clew enrol` do with files, and with
/// trustees who can open signatures. A real program reads the machine's key file (`clew-manager`).
fn found(rng: &mut impl CryptoRng) -> Result<(SigningKey, Keys), Failure> {
    let nonce = [1; 32];
    let opening = Scalar::random_secret(rng); // nobody keeps it: nobody can open
    let h = xr::Generators::of(&nonce).u.mul(&opening);
    let issuer = xr::IssuerKey::generate(rng);
    let (group, _) = issuer.found(&nonce, &h, rng);

    let session = [2; 32];
    let (device, request) = xr::Device::new(&group, &session, rng);
    let [x, s] = [(); 2].map(|()| Scalar::random_secret(rng));
    let offer = issuer.offer(&group, &session, &request, &x, &s)?;
    let member = MemberKey::Xr(device.accept(&group, &offer)?);
    // Once the machine is in the register it gets its witness, without which it signs nothing.
    let witness = issuer.in_epoch(&group, []).witness(&x)?;

    let (public, epoch) = (PublicKey::Xr(group), EpochId([3; 32]));
    let signing = SigningKey::new(&public, epoch, member, &witness)?;
    Ok((signing, Keys(Arc::new(VerifyingKey::new(&public, epoch)))))
}

/// A packet of the program's one flow.
fn packet(number: usize) -> Result<Vec<u8>, Failure> {
    let builder = PacketBuilder::ipv4([192, 0, 2, 1], [192, 0, 2, 2], 64).udp(5000, 5001);
    let payload = format!("reading number {number}");
    let mut packet = Vec::with_capacity(builder.size(payload.len()));
    builder.write(&mut packet, payload.as_bytes())?;
    Ok(packet)
}

#[test]
fn all_but_the_lost_and_the_damaged_packet_are_valid() -> Result<(), Failure> {
    let conclusions = exchange(&mut ChaCha20Rng::seed_from_u64(2))?;
    let expected = (0..2 * BLOCK).filter(|number| *number != 5).map(|number| {
        let damaged = number == 9;
        (
            number,
            if damaged {
                Reason::BadSignature
            } else {
                Reason::Ok
            },
        )
    });
    let reasons = conclusions.iter().map(|(number, c)| (*number, c.reason));
    assert!(reasons.eq(expected));
    Ok(())
}
