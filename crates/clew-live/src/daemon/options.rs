//! What a configuration means for sender, receiver and pool.

use crate::config::{Config, Signing};
use crate::pool::Marks;
use crate::receiver::InboundOptions;
use crate::sender::OutboundOptions;
use clew_packet::Windows;
use clew_wire::nanos;

/// Between which marks the pool is filled.
pub(super) fn marks(signing: &Signing) -> Marks {
    Marks {
        low: signing.pool / 2,
        high: signing.pool,
    }
}

/// What the sender does.
pub(super) fn outbound_options(signing: &Signing) -> OutboundOptions {
    OutboundOptions {
        cover: signing.sender_cover(),
        when_empty: signing.when_empty,
        ..OutboundOptions::default()
    }
}

/// What the receiver accepts.
pub(super) fn inbound_options(config: &Config) -> InboundOptions {
    InboundOptions {
        policy: config.inbound,
        grace_ns: nanos(config.grace),
        windows: match config.whole_windows {
            true => Windows::Whole,
            false => Windows::Alone,
        },
        ..InboundOptions::default()
    }
}
