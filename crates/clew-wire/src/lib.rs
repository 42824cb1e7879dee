//! Small tools that several formats share.
#![no_std]

pub mod disclose;
