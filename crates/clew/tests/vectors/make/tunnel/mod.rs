//! Vectors of tunnels: bytes, and runs of whole engines.

pub mod answers;
pub mod bytes;
pub mod node;
pub mod puzzle;
pub mod record;
pub mod rekey;
pub mod run;
pub mod script;
pub mod sequence;
pub mod trace;
#[allow(dead_code, reason = "each test program uses its part")]
#[path = "../../../../../clew-tunnel/tests/all/engine/rogue.rs"]
#[rustfmt::skip]
pub mod rogue;

use crate::case::Case;
use crate::make::flat;

pub fn all() -> Vec<Case> {
    flat([bytes::all(), record::all(), trace::all(), rekey::all(), puzzle::all(), sequence::all(), answers::all()])
}
