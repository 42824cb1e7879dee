//! GF(256), its polynomial x^8 + x^4 + x^3 + x^2 + 1: that of every Reed-Solomon code for files and
//! packets. Nothing here is secret, so tables may be looked into.

/// A logarithm to the base x, or a sum of two; what is above [`UNITS`] is not reduced.
pub type Log = u16;

/// Number of the units, which are the powers of x.
pub const UNITS: Log = 255;

const POLYNOMIAL: u16 = 0x11d;

/// In the place of a logarithm of zero: above every sum of two others.
const LOG_ZERO: Log = 2 * UNITS;

/// A power of two above twice [`LOG_ZERO`].
const EXP_LEN: usize = 1024;

static LOG: [Log; 256] = logs();
static EXP: [u8; EXP_LEN] = powers();

/// Returns the logarithm of an element; any sum that zero has a part in is one of zero.
pub fn log(element: u8) -> Log {
    LOG[usize::from(element)]
}

/// Returns the element with that logarithm: of an element, or of the product of two.
pub fn exp(log: Log) -> u8 {
    EXP[usize::from(log) % EXP_LEN]
}

const fn logs() -> [Log; 256] {
    let mut out = [LOG_ZERO; 256];
    let (mut power, mut log) = (1, 0);
    while log < UNITS {
        out[power as usize] = log;
        power = times_x(power);
        log += 1;
    }
    out
}

const fn powers() -> [u8; EXP_LEN] {
    let mut out = [0; EXP_LEN];
    let (mut power, mut log) = (1, 0);
    while log < LOG_ZERO as usize {
        out[log] = power;
        power = times_x(power);
        log += 1;
    }
    out
}

const fn times_x(element: u8) -> u8 {
    let shifted = (element as u16) << 1;
    if shifted > 255 {
        (shifted ^ POLYNOMIAL) as u8
    } else {
        shifted as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Multiplication of polynomials over GF(2), reduced.
    fn by_definition(a: u8, b: u8) -> u8 {
        let mut product = (0..8)
            .filter(|bit| a >> bit & 1 == 1)
            .fold(0u16, |sum, bit| sum ^ u16::from(b) << bit);
        for bit in (8..16).rev() {
            product ^= (product >> bit & 1) * (POLYNOMIAL << (bit - 8));
        }
        product as u8
    }

    #[test]
    fn products_are_those_of_polynomials() {
        for a in 0..=255 {
            for b in 0..=255 {
                assert_eq!(exp(log(a) + log(b)), by_definition(a, b), "{a} {b}");
            }
        }
    }
}
