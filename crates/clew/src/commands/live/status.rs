//! `clew status`, `clew reload`

use super::place;
use crate::cli::{LiveName, LiveStatus};
use crate::failure::{Failure, Status as Exit};
use clew_live::control::{Answer, Request, ask};
use clew_live::setup::{COUNTER_IN, COUNTER_OUT, Place, Programs, counter};
use clew_live::status::{Distribution, PeerStatus, Status};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::ErrorKind;

/// Packets that the table of nftables counted.
#[derive(Default)]
struct Filtered {
    inbound: Option<u64>,
    outbound: Option<u64>,
}

pub fn status(arguments: &LiveStatus) -> Result<Exit, Failure> {
    let place = place(arguments.name.as_deref())?;
    let Answer::Status(status) = asked(&place, Request::Status)? else {
        return Err(Failure::new(format!("{}: not an answer", place.name())));
    };
    let filtered = filtered(&place);
    match arguments.json {
        true => say!("{}", json_of(&status, &filtered)?),
        false => tell(&status, &filtered),
    }
    Ok(Exit::Yes)
}

pub fn reload(arguments: &LiveName) -> Result<Exit, Failure> {
    let place = place(arguments.name.as_deref())?;
    match asked(&place, Request::Reload)? {
        Answer::Done => {
            mention!("{}: all files are read again", place.name());
            Ok(Exit::Yes)
        }
        Answer::Refused(why) => Err(Failure::new(why)
            .no()
            .hint("the files read before stay in force")),
        Answer::Status(_) => Err(Failure::new(format!("{}: not an answer", place.name()))),
    }
}

fn asked(place: &Place, request: Request) -> Result<Answer, Failure> {
    let name = place.name();
    ask(&place.control(), request).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused if place.is_set_up() => {
            Failure::new(format!("{name} is set up, but its daemon does not run"))
                .no()
                .hint(format!("clew down {name}"))
        }
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
            Failure::new(format!("{name} is not up"))
                .no()
                .hint("clew up CONFIG")
        }
        ErrorKind::PermissionDenied => {
            Failure::new(format!("{name}: permission denied")).hint("use sudo")
        }
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Failure::new(format!("{name}: no answer")),
        _ => Failure::new(format!("{name}: {error}")),
    })
}

/// Only root may read the counters.
fn filtered(place: &Place) -> Filtered {
    let table = place.kept().map(|kept| kept.table);
    let programs = Programs::find().ok();
    let Some((table, programs)) = table.zip(programs) else {
        return Filtered::default();
    };
    let [inbound, outbound] =
        [COUNTER_IN, COUNTER_OUT].map(|name| counter(&programs, &table, name));
    Filtered { inbound, outbound }
}

fn json_of(status: &Status, filtered: &Filtered) -> Result<Value, Failure> {
    let mut value = serde_json::to_value(status).map_err(Failure::new)?;
    value["beside"] = json!({
        "inbound": filtered.inbound,
        "outbound": filtered.outbound,
    });
    Ok(value)
}

fn tell(status: &Status, filtered: &Filtered) {
    let signer = &status.signer;
    say!(
        "{}  up for {} s, process {}",
        status.name,
        status.seconds,
        status.process
    );
    say!("carrier   {} through {}", status.carrier, status.interface);
    let offloads = status.offloads;
    let words = [
        (offloads.tun_tcp, "TUN"),
        (offloads.udp_gso, "GSO"),
        (offloads.udp_gro, "GRO"),
    ];
    let words = words.map(|(has, word)| format!("{word} {}", if has { "yes" } else { "no" }));
    say!("offloads  {}", words.join(", "));
    match (&signer.trouble, signer.epoch) {
        (Some(trouble), _) => say!("signs     nothing: {trouble}"),
        (None, epoch) => say!(
            "signs     as {}, epoch {}",
            signer.machine,
            epoch.unwrap_or(0)
        ),
    }
    let pool = status.pool;
    say!(
        "pool      {} ready, {} prepared, {} times empty",
        pool.ready,
        pool.prepared,
        pool.starved
    );
    for peer in &status.peers {
        tell_peer(peer, &status.carrier);
    }
    let out = &status.outbound;
    say!(
        "out       {} packets, {} signatures{}{}",
        out.packets,
        out.signatures,
        quantiles(" of", &out.k, " packets"),
        quantiles(", waited", &out.waits, " us")
    );
    list(&out.unsent);
    let inn = &status.inbound;
    say!(
        "in        {} packets, {} of {} signatures good{}; gate {}",
        inn.packets,
        inn.good_signatures,
        inn.signatures,
        quantiles(", waited", &inn.waits, " us"),
        inn.gate
    );
    list(&inn.verdicts);
    list(&inn.refused);
    list(&status.dropped);
    let beside = [
        ("in", filtered.inbound, &status.inbound_mode),
        ("out", filtered.outbound, &status.outbound_mode),
    ];
    for (way, count, mode) in beside {
        if let Some(count) = count {
            say!("unsigned  {way}: {count} packets beside the carrier ({mode})");
        }
    }
    for notice in &status.notices {
        say!("notice    {notice}");
    }
}

fn tell_peer(peer: &PeerStatus, carrier: &str) {
    let unknown = match carrier {
        "trailer" => "its own addresses",
        _ => "not known yet",
    };
    let endpoint = peer.endpoint.map_or(unknown.into(), |at| at.to_string());
    let learned = if peer.is_learned { " (learned)" } else { "" };
    let last = peer
        .seconds_ago
        .map_or("none yet".into(), |ago| format!("last {ago} s ago"));
    say!(
        "peer      {} at {endpoint}{learned}",
        peer.prefixes.join(", ")
    );
    say!(
        "          path MTU {}, {} packets delivered, {last}",
        peer.path_mtu,
        peer.packets
    );
}

/// Median and 99th percentile, as upper bounds.
fn quantiles(before: &str, of: &Distribution, unit: &str) -> String {
    match (of.quantile(500), of.quantile(990)) {
        (Some(half), Some(most)) => format!("{before} <{half} (99 %: <{most}){unit}"),
        _ => String::new(),
    }
}

fn list(counts: &BTreeMap<String, u64>) {
    for (reason, count) in counts {
        say!("  {count:>9}  {reason}");
    }
}
