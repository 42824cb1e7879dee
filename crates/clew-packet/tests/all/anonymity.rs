//! Two machines of one group sign the same content at the same time: nothing in their packets tells
//! one from the other. A statistical test, for both schemes and both forms.
//!
//! All randomness is seeded, so that a run repeats. Over the choice of seeds, the probability that
//! machines which cannot be told apart are suspected anyway is below 10^-6 for everything here
//! together; [`suspicions`] says what each look contributes. What it would find is shown by signers
//! that are broken on purpose ([`broken_signers_are_found`]). That a signature tells nothing at all is
//! proven in `spec/group-signature.md` section 6, not tested: this finds mistakes of the program. Times
//! are not looked at here: `tools/ct/ct` measures those of signing, and judges them.

use std::collections::HashSet;

use crate::common::groups::{BOTH, Group};
use crate::common::{NOW, Owned, packets::*};
use clew_group::curve::Scalar;
use clew_group::{Precursor, Scheme, SigningKey, bbs04, xr};
use clew_packet::{GroupId, LinkType, Policy, Sender, SignOutcome, read};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

/// Packets of each machine.
const N: usize = 400;

/// Bytes of a body that make one value: the shortest field (a challenge) has 16.
const WINDOW: usize = 8;

/// What one machine sent: whole frames, and where the signature's body is in them.
struct Sent {
    frames: Vec<Vec<u8>>,
    body: std::ops::Range<usize>,
}

/// One way to sign, for one machine.
struct Machine<'a> {
    scheme: Scheme,
    policy: Policy,
    precursor: Box<dyn Fn(&mut ChaCha20Rng) -> Precursor + 'a>,
    /// What is done to the body of packet `i` after it was signed.
    spoil: fn(usize, &mut [u8]),
}

impl<'a> Machine<'a> {
    fn new(scheme: Scheme, incremental: bool, key: &'a SigningKey) -> Self {
        Self {
            scheme,
            policy: Policy {
                incremental,
                ..Policy::default()
            },
            precursor: Box::new(move |rng| key.precursor(rng)),
            spoil: |_, _| {},
        }
    }

    /// Signs one packet N times.
    fn send(&self, seed: u64) -> Sent {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        // SCTP, whose checksum nobody adapts: one would say of the body what the body says.
        let packet = Owned::new(LinkType::RAW, ipv4(&[], 132, b"the same content"));
        let sender = Sender::new(self.scheme, GroupId([7; 16]), 0, self.policy);
        let mut frames = Vec::with_capacity(N);
        for i in 0..N {
            let mut out = Vec::new();
            let sign = |message: &[u8], body: &mut [u8]| {
                let precursor = (self.precursor)(&mut rng);
                precursor.sign(&[message], self.policy.incremental, body);
                (self.spoil)(i, body);
            };
            let reason = sender.sign_with(&packet.frame(), Some(NOW), sign, &mut out);
            assert_eq!(reason, SignOutcome::Signed);
            frames.push(out);
        }
        let body = body_of(&packet.with(frames[0].clone()));
        Sent { frames, body }
    }
}

fn body_of(signed: &Owned) -> std::ops::Range<usize> {
    let frame = signed.frame();
    let packet = read(&frame).expect("it was signed");
    let body = packet.trailer().body;
    let start = signed.bytes.windows(body.len()).position(|w| w == body);
    let start = start.expect("the body is in the packet");
    start..start + body.len()
}

/// Everything by which the two could be told apart.
fn suspicions(a: &Sent, b: &Sent) -> Vec<String> {
    let mut found = sizes_and_headers(a, b);
    if found.is_empty() {
        let bodies = [a, b].map(|sent| -> Vec<&[u8]> {
            let frames = sent.frames.iter();
            frames.map(|frame| &frame[sent.body.clone()]).collect()
        });
        found.extend(repeated_values(&bodies));
        found.extend(bits(&bodies));
        found.extend(values(&bodies));
    }
    found
}

/// Everything but the signature is the same in all packets. No false alarms.
fn sizes_and_headers(a: &Sent, b: &Sent) -> Vec<String> {
    let outside = |sent: &Sent, frame: &[u8]| {
        let (before, rest) = frame.split_at(sent.body.start);
        (
            before.to_vec(),
            rest[sent.body.len()..].to_vec(),
            sent.body.clone(),
        )
    };
    let all = [a, b].into_iter().flat_map(|sent| {
        let frames = sent.frames.iter();
        frames.map(move |frame| outside(sent, frame))
    });
    let kinds: HashSet<_> = all.collect();
    match kinds.len() {
        1 => Vec::new(),
        n => vec![format!("{n} kinds of sizes and headers")],
    }
}

/// No 8 bytes come twice, anywhere in any of the signatures: 800 bodies of up to 1104 bytes have
/// 4 * 10^11 pairs of windows, of which 2^-60 are equal by chance at most (a few bits of points and
/// scalars are fixed): 4 * 10^-7 for the longest form, and a tenth of that for the others.
fn repeated_values(bodies: &[Vec<&[u8]>; 2]) -> Vec<String> {
    let mut seen = HashSet::new();
    let all = bodies
        .iter()
        .flatten()
        .flat_map(|body| body.windows(WINDOW));
    let repeated = all.filter(|window| !seen.insert(*window)).count();
    match repeated {
        0 => Vec::new(),
        n => vec![format!("{n} values come again")],
    }
}

/// Each bit is one as often with one machine as with the other (Hoeffding: a difference of 0.27
/// among 2 N packets has probability 2 exp(-0.27^2 N) = 4 * 10^-13, for 16,512 bits 7 * 10^-9), and it
/// changes from packet to packet as often as independent ones do (N/2 pairs, a deviation of 0.3: 2
/// exp(-2 * 0.3^2 N/2) = 5 * 10^-16).
fn bits(bodies: &[Vec<&[u8]>; 2]) -> Vec<String> {
    let mut found = Vec::new();
    for bit in 0..bodies[0][0].len() * 8 {
        let is_one = |body: &&[u8]| body[bit / 8] & (0x80 >> (bit % 8)) != 0;
        let share =
            |bodies: &Vec<&[u8]>| bodies.iter().filter(|b| is_one(b)).count() as f64 / N as f64;
        let [a, b] = [0, 1].map(|m| share(&bodies[m]));
        if (a - b).abs() > 0.27 {
            found.push(format!("bit {bit} is one in {a} and {b} of the packets"));
        }
        for (bodies, p) in bodies.iter().zip([a, b]) {
            let pairs = bodies.chunks_exact(2);
            let changes = pairs
                .filter(|pair| is_one(&pair[0]) != is_one(&pair[1]))
                .count();
            let changes = changes as f64 / (N / 2) as f64;
            if (changes - 2.0 * p * (1.0 - p)).abs() > 0.3 {
                found.push(format!("bit {bit} changes in {changes} of the pairs"));
            }
        }
    }
    found
}

/// The halves of each byte have their sixteen values as often with one machine as with the other: a
/// chi-square of two samples with 15 degrees of freedom, above 100 with probability 2 * 10^-14; for
/// 4,128 halves 8 * 10^-11.
fn values(bodies: &[Vec<&[u8]>; 2]) -> Vec<String> {
    let mut found = Vec::new();
    for half in 0..bodies[0][0].len() * 2 {
        let value = |body: &&[u8]| usize::from(body[half / 2] >> (4 * (half % 2)) & 15);
        let counts = [0, 1].map(|m| {
            let mut counts = [0f64; 16];
            bodies[m].iter().for_each(|body| counts[value(body)] += 1.0);
            counts
        });
        let pairs = counts[0]
            .iter()
            .zip(&counts[1])
            .filter(|(a, b)| *a + *b > 0.0);
        let chi_square: f64 = pairs.map(|(a, b)| (a - b) * (a - b) / (a + b)).sum();
        if chi_square > 100.0 {
            found.push(format!("half {half}: chi-square {chi_square}"));
        }
    }
    found
}

#[test]
fn machines_cannot_be_told_apart() {
    for scheme in BOTH {
        let group = Group::new(scheme, 2);
        let keys = [0, 1].map(|member| group.signer(member));
        for incremental in [false, true] {
            let [a, b] = [0, 1].map(|m| Machine::new(scheme, incremental, &keys[m]).send(m as u64));
            let none: Vec<String> = Vec::new();
            assert_eq!(suspicions(&a, &b), none, "{scheme} {incremental}");
        }
    }
}

fn looks(of: &[String], words: &str) -> bool {
    of.iter().any(|suspicion| suspicion.contains(words))
}

/// Signers with a mistake each, beside one that has none.
#[test]
fn broken_signers_are_found() {
    let group = Group::new(Scheme::Xr, 2);
    let keys = [0, 1].map(|member| group.signer(member));
    let good = Machine::new(Scheme::Xr, false, &keys[0]).send(0);
    type Spoil = fn(usize, &mut [u8]);
    let spoilt: [(&str, Spoil, &str); 5] = [
        (
            "a counter in a byte",
            |i, body| body[200] = i as u8,
            "changes in",
        ),
        ("a mark in a bit", |_, body| body[17] |= 4, "is one in"),
        (
            "a bit that is mostly one",
            |i, body| body[17] |= u8::from(i % 3 != 0) << 2,
            "is one in",
        ),
        (
            "bytes of which each bit is balanced",
            |_, body| body[100] = body[100] & 0xf0 | [3, 5, 10, 12][usize::from(body[101] % 4)],
            "chi-square",
        ),
        (
            "a name",
            |_, body| body[160..168].copy_from_slice(b"web-1\0\0\0"),
            "come again",
        ),
    ];
    for (mistake, spoil, found_by) in spoilt {
        let machine = Machine {
            spoil,
            ..Machine::new(Scheme::Xr, false, &keys[1])
        };
        let found = suspicions(&good, &machine.send(1));
        assert!(looks(&found, found_by), "{mistake}: {found:?}");
    }
    let finer = Machine {
        policy: Policy {
            resolution_ns: 1,
            ..Policy::default()
        },
        ..Machine::new(Scheme::Xr, false, &keys[1])
    };
    assert!(looks(&suspicions(&good, &finer.send(1)), "headers"));
    let longer = Machine::new(Scheme::Xr, true, &keys[1]).send(1);
    assert!(looks(&suspicions(&good, &longer), "headers"));
}

/// One alpha for all signatures of a machine: what nonces must never be.
#[test]
fn a_reused_nonce_is_found() {
    for scheme in BOTH {
        let group = Group::new(scheme, 2);
        let keys = [0, 1].map(|member| group.signer(member));
        let good = Machine::new(scheme, false, &keys[0]).send(0);
        let precursor = |rng: &mut ChaCha20Rng| match &keys[1] {
            SigningKey::Xr(key) => {
                let mut nonces = xr::Nonces::random(rng);
                nonces.alpha = Scalar::from_u128(99);
                Precursor::Xr(Box::new(key.precursor_from(&nonces)))
            }
            SigningKey::Bbs04(key) => {
                let mut nonces = bbs04::Nonces::random(rng);
                nonces.alpha = Scalar::from_u128(99);
                Precursor::Bbs04(Box::new(key.precursor_from(&nonces)))
            }
        };
        let machine = Machine {
            precursor: Box::new(precursor),
            ..Machine::new(scheme, false, &keys[1])
        };
        let found = suspicions(&good, &machine.send(1));
        assert!(looks(&found, "come again"), "{scheme}: {found:?}");
    }
}

/// A generator that a machine was cloned with: both draw the same.
#[test]
fn a_cloned_generator_is_found() {
    let group = Group::new(Scheme::Xr, 2);
    let keys = [0, 1].map(|member| group.signer(member));
    let [a, b] = [0, 1].map(|m| Machine::new(Scheme::Xr, false, &keys[m]).send(5));
    assert!(looks(&suspicions(&a, &b), "come again"));
}
