//! What programs say: iperf3, ping; and their samples.

use crate::bed::Namespace;
use crate::process::{Process, output, printed, wait_for_port};
use serde_json::Value;
use std::io;
use std::time::Duration;

const PORT: u16 = 5201;
/// How long a program may take more than it was asked to.
const PATIENCE: Duration = Duration::from_secs(40);

/// iperf3, waiting for clients.
fn iperf_server(namespace: &Namespace) -> io::Result<Process> {
    let server = Process::start(namespace, "iperf3", &["iperf3", "-s"])?;
    wait_for_port(namespace, "-t", PORT)?;
    Ok(server)
}

/// What a client of iperf3 sends.
#[derive(Clone, Debug)]
pub struct Load {
    /// How long.
    pub time: Duration,
    /// How long it runs before that, uncounted.
    pub warm_up: Duration,
    /// Congestion control of each socket.
    pub congestion: String,
    /// Streams at once.
    pub parallel: u32,
    /// Bits a second of each stream. Zero is as much as fits.
    pub rate: u64,
    /// UDP datagrams of that length in place of TCP.
    pub datagrams: Option<usize>,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Throughput {
    /// Received bits a second.
    pub bits: f64,
    /// TCP segments sent again.
    pub retransmits: f64,
    /// Received datagrams a second.
    pub datagrams: f64,
}

/// Runs iperf3 between two hosts. Its server is busy after a test for a while, so each test has a server of its own.
pub fn iperf(hosts: [&Namespace; 2], server: &str, load: &Load) -> io::Result<Throughput> {
    let [namespace, at_server] = hosts;
    let _server = iperf_server(at_server)?;
    let seconds = load.time.as_secs().max(1).to_string();
    let (parallel, rate) = (load.parallel.to_string(), load.rate.to_string());
    // A path that is broken would leave it waiting for minutes.
    let most = (load.time + load.warm_up + PATIENCE).as_secs().to_string();
    let mut command = vec![
        "timeout", "-k", "5", &most, "iperf3", "-J", "-c", server, "-t", &seconds, "-P", &parallel,
    ];
    let warm_up = load.warm_up.as_secs().to_string();
    command.extend(["-O", &warm_up, "-b", &rate, "--connect-timeout", "10000"]);
    let length = load.datagrams.map(|length| length.to_string());
    match &length {
        Some(length) => command.extend(["-u", "-l", length]),
        None => command.extend(["-C", &load.congestion]),
    }
    let printed = output(namespace, &command)?.stdout;
    let result: Value = serde_json::from_slice(&printed).map_err(|error| {
        io::Error::other(format!(
            "iperf3 -c {server}: its output is no JSON: {error}"
        ))
    })?;
    if let Some(error) = result.get("error").and_then(Value::as_str) {
        return Err(io::Error::other(format!("iperf3 -c {server}: {error}")));
    }
    Ok(read(&result, load.datagrams.is_some()))
}

fn read(result: &Value, is_udp: bool) -> Throughput {
    let figure = |path: &str| result.pointer(path).and_then(Value::as_f64).unwrap_or(0.0);
    if !is_udp {
        return Throughput {
            bits: figure("/end/sum_received/bits_per_second"),
            retransmits: figure("/end/sum_sent/retransmits"),
            ..Throughput::default()
        };
    }
    // iperf3 3.12 has what the server counted in `sum`; its bits are the sender's.
    let packets = figure("/end/sum/packets");
    let arrived = packets - figure("/end/sum/lost_packets");
    let share = arrived / packets.max(1.0);
    Throughput {
        bits: figure("/end/sum/bits_per_second") * share,
        datagrams: arrived / figure("/end/sum/seconds").max(1e-9),
        ..Throughput::default()
    }
}

/// Round trips in milliseconds. Echoes that did not come back are missing.
pub fn ping(
    namespace: &Namespace,
    address: &str,
    count: u32,
    pause: Duration,
) -> io::Result<Vec<f64>> {
    let (count, pause) = (count.to_string(), pause.as_secs_f64().to_string());
    let command = ["ping", "-n", "-c", &count, "-i", &pause, "-W", "2", address];
    let output = output(namespace, &command)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let time = |line: &str| line.split("time=").nth(1)?.split(' ').next()?.parse().ok();
    Ok(text.lines().filter_map(time).collect())
}

/// Waits until an address answers.
pub fn wait_for_answer(namespace: &Namespace, address: &str) -> io::Result<()> {
    let command = ["ping", "-n", "-c", "1", "-W", "1", address];
    for _ in 0..10 {
        if printed(namespace, &command).is_ok() {
            return Ok(());
        }
    }
    Err(io::Error::other(format!("{address} does not answer")))
}

/// The value below which so many per cent of the samples are.
pub fn percentile(samples: &[f64], percent: f64) -> Option<f64> {
    let mut samples = samples.to_vec();
    samples.sort_by(f64::total_cmp);
    let last = samples.len().checked_sub(1)?;
    samples
        .get((last as f64 * percent / 100.0).round() as usize)
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iperf_is_read() {
        let tcp =
            r#"{"end":{"sum_sent":{"retransmits":7},"sum_received":{"bits_per_second":2e8}}}"#;
        let found = read(&serde_json::from_str(tcp).unwrap(), false);
        assert_eq!((found.bits, found.retransmits), (2e8, 7.0));
        let udp = r#"{"end":{"sum":{"seconds":2,"bits_per_second":1e6,"packets":1000,"lost_packets":100}}}"#;
        let found = read(&serde_json::from_str(udp).unwrap(), true);
        assert_eq!((found.bits, found.datagrams), (9e5, 450.0));
    }

    #[test]
    fn percentiles_are_of_sorted_samples() {
        let samples = [5.0, 1.0, 3.0, 2.0, 4.0];
        assert_eq!(percentile(&samples, 50.0), Some(3.0));
        assert_eq!(percentile(&samples, 99.0), Some(5.0));
        assert_eq!(percentile(&[], 50.0), None);
    }
}
