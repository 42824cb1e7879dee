//! Points that no decoder may let in.

use blst::min_pk::{AggregatePublicKey, PublicKey};
use blst::{blst_fp, blst_p1_affine};
use clew_group::DecodeError;
use clew_group::curve::{G1, G2};

/// (0, 2), which has order 3: x^3 = 0 in the tangent's formula. The cofactor of G1 is divisible by 3.
pub const ORDER_3: [u8; 48] = {
    let mut bytes = [0; 48];
    bytes[0] = 0x80;
    bytes
};

/// A good point plus (0, 2): in another coset of G1, and 3 times it is in G1 again.
pub fn with_torsion(good: &[u8]) -> [u8; 48] {
    let (x, y) = (blst_fp::default(), blst_fp { l: TWO });
    let torsion = PublicKey::from(blst_p1_affine { x, y });
    assert_eq!(torsion.compress(), ORDER_3);
    let good = PublicKey::uncompress(good).expect("a good point");
    let mut sum = AggregatePublicKey::from_public_key(&good);
    sum.add_public_key(&torsion, false).expect("unchecked");
    sum.to_public_key().compress()
}

/// 2 as the field has it: 2^385 mod p.
const TWO: [u64; 6] = [
    0x3213_0000_0006_554f,
    0xb93c_0018_d6c4_0005,
    0x5760_5e0d_b0dd_bb51,
    0x8b25_6521_ed1f_9bcb,
    0x6cf2_8d79_0162_2c03,
    0x11eb_ab9d_bb81_e28c,
];

pub fn g2_outside_subgroup() -> [u8; 96] {
    let mut candidates = (1..=60u8).map(|x| {
        let mut bytes = [0; 96];
        (bytes[0], bytes[95]) = (0x80, x);
        bytes
    });
    candidates
        .find(|b| G2::from_bytes(b) == Err(DecodeError::Subgroup))
        .expect("one in sixty")
}

/// r, which is no scalar.
pub fn order() -> [u8; 32] {
    let order = hex::decode("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001");
    order.expect("hex").try_into().expect("32 bytes")
}

/// Each way in which the 48 bytes at `at` can be no point of G1.
pub fn bad_g1(good: &[u8], at: usize, decode: impl Fn(&[u8]) -> Option<DecodeError>) {
    let torsion = with_torsion(&good[at..at + 48]);
    assert_eq!(G1::from_bytes(&torsion), Err(DecodeError::Subgroup));
    bad_point(good, at, &[&torsion, &ORDER_3], decode);
}

/// Each way in which the 96 bytes at `at` can be no point of G2.
pub fn bad_g2(good: &[u8], at: usize, decode: impl Fn(&[u8]) -> Option<DecodeError>) {
    bad_point(good, at, &[&g2_outside_subgroup()], decode);
}

fn bad_point(
    good: &[u8],
    at: usize,
    outside: &[&[u8]],
    decode: impl Fn(&[u8]) -> Option<DecodeError>,
) {
    let length = outside[0].len();
    let with = |point: &[u8]| decode(&replaced(good, at, point));
    assert_eq!(decode(good), None);
    for outside in outside {
        assert_eq!(with(outside), Some(DecodeError::Subgroup), "at {at}");
    }
    let mut infinity = vec![0; length];
    infinity[0] = 0xc0;
    assert_eq!(with(&infinity), Some(DecodeError::Identity), "at {at}");
    infinity[length - 1] = 1;
    assert_eq!(with(&infinity), Some(DecodeError::Point), "at {at}");
    let mut field_overflow = vec![0xff; length];
    field_overflow[0] = 0x9f;
    assert_eq!(with(&field_overflow), Some(DecodeError::Point), "at {at}");
    let mut flag = good[at..at + length].to_vec();
    flag[0] &= 0x7f;
    assert_eq!(with(&flag), Some(DecodeError::Point), "at {at}");
}

pub fn bad_scalar(
    good: &[u8],
    at: usize,
    bad: &[u8],
    decode: impl Fn(&[u8]) -> Option<DecodeError>,
) {
    assert_eq!(decode(good), None);
    let bad = decode(&replaced(good, at, bad));
    assert_eq!(bad, Some(DecodeError::Scalar), "at {at}");
}

/// The value is of its own length only.
pub fn other_lengths(good: &[u8], decode: impl Fn(&[u8]) -> Option<DecodeError>) {
    assert_eq!(decode(good), None);
    let longer = [good, &[0]].concat();
    for bad in [&[], &good[..1], &good[..good.len() - 1], &longer] {
        assert_eq!(decode(bad), Some(DecodeError::Length), "{}", bad.len());
    }
}

/// `good` with other bytes at `at`.
pub fn replaced(good: &[u8], at: usize, by: &[u8]) -> Vec<u8> {
    let mut bytes = good.to_vec();
    bytes[at..at + by.len()].copy_from_slice(by);
    bytes
}
