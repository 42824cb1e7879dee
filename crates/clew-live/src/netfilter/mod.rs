//! The kernel's packet filter over netlink: a queue that hands packets to a process, and the rule that
//! fills it where `nft` cannot write one.
//!
//! There are crates for queues. Their sockets cannot be waited for together with others, nor be given
//! a larger buffer; and they panic at messages that they do not expect.

mod message;
mod queue;
mod rule;

pub(crate) use queue::{Judged, Queue, dropped};
pub(crate) use rule::{add_queue_rule, try_queue_rule};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send,
    socket,
};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// A netlink socket to the packet filter.
#[derive(Debug)]
pub(crate) struct Netlink(OwnedFd);

impl Netlink {
    pub fn open() -> io::Result<Self> {
        let protocol = SockProtocol::NetlinkNetFilter;
        let flags = SockFlag::SOCK_CLOEXEC;
        let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, protocol)?;
        // The kernel chooses the number.
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        Ok(Self(socket))
    }

    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        send(self.0.as_raw_fd(), bytes, MsgFlags::empty())?;
        Ok(())
    }

    /// Receives without waiting. Returns `None` if nothing is there.
    pub fn receive<'a>(&self, room: &'a mut [u8]) -> io::Result<Option<&'a [u8]>> {
        match recv(self.0.as_raw_fd(), room, MsgFlags::MSG_DONTWAIT) {
            Ok(length) => Ok(Some(&room[..length.min(room.len())])),
            Err(Errno::EAGAIN) => Ok(None),
            Err(other) => Err(other.into()),
        }
    }

    /// Receives answers until there are no more. The kernel answers before `send` returns.
    ///
    /// # Errors
    /// The first that refuses something.
    pub fn answers(&self) -> io::Result<()> {
        let mut room = [0; 8_192];
        while let Some(answers) = self.receive(&mut room)? {
            for answer in message::each(answers) {
                answer.refusal()?;
            }
        }
        Ok(())
    }
}

impl AsFd for Netlink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
