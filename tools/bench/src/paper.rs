//! What can be read of Clue's evaluation: M. Afanasyev and others, *Privacy-Preserving Network
//! Forensics*, Communications of the ACM 54(5), 2011.
//!
//! Its one table ("Overheads of cryptographic operations for both one- and eight-packet windows") is a
//! picture in our copies; but for its last row, the figures are those that its text repeats.

use crate::report::Source;

pub const CLUE: Source = Source {
    name: "Clue",
    caveat: "2011 hardware, pairing curve of the class of 1024-bit RSA; clew's is of the class of \
             3072-bit RSA",
};

/// Verifying one packet, in microseconds: "the 29ms required for the Verify operation".
pub const VERIFY: f64 = 29_000.0;

/// The table's last row, for one packet and for eight.
pub const CORRUPTED_INCREMENTAL: [f64; 2] = [4850.0, 4830.0];
