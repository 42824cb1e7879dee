//! The answers that are not "yes".

use core::fmt;

/// Verification said no. It has no fields on purpose: why a signature failed is nobody's business
/// but the caller's counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid;

impl Invalid {
    /// The answer of a check that holds or not.
    pub(crate) fn unless(holds: bool) -> Result<(), Self> {
        holds.then_some(()).ok_or(Self)
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the signature is not valid")
    }
}

impl core::error::Error for Invalid {}

/// This member is the one that was revoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revoked;

impl fmt::Display for Revoked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this member was revoked")
    }
}

impl core::error::Error for Revoked {}

/// The rule of the encoding that some bytes broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The input does not have the length of the value.
    Length,
    /// The bytes are not the compressed form of a point on the curve.
    Point,
    /// The point is on the curve but outside the subgroup of prime order.
    Subgroup,
    /// The point is the identity where none is allowed.
    Identity,
    /// The scalar is not below its bound.
    Scalar,
}

impl DecodeError {
    /// Returns the rule's name in `spec/group-signature.md` section 2.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Point => "point",
            Self::Subgroup => "subgroup",
            Self::Identity => "identity",
            Self::Scalar => "scalar",
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Length => "wrong length",
            Self::Point => "not a point on the curve",
            Self::Subgroup => "a point outside the prime-order subgroup",
            Self::Identity => "the identity point",
            Self::Scalar => "a scalar that is not reduced",
        })
    }
}

impl core::error::Error for DecodeError {}
