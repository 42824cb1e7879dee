//! Services: who waits for connections.

use std::io;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use clew_tunnel::Reason;
use clew_tunnel::engine::event::{self, ConnectionId, Event, Reply, TunnelId};
use clew_tunnel::engine::server::{self, Config};
use clew_tunnel::engine::{Datagram, Now, tid};
use clew_tunnel::record::{Record, ServerSecret};
use clew_wire::Instant;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use crate::clock::{self, Clock, wall};
use crate::driver::{Driver, Program};
use crate::ends::{Ask, DriverEnd, DriverEnds};
use crate::error::Error;
use crate::incoming::Incoming;
use crate::metrics::{Metrics, MetricsWatch, Watched};
use crate::qlog::Trace;
use crate::registry::{Answer, Registry};
use crate::shards::{Mail, OwnShard};
use crate::sockets::{Socket, Sockets};

/// Connections that wait for [`Server::accept`]; more are refused (`busy`).
const WAITING: usize = 1_024;

/// Tunnels that a server closes before it sends what it has to say to them.
const CLOSED_AT_ONCE: usize = 1_024;

/// A server: one engine, its sockets and the task that drives them. It ends when it is dropped.
pub struct Server {
    incoming: mpsc::Receiver<Incoming>,
    records: watch::Receiver<Option<Record>>,
    metrics: Vec<watch::Receiver<Metrics>>,
    addresses: Vec<SocketAddr>,
    tasks: Vec<JoinHandle<io::Result<()>>>,
    /// The drivers run as long as somebody may ask something of them.
    channels: Vec<mpsc::UnboundedSender<ServerCommand>>,
}

/// How a server is run.
#[derive(Default)]
pub struct Options {
    /// The addresses that it is bound to.
    pub at: Vec<SocketAddr>,
    /// In how many shards, each of which is a task of its own: one for each core that it may have.
    /// `None` is one.
    pub shards: Option<NonZeroUsize>,
    /// From so many first packets and users that wait at once on, their public-key work is done by other
    /// threads, so that open tunnels do not wait for it; `None`: never.
    pub offload_handshakes: Option<NonZeroUsize>,
    /// Who answers for other hosts.
    pub registry: Option<Box<dyn Registry>>,
    /// A trace for each shard; shards beyond have none.
    pub traces: Vec<Trace>,
}

/// What a server's driver is asked.
pub(crate) enum ServerCommand {
    Ask(Ask),
    Accept(ConnectionId, DriverEnd),
    Refuse(ConnectionId, Reason),
    Reply(TunnelId, u64, Reply),
    Mail(Mail),
    End(oneshot::Sender<()>),
}

impl From<Mail> for ServerCommand {
    fn from(mail: Mail) -> Self {
        Self::Mail(mail)
    }
}

impl From<Ask> for ServerCommand {
    fn from(ask: Ask) -> Self {
        Self::Ask(ask)
    }
}

impl Server {
    /// Binds sockets and begins to serve, on tokio's threads. The record's addresses are those of `config`;
    /// none there: those that are bound, which then have to be what clients can reach.
    ///
    /// # Errors
    /// [`Error::Io`] of the sockets; [`Error::Refused`] for a configuration that no record can have.
    pub fn bind(
        secret: &ServerSecret,
        mut config: Config,
        options: Options,
    ) -> Result<Self, Error> {
        clock::check()?;
        let mut bound = bind(&options.at, options.shards.map_or(1, NonZeroUsize::get))?;
        let addresses = bound[0].addresses();
        if config.addresses.is_empty() {
            config.addresses.clone_from(&addresses);
        }
        // All shards have the same S', since they begin with the same seed at the same time of day.
        let (mut clock, at) = (Clock::default(), wall());
        let seed = clock.now().random();
        let (waiting, incoming) = mpsc::channel(WAITING);
        let (record, records) = watch::channel(None);
        let registry = options
            .registry
            .map(|registry| Arc::new(Mutex::new(registry)));
        let (channels, asked): (Vec<_>, Vec<_>) =
            bound.iter().map(|_| mpsc::unbounded_channel()).unzip();
        let mut traces = options.traces.into_iter();
        let mut drivers = Vec::new();
        let mut metrics = Vec::new();
        for ((here, sockets), asked) in OwnShard::all(&channels)
            .into_iter()
            .zip(bound.drain(..))
            .zip(asked)
        {
            let mut clock = Clock::default();
            let mut now = clock.now();
            now.wall = at;
            config.shard = here.shard();
            let (number, packet) = (config.shard.number as usize, config.packet);
            let engine = server::Server::new(copy(secret)?, config.clone(), seed, now)?;
            let (watched, watch) = Watched::new();
            metrics.push(watch);
            let program = Service {
                ends: DriverEnds::default(),
                waiting: waiting.clone(),
                // The driver ends with its server, not with the last of its own ends.
                commands: channels[number].downgrade(),
                record: (number == 0).then(|| record.clone()),
                registry: registry.clone(),
                watched,
                packet,
                here,
                ending: None,
            };
            let driver = Driver::new(engine, program, sockets, clock, asked);
            let driver = driver.with_offload(options.offload_handshakes);
            drivers.push(driver.traced(traces.next()));
        }
        let tasks = drivers.into_iter().map(|driver| tokio::spawn(driver.run()));
        Ok(Self {
            incoming,
            records,
            metrics,
            addresses,
            tasks: tasks.collect(),
            channels,
        })
    }

    /// Returns the next connection that a client asks for. Returns `None` if the server has ended.
    pub async fn accept(&mut self) -> Option<Incoming> {
        self.incoming.recv().await
    }

    /// Returns the addresses to which its sockets are bound.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Returns the newest record, and all that follow it: to be published.
    pub fn records(&self) -> watch::Receiver<Option<Record>> {
        self.records.clone()
    }

    /// Returns the newest record.
    pub async fn record(&self) -> Option<Record> {
        let mut records = self.records.clone();
        let record = records.wait_for(Option::is_some).await.ok()?;
        record.clone()
    }

    /// Closes all tunnels, so that their clients learn it at once, and ends.
    pub async fn end(self) {
        for commands in &self.channels {
            let (tell, told) = oneshot::channel();
            let _ = commands.send(ServerCommand::End(tell));
            let _ = told.await;
        }
    }

    /// Returns the server's metrics, as they change.
    pub fn metrics(&self) -> MetricsWatch {
        MetricsWatch(self.metrics.clone())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// The same secret for another shard.
fn copy(secret: &ServerSecret) -> Result<ServerSecret, Reason> {
    ServerSecret::from_bytes(&secret.to_bytes())
}

/// Sockets for each shard, at each address.
fn bind(at: &[SocketAddr], shards: usize) -> io::Result<Vec<Sockets>> {
    let mut all: Vec<Sockets> = (0..shards).map(|_| Sockets::default()).collect();
    for address in at {
        let mut address = *address;
        if shards > 1 {
            // Shards share an address, so that the system would let another server share it, too.
            drop(Socket::bind(address, 0, false)?);
        }
        for sockets in &mut all {
            let socket = Socket::bind(address, 0, shards > 1)?;
            // Port 0 was the system's to choose, once.
            address = socket.address();
            sockets.add(socket);
        }
        #[cfg(target_os = "linux")]
        if shards > 1
            && let Some(socket) = all[0].find(0, address)
        {
            socket.spread(shards as u32)?;
        }
    }
    Ok(all)
}

/// What happens at a server, for the holders of its connections.
struct Service {
    ends: DriverEnds,
    waiting: mpsc::Sender<Incoming>,
    commands: mpsc::WeakUnboundedSender<ServerCommand>,
    /// Of the first shard alone.
    record: Option<watch::Sender<Option<Record>>>,
    registry: Option<Arc<Mutex<Box<dyn Registry>>>>,
    watched: Watched,
    /// Longest packet.
    packet: usize,
    here: OwnShard<ServerCommand>,
    ending: Option<Ending>,
}

/// The server takes nothing more: its tunnels are told.
struct Ending {
    /// Who waits until the last word is said.
    tell: oneshot::Sender<()>,
    /// Not all tunnels were told.
    has_more: bool,
}

impl Program<server::Server> for Service {
    type Command = ServerCommand;

    fn event(&mut self, engine: &mut server::Server, _: Now<'_>, event: Event) {
        self.watched.event(&event);
        match event {
            Event::Create(create) => self.create(engine, create),
            Event::Readable(id) => self.ends.bring(engine, id),
            Event::Writable(id) => self.ends.writable(engine, id),
            Event::Closed(id) => self.ends.closed(engine, id),
            Event::Gone(tunnel, _) => self.ends.remove_tunnel(tunnel),
            Event::Record(record) => {
                if let Some(told) = &self.record {
                    told.send_replace(Some(*record));
                }
            }
            Event::Request {
                tunnel,
                number,
                request,
            } => {
                if let Some(reply) = self.answer((tunnel, number), request) {
                    engine.reply(tunnel, number, reply);
                }
            }
            _ => {}
        }
    }

    fn command(
        &mut self,
        engine: &mut server::Server,
        now: Now<'_>,
        command: ServerCommand,
    ) -> Vec<Socket> {
        match command {
            ServerCommand::Ask(ask) => self.ends.ask(engine, ask),
            ServerCommand::Accept(id, hand) => {
                // What came before the decision is told of by the decision.
                self.ends.add(id, hand);
                if !engine.decide(id, Ok(())) {
                    self.ends.remove(id);
                }
            }
            ServerCommand::Refuse(id, reason) => {
                engine.decide(id, Err(reason));
            }
            ServerCommand::Reply(tunnel, number, reply) => {
                engine.reply(tunnel, number, reply);
            }
            ServerCommand::Mail(mail) => {
                self.here.taken();
                match mail {
                    Mail::Datagram(peer, mut bytes) => {
                        let bytes = &mut bytes;
                        engine.receive(now, [Datagram { peer, bytes }]);
                    }
                    Mail::Accepted(client, nonce) => engine.remember(&client, nonce),
                }
            }
            ServerCommand::End(tell) => {
                self.ending = Some(Ending {
                    tell,
                    has_more: engine.close_some(now, CLOSED_AT_ONCE),
                });
            }
        }
        Vec::new()
    }

    fn screen(&mut self, engine: &mut server::Server, peer: SocketAddr, datagram: &[u8]) -> bool {
        if self.ending.is_some() {
            engine.count(Reason::Busy);
            return false;
        }
        let Some(tid) = tid(datagram).filter(|tid| !engine.has_tid(*tid)) else {
            return true;
        };
        let owner = self.here.owner(tid);
        if owner == self.here.shard().number {
            return true;
        }
        let mail = Mail::Datagram(peer, datagram.to_vec());
        if !self.here.send(owner, mail) {
            engine.count(Reason::Busy);
        }
        false
    }

    fn settled(&mut self, engine: &mut server::Server, now: Now<'_>) {
        self.here.tell(engine.shard_messages());
        if self.ending.is_some() {
            self.watched.hurry();
        }
        self.watched.settled(engine, &now);
        match &mut self.ending {
            Some(ending) if ending.has_more => {
                ending.has_more = engine.close_some(now, CLOSED_AT_ONCE);
            }
            Some(_) => {
                if let Some(ending) = self.ending.take() {
                    let _ = ending.tell.send(());
                }
            }
            None => {}
        }
    }

    fn due(&self) -> Option<Instant> {
        // What is to be said to the next tunnels is said at once.
        let ending = self.ending.as_ref().map(|_| Instant::default());
        ending.or_else(|| self.watched.due())
    }
}

impl Service {
    fn create(&self, engine: &mut server::Server, create: event::Create) {
        let id = create.connection;
        let incoming = Incoming::new(create, self.packet, self.commands.upgrade());
        if let Err(full) = self.waiting.try_send(incoming) {
            let (mpsc::error::TrySendError::Full(incoming)
            | mpsc::error::TrySendError::Closed(incoming)) = full;
            incoming.forget();
            engine.decide(id, Err(Reason::Busy));
        }
    }

    /// The answer to a request, if it is known at once.
    fn answer(&self, asked: (TunnelId, u64), request: event::Request) -> Option<Reply> {
        let Some(registry) = &self.registry else {
            return Some(Reply::Refused(Reason::NotAllowed));
        };
        let mut registry = registry.lock().unwrap_or_else(PoisonError::into_inner);
        match request {
            event::Request::Lookup { signing, hostname } => {
                let answer = Answer::new(asked, self.commands.clone());
                registry.find(signing, &hostname, answer);
                None
            }
            event::Request::Register(record) => {
                let taken = registry.take(*record);
                Some(taken.map_or_else(Reply::Refused, |()| Reply::Taken))
            }
        }
    }
}
