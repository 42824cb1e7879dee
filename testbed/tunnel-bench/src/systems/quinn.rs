//! quinn, with its default settings.

use super::PIECE;
use super::identity::NAME;
use super::on_tokio::{Conversation, Dialer, Peer};
use super::tickets::Tickets;
use super::tls::{Handshake, Tls};
use crate::system::{REQUEST, Request};
use bytes::Bytes;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{
    ClientConfig, Connecting, Connection, Endpoint, Incoming, RecvStream, ServerConfig, VarInt,
};
use std::cell::Cell;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;

/// quinn with such a handshake.
pub struct Quinn {
    pub tls: Tls,
}

impl Peer for Quinn {
    type Dialer = QuinnDialer;

    async fn serve(&self, host: IpAddr, ready: &dyn Fn(SocketAddr)) -> io::Result<()> {
        let crypto = QuicServerConfig::try_from(self.tls.server()?).map_err(io::Error::other)?;
        let config = ServerConfig::with_crypto(Arc::new(crypto));
        let endpoint = Endpoint::server(config, SocketAddr::new(host, 0))?;
        ready(endpoint.local_addr()?);
        let early = self.tls.handshake == Handshake::Early;
        while let Some(incoming) = endpoint.accept().await {
            tokio::task::spawn_local(answer(incoming, early));
        }
        Ok(())
    }

    async fn dialer(
        &self,
        server: SocketAddr,
        other: Option<&QuinnDialer>,
    ) -> io::Result<QuinnDialer> {
        let (config, tickets) = self.tls.client()?;
        let crypto = QuicClientConfig::try_from(config).map_err(io::Error::other)?;
        let endpoint = match other {
            Some(other) => other.endpoint.clone(),
            None => Endpoint::client(SocketAddr::new(any_like(server), 0))?,
        };
        let dialer = QuinnDialer {
            server,
            endpoint,
            config: ClientConfig::new(Arc::new(crypto)),
            tickets,
            handshake: self.tls.handshake,
            connections: Cell::new(0),
            resumed: Cell::new(0),
            early: Rc::new(Cell::new(0)),
        };
        if self.tls.handshake != Handshake::Full {
            dialer.stock_up().await?;
        }
        Ok(dialer)
    }
}

/// The address that stands for any.
fn any_like(server: SocketAddr) -> IpAddr {
    match server {
        SocketAddr::V4(_) => IpAddr::from([0; 4]),
        SocketAddr::V6(_) => IpAddr::from([0; 16]),
    }
}

/// The server's application. A client that goes away is no error.
async fn answer(incoming: Incoming, early: bool) -> io::Result<()> {
    let connecting = incoming.accept()?;
    let connection = if early {
        // Always works for a server: it may answer before the handshake is over.
        match connecting.into_0rtt() {
            Ok((connection, _)) => connection,
            Err(connecting) => connecting.await?,
        }
    } else {
        connecting.await?
    };
    let (mut send, mut receive) = connection.accept_bi().await?;
    let mut request = [0; REQUEST];
    receive
        .read_exact(&mut request)
        .await
        .map_err(io::Error::other)?;
    let mut left = Request::from_bytes(&request).answer();
    while left > 0 {
        let piece = left.min(PIECE.len() as u64);
        let bytes = Bytes::from_static(&PIECE[..piece as usize]);
        send.write_chunk(bytes).await?;
        left -= piece;
    }
    let _ = send.finish();
    connection.closed().await;
    Ok(())
}

pub struct QuinnDialer {
    server: SocketAddr,
    endpoint: Endpoint,
    config: ClientConfig,
    tickets: Arc<Tickets>,
    handshake: Handshake,
    connections: Cell<u64>,
    /// Of these, for which there was a ticket.
    resumed: Cell<u64>,
    /// Of these, whose early data the server took.
    early: Rc<Cell<u64>>,
}

impl QuinnDialer {
    /// Fetches a few tickets: while one connection waits for its own, the next ones need some.
    async fn stock_up(&self) -> io::Result<()> {
        for _ in 0..4 {
            let connection = self.connecting()?.await?;
            self.tickets.wait(self.tickets.expect()).await;
            connection.close(VarInt::from_u32(0), b"");
        }
        Ok(())
    }

    fn connecting(&self) -> io::Result<Connecting> {
        let config = self.config.clone();
        let connecting = self.endpoint.connect_with(config, self.server, NAME);
        connecting.map_err(io::Error::other)
    }

    async fn connection(&self) -> io::Result<Connection> {
        self.connections.set(self.connections.get() + 1);
        if self.tickets.count() > 0 {
            self.resumed.set(self.resumed.get() + 1);
        }
        let connecting = self.connecting()?;
        if self.handshake != Handshake::Early {
            return Ok(connecting.await?);
        }
        match connecting.into_0rtt() {
            Ok((connection, accepted)) => {
                let early = Rc::clone(&self.early);
                tokio::task::spawn_local(async move {
                    early.set(early.get() + u64::from(accepted.await));
                });
                Ok(connection)
            }
            Err(connecting) => Ok(connecting.await?),
        }
    }
}

impl Dialer for QuinnDialer {
    type Conversation = QuinnConversation;

    async fn open(&self, request: Request) -> io::Result<QuinnConversation> {
        let connection = self.connection().await?;
        let (mut send, receive) = connection.open_bi().await?;
        send.write_all(&request.to_bytes()).await?;
        let _ = send.finish();
        let early = self.handshake == Handshake::Early;
        let awaited = early.then(|| (Arc::clone(&self.tickets), self.tickets.expect()));
        Ok(QuinnConversation {
            connection,
            receive,
            awaited,
        })
    }

    fn note(&self) -> Option<String> {
        let all = self.connections.get();
        match self.handshake {
            Handshake::Full => None,
            Handshake::Resumed => Some(format!("{} of {all} had a ticket", self.resumed.get())),
            Handshake::Early => Some(format!("early data of {} of {all} taken", self.early.get())),
        }
    }
}

pub struct QuinnConversation {
    connection: Connection,
    receive: RecvStream,
    /// The tickets that this connection brings, after its answer.
    awaited: Option<(Arc<Tickets>, u64)>,
}

impl Conversation for QuinnConversation {
    async fn receive(&mut self) -> io::Result<usize> {
        let chunk = self.receive.read_chunk(usize::MAX, true).await?;
        Ok(chunk.map_or(0, |chunk| chunk.bytes.len()))
    }

    async fn close(self) {
        if let Some((tickets, expected)) = self.awaited {
            tickets.wait(expected).await;
        }
        self.connection.close(VarInt::from_u32(0), b"");
    }
}
