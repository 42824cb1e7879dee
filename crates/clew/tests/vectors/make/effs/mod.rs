//! Vectors of eFFS.

pub mod bad;
pub mod good;

use crate::case::Case;
use crate::make::flat;

pub fn all() -> Vec<Case> {
    flat([good::all(), bad::all()])
}
