//! What running commands count, and the endpoint that shows it.
//!
//! [`relay`], [`tunnel`], [`live`] and [`observer`] have the counters of `clew flow relay`, of servers of tunnels, of
//! `clew up` and of `clew verify -i`, [`http`] the endpoint: `/metrics` for Prometheus, `/healthz` and `/readyz` for
//! supervisors.

mod heartbeat;
pub mod http;
pub mod live;
pub mod observer;
pub mod relay;
pub mod tunnel;

pub use heartbeat::Heartbeat;
pub use http::{Endpoint, refusal};
pub use live::LiveMetrics;
pub use observer::ObserverMetrics;
pub use relay::RelayMetrics;
pub use tunnel::TunnelMetrics;

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

/// Everything that is registered, in the text format of OpenMetrics.
fn text(registry: &Registry) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = encode(&mut text, registry);
    text
}
