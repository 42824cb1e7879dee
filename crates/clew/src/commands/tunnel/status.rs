//! `clew tunnel status`

use crate::cli::TunnelStatus;
use crate::failure::{Failure, Status};
use crate::metrics::tunnel::{OF_SERVICES, PREFIX};
use serde_json::{Map, Value, json};
use std::io::{self, Read, Write};
use std::iter;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Longest answer that is read, in bytes.
const ANSWER_MAX: u64 = 1 << 20;

/// How long it may take.
const WAIT: Duration = Duration::from_secs(5);

pub fn run(arguments: &TunnelStatus) -> Result<Status, Failure> {
    let at = arguments.metrics;
    let text = get(at).map_err(|e| {
        let why = match e.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "no answer".to_owned(),
            _ => e.to_string(),
        };
        Failure::new(format!("{at}: cannot read metrics: {why}"))
            .hint("use the address of clew tunnel serve --metrics")
    })?;
    let numbers = Numbers::read(&text);
    if numbers.total("tunnels").is_none() {
        return Err(Failure::new(format!("{at}: not a tunnel server")));
    }
    match arguments.json {
        true => say!("{}", numbers.json()),
        false => numbers.tell(),
    }
    Ok(Status::Yes)
}

fn get(at: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&at, WAIT)?;
    stream.set_read_timeout(Some(WAIT))?;
    stream.set_write_timeout(Some(WAIT))?;
    stream.write_all(format!("GET /metrics HTTP/1.0\r\nHost: {at}\r\n\r\n").as_bytes())?;
    let mut text = String::new();
    stream.take(ANSWER_MAX).read_to_string(&mut text)?;
    Ok(text)
}

/// One number: its name behind the prefix, the value of its label, itself.
struct Number<'a> {
    name: &'a str,
    label: Option<&'a str>,
    value: u64,
}

/// The numbers of a server.
struct Numbers<'a>(Vec<Number<'a>>);

impl<'a> Numbers<'a> {
    fn read(text: &'a str) -> Self {
        Self(text.lines().filter_map(number).collect())
    }

    fn total(&self, name: &str) -> Option<u64> {
        let found = self.0.iter().find(|n| n.name == name && n.label.is_none());
        found.map(|number| number.value)
    }

    fn of(&self, name: &str) -> impl Iterator<Item = (&'a str, u64)> {
        let named = self.0.iter().filter(move |n| n.name == name);
        named.filter_map(|n| Some((n.label?, n.value)))
    }

    /// The numbers of a service as they are shown: name, words, number.
    fn of_service(&self, service: &str) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
        let number = |name: &str| {
            let mut all = self.of(name);
            let found = all.find(|(label, _)| *label == service);
            found.map_or(0, |(_, value)| value)
        };
        let counters = OF_SERVICES.map(|counter| {
            let total = format!("{}_total", counter.name);
            (counter.name, counter.words, number(&total))
        });
        iter::once(("open", "open", number("open"))).chain(counters)
    }

    fn tell(&self) {
        let total = |name| self.total(name).unwrap_or(0);
        let (tunnels, ended) = (total("tunnels"), total("ended_total"));
        say!("tunnels      {tunnels}, and {ended} that ended");
        let (unproven, free) = (total("unproven"), total("unproven_free"));
        say!("unproven     {unproven}, and {free} places free");
        let free = self.total("connections_free");
        let free = free.map_or(String::new(), |free| format!(", and {free} places free"));
        say!(
            "connections  {} requested{free}",
            total("connections_total")
        );
        let (sent, again) = (total("packets_sent_total"), total("packets_resent_total"));
        say!(
            "packets      {sent} sent, {again} sent again, {} timeouts",
            total("timeouts_total")
        );
        if let Some(microseconds) = self.round_trip() {
            say!("round trip   {microseconds} us on average");
        }
        for (service, _) in self.of("open") {
            let words = self.of_service(service);
            let words = words.map(|(_, words, number)| format!("{number} {words}"));
            let words: Vec<String> = words.collect();
            say!("  {service}: {}", words.join(", "));
        }
        let refused: Vec<_> = self.of("refused_total").collect();
        if !refused.is_empty() {
            say!("refused");
        }
        for (reason, count) in refused {
            say!("  {count:>9}  {reason}");
        }
    }

    /// The mean of measured round trips, in microseconds.
    fn round_trip(&self) -> Option<u64> {
        let sum = self.total("round_trip_microseconds_total")?;
        sum.checked_div(self.total("round_trips_total")?)
    }

    fn json(&self) -> Value {
        let services = self.of("open").map(|(service, _)| {
            let members = self.of_service(service);
            let members = members.map(|(name, _, number)| (name.to_owned(), json!(number)));
            (service.to_owned(), Value::Object(Map::from_iter(members)))
        });
        let refused = self.of("refused_total");
        let refused = refused.map(|(reason, count)| (reason.to_owned(), json!(count)));
        json!({
            "tunnels": self.total("tunnels"),
            "ended": self.total("ended_total"),
            "connections": self.total("connections_total"),
            "connections_free": self.total("connections_free"),
            "unproven": self.total("unproven"),
            "unproven_free": self.total("unproven_free"),
            "packets_sent": self.total("packets_sent_total"),
            "packets_resent": self.total("packets_resent_total"),
            "timeouts": self.total("timeouts_total"),
            "round_trip_microseconds": self.round_trip(),
            "services": Value::Object(services.collect()),
            "refused": Value::Object(refused.collect()),
        })
    }
}

/// A line as `clew_tunnel_refused_total{reason="bad-box"} 3`; none for any other.
fn number(line: &str) -> Option<Number<'_>> {
    let line = line.strip_prefix(PREFIX)?.strip_prefix('_')?;
    let (name, value) = line.rsplit_once(' ')?;
    let value = value.parse().ok()?;
    let Some((name, labels)) = name.split_once('{') else {
        let label = None;
        return Some(Number { name, label, value });
    };
    let label = labels.strip_suffix("\"}")?.split_once("=\"")?.1;
    Some(Number {
        name,
        label: Some(label),
        value,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_the_text() {
        let text = "HTTP/1.0 200 OK\r\n\r\n# HELP clew_tunnel_tunnels \
            Tunnels.\nclew_tunnel_tunnels 2\nclew_tunnel_open{service=\"my web\"} \
            1\nclew_tunnel_taken_total{service=\"my web\"} 7\nother \
            3\nclew_tunnel_refused_total{reason=\"bad-box\"} 5\n# EOF\n";
        let numbers = Numbers::read(text);
        let json = numbers.json();
        assert_eq!(json["tunnels"], 2);
        assert_eq!(json["services"]["my web"]["taken"], 7);
        assert_eq!(json["refused"]["bad-box"], 5);
    }
}
