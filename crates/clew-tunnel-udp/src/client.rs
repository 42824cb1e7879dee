//! Clients: who opens tunnels.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clew_tunnel::Reason;
use clew_tunnel::engine::Now;
use clew_tunnel::engine::client::{self, Config, Target, UserId};
use clew_tunnel::engine::event::{Answer, Event, TunnelId};
use clew_tunnel::record::{Identity, Record, UserSecret};
use clew_tunnel::wire::values::CallWriter;
use tokio::sync::{mpsc, oneshot, watch};

use crate::clock::Clock;
use crate::connection::{self, Connection};
use crate::driver::{Driver, Program};
use crate::error::Error;
use crate::hands::{self, Ask, Decision, Hand, Hands};
use crate::message::Message;
use crate::sockets::{Socket, Sockets};
use crate::stats::{Counts, Stats, Watched};

/// A client: one engine, its sockets and the task that drives them. It ends with its last tunnel and
/// connection.
#[derive(Clone)]
pub struct Client {
    commands: mpsc::UnboundedSender<Command>,
    stats: watch::Receiver<Stats>,
    next: Arc<AtomicU64>,
}

/// A tunnel to one server. It ends when it is dropped, with its connections.
pub struct Tunnel {
    number: u64,
    commands: mpsc::UnboundedSender<Command>,
    state: watch::Receiver<State>,
}

/// Whether a tunnel is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The server has not answered yet.
    Opening,
    /// It has.
    Open,
    /// It is no more; none: it was closed by one of the two sides.
    Gone(Option<Reason>),
}

/// What the first packet of a tunnel is to have, as far as there is room.
pub struct First {
    number: u64,
    commands: mpsc::UnboundedSender<Command>,
    asked: Vec<Command>,
}

type Replied = oneshot::Sender<Answer>;

/// What a client's driver is asked.
enum Command {
    Ask(Ask),
    All(Vec<Command>),
    User(UserSecret, oneshot::Sender<UserId>),
    Open(u64, Box<Target>, watch::Sender<State>),
    Connect(u64, String, Option<UserId>, Hand),
    Say(hands::Key, Message),
    Lookup(u64, Option<[u8; 32]>, String, Replied),
    Register(u64, Box<Record>, Replied),
    Move(u64),
    Close(u64),
}

impl From<Ask> for Command {
    fn from(ask: Ask) -> Self {
        Self::Ask(ask)
    }
}

impl Client {
    /// Begins a client, on tokio's threads.
    ///
    /// # Errors
    /// The system's, of sockets.
    pub fn new(config: Config) -> io::Result<Self> {
        let mut sockets = Sockets::default();
        for socket in bind(0)? {
            sockets.add(socket);
        }
        let mut clock = Clock::default();
        let engine = client::Client::new(config, clock.now());
        let (commands, asked) = mpsc::unbounded_channel();
        let (watched, stats) = Watched::new();
        let program = Hub {
            hands: Hands::default(),
            tunnels: HashMap::new(),
            numbers: HashMap::new(),
            moves: 0,
            watched,
        };
        let driver = Driver::new(engine, program, sockets, clock, asked);
        drop(tokio::spawn(driver.run()));
        Ok(Self {
            commands,
            stats,
            next: Arc::new(AtomicU64::new(0)),
        })
    }

    /// Adds a user.
    ///
    /// # Errors
    /// [`Error::Gone`] if the driver has ended.
    pub async fn user(&self, secret: UserSecret) -> Result<UserId, Error> {
        let (tell, told) = oneshot::channel();
        let _ = self.commands.send(Command::User(secret, tell));
        told.await.map_err(|_| Error::Gone)
    }

    /// Opens a tunnel to a host by its record, which the caller has verified. What `first` asks for and sends
    /// is in the first packet, as far as it has room: no round trip is waited for.
    pub fn open<T>(&self, target: Target, first: impl FnOnce(&mut First) -> T) -> (Tunnel, T) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (tell, state) = watch::channel(State::Opening);
        let mut asked = First {
            number,
            commands: self.commands.clone(),
            asked: vec![Command::Open(number, Box::new(target), tell)],
        };
        let made = first(&mut asked);
        let _ = self.commands.send(Command::All(asked.asked));
        let tunnel = Tunnel {
            number,
            commands: self.commands.clone(),
            state,
        };
        (tunnel, made)
    }

    /// Waits until its driver has said its last words. It does so once all tunnels and connections were dropped,
    /// and all clones of this client.
    pub async fn ended(self) {
        let Self {
            commands, stats, ..
        } = self;
        drop(commands);
        let mut stats = stats;
        while stats.changed().await.is_ok() {}
    }

    /// What it counts.
    pub fn stats(&self) -> Counts {
        Counts(vec![self.stats.clone()])
    }
}

impl First {
    /// Asks for a connection to a service, of a user or anonymous.
    pub fn connect(&mut self, service: &str, user: Option<UserId>) -> Connection {
        let (held, hand) = hands::pair();
        let connect = Command::Connect(self.number, service.to_owned(), user, hand);
        self.asked.push(connect);
        let driver: Arc<dyn connection::Driver> = Arc::new(self.commands.clone());
        Connection::new(held, driver)
    }

    /// Sends an RPC on such a connection.
    ///
    /// # Errors
    /// As [`Message::new`].
    pub fn send(
        &mut self,
        connection: &Connection,
        name: &str,
        arguments: impl FnOnce(CallWriter<'_>) -> CallWriter<'_>,
    ) -> Result<(), Reason> {
        let message = Message::new(name, arguments)?;
        let say = Command::Say(connection.key(), message);
        self.asked.push(say);
        Ok(())
    }
}

impl Tunnel {
    /// Asks for a connection to a service. Data may be sent on it at once.
    pub fn connect(&self, service: &str, user: Option<UserId>) -> Connection {
        let mut asked = First {
            number: self.number,
            commands: self.commands.clone(),
            asked: Vec::new(),
        };
        let connection = asked.connect(service, user);
        let _ = self.commands.send(Command::All(asked.asked));
        connection
    }

    /// Waits until the server has answered.
    ///
    /// # Errors
    /// [`Error::Refused`], why it never will (`no-answer`); [`Error::Gone`] if it was closed.
    pub async fn opened(&self) -> Result<(), Error> {
        let mut state = self.state.clone();
        let known = state.wait_for(|state| *state != State::Opening).await;
        match known.map(|state| *state) {
            Ok(State::Open) => Ok(()),
            Ok(State::Gone(Some(reason))) => Err(Error::Refused(reason)),
            _ => Err(Error::Gone),
        }
    }

    /// How it stands, and will.
    pub fn state(&self) -> watch::Receiver<State> {
        self.state.clone()
    }

    /// Asks a directory for a host's record, which the caller has to verify.
    ///
    /// # Errors
    /// [`Error::Refused`]: `unknown-host`, or what the record is not; [`Error::Gone`].
    pub async fn lookup(&self, signing: Option<[u8; 32]>, host: &str) -> Result<Record, Error> {
        let (tell, told) = oneshot::channel();
        let lookup = Command::Lookup(self.number, signing, host.to_owned(), tell);
        let _ = self.commands.send(lookup);
        match told.await.map_err(|_| Error::Gone)? {
            Answer::Given(cert, ecert) => Ok(Record::of(&cert, &ecert)?),
            _ => Err(Reason::UnknownHost.into()),
        }
    }

    /// Gives a name service a record.
    ///
    /// # Errors
    /// [`Error::Refused`]: `not-allowed`, which stands for any reason; [`Error::Gone`].
    pub async fn register(&self, record: Record) -> Result<(), Error> {
        let (tell, told) = oneshot::channel();
        let register = Command::Register(self.number, Box::new(record), tell);
        let _ = self.commands.send(register);
        match told.await.map_err(|_| Error::Gone)? {
            Answer::Taken => Ok(()),
            _ => Err(Reason::NotAllowed.into()),
        }
    }

    /// The machine is elsewhere, or woke up: the tunnel goes on from a new port, under a new key and TID.
    pub fn moved(&self) {
        let _ = self.commands.send(Command::Move(self.number));
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        let _ = self.commands.send(Command::Close(self.number));
    }
}

/// Sockets of one name: one of each family that the machine has.
fn bind(name: u32) -> io::Result<Vec<Socket>> {
    let v4 = Socket::bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)), name, false);
    let v6 = Socket::bind(SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)), name, false);
    match (v4, v6) {
        (Err(error), Err(_)) => Err(error),
        (v4, v6) => Ok([v4, v6].into_iter().flatten().collect()),
    }
}

/// What happens at a client, to who holds its parts.
struct Hub {
    hands: Hands,
    tunnels: HashMap<u64, Opened>,
    numbers: HashMap<TunnelId, u64>,
    /// Sockets so far.
    moves: u32,
    watched: Watched,
}

/// A tunnel, at its driver.
struct Opened {
    id: TunnelId,
    state: watch::Sender<State>,
    /// Who waits for answers, in order.
    asked: std::collections::VecDeque<Replied>,
    socket: u32,
}

impl Program<client::Client> for Hub {
    type Command = Command;

    fn event(&mut self, engine: &mut client::Client, now: Now<'_>, event: Event) {
        self.watched.event(&now, &event);
        match event {
            Event::Readable(id) => self.hands.bring(engine, id),
            Event::Writable(id) => self.hands.writable(engine, id),
            Event::Closed(id) => self.hands.closed(engine, id),
            Event::Accepted(id) => self.hands.decided(id, Decision::Taken),
            Event::Refused(id) => self.hands.decided(id, Decision::Refused),
            Event::Opened(tunnel) => self.tell(tunnel, State::Open),
            Event::Reply { tunnel, reply } => {
                let asked = self
                    .find(tunnel)
                    .and_then(|opened| opened.asked.pop_front());
                if let Some(asked) = asked {
                    let _ = asked.send(reply);
                }
            }
            Event::Gone(tunnel, reason) => {
                self.tell(tunnel, State::Gone(reason));
                self.hands.remove_tunnel(tunnel);
                let number = self.numbers.remove(&tunnel);
                number.and_then(|number| self.tunnels.remove(&number));
            }
            _ => {}
        }
    }

    fn command(
        &mut self,
        engine: &mut client::Client,
        mut now: Now<'_>,
        command: Command,
    ) -> Vec<Socket> {
        match command {
            Command::Ask(ask) => self.hands.ask(engine, ask),
            Command::All(all) => {
                for command in all {
                    self.command(engine, now.again(), command);
                }
            }
            Command::User(secret, tell) => {
                let _ = tell.send(engine.add_user(secret));
            }
            Command::Open(number, target, state) => self.open(engine, now, number, *target, state),
            Command::Connect(number, service, user, hand) => {
                if let Some(opened) = self.tunnels.get(&number)
                    && let Ok(id) = engine.connect(&now, opened.id, &service, user)
                {
                    self.hands.add(id, hand);
                }
            }
            Command::Say(key, message) => self.hands.say(engine, key, &message),
            Command::Lookup(number, signing, hostname, tell) => {
                let identity = Identity {
                    signing,
                    hostname: &hostname,
                };
                let asks = |engine: &mut client::Client, id| engine.request(id, &identity);
                self.request(engine, number, tell, |engine, id| {
                    asks(engine, id) == Ok(true)
                });
            }
            Command::Register(number, record, tell) => {
                self.request(engine, number, tell, |engine, id| {
                    engine.register(id, &record)
                });
            }
            Command::Move(number) => return self.move_tunnel(engine, now, number),
            Command::Close(number) => {
                if let Some(opened) = self.tunnels.get(&number) {
                    engine.close_tunnel(now, opened.id);
                }
            }
        }
        Vec::new()
    }

    fn settled(&mut self, engine: &mut client::Client, now: Now<'_>) {
        self.watched.settled(engine, &now);
    }

    fn due(&self) -> Option<u64> {
        self.watched.due()
    }

    fn uses(&self, socket: u32) -> bool {
        socket == 0 || self.tunnels.values().any(|opened| opened.socket == socket)
    }
}

impl Hub {
    fn find(&mut self, tunnel: TunnelId) -> Option<&mut Opened> {
        let number = self.numbers.get(&tunnel)?;
        self.tunnels.get_mut(number)
    }

    fn tell(&mut self, tunnel: TunnelId, state: State) {
        if let Some(opened) = self.find(tunnel) {
            opened.state.send_replace(state);
        }
    }

    fn open(
        &mut self,
        engine: &mut client::Client,
        now: Now<'_>,
        number: u64,
        target: Target,
        state: watch::Sender<State>,
    ) {
        match engine.open(now, target, 0) {
            Err(reason) => {
                state.send_replace(State::Gone(Some(reason)));
            }
            Ok(id) => {
                self.numbers.insert(id, number);
                let opened = Opened {
                    id,
                    state,
                    asked: std::collections::VecDeque::new(),
                    socket: 0,
                };
                self.tunnels.insert(number, opened);
            }
        }
    }

    fn request(
        &mut self,
        engine: &mut client::Client,
        number: u64,
        tell: Replied,
        ask: impl FnOnce(&mut client::Client, TunnelId) -> bool,
    ) {
        if let Some(opened) = self.tunnels.get_mut(&number)
            && ask(engine, opened.id)
        {
            opened.asked.push_back(tell);
        }
    }

    fn move_tunnel(
        &mut self,
        engine: &mut client::Client,
        now: Now<'_>,
        number: u64,
    ) -> Vec<Socket> {
        let Some(opened) = self.tunnels.get_mut(&number) else {
            return Vec::new();
        };
        self.moves += 1;
        // Without a new port it cannot move: it remains where it is.
        let Ok(sockets) = bind(self.moves) else {
            return Vec::new();
        };
        opened.socket = self.moves;
        engine.moved(now, opened.id, self.moves);
        sockets
    }
}
