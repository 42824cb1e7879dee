//! What the types add to the kernels of `clew_simd::x25519`.

use std::format;

use super::*;

fn hex(text: &str) -> [u8; BYTES] {
    let byte = |i: usize| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap();
    core::array::from_fn(byte)
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
    let mut publics = [Public(BASE); 2];
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

/// Jobs of more than one vector, one of them with a point of order 8.
#[test]
fn small_order_is_reported_in_its_place() {
    let bad = Public(hex(
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    ));
    let (secret, good) = (Secret::from_bytes([5; BYTES]), Public(BASE));
    for n in 1..20 {
        for i in 0..n {
            let mut jobs = std::vec![(&secret, &good); n];
            jobs[i].1 = &bad;
            let mut out: std::vec::Vec<_> = jobs.iter().map(|_| None).collect();
            shared(&jobs, &mut out);
            assert!((0..n).all(|j| out[j].is_none() == (j == i)));
        }
    }
}

#[test]
fn secrets_do_not_show() {
    let secret = Secret::from_bytes([77; BYTES]);
    let shown = format!("{secret:?} {:?}", Shared([77; BYTES]));
    assert_eq!(shown, "Secret(..) Shared(..)");
}
