//! Vectors of key files, and of the files of a join.

pub mod join;
pub mod keys;
pub mod sealed;
pub mod witness;

use crate::case::Case;
use crate::make::flat;

pub fn all() -> Vec<Case> {
    flat([keys::all(), join::all(), witness::all(), sealed::all()])
}
