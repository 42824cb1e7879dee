//! What befalls a tunnel from outside: this machine is elsewhere or woke up, or nothing comes back.

use crate::clock;
use clew_tunnel_udp::{State, Tunnel};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::time::Instant;
use tracing::warn;

/// How often it is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// A machine slept if its time of day went on by so much more than its clock, which stood still.
const SLEPT: Duration = Duration::from_secs(30);

/// The tunnels of a link. They are told when this machine has moved, and people when one is silent.
pub struct Watched {
    what: String,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    tunnels: Vec<Weak<Tunnel>>,
    /// The server's, as the newest tunnel has them.
    addresses: Vec<SocketAddr>,
}

impl Watched {
    /// Watches as long as somebody holds it. `what` is on the other side. Within tokio.
    pub fn begin(what: String) -> Arc<Self> {
        let watched = Arc::new(Self {
            what,
            seen: Mutex::default(),
        });
        tokio::spawn(watch(Arc::downgrade(&watched)));
        watched
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches a tunnel, too, to a server at these addresses.
    pub fn add(&self, tunnel: &Arc<Tunnel>, addresses: &[SocketAddr]) {
        let mut seen = self.seen();
        seen.tunnels.retain(|tunnel| tunnel.strong_count() > 0);
        seen.tunnels.push(Arc::downgrade(tunnel));
        seen.addresses = addresses.to_vec();
    }

    /// Tells all tunnels that this machine has moved, if it has. Whether one of them is silent.
    fn look(&self, has_moved: bool) -> bool {
        let mut is_silent = false;
        for tunnel in self.seen().tunnels.iter().filter_map(Weak::upgrade) {
            is_silent |= *tunnel.state().borrow() == State::Silent;
            if has_moved {
                tunnel.moved();
            }
        }
        is_silent
    }
}

async fn watch(watched: Weak<Watched>) {
    let mut known: Option<(Vec<SocketAddr>, Vec<Option<IpAddr>>)> = None;
    let mut was_silent = false;
    let (mut clock, mut wall) = (Instant::now(), clock::now_ns());
    loop {
        tokio::time::sleep(LOOK).await;
        let Some(watched) = watched.upgrade() else {
            return;
        };
        let went = Duration::from_nanos(clock::now_ns().saturating_sub(wall));
        let has_slept = went > clock.elapsed() + SLEPT;
        (clock, wall) = (Instant::now(), clock::now_ns());
        let addresses = watched.seen().addresses.clone();
        let now = (addresses.clone(), ways(&addresses));
        // Other addresses of the server are no move.
        let is_other = |(of, ways): &(Vec<_>, Vec<_>)| *of == now.0 && *ways != now.1;
        let is_elsewhere =
            known.as_ref().is_some_and(is_other) && now.1.iter().any(Option::is_some);
        known = Some(now);
        let is_silent = watched.look(is_elsewhere || has_slept);
        if is_silent && !was_silent {
            warn!("{}: no answer; still trying", watched.what);
        }
        was_silent = is_silent;
    }
}

/// This machine's own address on the way to each of these; none where there is no way. Nothing is sent.
fn ways(to: &[SocketAddr]) -> Vec<Option<IpAddr>> {
    let way = |to: &SocketAddr| {
        let any: IpAddr = match to {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let socket = UdpSocket::bind((any, 0)).ok()?;
        socket.connect(to).ok()?;
        Some(socket.local_addr().ok()?.ip())
    };
    to.iter().map(way).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_oneself_is_known() {
        let here = SocketAddr::from(([127, 0, 0, 1], 9));
        assert_eq!(ways(&[here]), [Some(here.ip())]);
    }
}
