//! One connection through a tunnel, from its first bytes to its end.

use super::link::{self, Link};
use super::stream::{self, Broken, Pulse, Side, Traffic};
use crate::failure::Failure;
use clew_tunnel::Reason;
use clew_tunnel::engine::client::UserId;
use clew_tunnel_udp::{Connection, Error, State, Tunnel};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::sync::Mutex;

/// How long a first packet waits for what is to be in it.
const PATIENCE: Duration = Duration::from_millis(5);

/// Bytes that are read before a connection is asked for, within the receive window that it begins with.
const EARLY_MAX: usize = 14 << 10;

/// How often a connection is asked for that no server has heard of.
const TRIES: u32 = 4;

/// Where connections go, and whose they are.
#[derive(Clone, Debug)]
pub struct Destination {
    /// The service.
    pub service: String,
    /// Whose; `None`: anonymous.
    pub user: Option<UserId>,
    /// How long the server has to take a connection.
    pub timeout: Duration,
}

/// Carries one connection from its first bytes to its end. A request that no server has received is sent again in
/// another tunnel; of any other one nobody can tell whether it arrived.
///
/// # Errors
/// What ended it before its end.
pub async fn forward(
    link: &Mutex<Link>,
    to: &Destination,
    (mut reader, writer): (impl AsyncRead + Unpin, impl AsyncWrite),
) -> Result<(), Failure> {
    let (early, is_all) = early_bytes(&mut reader).await?;
    let Destination { service, user, .. } = to;
    let mut tries = TRIES;
    let (tunnel, connection) = loop {
        let asked = link.lock().await.connect(service, *user, &early).await;
        let (tunnel, connection) = asked?;
        let was_open = *tunnel.state().borrow() != State::Opening;
        tries -= 1;
        match answered(&tunnel, &connection, to.timeout).await {
            Ok(()) => break (tunnel, connection),
            Err(Error::Unheard) if tries > 0 => {}
            Err(error) => {
                link.lock().await.forget();
                return Err(not_answered(&tunnel, error, service, was_open));
            }
        }
    };
    // What was read is under way.
    let reader = reader.take(if is_all { 0 } else { u64::MAX });
    let (traffic, pulse) = (Traffic::default(), Pulse::default());
    let carried = stream::carry(
        connection,
        (reader, writer),
        Side::Client,
        (&traffic, &pulse),
    );
    carried.await.map_err(|broken| match broken {
        // Whoever read our output has seen enough.
        Broken::Local(error) => Failure::write(error),
        Broken::Gone if *tunnel.state().borrow() == State::Gone(Some(Reason::NoAnswer)) => {
            let what =
                "no answer: the server is gone, or began anew; what was sent last may be lost";
            Failure::new(format!("{service}: {what}"))
        }
        broken => Failure::new(format!("{service}: {broken}")),
    })
}

/// What the reader has at once, and whether that is all that it has.
async fn early_bytes(reader: &mut (impl AsyncRead + Unpin)) -> Result<(Vec<u8>, bool), Failure> {
    let mut early = vec![0; EARLY_MAX];
    let read = tokio::time::timeout(PATIENCE, reader.read(&mut early)).await;
    let length = match read {
        Err(_) => return Ok((Vec::new(), false)),
        Ok(Err(error)) => return Err(Failure::new(format!("cannot read the input: {error}"))),
        Ok(Ok(length)) => length,
    };
    early.truncate(length);
    Ok((early, length == 0))
}

/// Waits until the server has taken the connection.
async fn answered(
    tunnel: &Tunnel,
    connection: &Connection,
    patience: Duration,
) -> Result<(), Error> {
    let both = async {
        let taken = connection.taken().await;
        // Why there is no tunnel says more than that there is no connection.
        match taken {
            Err(Error::Gone) => tunnel.opened().await.and(taken),
            taken => taken,
        }
    };
    let answered = tokio::time::timeout(patience, both).await;
    answered.unwrap_or(Err(Reason::NoAnswer.into()))
}

fn not_answered(tunnel: &Tunnel, error: Error, service: &str, was_open: bool) -> Failure {
    match error {
        Error::Declined => link::why(tunnel, error, service),
        _ if was_open => Failure::new(format!("{service}: the server stopped answering ({error})"))
            .hint("the request may have arrived, so clew does not send it again"),
        error => link::why(tunnel, error, service),
    }
}
