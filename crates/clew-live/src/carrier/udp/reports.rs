//! What the network says of datagrams that left, which the next call on their socket fails for.

use nix::libc;
use std::io;

/// How often a call is made that fails for what the network said. Each tells one error at most: only who is
/// flooded with them meets more than one in a row.
const CALLS_MAX: usize = 8;

/// Calls again while the network said something of earlier datagrams: the first call after that tells it, and
/// does nothing else.
pub(super) fn past_reports<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut result = call();
    for _ in 1..CALLS_MAX {
        match &result {
            Err(error) if is_reported(error) => result = call(),
            _ => break,
        }
    }
    result
}

/// Whether a call may have failed for what somebody in the network said. That is all but what the call itself
/// or a full buffer causes: a router's answer has one of many codes, and anybody can write one.
pub(super) fn is_reported(error: &io::Error) -> bool {
    let own = [
        libc::EAGAIN,
        libc::EINTR,
        libc::ENOBUFS,
        libc::ENOMEM,
        // A filter of this host; no router's answer has it.
        libc::EPERM,
        libc::EADDRNOTAVAIL,
        libc::EINVAL,
        libc::EIO,
        libc::EFAULT,
        libc::EBADF,
        libc::ENOTSOCK,
    ];
    error
        .raw_os_error()
        .is_some_and(|code| !own.contains(&code))
}

/// Whether the next call may succeed.
pub(super) fn is_passing(error: &io::Error) -> bool {
    let codes = [libc::EINTR, libc::ENOBUFS, libc::ENOMEM];
    error
        .raw_os_error()
        .is_some_and(|code| codes.contains(&code))
}
