//! Answers for other hosts: what makes a server a directory or a name server.

use clew_tunnel::Reason;
use clew_tunnel::engine::event::{Reply, TunnelId};
use clew_tunnel::record::Record;
use tokio::sync::mpsc;

use crate::server::ServerCommand;

/// Answers for other hosts. It is called in the server's own task, so that it must not wait: what it has to
/// ask elsewhere, it answers from there.
pub trait Registry: Send + 'static {
    /// Somebody asks for the record of a host.
    fn find(&mut self, signing: Option<[u8; 32]>, hostname: &str, answer: Answer);

    /// A host gives its newest record, of which nothing is verified.
    ///
    /// # Errors
    /// Why it is not taken: section 3.3 of the specification, by its own policy of trust.
    fn take(&mut self, record: Record) -> Result<(), Reason>;
}

/// Where the answer to one question goes. Dropped, it is `unknown-host`.
pub struct Answer {
    tunnel: TunnelId,
    number: u64,
    /// None once it was given. The question does not keep the server running.
    to: Option<mpsc::WeakUnboundedSender<ServerCommand>>,
}

impl Answer {
    pub(crate) const fn new(
        (tunnel, number): (TunnelId, u64),
        to: mpsc::WeakUnboundedSender<ServerCommand>,
    ) -> Self {
        Self {
            tunnel,
            number,
            to: Some(to),
        }
    }

    /// Gives the record, or why there is none: `unknown-host`, `busy`. The other side learns only that there
    /// is none, the server's counters why.
    pub fn give(mut self, found: Result<Record, Reason>) {
        self.send(found);
    }

    fn send(&mut self, found: Result<Record, Reason>) {
        let reply = match found {
            Ok(record) => Reply::Record(Box::new(record)),
            Err(reason) => Reply::Refused(reason),
        };
        let channel = self.to.take().and_then(|to| to.upgrade());
        if let Some(channel) = channel {
            let _ = channel.send(ServerCommand::Reply(self.tunnel, self.number, reply));
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.send(Err(Reason::UnknownHost));
    }
}
