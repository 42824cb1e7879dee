//! Group signatures.
#![no_std]
