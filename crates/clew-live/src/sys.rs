//! System calls that no crate here wraps. The only `unsafe` of this crate.
#![allow(unsafe_code, reason = "a system call without a safe wrapper")]

use nix::libc;
use nix::sys::signal::Signal;
use nix::unistd::setsid;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The lowest priority but the idle class. A thread of that class could hold a lock for long that
/// the data plane waits for.
const LOWEST: i32 = 19;

/// Gives the calling thread the lowest priority. A system that refuses leaves it as it is.
pub(crate) fn lower_priority() {
    // SAFETY: the call takes numbers alone; on Linux 0 names the calling thread.
    let _ = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, LOWEST) };
}

/// Detaches the queue of a TUN from its interface.
pub(crate) fn detach_tun_queue(tun: BorrowedFd<'_>) -> io::Result<()> {
    set_tun_queue(tun, libc::IFF_DETACH_QUEUE)
}

/// Attaches it again. That needs no privilege.
pub(crate) fn attach_tun_queue(tun: BorrowedFd<'_>) -> io::Result<()> {
    set_tun_queue(tun, libc::IFF_ATTACH_QUEUE)
}

fn set_tun_queue(tun: BorrowedFd<'_>, flag: libc::c_int) -> io::Result<()> {
    // SAFETY: all bytes of the structure may be zero: numbers, and a name.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_ifru.ifru_flags = flag as libc::c_short;
    // SAFETY: the descriptor is open as long as it is borrowed. The call reads one `ifreq`, which lives
    // until it returns, and changes no memory of this process.
    let done = unsafe { libc::ioctl(tun.as_raw_fd(), libc::TUNSETQUEUE, &raw const request) };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Takes a descriptor that another program left open for this one, once.
pub(crate) fn inherited(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: the call takes numbers alone, and says whether the descriptor is open.
    let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
    if flags < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call takes numbers alone. The descriptor stays in this process.
    let done = unsafe { libc::fcntl(number, libc::F_SETFD, flags | libc::FD_CLOEXEC) };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is open, and whoever started the program left it to this one. Callers name each number
    // once, and none that the program opened itself.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Opens a process, which then stays the same one, whoever gets its number later.
pub(crate) fn open_process(process: i32) -> io::Result<OwnedFd> {
    // SAFETY: the call takes numbers alone.
    let number = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) };
    match RawFd::try_from(number) {
        // SAFETY: the kernel has just made this descriptor, and nobody else knows of it.
        Ok(number) if number >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(number) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sends a signal to an opened process.
pub(crate) fn signal_process(process: BorrowedFd<'_>, signal: Signal) -> io::Result<()> {
    let (number, signal) = (process.as_raw_fd(), signal as libc::c_int);
    let none = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: without a `siginfo_t` the call takes numbers alone. The descriptor is open as long as it is borrowed.
    let done = unsafe { libc::syscall(libc::SYS_pidfd_send_signal, number, signal, none, 0) };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets a program that will be started begin a session of its own, which has no terminal.
pub(crate) fn begin_session(command: &mut Command) {
    // SAFETY: the closure runs between fork and exec, when only calls may be made that are safe in a
    // signal handler. It makes one, `setsid`, which is; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(|| Ok(setsid().map(drop)?)) };
}

/// What the system says of its clock: whether something keeps it right, and its largest error in
/// microseconds.
pub(crate) fn clock_state() -> io::Result<(bool, u64)> {
    // SAFETY: all bytes of the structure may be zero: it has numbers alone. A `modes` of zero asks and
    // changes nothing.
    let mut state: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the call fills in the structure, which lives until it returns.
    let answer = unsafe { libc::adjtimex(&raw mut state) };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    let is_kept = answer != libc::TIME_ERROR && state.status & libc::STA_UNSYNC == 0;
    Ok((is_kept, u64::try_from(state.maxerror).unwrap_or(u64::MAX)))
}
