//! Hears when somebody changes links, addresses, settings, rules, routes or the filter.

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Groups of rtnetlink, as bits: links; addresses, routes and rules of both families; settings of IPv4, as the
/// reverse path filter.
const ROUTING: u32 = 1 | 1 << 4 | 1 << 8 | 1 << 6 | 1 << 10 | 1 << 7 | 1 << 18 | 1 << 23;

/// The group of nfnetlink for nftables, as a bit.
const FILTER: u32 = 1 << 6;

/// Most messages that are read at once. More are read the next time.
const MESSAGES_MAX: usize = 4_096;

/// What the kernel tells of changes.
#[derive(Debug)]
pub struct Changes {
    sockets: [OwnedFd; 2],
}

impl Changes {
    /// Begins to listen.
    ///
    /// # Errors
    /// The system refuses.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            sockets: [
                open(SockProtocol::NetlinkRoute, ROUTING)?,
                open(SockProtocol::NetlinkNetFilter, FILTER)?,
            ],
        })
    }

    /// Returns the descriptors to wait for.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.sockets.iter().map(AsFd::as_fd)
    }

    /// Returns whether anything changed since the last call.
    pub fn any(&self) -> bool {
        let drained = self.sockets.each_ref().map(drain);
        drained.contains(&true)
    }
}

fn open(protocol: SockProtocol, groups: u32) -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, protocol)?;
    bind(socket.as_raw_fd(), &NetlinkAddr::new(0, groups))?;
    Ok(socket)
}

fn drain(socket: &OwnedFd) -> bool {
    let mut room = [0; 8_192];
    let mut any = false;
    for _ in 0..MESSAGES_MAX {
        match recv(socket.as_raw_fd(), &mut room, MsgFlags::MSG_DONTWAIT) {
            // Lost messages are changes, too.
            Ok(_) | Err(Errno::ENOBUFS) => any = true,
            Err(Errno::EINTR) => {}
            Err(_) => break,
        }
    }
    any
}
