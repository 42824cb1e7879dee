//! Flow signatures in the program.

pub mod ed25519;
