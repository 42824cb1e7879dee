//! The client: it opens tunnels (`spec/tunnel.md` sections 6 to 13).
//!
//! See [`Endpoint`] for how a driver uses it. One client has any number of tunnels, each on the socket that its
//! program names.

mod attempt;
mod control;
mod jobs;
mod receive;
mod rekey;
mod sends;
mod state;
mod target;
mod timers;
mod tunnel;
mod users;

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

pub use jobs::Jobs;
use jobs::{Solve, Start};
pub use target::{Config, Target};
pub use tunnel::Tunnel;
pub use users::UserId;
use users::Users;

use attempt::Attempt;
use tunnel::{Asked, Wish};

use super::channel::{Common, Now, check_service};
use super::endpoint::{Endpoint, Usage};
use super::event::{ConnectionId, TunnelId};
use super::hash::Hasher;
use super::tids::{Shard, Tids};
use crate::limits::{self, LOOKUPS};
use crate::reason::Reason;
use crate::record::{Identity, Record, UserSecret, Wanted};
use crate::wire::packet::Tid;
use crate::wire::rpc::Rpc;
use crate::x25519::Secret;

/// A client.
pub type Client = Endpoint<Tunnel>;

/// What all tunnels of a client share.
#[derive(Debug)]
pub struct Shared {
    common: Common,
    config: Config,
    users: Users,
    starts: Vec<Start>,
    solves: Vec<Solve>,
}

impl AsRef<Common> for Shared {
    fn as_ref(&self) -> &Common {
        &self.common
    }
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

impl Client {
    /// A client without tunnels.
    pub fn new(config: Config, mut now: Now<'_>) -> Self {
        let shared = Shared {
            common: Common::default(),
            config,
            users: Users::default(),
            starts: Vec::new(),
            solves: Vec::new(),
        };
        let hasher = Hasher::new(now.random());
        Self::with(shared, Tids::new(hasher, Shard::WHOLE))
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
        let id = self.insert(make);
        self.shared.starts.push(Start {
            tunnel: id,
            secret,
            server,
            result: Err(Reason::BadKey),
        });
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
        check_service(service)?;
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

    /// Whether a new connection may as well be in this tunnel: it has fewer than `most`, and its server was heard,
    /// or first called, within `quiet`. If not, a new tunnel is no later, and no server is lost that began anew.
    pub fn is_ready(
        &mut self,
        now: &Now<'_>,
        tunnel: TunnelId,
        most: usize,
        quiet: Duration,
    ) -> bool {
        let Some(found) = self.tunnels.get(tunnel) else {
            return false;
        };
        let called = found.state.called();
        let since = called.into_iter().chain([found.heard]).max();
        let is_quiet = since.is_none_or(|since| since + quiet < now.instant);
        let count = found.channel.connections.len();
        !is_quiet && !found.is_silent && count < most.min(limits::CONNECTIONS_MAX)
    }

    /// Asks a tunnel's server for a host's record; [`Event::Reply`](super::event::Event::Reply) brings the
    /// answer. False if the tunnel is gone, or has too many requests.
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

    /// Gives a record to a tunnel's server; [`Event::Reply`](super::event::Event::Reply) brings the answer.
    /// False if the tunnel is gone, or has too many requests.
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

    /// Whether work waits.
    pub fn has_jobs(&self) -> bool {
        !(self.shared.starts.is_empty() && self.shared.solves.is_empty())
    }

    /// The work that waits.
    pub fn jobs(&mut self) -> Jobs {
        Jobs {
            starts: core::mem::take(&mut self.shared.starts),
            solves: core::mem::take(&mut self.shared.solves),
        }
    }

    /// Work that was run.
    pub fn complete(&mut self, now: Now<'_>, jobs: Jobs) {
        for start in jobs.starts {
            self.started(&now, start);
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

    fn started(&mut self, now: &Now<'_>, start: Start) {
        let index = start.tunnel.index;
        let Some(tunnel) = self.tunnels.get(start.tunnel) else {
            return;
        };
        let attempt = tunnel.state.attempt();
        let started = start.result.and_then(|(client, key)| {
            let attempt = attempt?;
            attempt.start(client, key, &start.server);
            attempt.hurry(now.instant);
            Ok(())
        });
        match started {
            Ok(()) => self.touch(index),
            Err(reason) => self.end(now.instant, index, Some(reason)),
        }
    }

    /// How much there is of everything. Looks at each tunnel.
    pub fn load(&self) -> Usage {
        Usage {
            work: self.shared.solves.len(),
            ..self.common_load()
        }
    }
}
