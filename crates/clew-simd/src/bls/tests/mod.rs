//! Against blst and against integers.
#![allow(unsafe_code, reason = "blst is an oracle")]

mod field;
mod group;
mod oracle;
mod pairing;

use super::Ifma;

/// Calls `test` with the kernel, on machines that have it.
fn with_kernel(test: impl FnOnce(Ifma)) {
    if let Some(kernel) = Ifma::new() {
        test(kernel);
    }
}
