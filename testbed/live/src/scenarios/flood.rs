//! Honest streams while an attacker sends many times as many packets.

use super::{Scene, in_turn};
use crate::attack::Kind;
use crate::measure::{Load, Throughput, iperf};
use crate::options::{Common, Flood, FloodSource};
use crate::process::Process;
use crate::report::Samples;
use crate::topology::{ATTACKER, Beside, FAR_OUTER, NEAR_OUTER, Shape};
use clap::ValueEnum;
use clew_record::Record;
use line::Condition;
use std::io;
use std::time::{Duration, Instant};

/// Where nobody listens, for a system without datagrams.
const CLOSED_PORT: u16 = 4909;

/// The attacker hears templates before it sends; then it outlasts the stream.
const LEAD: Duration = Duration::from_secs(2);

/// Runs the scenario.
pub fn run(common: &Common, flood: &Flood, record: &mut Record) -> io::Result<()> {
    let beside = Beside {
        attacker: true,
        ..Beside::default()
    };
    let samples = in_turn(common, Shape::Pair, beside, |scene, samples| {
        let calm = calm(scene, flood, samples)?;
        for kind in &flood.kinds {
            if !has(scene, *kind)? {
                continue;
            }
            for times in times(flood, *kind) {
                let name = format!("{} {kind:?} x{times}", scene.system.name());
                let figures = attacked(scene, flood, *kind, times, calm);
                samples.add_or_say(&name, figures);
            }
        }
        Ok(())
    })?;
    let columns = [
        "Mbit/s",
        "of calm",
        "sent again",
        "forged/s",
        "times",
        "asked/s",
        "not read/s",
        "CPU near",
        "CPU far",
    ];
    let title = format!(
        "An honest TCP stream (cubic) of at most {} Mbit/s beside forged packets from {:?} addresses, round trip {:?}",
        flood.honest as f64 / 1e6,
        flood.source,
        flood.rtt
    );
    samples.add_to(record, "flood", &title, &columns);
    record
        .notes
        .push("of calm: the share of the same stream without an attacker".into());
    record
        .notes
        .push("forged/s: what the far host got, times: the same for each honest packet; asked/s: the multiple asked for".into());
    record
        .notes
        .push("not read/s: what the far socket had no room for; the daemon counts it".into());
    record
        .notes
        .push("The attacker runs on the same cores as everybody.".into());
    Ok(())
}

/// Whether an attacker can send that.
fn has(scene: &Scene<'_>, kind: Kind) -> io::Result<bool> {
    let system = scene.system;
    Ok(match kind {
        Kind::Random => true,
        // What does not sign cannot be forged.
        Kind::Forged => system.forged(scene.bed)?.is_some(),
        _ if system.leaves_packets() => kind.is_for_packets(),
        // Nothing is to be heard of a system without datagrams.
        _ => system.port().is_some(),
    })
}

/// How many for each honest packet, in turn.
fn times(flood: &Flood, kind: Kind) -> Vec<u32> {
    let valid = flood.valid_times.iter().filter(|_| kind.passes_hashes());
    let other = flood.times.iter().filter(|_| kind != Kind::Forged);
    let mut times: Vec<u32> = valid.chain(other).copied().collect();
    times.sort_unstable();
    times.dedup();
    times
}

/// An honest stream alone: its bits, and its packets a second.
#[derive(Clone, Copy)]
struct Calm {
    bits: f64,
    packets: f64,
}

fn calm(scene: &Scene<'_>, flood: &Flood, samples: &mut Samples) -> io::Result<Calm> {
    let condition = Condition {
        delay: flood.rtt / 2,
        ..Condition::default()
    };
    scene.topology.set(condition)?;
    let (found, cpu) = scene.with_cpu(|| stream(scene, flood))?;
    let packets = scene.topology.report()?[0].delivered as f64 / flood.time.as_secs_f64();
    let name = format!("{} calm", scene.system.name());
    let bits = found.bits / 1e6;
    samples.add(
        &name,
        vec![
            bits,
            1.0,
            found.retransmits,
            0.0,
            0.0,
            0.0,
            0.0,
            cpu[0],
            cpu[1],
        ],
    );
    Ok(Calm { bits, packets })
}

fn attacked(
    scene: &Scene<'_>,
    flood: &Flood,
    kind: Kind,
    times: u32,
    calm: Calm,
) -> io::Result<Vec<f64>> {
    let condition = Condition {
        delay: flood.rtt / 2,
        ..Condition::default()
    };
    scene.topology.set(condition)?;
    let asked = (calm.packets * f64::from(times)).ceil();
    let unread = unread(scene)?;
    let start = Instant::now();
    let attacker = attacker(scene, flood, kind, asked as u64)?;
    let (found, cpu) = scene.with_cpu(|| stream(scene, flood))?;
    let forged = scene.topology.report()?;
    let forged = forged.last().map_or(0, |report| report.delivered);
    let time = start.elapsed();
    let unread = self::unread(scene)? - unread;
    if forged == 0 {
        return Err(io::Error::other("the attacker sent nothing"));
    }
    drop(attacker);
    let bits = found.bits / 1e6;
    let forged = forged as f64 / time.as_secs_f64();
    let share = bits / calm.bits;
    Ok(vec![
        bits,
        share,
        found.retransmits,
        forged,
        forged / calm.packets,
        asked,
        unread / time.as_secs_f64(),
        cpu[0],
        cpu[1],
    ])
}

/// Datagrams that the far daemon's socket had no room for so far.
fn unread(scene: &Scene<'_>) -> io::Result<f64> {
    let counts = scene.system.counts(scene.topology)?;
    Ok(counts.map_or(0.0, |[_, far]| far.unread))
}

fn stream(scene: &Scene<'_>, flood: &Flood) -> io::Result<Throughput> {
    let load = Load {
        time: flood.time,
        warm_up: Duration::ZERO,
        congestion: "cubic".into(),
        parallel: 1,
        rate: flood.honest,
        datagrams: None,
    };
    iperf(scene.hosts(), &scene.running.server.v4, &load)
}

/// This program again, in the attacker's namespace.
fn attacker(scene: &Scene<'_>, flood: &Flood, kind: Kind, rate: u64) -> io::Result<Process> {
    let program = std::env::current_exe()?;
    let port = scene.system.port().unwrap_or(CLOSED_PORT);
    let (from, spoof) = match flood.source {
        FloodSource::Peer => (NEAR_OUTER[0], "0"),
        FloodSource::Own => (ATTACKER, "0"),
        FloodSource::Random => (ATTACKER, "16"),
    };
    let (to, from) = (format!("{}:{port}", FAR_OUTER[0]), format!("{from}:{port}"));
    let templates = (kind == Kind::Forged).then(|| scene.system.forged(scene.bed));
    let templates = templates.transpose()?.flatten();
    let templates = templates.map(|path| path.to_string_lossy().into_owned());
    let kind = kind.to_possible_value();
    let kind = kind.ok_or_else(|| io::Error::other("a kind without a name"))?;
    let time = format!("{}s", (flood.time + 2 * LEAD).as_secs_f64());
    let (program, rate) = (program.to_string_lossy(), rate.max(1).to_string());
    let mut command = vec![
        &*program,
        "attack",
        "--to",
        &to,
        "--from",
        &from,
        "--spoof",
        spoof,
        "--kind",
        kind.get_name(),
        "--rate",
        &rate,
        "--time",
        &time,
        "--hear",
        "64",
    ];
    if scene.system.leaves_packets() {
        command.push("--packets");
    }
    if let Some(path) = &templates {
        command.extend(["--templates", path]);
    }
    Process::start(scene.topology.attacker()?, "attacker", &command)
}
