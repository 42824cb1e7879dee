//! A tap: all packets that pass an interface, as they are on the wire.

mod frames;
mod privileges;
mod split;
mod sys;

use crate::failure::Failure;
pub use frames::NotOnWire;
use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockProtocol, SockType, getsockopt, setsockopt, socket, sockopt,
};
pub use privileges::give_up as give_up_privileges;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;
use sys::Interface;

/// `LINKTYPE_` numbers of taps.
const ETHERNET: u16 = 1;
const RAW_IP: u16 = 101;

/// Kinds of interfaces without a header in front of IP: TUN, raw IP, IP in IP, IPv6, SIT.
const BARE: [u16; 5] = [libc::ARPHRD_NONE, 519, 768, 769, 776];

/// Size of the kernel's buffer unless another is asked for: a burst of some thousand packets.
pub const BUFFER: usize = 16 << 20;

/// How a tap is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// The interface.
    pub interface: String,
    /// Whether to receive what is addressed to other hosts.
    pub promiscuous: bool,
    /// Size of the kernel's buffer in bytes, if [`BUFFER`] is not right.
    pub buffer: Option<usize>,
}

/// A packet as it was on the wire.
#[derive(Debug)]
pub struct Seen<'a> {
    /// `LINKTYPE_` number.
    pub link: u16,
    /// The frame.
    pub bytes: &'a [u8],
    /// When the kernel saw it, in nanoseconds since 1970.
    pub time_ns: Option<u64>,
}

/// An open tap.
pub struct Tap {
    socket: OwnedFd,
    options: Options,
    bound: Interface,
    link: u16,
    buffers: sys::Buffers,
    frame: Vec<u8>,
    split: u64,
}

impl Tap {
    /// Opens a tap. Needs the capability `CAP_NET_RAW`, and nothing needs it later.
    ///
    /// # Errors
    /// The interface is missing or of a kind that clew does not know; the privilege is missing.
    pub fn open(options: &Options) -> Result<Self, Failure> {
        let name = &options.interface;
        let (flags, all) = (SockFlag::SOCK_CLOEXEC, SockProtocol::EthAll);
        let socket = socket(AddressFamily::Packet, SockType::Raw, flags, all)
            .map_err(|error| refused(name, error))?;
        let found = sys::interface(socket.as_fd(), name).map_err(|error| missing(name, &error))?;
        let link = link(name, found.kind)?;
        let failed = |error: io::Error| Failure::new(format!("{name}: cannot open a tap: {error}"));
        sys::set(socket.as_fd(), &sys::VirtioHeaders(1)).map_err(failed)?;
        sys::set(socket.as_fd(), &sys::Auxiliary(1)).map_err(failed)?;
        let timed = setsockopt(&socket, sockopt::ReceiveTimestampns, &true);
        timed.map_err(|error| failed(error.into()))?;
        enlarge(&socket, options.buffer);
        let tap = Self {
            socket,
            options: options.clone(),
            bound: found,
            link,
            buffers: sys::Buffers::new(),
            frame: Vec::new(),
            split: 0,
        };
        tap.bind().map_err(failed)?;
        Ok(tap)
    }

    /// Returns the `LINKTYPE_` number of its frames.
    pub const fn link(&self) -> u16 {
        self.link
    }

    /// Waits for packets, and hands over those that have come.
    ///
    /// # Errors
    /// [`is_down`] tells those that end when the interface is there again. Others do not end.
    pub fn receive(
        &mut self,
        patience: Duration,
        mut each: impl FnMut(Result<Seen<'_>, NotOnWire>),
    ) -> io::Result<()> {
        let mut waits = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
        let patience = PollTimeout::try_from(patience).unwrap_or(PollTimeout::MAX);
        match poll(&mut waits, patience) {
            Ok(0) | Err(Errno::EINTR) => return Ok(()),
            other => other?,
        };
        let (link, frame, bound) = (self.link, &mut self.frame, self.bound.index);
        let split = &mut self.split;
        // Each packet passes the loopback interface twice.
        let is_loopback = self.bound.kind == libc::ARPHRD_LOOPBACK;
        let received = self.buffers.receive(&self.socket, |datagram| {
            // Until it is bound, a socket receives from all interfaces.
            let is_elsewhere = datagram.interface != bound;
            if is_elsewhere || is_loopback && datagram.direction == libc::PACKET_OUTGOING {
                return;
            }
            let time_ns = datagram.time_ns;
            let seen = frames::on_wire(&datagram, link, frame, |bytes| {
                each(Ok(Seen {
                    link,
                    bytes,
                    time_ns,
                }));
            });
            match seen {
                Ok(was_joined) => *split += u64::from(was_joined),
                Err(why) => each(Err(why)),
            }
        });
        match received {
            Err(error) if is_transient(&error) => Ok(()),
            // One super-packet of a kind that a virtio header has no word for: SCTP, or UDP in fragments.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                each(Err(NotOnWire::Joined));
                Ok(())
            }
            other => other.map(drop),
        }
    }

    /// Returns how many packets the kernel dropped for want of room since the last call.
    pub fn drops(&self) -> u64 {
        sys::drops(self.socket.as_fd()).map_or(0, u64::from)
    }

    /// Returns how many super-packets were cut so far.
    pub const fn split(&self) -> u64 {
        self.split
    }

    /// Binds the tap again if the interface is there and up, and returns whether it is. An interface
    /// that was made anew under the same name counts.
    ///
    /// # Errors
    /// It is of another kind now.
    pub fn is_back(&mut self) -> Result<bool, Failure> {
        let name = &self.options.interface;
        let found = sys::interface(self.socket.as_fd(), name);
        let Some(found) = found.ok().filter(|found| found.is_up) else {
            return Ok(false);
        };
        if found.index == self.bound.index {
            return Ok(true); // the kernel hooks the socket up again by itself
        }
        self.link = link(name, found.kind)?;
        self.bound = found;
        // It may have gone again meanwhile.
        Ok(self.bind().is_ok())
    }

    fn bind(&self) -> io::Result<()> {
        sys::bind(self.socket.as_fd(), &self.bound)?;
        if self.options.promiscuous {
            let promiscuous = sys::Promiscuous::on(self.bound.index);
            sys::set(self.socket.as_fd(), &promiscuous)?;
        }
        Ok(())
    }
}

/// Whether the interface is down or away.
pub fn is_down(error: &io::Error) -> bool {
    let code = error.raw_os_error().map(Errno::from_raw);
    matches!(code, Some(Errno::ENETDOWN | Errno::ENODEV | Errno::ENXIO))
}

fn is_transient(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, WouldBlock};
    matches!(error.kind(), WouldBlock | Interrupted)
}

fn refused(name: &str, error: Errno) -> Failure {
    match error {
        Errno::EPERM | Errno::EACCES => Failure::new(format!(
            "{name}: a tap needs the privilege CAP_NET_RAW"
        ))
        .hint("run it as root (the privilege is given up once the tap is open), or sudo setcap cap_net_raw+ep clew"),
        other => Failure::new(format!("{name}: cannot open a tap: {other}")),
    }
}

fn missing(name: &str, error: &io::Error) -> Failure {
    match is_down(error) {
        true => Failure::new(format!("{name}: interface does not exist")).hint("ip link"),
        false => Failure::new(format!("{name}: cannot look at the interface: {error}")),
    }
}

fn link(name: &str, kind: u16) -> Result<u16, Failure> {
    match kind {
        libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => Ok(ETHERNET),
        bare if BARE.contains(&bare) => Ok(RAW_IP),
        other => Err(Failure::new(format!(
            "{name}: unsupported kind of interface (ARPHRD {other})"
        ))
        .hint("use an Ethernet, loopback or TUN interface")),
    }
}

/// Makes the kernel's buffer larger, beyond the system's limit if this process may. Says so if it cannot
/// be as large as was asked for.
fn enlarge(socket: &OwnedFd, asked: Option<usize>) {
    let bytes = asked.unwrap_or(BUFFER);
    let forced = setsockopt(socket, sockopt::RcvBufForce, &bytes);
    if forced.is_err() {
        let _ = setsockopt(socket, sockopt::RcvBuf, &bytes);
    }
    // The kernel says twice of what it was told.
    let got = getsockopt(socket, sockopt::RcvBuf).map_or(0, |doubled| doubled / 2);
    if asked.is_some() && got < bytes {
        mention!(
            "clew: warning: the system limits the buffer to {got} bytes: sysctl net.core.rmem_max"
        );
    }
}
