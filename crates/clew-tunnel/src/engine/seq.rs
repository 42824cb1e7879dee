//! Places in the sequence of a tunnel: `spec/tunnel.md` section 7.1.

/// How many there are: 1 to 2^32 - 1.
const ALL: u64 = u32::MAX as u64;

/// A place in the sequence, from 1 to 2^32 - 1; after the last comes the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Seq(u32);

impl Seq {
    /// None for 0, which stands for no place.
    pub(super) fn new(number: u32) -> Option<Self> {
        (number != 0).then_some(Self(number))
    }

    /// A start, 256 r, r from 1 to 2^23 - 1 by random bits; that 0 gives 1 makes one r twice as likely.
    pub(super) const fn start(random: u32) -> Self {
        let r = random >> 9;
        Self(if r == 0 { 1 } else { r } << 8)
    }

    /// The start of the sequence of which this is the first that is seen. 0 cannot come out for what was
    /// sent by the rules; 1 stands for it.
    pub(crate) const fn start_of_first(self) -> Self {
        let start = self.0 & !0xff;
        Self(if start == 0 { 1 } else { start })
    }

    /// Its number.
    pub(super) const fn get(self) -> u32 {
        self.0
    }

    /// The one `n` places later.
    #[must_use]
    pub(super) const fn plus(self, n: u32) -> Self {
        Self(((self.0 as u64 - 1 + n as u64) % ALL) as u32 + 1)
    }

    /// The one before.
    #[must_use]
    pub(super) const fn before(self) -> Self {
        self.plus(u32::MAX - 1)
    }

    /// How many places later `other` is.
    pub(super) const fn until(self, other: Self) -> u32 {
        ((other.0 as u64 + ALL - self.0 as u64) % ALL) as u32
    }

    /// Whether it is before `other`.
    pub(crate) const fn is_before(self, other: Self) -> bool {
        let distance = self.until(other);
        0 < distance && distance < 1 << 31
    }
}
