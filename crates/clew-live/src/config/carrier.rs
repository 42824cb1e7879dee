//! The carrier's word in a configuration.

use clew_packet::Carrier;
use serde::de::{Deserialize, Deserializer, Error};

/// All carriers, the usual one first.
const ALL: [Carrier; 3] = [Carrier::UdpTunnel, Carrier::UdpTransport, Carrier::Trailer];

const WORDS: [&str; 3] = [ALL[0].as_str(), ALL[1].as_str(), ALL[2].as_str()];

/// The carrier of a configuration that names none.
pub(super) const fn usual() -> Carrier {
    ALL[0]
}

pub(super) fn named<'de, D: Deserializer<'de>>(from: D) -> Result<Carrier, D::Error> {
    let word = String::deserialize(from)?;
    let carrier = ALL.into_iter().find(|carrier| carrier.as_str() == word);
    carrier.ok_or_else(|| D::Error::unknown_variant(&word, &WORDS))
}
