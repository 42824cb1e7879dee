//! The operating system's randomness. Every secret comes from here afresh, so that a forked process
//! or a restored virtual machine never repeats one.

use getrandom::SysRng;
use rand_core::UnwrapErr;

/// The generator that the pure crates are given. It panics if the system has no randomness to
/// give, which no sound program can go on without.
pub fn os() -> UnwrapErr<SysRng> {
    UnwrapErr(SysRng)
}
