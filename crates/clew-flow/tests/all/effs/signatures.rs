//! What is a signature, level by level: sections 4 to 6.

use super::{key, rng, signer};
use clew_flow::effs::{Assurance, Form, Refusal, Rule, SecretKey, Signer, Verifier};
use clew_simd::Backend;
use num_bigint::BigUint;
use proptest::prelude::*;
use std::sync::{LazyLock, Mutex};

/// (32,4) of 2048 bits, in both forms and by both rules.
static KEYS: LazyLock<[SecretKey; 2]> = LazyLock::new(|| {
    [
        key("effs-2048(32,4)", Rule::Paper, Form::Compact, 1),
        key("effs-2048(32,4)", Rule::Williams, Form::Paper, 2),
    ]
});

/// Both, ready to sign, and a signature of each.
static SIGNERS: LazyLock<[Mutex<Signer>; 2]> = LazyLock::new(|| {
    KEYS.each_ref()
        .map(|key| Mutex::new(signer(key, Backend::best())))
});
static SIGNED: LazyLock<[Vec<u8>; 2]> =
    LazyLock::new(|| [0, 1].map(|which| signed(which, MESSAGE)));

fn signed(which: usize, message: &[u8]) -> Vec<u8> {
    let mut signer = SIGNERS[which].lock().unwrap();
    signer.sign(message, &mut rng(3)).unwrap()
}

const MESSAGE: &[u8] = b"a message";
const ROOTS: usize = 16;
const CARRIED: usize = 16 + 4 * 256;

#[test]
fn all_ways_sign_alike_and_verify_alike() {
    for (name, form) in [
        ("effs-2048(128,1)", Form::Paper),
        ("effs-2048(256,1)", Form::Paper),
        ("effs-2048(16,8)", Form::Compact),
        ("effs-2048(64,2)", Form::Paper),
        ("effs-3072(128,1)", Form::Paper),
        ("effs-3072(128,2)", Form::Compact),
    ] {
        for rule in [Rule::Paper, Rule::Williams] {
            let key = key(name, rule, form, 8);
            let t = key.public().parameters().t();
            let mut known = Vec::new();
            for backend in Backend::multipliers() {
                let (mut signer, rng) = (signer(&key, backend), &mut rng(2));
                signer.prepare(rng);
                let signed = (0..40u8).map(|i| signer.sign(&vec![i; i.into()], rng).unwrap());
                let signed: Vec<Vec<u8>> = signed.collect();
                if known.is_empty() {
                    known = signed;
                } else {
                    assert!(known == signed, "{name} {}", backend.name());
                }
            }
            for backend in Backend::multipliers() {
                let verifier = Verifier::on(key.public(), backend);
                for (i, signature) in (0..).zip(&known) {
                    let message = vec![i; i.into()];
                    for level in 1..=t {
                        let found = verifier.verify(&message, signature, level).unwrap();
                        assert_eq!(found, key.public().parameters().assurance(level));
                    }
                }
            }
        }
    }
}

#[test]
fn every_rule_has_its_reason() {
    for (key, good) in KEYS.iter().zip(SIGNED.iter()) {
        let verifier = Verifier::new(key.public());
        let at = |level, signature: &[u8]| verifier.verify(MESSAGE, signature, level);
        let refused = |level, change: &dyn Fn(&mut Vec<u8>)| {
            let mut signature = good.clone();
            change(&mut signature);
            at(level, &signature).unwrap_err()
        };
        for change in [-1i64, 1, -256] {
            let length = (good.len() as i64 + change) as usize;
            assert_eq!(refused(1, &|s| s.resize(length, 0)), Refusal::Length);
        }
        assert_eq!(at(1, &[]), Err(Refusal::Length));
        for level in [0, 5, 255] {
            assert_eq!(at(level, good), Err(Refusal::Level));
        }
        let n = BigUint::from_bytes_be(&key.public().as_bytes()[5..][..256]);
        for row in 0..4u8 {
            let root = ROOTS + 256 * usize::from(row)..ROOTS + 256 * (usize::from(row) + 1);
            let y = BigUint::from_bytes_be(&good[root.clone()]);
            let put = |y: &BigUint| {
                let mut bytes = y.to_bytes_be();
                bytes.splice(..0, vec![0; 256 - bytes.len()]);
                let (good, root) = (good.clone(), root.clone());
                let mut signature = good;
                signature[root].copy_from_slice(&bytes);
                signature
            };
            let half: BigUint = &n / 2u32;
            for (y, reason) in [
                (BigUint::ZERO, Refusal::ZeroRoot),
                (&n - &y, Refusal::RootRange),
                (&half + 1u32, Refusal::RootRange),
                (n.clone(), Refusal::RootRange),
                (&n + 1u32, Refusal::RootRange),
                ((BigUint::from(1u32) << 2048) - 1u32, Refusal::RootRange),
                (
                    half,
                    if row == 0 {
                        Refusal::Challenge
                    } else {
                        Refusal::Commitment
                    },
                ),
                (
                    &y + 1u32,
                    if row == 0 {
                        Refusal::Challenge
                    } else {
                        Refusal::Commitment
                    },
                ),
            ] {
                let signature = put(&y);
                // Levels below do not look at it.
                for level in 1..=4 {
                    let expected = match level > row {
                        true => Err(reason),
                        false => Ok(key.public().parameters().assurance(level)),
                    };
                    assert_eq!(at(level, &signature), expected, "row {row} level {level}");
                }
            }
        }
        // All of the challenge and all that is carried counts at every level.
        for place in (0..ROOTS).chain([CARRIED, CARRIED + 40, good.len() - 1]) {
            for level in 1..=4 {
                assert_eq!(
                    refused(level, &|s| s[place] ^= 1),
                    Refusal::Challenge,
                    "{place}"
                );
            }
        }
        assert_eq!(refused(4, &|s| s[..ROOTS].fill(0xff)), Refusal::Challenge);
        assert_eq!(
            verifier.verify(b"another", good, 1),
            Err(Refusal::Challenge)
        );
        assert_eq!(verifier.verify(b"", good, 4), Err(Refusal::Challenge));
    }
}

#[test]
fn levels_are_raised_without_doing_work_twice() {
    let key = &KEYS[0];
    let (verifier, good) = (Verifier::new(key.public()), &SIGNED[0]);
    let mut progress = verifier.begin(MESSAGE, good).unwrap();
    assert_eq!((progress.level(), progress.assurance().bits()), (1, 32));
    assert!(!progress.assurance().is_enough());
    assert_eq!(progress.raise(3).unwrap().bits(), 96);
    assert_eq!(progress.raise(2), Err(Refusal::Level), "that is verified");
    assert_eq!(progress.raise(5), Err(Refusal::Level));
    assert!(progress.raise(4).unwrap().is_enough());
    // A row that does not hold keeps what was reached.
    let mut spoiled = good.clone();
    spoiled[ROOTS + 2 * 256 + 200] ^= 1;
    let mut progress = verifier.begin(MESSAGE, &spoiled).unwrap();
    assert_eq!(progress.raise(4), Err(Refusal::Commitment));
    assert_eq!(progress.level(), 2);
}

#[test]
fn strength_is_in_bits() {
    for (name, bits, level, gives) in [
        ("effs-3072(128,1)", 256, 1, 128),
        ("effs-3072(256,1)", 128, 1, 256),
        ("effs-3072(128,2)", 128, 1, 128),
        ("effs-3072(128,2)", 129, 2, 256),
        ("effs-2048(32,8)", 0, 1, 32),
        ("effs-2048(32,8)", 128, 4, 128),
        ("effs-2048(16,8)", 100, 7, 112),
    ] {
        let parameters: clew_flow::effs::Parameters = name.parse().unwrap();
        assert_eq!(parameters.level_for(bits), level, "{name}");
        let assurance = parameters.assurance(level);
        assert_eq!(assurance.bits(), gives);
        assert_eq!(assurance.is_enough(), assurance >= Assurance::ENOUGH);
        assert_eq!(assurance.is_enough(), gives >= 128);
    }
}

#[test]
fn signatures_are_of_one_key() {
    let [one, other] = [3, 4].map(|seed| key("effs-2048(128,1)", Rule::Paper, Form::Paper, seed));
    let signed = signer(&one, Backend::best())
        .sign(MESSAGE, &mut rng(1))
        .unwrap();
    assert!(
        Verifier::new(one.public())
            .verify(MESSAGE, &signed, 1)
            .is_ok()
    );
    assert!(
        Verifier::new(other.public())
            .verify(MESSAGE, &signed, 1)
            .is_err()
    );
}

/// What goes wrong with one number in 2^16 shows among so many.
#[test]
fn many_signatures_hold() {
    for backend in Backend::multipliers() {
        let many = if backend == Backend::best() {
            150_000
        } else {
            10_000
        };
        let key = key("effs-2048(128,1)", Rule::Paper, Form::Paper, 11);
        let (mut signer, rng) = (signer(&key, backend), &mut rng(11));
        let verifier = Verifier::on(key.public(), backend);
        for message in 0..many as u32 {
            let message = message.to_be_bytes();
            let signature = signer.sign(&message, rng).unwrap();
            assert!(verifier.verify(&message, &signature, 1).is_ok());
        }
    }
}

#[test]
fn no_two_signatures_are_alike() {
    assert_ne!(signed(0, MESSAGE), signed(0, MESSAGE));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever is changed, anywhere, all ways say the same of it, and it is not accepted.
    #[test]
    fn damage_is_refused_alike(which in 0..2usize, at in 0..2000usize, to in 1..256u32, level in 1..5u8) {
        let key = &KEYS[which];
        let mut signature = SIGNED[which].clone();
        let at = at % signature.len();
        signature[at] ^= to as u8;
        let all: Vec<_> = Backend::multipliers().map(|backend| {
            Verifier::on(key.public(), backend).verify(MESSAGE, &signature, level)
        }).collect();
        prop_assert!(all.iter().all(|found| *found == all[0]));
        let row = at.checked_sub(ROOTS).map_or(0, |place| place / 256);
        let is_looked_at = row < level.into() || at >= CARRIED;
        prop_assert_eq!(all[0].is_err(), is_looked_at);
    }

    /// Messages of every length are signed.
    #[test]
    fn messages_of_every_length(message in proptest::collection::vec(any::<u8>(), 0..3000)) {
        let key = &KEYS[1];
        let signed = signed(1, &message);
        let verifier = Verifier::new(key.public());
        prop_assert!(verifier.verify(&message, &signed, 4).is_ok());
        let longer = [&message[..], &[0]].concat();
        prop_assert!(verifier.verify(&longer, &signed, 4).is_err());
    }
}
