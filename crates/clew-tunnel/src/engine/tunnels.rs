//! The tunnels of an engine, and what its program does with their connections, whichever side it is.

use alloc::collections::VecDeque;
use core::ops::{Deref, DerefMut};

use super::channel::{Channel, Party};
use super::event::{ConnectionId, TunnelId};
use super::table::Table;
use crate::reason::Reason;
use crate::wire::values::Call;

/// Tunnels, and those of them that have something to do, in their turn.
#[derive(Debug)]
pub(super) struct Tunnels<T> {
    table: Table<T>,
    /// Those that [`Self::touch`] was called for, until they had their turn.
    pub ready: VecDeque<u32>,
}

impl<T> Default for Tunnels<T> {
    fn default() -> Self {
        Self {
            table: Table::default(),
            ready: VecDeque::new(),
        }
    }
}

impl<T> Deref for Tunnels<T> {
    type Target = Table<T>;

    fn deref(&self) -> &Table<T> {
        &self.table
    }
}

impl<T> DerefMut for Tunnels<T> {
    fn deref_mut(&mut self) -> &mut Table<T> {
        &mut self.table
    }
}

impl<T: Party> Tunnels<T> {
    /// Something of a tunnel changed: it may have something to send, and other instants to wait for.
    pub(crate) fn touch(&mut self, index: u32) {
        let Some(tunnel) = self.table.at(index) else {
            return;
        };
        let channel = tunnel.channel();
        if !channel.is_ready {
            channel.is_ready = true;
            self.ready.push_back(index);
        }
    }

    fn channel(&mut self, tunnel: TunnelId) -> Option<&mut Channel> {
        self.table.get(tunnel).map(T::channel)
    }

    /// Gives the next RPC of a connection to `read`. False if there is none now.
    pub(super) fn read(
        &mut self,
        connection: ConnectionId,
        read: &mut dyn FnMut(Call<'_>),
    ) -> bool {
        let Some(channel) = self.channel(connection.tunnel) else {
            return false;
        };
        let was_read = channel.connections.read(connection.number, read);
        if was_read && channel.connections.has_due_window() {
            self.touch(connection.tunnel.index);
        }
        was_read
    }

    /// Sends what `write` writes on a connection. False if it has to wait.
    ///
    /// # Errors
    /// `closed-connection` if its tunnel is gone; those of `write`.
    pub(super) fn write(
        &mut self,
        connection: ConnectionId,
        write: impl FnOnce(&mut Channel) -> Result<bool, Reason>,
    ) -> Result<bool, Reason> {
        let channel = self.channel(connection.tunnel);
        let written = write(channel.ok_or(Reason::ClosedConnection)?)?;
        self.touch(connection.tunnel.index);
        Ok(written)
    }

    /// Ends a connection, when what was written is sent.
    pub(super) fn close(&mut self, connection: ConnectionId) {
        if let Some(channel) = self.channel(connection.tunnel) {
            channel.connections.close(connection.number);
            self.touch(connection.tunnel.index);
        }
    }
}
