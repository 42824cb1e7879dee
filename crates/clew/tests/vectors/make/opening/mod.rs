//! Vectors of openings, matches, their shares, and register files.

pub mod bad;
pub mod good;
pub mod matches;
pub mod register;
pub mod share;

use crate::case::Case;
use crate::make::flat;

pub fn all() -> Vec<Case> {
    flat([share::all(), good::all(), bad::all(), matches::all(), register::all()])
}
