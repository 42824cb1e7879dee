//! Raw sockets of the carrier `trailer`: whole IP packets out; in come copies of those that the kernel's
//! queue brought.

use super::queue::kind;
use super::udp::Refusal;
use crate::packet::Burst;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, recv};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// Bytes of the system's own buffers for packets that leave.
const SYSTEM_BUFFER: usize = 8 << 20;

/// The protocol of packets that bring their own header.
const OWN_HEADER: i32 = nix::libc::IPPROTO_RAW;

/// Most packets that one call brings.
const ARRIVALS_MAX: usize = 64;

/// How long the process of the queue may take to start.
const START: Duration = Duration::from_secs(10);

/// The sockets of the carrier.
pub struct Raw {
    v4: Socket,
    /// A host without IPv6 has none.
    v6: Option<Socket>,
    copies: OwnedFd,
    /// What the queue had dropped when it last said so.
    dropped: Mutex<[u64; 3]>,
    /// When anything came from its process.
    heard: Mutex<Instant>,
}

impl Raw {
    /// Opens the sockets, whose packets have this mark. It needs privileges; to send needs none. Waits
    /// until the queue is there, whose process writes to the other end of `copies`.
    ///
    /// # Errors
    /// The system refuses, or the process of the queue ended.
    pub fn open(mark: u32, copies: OwnedFd) -> io::Result<Self> {
        let v6 = match socket(Domain::IPV6, mark) {
            Ok(socket) => Some(socket),
            Err(error) if error.raw_os_error() == Some(nix::libc::EAFNOSUPPORT) => None,
            Err(other) => return Err(other),
        };
        let raw = Self {
            v4: socket(Domain::IPV4, mark)?,
            v6,
            copies,
            dropped: Mutex::new([0; 3]),
            heard: Mutex::new(Instant::now()),
        };
        wait_for_queue(&raw.copies)?;
        Ok(raw)
    }

    /// Sends the packets of a burst, each to its own destination. Returns how many went, and why the
    /// others did not.
    pub fn send(&self, burst: &Burst) -> (usize, Option<Refusal>) {
        let mut sent = 0;
        for packet in burst.bytes.chunks(burst.segment.max(1)) {
            match self.send_one(packet) {
                Ok(()) => sent += 1,
                Err(error) => return (sent, Some(refusal(&error))),
            }
        }
        (sent, None)
    }

    fn send_one(&self, packet: &[u8]) -> io::Result<()> {
        let to = crate::packet::destination(packet).ok_or(ErrorKind::InvalidInput)?;
        let socket = match to {
            IpAddr::V4(_) => Some(&self.v4),
            IpAddr::V6(_) => self.v6.as_ref(),
        };
        let socket = socket.ok_or(ErrorKind::Unsupported)?;
        let to = SockAddr::from(SocketAddr::new(to, 0));
        socket.send_to(packet, &to).map(drop)
    }

    /// Takes what the queue brought, without waiting. Returns whether there was anything.
    ///
    /// # Errors
    /// The process of the queue ended.
    pub fn receive(&self, room: &mut [u8], take: impl FnMut(&[u8])) -> io::Result<bool> {
        let is_any = self.receive_some(room, take)?;
        if is_any {
            *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        }
        Ok(is_any)
    }

    /// Returns for how long nothing has come from the queue's process, which tells its counts twice a second.
    pub fn silence(&self) -> Duration {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.elapsed()
    }

    fn receive_some(&self, room: &mut [u8], mut take: impl FnMut(&[u8])) -> io::Result<bool> {
        for number in 0..ARRIVALS_MAX {
            let flags = MsgFlags::MSG_DONTWAIT;
            let length = match recv(self.copies.as_raw_fd(), room, flags) {
                Ok(length) => length.min(room.len()),
                Err(Errno::EAGAIN) => return Ok(number > 0),
                Err(Errno::EINTR) => continue,
                Err(other) => return Err(other.into()),
            };
            match room[..length].split_first() {
                Some((&kind::PACKET, packet)) => take(packet),
                Some((&kind::COUNTS, counts)) => self.note(counts),
                Some(_) => {}
                None => return Err(ended()),
            }
        }
        Ok(true)
    }

    fn note(&self, counts: &[u8]) {
        let mut dropped = self.dropped.lock().unwrap_or_else(PoisonError::into_inner);
        for (count, new) in dropped.iter_mut().zip(counts.chunks_exact(8)) {
            *count = new.first_chunk().map_or(0, |new| u64::from_be_bytes(*new));
        }
    }

    /// Returns how many packets were dropped before they came here: in the kernel's queue, in the
    /// buffer of its socket, and on the way to this process.
    pub fn dropped(&self) -> [u64; 3] {
        *self.dropped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what to wait for.
    pub fn arrivals(&self) -> BorrowedFd<'_> {
        self.copies.as_fd()
    }

    /// Returns the sockets that send.
    pub fn senders(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        [&self.v4].into_iter().chain(&self.v6).map(AsFd::as_fd)
    }
}

/// Waits for the first message of the queue's process, and leaves it there: packets may be behind it.
fn wait_for_queue(copies: &OwnedFd) -> io::Result<()> {
    let until = Instant::now() + START;
    loop {
        let wait = until.saturating_duration_since(Instant::now());
        let mut ends = [PollFd::new(copies.as_fd(), PollFlags::POLLIN)];
        let millis = u16::try_from(wait.as_millis()).unwrap_or(u16::MAX);
        match poll(&mut ends, PollTimeout::from(millis)) {
            Ok(0) => return Err(ErrorKind::TimedOut.into()),
            Ok(_) => break,
            Err(Errno::EINTR) => {}
            Err(other) => return Err(other.into()),
        }
    }
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_PEEK;
    match recv(copies.as_raw_fd(), &mut [0; 1], flags)? {
        0 => Err(ended()),
        _ => Ok(()),
    }
}

fn ended() -> io::Error {
    io::Error::other("the process of the kernel's queue ended")
}

fn socket(domain: Domain, mark: u32) -> io::Result<Socket> {
    let socket = Socket::new(domain, Type::RAW, Some(Protocol::from(OWN_HEADER)))?;
    socket.set_nonblocking(true)?;
    socket.set_mark(mark)?;
    // More is better, and none is needed.
    let _ = socket.set_send_buffer_size(SYSTEM_BUFFER);
    Ok(socket)
}

fn refusal(error: &io::Error) -> Refusal {
    match error.raw_os_error() {
        Some(nix::libc::EAGAIN | nix::libc::ENOBUFS) => Refusal::Full,
        Some(nix::libc::EMSGSIZE) => Refusal::TooLong,
        other => Refusal::Other(other.unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::carrier::copies_socket;
    use nix::sys::socket::send;

    /// Whoever waits for the queue takes nothing away from it: packets that are there are read later.
    #[test]
    fn packets_are_not_lost_while_the_queue_is_waited_for() {
        let (plane, queue) = copies_socket().unwrap();
        let messages: [&[u8]; 3] = [&[kind::COUNTS; 25], &[kind::PACKET, 7], &[kind::PACKET, 8]];
        for message in messages {
            send(queue.as_raw_fd(), message, MsgFlags::empty()).unwrap();
        }
        wait_for_queue(&plane).unwrap();
        let mut room = [0; 100];
        for message in messages {
            let length = recv(plane.as_raw_fd(), &mut room, MsgFlags::MSG_DONTWAIT).unwrap();
            assert_eq!(&room[..length], message);
        }
        drop(queue);
        assert!(wait_for_queue(&plane).is_err(), "it ended");
    }
}
