//! A connection, at its holder.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use clew_tunnel::Reason;
use clew_tunnel::wire::values::CallWriter;
use tokio::sync::mpsc;

use crate::error::Error;
use crate::hands::{Ask, Held};
use crate::message::Message;

/// How a connection reaches its driver.
pub(crate) trait Driver: Send + Sync {
    /// Hands it what is asked. False if it is gone.
    fn ask(&self, ask: Ask) -> bool;
}

impl<C: From<Ask> + Send> Driver for mpsc::UnboundedSender<C> {
    fn ask(&self, ask: Ask) -> bool {
        self.send(ask.into()).is_ok()
    }
}

/// A connection of one user to one service: RPCs in order, in both directions. It ends when it is dropped,
/// once everything was sent.
pub struct Connection {
    held: Held,
    driver: Arc<dyn Driver>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Connection({:?})", self.held.key)
    }
}

impl Connection {
    pub(crate) fn new(held: Held, driver: Arc<dyn Driver>) -> Self {
        Self { held, driver }
    }

    pub(crate) const fn held(&self) -> &Held {
        &self.held
    }

    /// The next RPC of the other side. None when the connection has ended, or its tunnel.
    pub async fn receive(&mut self) -> Option<Message> {
        let message = self.held.incoming.recv().await;
        let is_empty = self.held.incoming.is_empty();
        if message.is_some() && is_empty && self.held.is_starved.swap(false, Ordering::AcqRel) {
            self.driver.ask(Ask::More(self.held.key));
        }
        message
    }

    /// Sends an RPC. Waits while more than 64 KiB wait to be sent; that it was received, only an answer
    /// shows.
    ///
    /// # Errors
    /// [`Error::Refused`] for what cannot be sent, as [`Message::new`]; [`Error::Gone`].
    pub async fn send(
        &self,
        name: &str,
        arguments: impl FnOnce(CallWriter<'_>) -> CallWriter<'_>,
    ) -> Result<(), Error> {
        self.send_message(Message::new(name, arguments)?).await
    }

    /// The same for a message that is there.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub async fn send_message(&self, message: Message) -> Result<(), Error> {
        if self.held.incoming.is_closed() {
            return Err(Error::Gone);
        }
        let bytes = u32::try_from(message.value().len()).map_err(|_| Reason::TooLong)?;
        let room = Arc::clone(&self.held.room).acquire_many_owned(bytes).await;
        let room = room.map_err(|_| Error::Gone)?;
        let sent = self.driver.ask(Ask::Send(self.held.key, message, room));
        sent.then_some(()).ok_or(Error::Gone)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.ask(Ask::Close(self.held.key));
    }
}
