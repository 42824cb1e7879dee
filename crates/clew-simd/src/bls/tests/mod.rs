//! Against blst and against integers.
#![allow(unsafe_code, reason = "blst is an oracle")]

mod field;
mod group;
mod oracle;
mod pairing;

use super::Ifma;

/// Calls `test` with the kernel, unless the machine has none.
fn with_kernel(test: impl FnOnce(Ifma)) {
    match Ifma::new() {
        Some(kernel) => test(kernel),
        None => std::println!("SKIPPED: this machine has no AVX-512 IFMA"),
    }
}
