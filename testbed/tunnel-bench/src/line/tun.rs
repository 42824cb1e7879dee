//! TUN devices. The only module with system calls that no library has.
#![expect(
    unsafe_code,
    reason = "no safe library makes TUN devices without a runtime of its own"
)]

use nix::fcntl::{OFlag, open as open_file};
use nix::sys::stat::Mode;
use std::ffi::{c_char, c_int, c_short};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Linux' `struct ifreq` as TUNSETIFF reads it: name, flags, and what is left of its 40 bytes.
#[repr(C)]
struct Request {
    name: [c_char; 16],
    flags: c_short,
    rest: [u8; 22],
}

/// IP packets, not Ethernet's frames; without a header of the device's own.
const IFF_TUN_NO_PI: c_short = 0x1001;

mod ioctl {
    nix::ioctl_readwrite_bad!(
        tun_set_iff,
        nix::request_code_write!(b'T', 202, std::mem::size_of::<std::ffi::c_int>()),
        super::Request
    );
}

/// Makes a device in the network namespace of this thread. Reading and writing its end never waits.
pub fn open(name: &str) -> io::Result<OwnedFd> {
    let flags = OFlag::O_RDWR | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let device = open_file("/dev/net/tun", flags, Mode::empty())?;
    let mut request = Request {
        name: [0; 16],
        flags: IFF_TUN_NO_PI,
        rest: [0; 22],
    };
    // The last byte stays 0.
    for (to, from) in request.name[..15].iter_mut().zip(name.bytes()) {
        *to = from as c_char;
    }
    const { assert!(size_of::<Request>() == 40 && size_of::<c_int>() == 4) };
    // SAFETY: the descriptor is open, and the request is a whole `struct ifreq` that lives during the call and
    // that nobody else has: the kernel reads it and writes it back.
    unsafe { ioctl::tun_set_iff(device.as_raw_fd(), &mut request) }?;
    Ok(device)
}
