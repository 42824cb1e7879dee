//! The loop between sockets and an engine, with an engine that only does what is looked at.

use std::time::Duration;

use clew_tunnel_udp::Clock;
use clew_tunnel_udp::driver::{Driver, Program};
use clew_tunnel_udp::engine::Engine;
use clew_tunnel_udp::sockets::{Socket, Sockets};
use clew_tunnel_udp::tunnel::engine::client::{Client, Config, Target};
use clew_tunnel_udp::tunnel::engine::event::{ConnectionId, Event, Traffic, TunnelId};
use clew_tunnel_udp::tunnel::engine::trace::Received;
use clew_tunnel_udp::tunnel::engine::{Datagram, Instant, Now, Outgoing};
use clew_tunnel_udp::tunnel::wire::values::Call;
use clew_tunnel_udp::tunnel::x25519::Public;
use clew_tunnel_udp::tunnel::{Counters, Reason};
use tokio::sync::mpsc;

/// Something happens to it only when it sends.
struct Sender {
    happens: Vec<Event>,
    happened: Vec<Event>,
    counters: Counters,
}

impl Engine for Sender {
    type Jobs = ();

    fn transmit(&mut self, _: Now<'_>, _: &mut Outgoing) -> bool {
        self.happened.extend(self.happens.pop());
        false
    }

    fn event(&mut self) -> Option<Event> {
        self.happened.pop()
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn receive<'a>(&mut self, _: Now<'_>, _: impl Iterator<Item = Datagram<'a>>) {}
    fn jobs(&mut self) -> Option<()> {
        None
    }
    fn count((): &()) -> usize {
        0
    }
    fn is_long((): &()) -> bool {
        false
    }
    fn run((): &mut ()) {}
    fn complete(&mut self, _: Now<'_>, (): ()) {}
    fn due(&self, _: &Now<'_>) -> Option<Instant> {
        None
    }
    fn tick(&mut self, _: Now<'_>) {}
    fn read(&mut self, _: ConnectionId, _: impl FnMut(Call<'_>)) -> bool {
        false
    }
    fn forward(&mut self, _: ConnectionId, _: &[u8]) -> Result<bool, Reason> {
        Ok(true)
    }
    fn close(&mut self, _: ConnectionId) {}
    fn trace(&mut self, _: usize) {}
    fn traced(&mut self) -> Option<Received> {
        None
    }
    fn tunnels(&self) -> usize {
        0
    }
    fn traffic(&self) -> Traffic {
        Traffic::default()
    }
    fn unproven(&self) -> (usize, usize) {
        (0, 0)
    }
}

/// Says what it is told.
struct Told(mpsc::UnboundedSender<Event>);

impl Program<Sender> for Told {
    type Command = ();

    fn event(&mut self, _: &mut Sender, _: Now<'_>, event: Event) {
        let _ = self.0.send(event);
    }

    fn command(&mut self, _: &mut Sender, _: Now<'_>, (): ()) -> Vec<Socket> {
        Vec::new()
    }
}

/// A number that an engine gave.
fn some_tunnel(clock: &mut Clock) -> TunnelId {
    let mut client = Client::new(Config::default(), clock.now());
    let target = Target::Directory {
        addresses: vec!["192.0.2.1:1".parse().expect("an address")],
        m: 1_024,
        w: 8,
        boxing: Public([9; 32]),
    };
    client.open(clock.now(), target, 0).expect("a target")
}

/// Who waits for room must not wait for acks besides: no other thing wakes this driver.
#[tokio::test]
async fn what_sending_brings_about_is_told_at_once() {
    let mut clock = Clock::default();
    let event = Event::Opened(some_tunnel(&mut clock));
    let engine = Sender {
        happens: vec![event.clone(), event.clone()],
        happened: Vec::new(),
        counters: Counters::default(),
    };
    let (_asks, asked) = mpsc::unbounded_channel();
    let (tell, mut told) = mpsc::unbounded_channel();
    let driver = Driver::new(engine, Told(tell), Sockets::default(), clock, asked);
    let running = tokio::spawn(driver.run());
    for _ in 0..2 {
        let next = tokio::time::timeout(Duration::from_secs(5), told.recv()).await;
        assert_eq!(next.expect("in time"), Some(event.clone()));
    }
    running.abort();
}
