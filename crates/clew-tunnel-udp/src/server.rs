//! Services: who waits for connections.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use clew_tunnel::Reason;
use clew_tunnel::engine::Now;
use clew_tunnel::engine::event::{self, ConnectionId, Event, User};
use clew_tunnel::engine::server::{self, Config};
use clew_tunnel::record::{Record, ServerSecret};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use crate::clock::{Clock, wall};
use crate::connection::{self, Connection};
use crate::driver::{Driver, Program};
use crate::error::Error;
use crate::hands::{self, Ask, Hand, Hands};
use crate::sockets::{Socket, Sockets};
use crate::stats::{Stats, Watched};

/// Connections that wait for [`Server::accept`]; more are refused (`busy`).
const WAITING: usize = 1_024;

/// Answers for other hosts: a directory or a name service. It is asked on the server's own thread, and
/// answers from memory.
pub trait Registry: Send + Sync + 'static {
    /// The record of a host.
    ///
    /// # Errors
    /// `unknown-host`, or why this one is not given.
    fn find(&mut self, signing: Option<[u8; 32]>, hostname: &str) -> Result<Record, Reason>;

    /// A host gives its newest record, of which nothing is verified.
    ///
    /// # Errors
    /// Why it is not taken: section 3.3 of the specification, by its own policy of trust.
    fn take(&mut self, record: Record) -> Result<(), Reason>;
}

/// A server: one engine, its sockets and the task that drives them. It ends when it is dropped.
pub struct Server {
    incoming: mpsc::Receiver<Incoming>,
    records: watch::Receiver<Option<Record>>,
    stats: watch::Receiver<Stats>,
    addresses: Vec<SocketAddr>,
    commands: mpsc::WeakUnboundedSender<Command>,
    task: JoinHandle<io::Result<()>>,
}

/// A connection that a client asks for: to be accepted or refused. Dropped, it is refused.
pub struct Incoming {
    create: event::Create,
    commands: Option<mpsc::UnboundedSender<Command>>,
}

/// What a server's driver is asked.
enum Command {
    Ask(Ask),
    Accept(ConnectionId, Hand),
    Refuse(ConnectionId, Reason),
    End(oneshot::Sender<()>),
}

impl From<Ask> for Command {
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
        secret: ServerSecret,
        mut config: Config,
        at: &[SocketAddr],
        registry: Option<Box<dyn Registry>>,
    ) -> Result<Self, Error> {
        let mut sockets = Sockets::default();
        for address in at {
            sockets.add(Socket::bind(*address, 0, false)?);
        }
        let addresses = sockets.addresses();
        if config.addresses.is_empty() {
            config.addresses.clone_from(&addresses);
        }
        let mut clock = Clock::new();
        let mut now = clock.now();
        now.wall = wall();
        let seed = now.random();
        let engine = server::Server::new(secret, config, seed, now)?;
        let (commands, asked) = mpsc::unbounded_channel();
        let (waiting, incoming) = mpsc::channel(WAITING);
        let (record, records) = watch::channel(None);
        let (watched, stats) = Watched::new();
        let program = Service {
            hands: Hands::default(),
            waiting,
            // The driver ends with its server, not with the last of its own hands.
            commands: commands.downgrade(),
            record,
            registry,
            watched,
            ending: None,
        };
        let weak = commands.downgrade();
        let driver = Driver::new(engine, program, sockets, clock, asked);
        let task = tokio::spawn(async move {
            let _kept = commands;
            driver.run().await
        });
        Ok(Self {
            incoming,
            records,
            stats,
            addresses,
            commands: weak,
            task,
        })
    }

    /// The next connection that a client asks for. None if the server has ended.
    pub async fn accept(&mut self) -> Option<Incoming> {
        self.incoming.recv().await
    }

    /// Where its sockets are bound.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The newest record, and all that follow it: to be published.
    pub fn records(&self) -> watch::Receiver<Option<Record>> {
        self.records.clone()
    }

    /// The newest record.
    pub async fn record(&self) -> Option<Record> {
        let mut records = self.records.clone();
        let record = records.wait_for(Option::is_some).await.ok()?;
        record.clone()
    }

    /// Closes the tunnels that have connections, so that their clients learn it at once, and ends.
    pub async fn end(self) {
        let (tell, told) = oneshot::channel();
        if let Some(commands) = self.commands.upgrade() {
            let _ = commands.send(Command::End(tell));
            let _ = told.await;
        }
    }

    /// What it counts, some times a second.
    pub fn stats(&self) -> watch::Receiver<Stats> {
        self.stats.clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Incoming {
    /// The service that is asked for.
    pub fn service(&self) -> &str {
        &self.create.service
    }

    /// Whose the connection is to be.
    pub const fn user(&self) -> User {
        self.create.user
    }

    /// Where the client is.
    pub const fn address(&self) -> SocketAddr {
        self.create.address
    }

    /// Whether the client has shown that it receives there.
    pub const fn is_proven(&self) -> bool {
        self.create.is_proven
    }

    /// Takes the connection.
    pub fn accept(mut self) -> Connection {
        let (held, hand) = hands::pair();
        let id = self.create.connection;
        // Dropped meanwhile: the connection reads as ended.
        let commands = self
            .commands
            .take()
            .unwrap_or_else(|| mpsc::unbounded_channel().0);
        let _ = commands.send(Command::Accept(id, hand));
        let driver: Arc<dyn connection::Driver> = Arc::new(commands);
        Connection::new(held, driver)
    }

    /// Refuses it: `unknown-service`, `not-authorised`. The client learns that it is refused, the server's
    /// counters why.
    pub fn refuse(mut self, reason: Reason) {
        self.say_no(reason);
    }

    fn say_no(&mut self, reason: Reason) {
        if let Some(commands) = self.commands.take() {
            let _ = commands.send(Command::Refuse(self.create.connection, reason));
        }
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        self.say_no(Reason::NotAuthorised);
    }
}

/// What happens at a server, to who holds its parts.
struct Service {
    hands: Hands,
    waiting: mpsc::Sender<Incoming>,
    commands: mpsc::WeakUnboundedSender<Command>,
    record: watch::Sender<Option<Record>>,
    registry: Option<Box<dyn Registry>>,
    watched: Watched,
    /// Who waits until the last word is said.
    ending: Option<oneshot::Sender<()>>,
}

impl Program<server::Server> for Service {
    type Command = Command;

    fn event(&mut self, engine: &mut server::Server, now: Now<'_>, event: Event) {
        self.watched.event(&now, &event);
        match event {
            Event::Create(create) => self.create(engine, create),
            Event::Readable(id) => self.hands.bring(engine, id),
            Event::Writable(id) => self.hands.writable(engine, id),
            Event::Closed(id) => self.hands.closed(engine, id),
            Event::Gone(tunnel, _) => self.hands.remove_tunnel(tunnel),
            Event::Record(record) => {
                self.record.send_replace(Some(*record));
            }
            Event::Request {
                tunnel,
                number,
                request,
            } => {
                let reply = self.answer(request);
                engine.reply(tunnel, number, reply);
            }
            _ => {}
        }
    }

    fn command(
        &mut self,
        engine: &mut server::Server,
        mut now: Now<'_>,
        command: Command,
    ) -> Vec<Socket> {
        match command {
            Command::Ask(ask) => self.hands.ask(engine, ask),
            Command::Accept(id, hand) => {
                // What came before the decision is told of by the decision.
                self.hands.add(id, hand);
                if !engine.decide(id, Ok(())) {
                    self.hands.remove(id);
                }
            }
            Command::Refuse(id, reason) => {
                engine.decide(id, Err(reason));
            }
            Command::End(tell) => {
                for tunnel in self.hands.tunnels() {
                    engine.close_tunnel(now.again(), tunnel);
                }
                self.ending = Some(tell);
            }
        }
        Vec::new()
    }

    fn settled(&mut self, engine: &server::Server, now: Now<'_>) {
        if self.ending.is_some() {
            self.watched.hurry();
        }
        self.watched.settled(engine, &now);
        if let Some(ending) = self.ending.take() {
            let _ = ending.send(());
        }
    }

    fn due(&self) -> Option<u64> {
        self.watched.due()
    }
}

impl Service {
    fn create(&self, engine: &mut server::Server, create: event::Create) {
        let id = create.connection;
        let incoming = Incoming {
            create,
            commands: self.commands.upgrade(),
        };
        if let Err(full) = self.waiting.try_send(incoming) {
            let mut incoming = match full {
                mpsc::error::TrySendError::Full(incoming)
                | mpsc::error::TrySendError::Closed(incoming) => incoming,
            };
            incoming.commands = None;
            engine.decide(id, Err(Reason::Busy));
        }
    }

    fn answer(&mut self, request: event::Request) -> event::Reply {
        let Some(registry) = &mut self.registry else {
            return event::Reply::Refused(Reason::NotAllowed);
        };
        match request {
            event::Request::Lookup { signing, hostname } => {
                let found = registry.find(signing, &hostname);
                found.map_or_else(event::Reply::Refused, |record| {
                    event::Reply::Record(Box::new(record))
                })
            }
            event::Request::Register(record) => {
                let taken = registry.take(*record);
                taken.map_or_else(event::Reply::Refused, |()| event::Reply::Taken)
            }
        }
    }
}
