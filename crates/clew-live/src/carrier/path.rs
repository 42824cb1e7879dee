//! The path MTU to one end point: lowered by errors of the network, raised again after a while.

use clew_wire::Instant;

/// The smallest path MTU that an error can claim: what IPv4 hosts have to take.
pub const PATH_MTU_LEAST: u16 = 576;

/// How long an error counts (RFC 1191 section 6.3).
const LOWERED: u64 = 600 * 1_000_000_000;

/// The path MTU to one end point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathMtu {
    most: u16,
    lowered: Option<(u16, Instant)>,
}

impl PathMtu {
    /// Begins with the largest that is tried.
    pub const fn new(most: u16) -> Self {
        Self {
            most,
            lowered: None,
        }
    }

    /// Takes over what errors said of the same path to an earlier configuration.
    pub const fn keep_lowered(&mut self, earlier: &Self) {
        self.lowered = earlier.lowered;
    }

    /// Takes an error that says so. Returns whether the path MTU changed.
    pub fn lower(&mut self, to: u32, now: Instant) -> bool {
        let to = u16::try_from(to).unwrap_or(u16::MAX).max(PATH_MTU_LEAST);
        let is_lower = to < self.at(now);
        if is_lower {
            self.lowered = Some((to, now));
        }
        is_lower
    }

    /// Returns the path MTU.
    pub fn at(&self, now: Instant) -> u16 {
        match self.lowered {
            Some((to, since)) if now.as_nanos().saturating_sub(since.as_nanos()) < LOWERED => {
                to.min(self.most)
            }
            _ => self.most,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * SECOND)
    }

    #[test]
    fn errors_lower_it_for_ten_minutes() {
        let mut path = PathMtu::new(1500);
        assert!(path.lower(1400, at(1)));
        assert_eq!(path.at(at(1)), 1400);
        assert!(!path.lower(1450, at(2)), "an older error does not raise it");
        assert!(path.lower(1300, at(3)));
        assert_eq!(path.at(at(602)), 1300);
        assert_eq!(path.at(at(603)), 1500);
        assert!(path.lower(1450, at(604)));
    }

    #[test]
    fn no_error_lowers_it_without_end() {
        let mut path = PathMtu::new(1500);
        assert!(path.lower(0, at(1)));
        assert_eq!(path.at(at(1)), PATH_MTU_LEAST);
        assert!(!path.lower(u32::MAX, at(1)));
    }
}
