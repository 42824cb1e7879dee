//! Plain TCP of the kernel, and TLS upon it.

use super::PIECE;
use super::on_tokio::{Conversation, Dialer, Peer};
use super::tls::{self, Handshake, Tls};
use crate::system::{REQUEST, Request};
use rustls::HandshakeKind;
use std::cell::Cell;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector, client};

/// More clients than ever wait at once.
const BACKLOG: i32 = 4096;

/// TCP with that congestion control.
#[derive(Clone, Copy)]
pub struct Tcp {
    pub congestion: &'static str,
}

impl Tcp {
    async fn listen(self, host: IpAddr) -> io::Result<TcpListener> {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?;
        socket.bind(&SocketAddr::new(host, 0).into())?;
        // Connections inherit it.
        let name = self.congestion;
        if let Err(error) = socket.set_tcp_congestion(name.as_bytes()) {
            eprintln!(
                "tunnel-bench: TCP's congestion control {name}: {error}; it is the kernel's default"
            );
        }
        socket.listen(BACKLOG)?;
        socket.set_nonblocking(true)?;
        TcpListener::from_std(socket.into())
    }
}

async fn connect(server: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(server).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

impl Peer for Tcp {
    type Dialer = TcpDialer;

    async fn serve(&self, host: IpAddr, ready: &dyn Fn(SocketAddr)) -> io::Result<()> {
        let listener = self.listen(host).await?;
        ready(listener.local_addr()?);
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            tokio::task::spawn_local(answer(stream));
        }
    }

    async fn dialer(&self, server: SocketAddr, _: Option<&TcpDialer>) -> io::Result<TcpDialer> {
        Ok(TcpDialer(server))
    }
}

/// The server's application. A client that goes away is no error.
async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
    let mut request = [0; REQUEST];
    stream.read_exact(&mut request).await?;
    let mut left = Request::from_bytes(&request).answer();
    while left > 0 {
        let piece = left.min(PIECE.len() as u64);
        stream.write_all(&PIECE[..piece as usize]).await?;
        left -= piece;
    }
    stream.flush().await?;
    // The client closes; nothing else is to come.
    let _ = stream.read_u8().await;
    Ok(())
}

pub struct TcpDialer(SocketAddr);

impl Dialer for TcpDialer {
    type Conversation = Stream<TcpStream>;

    async fn open(&self, request: Request) -> io::Result<Self::Conversation> {
        let mut stream = connect(self.0).await?;
        stream.write_all(&request.to_bytes()).await?;
        Ok(Stream::new(stream, request))
    }
}

/// A connection, and what it reads into.
pub struct Stream<S> {
    stream: S,
    buffer: Vec<u8>,
}

impl<S> Stream<S> {
    /// A small buffer for small answers: idle connections have one, too.
    fn new(stream: S, request: Request) -> Self {
        let length = request.answer().min(PIECE.len() as u64);
        Self {
            stream,
            buffer: vec![0; length as usize],
        }
    }
}

impl<S: AsyncRead + Unpin + 'static> Conversation for Stream<S> {
    async fn receive(&mut self) -> io::Result<usize> {
        self.stream.read(&mut self.buffer).await
    }

    async fn close(self) {}
}

/// TLS over TCP.
pub struct TlsOverTcp {
    pub tcp: Tcp,
    pub tls: Tls,
}

impl Peer for TlsOverTcp {
    type Dialer = TlsDialer;

    async fn serve(&self, host: IpAddr, ready: &dyn Fn(SocketAddr)) -> io::Result<()> {
        let acceptor = TlsAcceptor::from(Arc::new(self.tls.server()?));
        let listener = self.tcp.listen(host).await?;
        ready(listener.local_addr()?);
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let acceptor = acceptor.clone();
            tokio::task::spawn_local(async move { answer(acceptor.accept(stream).await?).await });
        }
    }

    async fn dialer(&self, server: SocketAddr, _: Option<&TlsDialer>) -> io::Result<TlsDialer> {
        let (config, _) = self.tls.client()?;
        let dialer = TlsDialer {
            server,
            connector: TlsConnector::from(Arc::new(config)),
            wanted: match self.tls.handshake {
                Handshake::Full => HandshakeKind::Full,
                _ => HandshakeKind::Resumed,
            },
            connections: Cell::default(),
            as_wanted: Cell::default(),
        };
        if self.tls.handshake != Handshake::Full {
            // Tickets come before the answer.
            dialer.open(Request::EXCHANGE).await?.receive().await?;
            dialer.connections.set(0);
            dialer.as_wanted.set(0);
        }
        Ok(dialer)
    }
}

pub struct TlsDialer {
    server: SocketAddr,
    connector: TlsConnector,
    /// What every handshake should be.
    wanted: HandshakeKind,
    connections: Cell<u64>,
    as_wanted: Cell<u64>,
}

impl Dialer for TlsDialer {
    type Conversation = Stream<client::TlsStream<TcpStream>>;

    async fn open(&self, request: Request) -> io::Result<Self::Conversation> {
        let stream = connect(self.server).await?;
        let mut stream = self.connector.connect(tls::name(), stream).await?;
        let kind = stream.get_ref().1.handshake_kind();
        self.connections.set(self.connections.get() + 1);
        if kind == Some(self.wanted) {
            self.as_wanted.set(self.as_wanted.get() + 1);
        }
        stream.write_all(&request.to_bytes()).await?;
        stream.flush().await?;
        Ok(Stream::new(stream, request))
    }

    fn note(&self) -> Option<String> {
        let (all, right) = (self.connections.get(), self.as_wanted.get());
        match self.wanted {
            HandshakeKind::Resumed => Some(format!("{right} of {all} resumed")),
            _ if right < all => Some(format!("{} of {all} not full", all - right)),
            _ => None,
        }
    }
}
