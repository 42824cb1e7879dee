//! A third party that gets a copy of each packet, as from a switch's mirror port.

use super::{Scene, in_turn};
use crate::measure::{Load, iperf};
use crate::options::{Common, Observe};
use crate::process::{Process, need, printed};
use crate::topology::{Beside, Shape};
use clew_record::Record;
use line::Condition;
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Time for a program to begin, and for the last packets to reach it.
const SETTLE: Duration = Duration::from_millis(500);

/// Runs the scenario. Returns whether the observer's capture has every packet.
pub fn run(common: &Common, observe: &Observe, record: &mut Record) -> io::Result<bool> {
    need(&[("tcpdump", "tcpdump"), ("capinfos", "wireshark-common")])?;
    let beside = Beside {
        observer: true,
        ..Beside::default()
    };
    let mut has_all = true;
    let samples = in_turn(common, Shape::Pair, beside, |scene, samples| {
        let figures = one(scene, observe)?;
        // What passes before and after the stream is only in the capture.
        has_all &= figures[2] >= figures[1] && figures[3] == 0.0;
        samples.add(scene.system.name(), figures);
        Ok(())
    })?;
    let columns = ["Mbit/s", "delivered", "captured", "not shown"];
    let title = "Packets that the line delivered, and those in the observer's capture";
    samples.add_to(record, "observe", title, &columns);
    Ok(has_all)
}

fn one(scene: &Scene<'_>, observe: &Observe) -> io::Result<Vec<f64>> {
    let observer = scene.topology.observer()?;
    let capture = scene.bed.folder.join("observer.pcap");
    let path = capture.to_string_lossy();
    let words = observe
        .program
        .as_deref()
        .map(|program| program.split_whitespace());
    let words: Option<Vec<_>> = words.map(Iterator::collect);
    let program = words
        .map(|words| Process::show(observer, "observer", &words))
        .transpose()?;
    let tcpdump = [
        "tcpdump",
        "-q",
        "--immediate-mode",
        "-i",
        "tap0",
        "-B",
        "65536",
        "-U",
        "-w",
        &path,
    ];
    let mut tcpdump = Process::start(observer, "tcpdump", &tcpdump)?;
    thread::sleep(SETTLE);
    scene.topology.set(Condition::default())?;
    let load = Load {
        time: observe.time,
        warm_up: Duration::ZERO,
        congestion: "cubic".into(),
        parallel: 1,
        rate: 50_000_000,
        datagrams: None,
    };
    let found = iperf(scene.hosts(), &scene.running.server.v4, &load)?;
    let reports = scene.topology.report()?;
    thread::sleep(SETTLE);
    tcpdump.interrupt();
    tcpdump.wait()?;
    drop(program);
    let sum = |count: fn(&line::Report) -> u64| reports.iter().map(count).sum::<u64>() as f64;
    keep(&capture, observe.output.as_deref())?;
    let captured = packets(scene, &path)?;
    Ok(vec![
        found.bits / 1e6,
        sum(|one| one.delivered),
        captured,
        sum(|one| one.not_shown),
    ])
}

fn keep(capture: &Path, output: Option<&Path>) -> io::Result<()> {
    output.map_or(Ok(()), |output| std::fs::copy(capture, output).map(drop))
}

fn packets(scene: &Scene<'_>, path: &str) -> io::Result<f64> {
    let text = printed(
        scene.topology.observer()?,
        &["capinfos", "-c", "-M", "-T", "-r", path],
    )?;
    let count = text
        .split_whitespace()
        .last()
        .and_then(|count| count.parse().ok());
    count.ok_or_else(|| io::Error::other(format!("capinfos: {text}")))
}
