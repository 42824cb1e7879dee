//! The connections that a server has open, and which one ends when there are too many.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::task::AbortHandle;

/// The connections that are open, in the order of their arrival.
#[derive(Debug)]
pub(super) struct Connections {
    open: Mutex<Vec<Held>>,
    most: usize,
    most_of_host: usize,
}

#[derive(Debug)]
struct Held {
    number: u64,
    host: IpAddr,
    /// A whole request has come, and is not answered yet.
    is_asked: bool,
    task: AbortHandle,
}

impl Connections {
    pub(super) fn new(most: usize, most_of_host: usize) -> Arc<Self> {
        Arc::new(Self {
            open: Mutex::default(),
            most,
            most_of_host,
        })
    }

    fn with<T>(&self, see: impl FnOnce(&mut Vec<Held>) -> T) -> T {
        see(&mut self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Ends a connection if this host, or the server, has all that it may have: the oldest one without
    /// a request under way, or else the oldest.
    pub(super) fn make_room(&self, host: IpAddr) {
        self.with(|all| {
            let of_host = all.iter().filter(|held| held.host == host).count();
            let is_hosts_turn = of_host >= self.most_of_host;
            if !is_hosts_turn && all.len() < self.most {
                return;
            }
            let may_end = |held: &Held| !is_hosts_turn || held.host == host;
            let idle = all.iter().position(|held| may_end(held) && !held.is_asked);
            if let Some(at) = idle.or_else(|| all.iter().position(may_end)) {
                all.remove(at).task.abort();
            }
        });
    }

    pub(super) fn add(&self, number: u64, host: IpAddr, task: AbortHandle) {
        self.with(|all| {
            all.push(Held {
                number,
                host,
                is_asked: false,
                task,
            });
        });
    }

    /// Says whether a connection has a request under way.
    pub(super) fn set_asked(&self, number: u64, is_asked: bool) {
        self.with(|all| {
            let found = all.iter_mut().find(|held| held.number == number);
            found.into_iter().for_each(|held| held.is_asked = is_asked);
        });
    }

    fn remove(&self, number: u64) {
        self.with(|all| all.retain(|held| held.number != number));
    }
}

/// One connection's place. Dropping it frees the place.
pub(super) struct Place {
    pub connections: Arc<Connections>,
    pub number: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.remove(self.number);
    }
}

/// Returns who counts as one host: an IPv4 address, or a /64 of IPv6.
pub(crate) fn host(from: IpAddr) -> IpAddr {
    match from.to_canonical() {
        IpAddr::V4(v4) => IpAddr::V4(v4),
        IpAddr::V6(v6) => {
            let prefix = u128::from(v6) >> 64 << 64;
            IpAddr::V6(prefix.into())
        }
    }
}
