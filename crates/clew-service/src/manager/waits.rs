//! Requests for the feed's head that wait for a newer one.

use crate::http::{From, host};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Most that wait at once: half of a server's connections. Further ones are answered at once, and their
/// clients ask again later.
pub(super) const WAITING_MAX: usize = 512;
/// Most of one host, as the server counts hosts.
pub(super) const WAITING_OF_HOST_MAX: usize = 128;

/// Who waits. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// A place of one who waits. Dropping it frees the place.
pub(super) struct Waiting {
    waits: Waits,
    host: IpAddr,
}

impl Waits {
    fn with<T>(&self, see: impl FnOnce(&mut HashMap<IpAddr, usize>) -> T) -> T {
        see(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A place for one more, if there is one.
    pub fn begin(&self, from: From) -> Option<Waiting> {
        let host = host(from.0);
        let has_room = self.with(|waiting| {
            let all: usize = waiting.values().sum();
            let own = waiting.entry(host).or_default();
            let has_room = all < WAITING_MAX && *own < WAITING_OF_HOST_MAX;
            *own += usize::from(has_room);
            waiting.retain(|_, count| *count > 0);
            has_room
        });
        // Only made if there is room: its end frees a place.
        has_room.then(|| Waiting {
            waits: self.clone(),
            host,
        })
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.waits.with(|waiting| {
            if let Some(count) = waiting.get_mut(&self.host) {
                *count -= 1;
            }
            waiting.retain(|_, count| *count > 0);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_all_together_have_a_maximum() {
        let waits = Waits::default();
        let of = |host: u8| waits.begin(From(IpAddr::from([10, 0, 0, host])));
        let mut held: Vec<_> = (0..WAITING_OF_HOST_MAX).map(|_| of(1).unwrap()).collect();
        assert!(of(1).is_none());
        while held.len() < WAITING_MAX {
            held.push(of(2 + (held.len() / WAITING_OF_HOST_MAX) as u8).unwrap());
        }
        assert!(of(200).is_none());
        held.remove(0);
        assert!(of(1).is_some());
        drop(held);
        assert!(waits.with(|waiting| waiting.is_empty()));
    }
}
