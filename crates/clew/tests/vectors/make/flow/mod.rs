//! Vectors of flow signatures: carriage, blocks, evidence, manifests.

pub mod bad;
pub mod carriage;
pub mod effs;
pub mod evidence;
pub mod manifest;
pub mod signature;

use crate::case::Case;
use crate::make::flat;

pub fn all() -> Vec<Case> {
    flat([carriage::all(), signature::all(), bad::all(), effs::all(), evidence::all(), manifest::all()])
}
