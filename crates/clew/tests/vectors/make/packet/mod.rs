//! Vectors of packets.

pub mod bad;
pub mod coded;
pub mod frames;
pub mod good;
pub mod modes;
pub mod xr;

use crate::case::Case;
use crate::make::flat;

pub fn all() -> Vec<Case> {
    flat([good::all(), xr::all(), modes::all(), coded::all(), bad::all()])
}
