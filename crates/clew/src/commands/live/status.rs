//! `clew status`, `clew reload`

use super::absent::{unanswered, without_daemon};
use super::place;
use super::reasons::{List, sentence, silence};
use crate::cli::{LiveName, LiveStatus};
use crate::clock;
use crate::failure::{Failure, Status as Exit};
use clew_live::control::{Answer, Request, ask};
use clew_live::setup::{Place, Programs, filtered};
use clew_live::status::{
    ClockStatus, Distribution, Filtered, InboundStatus, OutboundStatus, PeerStatus, Status,
};
use clew_packet::SECOND_NS;
use nix::unistd::geteuid;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::ErrorKind;

/// Most prefixes of a peer that are shown.
const PREFIXES_SHOWN: usize = 8;

pub fn status(arguments: &LiveStatus) -> Result<Exit, Failure> {
    let told = tell_status(arguments);
    if let Err(failure) = told.as_ref()
        && arguments.json
    {
        let place = place(arguments.name.as_deref()).ok();
        say!(
            "{}",
            absent(place.as_ref(), arguments.name.as_deref(), failure)
        );
    }
    told
}

/// What programs are told of a daemon that does not answer.
fn absent(place: Option<&Place>, name: Option<&str>, failure: &Failure) -> Value {
    json!({
        "name": place.map(Place::name).or(name),
        "running": false,
        "set_up": place.map(Place::is_set_up),
        "error": failure.message,
    })
}

fn tell_status(arguments: &LiveStatus) -> Result<Exit, Failure> {
    let place = place(arguments.name.as_deref())?;
    let Answer::Status(mut status) = asked(&place, Request::Status)? else {
        return Err(Failure::new(format!("{}: not an answer", place.name())));
    };
    // Only root may read the counters now. Others see what the daemon was told.
    let read = counted(&place);
    if read != Filtered::default() {
        status.filtered = read;
    }
    let trouble = not_in_force(&place);
    match arguments.json {
        true => say!("{}", json_of(&status, trouble.as_deref())?),
        false => {
            if let Some(trouble) = &trouble {
                say!("NOT in force: {trouble}");
            }
            tell(&status);
        }
    }
    Ok(trouble.map_or(Exit::Yes, |_| Exit::No))
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
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => without_daemon(place),
        ErrorKind::PermissionDenied => {
            Failure::new(format!("{name}: permission denied")).hint("use sudo")
        }
        ErrorKind::WouldBlock | ErrorKind::TimedOut => unanswered(place),
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof => {
            // The supervisor starts the data plane again.
            if place.processes()[0].is_some() {
                return without_daemon(place);
            }
            Failure::new(format!("{name}: its daemon ended before it answered"))
                .no()
                .hint(format!("run clew status {name} again"))
        }
        _ => Failure::new(format!("{name}: {error}")),
    })
}

fn counted(place: &Place) -> Filtered {
    let table = place.kept().map(|kept| kept.table);
    let programs = Programs::find().ok();
    let both = table.zip(programs);
    both.map_or(Filtered::default(), |(table, programs)| {
        filtered(&programs, &table)
    })
}

/// What is not in force. Root looks; others read what was said.
fn not_in_force(place: &Place) -> Option<String> {
    let known = place.force().zip(Programs::find().ok());
    match known.filter(|_| geteuid().is_root()) {
        Some((force, programs)) => {
            let missing = force.missing(&programs);
            (!missing.is_empty()).then(|| missing.join(", "))
        }
        None => place.trouble(),
    }
}

fn json_of(status: &Status, trouble: Option<&str>) -> Result<Value, Failure> {
    let mut value = serde_json::to_value(status).map_err(Failure::new)?;
    value["running"] = json!(true);
    value["not_in_force"] = json!(trouble);
    Ok(value)
}

fn tell(status: &Status) {
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
        "pool      {} ready, {} prepared, {} taken, {} wiped, {} times empty",
        pool.ready,
        pool.prepared,
        pool.taken,
        pool.discarded,
        pool.starved
    );
    for peer in &status.peers {
        tell_peer(peer, status);
    }
    tell_outbound(&status.outbound, &status.carrier);
    tell_inbound(&status.inbound, &status.carrier);
    tell_filtered(status);
    tell_clock(status.clock, status.inbound.clock_steps);
    for notice in &status.notices {
        let since = clock::to_the_second(notice.time.saturating_mul(SECOND_NS));
        say!("notice    since {since}: {}", notice.text);
    }
}

/// A clock that nothing keeps right has a notice, which says what to do.
fn tell_clock(clock: ClockStatus, steps: u64) {
    let is_unkept = clock.is_synchronised == Some(false);
    let text = (!is_unkept).then(|| clock_text(clock));
    let steps = (steps > 0).then(|| format!("steps: {steps}"));
    let parts: Vec<String> = [text, steps].into_iter().flatten().collect();
    if !parts.is_empty() {
        say!("clock     {}", parts.join("; "));
    }
}

fn tell_outbound(out: &OutboundStatus, carrier: &str) {
    say!(
        "out       {} packets, {} signatures{}{}",
        out.packets,
        out.signatures,
        quantiles(" of", &out.k, " packets"),
        quantiles(", waited", &out.waits, " us")
    );
    list(List::Unsent, &out.unsent, carrier);
    list(List::DroppedOut, &out.dropped, carrier);
    counts([
        (out.online, "signatures computed without a precursor"),
        (out.fragments, "fragments of long packets"),
        (out.fragments_again, "of them sent a second time"),
        (out.clamped, "segment sizes of TCP lowered"),
    ]);
}

fn tell_inbound(inn: &InboundStatus, carrier: &str) {
    say!(
        "in        {} packets, {} of {} signatures good{}; gate {}",
        inn.packets,
        inn.good_signatures,
        inn.signatures,
        quantiles(", waited", &inn.waits, " us"),
        inn.gate
    );
    list(List::Verdicts, &inn.verdicts, carrier);
    list(List::Refused, &inn.refused, carrier);
    list(List::DroppedIn, &inn.dropped, carrier);
    counts([
        (
            inn.late,
            "packets delivered behind later ones of their flow",
        ),
        (inn.screened, "signatures refused for the cost of a hash"),
        (
            inn.fragments_joined,
            "fragments put together with others, whose packet has the verdict",
        ),
        (
            inn.fragments_again,
            "fragments that came twice, as they are sent",
        ),
        (inn.clamped, "segment sizes of TCP lowered"),
        (inn.cookies, "cookies of peers under load"),
        (
            inn.foreign_cookies,
            "cookies that nobody asked for, ignored",
        ),
        (inn.cookies_given, "cookies given to senders"),
        (
            inn.forgotten,
            "fresh signatures forgotten for want of room: what is as old is refused as stale",
        ),
        (
            inn.held,
            "packets held now, for their verdicts or their order",
        ),
        (inn.waiting_signatures, "signatures waiting now"),
    ]);
}

/// Counts that are no reasons.
fn counts<const N: usize>(counts: [(u64, &str); N]) {
    for (count, what) in counts {
        if count > 0 {
            say!("  {count:>9}  {what}");
        }
    }
}

/// Packets beside the carrier.
fn tell_filtered(status: &Status) {
    let filtered = &status.filtered;
    let dropped = |mode: &str| match mode {
        "enforce" | "require" => "dropped",
        _ => "passed",
    };
    let [inbound, outbound] = [&status.inbound_mode, &status.outbound_mode];
    for (what, count, became) in [
        ("from peers", filtered.unsigned_in, dropped(inbound)),
        ("to peers", filtered.unsigned_out, dropped(outbound)),
        ("from others", filtered.others_in, dropped(inbound)),
        ("to others", filtered.others_out, "dropped"),
    ] {
        if let Some(count) = count {
            say!("unsigned  {what}: {count} packets, {became}");
        }
    }
    if let Some(count) = filtered.spoofed.filter(|count| *count > 0) {
        say!("spoofed   {count} packets to peers from outside under inside sources, dropped");
    }
    if let Some(count) = filtered.not_relayed {
        say!("relay     {count} packets of peers for other peers, dropped");
    }
}

pub(super) fn clock_text(clock: ClockStatus) -> String {
    match (clock.is_synchronised, clock.error_us) {
        (Some(true), Some(error)) => {
            format!("right within {:.1} ms, says the system", error as f64 / 1e3)
        }
        (Some(true), None) => "kept right".into(),
        (Some(false), _) => "nothing keeps it right: start an NTP service".into(),
        (None, _) => "the system does not tell its error".into(),
    }
}

fn tell_peer(peer: &PeerStatus, status: &Status) {
    let unknown = match status.carrier.as_str() {
        "trailer" => "its own addresses",
        _ => "an end point that is not known yet",
    };
    let endpoint = peer.endpoint.map_or(unknown.into(), |at| at.to_string());
    let learned = if peer.is_learned { " (learned)" } else { "" };
    let last = peer
        .seconds_ago
        .map_or("no valid one yet".into(), |ago| format!("last {ago} s ago"));
    say!(
        "peer      {} at {endpoint}{learned}",
        shortened(&peer.prefixes)
    );
    say!(
        "          path MTU {}, {} packets delivered, {last}",
        peer.path_mtu,
        peer.packets
    );
    if peer.seconds_ago.is_none() {
        say!("          {}", silence(peer, status));
    }
}

/// The first prefixes, and how many more there are: `--json` has them all.
fn shortened(prefixes: &[String]) -> String {
    let shown = &prefixes[..prefixes.len().min(PREFIXES_SHOWN)];
    match prefixes.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Median and 99th percentile, as upper bounds.
fn quantiles(before: &str, of: &Distribution, unit: &str) -> String {
    let last = of.buckets.last().map_or(0, |(bound, _)| *bound);
    let text = |bound: u64| match bound {
        u64::MAX => format!(">{last}"),
        bound => format!("<={bound}"),
    };
    match (of.quantile(500), of.quantile(990)) {
        (Some(half), Some(most)) => {
            format!("{before} {} (99 %: {}){unit}", text(half), text(most))
        }
        _ => String::new(),
    }
}

fn list(list: List, counts: &BTreeMap<String, u64>, carrier: &str) {
    for (reason, count) in counts {
        match sentence(list, reason, carrier) {
            Some(sentence) => say!("  {count:>9}  {reason}: {sentence}"),
            None => say!("  {count:>9}  {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_have_their_bounds() {
        let mut of = Distribution {
            buckets: vec![(1, 5), (2, 0), (4, 5)],
            ..Distribution::default()
        };
        assert_eq!(quantiles(" of", &of, " us"), " of <=1 (99 %: <=4) us");
        of.above = 1;
        assert_eq!(quantiles(" of", &of, " us"), " of <=4 (99 %: >4) us");
        assert_eq!(quantiles(" of", &Distribution::default(), " us"), "");
    }

    #[test]
    fn many_prefixes_are_one_short_line() {
        let prefixes: Vec<String> = (0..2_001).map(|n| format!("10.{n}.0.0/16")).collect();
        assert_eq!(shortened(&prefixes[..2]), "10.0.0.0/16, 10.1.0.0/16");
        assert!(shortened(&prefixes[..8]).ends_with(", 10.7.0.0/16"));
        assert!(shortened(&prefixes).ends_with(", 10.7.0.0/16 and 1993 more"));
    }
}
