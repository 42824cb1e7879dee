//! A client's driver: what happens, for the holders of its tunnels and connections.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use clew_tunnel::Reason;
use clew_tunnel::engine::Now;
use clew_tunnel::engine::client::{self, Target, UserId};
use clew_tunnel::engine::event::{Answer, Event, TunnelId};
use clew_tunnel::record::{Identity, Record, UserSecret};
use clew_wire::Instant;
use tokio::sync::{oneshot, watch};

use crate::client::State;
use crate::driver::Program;
use crate::ends::{self, Ask, Decision, DriverEnd, DriverEnds};
use crate::message::Message;
use crate::metrics::Watched;
use crate::sockets::Socket;

type Replied = oneshot::Sender<Answer>;

/// What a client's driver is asked.
pub(crate) enum ClientCommand {
    Ask(Ask),
    All(Vec<ClientCommand>),
    User(UserSecret, oneshot::Sender<UserId>),
    /// Opens a tunnel; or prepares it alone.
    Open(u64, Box<Target>, Watchers, bool),
    Connect(u64, String, Option<UserId>, DriverEnd),
    Say(ends::Key, Message),
    Lookup(u64, Option<[u8; 32]>, String, Replied),
    Register(u64, Box<Record>, Replied),
    /// Whether another connection may be in a tunnel, which has so many at most, and was heard so lately.
    IsReady(u64, usize, Duration, oneshot::Sender<bool>),
    Move(u64),
    Close(u64),
}

/// What a tunnel's holder is told of it.
pub(crate) struct Watchers {
    pub(crate) state: watch::Sender<State>,
    pub(crate) newer: watch::Sender<Option<Record>>,
}

impl From<Ask> for ClientCommand {
    fn from(ask: Ask) -> Self {
        Self::Ask(ask)
    }
}

/// Sockets of one name: one of each family that the machine has.
pub(crate) fn bind(name: u32) -> io::Result<Vec<Socket>> {
    let v4 = Socket::bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)), name, false);
    let v6 = Socket::bind(SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)), name, false);
    match (v4, v6) {
        (Err(error), Err(_)) => Err(error),
        (v4, v6) => Ok([v4, v6].into_iter().flatten().collect()),
    }
}

/// What happens at a client, for the holders of its tunnels and connections.
pub(crate) struct ClientProgram {
    ends: DriverEnds,
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
    newer: watch::Sender<Option<Record>>,
    /// Who waits for answers, in order.
    asked: VecDeque<Replied>,
    socket: u32,
}

impl Program<client::Client> for ClientProgram {
    type Command = ClientCommand;

    fn event(&mut self, engine: &mut client::Client, _: Now<'_>, event: Event) {
        self.watched.event(&event);
        self.heard(&event);
        match event {
            Event::Readable(id) => self.ends.bring(engine, id),
            Event::Writable(id) => self.ends.writable(engine, id),
            Event::Closed(id) => self.ends.closed(engine, id),
            Event::Accepted(id) => self.ends.decided(id, Decision::Taken),
            Event::Refused(id) => self.ends.decided(id, Decision::Refused),
            Event::Unheard(id) => self.ends.decided(id, Decision::Unheard),
            Event::Newer { tunnel, record } => {
                if let Some(opened) = self.find(tunnel) {
                    opened.newer.send_replace(Some(*record));
                }
            }
            Event::Opened(tunnel) => self.tell(tunnel, State::Open),
            Event::Silent(tunnel) => self.tell(tunnel, State::Silent),
            Event::Reply { tunnel, reply } => {
                let opened = self.find(tunnel);
                if let Some(asked) = opened.and_then(|opened| opened.asked.pop_front()) {
                    let _ = asked.send(reply);
                }
            }
            Event::Gone(tunnel, reason) => {
                self.tell(tunnel, State::Gone(reason));
                self.ends.remove_tunnel(tunnel);
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
        command: ClientCommand,
    ) -> Vec<Socket> {
        match command {
            ClientCommand::Ask(ask) => self.ends.ask(engine, ask),
            ClientCommand::All(all) => {
                for command in all {
                    self.command(engine, now.again(), command);
                }
            }
            ClientCommand::User(secret, tell) => {
                let _ = tell.send(engine.add_user(secret));
            }
            ClientCommand::Open(number, target, watchers, is_prepared) => {
                let opened = match is_prepared {
                    true => engine.prepare(now, *target, 0),
                    false => engine.open(now, *target, 0),
                };
                self.opened(number, opened, watchers);
            }
            ClientCommand::Connect(number, service, user, hand) => {
                let opened = self.tunnels.get(&number);
                let connect = |opened: &Opened| engine.connect(&now, opened.id, &service, user);
                match opened.map(connect) {
                    Some(Ok(id)) => self.ends.add(id, hand),
                    Some(Err(Reason::BadService)) => {}
                    _ => hand.unheard(),
                }
            }
            ClientCommand::IsReady(number, most, quiet, tell) => {
                let opened = self.tunnels.get(&number);
                let is_ready =
                    opened.is_some_and(|opened| engine.is_ready(&now, opened.id, most, quiet));
                let _ = tell.send(is_ready);
            }
            ClientCommand::Say(key, message) => self.ends.say(engine, key, &message),
            ClientCommand::Lookup(number, signing, hostname, tell) => {
                let identity = Identity {
                    signing,
                    hostname: &hostname,
                };
                let ask = |id| engine.request(id, &identity) == Ok(true);
                self.request(number, tell, ask);
            }
            ClientCommand::Register(number, record, tell) => {
                self.request(number, tell, |id| engine.register(id, &record));
            }
            ClientCommand::Move(number) => return self.move_tunnel(engine, now, number),
            ClientCommand::Close(number) => {
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

    fn due(&self) -> Option<Instant> {
        self.watched.due()
    }

    fn uses(&self, socket: u32) -> bool {
        socket == 0 || self.tunnels.values().any(|opened| opened.socket == socket)
    }
}

impl ClientProgram {
    /// Creates a program without tunnels.
    pub(crate) fn new(watched: Watched) -> Self {
        Self {
            ends: DriverEnds::default(),
            tunnels: HashMap::new(),
            numbers: HashMap::new(),
            moves: 0,
            watched,
        }
    }

    fn find(&mut self, tunnel: TunnelId) -> Option<&mut Opened> {
        let number = self.numbers.get(&tunnel)?;
        self.tunnels.get_mut(number)
    }

    fn tell(&mut self, tunnel: TunnelId, state: State) {
        if let Some(opened) = self.find(tunnel) {
            opened.state.send_replace(state);
        }
    }

    /// What only comes of a server's packet ends its silence.
    fn heard(&mut self, event: &Event) {
        let (Event::Readable(id) | Event::Writable(id) | Event::Closed(id) | Event::Accepted(id)) =
            event
        else {
            return;
        };
        if let Some(opened) = self.find(id.tunnel)
            && *opened.state.borrow() == State::Silent
        {
            opened.state.send_replace(State::Open);
        }
    }

    fn opened(&mut self, number: u64, id: Result<TunnelId, Reason>, watchers: Watchers) {
        let Watchers { state, newer } = watchers;
        match id {
            Err(reason) => {
                state.send_replace(State::Gone(Some(reason)));
            }
            Ok(id) => {
                self.numbers.insert(id, number);
                let opened = Opened {
                    id,
                    state,
                    newer,
                    asked: VecDeque::new(),
                    socket: 0,
                };
                self.tunnels.insert(number, opened);
            }
        }
    }

    fn request(&mut self, number: u64, tell: Replied, ask: impl FnOnce(TunnelId) -> bool) {
        if let Some(opened) = self.tunnels.get_mut(&number)
            && ask(opened.id)
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
