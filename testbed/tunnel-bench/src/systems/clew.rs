//! clew's tunnels: MinimaLT, version 0. A new tunnel each time, its request in the first packet.

use super::PIECE;
use super::identity::NAME;
use super::on_tokio::{Conversation, Dialer, Peer};
use crate::system::{REQUEST, Request};
use clew_tunnel_udp::driver::{Driver, Program};
use clew_tunnel_udp::sockets::{Socket, Sockets};
use clew_tunnel_udp::tunnel::engine::Now;
use clew_tunnel_udp::tunnel::engine::client::{self, Target, UserId};
use clew_tunnel_udp::tunnel::engine::event::{ConnectionId, Event};
use clew_tunnel_udp::tunnel::engine::rate::Rate;
use clew_tunnel_udp::tunnel::engine::server::{Config, Server};
use clew_tunnel_udp::tunnel::record::{
    Authenticators, Cert, CertBody, ServerSecret, SigningSecret, UserSecret, Wanted,
};
use clew_tunnel_udp::tunnel::wire::values::Value;
use clew_tunnel_udp::tunnel::x25519::Secret;
use clew_tunnel_udp::tunnel::{Reason, keys};
use clew_tunnel_udp::{Client, Clock, Connection, FirstPacket, Tunnel, wall};
use std::cell::Cell;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tokio::sync::mpsc;

/// Longest packet: what an Ethernet has room for, as the other rows find out by probing.
const PACKET: usize = 1_452;

/// Bytes of an answer's piece: with its RPC it fills a packet.
const BYTES: usize = PACKET - 40 - 4 - 12;

/// M of the server, and how hard its puzzles are: T1 needs to know them.
const M: u16 = 1_024;
const W: u8 = 8;

/// Whose connections are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Users {
    Anonymous,
    /// By the paper's authenticator.
    Box,
    /// By the one that is bound to the tunnel.
    Bound,
}

/// Which tunnels connections are made on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tunnels {
    /// A new one for each.
    New,
    /// The same, with keys that were computed before, as the server is known.
    Prepared,
    /// One for all.
    One,
}

/// clew's tunnels.
pub struct Clew {
    pub users: Users,
    pub tunnels: Tunnels,
}

/// The server's keys: the clients of another process have to know them.
fn secret() -> Result<ServerSecret, Reason> {
    let signing = SigningSecret::from_seed(&[1; 32]);
    let boxing = Secret::from_bytes([2; 32]);
    let body = CertBody {
        issuer: signing.public(),
        signing: signing.public(),
        boxing: keys::public(&boxing),
        start: wall().as_millis() - 60_000,
        end: wall().as_millis() + 86_400_000,
        hostname: NAME.into(),
    };
    let cert = Cert::sign(body, &signing)?;
    Ok(ServerSecret {
        signing,
        boxing,
        cert,
    })
}

impl Peer for Clew {
    type Dialer = ClewDialer;

    async fn serve(&self, host: IpAddr, ready: &dyn Fn(SocketAddr)) -> io::Result<()> {
        let socket = Socket::bind(SocketAddr::new(host, 0), 0, false)?;
        let address = socket.address();
        let mut config = Config::new(vec![address]);
        config.authenticators = match self.users {
            Users::Box => Authenticators::BOX,
            _ => Authenticators::BOUND,
        };
        (config.m, config.w, config.packet) = (M, W, PACKET);
        config.is_directory = true;
        // All clients are at one address here.
        let many = Rate::per_second(10_000_000);
        (
            config.limits.first,
            config.limits.auth,
            config.limits.creates,
        ) = (many, many, many);
        (config.limits.tunnels, config.limits.unproven) = (10_000_000, 10_000_000);
        let mut sockets = Sockets::default();
        sockets.add(socket);
        let mut clock = Clock::default();
        let seed = clock.now().random();
        let secret = secret().map_err(io::Error::other)?;
        let engine = Server::new(secret, config, seed, clock.now()).map_err(io::Error::other)?;
        let (_kept, commands) = mpsc::unbounded_channel();
        let driver = Driver::new(engine, Answers::default(), sockets, clock, commands);
        ready(address);
        driver.run().await
    }

    async fn dialer(
        &self,
        server: SocketAddr,
        other: Option<&ClewDialer>,
    ) -> io::Result<ClewDialer> {
        let (client, target) = match other {
            Some(other) => (other.client.clone(), other.target.clone()),
            None => meet(server).await?,
        };
        let user = match self.users {
            Users::Anonymous => None,
            _ => {
                let secret = UserSecret(Secret::from_bytes([3; 32]));
                Some(client.user(secret).await.map_err(io::Error::other)?)
            }
        };
        let held = (self.tunnels == Tunnels::One).then(|| client.open(target.clone(), |_| ()).0);
        let dialer = ClewDialer {
            client,
            target,
            user,
            held,
            prepares: self.tunnels == Tunnels::Prepared,
            prepared: Cell::new(None),
        };
        dialer.rest();
        Ok(dialer)
    }
}

/// A client, and what it has to know of the server.
async fn meet(server: SocketAddr) -> io::Result<(Client, Target)> {
    let config = client::Config {
        packet: PACKET,
        ..client::Config::default()
    };
    let client = Client::new(config)?;
    let boxing = secret().map_err(io::Error::other)?.cert.body.boxing;
    let directory = Target::Directory {
        addresses: vec![server],
        m: M,
        w: W,
        boxing,
    };
    // T1 of the paper: unmeasured, as a name is looked up once.
    let tunnel = client.prepare(directory);
    let record = tunnel.lookup(None, NAME).await.map_err(io::Error::other)?;
    let wanted = Wanted {
        hostname: Some(NAME),
        now: wall(),
        cert_lifetime_max: Duration::from_secs(2 * 86_400),
    };
    let pinned = |cert: &Cert| cert.body.boxing == boxing;
    wanted.verify(&record, pinned).map_err(io::Error::other)?;
    Ok((client, Target::Host(Box::new(record))))
}

/// What every service of the table does: as many bytes as are asked for.
#[derive(Default)]
struct Answers(HashMap<ConnectionId, u64>);

impl Program<Server> for Answers {
    type Command = ();

    fn event(&mut self, engine: &mut Server, _: Now<'_>, event: Event) {
        match event {
            Event::Create(create) => {
                engine.decide(create.connection, Ok(()));
            }
            Event::Readable(connection) => {
                let mut asked = None;
                while engine.read(connection, |mut call| {
                    if let Some(Value::Bytes(bytes)) = call.arguments.next() {
                        asked = bytes.first_chunk::<REQUEST>().map(Request::from_bytes);
                    }
                }) {}
                if let Some(request) = asked {
                    self.answer(engine, connection, request.answer());
                }
            }
            Event::Writable(connection) => {
                if let Some(left) = self.0.remove(&connection) {
                    self.answer(engine, connection, left);
                }
            }
            Event::Closed(connection) => {
                self.0.remove(&connection);
            }
            Event::Gone(tunnel, _) => self.0.retain(|connection, _| connection.tunnel != tunnel),
            _ => {}
        }
    }

    fn command(&mut self, _: &mut Server, _: Now<'_>, (): ()) -> Vec<Socket> {
        Vec::new()
    }
}

impl Answers {
    fn answer(&mut self, engine: &mut Server, connection: ConnectionId, mut left: u64) {
        while left > 0 {
            let length = left.min(BYTES as u64) as usize;
            match engine.write(connection, "data", |call| call.bytes(&PIECE[..length])) {
                Ok(true) => left -= length as u64,
                Ok(false) => {
                    self.0.insert(connection, left);
                    return;
                }
                Err(_) => return,
            }
        }
    }
}

pub struct ClewDialer {
    client: Client,
    target: Target,
    user: Option<UserId>,
    /// The tunnel that all connections are on, if they are.
    held: Option<Tunnel>,
    /// Whether the next tunnel is prepared, and the one that is.
    prepares: bool,
    prepared: Cell<Option<Tunnel>>,
}

impl ClewDialer {
    fn first(&self, first: &mut FirstPacket, bytes: &[u8]) -> Result<Connection, Reason> {
        let connection = first.connect("bench", self.user);
        first.send(&connection, "get", |call| call.bytes(bytes))?;
        Ok(connection)
    }
}

impl Dialer for ClewDialer {
    type Conversation = ClewConversation;

    async fn open(&self, request: Request) -> io::Result<ClewConversation> {
        let bytes = request.to_bytes();
        if let Some(tunnel) = &self.held {
            let connection = tunnel.connect("bench", self.user);
            let sent = connection.send("get", |call| call.bytes(&bytes)).await;
            sent.map_err(io::Error::other)?;
            return Ok(ClewConversation {
                connection,
                _tunnel: None,
            });
        }
        let first = |first: &mut FirstPacket| self.first(first, &bytes);
        let (tunnel, connection) = match self.prepared.take() {
            Some(tunnel) => {
                let connection = tunnel.begin(first);
                (tunnel, connection)
            }
            None => self.client.open(self.target.clone(), first),
        };
        let connection = connection.map_err(io::Error::other)?;
        Ok(ClewConversation {
            connection,
            _tunnel: Some(tunnel),
        })
    }

    fn rest(&self) {
        if self.prepares {
            let tunnel = self.client.prepare(self.target.clone());
            self.prepared.set(Some(tunnel));
        }
    }
}

pub struct ClewConversation {
    connection: Connection,
    /// It ends when it is dropped.
    _tunnel: Option<Tunnel>,
}

impl Conversation for ClewConversation {
    async fn receive(&mut self) -> io::Result<usize> {
        let Some(message) = self.connection.receive().await else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        match message.arguments().next() {
            Some(Value::Bytes(bytes)) => Ok(bytes.len()),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    async fn close(self) {}
}
