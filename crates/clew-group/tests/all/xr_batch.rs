//! Batches of XR give the verdicts of one signature at a time, on every path.

use crate::common::script::Script;
use crate::common::xr::{Group, Member, NONCE};
use crate::common::xr_textbook::{Gpk, Key, commitments, finish, short, sign};
use crate::common::{EPOCH, rng};
use clew_group::Invalid;
use clew_group::curve::{G1, Scalar};
use clew_group::xr::{Form, IncrementalSignature, Item, Nonces, Signature, VerifyingKey};
use clew_simd::Backend;
use proptest::prelude::*;
use std::sync::LazyLock;

/// What is wrong with a signature.
#[derive(Clone, Copy, Debug)]
enum Fault {
    None,
    /// Another message: the hash does not fit.
    Message,
    /// A response: R1' or the pairing does not fit.
    Response,
    /// Made without a credential: everything but the pairing fits.
    Credential,
    /// R1 replaced by the signer, and all the rest made to fit: only R1 = R1' does not hold.
    R1,
    /// R3 replaced by the signer, and all the rest made to fit: only the pairing does not hold.
    R3,
    /// R1 and R3 with opposite errors.
    Both,
}

use Fault::{Both, Credential, Message, None as Good, R1, R3, Response};

struct Case {
    plain: Signature,
    incremental: IncrementalSignature,
    valid: bool,
}

struct Pool {
    /// One for each way to compute.
    verifiers: Vec<VerifyingKey>,
    cases: Vec<Case>,
}

static POOL: LazyLock<Pool> = LazyLock::new(|| {
    let group = Group::new(1);
    let faults = [
        Good, Good, Good, Good, Message, Response, Credential, R1, R3, R3, Both,
    ];
    let cases = faults.iter().zip(0..).map(|(f, i)| case(&group, *f, i));
    Pool {
        verifiers: Backend::multipliers()
            .map(|backend| VerifyingKey::with_backend(&group.public, EPOCH, backend))
            .collect(),
        cases: cases.collect(),
    }
});

fn of(group: &Group) -> (Gpk, Key) {
    let Member { key, witness, .. } = &group.member;
    let gpk = Gpk::of(&NONCE, &group.public, EPOCH);
    (gpk, Key::of(key, witness))
}

fn case(group: &Group, fault: Fault, seed: u64) -> Case {
    let (gpk, mut key) = of(group);
    let n = Nonces::random(&mut rng(seed));
    let message: &[u8] = if matches!(fault, Message) { b"n" } else { b"m" };
    if matches!(fault, Credential) {
        key.b = G1::generator();
    }
    let mut points = commitments(&gpk, &key, &n);
    match fault {
        R1 => points[2] += G1::generator(),
        // Two of these have opposite errors.
        R3 if seed.is_multiple_of(2) => points[3] += G1::generator(),
        Both => {
            points[2] += -G1::generator();
            points[3] += G1::generator();
        }
        R3 => points[3] += -G1::generator(),
        _ => {}
    }
    let transcript = points.map(|p| p.to_bytes());
    let mut bytes = finish(&gpk, &key, &n, &transcript, message);
    if matches!(fault, Response) {
        bytes[287] ^= 1;
    }
    Case {
        plain: Signature::from_bytes(&bytes[..288]).unwrap(),
        incremental: IncrementalSignature::from_bytes(&bytes).unwrap(),
        valid: matches!(fault, Good),
    }
}

impl Pool {
    /// The verdicts of one batch are those that are right, and those of one at a time.
    fn check(&self, batch: &[(usize, bool)], seed: u64) {
        let message: &[&[u8]] = &[b"", b"m"];
        let items: Vec<Item<'_>> = batch
            .iter()
            .map(|(case, incremental)| {
                let case = &self.cases[*case];
                let form = if *incremental {
                    Form::Incremental(&case.incremental)
                } else {
                    Form::Plain(&case.plain)
                };
                Item { message, form }
            })
            .collect();
        let verifier = &self.verifiers[0];
        let alone = |form: Form<'_>| match form {
            Form::Plain(s) => verifier.verify(message, s),
            Form::Incremental(s) => verifier.verify_incremental(message, s, &mut rng(seed)),
        };
        let one_by_one: Vec<_> = items.iter().map(|item| alone(item.form)).collect();
        for verifier in &self.verifiers {
            let together = verifier.verify_batch(&items, &mut rng(seed));
            assert_eq!(together, one_by_one, "{}", verifier.backend().name());
        }
        let right = batch.iter().map(|(case, _)| {
            if self.cases[*case].valid {
                Ok(())
            } else {
                Err(Invalid)
            }
        });
        assert_eq!(one_by_one, right.collect::<Vec<_>>());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn batches_say_what_single_signatures_say(
        batch in prop::collection::vec((0usize..11, any::<bool>()), 0..20),
        seed in any::<u64>(),
    ) {
        POOL.check(&batch, seed);
    }

    #[test]
    fn few_bad_ones_among_many(
        bad in prop::collection::btree_map(0usize..40, 4usize..11, 0..3),
        seed in any::<u64>(),
    ) {
        let case = |i: usize| bad.get(&i).copied().unwrap_or(i % 4);
        let batch: Vec<_> = (0..40).map(|i| (case(i), i % 3 == 0)).collect();
        POOL.check(&batch, seed);
    }
}

#[test]
fn each_fault_alone_and_in_each_place_of_three() {
    for fault in 0..11 {
        for incremental in [false, true] {
            POOL.check(&[(fault, incremental)], 1);
            for place in 0..3 {
                let mut batch = [(0, false), (1, true), (2, false)];
                batch[place] = (fault, incremental);
                POOL.check(&batch, 2);
            }
        }
    }
}

/// One bad one in each part of a batch, in its first place and in a later one; two in one part, in two
/// parts, in most parts; all of them.
#[test]
fn bad_ones_are_found_in_all_parts() {
    const GOOD: (usize, bool) = (0, false);
    const BAD: (usize, bool) = (6, false);
    let spoilt = |n: usize, bad: &[usize]| -> Vec<(usize, bool)> {
        (0..n)
            .map(|i| if bad.contains(&i) { BAD } else { GOOD })
            .collect()
    };
    for place in [0, 1, 7, 8, 15, 18] {
        POOL.check(&spoilt(19, &[place]), 1);
    }
    for bad in [&[2, 10][..], &[2, 11], &[0, 7, 8], &[0, 1, 2, 3, 4, 13]] {
        POOL.check(&spoilt(19, bad), 2);
    }
    POOL.check(&[BAD; 9], 3);
    // R1 and R3 of the incremental form, beside plain ones.
    POOL.check(
        &[
            GOOD,
            (8, true),
            GOOD,
            (7, true),
            (1, true),
            GOOD,
            GOOD,
            GOOD,
            (2, true),
        ],
        4,
    );
}

/// Errors of parts 0 and 2 that cancel under weights of their places, less those of part 1: only random
/// multipliers tell that part 1 is not the bad one.
#[test]
fn errors_weighted_by_places_are_found() {
    let group = Group::new(4);
    let message: &[&[u8]] = &[b"m"];
    let signed = [
        with_error(&group, 0, 3, &Scalar::from_u128(1)),
        with_error(&group, 1, 3, &Scalar::from_u128(5)),
        with_error(&group, 2, 3, &Scalar::from_u128(1)),
        with_error(&group, 3, 2, &Scalar::default()),
    ];
    let items = signed.each_ref().map(|signed| Item {
        message,
        form: Form::Plain(signed.signature()),
    });
    for backend in Backend::multipliers() {
        let verifier = VerifyingKey::with_backend(&group.public, EPOCH, backend);
        let verdicts = verifier.verify_batch(&items, &mut rng(1));
        assert_eq!(verdicts, [Err(Invalid), Err(Invalid), Err(Invalid), Ok(())]);
    }
}

/// Errors that cancel each other without multipliers, as the sum of the two R3 is the right one.
#[test]
fn opposite_errors_are_found() {
    for seed in 0..8 {
        POOL.check(&[(8, false), (9, false)], seed);
        POOL.check(&[(8, true), (9, true)], seed);
    }
}

/// R1' of the identity is refused, where it is derived and where it is in a batch.
#[test]
fn an_r1_of_the_identity_is_refused_on_every_path() {
    let group = Group::new(2);
    let (gpk, key) = of(&group);
    let mut n = Nonces::random(&mut rng(1));
    n.ra = Scalar::default();
    let bytes = sign(&gpk, &key, &n, b"m");
    assert_eq!(
        IncrementalSignature::from_bytes(&bytes),
        Err(clew_group::DecodeError::Identity)
    );
    let signature = Signature::from_bytes(&bytes[..288]).unwrap();
    let verifier = group.verifier();
    assert_eq!(verifier.verify(&[b"m"], &signature), Err(Invalid));
    let item = Item {
        message: &[b"m"],
        form: Form::Plain(&signature),
    };
    let verdicts = verifier.verify_batch(&[item], &mut rng(1));
    assert_eq!(verdicts, [Err(Invalid)]);
    let good = group.sign(b"m");
    let good = Item {
        message: &[b"m"],
        form: Form::Plain(&good),
    };
    for backend in Backend::multipliers() {
        let verifier = VerifyingKey::with_backend(&group.public, EPOCH, backend);
        let verdicts = verifier.verify_batch(&[good, item, good, good], &mut rng(1));
        assert_eq!(verdicts, [Ok(()), Err(Invalid), Ok(()), Ok(())]);
    }
}

/// A member whose signature has an error that it chose: R1 or R3 times a power of the generator.
fn with_error(group: &Group, seed: u64, place: usize, error: &Scalar) -> IncrementalSignature {
    let (gpk, key) = of(group);
    let n = Nonces::random(&mut rng(seed));
    let mut points = commitments(&gpk, &key, &n);
    points[place] += G1::generator().mul(error);
    let transcript = points.map(|p| p.to_bytes());
    let bytes = finish(&gpk, &key, &n, &transcript, b"m");
    IncrementalSignature::from_bytes(&bytes).unwrap()
}

/// Two errors that cancel under the weights d1 and d2, and under no others: so the weights are all
/// 128 bits of what was drawn, each drawn for itself.
#[test]
fn weights_are_128_bits_each() {
    let group = Group::new(3);
    let verifier = group.verifier();
    let draws: [[u8; 16]; 4] = core::array::from_fn(|i| {
        let byte = |j: usize| (0x91 + 59 * i + 31 * j) as u8;
        core::array::from_fn(byte)
    });
    // Of R3 in plain signatures, with d; of R1 in incremental ones, with q, which is drawn first.
    let verdicts = |place: usize, errors: [Scalar; 2], blocks: &[[u8; 16]]| {
        let [one, two] = [0, 1].map(|i| with_error(&group, i, place, &errors[i as usize]));
        let form = |s| match place {
            3 => Form::Plain(IncrementalSignature::signature(s)),
            _ => Form::Incremental(s),
        };
        let message: &[&[u8]] = &[b"m"];
        let items = [&one, &two].map(|s| Item {
            message,
            form: form(s),
        });
        let mut script = Script::new(blocks);
        let verdicts = verifier.verify_batch(&items, &mut script);
        assert_eq!(script.asked, vec![16; blocks.len()]);
        verdicts
    };
    let [a, b, c, d] = draws;
    for (place, blocks, used) in [(3, vec![a, b], [a, b]), (2, vec![a, c, b, d], [a, b])] {
        let [first, second] = used.map(|block| short(&block));
        let cancelling = [second, -first];
        assert_eq!(verdicts(place, cancelling, &blocks), [Ok(()), Ok(())]);
        // Each bit of each weight counts, the first and the last of each half included.
        for bit in [0, 1, 63, 64, 65, 127] {
            for which in 0..2 {
                let mut other = blocks.clone();
                other[which * blocks.len() / 2][bit / 8] ^= 0x80 >> (bit % 8);
                let refused = verdicts(place, cancelling, &other);
                assert_eq!(
                    refused,
                    [Err(Invalid), Err(Invalid)],
                    "{place} {bit} {which}"
                );
            }
        }
    }
}
