//! `clew tunnel connect`

use crate::cli::TunnelConnect;
use crate::failure::{Failure, Status};
use crate::flow::relay::Until;
use crate::tunnel::keys;
use crate::tunnel::link::{self, Link, Source, Whom};
use crate::tunnel::records::Trust;
use crate::tunnel::services::{break_off, is_name};
use crate::tunnel::stream::{self, Broken, DATA, FIRST_MAX, Side, Traffic};
use crate::tunnel::traces;
use clew_tunnel::Reason;
use clew_tunnel::engine::client::{Config, UserId};
use clew_tunnel_udp::{Client, Connection, Error, Tunnel};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, Stdin};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tracing::warn;

/// Connections of the TCP port at once, below what a tunnel has; others wait.
const AT_ONCE: usize = 60;

/// How long a first packet waits for what is to be in it.
const PATIENCE: Duration = Duration::from_millis(5);

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
    let mut link = Link::new(client.clone(), whom);
    let stop = crate::tunnel::over(Until::after(None));
    let done = match arguments.listen {
        Some(at) => {
            let port = Port::open(at, arguments, user, link).await?;
            tokio::select! {
                done = port.serve() => done,
                () = stop => Ok(Status::Yes),
            }
        }
        None => tokio::select! {
            done = standard(arguments, user, &mut link) => { drop(link); done },
            () = stop => { drop(link); Err(Failure::new("interrupted")) },
        },
    };
    crate::tunnel::last_words(client.ended()).await;
    done
}

/// A client, traced if there is a file for that.
fn begin(qlog: Option<&Path>) -> Result<Client, Failure> {
    let trace = qlog.map(|path| traces::begin(path, 1, "client"));
    let client = match trace.transpose()?.and_then(|mut traces| traces.pop()) {
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
async fn standard(
    arguments: &TunnelConnect,
    user: Option<UserId>,
    link: &mut Link,
) -> Result<Status, Failure> {
    let mut input = tokio::io::stdin();
    let (begin, is_all) = first_bytes(&mut input).await?;
    let service = &arguments.service;
    let (tunnel, connection) = link
        .connect(service, user, |first, connection| {
            if !begin.is_empty() {
                // So few bytes fit into any RPC.
                let _ = first.send(connection, DATA, |call| call.bytes(&begin));
            }
        })
        .await?;
    let output = tokio::io::stdout();
    let traffic = Traffic::default();
    let taken = connection.taken();
    let answered = answer(&tunnel, taken, service, arguments.timeout);
    let carried = async {
        match is_all {
            true => {
                let ends = (tokio::io::empty(), output);
                stream::carry(connection, ends, Side::Client, &traffic).await
            }
            false => stream::carry(connection, (input, output), Side::Client, &traffic).await,
        }
    };
    let (answered, carried) = both(answered, carried).await;
    answered?;
    match carried {
        Ok(()) => Ok(Status::Yes),
        // Whoever read our output has seen enough.
        Err(Broken::Local(error)) => Err(Failure::write(error)),
        Err(broken) => Err(Failure::new(format!("{service}: {broken}"))),
    }
}

/// Both, but what is carried only as long as there is an answer.
async fn both(
    answered: impl Future<Output = Result<(), Failure>>,
    carried: impl Future<Output = Result<(), Broken>>,
) -> (Result<(), Failure>, Result<(), Broken>) {
    let mut carried = std::pin::pin!(carried);
    let mut answered = std::pin::pin!(answered);
    tokio::select! {
        biased;
        answered = &mut answered => match answered {
            Ok(()) => (Ok(()), carried.await),
            Err(failure) => (Err(failure), Ok(())),
        },
        carried = &mut carried => (answered.await, carried),
    }
}

/// What standard input has at once, and whether that is all that it has.
async fn first_bytes(input: &mut Stdin) -> Result<(Vec<u8>, bool), Failure> {
    let mut begin = vec![0; FIRST_MAX];
    let read = tokio::time::timeout(PATIENCE, input.read(&mut begin)).await;
    let length = match read {
        Err(_) => return Ok((Vec::new(), false)),
        Ok(Err(error)) => {
            return Err(Failure::new(format!("cannot read standard input: {error}")));
        }
        Ok(Ok(length)) => length,
    };
    begin.truncate(length);
    Ok((begin, length == 0))
}

/// Waits until the server has answered, and taken the connection.
async fn answer(
    tunnel: &Tunnel,
    taken: impl Future<Output = Result<(), Error>>,
    service: &str,
    patience: Duration,
) -> Result<(), Failure> {
    let both = async {
        tunnel.opened().await?;
        taken.await
    };
    let answered = tokio::time::timeout(patience, both).await;
    let answered = answered.unwrap_or(Err(Reason::NoAnswer.into()));
    answered.map_err(|error| link::why(tunnel, error, service))
}

/// A TCP port whose connections go through the tunnel.
struct Port {
    listener: TcpListener,
    shared: Arc<Shared>,
    room: Arc<Semaphore>,
}

struct Shared {
    link: Mutex<Link>,
    service: String,
    user: Option<UserId>,
    timeout: Duration,
    /// That no connection comes about was said.
    is_down: AtomicBool,
}

impl Port {
    async fn open(
        at: SocketAddr,
        arguments: &TunnelConnect,
        user: Option<UserId>,
        mut link: Link,
    ) -> Result<Self, Failure> {
        // What is wrong with the record is said now, not when somebody connects.
        link.prepare().await?;
        let failed = |e| Failure::new(format!("cannot listen at {at}: {e}"));
        let listener = TcpListener::bind(at).await.map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        mention!("{} at {bound}", arguments.service);
        let shared = Shared {
            link: Mutex::new(link),
            service: arguments.service.clone(),
            user,
            timeout: arguments.timeout,
            is_down: AtomicBool::new(false),
        };
        Ok(Self {
            listener,
            shared: Arc::new(shared),
            room: Arc::new(Semaphore::new(AT_ONCE)),
        })
    }

    async fn serve(self) -> Result<Status, Failure> {
        loop {
            let room = Arc::clone(&self.room).acquire_owned().await;
            let accepted = self.listener.accept().await;
            let (Ok(room), Ok((stream, _))) = (room, accepted) else {
                // Too many open files, say: some will be closed.
                tokio::time::sleep(PATIENCE).await;
                continue;
            };
            tokio::spawn(Arc::clone(&self.shared).forward(stream, room));
        }
    }
}

impl Shared {
    async fn forward(self: Arc<Self>, mut stream: TcpStream, _room: OwnedSemaphorePermit) {
        let _ = stream.set_nodelay(true);
        if let Err(failure) = self.carry(&mut stream).await {
            break_off(&stream);
            if !self.is_down.swap(true, Ordering::Relaxed) {
                warn!("{}", failure.message);
            }
        }
    }

    async fn carry(&self, stream: &mut TcpStream) -> Result<(), Failure> {
        let (tunnel, connection) = self.connect().await?;
        let traffic = Traffic::default();
        let taken = connection.taken();
        let carried = stream::carry(connection, stream.split(), Side::Client, &traffic);
        let taken = answer(&tunnel, taken, &self.service, self.timeout);
        let (answered, carried) = both(taken, carried).await;
        answered?;
        self.is_down.store(false, Ordering::Relaxed);
        carried.map_err(|broken| Failure::new(format!("{}: {broken}", self.service)))
    }

    /// A connection in a tunnel that has opened.
    async fn connect(&self) -> Result<(Arc<Tunnel>, Connection), Failure> {
        let mut link = self.link.lock().await;
        let (tunnel, connection) = link.connect(&self.service, self.user, |_, _| {}).await?;
        answer(&tunnel, async { Ok(()) }, &self.service, self.timeout).await?;
        Ok((tunnel, connection))
    }
}
