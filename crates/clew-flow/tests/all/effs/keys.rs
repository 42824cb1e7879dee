//! What is a key: section 3.

use super::{key, rng};
use clew_flow::effs::{BadKey, Form, Parameters, PublicKey, Rule, SecretKey};
use std::collections::BTreeMap;
use std::sync::LazyLock;

const N: std::ops::Range<usize> = 5..5 + 256;

/// A key of the paper's rule, (16,8).
static KEY: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let key = key("effs-2048(16,8)", Rule::Paper, Form::Paper, 1);
    key.public().as_bytes().to_vec()
});

fn bytes() -> Vec<u8> {
    KEY.clone()
}

fn refused(bytes: &[u8]) -> BadKey {
    PublicKey::from_bytes(bytes).unwrap_err()
}

fn with(at: usize, value: &[u8]) -> Vec<u8> {
    let mut bytes = bytes();
    bytes[at..at + value.len()].copy_from_slice(value);
    bytes
}

#[test]
fn headers_are_checked() {
    assert!(PublicKey::from_bytes(&bytes()).is_ok());
    for rule in [0, 3, 16, 19, 32, 33, 0x81, 255] {
        assert_eq!(refused(&with(0, &[rule])), BadKey::Rule);
    }
    for size in [0u16, 1024, 2047, 2056, 3071, 4096, 65_535] {
        assert_eq!(refused(&with(1, &size.to_be_bytes())), BadKey::ModulusSize);
    }
    for [columns, rows] in [
        [0, 8],
        [2, 0],
        [2, 3],
        [2, 7],
        [1, 8],
        [255, 1],
        [8, 8],
        [1, 16],
        [32, 8],
    ] {
        assert_eq!(refused(&with(3, &[columns, rows])), BadKey::Parameters);
    }
    let compact_of_one_row = [vec![17, 8, 0, 16, 1], vec![0xff; 256 + 256]].concat();
    assert_eq!(refused(&compact_of_one_row), BadKey::Parameters);
}

#[test]
fn lengths_are_checked() {
    let bytes = bytes();
    for length in 0..bytes.len() {
        assert_eq!(refused(&bytes[..length]), BadKey::Length, "{length}");
    }
    assert_eq!(refused(&[&bytes[..], &[0]].concat()), BadKey::Length);
    // Other parameters make another length.
    assert_eq!(refused(&with(3, &[4, 8])), BadKey::Length);
    assert_eq!(refused(&with(1, &3072u16.to_be_bytes())), BadKey::Length);
}

#[test]
fn moduli_are_checked() {
    let last = bytes()[N.end - 1];
    for (add, williams) in [(1u8, false), (2, false), (3, false), (2, true), (4, true)] {
        let mut bytes = with(N.end - 1, &[last.wrapping_add(add)]);
        if williams {
            bytes[0] = 2;
            bytes.truncate(N.end + 4);
            bytes[N.end - 1] = 5u8.wrapping_add(add);
        }
        assert_eq!(refused(&bytes), BadKey::Modulus, "{add}");
    }
    assert_eq!(refused(&with(N.start, &[0x7f])), BadKey::Modulus);
    let tiny = [vec![0; 255], vec![21]].concat();
    assert_eq!(refused(&with(N.start, &tiny)), BadKey::Modulus);
    assert_eq!(refused(&with(N.start, &[0; 256])), BadKey::Modulus);
}

#[test]
fn every_v_is_checked() {
    let pairs = bytes()[N.end..].to_vec();
    let v: Vec<u16> = pairs
        .chunks(2)
        .map(|p| u16::from_be_bytes([p[0], p[1]]))
        .collect();
    let place = |j: usize| N.end + 2 * j;
    // Repeated, and in another order.
    assert_eq!(
        refused(&with(place(1), &v[0].to_be_bytes())),
        BadKey::VOrder
    );
    assert_eq!(refused(&with(place(15), &[0, 2])), BadKey::VOrder);
    // Zero, one, squares, other composites.
    for wrong in [0u16, 1] {
        assert_eq!(
            refused(&with(place(0), &wrong.to_be_bytes())),
            BadKey::VPrime
        );
    }
    let above = (v[15] + 1..).filter(|n| (2..*n).take(255).any(|d| n.is_multiple_of(d)));
    for wrong in above.take(200).chain([65_025, 65_535]) {
        assert_eq!(
            refused(&with(place(15), &wrong.to_be_bytes())),
            BadKey::VPrime,
            "{wrong}"
        );
    }
    assert!(PublicKey::from_bytes(&with(place(15), &65_521u16.to_be_bytes())).is_ok());
}

#[test]
fn keys_are_what_the_rule_says() {
    for (name, rule, length) in [
        ("effs-2048(128,1)", Rule::Paper, 5 + 256 + 256),
        ("effs-2048(128,1)", Rule::Williams, 5 + 256 + 32),
        ("effs-3072(256,1)", Rule::Paper, 5 + 384 + 512),
        ("effs-3072(32,4)", Rule::Williams, 5 + 384 + 8),
    ] {
        let key = key(name, rule, Form::Paper, 3);
        let public = key.public();
        assert_eq!(public.as_bytes().len(), length);
        assert_eq!(public.parameters().public_key_bytes(), length);
        assert_eq!(
            PublicKey::from_bytes(public.as_bytes()).as_ref(),
            Ok(public)
        );
        assert_eq!(public.parameters().to_string(), name);
        let secret = key.to_bytes();
        assert_eq!(secret.len(), public.parameters().secret_key_bytes());
        let read = SecretKey::from_bytes(public, &secret).unwrap();
        assert_eq!((read.public(), read.to_bytes()), (public, secret));
    }
}

#[test]
fn secrets_are_those_of_their_keys() {
    for rule in [Rule::Paper, Rule::Williams] {
        let one = key("effs-2048(128,1)", rule, Form::Paper, 3);
        let other = key("effs-2048(128,1)", rule, Form::Paper, 4);
        let bytes = one.to_bytes();
        let refused = |bytes: &[u8]| SecretKey::from_bytes(one.public(), bytes).unwrap_err();
        assert_eq!(refused(&other.to_bytes()), BadKey::Secret);
        assert_eq!(refused(&bytes[1..]), BadKey::Secret);
        assert_eq!(refused(&[]), BadKey::Secret);
        let mut swapped = bytes.to_vec();
        swapped[..256].rotate_left(128);
        // Which of the paper's primes is p is the signer's affair; the roots are the same.
        let is_secret = SecretKey::from_bytes(one.public(), &swapped).is_ok();
        assert_eq!(is_secret, rule == Rule::Paper);
        for at in [0, 127, 128, 255] {
            let mut wrong = bytes.to_vec();
            wrong[at] ^= 2;
            assert_eq!(refused(&wrong), BadKey::Secret);
        }
        let mut none = bytes.to_vec();
        none[..256].fill(0);
        assert_eq!(refused(&none), BadKey::Secret);
        let printed = format!("{one:?}");
        assert_eq!(printed, "SecretKey(effs-2048(128,1), ..)");
    }
}

#[test]
fn parameters_have_names() {
    assert_eq!(
        "effs-3072".parse(),
        "effs-3072(128,1)".parse::<Parameters>()
    );
    for bad in [
        "",
        "effs",
        "effs-1024",
        "effs-2048(128,1",
        "effs-2048(129,1)",
        "effs-2048(64,1)",
        "effs-2048(8,16)",
        "effs-2048(-1,1)",
    ] {
        assert!(bad.parse::<Parameters>().is_err(), "{bad}");
    }
    let sizes = [
        "effs-2048(128,1)",
        "effs-2048(256,1)",
        "effs-3072(128,1)",
        "effs-3072(256,1)",
        "effs-2048(64,2)",
        "effs-2048(128,2)",
    ];
    let sizes = sizes.map(|name| name.parse::<Parameters>().unwrap().signature_bytes());
    assert_eq!(sizes, [272, 288, 400, 416, 560, 576]);
    // The paper's own form, by its formula kt + (2t - 1) |n|.
    let paper: Parameters = "effs-2048(64,2)".parse().unwrap();
    assert_eq!(paper.in_papers_form().signature_bytes(), 16 + 3 * 256);
}

/// Damaged keys are refused or read as what they are; never anything else.
#[test]
fn damaged_keys_do_no_harm() {
    use rand_chacha::rand_core::Rng;
    let (bytes, rng, mut found) = (bytes(), &mut rng(6), BTreeMap::new());
    for _ in 0..5000 {
        let mut damaged = bytes.clone();
        for _ in 0..=rng.next_u32() % 3 {
            let at = rng.next_u32() as usize % damaged.len();
            damaged[at] = rng.next_u32() as u8;
        }
        damaged.truncate(damaged.len() - rng.next_u32() as usize % 8 / 7);
        let name = match PublicKey::from_bytes(&damaged) {
            Ok(key) => {
                assert_eq!(key.as_bytes(), damaged);
                "read"
            }
            Err(bad) => bad.name(),
        };
        *found.entry(name).or_insert(0) += 1;
    }
    assert!(found.len() >= 5, "{found:?}");
}
