//! Traces in qlog's form: JSON text sequences (`draft-ietf-quic-qlog-main-schema`), with events of our own.
//!
//! A trace has TIDs, nonces, places and lengths, addresses of the other side, and why packets were discarded; no
//! key and nothing of what RPCs say. Who has traces of both ends knows who talked to whom.

use std::io::{self, Write};
use std::time::Duration;

use clew_tunnel::engine::trace::{Received, TracedPacket};
use clew_tunnel::{Counters, Reason};
use clew_wire::{Hex, Instant};

use crate::clock::wall;

/// Where a driver writes what happens.
pub struct Trace {
    to: Box<dyn Write + Send>,
    discarded: Counters,
}

impl Trace {
    /// Begins a trace: `vantage` is `client` or `server`.
    ///
    /// # Errors
    /// Of writing.
    pub fn new(to: Box<dyn Write + Send>, vantage: &str) -> io::Result<Self> {
        let mut trace = Self {
            to,
            discarded: Counters::default(),
        };
        let epoch = wall().as_millis();
        trace.line(&format!(
            "{{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\",\"serialization_format\":\"application/qlog+json-seq\",\
             \"title\":\"clew tunnel\",\"trace\":{{\"common_fields\":{{\"reference_time\":{{\"clock_type\":\"monotonic\",\"epoch\":\"unknown\",\
             \"wall_clock_time_ms\":{epoch}}}}},\"vantage_point\":{{\"type\":\"{vantage}\"}},\"event_schemas\":[\"urn:clew:tunnel:0\"]}}}}"
        ))?;
        Ok(trace)
    }

    fn line(&mut self, json: &str) -> io::Result<()> {
        // RFC 7464: a record separator before each text, a line feed behind it.
        writeln!(self.to, "\u{1e}{json}")
    }

    /// Writes that a packet was sent.
    ///
    /// # Errors
    /// Of writing.
    pub(crate) fn sent(&mut self, at: Instant, packet: &TracedPacket) -> io::Result<()> {
        let data = packet_json(packet);
        self.event(at, "packet_sent", &data)
    }

    /// Writes that a packet was decrypted.
    ///
    /// # Errors
    /// Of writing.
    pub(crate) fn received(&mut self, received: &Received) -> io::Result<()> {
        let Received { at, packet, status } = received;
        let data = packet_json(packet);
        self.event(*at, "packet_received", &data)?;
        let trip = status.round_trip.map_or("null".to_owned(), milliseconds);
        let data = format!(
            "\"tid\":\"{}\",\"address\":\"{}\",\"smoothed_rtt\":{trip},\"congestion_window\":{},\"packets_in_flight\":{}",
            Hex(packet.tid.as_bytes()),
            status.address,
            status.window,
            status.outstanding
        );
        self.event(*at, "metrics_updated", &data)
    }

    /// Writes what was discarded since the last call.
    ///
    /// # Errors
    /// Of writing.
    pub(crate) fn discarded(&mut self, at: Instant, counters: &Counters) -> io::Result<()> {
        for reason in Reason::ALL {
            let more = counters.of(reason) - self.discarded.of(reason);
            if more > 0 {
                let data = format!("\"trigger\":\"{reason}\",\"count\":{more}");
                self.event(at, "packet_dropped", &data)?;
            }
        }
        self.discarded = counters.clone();
        Ok(())
    }

    fn event(&mut self, at: Instant, name: &str, data: &str) -> io::Result<()> {
        let time = milliseconds(at - Instant::default());
        self.line(&format!(
            "{{\"time\":{time},\"name\":\"tunnel:{name}\",\"data\":{{{data}}}}}"
        ))
    }

    /// Writes what remains in a buffer.
    ///
    /// # Errors
    /// Of writing.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

fn packet_json(packet: &TracedPacket) -> String {
    format!(
        "\"tid\":\"{}\",\"nonce\":\"{}\",\"seq\":{},\"ack\":{},\"length\":{},\"initiation\":{}",
        Hex(packet.tid.as_bytes()),
        Hex(&packet.nonce.to_bytes()),
        packet.seq,
        packet.ack,
        packet.bytes,
        packet.is_initiation
    )
}

/// Milliseconds with three digits behind the point.
fn milliseconds(time: Duration) -> String {
    let microseconds = time.as_micros();
    format!("{}.{:03}", microseconds / 1_000, microseconds % 1_000)
}
