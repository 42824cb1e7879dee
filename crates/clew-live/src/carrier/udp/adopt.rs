//! Sockets that another process bound: the supervisor, so that datagrams wait while one data plane ends
//! and another starts, or a service manager.

use super::{One, Udp};
use crate::sys;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};

impl Udp {
    /// Takes sockets over that are open under these numbers, and binds the family that is missing.
    /// Numbers must not be taken twice.
    ///
    /// # Errors
    /// One is not a UDP socket of this port and of one family alone, or the system refuses the other.
    pub fn adopt(numbers: &[RawFd], port: u16) -> io::Result<Self> {
        let mut adopted = Vec::new();
        for number in numbers {
            let io = UdpSocket::from(sys::inherited(*number)?);
            let at = io.local_addr()?;
            let is_udp = socket2::SockRef::from(&io).r#type()? == socket2::Type::DGRAM;
            let is_both = at.is_ipv6() && !socket2::SockRef::from(&io).only_v6()?;
            if at.port() != port || !is_udp || is_both {
                return Err(io::Error::new(
                    ErrorKind::InvalidInput,
                    format!(
                        "a socket of the service manager is not of UDP port {port} and of one family \
                         (ListenDatagram= and BindIPv6Only=ipv6-only)"
                    ),
                ));
            }
            adopted.push(One::of(io)?);
        }
        let has = |is_ipv4: bool| adopted.iter().any(|one| one.is_ipv4 == is_ipv4);
        let mut missing = Vec::new();
        if !has(true) {
            missing.push(One::bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)))?);
        }
        if !has(false) {
            missing.extend(One::bind_v6(SocketAddr::from((
                Ipv6Addr::UNSPECIFIED,
                port,
            )))?);
        }
        adopted.extend(missing);
        Ok(Self { sockets: adopted })
    }

    /// Returns the numbers of the descriptors.
    pub fn numbers(&self) -> Vec<RawFd> {
        let sockets = self.sockets.iter();
        sockets.map(|socket| socket.io.as_raw_fd()).collect()
    }
}
