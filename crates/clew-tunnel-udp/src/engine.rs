//! What a driver asks of an engine, whichever side and version it is.

use clew_tunnel::engine::client::{self, Client};
use clew_tunnel::engine::event::{ConnectionId, Event, Traffic};
use clew_tunnel::engine::server::{self, Server};
use clew_tunnel::engine::trace::Received;
use clew_tunnel::engine::{Datagram, Now, Outgoing};
use clew_tunnel::wire::values::Call;
use clew_tunnel::{Counters, Reason};
use clew_wire::Instant;

/// An engine without IO.
pub trait Engine: Send + 'static {
    /// Work that is run anywhere.
    type Jobs: Send + 'static;

    /// Takes datagrams.
    fn receive<'a>(&mut self, now: Now<'_>, datagrams: impl Iterator<Item = Datagram<'a>>);
    /// The work that waits; none if there is none.
    fn jobs(&mut self) -> Option<Self::Jobs>;
    /// How many jobs these are.
    fn count(jobs: &Self::Jobs) -> usize;
    /// Whether they take longer than datagrams should wait: puzzles.
    fn is_long(jobs: &Self::Jobs) -> bool;
    /// Runs work.
    fn run(jobs: &mut Self::Jobs);
    /// Takes work back that was run.
    fn complete(&mut self, now: Now<'_>, jobs: Self::Jobs);
    /// What happened next.
    fn event(&mut self) -> Option<Event>;
    /// Writes what is to be sent; whether there may be more.
    fn transmit(&mut self, now: Now<'_>, out: &mut Outgoing) -> bool;
    /// When [`Self::tick`] has something to do.
    fn due(&self, now: &Now<'_>) -> Option<Instant>;
    /// Does what is due.
    fn tick(&mut self, now: Now<'_>);
    /// Gives the next RPC of a connection to `read`; false if there is none.
    fn read(&mut self, connection: ConnectionId, read: impl FnMut(Call<'_>)) -> bool;
    /// Sends a whole RPC value on a connection; false if it has to wait.
    ///
    /// # Errors
    /// As the engine's `write`.
    fn forward(&mut self, connection: ConnectionId, value: &[u8]) -> Result<bool, Reason>;
    /// Ends a connection, once everything was sent.
    fn close(&mut self, connection: ConnectionId);
    /// Keeps the last packets that are decrypted, for [`Self::traced`].
    fn trace(&mut self, most: usize);
    /// The next packet that was decrypted, if these are kept.
    fn traced(&mut self) -> Option<Received>;
    /// How often each reason was met.
    fn counters(&self) -> &Counters;
    /// How many tunnels there are.
    fn tunnels(&self) -> usize;
    /// What was sent so far.
    fn traffic(&self) -> Traffic;
    /// Places of tunnels from addresses that are not proven: taken, and free.
    fn unproven(&self) -> (usize, usize);
}

macro_rules! engine {
    ($engine:ty, $jobs:ty, $due:expr, $is_long:expr, $unproven:expr) => {
        impl Engine for $engine {
            type Jobs = $jobs;

            fn receive<'a>(&mut self, now: Now<'_>, datagrams: impl Iterator<Item = Datagram<'a>>) {
                <$engine>::receive(self, now, datagrams);
            }

            fn jobs(&mut self) -> Option<$jobs> {
                self.has_jobs().then(|| <$engine>::jobs(self))
            }

            fn count(jobs: &$jobs) -> usize {
                jobs.len()
            }

            fn is_long(jobs: &$jobs) -> bool {
                $is_long(jobs)
            }

            fn run(jobs: &mut $jobs) {
                jobs.run();
            }

            fn complete(&mut self, now: Now<'_>, jobs: $jobs) {
                <$engine>::complete(self, now, jobs);
            }

            fn event(&mut self) -> Option<Event> {
                <$engine>::event(self)
            }

            fn transmit(&mut self, now: Now<'_>, out: &mut Outgoing) -> bool {
                <$engine>::transmit(self, now, out)
            }

            fn due(&self, now: &Now<'_>) -> Option<Instant> {
                $due(self, now)
            }

            fn tick(&mut self, now: Now<'_>) {
                <$engine>::tick(self, now);
            }

            fn read(&mut self, connection: ConnectionId, read: impl FnMut(Call<'_>)) -> bool {
                <$engine>::read(self, connection, read)
            }

            fn forward(&mut self, connection: ConnectionId, value: &[u8]) -> Result<bool, Reason> {
                <$engine>::forward(self, connection, value)
            }

            fn close(&mut self, connection: ConnectionId) {
                <$engine>::close(self, connection);
            }

            fn trace(&mut self, most: usize) {
                <$engine>::trace(self, most);
            }

            fn traced(&mut self) -> Option<Received> {
                <$engine>::traced(self)
            }

            fn counters(&self) -> &Counters {
                <$engine>::counters(self)
            }

            fn tunnels(&self) -> usize {
                <$engine>::tunnels(self)
            }

            fn traffic(&self) -> Traffic {
                <$engine>::traffic(self)
            }

            fn unproven(&self) -> (usize, usize) {
                $unproven(self)
            }
        }
    };
}

engine!(
    Server,
    server::Jobs,
    |server: &Server, now: &Now<'_>| Some(server.due(now)),
    |_: &server::Jobs| false,
    Server::unproven
);
engine!(
    Client,
    client::Jobs,
    |client: &Client, _: &Now<'_>| client.due(),
    client::Jobs::has_puzzles,
    |_: &Client| (0, 0)
);
