//! Attackers of PRABS, who see every honest packet and send more than the sender: every honest block
//! of which k packets arrive is restored, and each verification that a bogus packet forces has cost
//! k of them.

use clew_tree::Digest;
use clew_tree::carriage::{Answer, Bins, Code, Key, Limits, TagSize};
use proptest::prelude::*;

use super::{Sent, quarter};

const LIMITS: Limits = Limits {
    blocks: 64,
    bins: 64,
    shares: 4096,
    answers: 64,
    needed: 4,
};

/// A packet with coded carriage, as far as it matters here.
#[derive(Clone)]
struct Packet {
    block: Digest,
    /// The root that its content and path lead to.
    packets: Digest,
    index: u16,
    share: Vec<u8>,
    tag: Vec<u8>,
    code: Code,
    bogus: bool,
}

/// What a receiver counts.
#[derive(Default, Debug)]
struct Counts {
    bogus: usize,
    /// Verifications of blobs whose bin had a bogus packet.
    forced: usize,
    restored: Vec<Digest>,
}

struct Receiver {
    bins: Bins<Packet>,
    signed: Vec<(Digest, Vec<u8>)>,
    counts: Counts,
}

impl Receiver {
    fn new(blocks: &[(Digest, Sent)]) -> Self {
        let signed = blocks.iter().map(|(root, sent)| (*root, sent.blob.clone()));
        Self {
            bins: Bins::new(LIMITS).unwrap(),
            signed: signed.collect(),
            counts: Counts::default(),
        }
    }

    fn receive(&mut self, packet: Packet, tags: clew_tree::carriage::Tags) {
        self.counts.bogus += usize::from(packet.bogus);
        let Ok(shares) = tags.root(packet.index, &packet.share, &packet.tag) else {
            return;
        };
        let (block, packets) = (packet.block, packet.packets);
        let key = Key {
            block,
            packets,
            shares,
        };
        let (code, index, share) = (packet.code, packet.index, packet.share.clone());
        let inserted = self.bins.insert(key, &code, index, &share, packet);
        assert!(self.bins.held() <= LIMITS.shares);
        if let Answer::Restored { blob, tokens } = inserted.answer {
            self.verify(key, blob, &tokens);
        }
    }

    /// An expensive verification: the signature is that of the packets' root.
    fn verify(&mut self, key: Key, blob: Vec<u8>, tokens: &[Packet]) {
        let bogus = tokens.iter().filter(|packet| packet.bogus).count();
        // PRABS: bins are the signer's or an attacker's, but for honest packets sent again.
        assert!(bogus == 0 || bogus == tokens.len());
        self.counts.forced += usize::from(bogus > 0);
        if self.signed.contains(&(key.packets, blob)) {
            self.bins.verified(&key);
            self.counts.restored.push(key.packets);
        } else {
            assert!(bogus > 0, "an honest block is refused");
            self.bins.refused(&key);
        }
    }
}

/// What an attacker makes of a packet that it sees.
#[derive(Clone, Copy, Debug)]
enum Attack {
    /// The packet with another share.
    Share,
    /// The packet with another tag.
    Tag,
    /// The packet with another content, and so another root.
    Content,
    /// A whole block of its own under the same block key: its own shares and tags fit.
    Own,
    /// The same, with new shares each time: a bin for each packet.
    Bins,
    /// Own blocks under other keys.
    Blocks,
    /// The packet again.
    Replay,
}

const ATTACKS: [Attack; 7] = [
    Attack::Share,
    Attack::Tag,
    Attack::Content,
    Attack::Own,
    Attack::Bins,
    Attack::Blocks,
    Attack::Replay,
];

fn packet(root: Digest, sent: &Sent, index: u16) -> Packet {
    Packet {
        block: [0; 32],
        packets: root,
        index,
        share: sent.shares[usize::from(index)].clone(),
        tag: sent.tag(index),
        code: *sent.tags.code(),
        bogus: false,
    }
}

fn attacked(seen: &Packet, attack: Attack, round: u16) -> Packet {
    let mut packet = seen.clone();
    packet.bogus = true;
    let own = || Sent::new(round as u8 | 0x80, seen.code, TagSize::T8);
    match attack {
        Attack::Share => {
            packet.share[usize::from(round) % seen.share.len()] ^= 1 + (round >> 8) as u8
        }
        Attack::Tag => packet.tag[usize::from(round) % seen.tag.len()] ^= 1,
        Attack::Content => packet.packets = [0xee; 32],
        Attack::Own => {
            let own = Sent::new(0xaa, seen.code, TagSize::T8);
            packet.index = round % seen.code.count();
            packet.share = own.shares[usize::from(packet.index)].clone();
            packet.tag = own.tag(packet.index);
        }
        Attack::Bins => {
            let own = own();
            packet.share = own.shares[usize::from(seen.index)].clone();
            packet.tag = own.tag(seen.index);
        }
        Attack::Blocks => packet.block = [1 + (round % 250) as u8; 32],
        Attack::Replay => {}
    }
    packet
}

/// A number of the run: xorshift.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Sends blocks with loss, and `rate` bogus packets before each honest one. Says how many blocks had
/// to be restored: those of which k packets arrived, without too many bogus ones between two.
fn run(count: u16, rate: u16, loss: u64, attacks: &[Attack], seed: u64) -> (Counts, usize) {
    let code = quarter(count);
    let sent = |seed: u8| ([seed + 1; 32], Sent::new(seed, code, TagSize::T8));
    let blocks: Vec<_> = (0..3).map(sent).collect();
    let (mut receiver, mut state, mut round) = (Receiver::new(&blocks), seed | 1, 0);
    let mut due = 0;
    for (root, sent) in &blocks {
        let (mut arrived, mut between, mut longest) = (0, 0, 0);
        for index in 0..count {
            let honest = packet(*root, sent, index);
            for _ in 0..rate {
                let attack = attacks[next(&mut state) as usize % attacks.len()];
                receiver.receive(attacked(&honest, attack, round), sent.tags);
                round = round.wrapping_add(1);
                between += 1;
            }
            if next(&mut state) % 100 >= loss {
                if arrived > 0 {
                    longest = longest.max(between);
                }
                (arrived, between) = (arrived + 1, 0);
                receiver.receive(honest, sent.tags);
            }
        }
        let enough = arrived >= code.needed() && longest < LIMITS.bins;
        due += usize::from(enough);
        assert!(!enough || receiver.counts.restored.contains(root), "{seed}");
    }
    (receiver.counts, due)
}

#[test]
fn each_attack_alone() {
    // A replay is honest in all but name: it helps, see below.
    for attack in &ATTACKS[..6] {
        for count in [16, 64, 256] {
            let (counts, due) = run(count, 10, 20, &[*attack], 7);
            assert_eq!((due, counts.restored.len()), (3, 3), "{attack:?}");
            let needed = usize::from(quarter(count).needed());
            assert!(
                counts.forced <= counts.bogus / needed,
                "{attack:?} {counts:?}"
            );
        }
    }
}

/// Own shares: the bound is reached once for each bin, and never again while it is remembered.
#[test]
fn a_bin_forces_one_verification() {
    let (counts, _) = run(64, 30, 0, &[Attack::Own], 1);
    assert_eq!(counts.bogus, 3 * 64 * 30);
    // One bin for each of the three honest roots that it pretends to belong to.
    assert_eq!(counts.forced, 3);
}

/// Replays of a block that is forgotten: each verification costs k of them too.
#[test]
fn replays_after_all_is_forgotten() {
    let sent = Sent::new(1, quarter(64), TagSize::T8);
    let limits = Limits {
        answers: 1,
        ..LIMITS
    };
    let mut bins = Bins::new(limits).unwrap();
    let (mut verifications, mut packets) = (0, 0);
    for round in 0..40 {
        for index in 0..64 {
            packets += 1;
            let share = &sent.shares[usize::from(index)];
            let key = sent.key([0; 32], [1; 32], index, share);
            let answer = bins.insert(key, sent.tags.code(), index, share, ()).answer;
            if matches!(answer, Answer::Restored { .. }) {
                verifications += 1;
                bins.verified(&key);
            }
            if index % 16 == 15 {
                bins.refused(&Key {
                    block: [round + 1; 32],
                    ..key
                });
            }
        }
    }
    assert_eq!((verifications, packets / 16), (160, 160));
}

/// The guarantee ends where the limits say: with as many new bins between two honest packets as a
/// block may have, its own bin is always the oldest. Whoever has to hold out longer takes more.
#[test]
fn limits_are_what_holds() {
    let sent = Sent::new(1, quarter(64), TagSize::T8);
    for (between, restored) in [(LIMITS.bins - 1, true), (LIMITS.bins, false)] {
        let mut bins = Bins::new(LIMITS).unwrap();
        let mut found = false;
        for index in 0..64 {
            for other in 0..between {
                let share = vec![0; sent.shares[0].len()];
                let shares = [[index as u8, other as u8]; 16]
                    .concat()
                    .try_into()
                    .unwrap();
                let key = Key {
                    block: [0; 32],
                    packets: [0; 32],
                    shares,
                };
                bins.insert(key, sent.tags.code(), index, &share, ());
            }
            let share = &sent.shares[usize::from(index)];
            let key = sent.key([0; 32], [1; 32], index, share);
            let answer = bins.insert(key, sent.tags.code(), index, share, ()).answer;
            found |= matches!(answer, Answer::Restored { .. });
        }
        assert_eq!(found, restored, "{between}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn mixed_attacks(count in 16u16..=128, rate in 0u16..20, loss in 0u64..60, seed in any::<u64>()) {
        let (counts, _) = run(count, rate, loss, &ATTACKS[..6], seed);
        let needed = usize::from(quarter(count).needed());
        prop_assert!(counts.forced <= counts.bogus / needed, "{:?}", counts);
    }
}
