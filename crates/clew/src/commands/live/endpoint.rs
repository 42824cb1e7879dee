//! Where a data plane shows its metrics. Packets go on whatever becomes of it.

use super::bind_metrics;
use crate::failure::Failure;
use crate::metrics::{Endpoint, LiveMetrics};
use std::net::{SocketAddr, TcpListener};

/// The endpoint of a data plane, as soon as the address can be had.
pub(super) struct Shown {
    at: SocketAddr,
    metrics: LiveMetrics,
    endpoint: Option<Endpoint>,
    /// Whether the log says why there is none.
    is_said: bool,
}

impl Shown {
    /// Serves with the socket that the supervisor gave, or tries to have one.
    pub fn begin(at: SocketAddr, given: Option<TcpListener>, metrics: &LiveMetrics) -> Self {
        let mut shown = Self {
            at,
            metrics: metrics.clone(),
            endpoint: None,
            is_said: false,
        };
        let done = given.map(|given| shown.serve(given));
        if !matches!(done, Some(Ok(()))) {
            shown.trouble();
        }
        shown
    }

    /// Returns why nobody sees the metrics. It is tried again each time.
    pub fn trouble(&mut self) -> Option<String> {
        if self.endpoint.is_some() {
            return None;
        }
        let bound = bind_metrics(self.at);
        let failure = bound.and_then(|bound| self.serve(bound)).err()?;
        let hint = failure
            .hint
            .map_or(String::new(), |hint| format!(": {hint}"));
        let trouble = format!("{}{hint}", failure.message);
        if !self.is_said {
            self.is_said = true;
            tracing::warn!("{trouble}; packets go on, and it is tried again");
        }
        Some(trouble)
    }

    /// The daemon's loops turn.
    pub fn beat(&self, can_sign: bool) {
        if let Some(endpoint) = &self.endpoint {
            endpoint.heartbeat.beat();
            endpoint.heartbeat.set_able(can_sign);
        }
    }

    fn serve(&mut self, listener: TcpListener) -> Result<(), Failure> {
        let metrics = self.metrics.clone();
        let endpoint = Endpoint::serve(listener, move || metrics.text())?;
        tracing::info!("metrics at http://{}/metrics", endpoint.at);
        self.endpoint = Some(endpoint);
        self.is_said = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_taken_is_tried_until_it_is_free() {
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = other.local_addr().unwrap();
        let mut shown = Shown::begin(at, None, &LiveMetrics::default());
        let trouble = shown.trouble().unwrap();
        assert!(
            trouble.contains("another program has this address: ss "),
            "{trouble}"
        );
        drop(other);
        assert_eq!(shown.trouble(), None);
        assert_eq!(shown.endpoint.unwrap().at, at);
    }
}
