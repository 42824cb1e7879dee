//! What is behind a server's services.

use super::places::{Place, Places};
use super::rarely::Rarely;
use super::stream::{self, Broken, Pulse, Side, Traffic};
use super::users::{Removal, Users};
use crate::metrics::TunnelMetrics;
use clew_tunnel::Reason;
use clew_tunnel::limits::NAME_MAX;
use clew_tunnel_udp::{Incoming, Server};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::MissedTickBehavior;
use tracing::warn;

/// Connections to services that are open at once, if nothing else is said; more are refused (`busy`).
pub const CONNECTIONS: usize = 4_096;

/// How often the users' file is looked at while nobody asks for a connection.
const LOOK: Duration = Duration::from_secs(1);

/// How long a TCP server has time to answer; the other side's patience is a little longer.
const TARGET_WAIT: Duration = Duration::from_secs(8);

/// What is behind a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Each byte comes back.
    Echo,
    /// A TCP server, by host and port.
    Tcp(String),
}

/// A service and what is behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// As clients ask for it.
    pub name: String,
    /// What is behind it.
    pub target: Target,
}

/// Whether a service may be called so.
pub fn is_name(name: &str) -> bool {
    (1..=NAME_MAX).contains(&name.len()) && !name.chars().any(char::is_control)
}

/// Reads `NAME=TARGET`.
///
/// # Errors
/// What to write, for a command line.
pub fn parse_service(text: &str) -> Result<Service, String> {
    let wrong = "use the form NAME=tcp:HOST:PORT or NAME=echo";
    let (name, target) = text.split_once('=').ok_or(wrong)?;
    if !is_name(name) {
        return Err(format!("a service name must have 1 to {NAME_MAX} bytes"));
    }
    let target = match target.strip_prefix("tcp:") {
        None if target == "echo" => Target::Echo,
        None => return Err(wrong.into()),
        Some(address) => {
            let (host, port) = address.rsplit_once(':').ok_or(wrong)?;
            let is_port = port.parse::<u16>().is_ok_and(|port| port > 0);
            if host.is_empty() || !is_port {
                return Err(wrong.into());
            }
            Target::Tcp(address.to_owned())
        }
    };
    Ok(Service {
        name: name.to_owned(),
        target,
    })
}

/// What a service has done.
#[derive(Debug, Default)]
pub struct Work {
    /// Accepted connections.
    pub taken: AtomicU64,
    /// Those that are open.
    pub open: AtomicI64,
    /// Those that broke before their end.
    pub broken: AtomicU64,
    /// Connections that could not be forwarded.
    pub unreachable: AtomicU64,
    /// Bytes.
    pub traffic: Traffic,
}

/// A service as it runs.
#[derive(Debug)]
struct Running {
    service: Service,
    work: Arc<Work>,
    /// That it cannot be reached was said.
    is_down: AtomicBool,
    no_stream: Rarely,
}

/// How much a server's services take on.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Connections that are open at once, of all users: a user of n gets another only while n are free.
    pub connections: usize,
    /// How long a connection may carry nothing; `None`: for ever.
    pub idle: Option<Duration>,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections: CONNECTIONS,
            idle: None,
        }
    }
}

/// The services of a server.
#[derive(Debug)]
pub struct Services {
    all: HashMap<String, Arc<Running>>,
    users: Users,
    places: Places,
    idle: Option<Duration>,
}

/// One connection that is asked for: who asks, and what ends it.
struct Asked {
    incoming: Incoming,
    place: Place,
    /// Of a user: ends when the user is removed.
    removal: Option<Removal>,
    idle: Option<Duration>,
}

impl Services {
    /// These services for these users, counted. Of two with one name the last counts.
    pub fn new(
        services: &[Service],
        users: Users,
        bounds: Bounds,
        metrics: &TunnelMetrics,
    ) -> Self {
        let running = |service: &Service| {
            let running = Running {
                service: service.clone(),
                work: metrics.service(&service.name),
                is_down: AtomicBool::new(false),
                no_stream: Rarely::default(),
            };
            (service.name.clone(), Arc::new(running))
        };
        let places = Places::new(bounds.connections);
        metrics.places(&places);
        Self {
            all: services.iter().map(running).collect(),
            users,
            places,
            idle: bounds.idle,
        }
    }

    /// Takes connections as long as the server is there. Users who are removed from the file lose theirs.
    pub async fn serve(&mut self, server: &mut Server) {
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                incoming = server.accept() => match incoming {
                    Some(incoming) => self.take(incoming),
                    None => return,
                },
                _ = look.tick() => self.refresh(),
            }
        }
    }

    fn refresh(&mut self) {
        if let Err(failure) = self.users.refresh() {
            let message = failure.message;
            warn!("{message}: no user with a key is admitted until this file is good again");
        }
    }

    fn take(&mut self, incoming: Incoming) {
        self.refresh();
        // Whether a service is there is told to nobody who may not use it.
        if !self.users.may(&incoming.user()) {
            return incoming.refuse(Reason::NotAuthorised);
        }
        let Some(running) = self.all.get(incoming.service()) else {
            return incoming.refuse(Reason::UnknownService);
        };
        let Some(place) = self.places.take(&incoming) else {
            return incoming.refuse(Reason::Busy);
        };
        let asked = Asked {
            removal: self.users.removal(&incoming.user()),
            idle: self.idle,
            incoming,
            place,
        };
        let running = Arc::clone(running);
        tokio::spawn(async move { running.serve(asked).await });
    }
}

impl Running {
    /// From the request to the end: the target is reached, then bytes are carried.
    async fn serve(&self, asked: Asked) {
        let stream = match &self.service.target {
            Target::Echo => None,
            Target::Tcp(address) => match connect(address).await {
                Ok(stream) => Some(stream),
                Err(error) => return self.cannot_reach(asked.incoming, address, &error),
            },
        };
        self.is_down.store(false, Ordering::Relaxed);
        self.work.taken.fetch_add(1, Ordering::Relaxed);
        self.work.open.fetch_add(1, Ordering::Relaxed);
        let carried = self.carry(asked, stream).await;
        self.work.open.fetch_sub(1, Ordering::Relaxed);
        let Err(broken) = carried else {
            return;
        };
        self.work.broken.fetch_add(1, Ordering::Relaxed);
        if let Broken::NoStream = broken {
            let service = &self.service.name;
            let tell = |others| warn!(service, others, "{broken}");
            self.no_stream.tell(tell);
        }
    }

    async fn carry(&self, asked: Asked, stream: Option<TcpStream>) -> Result<(), Broken> {
        let connection = asked.incoming.accept();
        let pulse = Pulse::default();
        let counts = (&self.work.traffic, &pulse);
        let ends = ended(asked.removal, asked.idle, &pulse);
        let carried = match stream {
            None => stream::echo(connection, counts).or_ended(ends).await,
            Some(mut stream) => {
                let carried = stream::carry(connection, stream.split(), Side::Server, counts)
                    .or_ended(ends)
                    .await;
                if carried.is_err() {
                    break_off(&stream);
                }
                carried
            }
        };
        drop(asked.place);
        carried
    }

    /// Says so once, until it can be reached again.
    fn cannot_reach(&self, incoming: Incoming, address: &str, error: &io::Error) {
        self.work.unreachable.fetch_add(1, Ordering::Relaxed);
        if !self.is_down.swap(true, Ordering::Relaxed) {
            let service = &self.service.name;
            warn!(service, address, %error, "cannot reach the service's target");
        }
        incoming.refuse(Reason::Busy);
    }
}

/// Waits until the user is removed, or nothing was carried for too long.
async fn ended(removal: Option<Removal>, idle: Option<Duration>, pulse: &Pulse) -> Broken {
    let removed = async {
        match removal {
            Some(removal) => removal.removed().await,
            None => std::future::pending().await,
        }
    };
    let idle = async {
        match idle {
            Some(idle) => pulse.stopped(idle).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = removed => Broken::Removed,
        () = idle => Broken::Idle,
    }
}

/// A stream that something else may end.
trait OrEnded: Future<Output = Result<(), Broken>> + Sized {
    async fn or_ended(self, ended: impl Future<Output = Broken>) -> Result<(), Broken> {
        tokio::select! {
            carried = self => carried,
            broken = ended => Err(broken),
        }
    }
}

impl<T: Future<Output = Result<(), Broken>>> OrEnded for T {}

async fn connect(address: &str) -> io::Result<TcpStream> {
    let connected = tokio::time::timeout(TARGET_WAIT, TcpStream::connect(address));
    let stream = connected.await??;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// A stream that broke must not look as if it had ended: its reader gets an error.
pub fn break_off(stream: &TcpStream) {
    let _ = socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_names_and_targets() {
        let service = parse_service("web=tcp:[::1]:80").unwrap();
        assert_eq!(service.name, "web");
        assert_eq!(service.target, Target::Tcp("[::1]:80".into()));
        assert_eq!(parse_service("a b=echo").unwrap().target, Target::Echo);
        for bad in [
            "web",
            "=echo",
            "web=",
            "web=udp:a:1",
            "web=tcp:a",
            "web=tcp:a:0",
            "web=tcp::80",
            "web=tcp:a:99999",
            "a\nb=echo",
        ] {
            assert!(parse_service(bad).is_err(), "{bad}");
        }
        assert!(parse_service(&format!("{}=echo", "x".repeat(65))).is_err());
    }
}
