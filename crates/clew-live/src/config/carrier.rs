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

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::IntoDeserializer;
    use serde::de::value::Error as Refused;

    #[test]
    fn carriers_have_their_words_and_no_others() {
        let read = |word: &'static str| named::<'_, _>(word.into_deserializer());
        for carrier in ALL {
            let found: Result<_, Refused> = read(carrier.as_str());
            assert_eq!(found.unwrap(), carrier);
        }
        let refused: Refused = read("udp").unwrap_err();
        assert_eq!(
            refused.to_string(),
            "unknown variant `udp`, expected one of `udp-tunnel`, `udp-transport`, `trailer`"
        );
    }
}
