//! Tunnels by number.

use alloc::vec::Vec;

use super::event::TunnelId;

/// Tunnels, each under a number that no other one of this engine had.
#[derive(Debug)]
pub(super) struct Table<T> {
    places: Vec<Place<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Place<T> {
    generation: u32,
    tunnel: Option<T>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Table<T> {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Adds the tunnel that `make` makes for its number.
    pub(super) fn insert(&mut self, make: impl FnOnce(TunnelId) -> T) -> TunnelId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place {
                generation: 0,
                tunnel: None,
            });
            (self.places.len() - 1) as u32
        });
        let place = &mut self.places[index as usize];
        place.generation = place.generation.wrapping_add(1);
        let id = TunnelId {
            index,
            generation: place.generation,
        };
        place.tunnel = Some(make(id));
        id
    }

    /// The tunnel at this place.
    pub(super) fn at(&mut self, index: u32) -> Option<&mut T> {
        self.places.get_mut(index as usize)?.tunnel.as_mut()
    }

    /// The same, to be read.
    pub(super) fn peek(&self, index: u32) -> Option<&T> {
        self.places.get(index as usize)?.tunnel.as_ref()
    }

    /// The places that have one.
    pub(super) fn indices(&self) -> impl Iterator<Item = u32> {
        let taken =
            |(index, place): (usize, &Place<T>)| place.tunnel.as_ref().map(|_| index as u32);
        self.places.iter().enumerate().filter_map(taken)
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().filter_map(|place| place.tunnel.as_ref())
    }

    /// The tunnel of this number, if it is still there.
    pub(super) fn get(&mut self, id: TunnelId) -> Option<&mut T> {
        let place = self.places.get_mut(id.index as usize)?;
        place
            .tunnel
            .as_mut()
            .filter(|_| place.generation == id.generation)
    }

    /// Takes a tunnel out.
    pub(super) fn remove(&mut self, index: u32) -> Option<T> {
        let tunnel = self.places.get_mut(index as usize)?.tunnel.take()?;
        self.free.push(index);
        Some(tunnel)
    }
}
