//! The rules of entries.

use core::fmt;

/// Why an entry is not one of this log, in the order of `spec/log.md` section 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A field does not decode, or something is left over.
    Layout,
    /// The author's signature does not hold.
    Signature,
    /// It is another group's.
    Group,
    /// The author may not write such entries.
    Author,
    /// The author's clock and the log's differ by more than an hour.
    Time,
    /// Its place is not here: it skips numbers, or is about a request that the log does not have.
    Order,
    /// The log has another entry about the same epoch, rows or request.
    Fork,
    /// The warrant is not the one of the hash.
    Warrant,
    /// A seal ends too late, or has not ended.
    Seal,
}

impl Rule {
    /// All rules, in their order.
    pub const ALL: [Self; 9] = [
        Self::Layout,
        Self::Signature,
        Self::Group,
        Self::Author,
        Self::Time,
        Self::Order,
        Self::Fork,
        Self::Warrant,
        Self::Seal,
    ];

    /// Returns the rule's name in the specification.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Layout => "layout",
            Self::Signature => "signature",
            Self::Group => "group",
            Self::Author => "author",
            Self::Time => "time",
            Self::Order => "order",
            Self::Fork => "fork",
            Self::Warrant => "warrant",
            Self::Seal => "seal",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Layout => "not an entry of a log",
            Self::Signature => "the author's signature does not hold",
            Self::Group => "the entry is another group's",
            Self::Author => "the author may not write such entries",
            Self::Time => "the author's clock and the log's differ by more than 1 hour",
            Self::Order => "the entry cannot come here: something before it is missing",
            Self::Fork => "the log has another entry about the same epoch, rows or request",
            Self::Warrant => "the warrant is not the one of the request",
            Self::Seal => "a seal ends after its time, at most 366 days after the log's time",
        })
    }
}

impl core::error::Error for Rule {}
