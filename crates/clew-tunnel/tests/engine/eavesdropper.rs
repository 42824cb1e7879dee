//! What somebody who reads all datagrams can tell.

use curve25519_dalek::montgomery::MontgomeryPoint;

use clew_tunnel::x25519::Public;

/// Whether there is a point on the curve (and not on its twist) with this coordinate.
pub fn is_on_curve(key: &[u8; 32]) -> bool {
    MontgomeryPoint(*key).to_edwards(0).is_some()
}

/// 1 / C' mod 2^255 - 19: another key that opens the same box.
pub fn inverse(key: &Public) -> Public {
    let mut power = key.0;
    let mut result = [0; 32];
    result[0] = 1;
    // The exponent p - 2 is 2^255 - 21: its bits from the least.
    for bit in 0..255 {
        let is_one = !matches!(bit, 2 | 4);
        if is_one {
            result = times(&result, &power);
        }
        power = times(&power, &power);
    }
    Public(result)
}

/// The product modulo 2^255 - 19, byte by byte.
fn times(a: &[u8; 32], b: &[u8; 32]) -> [u8; 32] {
    let mut wide = [0_u64; 64];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            wide[i + j] += u64::from(*x) * u64::from(*y);
        }
    }
    let mut low = [0_u64; 32];
    for i in 0..32 {
        low[i] = wide[i] + 38 * wide[i + 32];
    }
    for _ in 0..4 {
        let mut carry = 0;
        for place in &mut low {
            *place += carry;
            (carry, *place) = (*place >> 8, *place & 0xff);
        }
        low[0] += 38 * carry;
    }
    let top = low[31] >> 7;
    low[31] &= 0x7f;
    low[0] += 19 * top;
    let mut out = [0; 32];
    let mut carry = 0;
    for (out, place) in out.iter_mut().zip(low) {
        let sum = place + carry;
        (*out, carry) = (sum as u8, sum >> 8);
    }
    reduced(out)
}

/// Below the prime: 19 more have bit 255 only from it on.
fn reduced(mut number: [u8; 32]) -> [u8; 32] {
    let mut more = number;
    let mut carry = 19_u16;
    for byte in &mut more {
        let sum = u16::from(*byte) + carry;
        (*byte, carry) = (sum as u8, sum >> 8);
    }
    if more[31] & 0x80 != 0 {
        number = more;
        number[31] &= 0x7f;
    }
    number
}

#[test]
fn the_inverse_is_one() {
    let key = clew_tunnel::keys::decoy([3; 32]);
    let mut one = [0; 32];
    one[0] = 1;
    assert_eq!(times(&key.0, &inverse(&key).0), one);
    assert!(is_on_curve(&key.0));
}
