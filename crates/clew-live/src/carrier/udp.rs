//! UDP sockets of a carrier, one for each family: many datagrams in one system call (GSO, GRO,
//! `recvmmsg`), the ECN bits, and the errors that routers report.

mod adopt;
mod reports;

use super::Offloads;
use super::kernel::dropped_by_sockets;
use crate::packet::{Burst, Outer};
use nix::libc;
use nix::sys::socket::sockopt::{Mark, RcvBufForce, ReceiveTimestampns, SndBufForce};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt};
use nix::sys::stat::fstat;
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use reports::{is_passing, is_reported, past_reports};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::{PoisonError, RwLock};

/// Bytes of the system's own buffers. They hold 10 ms of 6 Gbit/s; queues that wait longer are the
/// core's, which bounds them in time.
const SYSTEM_BUFFER: usize = 8 << 20;

/// Most bytes of one system call that sends: the largest UDP payload.
const SEND_MAX: usize = 65_507;

/// Bytes for what one call may bring of one address.
const TRAIN: usize = 65_536;

/// Most errors of the network that are read at once.
const ERRORS_MAX: usize = 64;

/// The sockets of a carrier.
pub struct Udp {
    sockets: Vec<One>,
}

struct One {
    io: UdpSocket,
    /// Another one takes its place if a datagram that was too long made it give up GSO.
    state: RwLock<UdpSocketState>,
    is_ipv4: bool,
    port: u16,
}

/// Why datagrams did not leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The system's buffer is full.
    Full,
    /// They are longer than the path takes.
    TooLong,
    /// The source address is not this host's any more.
    Source,
    /// Nobody knows where the peer is.
    NoAddress,
    /// Everything else: no route, no permission, an interface that is down.
    Other(i32),
}

/// What a router or the host itself said about datagrams to an end point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpError {
    /// The end point.
    pub to: SocketAddr,
    /// The path MTU, if it is about that.
    pub mtu: Option<u32>,
}

impl Udp {
    /// Binds the port for both families. A host without IPv6 has one socket.
    ///
    /// # Errors
    /// The system refuses the port.
    pub fn bind(port: u16) -> io::Result<Self> {
        let v4 = One::bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)))?;
        let mut sockets = vec![v4];
        sockets.extend(One::bind_v6(SocketAddr::from((
            Ipv6Addr::UNSPECIFIED,
            port,
        )))?);
        Ok(Self { sockets })
    }

    /// Marks what leaves. Without the privilege nothing is marked: then a router's answer about a datagram
    /// also counts for packets that are captured.
    pub fn mark(&self, mark: u32) {
        for socket in &self.sockets {
            let _ = setsockopt(&socket.io, Mark, &mark);
        }
    }

    /// Fills in what the kernel does for these sockets.
    pub fn offloads(&self, offloads: &mut Offloads) {
        let all = |has: fn(&UdpSocketState) -> bool| {
            self.sockets.iter().all(|socket| has(&socket.state()))
        };
        offloads.udp_gso = all(|state| state.max_gso_segments() > 1);
        offloads.udp_gro = all(|state| state.gro_segments() > 1);
    }

    /// Returns the descriptors, to wait for all of them.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.sockets.iter().map(|socket| socket.io.as_fd())
    }

    /// Sends datagrams. Returns how many went, and why the others did not.
    pub fn send(
        &self,
        to: SocketAddr,
        from: Option<IpAddr>,
        burst: &Burst,
    ) -> (usize, Option<Refusal>) {
        let of_family = |socket: &&One| socket.is_ipv4 == to.is_ipv4();
        let Some(socket) = self.sockets.iter().find(of_family) else {
            return (0, Some(Refusal::Other(libc::EAFNOSUPPORT)));
        };
        let segment = burst.segment.clamp(1, burst.bytes.len().max(1));
        let mut sent = 0;
        let mut rest = burst.bytes.as_slice();
        while !rest.is_empty() {
            let most = socket.state().max_gso_segments().max(1);
            let most = most.min((SEND_MAX / segment).max(1)) * segment;
            let (piece, behind) = rest.split_at(most.min(rest.len()));
            let from = from.filter(|from| from.is_ipv4() == to.is_ipv4());
            match socket.send(to, from, burst.ecn, piece, segment) {
                Ok(count) => sent += count,
                Err((count, refusal)) => return (sent + count, Some(refusal)),
            }
            rest = behind;
        }
        (sent, None)
    }

    /// Receives once from each socket, without waiting. Returns whether there was anything.
    ///
    /// # Errors
    /// The socket's, but for those that the network caused.
    pub fn receive(
        &self,
        room: &mut Datagrams,
        mut take: impl FnMut(&[u8], &Outer),
    ) -> io::Result<bool> {
        let mut any = false;
        for socket in &self.sockets {
            any |= room.fill(socket)?;
            room.each(&mut take);
        }
        Ok(any)
    }

    /// Returns how many datagrams the kernel dropped because nobody read them in time, or for wrong
    /// checksums: it counts both as one for a socket.
    pub fn unread(&self) -> u64 {
        let inodes = self.sockets.iter().filter_map(|socket| {
            let state = fstat(&socket.io).ok()?;
            Some(state.st_ino)
        });
        dropped_by_sockets(&inodes.collect::<Vec<_>>())
    }

    /// Takes what routers and the host said about datagrams, without waiting.
    pub fn errors(&self, mut take: impl FnMut(UdpError)) {
        for socket in &self.sockets {
            for _ in 0..ERRORS_MAX {
                match socket.error() {
                    Some(Some(error)) => take(error),
                    Some(None) => {}
                    None => break,
                }
            }
        }
    }
}

impl One {
    fn bind(address: SocketAddr) -> io::Result<Self> {
        let domain = Domain::for_address(address);
        let raw = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
        if address.is_ipv6() {
            // IPv4 has a socket of its own.
            raw.set_only_v6(true)?;
        }
        raw.bind(&address.into())?;
        Self::of(UdpSocket::from(raw))
    }

    /// Binds a socket of IPv6, if the host has that.
    fn bind_v6(address: SocketAddr) -> io::Result<Option<Self>> {
        match Self::bind(address) {
            Err(e) if e.raw_os_error() == Some(libc::EAFNOSUPPORT) => Ok(None),
            Err(e) if e.kind() == ErrorKind::AddrNotAvailable => Ok(None),
            other => other.map(Some),
        }
    }

    /// Prepares a bound socket.
    fn of(io: UdpSocket) -> io::Result<Self> {
        let address = io.local_addr()?;
        let state = state_of(&io)?;
        // More is better, and none is needed. Beyond the system's limit needs privileges.
        if setsockopt(&io, RcvBufForce, &SYSTEM_BUFFER).is_err() {
            let _ = state.set_recv_buffer_size((&io).into(), SYSTEM_BUFFER);
        }
        if setsockopt(&io, SndBufForce, &SYSTEM_BUFFER).is_err() {
            let _ = state.set_send_buffer_size((&io).into(), SYSTEM_BUFFER);
        }
        Ok(Self {
            is_ipv4: address.is_ipv4(),
            port: address.port(),
            state: RwLock::new(state),
            io,
        })
    }

    fn state(&self) -> std::sync::RwLockReadGuard<'_, UdpSocketState> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a piece in one call. If that fails for its segmentation alone, datagram by datagram.
    fn send(
        &self,
        to: SocketAddr,
        from: Option<IpAddr>,
        ecn: u8,
        piece: &[u8],
        segment: usize,
    ) -> Result<usize, (usize, Refusal)> {
        let count = piece.len().div_ceil(segment);
        let had_gso = self.state().max_gso_segments() > 1;
        let Err(error) = self.send_one(to, from, ecn, piece, segment) else {
            return Ok(count);
        };
        // Too long in one call, it has no path MTU in the socket's errors; alone it has.
        let codes = [libc::EINVAL, libc::EIO, libc::EMSGSIZE];
        let is_of_segments = error
            .raw_os_error()
            .is_some_and(|code| codes.contains(&code));
        if count == 1 || !is_of_segments {
            return Err((0, refusal(&error)));
        }
        for (sent, datagram) in piece.chunks(segment).enumerate() {
            let Err(error) = self.send_one(to, from, ecn, datagram, segment) else {
                continue;
            };
            let why = refusal(&error);
            if why == Refusal::TooLong && had_gso {
                // It was the length after all, so GSO may go on.
                self.begin_again();
            }
            return Err((sent, why));
        }
        Ok(count)
    }

    fn send_one(
        &self,
        to: SocketAddr,
        from: Option<IpAddr>,
        ecn: u8,
        contents: &[u8],
        segment: usize,
    ) -> io::Result<()> {
        let transmit = Transmit {
            destination: to,
            ecn: EcnCodepoint::from_bits(ecn),
            contents,
            segment_size: (contents.len() > segment).then_some(segment),
            src_ip: from,
        };
        past_reports(|| self.state().try_send((&self.io).into(), &transmit))
    }

    fn begin_again(&self) {
        if let Ok(state) = state_of(&self.io) {
            *self.state.write().unwrap_or_else(PoisonError::into_inner) = state;
        }
    }

    /// One error of the queue. `Some(None)` is one that names no end point.
    fn error(&self) -> Option<Option<UdpError>> {
        let mut nothing = [0; 1];
        let mut slices = [IoSliceMut::new(&mut nothing)];
        let mut control = nix::cmsg_space!([u8; 512]);
        let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
        let descriptor = self.io.as_raw_fd();
        let got = recvmsg::<SockaddrStorage>(descriptor, &mut slices, Some(&mut control), flags);
        let got = got.ok()?;
        let Some(to) = got.address.as_ref().and_then(address) else {
            return Some(None);
        };
        let messages = got.cmsgs().into_iter().flatten();
        let mut errors = messages.filter_map(|message| match message {
            ControlMessageOwned::Ipv4RecvErr(error, _) => Some(error),
            ControlMessageOwned::Ipv6RecvErr(error, _) => Some(error),
            _ => None,
        });
        let error = errors.next();
        let too_long = error.filter(|error| error.ee_errno == libc::EMSGSIZE as u32);
        Some(Some(UdpError {
            to,
            mtu: too_long.map(|error| error.ee_info),
        }))
    }
}

/// Sets a socket's options.
fn state_of(io: &UdpSocket) -> io::Result<UdpSocketState> {
    let state = UdpSocketState::new(io.into())?;
    state.enable_transport_errors(io.into())?;
    // With times, the control messages of a train would not fit into quinn-udp's 96 bytes: those of
    // ECN come last and would be lost.
    setsockopt(io, ReceiveTimestampns, &false)?;
    Ok(state)
}

fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = || {
        storage
            .as_sockaddr_in()
            .map(|v4| SocketAddr::from((v4.ip(), v4.port())))
    };
    let v6 = || {
        storage
            .as_sockaddr_in6()
            .map(|v6| SocketAddr::from((v6.ip(), v6.port())))
    };
    v4().or_else(v6)
}

fn refusal(error: &io::Error) -> Refusal {
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::ENOBUFS) => Refusal::Full,
        Some(libc::EMSGSIZE) => Refusal::TooLong,
        Some(libc::EADDRNOTAVAIL | libc::EINVAL) => Refusal::Source,
        other => Refusal::Other(other.unwrap_or(0)),
    }
}

/// Memory for what one call brings.
pub struct Datagrams {
    bytes: Vec<u8>,
    metas: [RecvMeta; BATCH_SIZE],
    count: usize,
    is_ipv4: bool,
    port: u16,
    /// The network said something since [`Self::had_reports`] was asked.
    has_reports: bool,
}

impl Default for Datagrams {
    fn default() -> Self {
        Self {
            bytes: vec![0; BATCH_SIZE * TRAIN],
            metas: [RecvMeta::default(); BATCH_SIZE],
            count: 0,
            is_ipv4: true,
            port: 0,
            has_reports: false,
        }
    }
}

impl Datagrams {
    /// Returns the memory, for a carrier that brings packets one by one.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Whether the network said something since the last call: [`Udp::errors`] tells what.
    pub(crate) const fn had_reports(&mut self) -> bool {
        std::mem::replace(&mut self.has_reports, false)
    }

    fn fill(&mut self, socket: &One) -> io::Result<bool> {
        (self.count, self.is_ipv4, self.port) = (0, socket.is_ipv4, socket.port);
        let mut slices = self.bytes.chunks_mut(TRAIN).map(IoSliceMut::new);
        let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
            std::array::from_fn(|_| slices.next().unwrap_or_else(|| IoSliceMut::new(&mut [])));
        let mut calls = 0;
        let received = past_reports(|| {
            calls += 1;
            let state = socket.state();
            state.recv((&socket.io).into(), &mut slices, &mut self.metas)
        });
        self.has_reports |= calls > 1;
        match received {
            Ok(count) => {
                self.count = count;
                Ok(true)
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(e) if is_reported(&e) || is_passing(&e) => Ok(true),
            Err(other) => Err(other),
        }
    }

    fn each(&self, take: &mut impl FnMut(&[u8], &Outer)) {
        let trains = self.bytes.chunks(TRAIN).zip(&self.metas).take(self.count);
        for (bytes, meta) in trains {
            let unspecified = match self.is_ipv4 {
                true => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
                false => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
            };
            let outer = Outer {
                source: meta.addr,
                destination: SocketAddr::new(meta.dst_ip.unwrap_or(unspecified), self.port),
                ecn: meta.ecn.map_or(0, |ecn| ecn as u8),
            };
            let length = meta.len.min(bytes.len());
            if length == 0 {
                // A datagram without a byte is one all the same.
                take(&[], &outer);
            }
            let datagrams = bytes[..length].chunks(meta.stride.max(1));
            datagrams.for_each(|datagram| take(datagram, &outer));
        }
    }
}

#[cfg(test)]
mod tests;
