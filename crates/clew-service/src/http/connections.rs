//! The connections that a server has open, and which one ends when there are too many.

use std::collections::HashMap;
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
    /// A whole request has come, and its answer has not begun. Whoever sends slowly, or takes an answer
    /// slowly, is the first to go.
    is_asked: bool,
    /// `None` until its task runs.
    task: Option<AbortHandle>,
}

impl Held {
    fn end(self) {
        self.task.into_iter().for_each(|task| task.abort());
    }
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

    /// Ends a connection if this host, or the server, has all that it may have: one of this host, or of the
    /// host that has most of them. So whoever has few keeps them. It is the oldest one without a request
    /// under way, or else the oldest.
    pub(super) fn make_room(&self, host: IpAddr) {
        self.with(|all| {
            let mut of_hosts = HashMap::<IpAddr, usize>::new();
            for held in &*all {
                *of_hosts.entry(held.host).or_default() += 1;
            }
            let own = of_hosts.get(&host).copied().unwrap_or(0);
            let most = of_hosts.into_iter().max_by_key(|(_, count)| *count);
            let from = match most {
                _ if own >= self.most_of_host => host,
                Some((most, _)) if all.len() >= self.most => most,
                _ => return,
            };
            let may_end = |held: &Held| held.host == from;
            let idle = all.iter().position(|held| may_end(held) && !held.is_asked);
            if let Some(at) = idle.or_else(|| all.iter().position(may_end)) {
                all.remove(at).end();
            }
        });
    }

    /// Takes the place of a connection, before its task is started: a task that is over at once finds the
    /// place that it frees.
    pub(super) fn add(self: &Arc<Self>, number: u64, host: IpAddr) -> Place {
        self.with(|all| {
            all.push(Held {
                number,
                host,
                is_asked: false,
                task: None,
            });
        });
        Place {
            connections: Arc::clone(self),
            number,
        }
    }

    fn change(&self, number: u64, change: impl FnOnce(&mut Held)) {
        self.with(|all| {
            if let Some(held) = all.iter_mut().find(|held| held.number == number) {
                change(held);
            }
        });
    }

    /// Names the task that ends with a connection. Does nothing if that is over.
    pub(super) fn set_task(&self, number: u64, task: AbortHandle) {
        self.change(number, |held| held.task = Some(task));
    }

    /// Says whether a connection has a request under way.
    pub(super) fn set_asked(&self, number: u64, is_asked: bool) {
        self.change(number, |held| held.is_asked = is_asked);
    }

    /// Ends all of them.
    pub(super) fn end(&self) {
        let all = self.with(std::mem::take);
        all.into_iter().for_each(Held::end);
    }

    fn remove(&self, number: u64) {
        self.with(|all| all.retain(|held| held.number != number));
    }
}

/// One connection's place. Dropping it frees the place.
pub(super) struct Place {
    connections: Arc<Connections>,
    number: u64,
}

impl Place {
    pub(super) fn set_asked(&self, is_asked: bool) {
        self.connections.set_asked(self.number, is_asked);
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(
        runtime: &tokio::runtime::Runtime,
        hosts: &[u8],
        most: usize,
    ) -> Arc<Connections> {
        let connections = Connections::new(most, most);
        for (number, host) in hosts.iter().enumerate() {
            let task = runtime.spawn(std::future::pending::<()>());
            let number = number as u64;
            std::mem::forget(connections.add(number, IpAddr::from([10, 0, 0, *host])));
            connections.set_task(number, task.abort_handle());
            // All have a request under way, but for the one of a host that just came.
            connections.set_asked(number, *host != 9);
        }
        connections
    }

    #[test]
    fn who_has_few_connections_keeps_them() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let full = connections(&runtime, &[9, 1, 1, 2, 2, 2], 6);
        for newcomer in [3, 3, 1] {
            full.make_room(IpAddr::from([10, 0, 0, newcomer]));
            let left = full.with(|all| all.iter().map(|held| held.number).collect::<Vec<_>>());
            assert!(left.contains(&0), "{left:?}");
        }
        let left = full.with(|all| all.len());
        assert_eq!(left, 5, "one ended, and then there was room");
    }

    /// A peer that resets its connection ends the task before anybody knows the task.
    #[test]
    fn a_connection_that_ends_at_once_leaves_nothing() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let all = Connections::new(2, 2);
        for number in 0..1_000 {
            let place = all.add(number, IpAddr::from([10, 0, 0, 1]));
            assert_eq!(all.with(|all| all.len()), 1);
            drop(place); // what the task does, when it is over
            let task = runtime.spawn(std::future::ready(()));
            all.set_task(number, task.abort_handle());
            assert_eq!(all.with(|all| all.len()), 0);
        }
    }
}
