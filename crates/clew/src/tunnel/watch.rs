//! What befalls a tunnel from outside: this machine is elsewhere or woke up, or nothing comes back.

use crate::clock;
use clew_tunnel_udp::{State, Tunnel};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Weak;
use std::time::Duration;
use tokio::time::Instant;
use tracing::warn;

/// How often it is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// A machine slept if its time of day went on by so much more than its clock, which stood still.
const SLEPT: Duration = Duration::from_secs(30);

/// Tells a tunnel when it has moved, and people when it is silent, as long as somebody has it. `what` is on
/// the other side.
pub async fn watch(tunnel: Weak<Tunnel>, server: Vec<SocketAddr>, what: String) {
    let mut known = ways(&server);
    let mut is_silent = false;
    let (mut clock, mut wall) = (Instant::now(), clock::now_ns());
    loop {
        tokio::time::sleep(LOOK).await;
        let Some(tunnel) = tunnel.upgrade() else {
            return;
        };
        let state = *tunnel.state().borrow();
        if let State::Gone(_) = state {
            return;
        }
        let went = Duration::from_nanos(clock::now_ns().saturating_sub(wall));
        let has_slept = went > clock.elapsed() + SLEPT;
        (clock, wall) = (Instant::now(), clock::now_ns());
        let now = ways(&server);
        let is_elsewhere = now != known && now.iter().any(Option::is_some);
        known = now;
        if is_elsewhere || has_slept {
            tunnel.moved();
        }
        let was_silent = std::mem::replace(&mut is_silent, state == State::Silent);
        if is_silent && !was_silent {
            warn!("{what}: no answer; still trying");
        }
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
