//! Both schemes through the same engines: what is signed is valid, what is flipped is not, batches
//! answer as single checks do, and a packet of one scheme is none of a group of the other.

use std::sync::{Arc, LazyLock};

use crate::common::groups::{BOTH, Group};
use crate::common::{NOW, Owned, packets::*};
use clew_group::{Scheme, SigningKey, VerifyingKey};
use clew_packet::{
    Acceptance, GroupId, GroupTag, KeySource, LinkType, Mode, Pending, Policy, Reason, Received,
    Receiver, Sender, SignOutcome, Stripped, Timestamp, Unknown, Window, Windows,
};
use proptest::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

/// A group of each scheme, with two signers.
struct Made {
    signers: [SigningKey; 2],
    verifier: Arc<VerifyingKey>,
}

static MADE: LazyLock<[Made; 2]> = LazyLock::new(|| {
    BOTH.map(|scheme| {
        let group = Group::new(scheme, 2);
        Made {
            signers: [0, 1].map(|member| group.signer(member)),
            verifier: group.verifier(),
        }
    })
});

fn made(scheme: Scheme) -> &'static Made {
    &MADE[usize::from(scheme == Scheme::Xr)]
}

fn id(scheme: Scheme) -> GroupId {
    GroupId([scheme.code(); 16])
}

/// Knows both groups, each in epoch 0.
#[derive(Clone, Copy)]
struct Keys;

impl KeySource for Keys {
    fn scheme(&self, group: GroupTag) -> Result<Scheme, Unknown> {
        let scheme = BOTH.into_iter().find(|s| id(*s).tag() == group);
        scheme.ok_or(Unknown::Group)
    }

    fn successor_start(&self, group: GroupTag, _: u32) -> Result<Option<Timestamp>, Unknown> {
        let known = BOTH.iter().any(|scheme| id(*scheme).tag() == group);
        known.then_some(None).ok_or(Unknown::Group)
    }

    fn key(&self, group: GroupTag, _: u32) -> Option<Arc<VerifyingKey>> {
        let scheme = BOTH.into_iter().find(|s| id(*s).tag() == group)?;
        Some(Arc::clone(&made(scheme).verifier))
    }
}

fn sign(
    original: &Owned,
    scheme: Scheme,
    policy: Policy,
    seed: u64,
) -> (Option<Owned>, SignOutcome) {
    let (sender, mut out) = (Sender::new(scheme, id(scheme), 0, policy), Vec::new());
    let signer = &made(scheme).signers[seed as usize % 2];
    let precursor = || signer.precursor(&mut ChaCha20Rng::seed_from_u64(seed));
    let reason = sender.sign(&original.frame(), Some(NOW), precursor, &mut out);
    let signed = (reason == SignOutcome::Signed).then(|| original.with(out));
    (signed, reason)
}

fn receive(packet: &Owned) -> Result<Pending, Reason> {
    let mut receiver = Receiver::new(Keys, Acceptance::capture());
    match receiver.receive(&packet.frame(), Some(NOW)) {
        Received::Done(conclusion) => Err(conclusion.reason),
        Received::Pending(pending) => Ok(pending),
        Received::Waiting(ticket) => unreachable!("{ticket:?}: nothing is coded"),
    }
}

fn verify(packet: &Owned) -> Reason {
    let rng = &mut ChaCha20Rng::seed_from_u64(1);
    match receive(packet) {
        Err(reason) => reason,
        Ok(pending) => {
            let mut receiver = Receiver::new(Keys, Acceptance::capture());
            receiver.conclude(pending.check(rng)).reason
        }
    }
}

fn packet() -> Owned {
    Owned::new(LinkType::RAW, ipv4(&[], UDP, &udp(b"payload")))
}

fn form(incremental: bool) -> Policy {
    Policy {
        incremental,
        ..Policy::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn what_is_signed_is_valid_and_comes_back(original in frames(), policy in policies(), seed: u64) {
        for scheme in BOTH {
            let (signed, outcome) = sign(&original, scheme, policy, seed);
            let Some(signed) = signed else {
                prop_assert_ne!(outcome, Reason::NoTrailer.into());
                continue;
            };
            prop_assert_eq!(verify(&signed), Reason::Ok);
            let (stripped, kind) = signed.strip();
            prop_assert_eq!(kind, Stripped::Trailer);
            prop_assert_eq!(stripped.as_ref(), Some(&original));
        }
    }
}

/// Every bit of a trailer counts, in both schemes and both forms.
#[test]
fn flips_in_trailers() {
    let original = packet();
    for (scheme, incremental) in [
        (Scheme::Xr, false),
        (Scheme::Xr, true),
        (Scheme::Bbs04, false),
        (Scheme::Bbs04, true),
    ] {
        let signed = sign(&original, scheme, form(incremental), 1).0.unwrap();
        let body = scheme.signature_bytes(incremental);
        assert!(signed.bytes.len() > original.bytes.len() + body);
        assert_eq!(verify(&signed), Reason::Ok);
        for bit in original.bytes.len() * 8..signed.bytes.len() * 8 {
            let mut flipped = signed.clone();
            flipped.bytes[bit / 8] ^= 0x80 >> (bit % 8);
            assert_ne!(
                verify(&flipped),
                Reason::Ok,
                "{scheme} {incremental} bit {bit}"
            );
        }
    }
}

/// The incremental form of xr that verifies is its plain form with R1; of neither is the other form
/// accepted in its place.
#[test]
fn forms_are_not_exchanged() {
    for scheme in BOTH {
        for incremental in [false, true] {
            let policy = form(incremental);
            let sender = Sender::new(scheme, id(scheme), 0, policy);
            let signer = &made(scheme).signers[0];
            let other = |message: &[u8], body: &mut [u8]| {
                let mut full = vec![0; scheme.signature_bytes(true)];
                let precursor = signer.precursor(&mut ChaCha20Rng::seed_from_u64(3));
                // Not what the trailer says: signed in the message are the other form's bytes.
                let wrong = [message, b"\0"].concat();
                precursor.sign(&[&wrong], true, &mut full);
                body.copy_from_slice(&full[..body.len()]);
            };
            let mut out = Vec::new();
            sender.sign_with(&packet().frame(), Some(NOW), other, &mut out);
            assert_eq!(verify(&packet().with(out)), Reason::BadSignature);
        }
    }
}

/// Of an incremental form the hash comes first, over the bytes as they are: whoever fits it to bytes
/// that are no points is refused for the encoding, alone and in a batch.
#[test]
fn an_incremental_form_whose_hash_fits_is_decoded() {
    let sender = Sender::new(Scheme::Xr, id(Scheme::Xr), 0, form(true));
    let fitted = |message: &[u8], body: &mut [u8]| {
        body.fill(0x11); // T1, T2, R3: no compressed points
        let (points, r1) = (body[..144].to_vec(), body[288..].to_vec());
        let hash = Sha256::new_with_prefix(clew_group::domain_separator("clew-xr-signature-1"))
            .chain_update([8; 32]) // the epoch id of these groups
            .chain_update(&points[..96])
            .chain_update(r1)
            .chain_update(&points[96..])
            .chain_update(message)
            .finalize();
        body[144..160].copy_from_slice(&hash[..16]);
    };
    let mut out = Vec::new();
    sender.sign_with(&packet().frame(), Some(NOW), fitted, &mut out);
    let wrong = packet().with(out);
    assert_eq!(verify(&wrong), Reason::BadEncoding);
    let rng = &mut ChaCha20Rng::seed_from_u64(1);
    let checked = Pending::check_all(vec![receive(&wrong).unwrap()], Windows::Alone, rng).remove(0);
    let mut receiver = Receiver::new(Keys, Acceptance::capture());
    assert_eq!(receiver.conclude(checked).reason, Reason::BadEncoding);
}

/// What becomes of a good packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Harm {
    Nothing,
    Payload,
    Point,
    Scalar,
    Swap,
}

const HARMS: [Harm; 5] = [
    Harm::Nothing,
    Harm::Payload,
    Harm::Point,
    Harm::Scalar,
    Harm::Swap,
];

fn harmed(scheme: Scheme, incremental: bool, harm: Harm, seed: u64) -> Owned {
    let original = packet();
    let mut signed = sign(&original, scheme, form(incremental), seed).0.unwrap();
    let start = original.bytes.len();
    let body = body_start(&signed, scheme, incremental);
    assert!(body >= start);
    match harm {
        Harm::Nothing => {}
        Harm::Payload => signed.bytes[start - 1] ^= 1,
        Harm::Point => signed.bytes[body] ^= 0x80,
        // The last response: its value, not its encoding.
        Harm::Scalar => signed.bytes[body + scheme.signature_bytes(false) - 1] ^= 1,
        Harm::Swap => signed.bytes[body..body + 96].rotate_left(48),
    }
    signed
}

fn body_start(signed: &Owned, scheme: Scheme, incremental: bool) -> usize {
    let packet = clew_packet::read(&signed.frame()).unwrap();
    let body = packet.trailer().body;
    assert_eq!(body.len(), scheme.signature_bytes(incremental));
    let found = signed.bytes.windows(body.len()).position(|w| w == body);
    found.expect("the body is in the packet")
}

/// Good, bad and undecodable packets of both groups and forms in one go, in many orders.
#[test]
fn batches_answer_as_single_checks_do() {
    let rng = &mut ChaCha20Rng::seed_from_u64(5);
    for round in 0..30u64 {
        // Some rounds have nothing bad, some little, some much.
        let badness = [0, 1, 20, 100][round as usize % 4];
        let packets: Vec<(Harm, Owned)> = (0..24)
            .map(|i| {
                let scheme = if rng.next_u32() % 4 == 0 {
                    Scheme::Bbs04
                } else {
                    Scheme::Xr
                };
                let bad = rng.next_u32() % 100 < badness || badness == 1 && i == round % 24;
                let harm = if bad {
                    HARMS[1 + rng.next_u32() as usize % 4]
                } else {
                    Harm::Nothing
                };
                let incremental = rng.next_u32() % 2 == 0;
                (harm, harmed(scheme, incremental, harm, round * 100 + i))
            })
            .collect();
        let pending = || -> Vec<Pending> {
            packets
                .iter()
                .map(|(_, packet)| receive(packet).unwrap())
                .collect()
        };
        let mut receiver = Receiver::new(Keys, Acceptance::capture());
        let together: Vec<Reason> = Pending::check_all(pending(), Windows::Alone, rng)
            .into_iter()
            .map(|checked| receiver.conclude(checked).reason)
            .collect();
        let mut receiver = Receiver::new(Keys, Acceptance::capture());
        let alone: Vec<Reason> = pending()
            .into_iter()
            .map(|pending| receiver.conclude(pending.check(rng)).reason)
            .collect();
        assert_eq!(together, alone, "round {round}");
        for ((harm, _), reason) in packets.iter().zip(alone) {
            assert_eq!(reason == Reason::Ok, *harm == Harm::Nothing, "{harm:?}");
        }
    }
    assert!(Pending::check_all(Vec::new(), Windows::Alone, rng).is_empty());
}

/// Three packets of one flow, each with the group that signs it, taken by whole windows.
fn taken_whole(groups: [Scheme; 3]) -> Vec<Reason> {
    let (mut window, mut out) = (Window::new(3), Vec::new());
    let mut receiver = Receiver::new(Keys, Acceptance::capture());
    let mut pending = Vec::new();
    for (seed, scheme) in (0..).zip(groups) {
        let sender = Sender::new(scheme, id(scheme), 0, Policy::default());
        let (packet, signer) = (packet(), &made(scheme).signers[0]);
        let frame = packet.frame();
        let candidate = sender.admit(&frame, Mode::Window, 3, &mut out).unwrap();
        let precursor = || signer.precursor(&mut ChaCha20Rng::seed_from_u64(seed));
        sender.sign_in_window(&candidate, Some(NOW), &mut window, precursor, &mut out);
        pending.push(receive(&packet.with(out.clone())).unwrap());
    }
    let rng = &mut ChaCha20Rng::seed_from_u64(1);
    let checked = Pending::check_all(pending, Windows::Whole, rng).into_iter();
    let conclude = |checked| receiver.conclude(checked).reason;
    checked.map(conclude).collect()
}

#[test]
fn a_window_vouches_for_packets_of_its_own_group_alone() {
    let (xr, bbs04) = (Scheme::Xr, Scheme::Bbs04);
    let whole = [Reason::Vouched, Reason::Vouched, Reason::Ok];
    assert_eq!(taken_whole([xr; 3]), whole);
    assert_eq!(taken_whole([bbs04; 3]), whole);
    for between in [[xr, bbs04, xr], [bbs04, xr, bbs04], [bbs04, xr, xr]] {
        assert_eq!(taken_whole(between), [Reason::Ok; 3], "{between:?}");
    }
}

#[test]
fn a_packet_of_one_scheme_is_none_of_a_group_of_the_other() {
    for (ours, theirs) in [(Scheme::Xr, Scheme::Bbs04), (Scheme::Bbs04, Scheme::Xr)] {
        for incremental in [false, true] {
            let sender = Sender::new(theirs, id(ours), 0, form(incremental));
            let signer = &made(theirs).signers[0];
            let precursor = || signer.precursor(&mut ChaCha20Rng::seed_from_u64(9));
            let mut out = Vec::new();
            sender.sign(&packet().frame(), Some(NOW), precursor, &mut out);
            let wrong = packet().with(out);
            assert_eq!(verify(&wrong), Reason::UnknownScheme);
            assert_eq!(
                wrong.strip().0,
                Some(packet()),
                "strip does not ask for a group"
            );
        }
    }
}
