//! Places for connections, divided among users and networks.

use super::rarely::Rarely;
use clew_tunnel::engine::event::User;
use clew_tunnel::engine::rate::Prefix;
use clew_tunnel::engine::shares::Shares;
use clew_tunnel_udp::Incoming;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tracing::warn;

/// Who has places: a user, or whoever has no key in one network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Holder {
    User([u8; 32]),
    Anybody(Prefix),
}

impl Holder {
    fn of(incoming: &Incoming) -> Self {
        match incoming.user() {
            User::Key { key, .. } => Self::User(key.0),
            User::Anonymous => Self::Anybody(Prefix::of(incoming.address())),
        }
    }
}

/// Places for connections. A holder of n gets another only while at least n are free.
#[derive(Clone, Debug)]
pub struct Places(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    shares: Mutex<Shares<Holder>>,
    refused: Rarely,
}

/// A place for one connection. Dropped, it is free again.
#[derive(Debug)]
pub struct Place {
    places: Places,
    holder: Holder,
}

impl Places {
    /// So many, and all are free.
    pub fn new(most: usize) -> Self {
        Self(Arc::new(Inner {
            shares: Mutex::new(Shares::new(most)),
            refused: Rarely::default(),
        }))
    }

    fn shares(&self) -> MutexGuard<'_, Shares<Holder>> {
        let shares = self.0.shares.lock();
        shares.unwrap_or_else(PoisonError::into_inner)
    }

    /// How many are free.
    pub fn free(&self) -> usize {
        self.shares().free()
    }

    /// A place for this connection. Returns `None`, and says so once in a while, if its user has its share.
    pub fn take(&self, incoming: &Incoming) -> Option<Place> {
        self.take_for(Holder::of(incoming))
    }

    fn take_for(&self, holder: Holder) -> Option<Place> {
        let places = self.clone();
        let mut shares = self.shares();
        if shares.take(holder) {
            return Some(Place { places, holder });
        }
        let (open, free) = (shares.taken(), shares.free());
        drop(shares);
        let whose = match holder {
            Holder::User(_) => "a user",
            Holder::Anybody(_) => "users without a key of one network",
        };
        self.0.refused.tell(|others| {
            warn!(
                open,
                free,
                others,
                "{whose} reached the limit of connections (--max-connections): more are refused"
            );
        });
        None
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.shares().give(&self.holder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_user_leaves_places_to_others_and_gives_them_back() {
        let places = Places::new(10);
        let all: Vec<_> = (0..99)
            .map_while(|_| places.take_for(Holder::User([1; 32])))
            .collect();
        assert_eq!((all.len(), places.free()), (6, 4));
        let network = Prefix::of(([192, 0, 2, 1], 1).into());
        let other = places.take_for(Holder::Anybody(network));
        assert!(other.is_some());
        drop((all, other));
        assert_eq!(places.free(), 10);
    }
}
