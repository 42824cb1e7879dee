//! The form of runs. What the engines think of each packet is compared when they are made; why, the reader of
//! `spec/check` finds out by itself.

use std::net::SocketAddr;
use std::str::SplitWhitespace;

use clew_tunnel::Reason;
use clew_tunnel::keys;
use clew_tunnel::record::{Cert, Ecert};
use clew_tunnel::wire::packet::{Packet, Side};
use clew_tunnel::x25519::{Public, Secret};

use super::{Stop, holds};
use crate::case::Case;

pub fn run(case: &Case) -> Result<(), Stop> {
    let secrets = secrets(case)?;
    case.u64("start")?;
    for bound in ["first-rate", "replay-max", "directory"] {
        case.all(bound);
    }
    let packets = case.all("packet");
    let (mut last, mut fault) = (0, None);
    for event in case.all("event") {
        let text = std::str::from_utf8(event).map_err(|_| wrong("an event is no text"))?;
        let mut words = text.split_whitespace();
        let at: u64 = word(&mut words)?;
        holds(at >= last, "the order of events")?;
        last = at;
        let side = match words.next() {
            Some("client") => Side::Client,
            Some("server") => Side::Server,
            _ => return Err(wrong("an event has no side")),
        };
        match words.next() {
            Some("sends") => {
                let packet = packet(&mut words, &packets)?;
                let ends: [SocketAddr; 2] = [word(&mut words)?, word(&mut words)?];
                holds(ends[0] != ends[1], "two ends")?;
                sent(side, packet, &secrets)?;
            }
            Some("gets" | "gets-also") => {
                packet(&mut words, &packets)?;
                let _: SocketAddr = word(&mut words)?;
                fault = fault.or(verdict(words)?);
            }
            Some("hears" | "accepts" | "refuses") => {}
            _ => return Err(wrong("nobody knows what happened")),
        }
    }
    fault.map_or(Ok(()), |reason| Err(Stop::Rule(reason)))
}

fn wrong(what: &str) -> Stop {
    Stop::Wrong(what.to_owned())
}

fn word<T: std::str::FromStr>(words: &mut SplitWhitespace<'_>) -> Result<T, Stop> {
    let word = words.next().and_then(|word| word.parse().ok());
    word.ok_or_else(|| wrong("a word of an event"))
}

fn packet<'a>(words: &mut SplitWhitespace<'_>, all: &[&'a [u8]]) -> Result<&'a [u8], Stop> {
    let number: usize = word(words)?;
    let packet = all.get(number).copied();
    packet.ok_or_else(|| wrong("no such packet"))
}

/// The public keys of all C'; the server's are those of its certificates.
fn secrets(case: &Case) -> Result<Vec<Public>, Stop> {
    let secret = |bytes: &[u8]| bytes.try_into().map(Secret::from_bytes);
    let of = |name: &str| -> Result<Vec<(Public, Secret)>, Stop> {
        let all = case.all(name).into_iter().map(|bytes| {
            let secret = secret(bytes).map_err(|_| wrong("a secret's length"))?;
            Ok((keys::public(&secret), secret))
        });
        all.collect()
    };
    let (boxing, ephemerals) = (of("boxing-secret")?, of("ephemeral-secret")?);
    holds(case.all("puzzle-secret").len() == ephemerals.len(), "as many k as S'")?;
    let cert = Cert::parse(case.bytes("cert")?)?;
    holds(boxing[0].0 == cert.body.boxing, "the boxing key")?;
    let ecerts = case.all("ecert");
    holds(ecerts.len() == ephemerals.len(), "as many ecerts as S'")?;
    for (ecert, (public, _)) in ecerts.iter().zip(&ephemerals) {
        holds(Ecert::parse(ecert)?.body.ephemeral == *public, "an S'")?;
    }
    Ok(of("client-secret")?.into_iter().map(|pair| pair.0).collect())
}

/// The packet is one that this side sends, and C' is a key that somebody had.
fn sent(side: Side, packet: &[u8], secrets: &[Public]) -> Result<(), Stop> {
    let mut bytes = packet.to_vec();
    match (side, Packet::parse(&mut bytes, 0)?) {
        (Side::Client, Packet::Initiation(initiation)) => {
            let known = secrets.contains(&initiation.key);
            holds(known, "a secret of C'")
        }
        (Side::Server, Packet::Interrogation(_) | Packet::StaleKey(_)) => Ok(()),
        (sender, Packet::Tunnel(side, _)) => holds(side == sender, "the sender"),
        _ => Err(wrong("a packet of the other side")),
    }
}

fn verdict(words: SplitWhitespace<'_>) -> Result<Option<&'static str>, Stop> {
    let mut first = None;
    for word in words.filter(|word| *word != "taken") {
        let reason = Reason::ALL.iter().find(|reason| reason.as_str() == word);
        let reason = reason.ok_or_else(|| wrong("no such reason"))?;
        first = first.or(Some(reason.as_str()));
    }
    Ok(first)
}
