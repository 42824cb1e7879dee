//! Coded carriage: blocks whose packets carry shares of the signature.

use std::collections::BTreeMap;

use crate::common::groups::Group;
use crate::common::{
    EPOCH, GROUP, Keys, NOW, Owned, packets::*, precursor, receiver, trailers::raw,
};
use clew_group::Scheme;
use clew_packet::{
    Acceptance, CODED_BUDGET, CODED_MAX, Candidate, Carriage, Conclusion, Mode, Pending, Policy,
    Reason, Received, Receiver, Restorer, SECOND_NS, Sender, SignOutcome, Stripped, Ticket,
    Timestamp, UnsignableBlock, Verdict, Windows, read,
};
use proptest::prelude::*;
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

const CODED: Policy = Policy {
    nat: false,
    tolerant: false,
    incremental: false,
    resolution_ns: SECOND_NS,
    mtu: None,
    digest: clew_tree::DigestSize::D16,
    coded: true,
};

/// UDP packets of one flow, each with its own content.
fn flow(count: usize) -> Vec<Owned> {
    let packet = |i: usize| raw(ipv4(&[], UDP, &udp(&vec![i as u8; 20 + i % 7])));
    (0..count).map(packet).collect()
}

fn sign(sender: &Sender, packets: &[Owned], id: u8) -> Vec<Owned> {
    let (mut out, most) = (Vec::new(), packets.len() as u16);
    let admit = |p| Sender::admit(sender, p, Mode::Tree, most, &mut out).unwrap();
    let frames: Vec<_> = packets.iter().map(Owned::frame).collect();
    let candidates: Vec<Candidate<'_>> = frames.iter().map(admit).collect();
    let mut outs = vec![Vec::new(); packets.len()];
    sender
        .sign_block(&candidates, Some(NOW), [id; 16], precursor, &mut outs)
        .unwrap();
    outs.into_iter().map(raw).collect()
}

fn signed(count: usize) -> Vec<Owned> {
    sign(&crate::common::sender(CODED), &flow(count), 9)
}

/// k of a coded packet.
fn needed(packet: &Owned) -> usize {
    let packet = packet.frame();
    let needed = read(&packet).unwrap().trailer().coded().unwrap().needed();
    needed.into()
}

/// A receiver with what it said of each packet, by its number.
struct Run {
    receiver: Receiver<Keys>,
    said: Vec<Option<Conclusion>>,
    tickets: BTreeMap<Ticket, usize>,
    verifications: usize,
}

impl Run {
    fn new(acceptance: Acceptance) -> Self {
        Self {
            receiver: receiver(acceptance),
            said: Vec::new(),
            tickets: BTreeMap::new(),
            verifications: 0,
        }
    }

    /// One packet, and what it settles.
    fn send(&mut self, packet: &Owned) {
        let number = self.said.len();
        let said = match self.receiver.receive(&packet.frame(), Some(NOW)) {
            Received::Done(conclusion) => Some(conclusion),
            Received::Pending(pending) => {
                self.verifications += 1;
                let mut rng = ChaCha20Rng::seed_from_u64(1);
                Some(self.receiver.conclude(pending.check(&mut rng)))
            }
            Received::Waiting(ticket) => {
                self.tickets.insert(ticket, number);
                None
            }
        };
        self.said.push(said);
        self.settle();
    }

    /// All packets at once.
    fn send_together(&mut self, packets: &[Owned]) {
        let first = self.said.len();
        let mut pending: Vec<(usize, Pending)> = Vec::new();
        for (number, packet) in (first..).zip(packets) {
            let looked = self.receiver.look(&packet.frame(), Some(NOW));
            self.said.push(None);
            match self.receiver.take(looked) {
                Received::Done(conclusion) => self.said[number] = Some(conclusion),
                Received::Pending(packet) => pending.push((number, packet)),
                Received::Waiting(ticket) => {
                    self.tickets.insert(ticket, number);
                }
            }
        }
        self.verifications += pending.len();
        let (numbers, pending): (Vec<usize>, Vec<Pending>) = pending.into_iter().unzip();
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        let checked = Pending::check_all(pending, Windows::Alone, &mut rng);
        for (number, checked) in numbers.into_iter().zip(checked) {
            self.said[number] = Some(self.receiver.conclude(checked));
        }
        self.settle();
    }

    fn settle(&mut self) {
        for (ticket, conclusion) in self.receiver.settled() {
            let number = self.tickets.remove(&ticket).unwrap();
            assert_eq!(self.said[number].replace(conclusion), None);
        }
    }

    /// The reasons; of packets that still wait, the one they are given up with.
    fn end(mut self) -> Vec<Reason> {
        for (ticket, number) in &self.tickets {
            self.said[*number] = Some(self.receiver.give_up(*ticket));
        }
        let counted: u64 = self.receiver.counters().iter().map(|(_, n)| n).sum();
        assert_eq!(
            counted,
            self.said.len() as u64,
            "each packet has one reason"
        );
        self.said.iter().map(|said| said.unwrap().reason).collect()
    }
}

fn reasons(packets: &[Owned]) -> Vec<Reason> {
    let mut run = Run::new(Acceptance::capture());
    packets.iter().for_each(|packet| run.send(packet));
    run.end()
}

#[test]
fn blocks_are_valid_with_one_verification_and_come_back() {
    for count in [9, 10, 16, 17, 33, 64, 65, 128] {
        let (original, signed) = (flow(count), signed(count));
        for (signed, original) in signed.iter().zip(&original) {
            assert_eq!(signed.strip(), (Some(original.clone()), Stripped::Trailer));
        }
        let mut run = Run::new(Acceptance::capture());
        signed.iter().for_each(|packet| run.send(packet));
        assert_eq!(run.verifications, 1);
        assert_eq!(run.end(), vec![Reason::Ok; count]);
        let mut run = Run::new(Acceptance::capture());
        run.send_together(&signed);
        assert_eq!(run.verifications, 1);
        assert_eq!(run.end(), vec![Reason::Ok; count]);
    }
}

#[test]
fn small_and_large_blocks_are_full() {
    for count in [1, 8, 129] {
        let signed = signed(count);
        let full = |p: &Owned| read(&p.frame()).unwrap().trailer().carriage == Carriage::Full;
        assert!(signed.iter().all(full));
        assert_eq!(reasons(&signed), vec![Reason::Ok; count]);
    }
}

#[test]
fn k_packets_decide_and_one_less_does_not() {
    for count in [9, 16, 64, 128] {
        let signed = signed(count);
        let k = needed(&signed[0]);
        for arrived in [&signed[..k], &signed[count - k..]] {
            assert_eq!(reasons(arrived), vec![Reason::Ok; k]);
            let too_few = vec![Reason::TooFewShares; k - 1];
            assert_eq!(reasons(&arrived[1..]), too_few);
            let undecided = Reason::TooFewShares.verdict(clew_packet::Replay::Flag);
            assert_eq!(undecided, Verdict::Undecided);
        }
    }
}

#[test]
fn trailers_keep_to_the_budget_with_xr() {
    let group = Group::new(Scheme::Xr, 1);
    let sender = Sender::new(Scheme::Xr, GROUP, EPOCH, CODED);
    let signer = group.signer(0);
    let packets = flow(CODED_MAX.into());
    for count in 16..=CODED_MAX {
        let packets = &packets[..count.into()];
        let (mut out, frames) = (Vec::new(), packets.iter().map(Owned::frame));
        let frames: Vec<_> = frames.collect();
        let admit = |f| sender.admit(f, Mode::Tree, count, &mut out).unwrap();
        let candidates: Vec<Candidate<'_>> = frames.iter().map(admit).collect();
        let mut outs = vec![Vec::new(); packets.len()];
        let precursor = || signer.precursor(&mut ChaCha20Rng::seed_from_u64(count.into()));
        // UDP checksums of `flow` are right: nothing is saved.
        sender
            .sign_block(&candidates, Some(NOW), [1; 16], precursor, &mut outs)
            .unwrap();
        for (signed, original) in outs.iter().zip(packets) {
            let length = signed.len() - original.bytes.len();
            assert!(length <= CODED_BUDGET, "{count} packets: {length}");
        }
    }
}

/// A packet of `flow` that was given to the sender with the room for its trailer, or one byte less.
#[test]
fn the_mtu_is_that_of_the_coded_trailer() {
    let packets = flow(64);
    let longest = |packets: &[Owned]| packets.iter().map(|p| p.bytes.len()).max().unwrap();
    let (before, after) = (longest(&packets), longest(&signed(64)));
    let frame = packets[6].frame();
    assert_eq!(packets[6].bytes.len(), before);
    let admit = |mtu, most| {
        let (policy, mut out) = (
            Policy {
                mtu: Some(mtu),
                ..CODED
            },
            Vec::new(),
        );
        let admitted = crate::common::sender(policy).admit(&frame, Mode::Tree, most, &mut out);
        admitted.map(|_| ())
    };
    assert_eq!(admit(after, 64), Ok(()));
    assert_eq!(admit(after - 1, 64), Err(Reason::TooBig.into()));
    assert_eq!(admit(after, 8), Err(Reason::TooBig.into()), "in full");
}

/// Nine packets have room for shares; eight of them would have the whole signature.
#[test]
fn what_was_admitted_to_a_larger_block_is_not_signed_in_a_smaller_one() {
    let packets = vec![flow(1).remove(0); 9];
    let mtu = Some(signed(9)[0].bytes.len() + 2);
    let sender = crate::common::sender(Policy { mtu, ..CODED });
    let mut out = Vec::new();
    let frames: Vec<_> = packets.iter().map(Owned::frame).collect();
    let mut admit = |f| sender.admit(f, Mode::Tree, 9, &mut out).unwrap();
    let candidates: Vec<Candidate<'_>> = frames.iter().map(&mut admit).collect();
    let mut outs = vec![Vec::new(); 9];
    let mut sign = |count: usize| {
        let outs = &mut outs[..count];
        sender.sign_block(&candidates[..count], Some(NOW), [9; 16], precursor, outs)
    };
    assert_eq!(sign(9), Ok(()));
    assert_eq!(sign(8), Err(UnsignableBlock::NoRoom));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    /// Lost, reordered and repeated: whoever arrives is decided by the k-th of its block.
    #[test]
    fn any_k_decide_all(
        count in 9..40usize,
        order in prop::collection::vec(any::<prop::sample::Index>(), 1..60),
        together: bool,
    ) {
        let signed = signed(count);
        let order: Vec<usize> = order.iter().map(|i| i.index(count)).collect();
        let arrived: Vec<Owned> = order.iter().map(|i| signed[*i].clone()).collect();
        let mut distinct = order.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let decided = distinct.len() >= needed(&signed[0]);
        let expected = (0..order.len()).map(|at| match &order[..at] {
            _ if !decided => Reason::TooFewShares,
            before if before.contains(&order[at]) => Reason::Duplicate,
            before if before.iter().any(|i| *i > order[at]) => Reason::Reordered,
            _ => Reason::Ok,
        });
        let expected: Vec<Reason> = expected.collect();
        let mut run = Run::new(Acceptance::capture());
        match together {
            true => run.send_together(&arrived),
            false => arrived.iter().for_each(|packet| run.send(packet)),
        }
        prop_assert_eq!(run.end(), expected);
    }
}

/// Another share, and what hangs on it stays as it is: the packet leads to the root that was signed,
/// but its share elsewhere.
fn polluted(packet: &Owned, by: u8) -> Owned {
    let trailer = *read(&packet.frame()).unwrap().trailer();
    let share = trailer.coded().unwrap().share;
    let at = packet.bytes.windows(share.len()).rposition(|w| w == share);
    let mut bytes = packet.bytes.clone();
    bytes[at.unwrap()] ^= by;
    packet.with(bytes)
}

#[test]
fn pollution_hurts_no_honest_packet() {
    let signed = signed(16);
    // 40 altered copies before each honest packet.
    let mut arrived = Vec::new();
    for packet in &signed {
        arrived.extend((1..=40).map(|by| polluted(packet, by)));
        arrived.push(packet.clone());
    }
    let reasons = reasons(&arrived);
    for (number, reason) in reasons.iter().enumerate() {
        let honest = number % 41 == 40;
        let valid = [Reason::Ok, Reason::Duplicate].contains(reason);
        assert!(valid, "{number}: {reason}"); // a copy is a copy of what was signed
        assert!(
            !honest || *reason == Reason::Duplicate,
            "its copies came first"
        );
    }
}

/// Packets with another content, signed by nobody: their shares are of one blob, made by hand.
fn forged(count: usize) -> Vec<Owned> {
    let made = signed(count);
    made.iter().map(|packet| changed(packet, 40)).collect()
}

fn changed(packet: &Owned, at: usize) -> Owned {
    let mut bytes = packet.bytes.clone();
    bytes[at] ^= 1;
    packet.with(bytes)
}

#[test]
fn a_changed_packet_is_alone_in_its_block() {
    let mut arrived = signed(16);
    arrived[3] = changed(&arrived[3], 40);
    let mut expected = vec![Reason::Ok; 16];
    expected[3] = Reason::TooFewShares;
    assert_eq!(reasons(&arrived), expected);
    assert_eq!(reasons(&forged(16)), vec![Reason::TooFewShares; 16]);
}

/// A block of somebody without a key: right in everything but the signature.
fn bogus(count: usize, id: u8) -> Vec<Owned> {
    let group = Group::new(Scheme::Bbs04, 1);
    let (sender, packets) = (crate::common::sender(CODED), flow(count));
    let frames: Vec<_> = packets.iter().map(Owned::frame).collect();
    let (mut out, most) = (Vec::new(), count as u16);
    let admit = |f| sender.admit(f, Mode::Tree, most, &mut out).unwrap();
    let candidates: Vec<Candidate<'_>> = frames.iter().map(admit).collect();
    let mut outs = vec![Vec::new(); count];
    let signer = group.signer(0);
    let precursor = || signer.precursor(&mut ChaCha20Rng::seed_from_u64(5));
    sender
        .sign_block(&candidates, Some(NOW), [id; 16], precursor, &mut outs)
        .unwrap();
    outs.into_iter().map(raw).collect()
}

#[test]
fn a_forged_block_costs_k_packets_and_is_refused_once() {
    let bogus = bogus(64, 7);
    let k = needed(&bogus[0]);
    let mut run = Run::new(Acceptance::capture());
    for (sent, packet) in bogus.iter().chain(&bogus).enumerate() {
        run.send(packet);
        assert_eq!(run.verifications, usize::from(sent + 1 >= k));
    }
    assert_eq!(run.end(), vec![Reason::BadSignature; 128]);
    let mut run = Run::new(Acceptance::capture());
    run.send_together(&[&bogus[..], &bogus].concat());
    assert_eq!(run.verifications, 1, "others wait for the answer");
    assert_eq!(run.end(), vec![Reason::BadSignature; 128]);
}

/// Shares that somebody made for another signature, on the packets of an honest block.
fn with_shares_of(packets: &[Owned], others: &[Owned]) -> Vec<Owned> {
    let swap = |(packet, other): (&Owned, &Owned)| {
        let (packet_frame, other) = (packet.frame(), other.frame());
        let trailer = *read(&packet_frame).unwrap().trailer();
        let body = read(&other).unwrap().trailer().body;
        let end = packet.bytes.len() - clew_packet::HEAD_BYTES - clew_packet::FOOT_BYTES;
        let mut bytes = packet.bytes.clone();
        bytes[end - trailer.body.len()..end].copy_from_slice(body);
        packet.with(bytes)
    };
    packets.iter().zip(others).map(swap).collect()
}

#[test]
fn honest_packets_with_forged_shares_refuse_themselves_alone() {
    let honest = signed(16);
    let forged = with_shares_of(&honest, &bogus(16, 9));
    let k = needed(&honest[0]);
    let run = |arrived: &[Owned], together: bool| {
        let mut run = Run::new(Acceptance::capture());
        match together {
            true => run.send_together(arrived),
            false => arrived.iter().for_each(|packet| run.send(packet)),
        }
        (run.verifications, run.end())
    };
    let refused = vec![Reason::BadSignature; k];
    let (ok, again) = (vec![Reason::Ok; 16], vec![Reason::Duplicate; 16]);
    for together in [false, true] {
        let before = [&forged[..k], &honest].concat();
        assert_eq!(run(&before, together), (2, [&refused[..], &ok].concat()));
    }
    // Once the block is verified it does not matter what shares its packets have.
    let after = [&honest[..], &forged].concat();
    assert_eq!(run(&after, false), (1, [&ok[..], &again].concat()));
    assert_eq!(run(&after, true), (2, [&ok[..], &again].concat()));
    // Fewer of them than k are what they were before somebody altered them.
    let few = [&forged[..k - 1], &honest].concat();
    let expected = [&ok[..k - 1], &again[..k - 1], &ok[k - 1..]].concat();
    assert_eq!(run(&few, false), (1, expected));
}

#[test]
fn full_and_coded_packets_of_a_block_help_each_other() {
    let signed = signed(16);
    let full: Vec<Owned> = signed.iter().map(|p| in_full(p, &signed)).collect();
    // One full packet decides those that wait.
    let few = [&signed[..3], &full[3..4], &signed[4..6]].concat();
    let mut run = Run::new(Acceptance::capture());
    few.iter().for_each(|packet| run.send(packet));
    assert_eq!(run.verifications, 1);
    assert_eq!(run.end(), vec![Reason::Ok; 6]);
    // Coded ones decide full ones, whose body is theirs.
    let mixed = [&signed[..8], &full[8..]].concat();
    let mut run = Run::new(Acceptance::capture());
    mixed.iter().for_each(|packet| run.send(packet));
    assert_eq!(run.verifications, 1);
    assert_eq!(run.end(), vec![Reason::Ok; 16]);
    // Both forms are one packet.
    let both = [signed, full].concat();
    let expected = [[Reason::Ok; 16], [Reason::Duplicate; 16]].concat();
    assert_eq!(reasons(&both), expected);
}

/// A packet in full carriage, by what the others of its block have.
fn in_full(packet: &Owned, block: &[Owned]) -> Owned {
    let mut restorer = Restorer::new();
    let frames: Vec<_> = block.iter().map(Owned::frame).collect();
    let taken = (0..).zip(&frames);
    let restored = taken.map(|(i, frame)| restorer.take(&read(frame).unwrap(), i));
    let restored = restored.flatten().next().unwrap();
    assert_eq!(restored.from, (0..needed(packet)).collect::<Vec<_>>());
    let mut out = Vec::new();
    let frame = packet.frame();
    let packet = read(&frame).unwrap();
    packet.in_full(&restored.signature, &mut out).unwrap();
    raw(out)
}

#[test]
fn the_full_form_is_verifiable_alone() {
    let (original, signed) = (flow(16), signed(16));
    for (packet, original) in signed.iter().zip(&original) {
        let full = in_full(packet, &signed);
        assert_eq!(full.verify(), Reason::Ok);
        assert_eq!(full.strip(), (Some(original.clone()), Stripped::Trailer));
        let (marked, reason) = packet.sign(Policy::default());
        assert_eq!(reason, SignOutcome::AlreadySigned);
        assert_eq!(in_full(&marked.unwrap(), &signed), full, "without its mark");
    }
    let mut out = Vec::new();
    let frame = signed[0].frame();
    let short = read(&frame).unwrap().in_full(&[1; 99], &mut out);
    assert_eq!(short, Err(Reason::BadTrailerLength));
    let large = raw(ipv4(&[], UDP, &udp(&[1; 65_535 - 28 - 240])));
    let block = sign(&crate::common::sender(CODED), &vec![large; 16], 3);
    let large = read(&block[0].frame())
        .unwrap()
        .in_full(&[1; 336], &mut out);
    assert_eq!(large, Err(Reason::TooBig));
}

#[test]
fn live_a_packet_is_accepted_once_in_whichever_form() {
    let signed = signed(16);
    let k = needed(&signed[0]);
    let mut run = Run::new(Acceptance::live(Timestamp(NOW.0 - SECOND_NS)));
    let all = [&signed[..], &signed, &[in_full(&signed[0], &signed)]].concat();
    all.iter().for_each(|packet| run.send(packet));
    let late = receiver(Acceptance::live(Timestamp(NOW.0 + SECOND_NS)));
    let mut late = Run {
        receiver: late,
        ..Run::new(Acceptance::capture())
    };
    late.send(&signed[0]);
    assert_eq!(late.end(), [Reason::Stale], "before anything is kept");
    assert!(
        run.said[k..16]
            .iter()
            .flatten()
            .all(|c| c.verdict == Verdict::Valid)
    );
    let expected = [vec![Reason::Ok; 16], vec![Reason::Duplicate; 17]].concat();
    assert_eq!(run.end(), expected);
}

#[test]
fn packets_wait_until_their_block_is_stale() {
    let signed = signed(16);
    let mut run = Run::new(Acceptance::capture());
    run.send(&signed[0]);
    run.receiver
        .expire(Timestamp(NOW.floor(SECOND_NS).0 + 31 * SECOND_NS));
    run.settle();
    assert_eq!(run.said, [None]);
    run.receiver
        .expire(Timestamp(NOW.floor(SECOND_NS).0 + 31 * SECOND_NS + 1));
    run.settle();
    assert_eq!(run.said[0].map(|c| c.reason), Some(Reason::TooFewShares));
}

#[test]
fn a_share_counts_once_though_its_packet_waits_twice() {
    let signed = signed(16);
    let k = needed(&signed[0]);
    let mut arrived = vec![signed[0].clone(); k];
    assert_eq!(reasons(&arrived), vec![Reason::TooFewShares; k]);
    arrived.extend(signed[1..k].iter().cloned());
    let decided = reasons(&arrived);
    assert_eq!(decided[0], Reason::Ok);
    assert_eq!(decided[1..k], vec![Reason::Duplicate; k - 1]);
    assert_eq!(decided[k..], vec![Reason::Ok; k - 1]);
}
