//! The loop between sockets and an engine.

use std::io;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::time::Duration;

use clew_tunnel::engine::event::Event;
use clew_tunnel::engine::{Datagram, Now, Outgoing};
use clew_wire::Instant;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::clock::Clock;
use crate::engine::Engine;
use crate::qlog::Trace;
use crate::sockets::{ReceiveBuffer, Socket, Sockets};

/// Datagrams that are written before any is sent.
const BATCH: usize = 256;

/// Calls of the system for datagrams before those that came are answered.
const READS: usize = 4;

/// Decrypted packets that wait to be traced at most: those of one turn.
const TRACED: usize = 4_096;

/// Commands that are done before the network has its turn.
const COMMANDS: usize = 256;

/// What a driver does with what happens: a service, or the ends of one.
pub trait Program<E: Engine>: Send + 'static {
    /// What others ask of it.
    type Command: Send + 'static;

    /// Something happened.
    fn event(&mut self, engine: &mut E, now: Now<'_>, event: Event);

    /// Somebody asks for something. Sockets that the engine is to have from now on.
    fn command(&mut self, engine: &mut E, now: Now<'_>, command: Self::Command) -> Vec<Socket>;

    /// Whether this engine is to take a datagram; if not, the program has seen to it.
    fn screen(&mut self, _engine: &mut E, _peer: SocketAddr, _datagram: &[u8]) -> bool {
        true
    }

    /// Everything that happened was told, and everything sent.
    fn settled(&mut self, _engine: &mut E, _now: Now<'_>) {}

    /// When it wants to be told again that everything is settled, if nothing happens.
    fn due(&self) -> Option<Instant> {
        None
    }

    /// Whether a tunnel is on the socket of this name; others are closed.
    fn uses(&self, _socket: u32) -> bool {
        true
    }
}

/// One engine, its sockets, its program.
pub struct Driver<E: Engine, P: Program<E>> {
    engine: E,
    program: P,
    sockets: Sockets,
    clock: Clock,
    incoming: ReceiveBuffer,
    outgoing: Outgoing,
    commands: mpsc::UnboundedReceiver<P::Command>,
    /// Work that other threads are at. It comes back to the engine, which has a bound for it.
    elsewhere: JoinSet<E::Jobs>,
    /// From so many jobs on other threads have them.
    many: usize,
    trace: Option<Trace>,
}

/// Why a driver went on.
enum Wake<C, J> {
    Datagrams,
    Command(C),
    Computed(J),
    Time,
    /// Nobody can ask for anything any more.
    Orphaned,
}

impl<E: Engine, P: Program<E>> Driver<E, P> {
    /// Creates a driver that is not running yet.
    pub fn new(
        engine: E,
        program: P,
        sockets: Sockets,
        clock: Clock,
        commands: mpsc::UnboundedReceiver<P::Command>,
    ) -> Self {
        Self {
            incoming: ReceiveBuffer::new(&sockets),
            outgoing: Outgoing::new(BATCH),
            engine,
            program,
            sockets,
            clock,
            commands,
            elsewhere: JoinSet::new(),
            many: usize::MAX,
            trace: None,
        }
    }

    /// Adds a trace of what happens, if there is one. A trace that cannot be written ends, and
    /// nothing else does.
    #[must_use]
    pub(crate) fn traced(mut self, trace: Option<Trace>) -> Self {
        if trace.is_some() {
            self.engine.trace(TRACED);
            self.outgoing.remember();
        }
        self.trace = trace;
        self
    }

    /// Gives lists of so many jobs or more to tokio's threads for blocking work: for who has cores
    /// to spare, and one engine.
    #[must_use]
    pub(crate) fn with_offload(mut self, many: Option<NonZeroUsize>) -> Self {
        if let Some(many) = many {
            self.many = many.get();
        }
        self
    }

    /// Runs until nobody holds the other end of its commands.
    ///
    /// # Errors
    /// The system's, of a socket that is of no use any more.
    pub async fn run(mut self) -> io::Result<()> {
        loop {
            self.settle().await?;
            let now = self.clock.now();
            self.program.settled(&mut self.engine, now);
            self.keep_trace(Trace::flush);
            match self.wait().await? {
                Wake::Datagrams => self.take_datagrams()?,
                Wake::Command(command) => self.take_commands(command),
                Wake::Computed(jobs) => self.engine.complete(self.clock.now(), jobs),
                Wake::Time => {}
                Wake::Orphaned => return Ok(()),
            }
            let now = self.clock.now();
            if self.engine.due(&now).is_some_and(|due| due <= now.instant) {
                self.engine.tick(self.clock.now());
            }
        }
    }

    /// Adds to the trace, if there is one.
    fn keep_trace(&mut self, write: impl FnOnce(&mut Trace) -> io::Result<()>) {
        if let Some(trace) = &mut self.trace
            && write(trace).is_err()
        {
            self.trace = None;
            self.engine.trace(0);
        }
    }

    /// What was decrypted and sent since the last time.
    fn trace_all(&mut self) {
        if self.trace.is_none() {
            return;
        }
        let at = self.clock.now().instant;
        let mut received = Vec::new();
        while let Some(one) = self.engine.traced() {
            received.push(one);
        }
        let (sent, counters) = (
            self.outgoing.seen().to_vec(),
            self.engine.counters().clone(),
        );
        self.keep_trace(|trace| {
            received.iter().try_for_each(|one| trace.received(one))?;
            sent.iter().try_for_each(|one| trace.sent(at, one))?;
            trace.discarded(at, &counters)
        });
    }

    async fn wait(&mut self) -> io::Result<Wake<P::Command, E::Jobs>> {
        let due = self.engine.due(&self.clock.now());
        let due = [due, self.program.due()].into_iter().flatten().min();
        let at = due.map_or_else(
            || tokio::time::Instant::now() + Duration::from_secs(3_600),
            |due| self.clock.at(due),
        );
        let Self {
            sockets,
            incoming,
            commands,
            elsewhere,
            ..
        } = self;
        tokio::select! {
            received = sockets.receive(incoming) => received.map(|()| Wake::Datagrams),
            Some(computed) = elsewhere.join_next() => {
                computed.map(Wake::Computed).map_err(io::Error::other)
            }
            command = commands.recv() => Ok(command.map_or(Wake::Orphaned, Wake::Command)),
            () = tokio::time::sleep_until(at) => Ok(Wake::Time),
        }
    }

    /// What came, and what has come meanwhile.
    fn take_datagrams(&mut self) -> io::Result<()> {
        for _ in 0..READS {
            self.take_incoming();
            if !self.sockets.try_receive(&mut self.incoming)? {
                return Ok(());
            }
        }
        self.take_incoming();
        Ok(())
    }

    fn take_incoming(&mut self) {
        let Self {
            engine,
            program,
            clock,
            incoming,
            ..
        } = self;
        let mut mine = Vec::with_capacity(BATCH);
        for (peer, bytes) in incoming.datagrams() {
            if program.screen(engine, peer, bytes) {
                mine.push(Datagram { peer, bytes });
            }
        }
        engine.receive(clock.now(), mine.into_iter());
    }

    fn take_commands(&mut self, first: P::Command) {
        let mut next = Some(first);
        for _ in 0..COMMANDS {
            let Some(command) = next else {
                return;
            };
            self.take_command(command);
            next = self.commands.try_recv().ok();
        }
        if let Some(command) = next {
            self.take_command(command);
        }
    }

    fn take_command(&mut self, command: P::Command) {
        let now = self.clock.now();
        let sockets = self.program.command(&mut self.engine, now, command);
        if sockets.is_empty() {
            return;
        }
        let program = &self.program;
        self.sockets.retain(|name| program.uses(name));
        for socket in sockets {
            self.sockets.add(socket);
        }
    }

    /// Computes, tells the program, and sends, until there is nothing more of it.
    async fn settle(&mut self) -> io::Result<()> {
        loop {
            while let Some(mut jobs) = self.engine.jobs() {
                if E::is_long(&jobs) || E::count(&jobs) >= self.many {
                    self.elsewhere.spawn_blocking(move || {
                        E::run(&mut jobs);
                        jobs
                    });
                    continue;
                }
                E::run(&mut jobs);
                self.engine.complete(self.clock.now(), jobs);
            }
            while self.tell() {}
            self.outgoing.clear();
            let has_more = self.engine.transmit(self.clock.now(), &mut self.outgoing);
            self.send().await?;
            self.trace_all();
            // What was sent makes room for more: whoever waits for that is told now, not when acks come.
            if !has_more && !self.tell() {
                return Ok(());
            }
        }
    }

    /// Tells the program what happened next. False if nothing did.
    fn tell(&mut self) -> bool {
        let Some(event) = self.engine.event() else {
            return false;
        };
        let now = self.clock.now();
        self.program.event(&mut self.engine, now, event);
        true
    }

    async fn send(&mut self) -> io::Result<()> {
        for run in self.outgoing.runs() {
            // An address of a family without a socket: as if the network lost it.
            let Some(socket) = self.sockets.find(run.from, run.to) else {
                continue;
            };
            loop {
                match socket.send(&run) {
                    Ok(true) => break,
                    Ok(false) => socket.writable().await?,
                    // This address cannot be reached, now: what is lost is sent again, or given up in time.
                    Err(_) => break,
                }
            }
        }
        Ok(())
    }
}
