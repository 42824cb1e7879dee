//! A TCP socket that another program listens with, for this one to answer at.

use crate::sys;
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::AcceptConn;
use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::os::fd::RawFd;

/// Takes a listening socket that another program left open for this one. Name each number once.
///
/// # Errors
/// It is not open, or does not listen.
pub fn adopt_listener(number: RawFd) -> io::Result<TcpListener> {
    let socket = sys::inherited(number)?;
    match getsockopt(&socket, AcceptConn) {
        Ok(true) => Ok(socket.into()),
        Ok(false) => Err(ErrorKind::InvalidInput.into()),
        Err(error) => Err(error.into()),
    }
}
