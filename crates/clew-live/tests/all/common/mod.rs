//! What the tests share.
#![allow(dead_code, reason = "each test uses its part")]
pub mod group;
pub mod packets;
pub mod sim;
