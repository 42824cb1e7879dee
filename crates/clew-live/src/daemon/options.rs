//! What a configuration means for sender, receiver and pool.

use crate::config::{Config, EmptyPool, InboundMode, Signing};
use crate::pool::Marks;
use crate::receiver::{InboundOptions, InboundPolicy};
use crate::sender::{OutboundOptions, Unsigned, WhenEmpty};
use clew_packet::Windows;

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
        // What the TUN brought cannot leave beside it: the routes would bring it back.
        unsigned: Unsigned::Require,
        when_empty: match signing.when_empty {
            EmptyPool::SignOnline => WhenEmpty::SignOnline,
            EmptyPool::Drop => WhenEmpty::Drop,
        },
        ..OutboundOptions::default()
    }
}

/// What the receiver accepts.
pub(super) fn inbound_options(config: &Config) -> InboundOptions {
    InboundOptions {
        policy: match config.inbound {
            InboundMode::Monitor => InboundPolicy::Monitor,
            InboundMode::Enforce => InboundPolicy::Enforce,
            InboundMode::Off => InboundPolicy::Off,
        },
        grace_ns: u64::try_from(config.grace.as_nanos()).unwrap_or(u64::MAX),
        windows: match config.whole_windows {
            true => Windows::Whole,
            false => Windows::Alone,
        },
        ..InboundOptions::default()
    }
}
