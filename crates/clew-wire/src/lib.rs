//! Small tools that several formats share: [`Reader`] and [`Hex`] for bytes, [`reasons!`] for the
//! rules of a specification, [`Instant`] and [`WallTime`], [`disclose`] for values computed from secrets and
//! [`opaque!`] for types that are not printed.
//!
//! Reads no clock, no file and no randomness.
#![no_std]

pub mod disclose;
mod hex;
mod opaque;
mod reader;
mod reasons;
mod time;

pub use hex::Hex;
pub use reader::Reader;
pub use time::{Instant, WallTime, nanos};
