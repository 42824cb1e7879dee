//! s2n-quic over rustls, with its default settings.

use super::PIECE;
use super::identity::NAME;
use super::on_tokio::{Conversation, Dialer, Peer};
use super::tls::Tls;
use crate::system::{REQUEST, Request};
use bytes::Bytes;
use s2n_quic::client::Connect;
use s2n_quic::provider::tls::rustls::{Client as TlsClient, Server as TlsServer};
use s2n_quic::stream::ReceiveStream;
use s2n_quic::{Client, Connection, Server};
use std::io;
use std::net::{IpAddr, SocketAddr};

/// s2n-quic with such a handshake.
pub struct S2n {
    pub tls: Tls,
}

impl Peer for S2n {
    type Dialer = S2nDialer;

    async fn serve(&self, host: IpAddr, ready: &dyn Fn(SocketAddr)) -> io::Result<()> {
        let mut server = Server::builder()
            .with_tls(TlsServer::from(self.tls.server()?))
            .map_err(io::Error::other)?
            .with_io(SocketAddr::new(host, 0))?
            .start()
            .map_err(io::Error::other)?;
        ready(server.local_addr()?);
        while let Some(connection) = server.accept().await {
            tokio::task::spawn_local(answer(connection));
        }
        Ok(())
    }

    async fn dialer(&self, server: SocketAddr, other: Option<&S2nDialer>) -> io::Result<S2nDialer> {
        if let Some(other) = other {
            let client = other.client.clone();
            return Ok(S2nDialer { server, client });
        }
        let (config, _) = self.tls.client()?;
        let client = Client::builder()
            .with_tls(TlsClient::from(config))
            .map_err(io::Error::other)?
            .with_io((IpAddr::from([0; 4]), 0))?
            .start()
            .map_err(io::Error::other)?;
        Ok(S2nDialer { server, client })
    }
}

/// The server's application. A client that goes away is no error.
async fn answer(mut connection: Connection) -> io::Result<()> {
    let Some(stream) = connection.accept_bidirectional_stream().await? else {
        return Ok(());
    };
    let (mut receive, mut send) = stream.split();
    let mut request = Vec::new();
    while request.len() < REQUEST {
        match receive.receive().await? {
            Some(piece) => request.extend_from_slice(&piece),
            None => return Ok(()),
        }
    }
    let Ok(request) = request[..].try_into() else {
        return Ok(());
    };
    let mut left = Request::from_bytes(request).answer();
    while left > 0 {
        let piece = left.min(PIECE.len() as u64);
        send.send(Bytes::from_static(&PIECE[..piece as usize]))
            .await?;
        left -= piece;
    }
    let _ = send.finish();
    // The client closes.
    let _ = connection.accept_bidirectional_stream().await;
    Ok(())
}

pub struct S2nDialer {
    server: SocketAddr,
    client: Client,
}

impl Dialer for S2nDialer {
    type Conversation = S2nConversation;

    async fn open(&self, request: Request) -> io::Result<S2nConversation> {
        let connect = Connect::new(self.server).with_server_name(NAME);
        let mut connection = self.client.connect(connect).await?;
        let stream = connection.open_bidirectional_stream().await?;
        let (receive, mut send) = stream.split();
        let bytes = request.to_bytes();
        send.send(Bytes::copy_from_slice(&bytes)).await?;
        let _ = send.finish();
        Ok(S2nConversation {
            connection,
            receive,
        })
    }
}

pub struct S2nConversation {
    connection: Connection,
    receive: ReceiveStream,
}

impl Conversation for S2nConversation {
    async fn receive(&mut self) -> io::Result<usize> {
        let piece = self.receive.receive().await?;
        Ok(piece.map_or(0, |bytes| bytes.len()))
    }

    async fn close(self) {
        self.connection.close(0u32.into());
    }
}
