//! Numbers of 52-bit limbs, and the constants of the field.

/// Limbs of a number.
pub const LIMBS: usize = 8;

/// Bits of a limb.
pub const BITS: u32 = 52;

/// The lowest 52 bits.
pub const MASK: u64 = (1 << BITS) - 1;

/// Words of 64 bits of an element.
pub const WORDS: usize = 6;

/// One number, the lowest limb first: one cache line, so that a lane's number is read at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Row(pub [u64; LIMBS]);

impl Row {
    /// Zero.
    pub const ZERO: Self = Self([0; LIMBS]);

    /// Returns the number of these words, the lowest first.
    pub const fn from_words(words: &[u64; WORDS]) -> Self {
        let mut limbs = [0; LIMBS];
        let mut i = 0;
        while i < LIMBS {
            let (word, shift) = (52 * i / 64, 52 * i % 64);
            let mut limb = words[word] >> shift;
            if shift > 12 && word + 1 < WORDS {
                limb |= words[word + 1] << (64 - shift);
            }
            limbs[i] = limb & MASK;
            i += 1;
        }
        Self(limbs)
    }

    /// Returns the words of a number below 2^384, the lowest first.
    pub const fn to_words(&self) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        let mut i = 0;
        while i < LIMBS {
            let (word, shift) = (52 * i / 64, 52 * i % 64);
            words[word] |= self.0[i] << shift;
            if shift > 12 && word + 1 < WORDS {
                words[word + 1] |= self.0[i] >> (64 - shift);
            }
            i += 1;
        }
        words
    }

    /// Returns `factor * p`, for a factor below 2^35.
    pub const fn multiple_of_p(factor: u64) -> Self {
        let mut limbs = [0; LIMBS];
        let mut carry = 0;
        let mut i = 0;
        while i < LIMBS {
            let sum = P.0[i] as u128 * factor as u128 + carry;
            limbs[i] = sum as u64 & MASK;
            carry = sum >> BITS;
            i += 1;
        }
        Self(limbs)
    }

    /// Returns 2^exponent modulo p.
    pub const fn power_of_two(exponent: u32) -> Self {
        let mut power = Self([1, 0, 0, 0, 0, 0, 0, 0]);
        let mut k = 0;
        while k < exponent {
            power = power.doubled();
            k += 1;
        }
        power
    }

    /// Returns this number, below p, twice and modulo p.
    const fn doubled(&self) -> Self {
        let mut twice = [0; LIMBS];
        let mut less = [0; LIMBS];
        let (mut carry, mut borrow) = (0, 0);
        let mut i = 0;
        while i < LIMBS {
            twice[i] = (self.0[i] << 1 | carry) & MASK;
            carry = self.0[i] >> (BITS - 1);
            let difference = twice[i].wrapping_sub(P.0[i]).wrapping_sub(borrow);
            less[i] = difference & MASK;
            borrow = difference >> 63;
            i += 1;
        }
        if borrow == 0 { Self(less) } else { Self(twice) }
    }
}

/// The prime (RFC 9380, section 8.8.1), the lowest word first.
pub const P_WORDS: [u64; WORDS] = [
    0xb9fe_ffff_ffff_aaab,
    0x1eab_fffe_b153_ffff,
    0x6730_d2a0_f6b0_f624,
    0x6477_4b84_f385_12bf,
    0x4b1b_a7b6_434b_acd7,
    0x1a01_11ea_397f_e69a,
];

/// The prime.
pub const P: Row = Row::from_words(&P_WORDS);

/// -1/p modulo 2^52.
pub const P_INVERSE: u64 = {
    let mut inverse = 1u64;
    let mut i = 0;
    while i < 6 {
        let error = 2u64.wrapping_sub(P.0[0].wrapping_mul(inverse));
        inverse = inverse.wrapping_mul(error);
        i += 1;
    }
    inverse.wrapping_neg() & MASK
};

/// (p - 1) / 2.
pub const HALF: Row = {
    let mut words = [0; WORDS];
    let mut i = 0;
    while i < WORDS {
        let above = if i + 1 < WORDS {
            P_WORDS[i + 1] << 63
        } else {
            0
        };
        words[i] = P_WORDS[i] >> 1 | above;
        i += 1;
    }
    Row::from_words(&words)
};

/// R = 2^416 modulo p: one in Montgomery form.
pub const ONE: Row = Row::power_of_two(416);

/// R^2 modulo p. A product with it gives the Montgomery form.
pub const R2: Row = Row::power_of_two(2 * 416);

/// A product with it brings an element to blst's Montgomery form, whose R is 2^384.
pub const TO_384: Row = Row::power_of_two(384);

/// A product with it brings an element out of blst's Montgomery form.
pub const FROM_384: Row = Row::power_of_two(2 * 416 - 384);
