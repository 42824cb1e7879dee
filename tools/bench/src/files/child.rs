//! Programs run on some cores only, as somebody would run them, and what they took.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How often the memory of a child is looked at. Linux keeps its peak, so only what grows after the
/// last look is missed.
const LOOK: Duration = Duration::from_millis(5);

/// What a child did.
pub struct Ran {
    pub time: Duration,
    pub stdout: Vec<u8>,
    /// What all its threads computed.
    pub cpu: Duration,
    /// Most memory that was resident, in bytes.
    pub peak: u64,
}

/// Linux tells other programs their times in hundredths of a second, wherever it runs.
const TICK: Duration = Duration::from_millis(10);

/// Runs a program on these cores, with as many threads, to its end. It must succeed.
pub fn run(program: &Path, arguments: &[&str], cores: &[usize]) -> io::Result<Ran> {
    let list: Vec<String> = cores.iter().map(usize::to_string).collect();
    let mut command = Command::new("taskset");
    command.arg("-c").arg(list.join(",")).arg(program);
    command.args(arguments);
    command.env("RAYON_NUM_THREADS", cores.len().to_string());
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let (cpu, start) = (waited_for(), Instant::now());
    let child = command.spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let watch = thread::spawn(move || peak(&status));
    let output = child.wait_with_output()?;
    let time = start.elapsed();
    if !output.status.success() {
        let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        return Err(io::Error::other(format!("{command:?}: {out}{err}")));
    }
    Ok(Ran {
        time,
        stdout: output.stdout,
        cpu: waited_for().saturating_sub(cpu),
        peak: watch.join().unwrap_or(0),
    })
}

/// What all children computed that have ended: the 16th and 17th field, of which the second is the
/// program's name in brackets.
fn waited_for() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let (_, rest) = stat.rsplit_once(')').unwrap_or_default();
    let fields = rest.split_whitespace().skip(13).take(2);
    let ticks: u32 = fields.filter_map(|field| field.parse::<u32>().ok()).sum();
    TICK * ticks
}

/// Looks until the child has no memory any more.
fn peak(status: &str) -> u64 {
    let mut peak = 0;
    while let Some(kilobytes) = fs::read_to_string(status).ok().and_then(high_water) {
        peak = peak.max(kilobytes * 1024);
        thread::sleep(LOOK);
    }
    peak
}

fn high_water(status: String) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// The cores that this process may run on.
pub fn cores() -> io::Result<Vec<usize>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let mut lines = status.lines();
    let list = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let cores = list.and_then(|list| parse_list(list.trim()));
    cores.ok_or_else(|| io::Error::other("Linux does not say which cores there are"))
}

/// `0-2,5` as cores.
fn parse_list(list: &str) -> Option<Vec<usize>> {
    let mut cores = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cores.extend(first.parse().ok()?..=last.parse::<usize>().ok()?);
    }
    Some(cores)
}

/// Numbers of cores to measure: powers of two, and all.
pub fn counts(cores: usize) -> Vec<usize> {
    let powers = (0..).map(|n| 1 << n).take_while(|n| *n < cores);
    powers.chain([cores]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cores() {
        assert_eq!(parse_list("0-2,5"), Some(vec![0, 1, 2, 5]));
        assert_eq!(parse_list("3"), Some(vec![3]));
        assert_eq!(parse_list(""), None);
        assert_eq!(
            [1, 2, 6, 8].map(counts)[2..],
            [vec![1, 2, 4, 6], vec![1, 2, 4, 8]]
        );
        assert_eq!([1, 2].map(counts), [vec![1], vec![1, 2]]);
    }

    #[test]
    fn a_child_is_measured() {
        let ran = run(Path::new("sleep"), &["0.05"], &[cores().expect("Linux")[0]]);
        let ran = ran.expect("sleep succeeds");
        assert!(ran.time >= Duration::from_millis(50) && ran.peak > 0);
        assert!(run(Path::new("false"), &[], &[0]).is_err());
    }
}
