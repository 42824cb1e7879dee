//! The receiver's side of cookies: `spec/carriers.md` 5.

use crate::packet::Moment;
use clew_wire::Instant;
use std::net::{IpAddr, SocketAddr};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Length of a cookie.
pub const COOKIE_BYTES: usize = 16;

/// How long a cookie is that of the current period.
const PERIOD_S: u64 = 120;

/// Makes cookies and checks them.
pub(crate) struct CookieJar {
    secret: Zeroizing<[u8; 32]>,
    start: Instant,
}

clew_wire::opaque!(CookieJar);

impl CookieJar {
    /// Returns a jar with a secret of 32 random bytes.
    pub fn new(secret: [u8; 32], start: Moment) -> Self {
        Self {
            secret: Zeroizing::new(secret),
            start: start.instant,
        }
    }

    /// Returns the cookie of a source.
    pub fn cookie(&self, source: SocketAddr, now: Instant) -> [u8; COOKIE_BYTES] {
        self.of_period(source, self.period(now))
    }

    /// Returns whether a source got that cookie in this period or the one before.
    pub fn is_good(&self, cookie: &[u8; COOKIE_BYTES], source: SocketAddr, now: Instant) -> bool {
        let period = self.period(now);
        let current = self.of_period(source, period).ct_eq(cookie);
        let previous = match period.checked_sub(1) {
            Some(previous) => self.of_period(source, previous).ct_eq(cookie),
            None => 0.into(),
        };
        (current | previous).into()
    }

    fn period(&self, now: Instant) -> u64 {
        (now - self.start).as_secs() / PERIOD_S
    }

    fn of_period(&self, source: SocketAddr, period: u64) -> [u8; COOKIE_BYTES] {
        let address = match source.ip() {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        let mut hasher = blake3::Hasher::new_keyed(&self.secret);
        hasher.update(&period.to_be_bytes());
        hasher.update(&address.octets());
        hasher.update(&source.port().to_be_bytes());
        let mut cookie = [0; COOKIE_BYTES];
        cookie.copy_from_slice(&hasher.finalize().as_bytes()[..COOKIE_BYTES]);
        cookie
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clew_packet::Timestamp;

    fn at(seconds: u64) -> Moment {
        Moment {
            instant: Instant::from_nanos(seconds * 1_000_000_000),
            wall: Timestamp(0),
        }
    }

    #[test]
    fn a_cookie_is_good_for_its_address_port_and_two_periods() {
        let jar = CookieJar::new([7; 32], at(50));
        let source: SocketAddr = "192.0.2.1:4909".parse().unwrap();
        let cookie = jar.cookie(source, at(60).instant);
        let is_good = |source: &str, seconds| {
            jar.is_good(&cookie, source.parse().unwrap(), at(seconds).instant)
        };
        assert!(is_good("192.0.2.1:4909", 60) && is_good("192.0.2.1:4909", 50 + 239));
        assert!(
            is_good("[::ffff:192.0.2.1]:4909", 60),
            "one address in two forms"
        );
        assert!(!is_good("192.0.2.1:4909", 50 + 240));
        assert!(!is_good("192.0.2.2:4909", 60) && !is_good("192.0.2.1:4910", 60));
        let other = CookieJar::new([8; 32], at(50));
        assert!(!other.is_good(&cookie, source, at(60).instant));
    }
}
