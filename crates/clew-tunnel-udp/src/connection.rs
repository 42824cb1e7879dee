//! A connection, at its holder.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clew_tunnel::Reason;
use clew_tunnel::wire::values::CallWriter;
use tokio::sync::{Semaphore, mpsc, watch};

use crate::ends::{Ask, Decision, Key, TaskEnd};
use crate::error::Error;
use crate::message::Message;

/// How a connection reaches its driver.
pub(crate) trait DriverHandle: Send + Sync {
    /// Hands it a request. Returns false if the driver is gone.
    fn ask(&self, ask: Ask) -> bool;
}

impl<C: From<Ask> + Send> DriverHandle for mpsc::UnboundedSender<C> {
    fn ask(&self, ask: Ask) -> bool {
        self.send(ask.into()).is_ok()
    }
}

/// A connection of one user to one service: RPCs in order, in both directions. It ends when it is dropped, or
/// both its halves are, once everything was sent.
pub struct Connection {
    sending: Sending,
    receiving: Receiving,
    decision: watch::Receiver<Decision>,
}

/// The half of a [`Connection`] that sends.
pub struct Sending {
    longest: usize,
    room: Arc<Semaphore>,
    end: Arc<End>,
}

/// The half of a [`Connection`] that receives.
pub struct Receiving {
    incoming: mpsc::Receiver<Message>,
    is_starved: Arc<AtomicBool>,
    end: Arc<End>,
}

/// Ends a connection when nobody holds any of it.
struct End {
    key: Key,
    driver: Arc<dyn DriverHandle>,
}

impl Drop for End {
    fn drop(&mut self) {
        self.driver.ask(Ask::Close(self.key));
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Connection({:?})", self.key())
    }
}

impl Connection {
    pub(crate) fn new(held: TaskEnd, driver: Arc<dyn DriverHandle>) -> Self {
        let end = Arc::new(End {
            key: held.key,
            driver,
        });
        Self {
            sending: Sending {
                longest: held.longest,
                room: held.room,
                end: Arc::clone(&end),
            },
            receiving: Receiving {
                incoming: held.incoming,
                is_starved: held.is_starved,
                end,
            },
            decision: held.decision,
        }
    }

    pub(crate) fn key(&self) -> Key {
        self.sending.end.key
    }

    /// Splits the connection into halves that send and receive at the same time.
    pub fn split(self) -> (Sending, Receiving) {
        (self.sending, self.receiving)
    }

    /// Waits until the server has taken the connection. Nothing needs to wait for it; of a server's own
    /// connections it is no question.
    ///
    /// # Errors
    /// [`Error::Declined`] if it did not; [`Error::Unheard`] if it was not asked; [`Error::Gone`].
    pub fn taken(&self) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let mut decision = self.decision.clone();
        async move {
            let decided = decision.wait_for(|decision| *decision != Decision::Waiting);
            match decided.await.map(|decision| *decision) {
                Ok(Decision::Taken) => Ok(()),
                Ok(Decision::Unheard) => Err(Error::Unheard),
                Ok(_) => Err(Error::Declined),
                Err(_) => Err(Error::Gone),
            }
        }
    }

    /// Returns the next RPC of the other side. None when the connection has ended, or its tunnel.
    pub async fn receive(&mut self) -> Option<Message> {
        self.receiving.receive().await
    }

    /// Sends an RPC. Waits while more than 64 KiB wait to be sent; that it was received, only an answer
    /// shows.
    ///
    /// # Errors
    /// [`Error::Refused`] for what cannot be sent, as [`Message::new`], and `too-long` for what no packet has room
    /// for; [`Error::Gone`].
    pub async fn send(
        &self,
        name: &str,
        arguments: impl FnOnce(CallWriter<'_>) -> CallWriter<'_>,
    ) -> Result<(), Error> {
        self.sending.send(name, arguments).await
    }

    /// Sends a message that exists already, as [`Self::send`] does.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub async fn send_message(&self, message: Message) -> Result<(), Error> {
        self.sending.send_message(message).await
    }
}

impl Receiving {
    /// Receives a message, as [`Connection::receive`].
    pub async fn receive(&mut self) -> Option<Message> {
        let message = self.incoming.recv().await;
        self.taken(message.is_some());
        message
    }

    /// Returns a message that is there already, without waiting.
    pub fn try_receive(&mut self) -> Option<Message> {
        let message = self.incoming.try_recv().ok();
        self.taken(message.is_some());
        message
    }

    fn taken(&self, is_some: bool) {
        let is_empty = self.incoming.is_empty();
        if is_some && is_empty && self.is_starved.swap(false, Ordering::AcqRel) {
            self.end.driver.ask(Ask::More(self.end.key));
        }
    }
}

impl Sending {
    /// Sends an RPC, as [`Connection::send`].
    ///
    /// # Errors
    /// The same.
    pub async fn send(
        &self,
        name: &str,
        arguments: impl FnOnce(CallWriter<'_>) -> CallWriter<'_>,
    ) -> Result<(), Error> {
        self.send_message(Message::new(name, arguments)?).await
    }

    /// Sends a message, as [`Connection::send_message`].
    ///
    /// # Errors
    /// The same.
    pub async fn send_message(&self, message: Message) -> Result<(), Error> {
        let bytes = message.value().len();
        if bytes > self.longest {
            return Err(Reason::TooLong.into());
        }
        // A packet has less than 64 KiB.
        let bytes = bytes as u32;
        let room = Arc::clone(&self.room).acquire_many_owned(bytes).await;
        // It is closed when the connection is gone.
        let room = room.map_err(|_| Error::Gone)?;
        let sent = self.end.driver.ask(Ask::Send(self.end.key, message, room));
        sent.then_some(()).ok_or(Error::Gone)
    }
}
