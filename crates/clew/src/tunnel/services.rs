//! What is behind a server's services.

use super::stream::{self, Broken, Side, Traffic};
use super::users::Users;
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
use tokio::sync::Semaphore;
use tracing::warn;

/// Connections to services that are open at once; more are refused (`busy`).
const OPEN_MAX: usize = 4_096;

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
}

/// The services of a server.
#[derive(Debug)]
pub struct Services {
    all: HashMap<String, Arc<Running>>,
    users: Users,
    room: Arc<Semaphore>,
}

impl Services {
    /// These services for these users, counted. Of two with one name the last counts.
    pub fn new(services: &[Service], users: Users, metrics: &TunnelMetrics) -> Self {
        let running = |service: &Service| {
            let running = Running {
                service: service.clone(),
                work: metrics.service(&service.name),
                is_down: AtomicBool::new(false),
            };
            (service.name.clone(), Arc::new(running))
        };
        Self {
            all: services.iter().map(running).collect(),
            users,
            room: Arc::new(Semaphore::new(OPEN_MAX)),
        }
    }

    /// Takes connections as long as the server is there.
    pub async fn serve(&mut self, server: &mut Server) {
        while let Some(incoming) = server.accept().await {
            self.take(incoming);
        }
    }

    fn take(&mut self, incoming: Incoming) {
        if let Err(failure) = self.users.refresh() {
            let message = failure.message;
            warn!("{message}: no user with a key is admitted until this file is good again");
        }
        // Whether a service is there is told to nobody who may not use it.
        if !self.users.may(&incoming.user()) {
            return incoming.refuse(Reason::NotAuthorised);
        }
        let Some(running) = self.all.get(incoming.service()) else {
            return incoming.refuse(Reason::UnknownService);
        };
        let Ok(room) = Arc::clone(&self.room).try_acquire_owned() else {
            return incoming.refuse(Reason::Busy);
        };
        let running = Arc::clone(running);
        tokio::spawn(async move {
            running.forward(incoming).await;
            drop(room);
        });
    }
}

impl Running {
    async fn forward(&self, incoming: Incoming) {
        let stream = match &self.service.target {
            Target::Echo => None,
            Target::Tcp(address) => match connect(address).await {
                Ok(stream) => Some(stream),
                Err(error) => return self.cannot_reach(incoming, address, &error),
            },
        };
        self.is_down.store(false, Ordering::Relaxed);
        self.work.taken.fetch_add(1, Ordering::Relaxed);
        self.work.open.fetch_add(1, Ordering::Relaxed);
        let connection = incoming.accept();
        let traffic = &self.work.traffic;
        let carried = match stream {
            None => stream::echo(connection, traffic).await,
            Some(mut stream) => {
                let carried =
                    stream::carry(connection, stream.split(), Side::Server, traffic).await;
                if carried.is_err() {
                    break_off(&stream);
                }
                carried
            }
        };
        self.work.open.fetch_sub(1, Ordering::Relaxed);
        if let Err(broken) = carried {
            self.work.broken.fetch_add(1, Ordering::Relaxed);
            if let Broken::NoStream = broken {
                warn!(service = self.service.name, "{broken}");
            }
        }
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
