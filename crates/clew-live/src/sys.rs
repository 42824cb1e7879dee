//! System calls that no crate here wraps. The only `unsafe` of this crate.
#![allow(unsafe_code, reason = "a system call without a safe wrapper")]

use nix::libc;

/// The lowest priority but the idle class. A thread of that class could hold a lock for long that
/// the data plane waits for.
const LOWEST: i32 = 19;

/// Gives the calling thread the lowest priority. A system that refuses leaves it as it is.
pub(crate) fn lower_priority() {
    // SAFETY: the call takes numbers alone; on Linux 0 names the calling thread.
    let _ = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, LOWEST) };
}
