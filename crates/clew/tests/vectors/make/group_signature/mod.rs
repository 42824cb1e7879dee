//! Vectors of group signatures, and of the quorum that opens them.

pub mod bbs04_bad;
pub mod bbs04_keys;
pub mod bbs04_signatures;
pub mod dkg;
pub mod matching;
pub mod quorum;
pub mod xr_join;
pub mod xr_keys;
pub mod xr_signatures;
pub mod xr_steps;
pub mod xr_verify;

use crate::case::Case;
use crate::make::flat;

pub fn all() -> Vec<Case> {
    flat([
        xr_keys::all(),
        xr_join::all(),
        xr_signatures::all(),
        xr_verify::all(),
        xr_steps::all(),
        bbs04_keys::all(),
        bbs04_signatures::all(),
        bbs04_bad::all(),
        quorum::all(),
        dkg::all(),
        matching::all(),
    ])
}
