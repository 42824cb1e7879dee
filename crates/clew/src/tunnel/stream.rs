//! Byte streams over connections: `spec/tunnel-streams.md`.

use clew_tunnel::Reason;
use clew_tunnel::wire::values::Value;
use clew_tunnel_udp::{Connection, Message, Receiving, Sending};
use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Bytes of one `data` at most: with it, a packet of the usual length is nearly full.
pub const DATA_MAX: usize = 1_152;

/// Bytes that go into the first packet of a tunnel, less twice the length of the service's name: with a user's
/// authenticator, the shortest initiation packet is full.
pub const FIRST_MAX: usize = 570;

/// Bytes of one read or write of the system at most.
const AT_ONCE: usize = 64 << 10;

/// The RPC that has bytes.
pub const DATA: &str = "data";
const END: &str = "end";

/// Which side of a connection this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Asked for it, and waits until the other side closes it: then everything has arrived.
    Client,
    /// Closes it when both directions have ended.
    Server,
}

/// Why a stream did not come to its end.
#[derive(Debug)]
pub enum Broken {
    /// The other side closed the connection, or the tunnel is gone.
    Gone,
    /// The other side said what belongs to no stream.
    NoStream,
    /// Here, on the way in or out.
    Local(io::Error),
    /// Its user may not connect any more.
    Removed,
    /// Nothing was carried for too long.
    Idle,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Gone => f.write_str("the connection broke before its end"),
            Self::NoStream => f.write_str("the other side speaks another protocol"),
            Self::Local(error) => error.fmt(f),
            Self::Removed => f.write_str("its user was removed"),
            Self::Idle => f.write_str("nothing was carried for too long"),
        }
    }
}

impl From<clew_tunnel_udp::Error> for Broken {
    fn from(_: clew_tunnel_udp::Error) -> Self {
        Self::Gone
    }
}

impl From<Reason> for Broken {
    fn from(_: Reason) -> Self {
        Self::Gone
    }
}

/// Bytes that went through, both ways.
#[derive(Debug, Default)]
pub struct Traffic {
    /// From the other side.
    pub received: AtomicU64,
    /// To the other side.
    pub sent: AtomicU64,
}

/// Whether a connection still carries anything.
#[derive(Debug, Default)]
pub struct Pulse(AtomicU64);

impl Pulse {
    fn beat(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits until nothing was carried for so long, or up to a quarter longer.
    pub async fn stopped(&self, long: Duration) {
        let (mut seen, mut still) = (self.0.load(Ordering::Relaxed), 0);
        while still < 4 {
            tokio::time::sleep(long / 4).await;
            let now = self.0.load(Ordering::Relaxed);
            still = if now == seen { still + 1 } else { 0 };
            seen = now;
        }
    }
}

/// What one RPC of a stream says.
enum Said<'a> {
    Data(&'a [u8]),
    End,
}

fn read(message: &Message) -> Result<Said<'_>, Broken> {
    let mut arguments = message.arguments();
    match (message.name(), arguments.next(), arguments.next()) {
        (DATA, Some(Value::Bytes(bytes)), None) => Ok(Said::Data(bytes)),
        (END, None, None) => Ok(Said::End),
        _ => Err(Broken::NoStream),
    }
}

/// The RPC that has these bytes, [`DATA_MAX`] at most.
fn data(bytes: &[u8]) -> Result<Message, Reason> {
    Message::new(DATA, |call| call.bytes(bytes))
}

/// Carries a byte stream each way until both have ended.
///
/// # Errors
/// One of them broke; what was not carried then is lost.
pub async fn carry(
    connection: Connection,
    (reader, writer): (impl AsyncRead, impl AsyncWrite),
    side: Side,
    (traffic, pulse): (&Traffic, &Pulse),
) -> Result<(), Broken> {
    let (sending, receiving) = connection.split();
    let mut up = pin!(send(&sending, reader, (&traffic.sent, pulse)));
    let mut down = pin!(receive(receiving, writer, side, (&traffic.received, pulse)));
    tokio::select! {
        sent = &mut up => {
            sent?;
            down.await
        }
        received = &mut down => {
            received?;
            match side {
                Side::Server => up.await,
                // The other side has ended both: nobody reads any more.
                Side::Client => Ok(()),
            }
        }
    }
}

async fn send(
    sending: &Sending,
    reader: impl AsyncRead,
    (count, pulse): (&AtomicU64, &Pulse),
) -> Result<(), Broken> {
    let mut reader = pin!(reader);
    let mut bytes = vec![0; AT_ONCE];
    loop {
        match reader.read(&mut bytes).await.map_err(Broken::Local)? {
            0 => break,
            length => {
                for piece in bytes[..length].chunks(DATA_MAX) {
                    sending.send_message(data(piece)?).await?;
                }
                count.fetch_add(length as u64, Ordering::Relaxed);
                pulse.beat();
            }
        }
    }
    Ok(sending.send(END, |call| call).await?)
}

async fn receive(
    mut receiving: Receiving,
    writer: impl AsyncWrite,
    side: Side,
    (count, pulse): (&AtomicU64, &Pulse),
) -> Result<(), Broken> {
    let mut writer = pin!(writer);
    let mut has_ended = false;
    let mut bytes = Vec::new();
    let mut next = None;
    loop {
        let message = match next.take() {
            Some(message) => message,
            None => match receiving.receive().await {
                Some(message) => message,
                None => return has_ended.then_some(()).ok_or(Broken::Gone),
            },
        };
        match read(&message)? {
            Said::Data(first) if !has_ended => {
                bytes.clear();
                bytes.extend_from_slice(first);
                next = more(&mut receiving, &mut bytes)?;
                writer.write_all(&bytes).await.map_err(Broken::Local)?;
                writer.flush().await.map_err(Broken::Local)?;
                count.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                pulse.beat();
            }
            Said::End if !has_ended => {
                has_ended = true;
                // Who reads may have gone when everything was read.
                let _ = writer.shutdown().await;
                if side == Side::Server {
                    return Ok(());
                }
            }
            _ => return Err(Broken::NoStream),
        }
    }
}

/// Adds the bytes that are there already, so that one call of the system writes them all: the first message that
/// is none of them.
fn more(receiving: &mut Receiving, bytes: &mut Vec<u8>) -> Result<Option<Message>, Broken> {
    while bytes.len() + DATA_MAX <= AT_ONCE {
        let Some(message) = receiving.try_receive() else {
            break;
        };
        match read(&message)? {
            Said::Data(more) => bytes.extend_from_slice(more),
            Said::End => return Ok(Some(message)),
        }
    }
    Ok(None)
}

/// Sends each byte back, and the end.
///
/// # Errors
/// As [`carry`].
pub async fn echo(
    mut connection: Connection,
    (traffic, pulse): (&Traffic, &Pulse),
) -> Result<(), Broken> {
    while let Some(message) = connection.receive().await {
        let length = match read(&message)? {
            Said::Data(bytes) => bytes.len() as u64,
            Said::End => return Ok(connection.send_message(message).await?),
        };
        traffic.received.fetch_add(length, Ordering::Relaxed);
        connection.send_message(message).await?;
        traffic.sent.fetch_add(length, Ordering::Relaxed);
        pulse.beat();
    }
    Err(Broken::Gone)
}
