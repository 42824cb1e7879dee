//! The process that has the kernel's queue: it takes packets with trailers out of the network's way, and
//! hands copies of them to the data plane.
//!
//! The kernel takes verdicts only of a process with CAP_NET_ADMIN. This one looks at the last four bytes
//! of each packet, and at nothing else that came over the network, so that the data plane needs no
//! privilege.

use crate::netfilter::{Judged, Queue, dropped};
use clew_packet::MAGIC;
use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::sockopt::{SndBuf, SndBufForce};
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockType, sendmsg, setsockopt, socketpair,
};
use std::fs::File;
use std::io::{self, IoSlice, Read, Seek};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Bytes of copies that wait for the data plane. More are dropped and counted.
const COPIES_BYTES_MAX: usize = 4 << 20;

/// Most packets between two looks at the data plane.
const TURN_PACKETS: usize = 64;

/// How often counts are told, new or not: the data plane hears that this process turns.
const TELL: Duration = Duration::from_millis(500);

/// Where the kernel tells what it dropped.
const COUNTS: &str = "/proc/net/netfilter/nfnetlink_queue";

/// What a message to the data plane begins with.
pub(super) mod kind {
    /// A packet follows.
    pub(in crate::carrier) const PACKET: u8 = 0;
    /// What was dropped since the start: three numbers of 8 bytes, big-endian.
    pub(in crate::carrier) const COUNTS: u8 = 1;
}

/// Why there is no queue.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The kernel's answer.
    #[error("NFQUEUE {number}: {}", trouble(error))]
    Bind {
        /// The queue.
        number: u16,
        /// The answer.
        error: io::Error,
    },
    /// What else the system refuses.
    #[error("the process of the queue: {0}")]
    Io(#[from] io::Error),
}

fn trouble(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EBUSY | libc::EPERM) => format!(
            "{error}: another process has this queue, or this one may not; `port` chooses the number"
        ),
        Some(libc::EINVAL | libc::EPROTONOSUPPORT | libc::EOPNOTSUPP) => {
            "this kernel has no queues (nfnetlink_queue): choose the carrier udp-tunnel".into()
        }
        _ => error.to_string(),
    }
}

/// Returns the two ends of the socket for copies of packets: the data plane's, and the queue's.
///
/// # Errors
/// The system has no sockets to give.
pub fn copies_socket() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let (plane, queue) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags)?;
    // What waits counts at the end that writes.
    if setsockopt(&queue, SndBufForce, &COPIES_BYTES_MAX).is_err() {
        setsockopt(&queue, SndBuf, &COPIES_BYTES_MAX)?;
    }
    Ok((plane, queue))
}

/// The kernel's queue, taken over.
pub struct QueueProcess {
    queue: Queue,
    number: u16,
    copies: OwnedFd,
    counts: File,
    /// Copies for which there was no room.
    overflow: u64,
}

impl QueueProcess {
    /// Takes the queue over. It needs privileges.
    ///
    /// # Errors
    /// There is no such queue to have.
    pub fn bind(number: u16, copies: OwnedFd) -> Result<Self, QueueError> {
        let queue = Queue::bind(number).map_err(|error| QueueError::Bind { number, error })?;
        Ok(Self {
            queue,
            number,
            copies,
            // Root alone may open it.
            counts: File::open(COUNTS)?,
            overflow: 0,
        })
    }

    /// Hands packets over until the data plane ends.
    ///
    /// # Errors
    /// The kernel's.
    pub fn run(&mut self) -> io::Result<()> {
        // The first message says that the queue is there.
        self.tell([0; 3])?;
        let mut next = Instant::now() + TELL;
        while !self.is_over()? {
            let (copies, overflow) = (&self.copies, &mut self.overflow);
            let judge = |packet: &[u8]| judge(copies, overflow, packet);
            let is_more = self.queue.take(TURN_PACKETS, judge)?;
            if Instant::now() >= next {
                next = Instant::now() + TELL;
                self.tell_now()?;
            }
            if !is_more {
                self.wait(next.saturating_duration_since(Instant::now()))?;
            }
        }
        Ok(())
    }

    fn wait(&self, wait: Duration) -> io::Result<()> {
        let both = [self.queue.as_fd(), self.copies.as_fd()];
        let mut both = both.map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        let millis = u16::try_from(wait.as_millis() + 1).unwrap_or(u16::MAX);
        match poll(&mut both, PollTimeout::from(millis)) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(other) => Err(other.into()),
        }
    }

    /// Whether the data plane has closed its end.
    fn is_over(&self) -> io::Result<bool> {
        let mut end = [PollFd::new(self.copies.as_fd(), PollFlags::POLLIN)];
        match poll(&mut end, PollTimeout::ZERO) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::EINTR) => Ok(false),
            Err(other) => Err(other.into()),
        }
    }

    fn tell_now(&mut self) -> io::Result<()> {
        let mut text = String::new();
        self.counts.rewind()?;
        self.counts.read_to_string(&mut text)?;
        let [queue, socket] = dropped(&text, self.number).unwrap_or_default();
        self.tell([queue, socket, self.overflow])
    }

    fn tell(&self, counts: [u64; 3]) -> io::Result<()> {
        let numbers = counts.map(u64::to_be_bytes).concat();
        match send(&self.copies, kind::COUNTS, &numbers) {
            // It is told later.
            Ok(()) | Err(Errno::EAGAIN | Errno::EPIPE) => Ok(()),
            Err(other) => Err(other.into()),
        }
    }
}

/// A packet with a trailer at its end goes to the data plane and nowhere else; all others go on to later
/// rules, which count or drop them.
fn judge(copies: &OwnedFd, overflow: &mut u64, packet: &[u8]) -> Judged {
    if !packet.ends_with(&MAGIC) {
        return Judged::Accept;
    }
    if send(copies, kind::PACKET, packet).is_err() {
        *overflow += 1;
    }
    Judged::Drop
}

fn send(copies: &OwnedFd, kind: u8, bytes: &[u8]) -> nix::Result<()> {
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    let slices = [
        IoSlice::new(std::slice::from_ref(&kind)),
        IoSlice::new(bytes),
    ];
    sendmsg::<()>(copies.as_raw_fd(), &slices, &[], flags, None).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::socket::recv;

    #[test]
    fn packets_with_a_trailer_go_to_the_data_plane_as_far_as_there_is_room() {
        let (plane, queue) = copies_socket().unwrap();
        let mut overflow = 0;
        let mut trailed = vec![7; 1_400];
        trailed.extend(MAGIC);
        assert_eq!(judge(&queue, &mut overflow, b"other"), Judged::Accept);
        assert_eq!(judge(&queue, &mut overflow, &MAGIC[1..]), Judged::Accept);
        assert_eq!(judge(&queue, &mut overflow, &trailed), Judged::Drop);
        let mut room = [9; 2_000];
        let length = recv(plane.as_raw_fd(), &mut room, MsgFlags::empty()).unwrap();
        assert_eq!(room[0], kind::PACKET);
        assert_eq!(room[1..length], trailed);
        let mut sent = 0;
        while overflow < 3 {
            assert_eq!(judge(&queue, &mut overflow, &trailed), Judged::Drop);
            sent += trailed.len();
            assert!(sent < 4 * COPIES_BYTES_MAX, "the copies are bounded");
        }
        assert!(sent > COPIES_BYTES_MAX / 16);
    }
}
