//! A trustee's files: the ledger of what it was asked, and the states of matches under way.

pub mod ledger;
pub mod match_state;

/// Bytes in hexadecimal, lower case.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
