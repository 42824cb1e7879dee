//! UDP sockets, unicast and multicast.

use super::NAP;
use crate::failure::Failure;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
#[cfg(target_os = "linux")]
use nix::sys::socket::{setsockopt, sockopt::RcvBufForce};
use socket2::{Domain, InterfaceIndexOrAddress, Protocol, Socket, Type};
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

/// Longest datagram.
const DATAGRAM_BYTES_MAX: usize = 65_535;

/// What the kernel keeps for us while we work, if it allows so much.
const BUFFER_BYTES: usize = 8 << 20;

/// Where datagrams come from and go to.
#[derive(Clone, Debug)]
pub struct Ends {
    /// The address to receive at; a multicast group is joined.
    pub listen: SocketAddr,
    /// The interface to receive at, by name; the system's choice if there is none.
    pub listen_on: Option<String>,
    /// Where to.
    pub to: SocketAddr,
    /// The interface to send by; the system's choice if there is none.
    pub send_by: Option<String>,
    /// Networks that multicast may cross.
    pub ttl: u32,
    /// Where manifests come from, if they do.
    pub manifests: Option<SocketAddr>,
}

/// The two sockets of a relay.
#[derive(Debug)]
pub struct Wire {
    input: UdpSocket,
    output: UdpSocket,
    to: SocketAddr,
    /// What manifests come from.
    manifests: Option<UdpSocket>,
    buffer: Vec<u8>,
}

impl Wire {
    /// Opens both.
    ///
    /// # Errors
    /// What the system refuses, with the address.
    pub fn open(ends: &Ends) -> Result<Self, Failure> {
        let named = |what: &str, address: SocketAddr| {
            let what = what.to_owned();
            move |e: io::Error| Failure::new(format!("cannot {what} {address}: {e}"))
        };
        let input = input(ends.listen, ends.listen_on.as_deref());
        let output = output(ends.to, ends.send_by.as_deref(), ends.ttl);
        let beside = |at| {
            let input = self::input(at, ends.listen_on.as_deref());
            input.map_err(named("receive at", at))
        };
        Ok(Self {
            manifests: ends.manifests.map(beside).transpose()?,
            input: input.map_err(named("receive at", ends.listen))?,
            output: output.map_err(named("send to", ends.to))?,
            to: ends.to,
            buffer: vec![0; DATAGRAM_BYTES_MAX],
        })
    }

    /// The address at which datagrams are received.
    pub fn local(&self) -> io::Result<SocketAddr> {
        self.input.local_addr()
    }

    /// The datagrams that are there, up to `most`; waits for the first one as long as that.
    pub fn receive(&mut self, most: usize, wait: Duration) -> io::Result<Vec<Vec<u8>>> {
        let mut datagrams = drain(&self.input, &mut self.buffer, most)?;
        if datagrams.is_empty() {
            let inputs = [Some(&self.input), self.manifests.as_ref()];
            let inputs = inputs.into_iter().flatten();
            let mut watched: Vec<PollFd<'_>> = inputs
                .map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN))
                .collect();
            // Rounded up: a deadline is over when poll returns.
            let ms = wait.min(NAP).as_micros().div_ceil(1000);
            let timeout = PollTimeout::try_from(ms as i32).unwrap_or(PollTimeout::ZERO);
            match poll(&mut watched, timeout) {
                Ok(0) | Err(nix::errno::Errno::EINTR) => {}
                Ok(_) => datagrams = drain(&self.input, &mut self.buffer, most)?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(datagrams)
    }

    /// The manifests that are there, up to `most`.
    pub fn manifests(&mut self, most: usize) -> io::Result<Vec<Vec<u8>>> {
        match &self.manifests {
            Some(socket) => drain(socket, &mut self.buffer, most),
            None => Ok(Vec::new()),
        }
    }

    /// Sends a datagram; false if the network refuses it.
    pub fn send(&self, datagram: &[u8]) -> bool {
        self.send_to(datagram, self.to)
    }

    /// Sends a datagram to another address; false if the network refuses it.
    pub fn send_to(&self, datagram: &[u8], to: SocketAddr) -> bool {
        self.output.send_to(datagram, to).is_ok()
    }
}

fn drain(socket: &UdpSocket, buffer: &mut [u8], most: usize) -> io::Result<Vec<Vec<u8>>> {
    let mut datagrams = Vec::new();
    while datagrams.len() < most {
        match socket.recv(buffer) {
            Ok(length) => datagrams.push(buffer[..length].to_vec()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            // What an earlier datagram met on its way: nothing of ours.
            Err(error) if is_remote(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(datagrams)
}

/// An error that somebody else's answer caused.
fn is_remote(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}

fn input(address: SocketAddr, interface: Option<&str>) -> io::Result<UdpSocket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::DGRAM,
        Some(Protocol::UDP),
    )?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    if address.ip().is_multicast() {
        // Several programs of one machine may listen to one group.
        socket.set_reuse_address(true)?;
    }
    socket.bind(&address.into())?;
    let index = interface.map(index).transpose()?.unwrap_or(0);
    match address.ip() {
        IpAddr::V4(group) if group.is_multicast() => {
            let interface = InterfaceIndexOrAddress::Index(index);
            socket.join_multicast_v4_n(&group, &interface)?;
        }
        IpAddr::V6(group) if group.is_multicast() => socket.join_multicast_v6(&group, index)?,
        _ if interface.is_some() => bind_to(&socket, interface)?,
        _ => {}
    }
    enlarge(&socket);
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

fn output(to: SocketAddr, interface: Option<&str>, ttl: u32) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(to), Type::DGRAM, Some(Protocol::UDP))?;
    let any = match to {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    socket.bind(&SocketAddr::new(any, 0).into())?;
    bind_to(&socket, interface)?;
    match to.ip() {
        IpAddr::V4(group) if group.is_multicast() => socket.set_multicast_ttl_v4(ttl)?,
        IpAddr::V6(group) if group.is_multicast() => {
            socket.set_multicast_hops_v6(ttl)?;
            let index = interface.map(index).transpose()?;
            index.map_or(Ok(()), |index| socket.set_multicast_if_v6(index))?;
        }
        _ => {}
    }
    let _ = socket.set_send_buffer_size(BUFFER_BYTES);
    Ok(socket.into())
}

/// As much as the system's limit allows, or more if we may.
#[cfg(target_os = "linux")]
fn enlarge(socket: &Socket) {
    if setsockopt(socket, RcvBufForce, &BUFFER_BYTES).is_err() {
        let _ = socket.set_recv_buffer_size(BUFFER_BYTES);
    }
}

#[cfg(not(target_os = "linux"))]
fn enlarge(socket: &Socket) {
    let _ = socket.set_recv_buffer_size(BUFFER_BYTES);
}

#[cfg(target_os = "linux")]
fn bind_to(socket: &Socket, interface: Option<&str>) -> io::Result<()> {
    interface.map_or(Ok(()), |name| socket.bind_device(Some(name.as_bytes())))
}

#[cfg(not(target_os = "linux"))]
fn bind_to(_: &Socket, interface: Option<&str>) -> io::Result<()> {
    match interface {
        None => Ok(()),
        Some(_) => Err(io::Error::other("interfaces can be chosen on Linux only")),
    }
}

/// The number of an interface.
fn index(name: &str) -> io::Result<u32> {
    // A name has no slash; what had one would be another file.
    let file = (!name.contains('/')).then(|| format!("/sys/class/net/{name}/ifindex"));
    let text = file.and_then(|file| fs::read_to_string(file).ok());
    text.and_then(|text| text.trim().parse().ok())
        .ok_or_else(|| io::Error::other(format!("there is no interface {name}")))
}
