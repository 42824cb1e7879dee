//! The client: it opens tunnels (`spec/tunnel.md` sections 6 to 13).
//!
//! Used as [`super::server::Server`] is. One client has any number of tunnels, each on the socket that its
//! program names.

mod attempt;
mod control;
mod jobs;
mod load;
mod receive;
mod rekey;
mod target;
mod timers;
mod transmit;
mod tunnel;
mod users;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;

use hashbrown::HashMap;

pub use jobs::Jobs;
use jobs::{Solve, Start};
pub use load::Load;
pub use target::{Config, Target};
pub use users::UserId;
use users::Users;

use attempt::Attempt;
use tunnel::{Asked, State, Tunnel, Wish};

use super::agenda::Agenda;
use super::channel::{Channel, Common, Now};
use super::event::{ConnectionId, Event, Status, TunnelId};
use super::hash::Hasher;
use super::outgoing::Outgoing;
use super::trace::Received;
use super::tunnels::Tunnels;
use crate::limits::{self, LOOKUPS, NAME_MAX};
use crate::reason::{Counters, Reason};
use crate::record::{Identity, Record, UserSecret, Wanted};
use crate::wire::packet::Tid;
use crate::wire::rpc::Rpc;
use crate::wire::values::{Call, CallWriter};
use crate::x25519::Secret;

/// Which key of a tunnel a TID is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    First,
    Current,
    Old,
}

/// What all tunnels of a client share.
#[derive(Debug)]
pub struct Shared {
    common: Common,
    config: Config,
    users: Users,
    solves: Vec<Solve>,
}

impl AsMut<Common> for Shared {
    fn as_mut(&mut self) -> &mut Common {
        &mut self.common
    }
}

impl Shared {
    /// What this client asks of a newer record of a host.
    fn wanted<'a>(&self, now: &Now<'_>, held: &'a Record) -> Wanted<'a> {
        Wanted {
            hostname: core::str::from_utf8(&held.cert.body.hostname).ok(),
            now: now.wall,
            cert_lifetime_max: self.config.cert_lifetime_max,
        }
    }
}

/// A client. See the module.
#[derive(Debug)]
pub struct Client {
    shared: Shared,
    tunnels: Tunnels<Tunnel>,
    tids: HashMap<Tid, (u32, Which), Hasher>,
    starts: Vec<Start>,
    agenda: Agenda,
    /// What is said of tunnels that are gone.
    plain: VecDeque<Plain>,
}

/// From a socket, to an address, a datagram.
type Plain = ((u32, SocketAddr), Box<[u8]>);

/// Last packets of tunnels that wait to be sent at most; more are dropped, and counted (`busy`).
const PLAIN_MAX: usize = 1_024;

impl Client {
    /// A client without tunnels.
    pub fn new(config: Config, mut now: Now<'_>) -> Self {
        Self {
            shared: Shared {
                common: Common::default(),
                config,
                users: Users::default(),
                solves: Vec::new(),
            },
            tunnels: Tunnels::default(),
            tids: HashMap::with_hasher(Hasher::new(now.random())),
            starts: Vec::new(),
            agenda: Agenda::default(),
            plain: VecDeque::new(),
        }
    }

    /// Adds a user.
    pub fn add_user(&mut self, secret: UserSecret) -> UserId {
        self.shared.users.add(secret)
    }

    /// Opens a tunnel, on the socket that the program calls `from`. Its keys wait for [`Self::jobs`];
    /// connections may be asked for at once, so that they are in the first packet.
    ///
    /// # Errors
    /// `bad-address` if the target has none.
    pub fn open(&mut self, now: Now<'_>, target: Target, from: u32) -> Result<TunnelId, Reason> {
        self.begin(now, target, from, false)
    }

    /// The same, but nothing is sent before the first connection or request is asked for: that one then waits
    /// for no key. A tunnel that nobody wants ends as any without connections does.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn prepare(&mut self, now: Now<'_>, target: Target, from: u32) -> Result<TunnelId, Reason> {
        self.begin(now, target, from, true)
    }

    fn begin(
        &mut self,
        mut now: Now<'_>,
        target: Target,
        from: u32,
        is_held: bool,
    ) -> Result<TunnelId, Reason> {
        if target.addresses().is_empty() {
            return Err(Reason::BadAddress);
        }
        let tid = Tid::from_random(now.random());
        let server = target.server_key();
        let secret = Secret::from_bytes(now.random());
        let attempt = Attempt::new(tid, secret, is_held, &mut now);
        let secret = attempt.secret();
        let packet = self.shared.config.packet;
        let make = |id| Tunnel::new(id, target, from, attempt, packet, &mut now);
        let id = self.tunnels.insert(make);
        self.starts.push(Start {
            tunnel: id,
            secret,
            server,
            result: Err(Reason::BadKey),
        });
        self.note_first(id.index);
        Ok(id)
    }

    /// Asks for a connection to a service, of a user or anonymous: its number, if the tunnel is there.
    ///
    /// # Errors
    /// `bad-service`; `too-many-connections`; `closed-connection` if the tunnel is gone.
    pub fn connect(
        &mut self,
        now: &Now<'_>,
        tunnel: TunnelId,
        service: &str,
        user: Option<UserId>,
    ) -> Result<ConnectionId, Reason> {
        let is_name = (1..=NAME_MAX).contains(&service.len());
        if !is_name || service.chars().any(char::is_control) {
            return Err(Reason::BadService);
        }
        let found = self.tunnels.get(tunnel).ok_or(Reason::ClosedConnection)?;
        let connections = &mut found.channel.connections;
        if connections.len() >= limits::CONNECTIONS_MAX {
            return Err(Reason::TooManyConnections);
        }
        let number = connections.draw(now.instant);
        let number = number.ok_or(Reason::TooManyConnections)?;
        found.wishes.push_back(Wish {
            number,
            service: String::from(service),
            user,
        });
        found.want();
        self.touch(tunnel.index);
        Ok(ConnectionId { tunnel, number })
    }

    /// Asks a tunnel's server for a host's record; [`Event::Reply`] brings the answer. False if the tunnel is
    /// gone, or has too many requests.
    ///
    /// # Errors
    /// `bad-identity`.
    pub fn request(&mut self, tunnel: TunnelId, host: &Identity<'_>) -> Result<bool, Reason> {
        let identity = host.to_bytes()?;
        let rpc = Rpc::RequestCert {
            identity: &identity,
        };
        Ok(self.ask(tunnel, Asked::Record, &rpc))
    }

    /// Gives a record to a tunnel's server; [`Event::Reply`] brings the answer. False if the tunnel is gone,
    /// or has too many requests.
    pub fn register(&mut self, tunnel: TunnelId, record: &Record) -> bool {
        let (cert, ecert) = (record.cert.to_bytes(), record.ecert.to_bytes());
        let rpc = Rpc::GiveCert {
            cert: &cert,
            ecert: &ecert,
        };
        self.ask(tunnel, Asked::Register, &rpc)
    }

    fn ask(&mut self, tunnel: TunnelId, asked: Asked, rpc: &Rpc<'_>) -> bool {
        let found = self.tunnels.get(tunnel);
        let Some(found) = found.filter(|found| found.asked.len() < LOOKUPS) else {
            return false;
        };
        found.asked.push_back(asked);
        found.want();
        found.channel.control(rpc);
        self.touch(tunnel.index);
        true
    }

    /// What happened next. To be asked until there is nothing more.
    pub fn event(&mut self) -> Option<Event> {
        self.shared.common.events.pop_front()
    }

    /// Keeps the last packets that are decrypted, `most` of them, for [`Self::traced`].
    pub fn trace(&mut self, most: usize) {
        self.shared.common.trace.keep(most);
    }

    /// The next packet that was decrypted, if these are kept.
    pub fn traced(&mut self) -> Option<Received> {
        self.shared.common.trace.take()
    }

    /// How often each reason was met.
    pub const fn counters(&self) -> &Counters {
        &self.shared.common.counters
    }

    /// How many tunnels there are.
    pub fn tunnels(&self) -> usize {
        self.tunnels.len()
    }

    /// Whether work waits.
    pub fn has_jobs(&self) -> bool {
        !(self.starts.is_empty() && self.shared.solves.is_empty())
    }

    /// The work that waits.
    pub fn jobs(&mut self) -> Jobs {
        Jobs {
            starts: core::mem::take(&mut self.starts),
            solves: core::mem::take(&mut self.shared.solves),
        }
    }

    /// Work that was run.
    pub fn complete(&mut self, mut now: Now<'_>, jobs: Jobs) {
        for start in jobs.starts {
            self.started(&mut now, start);
        }
        for solve in jobs.solves {
            let (id, nonce) = (solve.tunnel, solve.nonce);
            let tunnel = self.tunnels.get(id);
            // Another puzzle may have taken its place, or nobody needs it any more.
            let tunnel = tunnel.filter(|tunnel| tunnel.solving == Some(nonce));
            let Some(result) = solve.result else {
                if tunnel.is_some() {
                    self.shared.solves.push(solve);
                }
                continue;
            };
            if let Some(Err(reason)) = tunnel.map(|tunnel| tunnel.found(&now, nonce, result)) {
                self.count(reason);
            }
            self.touch(id.index);
        }
    }

    fn started(&mut self, now: &mut Now<'_>, start: Start) {
        let Some(tunnel) = self.tunnels.get(start.tunnel) else {
            return;
        };
        match (start.result, &mut tunnel.state) {
            (Ok((client, key)), State::First(attempt)) => {
                attempt.start(client, key, &start.server);
                attempt.hurry(now.instant);
                self.touch(start.tunnel.index);
            }
            (Err(reason), _) => self.end(now, start.tunnel.index, Some(reason)),
            (Ok(_), _) => {}
        }
    }

    /// Gives the next RPC of a connection to `read`. False if there is none now.
    pub fn read(&mut self, connection: ConnectionId, mut read: impl FnMut(Call<'_>)) -> bool {
        self.tunnels.read(connection, &mut read)
    }

    /// Sends an RPC on a connection, which need not be accepted yet. False if it has to wait for
    /// [`Event::Writable`].
    ///
    /// # Errors
    /// `closed-connection` if it is gone; `too-long` if no packet has room for it; what a reader would
    /// refuse it for.
    pub fn write(
        &mut self,
        connection: ConnectionId,
        name: &str,
        arguments: impl FnOnce(CallWriter<'_>) -> CallWriter<'_>,
    ) -> Result<bool, Reason> {
        let number = connection.number;
        let write = |channel: &mut Channel| channel.write(number, name, arguments);
        self.tunnels.write(connection, write)
    }

    /// How a tunnel is. None if it is gone.
    pub fn status(&mut self, tunnel: TunnelId) -> Option<Status> {
        let tunnel = self.tunnels.get(tunnel)?;
        Some(tunnel.channel.status(tunnel.address()))
    }

    /// Sends a whole RPC value on a connection, as [`Self::write`] does.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn forward(&mut self, connection: ConnectionId, value: &[u8]) -> Result<bool, Reason> {
        let number = connection.number;
        let write = |channel: &mut Channel| channel.forward(number, value);
        self.tunnels.write(connection, write)
    }

    /// Ends a connection, when what was written is sent.
    pub fn close(&mut self, connection: ConnectionId) {
        self.tunnels.close(connection);
    }

    /// Ends a tunnel at once.
    pub fn close_tunnel(&mut self, mut now: Now<'_>, tunnel: TunnelId) {
        if self.tunnels.get(tunnel).is_some() {
            self.end(&mut now, tunnel.index, None);
        }
    }

    /// A tunnel is gone: nothing of it remains but what is said to the other side, once.
    fn end(&mut self, now: &mut Now<'_>, index: u32, reason: Option<Reason>) {
        let Some(mut tunnel) = self.tunnels.remove(index) else {
            return;
        };
        if let Some(reason) = reason {
            self.count(reason);
        }
        if !tunnel.is_closed && tunnel.keys.is_some() {
            let mut last = Outgoing::new(1);
            tunnel.say_last(now.instant, &mut last);
            last.seal();
            if let Some(run) = last.runs().next() {
                match self.plain.len() < PLAIN_MAX {
                    true => self.plain.push_back(((run.from, run.to), run.bytes.into())),
                    false => self.count(Reason::Busy),
                }
            }
        }
        self.agenda.move_to(index, &mut tunnel.due, None);
        tunnel
            .channel
            .receiving
            .release(&mut self.shared.common.held);
        let first = match &tunnel.state {
            State::First(attempt) => Some(attempt.tid()),
            _ => None,
        };
        let current = tunnel.keys.as_ref().map(|keys| keys.tid);
        let old = tunnel.old.as_ref().map(|old| old.0.tid);
        for tid in [first, current, old].into_iter().flatten() {
            self.tids.remove(&tid);
        }
        let gone = Event::Gone(tunnel.channel.id, reason);
        self.shared.common.events.push_back(gone);
    }

    fn touch(&mut self, index: u32) {
        self.tunnels.touch(index);
    }

    fn count(&mut self, reason: Reason) {
        self.shared.common.counters.count(reason);
    }
}
