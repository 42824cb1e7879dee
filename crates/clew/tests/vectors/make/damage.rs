//! Ways to damage encoded points and scalars.

use std::ops::{Range, RangeBounds};

use clew_group::DecodeError;
use clew_group::curve::{G1, G2, Scalar};

/// What is wrong with encoded bytes. Places count from the end if they are negative.
pub trait Damage {
    /// Other bytes at a place.
    #[track_caller]
    fn set(&self, at: impl Into<Place>, value: impl AsRef<[u8]>) -> Vec<u8>;
    /// A byte with its last bit changed.
    #[track_caller]
    fn flip(&self, at: impl Into<Place>) -> Vec<u8>;
    /// Bytes behind the last.
    fn plus(&self, more: impl AsRef<[u8]>) -> Vec<u8>;
    /// The last bytes missing.
    fn cut(&self, bytes: usize) -> Vec<u8>;
    /// Other bytes in the place of these, as many or not.
    fn replace(&self, range: impl RangeBounds<usize>, bytes: impl AsRef<[u8]>) -> Vec<u8>;
    /// Another point of the subgroup: twice the one there.
    fn doubled(&self, at: usize, length: usize) -> Vec<u8>;
    /// r added to the scalar there.
    fn unreduced(&self, at: usize) -> Vec<u8>;
}

/// A place from the start, or if negative from the end.
pub struct Place(isize);

impl From<usize> for Place {
    fn from(at: usize) -> Self {
        Self(at as isize)
    }
}

impl From<i32> for Place {
    fn from(at: i32) -> Self {
        Self(at as isize)
    }
}

impl Place {
    fn of(self, bytes: &[u8]) -> usize {
        match self.0 {
            at @ 0.. => at.unsigned_abs(),
            at => bytes.len() - at.unsigned_abs(),
        }
    }
}

impl Damage for [u8] {
    #[track_caller]
    fn set(&self, at: impl Into<Place>, value: impl AsRef<[u8]>) -> Vec<u8> {
        let (at, value) = (at.into().of(self), value.as_ref());
        assert_ne!(&self[at..at + value.len()], value, "nothing changes");
        self.replace(at..at + value.len(), value)
    }

    #[track_caller]
    fn flip(&self, at: impl Into<Place>) -> Vec<u8> {
        let at = at.into().of(self);
        self.set(at, [self[at] ^ 1])
    }

    fn plus(&self, more: impl AsRef<[u8]>) -> Vec<u8> {
        [self, more.as_ref()].concat()
    }

    fn cut(&self, bytes: usize) -> Vec<u8> {
        self[..self.len() - bytes].to_vec()
    }

    fn replace(&self, range: impl RangeBounds<usize>, bytes: impl AsRef<[u8]>) -> Vec<u8> {
        let mut all = self.to_vec();
        all.splice(range, bytes.as_ref().iter().copied());
        all
    }

    fn doubled(&self, at: usize, length: usize) -> Vec<u8> {
        self.set(at, another(&self[at..at + length]))
    }

    fn unreduced(&self, at: usize) -> Vec<u8> {
        self.set(at, add(&self[at..at + 32], R))
    }
}

/// p and r of BLS12-381, big-endian.
pub const P: &str = "1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab";
pub const R: &str = "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001";

/// What is damaged, the rule that it breaks, what is wrong with it, and the bytes.
pub type Damaged = (&'static str, &'static str, String, Vec<u8>);

/// Encodings of the point there, of G1 or G2 by its size, that break one rule each.
pub fn bad_encodings(bytes: &[u8], name: &str, field: Range<usize>) -> Vec<Damaged> {
    let (point, at) = (&bytes[field.clone()], field.start);
    let row = |what, rule, is: &str, point| (what, rule, format!("{name} is {is}."), bytes.set(at, point));
    vec![
        row("off-curve", "point", "no point of the curve", near(point, DecodeError::Point)),
        row("outside-subgroup", "subgroup", "on the curve, outside the subgroup", near(point, DecodeError::Subgroup)),
        row("identity", "identity", "the identity", identity(point.len())),
    ]
}

/// The same, and for points of G1 the two points of order three.
pub fn bad_points(bytes: &[u8], name: &str, field: Range<usize>) -> Vec<Damaged> {
    let mut all = bad_encodings(bytes, name, field.clone());
    if field.len() == 48 {
        let order_3 = [("order-3", "(0, 2)", 0x80), ("order-3-negative", "(0, -2)", 0xa0)];
        all.extend(order_3.map(|(what, is, first)| {
            let point = [0; 48].set(0, [first]);
            (what, "subgroup", format!("{name} is {is}, which has order 3."), bytes.set(field.start, point))
        }));
    }
    all
}

/// Encodings of a point of G1 that are not its one encoding.
pub fn not_canonical(bytes: &[u8], name: &str, field: Range<usize>) -> Vec<Damaged> {
    let (first, at) = (bytes[field.start], field.start);
    let row = |what, is: &str, bytes| (what, "point", format!("{name} {is}."), bytes);
    vec![
        row("not-compressed", "without the bit of the compressed form", bytes.set(at, [first & 0x7f])),
        row("identity-with-x", "has the bit of the identity, and an x", bytes.set(at, [first | 0x40])),
        row("identity-with-sign", "is the identity with the bit of the larger y", bytes.set(at, identity(48).set(0, [0xe0]))),
    ]
}

/// The point (0, 2) of G1, which has order 3.
pub fn order_3() -> Vec<u8> {
    [0; 48].set(0, [0x80])
}

pub fn identity(length: usize) -> Vec<u8> {
    vec![0; length].set(0, [0xc0])
}

/// The first encoding with another last byte that breaks this rule.
pub fn near(point: &[u8], rule: DecodeError) -> Vec<u8> {
    let read = |bytes: &[u8]| match bytes.len() {
        48 => G1::from_bytes(bytes).err(),
        _ => G2::from_bytes(bytes).err(),
    };
    let last = point[point.len() - 1];
    let mut others = (1..=255).map(|step| point.set(-1, [last.wrapping_add(step)]));
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

/// The bytes with a point and a scalar that break one rule each: a reader names that of the scalar.
pub fn two_rules(bytes: &[u8], point: usize, scalar: usize) -> Vec<u8> {
    bytes.unreduced(scalar).set(point, identity(48))
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
    let x = bytes[at..at + 48].set(0, [bytes[at] & 0x1f]);
    let sum = add(&x, P);
    (sum[0] & 0xe0 == 0).then(|| bytes.set(at, sum.set(0, [sum[0] | flags])))
}

/// Everything that can be wrong with a proof `c || s` at `at`.
pub fn bad_proofs(bytes: &[u8], at: usize) -> Vec<Damaged> {
    let row = |what, rule, comment: &str, bytes| (what, rule, comment.to_owned(), bytes);
    let bit_254 = bytes.set(at, [bytes[at] & 0x1f | 0x40]);
    vec![
        row("other-c", "invalid", "c of the proof is one bit off.", bytes.flip(at + 31)),
        row("other-s", "invalid", "s of the proof is one bit off.", bytes.flip(at + 63)),
        row("c-bit-254", "scalar", "c of the proof is below r, and has bit 254 set.", bit_254),
        row("s-not-reduced", "scalar", "s + r in the place of s of the proof.", bytes.unreduced(at + 32)),
    ]
}
