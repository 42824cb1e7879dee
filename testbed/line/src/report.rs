//! What a line did.

use crate::lateness::Percentiles;
use serde::Serialize;

/// One direction, since its condition was set.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// The direction's name.
    pub direction: String,
    /// Single packets that came.
    pub packets: u64,
    /// Their bytes on a wire, from the IP header on.
    pub bytes: u64,
    /// Single packets that were delivered, doubled ones twice.
    pub delivered: u64,
    /// Why others were not.
    pub dropped: Dropped,
    /// Packets that arrived twice.
    pub duplicated: u64,
    /// Packets that later ones overtook.
    pub reordered: u64,
    /// Packets that those who listen did not get.
    pub not_shown: u64,
    /// The most bytes that were on their way at a time.
    pub in_flight_max: u64,
    /// How late packets left the line, in microseconds. A super-packet counts once.
    pub lateness_us: Percentiles,
}

/// Single packets that were not delivered, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Dropped {
    /// Lost on purpose.
    pub lost: u64,
    /// The queue before the rate was full.
    pub queue_full: u64,
    /// More bytes on their way than the line has memory for.
    pub memory_full: u64,
    /// Not a packet that the line can read.
    pub malformed: u64,
    /// The kernel of the receiving host did not take it.
    pub refused: u64,
    /// The kernel of the sending host had no room, as the line's thread came too late. `None` if nobody counts them.
    pub too_slow: Option<u64>,
}

impl Dropped {
    /// All but those that were to be dropped.
    pub fn by_accident(&self) -> u64 {
        self.memory_full + self.malformed + self.refused + self.too_slow.unwrap_or(0)
    }
}
