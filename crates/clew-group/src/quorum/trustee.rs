//! Trustees by index, how many there are, and sets of them.

use super::QuorumError;
use crate::DecodeError;
use crate::curve::Scalar;
use alloc::vec::Vec;
use core::fmt;

/// The most trustees that a quorum has.
const TRUSTEES_MAX: u8 = 32;

/// A trustee by its index, 1 to 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Trustee(u8);

impl Trustee {
    /// Returns the trustee with that index; zero and what is above 32 is [`QuorumError::Index`].
    pub const fn new(index: u8) -> Result<Self, QuorumError> {
        if index == 0 || index > TRUSTEES_MAX {
            Err(QuorumError::Index { index })
        } else {
            Ok(Self(index))
        }
    }

    /// Returns its index.
    pub const fn index(self) -> u8 {
        self.0
    }

    pub(super) fn scalar(self) -> Scalar {
        Scalar::from_u128(self.0.into())
    }
}

impl fmt::Display for Trustee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "trustee {}", self.0)
    }
}

/// t of n: 1 <= t <= n <= 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quorum {
    threshold: u8,
    trustees: u8,
}

impl Quorum {
    /// Returns `threshold` of `trustees`; [`QuorumError::Quorum`] if there is no such quorum.
    pub const fn new(threshold: u8, trustees: u8) -> Result<Self, QuorumError> {
        if threshold == 0 || threshold > trustees || trustees > TRUSTEES_MAX {
            Err(QuorumError::Quorum {
                threshold,
                trustees,
            })
        } else {
            Ok(Self {
                threshold,
                trustees,
            })
        }
    }

    /// Returns t, the number of trustees who open.
    pub const fn threshold(self) -> u8 {
        self.threshold
    }

    /// Returns n, the number of trustees.
    pub const fn trustees(self) -> u8 {
        self.trustees
    }

    /// Returns all n trustees.
    pub const fn all(self) -> Set {
        Set(u32::MAX >> (TRUSTEES_MAX - self.trustees))
    }

    /// Returns [`QuorumError::Index`] if `trustee` is above n.
    pub fn check(self, trustee: Trustee) -> Result<(), QuorumError> {
        self.all().check_contains(trustee)
    }
}

/// A set of trustees: bit i-1 for trustee i.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Set(u32);

impl Set {
    /// Returns the set of those trustees; [`QuorumError::Repeated`] if one comes twice.
    pub fn of(trustees: impl IntoIterator<Item = Trustee>) -> Result<Self, QuorumError> {
        let mut set = Self(0);
        for trustee in trustees {
            if set.contains(trustee) {
                return Err(QuorumError::Repeated { trustee });
            }
            set.0 |= bit(trustee);
        }
        Ok(set)
    }

    /// Decodes 4 bytes, big-endian (`spec/opening.md` section 3); any set, see [`Self::check`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let bytes = bytes.try_into().map_err(|_| DecodeError::Length)?;
        Ok(Self(u32::from_be_bytes(bytes)))
    }

    /// Encodes as 4 bytes.
    pub const fn to_bytes(self) -> [u8; 4] {
        self.0.to_be_bytes()
    }

    /// Checks that nobody is above n and that there are at least t.
    pub fn check(self, quorum: Quorum) -> Result<(), QuorumError> {
        self.iter().try_for_each(|trustee| quorum.check(trustee))?;
        let (given, needed) = (self.count(), quorum.threshold);
        if given < needed {
            return Err(QuorumError::TooFew { given, needed });
        }
        Ok(())
    }

    /// Returns the number of trustees in the set.
    pub const fn count(self) -> u8 {
        self.0.count_ones() as u8
    }

    /// Returns whether `trustee` is one of them.
    pub const fn contains(self, trustee: Trustee) -> bool {
        self.0 & bit(trustee) != 0
    }

    /// Returns [`QuorumError::Index`] if `trustee` is not in the set.
    pub fn check_contains(self, trustee: Trustee) -> Result<(), QuorumError> {
        let index = trustee.index();
        let contained = self.contains(trustee);
        contained.then_some(()).ok_or(QuorumError::Index { index })
    }

    /// Returns the trustees, by ascending index.
    pub fn iter(self) -> impl Iterator<Item = Trustee> {
        (1..=TRUSTEES_MAX)
            .map(Trustee)
            .filter(move |trustee| self.contains(*trustee))
    }

    /// Brings what each of the set gave into the order of indices. Whoever is not of the set, comes
    /// twice or is missing is named.
    pub fn gather<T>(
        self,
        given: impl IntoIterator<Item = (Trustee, T)>,
    ) -> Result<Vec<T>, QuorumError> {
        let mut given: Vec<(Trustee, T)> = given.into_iter().collect();
        given.sort_by_key(|(trustee, _)| *trustee);
        let trustees = || given.iter().map(|(trustee, _)| *trustee);
        let seen = Self::of(trustees())?;
        trustees().try_for_each(|trustee| self.check_contains(trustee))?;
        match self.iter().find(|trustee| !seen.contains(*trustee)) {
            Some(trustee) => Err(QuorumError::Missing { trustee }),
            None => Ok(given.into_iter().map(|(_, value)| value).collect()),
        }
    }

    /// Returns lambda_i: the Lagrange coefficient at 0 of index i within this set, the product of
    /// j/(j-i) over the others.
    pub fn lagrange_at_zero(self, trustee: Trustee) -> Scalar {
        let i = trustee.scalar();
        let one = Scalar::from_u128(1);
        let others = self.iter().filter(|other| *other != trustee);
        let (above, below) = others
            .map(Trustee::scalar)
            .fold((one, one), |(a, b), j| (a * j, b * (j - i)));
        above * below.invert().expect("indices differ")
    }
}

const fn bit(trustee: Trustee) -> u32 {
    1 << (trustee.0 - 1)
}

/// [`QuorumError::Count`] unless there is one value for each of the set.
pub(super) fn check_count<T>(set: Set, values: &[T]) -> Result<(), QuorumError> {
    let (given, needed) = (values.len(), usize::from(set.count()));
    if given == needed {
        Ok(())
    } else {
        Err(QuorumError::Count { given, needed })
    }
}
