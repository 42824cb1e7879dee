//! Clue's carrier before its optimisations: each packet is signed for itself and sent, each is
//! verified for itself and delivered, and nothing else happens meanwhile. `clew up` has no such mode:
//! this is its core, its TUN and its socket with plain loops around them.

use crate::signer::{Clock, PEER, identity, inbound, outbound, rng};
use crate::topology::{FAR_INNER, NEAR_INNER};
use clap::Args;
use clew_engine::Keyring;
use clew_live::carrier::{Datagrams, Tun, TunWriter, Udp};
use clew_live::identity::Identity;
use clew_live::packet::{Clear, Outer};
use clew_live::pool::{Generation, Marks, Pool, PoolHandle};
use clew_live::receiver::Inbound;
use clew_live::sender::{Cover, Outbound};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::gettid;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Runs the carrier in this namespace.
#[derive(Args)]
pub struct Synchronous {
    /// A TUN that is there and up
    #[arg(long)]
    device: String,
    /// The UDP port of both sides
    #[arg(long)]
    port: u16,
    /// The other side's carrier
    #[arg(long)]
    remote: SocketAddr,
    /// The folder with the keys of both sides
    #[arg(long)]
    keys: PathBuf,
    /// Whose key it signs with: near or far
    #[arg(long)]
    side: String,
    /// Precursors that are ready before the first packet; with 0 each is computed when it is needed
    #[arg(long)]
    precursors: usize,
}

/// Precursors that are prepared between two looks at the pool.
const REFILL: usize = 16;
const FULL: Duration = Duration::from_millis(20);

const GENERATION: Generation = Generation {
    process: 0,
    boot: [0; 16],
};

impl Synchronous {
    /// Runs until it is killed.
    pub fn run(&self) -> io::Result<()> {
        let clock = Clock::start();
        let tun = Tun::attach(&self.device, 1_500, true)?;
        let identity = identity(&self.keys, &self.side)?;
        identity
            .prepare(clock.now().wall)
            .map_err(io::Error::other)?;
        let outbound = outbound(Arc::clone(&identity), Cover::Each, self.remote);
        let networks = if self.side == "near" {
            FAR_INNER
        } else {
            NEAR_INNER
        };
        let mut inbound = inbound(&self.keys, networks, outbound.mss(PEER), clock.now())?;
        let pool = Arc::new(Pool::new(
            Marks {
                low: self.precursors,
                high: self.precursors,
            },
            GENERATION,
        ));
        fill(&pool, &identity, clock, self.precursors)?;
        // Who waits for this program waits for its port.
        let udp = Arc::new(Udp::bind(self.port)?);
        let (out, socket, to) = (tun.clone(), Arc::clone(&udp), self.remote);
        let of_sender = Arc::clone(&pool);
        let sender = thread::spawn(move || send(&out, &socket, to, outbound, &of_sender, clock));
        let refill = thread::spawn(move || refill(&pool, &identity, clock));
        receive(&tun, &udp, &mut inbound, clock)?;
        for ended in [sender.join(), refill.join()] {
            ended.map_err(|_| io::Error::other("a thread ended"))??;
        }
        Ok(())
    }
}

fn fill(pool: &Pool, identity: &Identity, clock: Clock, most: usize) -> io::Result<()> {
    let key = identity.at(clock.now().wall).map_err(io::Error::other)?;
    let each = most / 2;
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            pool.fill_some([Some(key), None], GENERATION, each, &mut rng()?);
            io::Result::Ok(())
        });
        pool.fill_some([Some(key), None], GENERATION, most - each, &mut rng()?);
        other
            .join()
            .map_err(|_| io::Error::other("a thread ended"))?
    })
}

/// As the daemon does it: with what processor time nobody else wants.
fn refill(pool: &Pool, identity: &Identity, clock: Clock) -> io::Result<()> {
    let thread = gettid().to_string();
    Command::new("renice")
        .args(["-n", "19", "-p", &thread])
        .output()?;
    let mut rng = rng()?;
    loop {
        let key = identity.at(clock.now().wall).map_err(io::Error::other)?;
        if pool.fill_some([Some(key), None], GENERATION, REFILL, &mut rng) == 0 {
            thread::sleep(FULL);
        }
    }
}

fn wait<'a>(
    descriptors: impl Iterator<Item = BorrowedFd<'a>>,
    most: Option<Duration>,
) -> io::Result<()> {
    let mut all: Vec<_> = descriptors
        .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
        .collect();
    let most = most.map_or(PollTimeout::NONE, |most| {
        PollTimeout::try_from(most.as_millis() + 1).unwrap_or(PollTimeout::MAX)
    });
    poll(&mut all, most)?;
    Ok(())
}

/// One read after another: its packets are signed and sent before the next one.
fn send(
    tun: &Tun,
    udp: &Udp,
    to: SocketAddr,
    mut outbound: Outbound,
    pool: &Pool,
    clock: Clock,
) -> io::Result<()> {
    let (mut reader, mut rng) = (tun.reader(), rng()?);
    let (mut packets, mut bursts) = (Vec::new(), Vec::new());
    let mut handle = PoolHandle {
        pool,
        generation: GENERATION,
    };
    loop {
        match reader.read(&mut packets) {
            Ok(()) => {}
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                wait([tun.as_fd()].into_iter(), None)?;
                continue;
            }
            Err(other) => return Err(other),
        }
        for bytes in packets.drain(..) {
            // A refusal is counted there, and TCP sends again.
            let _ = outbound.push(Clear { peer: PEER, bytes }, clock.now());
            outbound.flush(clock.now(), &mut handle, &mut rng, &mut bursts);
            for burst in bursts.drain(..) {
                udp.send(to, None, &burst);
                outbound.recycle(burst.bytes);
            }
        }
    }
}

/// One datagram after another: its packet is verified and delivered before the next one.
fn receive(tun: &Tun, udp: &Udp, inbound: &mut Inbound<Keyring>, clock: Clock) -> io::Result<()> {
    let (mut writer, mut room, mut rng) = (tun.writer(0), Datagrams::default(), rng()?);
    let mut arrived: Vec<(Vec<u8>, Outer)> = Vec::new();
    loop {
        let any = udp.receive(&mut room, |datagram, outer| {
            arrived.push((datagram.to_vec(), *outer));
        })?;
        if !any {
            udp.errors(|_| ());
            let next = one(inbound, &mut writer, None, clock, &mut rng);
            wait(udp.descriptors(), next)?;
        }
        for (datagram, outer) in arrived.drain(..) {
            one(
                inbound,
                &mut writer,
                Some((&datagram, &outer)),
                clock,
                &mut rng,
            );
        }
    }
}

/// Returns when something else is to be done, if nothing arrives.
fn one(
    inbound: &mut Inbound<Keyring>,
    writer: &mut TunWriter,
    arrived: Option<(&[u8], &Outer)>,
    clock: Clock,
    rng: &mut rand_chacha::ChaCha20Rng,
) -> Option<Duration> {
    if let Some((datagram, outer)) = arrived {
        inbound.receive(datagram, outer, clock.now());
    }
    while let Some(work) = inbound.take_work(clock.now()) {
        let begin = Instant::now();
        let done = work.run(rng);
        inbound.finish(done, begin.elapsed(), clock.now());
    }
    let mut out = Vec::new();
    let next = inbound.deliver(clock.now(), &mut out);
    writer.write(out.iter().map(|delivery| delivery.bytes.as_slice()));
    for delivery in out {
        inbound.recycle(delivery.bytes);
    }
    next.map(|next| next - clock.now().instant)
}
