//! Connections that clients ask for, until they are accepted or refused.

use std::net::SocketAddr;
use std::sync::Arc;

use clew_tunnel::Reason;
use clew_tunnel::engine::event::{self, User};
use tokio::sync::mpsc;

use crate::connection::{self, Connection};
use crate::ends;
use crate::server::ServerCommand;

/// A connection that a client asks for: to be accepted or refused. Dropped, it is refused.
pub struct Incoming {
    create: event::Create,
    /// Longest packet of the server.
    packet: usize,
    commands: Option<mpsc::UnboundedSender<ServerCommand>>,
}

impl Incoming {
    /// The question of a client, whose answer goes to these commands.
    pub(crate) const fn new(
        create: event::Create,
        packet: usize,
        commands: Option<mpsc::UnboundedSender<ServerCommand>>,
    ) -> Self {
        Self {
            create,
            packet,
            commands,
        }
    }

    /// It is answered elsewhere.
    pub(crate) fn forget(mut self) {
        self.commands = None;
    }

    /// Returns the service that is asked for.
    pub fn service(&self) -> &str {
        &self.create.service
    }

    /// Returns the user for whom the connection is to be.
    pub const fn user(&self) -> User {
        self.create.user
    }

    /// Returns the client's address.
    pub const fn address(&self) -> SocketAddr {
        self.create.address
    }

    /// Returns whether the client has shown that it receives there.
    pub const fn is_proven(&self) -> bool {
        self.create.is_proven
    }

    /// Takes the connection.
    pub fn accept(mut self) -> Connection {
        let (held, hand) = ends::pair(self.packet);
        let id = self.create.connection;
        // Dropped meanwhile: the connection reads as ended.
        let commands = self
            .commands
            .take()
            .unwrap_or_else(|| mpsc::unbounded_channel().0);
        let _ = commands.send(ServerCommand::Accept(id, hand));
        let driver: Arc<dyn connection::DriverHandle> = Arc::new(commands);
        Connection::new(held, driver)
    }

    /// Refuses it: `unknown-service`, `not-authorised`. The client learns that it is refused, the server's
    /// counters why.
    pub fn refuse(mut self, reason: Reason) {
        self.say_no(reason);
    }

    fn say_no(&mut self, reason: Reason) {
        if let Some(commands) = self.commands.take() {
            let _ = commands.send(ServerCommand::Refuse(self.create.connection, reason));
        }
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        self.say_no(Reason::NotAuthorised);
    }
}
