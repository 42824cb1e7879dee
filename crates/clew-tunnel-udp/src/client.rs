//! Clients: who opens tunnels.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clew_tunnel::Reason;
use clew_tunnel::engine::client::{self, Config, Target, UserId};
use clew_tunnel::engine::event::Answer;
use clew_tunnel::record::{Record, UserSecret};
use clew_tunnel::wire::values::CallWriter;
use tokio::sync::{mpsc, oneshot, watch};

use crate::client_program::{ClientCommand, ClientProgram, Watchers, bind};
use crate::clock::{self, Clock};
use crate::connection::{self, Connection};
use crate::driver::Driver;
use crate::ends;
use crate::error::Error;
use crate::message::Message;
use crate::metrics::{Metrics, MetricsWatch, Watched};
use crate::qlog::Trace;
use crate::sockets::Sockets;

/// A client: one engine, its sockets and the task that drives them. It ends with its last tunnel and
/// connection.
#[derive(Clone)]
pub struct Client {
    commands: mpsc::UnboundedSender<ClientCommand>,
    metrics: watch::Receiver<Metrics>,
    next: Arc<AtomicU64>,
    /// Longest packet.
    packet: usize,
}

/// A tunnel to one server. It ends when it is dropped, with its connections.
pub struct Tunnel {
    number: u64,
    packet: usize,
    commands: mpsc::UnboundedSender<ClientCommand>,
    state: watch::Receiver<State>,
    newer: watch::Receiver<Option<Record>>,
}

/// Whether a tunnel is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The server has not answered yet.
    Opening,
    /// It has.
    Open,
    /// It has, but now nothing comes back: the network is gone, or the server. The tunnel goes on if that is
    /// over within 300 s; until then who asks for something new may do better in another tunnel.
    Silent,
    /// It is no more; none: it was closed by one of the two sides.
    Gone(Option<Reason>),
}

/// What the first packet of a tunnel is to have, as far as there is room.
pub struct FirstPacket {
    number: u64,
    packet: usize,
    commands: mpsc::UnboundedSender<ClientCommand>,
    asked: Vec<ClientCommand>,
}

impl Client {
    /// Begins a client, on tokio's threads.
    ///
    /// # Errors
    /// The system's, of sockets.
    pub fn new(config: Config) -> io::Result<Self> {
        Self::begin(config, None)
    }

    /// Creates a client that traces what happens to each packet, in qlog's form:
    ///
    /// ```no_run
    /// # use clew_tunnel_udp::{Client, Trace, tunnel::engine::client::Config};
    /// let file = std::io::BufWriter::new(std::fs::File::create_new("client.sqlog")?);
    /// let client = Client::traced(Config::default(), Trace::new(Box::new(file), "client")?)?;
    /// # std::io::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn traced(config: Config, trace: Trace) -> io::Result<Self> {
        Self::begin(config, Some(trace))
    }

    fn begin(config: Config, trace: Option<Trace>) -> io::Result<Self> {
        clock::check()?;
        let mut sockets = Sockets::default();
        for socket in bind(0)? {
            sockets.add(socket);
        }
        let mut clock = Clock::default();
        let engine = client::Client::new(config, clock.now());
        let (commands, asked) = mpsc::unbounded_channel();
        let (watched, metrics) = Watched::new();
        let program = ClientProgram::new(watched);
        let driver = Driver::new(engine, program, sockets, clock, asked).traced(trace);
        drop(tokio::spawn(driver.run()));
        Ok(Self {
            commands,
            metrics,
            next: Arc::new(AtomicU64::new(0)),
            packet: config.packet,
        })
    }

    /// Adds a user.
    ///
    /// # Errors
    /// [`Error::Gone`] if the driver has ended.
    pub async fn user(&self, secret: UserSecret) -> Result<UserId, Error> {
        let (tell, told) = oneshot::channel();
        let _ = self.commands.send(ClientCommand::User(secret, tell));
        told.await.map_err(|_| Error::Gone)
    }

    /// Opens a tunnel to a host by its record, which the caller has verified. What `first` asks for and sends
    /// is in the first packet, as far as it has room: no round trip is waited for.
    pub fn open<T>(
        &self,
        target: Target,
        first: impl FnOnce(&mut FirstPacket) -> T,
    ) -> (Tunnel, T) {
        let (tunnel, tell) = self.tunnel();
        let open = ClientCommand::Open(tunnel.number, Box::new(target), tell, false);
        let made = tunnel.ask(vec![open], first);
        (tunnel, made)
    }

    /// Computes what a tunnel to a host begins with, and sends nothing: until [`Tunnel::begin`], which then
    /// waits for no key. A host will take it for as long as the record is good, and a tunnel that is not
    /// begun ends as one without connections does.
    pub fn prepare(&self, target: Target) -> Tunnel {
        let (tunnel, tell) = self.tunnel();
        let prepare = ClientCommand::Open(tunnel.number, Box::new(target), tell, true);
        let _ = self.commands.send(prepare);
        tunnel
    }

    fn tunnel(&self) -> (Tunnel, Watchers) {
        let (tell, state) = watch::channel(State::Opening);
        let (tell_newer, newer) = watch::channel(None);
        let tunnel = Tunnel {
            number: self.next.fetch_add(1, Ordering::Relaxed),
            packet: self.packet,
            commands: self.commands.clone(),
            state,
            newer,
        };
        let watchers = Watchers {
            state: tell,
            newer: tell_newer,
        };
        (tunnel, watchers)
    }

    /// Waits until its driver has said its last words. It does so once all tunnels and connections were dropped,
    /// and all clones of this client.
    pub async fn ended(self) {
        let Self {
            commands, metrics, ..
        } = self;
        drop(commands);
        let mut metrics = metrics;
        while metrics.changed().await.is_ok() {}
    }

    /// Returns the client's metrics, as they change.
    pub fn metrics(&self) -> MetricsWatch {
        MetricsWatch(vec![self.metrics.clone()])
    }
}

impl FirstPacket {
    /// Asks for a connection to a service, of a user or anonymous.
    pub fn connect(&mut self, service: &str, user: Option<UserId>) -> Connection {
        let (held, hand) = ends::pair(self.packet);
        let connect = ClientCommand::Connect(self.number, service.to_owned(), user, hand);
        self.asked.push(connect);
        let driver: Arc<dyn connection::DriverHandle> = Arc::new(self.commands.clone());
        Connection::new(held, driver)
    }

    /// Sends an RPC on such a connection.
    ///
    /// # Errors
    /// As [`Message::new`]; `too-long` for what no packet has room for.
    pub fn send(
        &mut self,
        connection: &Connection,
        name: &str,
        arguments: impl FnOnce(CallWriter<'_>) -> CallWriter<'_>,
    ) -> Result<(), Reason> {
        let message = Message::new(name, arguments)?;
        if message.value().len() > ends::longest(self.packet) {
            return Err(Reason::TooLong);
        }
        let say = ClientCommand::Say(connection.key(), message);
        self.asked.push(say);
        Ok(())
    }
}

impl Tunnel {
    /// Begins a tunnel that was prepared: what `first` asks for and sends is in the first packet, as far as it
    /// has room.
    pub fn begin<T>(&self, first: impl FnOnce(&mut FirstPacket) -> T) -> T {
        self.ask(Vec::new(), first)
    }

    /// Asks for a connection to a service. Data may be sent on it at once.
    pub fn connect(&self, service: &str, user: Option<UserId>) -> Connection {
        self.begin(|first| first.connect(service, user))
    }

    /// All at once, so that nothing is sent before the last of it.
    fn ask<T>(&self, before: Vec<ClientCommand>, first: impl FnOnce(&mut FirstPacket) -> T) -> T {
        let mut asked = FirstPacket {
            number: self.number,
            packet: self.packet,
            commands: self.commands.clone(),
            asked: before,
        };
        let made = first(&mut asked);
        let _ = self.commands.send(ClientCommand::All(asked.asked));
        made
    }

    /// Waits until the server has answered.
    ///
    /// # Errors
    /// [`Error::Refused`], why it never will (`no-answer`); [`Error::Gone`] if it was closed.
    pub async fn opened(&self) -> Result<(), Error> {
        let mut state = self.state.clone();
        let known = state.wait_for(|state| *state != State::Opening).await;
        match known.map(|state| *state) {
            Ok(State::Open | State::Silent) => Ok(()),
            Ok(State::Gone(Some(reason))) => Err(Error::Refused(reason)),
            _ => Err(Error::Gone),
        }
    }

    /// Returns the tunnel's state, as it changes.
    pub fn state(&self) -> watch::Receiver<State> {
        self.state.clone()
    }

    /// Returns a newer record of the server than the one that the tunnel was opened with, if the server gave
    /// one: it is verified.
    pub fn newer(&self) -> Option<Record> {
        self.newer.borrow().clone()
    }

    /// Returns whether a new connection may as well be in this tunnel: it has fewer than `most`, and its server
    /// was heard within `quiet`. A new tunnel's first packet is no later, and a server that began anew takes
    /// it, while it does not know this tunnel any more.
    pub async fn is_ready(&self, most: usize, quiet: Duration) -> bool {
        let (tell, told) = oneshot::channel();
        let ask = ClientCommand::IsReady(self.number, most, quiet, tell);
        let _ = self.commands.send(ask);
        told.await.unwrap_or(false)
    }

    /// Asks a directory for a host's record, which the caller has to verify.
    ///
    /// # Errors
    /// [`Error::Refused`]: `unknown-host`, or what the record is not; [`Error::Gone`].
    pub async fn lookup(&self, signing: Option<[u8; 32]>, host: &str) -> Result<Record, Error> {
        let (tell, told) = oneshot::channel();
        let lookup = ClientCommand::Lookup(self.number, signing, host.to_owned(), tell);
        let _ = self.commands.send(lookup);
        match told.await.map_err(|_| Error::Gone)? {
            Answer::Given(cert, ecert) => Ok(Record::of(&cert, &ecert)?),
            _ => Err(Reason::UnknownHost.into()),
        }
    }

    /// Gives a name server a record.
    ///
    /// # Errors
    /// [`Error::Refused`]: `not-allowed`, which stands for any reason; [`Error::Gone`].
    pub async fn register(&self, record: Record) -> Result<(), Error> {
        let (tell, told) = oneshot::channel();
        let register = ClientCommand::Register(self.number, Box::new(record), tell);
        let _ = self.commands.send(register);
        match told.await.map_err(|_| Error::Gone)? {
            Answer::Taken => Ok(()),
            _ => Err(Reason::NotAllowed.into()),
        }
    }

    /// Tells that the machine has another address, or woke up: the tunnel goes on from a new port,
    /// under a new key and TID.
    pub fn moved(&self) {
        let _ = self.commands.send(ClientCommand::Move(self.number));
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        let _ = self.commands.send(ClientCommand::Close(self.number));
    }
}
