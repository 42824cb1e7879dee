//! `clew tunnel connect`

use crate::cli::TunnelConnect;
use crate::failure::{Failure, Status};
use crate::flow::relay::Until;
use crate::tunnel::forward::{Destination, forward};
use crate::tunnel::keys;
use crate::tunnel::link::{Link, Source, Whom};
use crate::tunnel::rarely::Rarely;
use crate::tunnel::records::Trust;
use crate::tunnel::services::{break_off, is_name};
use crate::tunnel::traces;
use clew_tunnel::engine::client::Config;
use clew_tunnel_udp::Client;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tracing::warn;

/// How long the port accepts nothing after it could not.
const PAUSE: Duration = Duration::from_millis(5);

pub fn run(arguments: &TunnelConnect) -> Result<Status, Failure> {
    crate::tunnel::run(connect(arguments))
}

async fn connect(arguments: &TunnelConnect) -> Result<Status, Failure> {
    if !is_name(&arguments.service) {
        return Err(Failure::new("the service name must have 1 to 64 bytes"));
    }
    let load = |path| arguments.unlock.load(path, keys::decode_user);
    let secret = arguments.user.as_deref().map(load).transpose()?;
    let whom = whom(arguments)?;
    let client = begin(arguments.qlog.as_deref())?;
    let user = match secret {
        None => None,
        Some(secret) => {
            let user = client.user(secret).await;
            Some(user.map_err(|e| Failure::new(format!("the client failed to start: {e}")))?)
        }
    };
    let link = Link::new(client.clone(), whom, arguments.service.clone());
    let to = Destination {
        service: arguments.service.clone(),
        user,
        timeout: arguments.timeout,
    };
    let stop = crate::tunnel::over(Until::after(None));
    let done = match arguments.listen {
        Some(at) => {
            let most = arguments.max_connections as usize;
            let port = Port::open(at, to, most, link).await?;
            tokio::select! {
                done = port.serve() => done,
                () = stop => Ok(Status::Yes),
            }
        }
        None => {
            let link = Mutex::new(link);
            tokio::select! {
                done = standard(&link, &to) => done,
                () = stop => Err(Failure::new("interrupted")),
            }
        }
    };
    crate::tunnel::last_words(client.ended()).await;
    done
}

/// A client, traced if there is a file for that.
fn begin(qlog: Option<&Path>) -> Result<Client, Failure> {
    let trace = qlog.map(|path| traces::begin(path, 1, "client"));
    let client = match trace.transpose()?.and_then(|(mut traces, _)| traces.pop()) {
        None => Client::new(Config::default()),
        Some(trace) => Client::traced(Config::default(), trace),
    };
    client.map_err(|e| Failure::new(format!("cannot open sockets: {e}")))
}

fn whom(arguments: &TunnelConnect) -> Result<Whom, Failure> {
    let trust = match (arguments.pin, arguments.trust) {
        (Some(pin), _) => Trust::Pin(pin),
        (None, Some(issuer)) => Trust::Issuer(issuer),
        (None, None) => Trust::Given,
    };
    let source = match (&arguments.record, &arguments.directory, &arguments.host) {
        (Some(record), ..) => Source::File(record.clone(), arguments.host.clone()),
        (None, Some(directory), Some(host)) => Source::Directory(directory.clone(), host.clone()),
        _ => return Err(Failure::new("need --record, or --directory with --host")),
    };
    let patience = arguments.timeout;
    Ok(Whom {
        source,
        trust,
        patience,
    })
}

/// Standard input to the service, and what comes to standard output.
async fn standard(link: &Mutex<Link>, to: &Destination) -> Result<Status, Failure> {
    let ends = (tokio::io::stdin(), tokio::io::stdout());
    forward(link, to, ends).await.map(|()| Status::Yes)
}

/// A TCP port whose connections go through the tunnel.
struct Port {
    listener: TcpListener,
    shared: Arc<Shared>,
    room: Arc<Semaphore>,
    most: usize,
    is_full: Rarely,
}

struct Shared {
    link: Mutex<Link>,
    to: Destination,
    /// That no connection comes about was said.
    is_down: AtomicBool,
}

impl Port {
    async fn open(
        at: SocketAddr,
        to: Destination,
        most: usize,
        mut link: Link,
    ) -> Result<Self, Failure> {
        // What is wrong with the record is said now, not when somebody connects.
        link.prepare().await?;
        let failed = |e| Failure::new(format!("cannot listen at {at}: {e}"));
        let listener = TcpListener::bind(at).await.map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        mention!("{} at {bound}", to.service);
        let shared = Shared {
            link: Mutex::new(link),
            to,
            is_down: AtomicBool::new(false),
        };
        Ok(Self {
            listener,
            shared: Arc::new(shared),
            room: Arc::new(Semaphore::new(most)),
            most,
            is_full: Rarely::default(),
        })
    }

    async fn serve(self) -> Result<Status, Failure> {
        loop {
            if self.room.available_permits() == 0 {
                let most = self.most;
                self.is_full.tell(|others| {
                    warn!(
                        others,
                        "{most} connections are open (--max-connections): more wait"
                    );
                });
            }
            let room = Arc::clone(&self.room).acquire_owned().await;
            let accepted = self.listener.accept().await;
            let (Ok(room), Ok((stream, _))) = (room, accepted) else {
                // Too many open files, say: some will be closed.
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            tokio::spawn(Arc::clone(&self.shared).forward(stream, room));
        }
    }
}

impl Shared {
    async fn forward(self: Arc<Self>, mut stream: TcpStream, _room: OwnedSemaphorePermit) {
        let _ = stream.set_nodelay(true);
        match forward(&self.link, &self.to, stream.split()).await {
            Ok(()) => self.is_down.store(false, Ordering::Relaxed),
            Err(failure) => {
                break_off(&stream);
                if !self.is_down.swap(true, Ordering::Relaxed) {
                    warn!("{}", failure.message);
                }
            }
        }
    }
}
