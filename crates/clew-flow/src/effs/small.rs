//! Small primes, and whether they are squares modulo large ones: section 3.

use alloc::vec::Vec;

/// Primes below this have two bytes.
const END: usize = 1 << 16;

/// Returns all primes below 2^16, ascending.
pub fn primes() -> Vec<u16> {
    let mut composite = alloc::vec![false; END];
    let mut primes = Vec::new();
    for number in 2..END {
        if !composite[number] {
            primes.push(number as u16);
            let multiples = (number * number..END).step_by(number);
            multiples.for_each(|multiple| composite[multiple] = true);
        }
    }
    primes
}

/// Returns whether a number is prime.
pub fn is_prime(number: u16) -> bool {
    let divides = |d: &u32| u32::from(number).is_multiple_of(*d);
    let below_root = |d: &u32| d * d <= u32::from(number);
    number > 1 && !(2u32..).take_while(below_root).any(|d| divides(&d))
}

/// Division by a small number without the processor's, whose time tells what is divided.
struct Divisor {
    l: u64,
    /// `floor((2^64 - 1) / l)`.
    reciprocal: u64,
}

impl Divisor {
    fn new(l: u16) -> Self {
        let l = u64::from(l);
        Self {
            l,
            reciprocal: u64::MAX / l,
        }
    }

    /// `x mod l`: the quotient's estimate is at most 2 too small (Barrett).
    fn rest(&self, x: u64) -> u64 {
        let quotient = ((u128::from(x) * u128::from(self.reciprocal)) >> 64) as u64;
        let mut rest = x - quotient * self.l;
        for _ in 0..2 {
            let less = rest.wrapping_sub(self.l);
            // All ones if it was too much.
            let over = ((less as i64) >> 63) as u64;
            rest = less.wrapping_add(self.l & over);
        }
        rest
    }
}

/// Returns 1 if an odd prime l is a square modulo the prime `p = 3 (mod 4)`, else 0; no branch and
/// no address depends on p. By reciprocity it is the character of p modulo l, with a sign if l is 3
/// modulo 4 too; and that is Euler's criterion, whose exponent is public.
pub fn is_square(l: u16, p: &[u64]) -> u64 {
    let by = Divisor::new(l);
    let mut base = 0;
    for word in p.iter().rev() {
        for half in [word >> 32, word & u64::from(u32::MAX)] {
            base = by.rest(base << 32 | half);
        }
    }
    let (mut power, mut exponent) = (1, (by.l - 1) / 2);
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = by.rest(power * base);
        }
        base = by.rest(base * base);
        exponent >>= 1;
    }
    // power is 1 or l - 1, which is even.
    let of_p = power & 1;
    of_p ^ (by.l >> 1 & 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes_are_known() {
        let all = primes();
        assert_eq!(all.len(), 6542);
        assert_eq!(all[..6], [2, 3, 5, 7, 11, 13]);
        assert_eq!(all[128], 727);
        let tested: Vec<u16> = (0..=u16::MAX).filter(|n| is_prime(*n)).collect();
        assert_eq!(tested, all);
    }

    #[test]
    fn squares_are_found() {
        for p in [10_007u64, 65_519, 4_294_967_291] {
            assert_eq!(p % 4, 3);
            for l in primes().into_iter().skip(1).take(150) {
                let expected = (1..p.min(70_000)).any(|x| x * x % p == u64::from(l) % p);
                let (mut power, mut base, mut e) = (1u128, u128::from(l), (p - 1) / 2);
                while e > 0 {
                    if e & 1 == 1 {
                        power = power * base % u128::from(p);
                    }
                    base = base * base % u128::from(p);
                    e >>= 1;
                }
                if u64::from(l) < p {
                    assert_eq!(is_square(l, &[p]), u64::from(power == 1), "{l} {p}");
                }
                assert!(p > 70_000 || expected == (power == 1));
            }
        }
    }

    #[test]
    fn rests_are_those_of_division() {
        for l in [3u16, 5, 727, 8191, 65_521] {
            let by = Divisor::new(l);
            for x in [
                0,
                1,
                u64::from(l) - 1,
                u64::from(l),
                u64::MAX,
                u64::MAX / 2,
                1 << 48,
            ] {
                assert_eq!(by.rest(x), x % u64::from(l));
            }
        }
    }
}
