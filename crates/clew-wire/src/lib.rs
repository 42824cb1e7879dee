//! Small tools that several formats share: [`Reader`] and [`Hex`] for bytes, [`Name`], [`reasons!`] for the
//! rules of a specification, [`Instant`] and [`WallTime`], [`disclose`] for values computed from secrets,
//! [`opaque!`] for types that are not printed, and [`visible`] for texts of strangers.
//!
//! Reads no clock, no file and no randomness.
#![no_std]

extern crate alloc;
#[cfg(test)]
#[macro_use]
extern crate std;

pub mod disclose;
mod hex;
mod name;
mod opaque;
mod reader;
mod reasons;
mod time;
mod visible;

pub use hex::{Hex, unhex};
pub use name::{BadName, MAX_NAME_BYTES, Name};
pub use reader::Reader;
pub use time::{Instant, WallTime, nanos};
pub use visible::{code_point, visible, visible_word};
