//! Ways to damage encoded points and scalars.

use clew_group::DecodeError;
use clew_group::curve::{G1, G2, Scalar};

use super::{patched, replaced};

/// p and r of BLS12-381, big-endian.
pub const P: &str = "1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab";
pub const R: &str = "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001";

/// A damaged encoding: how, the rule that it breaks, and the bytes.
pub type Damaged = (&'static str, &'static str, Vec<u8>);

/// Encodings of a point that break one rule each. The sizes are those of G1 and G2.
pub fn bad_encodings(point: &[u8]) -> [Damaged; 3] {
    [
        ("off-curve", "point", near(point, DecodeError::Point)),
        ("outside-subgroup", "subgroup", near(point, DecodeError::Subgroup)),
        ("identity", "identity", identity(point.len())),
    ]
}

/// The same, and for points of G1 the two points of order three.
pub fn bad_points(point: &[u8]) -> Vec<Damaged> {
    let mut all = bad_encodings(point).to_vec();
    if point.len() == 48 {
        for (what, first) in [("order-3", 0x80), ("order-3-negative", 0xa0)] {
            all.push((what, "subgroup", replaced(&[0; 48], 0, &[first])));
        }
    }
    all
}

/// Encodings of a point of G1 that are not its one encoding.
pub fn not_canonical(point: &[u8]) -> [Damaged; 3] {
    [
        ("not-compressed", "point", patched(point, 0, point[0] & 0x7f)),
        ("identity-with-x", "point", patched(point, 0, point[0] | 0x40)),
        ("identity-with-sign", "point", patched(&identity(48), 0, 0xe0)),
    ]
}

/// What is wrong with a point, for people.
pub fn sentence(point: &str, what: &str) -> String {
    match what {
        "off-curve" => format!("{point} is no point of the curve."),
        "outside-subgroup" => format!("{point} is on the curve, outside the subgroup."),
        "order-3" => format!("{point} is (0, 2), which has order 3."),
        "order-3-negative" => format!("{point} is (0, -2), which has order 3."),
        "not-compressed" => format!("{point} without the bit of the compressed form."),
        "identity-with-x" => format!("{point} has the bit of the identity, and an x."),
        "identity-with-sign" => {
            format!("{point} is the identity with the bit of the larger y.")
        }
        _ => format!("{point} is the identity."),
    }
}

pub fn identity(length: usize) -> Vec<u8> {
    replaced(&vec![0; length], 0, &[0xc0])
}

/// The first encoding with another last byte that breaks this rule.
pub fn near(point: &[u8], rule: DecodeError) -> Vec<u8> {
    let read = |bytes: &[u8]| match bytes.len() {
        48 => G1::from_bytes(bytes).err(),
        _ => G2::from_bytes(bytes).err(),
    };
    let last = point[point.len() - 1];
    let mut others = (1..=255).map(|step| patched(point, -1, last.wrapping_add(step)));
    others.find(|bytes| read(bytes) == Some(rule)).unwrap()
}

/// Another point of the subgroup: twice the one given.
pub fn another(point: &[u8]) -> Vec<u8> {
    let two = Scalar::from_u128(2);
    match point.len() {
        48 => G1::from_bytes(point).unwrap().mul(&two).to_bytes().to_vec(),
        _ => G2::from_bytes(point).unwrap().mul(&two).to_bytes().to_vec(),
    }
}

/// The bytes with another point of the subgroup at `at`.
pub fn doubled(bytes: &[u8], at: usize, length: usize) -> Vec<u8> {
    replaced(bytes, at, &another(&bytes[at..at + length]))
}

/// The bytes with the last bit before `end` flipped.
pub fn flipped(bytes: &[u8], end: usize) -> Vec<u8> {
    patched(bytes, end as isize - 1, bytes[end - 1] ^ 1)
}

/// The bytes with r added to the scalar at `at`.
pub fn unreduced(bytes: &[u8], at: usize) -> Vec<u8> {
    replaced(bytes, at, &add(&bytes[at..at + 32], R))
}

/// The bytes with a point and a scalar that break one rule each: a reader names that of the scalar.
pub fn two_rules(bytes: &[u8], point: usize, scalar: usize) -> Vec<u8> {
    replaced(&unreduced(bytes, scalar), point, &identity(48))
}

pub const TWO_RULES: &str = "A point is the identity, and a scalar not reduced: scalars come first.";

/// The sum of two big-endian integers of one size.
pub fn add(a: &[u8], b: &str) -> Vec<u8> {
    let (mut sum, mut carry) = (a.to_vec(), 0);
    for (digit, other) in sum.iter_mut().zip(hex::decode(b).unwrap()).rev() {
        let all = u16::from(*digit) + u16::from(other) + carry;
        (*digit, carry) = (all as u8, all >> 8);
    }
    assert_eq!(carry, 0, "it has no room");
    sum
}

/// The bytes with x + p in the place of the x of the point at `at`, if there is room for it.
pub fn unreduced_x(bytes: &[u8], at: usize) -> Option<Vec<u8>> {
    let flags = bytes[at] & 0xe0;
    let x = replaced(&bytes[at..at + 48], 0, &[bytes[at] & 0x1f]);
    let sum = add(&x, P);
    (sum[0] & 0xe0 == 0).then(|| replaced(bytes, at, &replaced(&sum, 0, &[sum[0] | flags])))
}

/// Everything that can be wrong with a proof `c || s` at `at`: the rule, and whether it decodes.
pub fn bad_proofs(bytes: &[u8], at: usize) -> Vec<Damaged> {
    let bit_254 = replaced(bytes, at, &[bytes[at] & 0x1f | 0x40]);
    vec![
        ("other-c", "invalid", flipped(bytes, at + 32)),
        ("other-s", "invalid", flipped(bytes, at + 64)),
        ("c-bit-254", "scalar", bit_254),
        ("s-not-reduced", "scalar", unreduced(bytes, at + 32)),
    ]
}

/// What is wrong with a proof, for people.
pub fn of_proof(what: &str) -> &'static str {
    match what {
        "other-c" => "c of the proof is one bit off.",
        "other-s" => "s of the proof is one bit off.",
        "c-bit-254" => "c of the proof is below r, and has bit 254 set.",
        _ => "s + r in the place of s of the proof.",
    }
}
