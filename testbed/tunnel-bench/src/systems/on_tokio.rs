//! Systems of which both sides run on tokio, each in a single-threaded runtime.

use crate::system::{Client, Exchanged, Fetched, Request, System, Work};
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

/// After the last exchange of a sample, connections are being closed for about this long.
const SETTLING: Duration = Duration::from_millis(30);

/// After a single exchange: until the last packets are sent.
const CLOSING: Duration = Duration::from_millis(1);

/// A transfer that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a system on tokio must provide. The server's and the client's futures may spawn tasks, with `tokio::spawn` or
/// `tokio::task::spawn_local`.
pub trait Peer: Send + Sync {
    /// One of the parallel clients.
    type Dialer: Dialer;

    /// Serves for ever; says where, once it listens.
    fn serve(
        &self,
        host: IpAddr,
        ready: &dyn Fn(SocketAddr),
    ) -> impl Future<Output = io::Result<()>>;

    /// A client that has all it needs for its first connection. Given `other` clients' endpoint, it may be on that.
    fn dialer(
        &self,
        server: SocketAddr,
        other: Option<&Self::Dialer>,
    ) -> impl Future<Output = io::Result<Self::Dialer>>;
}

/// A client that makes a connection after another.
pub trait Dialer: 'static {
    /// What it makes.
    type Conversation: Conversation;

    /// A new connection, on which the request is sent.
    fn open(&self, request: Request) -> impl Future<Output = io::Result<Self::Conversation>>;

    /// An exchange is over: what the next one may have ready is made now.
    fn rest(&self) {}

    /// See [`Client::note`].
    fn note(&self) -> Option<String> {
        None
    }
}

/// A connection on which an answer arrives.
pub trait Conversation: 'static {
    /// Waits for a piece of the answer and takes it: its length, 0 at the end.
    fn receive(&mut self) -> impl Future<Output = io::Result<usize>>;

    /// Closes the connection, as soon as all has come that the next one needs.
    fn close(self) -> impl Future<Output = ()>;
}

/// A row made of a [`Peer`].
pub struct OnTokio<P> {
    pub name: String,
    pub about: String,
    pub works: Vec<Work>,
    pub peer: P,
}

impl<P: Peer> System for OnTokio<P> {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        &self.about
    }

    fn does(&self, work: Work) -> bool {
        self.works.contains(&work)
    }

    fn serve(&self, host: IpAddr, ready: &dyn Fn(SocketAddr)) -> io::Result<()> {
        let (runtime, tasks) = runtime()?;
        tasks.block_on(&runtime, self.peer.serve(host, ready))
    }

    fn client(&self, server: SocketAddr, parallel: usize) -> io::Result<Box<dyn Client + '_>> {
        let (runtime, tasks) = runtime()?;
        let dialers = tasks.block_on(&runtime, async {
            let mut dialers: Vec<Rc<P::Dialer>> = Vec::new();
            for _ in 0..parallel {
                let other = dialers.first().map(Rc::as_ref);
                let dialer = self.peer.dialer(server, other).await?;
                dialers.push(Rc::new(dialer));
            }
            io::Result::Ok(dialers)
        })?;
        Ok(Box::new(TokioClient {
            held: Vec::new(),
            dialers,
            tasks,
            runtime,
        }))
    }
}

fn runtime() -> io::Result<(Runtime, LocalSet)> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    Ok((runtime, LocalSet::new()))
}

/// Fields are dropped in this order: the runtime last.
struct TokioClient<D: Dialer> {
    held: Vec<D::Conversation>,
    dialers: Vec<Rc<D>>,
    tasks: LocalSet,
    runtime: Runtime,
}

impl<D: Dialer> Client for TokioClient<D> {
    fn exchange(&mut self) -> io::Result<Duration> {
        let dialer = &self.dialers[0];
        self.tasks.block_on(&self.runtime, async {
            let start = Instant::now();
            let conversation = exchange(&**dialer).await?;
            let time = start.elapsed();
            conversation.close().await;
            dialer.rest();
            // What closing is made of gets its turn, so that it is not in the next one's time.
            tokio::time::sleep(CLOSING).await;
            Ok(time)
        })
    }

    fn exchanges(&mut self, time: Duration) -> io::Result<Exchanged> {
        self.tasks.block_on(&self.runtime, async {
            let start = Instant::now();
            let end = start + time;
            let loops = self.dialers.iter().map(|dialer| {
                let dialer = Rc::clone(dialer);
                tokio::task::spawn_local(async move { repeat(&*dialer, end).await })
            });
            let loops = loops.collect::<Vec<_>>();
            let mut exchanges = 0;
            for each in loops {
                exchanges += each.await.map_err(io::Error::other)??;
            }
            let time = start.elapsed();
            tokio::time::sleep(SETTLING).await;
            Ok(Exchanged { exchanges, time })
        })
    }

    fn fetch(&mut self, bytes: u64) -> io::Result<Fetched> {
        let dialer = &self.dialers[0];
        self.tasks.block_on(&self.runtime, async {
            let (fetched, conversation) =
                tokio::time::timeout(PATIENCE, fetch(&**dialer, bytes)).await??;
            conversation.close().await;
            tokio::time::sleep(SETTLING).await;
            Ok(fetched)
        })
    }

    fn hold(&mut self, connections: usize) -> io::Result<()> {
        let dialer = &self.dialers[0];
        self.tasks.block_on(&self.runtime, async {
            for _ in 0..connections {
                self.held.push(exchange(&**dialer).await?);
            }
            tokio::time::sleep(SETTLING).await;
            Ok(())
        })
    }

    fn note(&self) -> Option<String> {
        self.dialers[0].note()
    }
}

async fn repeat<D: Dialer>(dialer: &D, end: Instant) -> io::Result<u64> {
    let mut exchanges = 0;
    while Instant::now() < end {
        let conversation = exchange(dialer).await?;
        tokio::task::spawn_local(conversation.close());
        dialer.rest();
        exchanges += 1;
    }
    Ok(exchanges)
}

async fn exchange<D: Dialer>(dialer: &D) -> io::Result<D::Conversation> {
    let mut conversation = dialer.open(Request::EXCHANGE).await?;
    let mut left = Request::EXCHANGE.answer();
    while left > 0 {
        left = take(&mut conversation, left).await?;
    }
    Ok(conversation)
}

async fn fetch<D: Dialer>(dialer: &D, bytes: u64) -> io::Result<(Fetched, D::Conversation)> {
    let start = Instant::now();
    let mut conversation = dialer.open(Request::of(bytes)).await?;
    let mut left = bytes;
    let mut first = None;
    while left > 0 {
        left = take(&mut conversation, left).await?;
        first.get_or_insert_with(Instant::now);
    }
    let end = Instant::now();
    let fetched = Fetched {
        whole: end - start,
        stream: end - first.unwrap_or(start),
    };
    Ok((fetched, conversation))
}

/// Takes a piece of the answer; says how much is left.
async fn take(conversation: &mut impl Conversation, left: u64) -> io::Result<u64> {
    match conversation.receive().await? as u64 {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        piece => left
            .checked_sub(piece)
            .ok_or_else(|| io::Error::other("more than was asked for")),
    }
}
