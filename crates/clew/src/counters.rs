//! Counters of a running command, for Prometheus.

use crate::failure::Failure;
use std::net::SocketAddr;
use std::thread;
use tiny_http::{Header, Request, Response, Server};

/// Media type of the text format.
const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Answers `GET /metrics` at this address with what `text` says then, by a thread of its own. Returns the
/// address.
///
/// # Errors
/// The address cannot be had.
pub fn serve(
    at: SocketAddr,
    text: impl Fn() -> String + Send + 'static,
) -> Result<SocketAddr, Failure> {
    let failed =
        |e: &dyn std::fmt::Display| Failure::new(format!("cannot serve metrics at {at}: {e}"));
    let server = Server::http(at).map_err(|e| failed(&e))?;
    let bound = server.server_addr().to_ip().unwrap_or(at);
    thread::spawn(move || {
        for request in server.incoming_requests() {
            // Whoever asked may have gone.
            let _ = answer(request, &text);
        }
    });
    Ok(bound)
}

fn answer(request: Request, text: impl Fn() -> String) -> std::io::Result<()> {
    if request.url() != "/metrics" {
        return request.respond(Response::from_string("see /metrics\n").with_status_code(404));
    }
    let response = Response::from_string(text());
    match Header::from_bytes("Content-Type", TEXT) {
        Ok(kind) => request.respond(response.with_header(kind)),
        Err(()) => request.respond(response),
    }
}
