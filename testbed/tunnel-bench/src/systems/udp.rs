//! The floor: one round trip of datagrams without any protocol, the request as long as MinimaLT's first
//! packet. What creates a connection and answers in one round trip can be no faster.

use super::PIECE;
use super::on_tokio::{Conversation, Dialer, Peer};
use crate::system::{REQUEST, Request};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use tokio::net::UdpSocket;

/// The paper's least length of a first packet.
const FIRST: usize = 1024;

/// Datagrams.
pub struct Udp;

impl Peer for Udp {
    type Dialer = UdpDialer;

    async fn serve(&self, host: IpAddr, ready: &dyn Fn(SocketAddr)) -> io::Result<()> {
        let socket = UdpSocket::bind(SocketAddr::new(host, 0)).await?;
        ready(socket.local_addr()?);
        let mut datagram = [0; FIRST];
        loop {
            let (length, client) = socket.recv_from(&mut datagram).await?;
            let Some(request) = datagram[..length].first_chunk::<REQUEST>() else {
                continue;
            };
            let answer = Request::from_bytes(request).answer();
            // Longer answers than a datagram are not this row's.
            let answer = answer.min(FIRST as u64) as usize;
            socket.send_to(&PIECE[..answer], client).await?;
        }
    }

    async fn dialer(&self, server: SocketAddr, _: Option<&UdpDialer>) -> io::Result<UdpDialer> {
        let socket = UdpSocket::bind((IpAddr::from([0; 4]), 0)).await?;
        socket.connect(server).await?;
        Ok(UdpDialer(Rc::new(socket)))
    }
}

pub struct UdpDialer(Rc<UdpSocket>);

impl Dialer for UdpDialer {
    type Conversation = UdpConversation;

    async fn open(&self, request: Request) -> io::Result<UdpConversation> {
        let mut datagram = [0; FIRST];
        datagram[..REQUEST].copy_from_slice(&request.to_bytes());
        self.0.send(&datagram).await?;
        Ok(UdpConversation(Rc::clone(&self.0)))
    }
}

pub struct UdpConversation(Rc<UdpSocket>);

impl Conversation for UdpConversation {
    async fn receive(&mut self) -> io::Result<usize> {
        let mut datagram = [0; FIRST];
        self.0.recv(&mut datagram).await
    }

    async fn close(self) {}
}
