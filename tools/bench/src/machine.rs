//! The machine, the build and the command that figures come from. `testbed/tunnel-bench` has this file, too.

use serde::{Deserialize, Serialize};
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// Extensions that decide how fast 384-bit arithmetic is.
const FLAGS: [&str; 2] = ["adx", "avx512ifma"];

/// Everything that a reader must know to compare a run's figures with others.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Run {
    pub command: String,
    /// The day, in UTC.
    pub date: String,
    pub cpu: String,
    pub family: String,
    pub model: String,
    pub mhz: String,
    pub microcode: String,
    pub cores: String,
    pub flags: String,
    pub os: String,
    pub governor: String,
    pub load: String,
    pub rustc: String,
    pub profile: String,
    pub commit: String,
    /// What else somebody noted who recorded the run, such as a busy host.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remark: String,
}

impl Run {
    /// Reads what Linux says of itself; what it does not say is "unknown".
    pub fn read() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let all_flags = field(&cpuinfo, "flags");
        let has = |flag: &str| all_flags.split_whitespace().any(|f| f == flag);
        let flag = |f: &str| format!("{f} {}", if has(f) { "yes" } else { "no" });
        let cores = cpuinfo.lines().filter(|l| l.starts_with("processor"));
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        Self {
            command: format!("{} {}", env!("CARGO_BIN_NAME"), arguments.join(" ")),
            date: today(),
            cpu: field(&cpuinfo, "model name"),
            family: field(&cpuinfo, "cpu family"),
            model: field(&cpuinfo, "model"),
            mhz: field(&cpuinfo, "cpu MHz"),
            microcode: field(&cpuinfo, "microcode"),
            cores: cores.count().to_string(),
            flags: FLAGS.map(flag).join(", "),
            os: format!("Linux {}", line_of("/proc/sys/kernel/osrelease")),
            governor: line_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            load: line_of("/proc/loadavg"),
            rustc: env!("BENCH_RUSTC").to_owned(),
            profile: env!("BENCH_PROFILE").to_owned(),
            commit: env!("BENCH_COMMIT").to_owned(),
            remark: String::new(),
        }
    }

    /// Label and value of each fact, for the head of a printed report.
    pub fn facts(&self) -> [(&'static str, String); 9] {
        let Self {
            cpu,
            family,
            model,
            mhz,
            ..
        } = self;
        [
            ("date", self.date.clone()),
            (
                "cpu",
                format!("{cpu} (family {family}, model {model}, {mhz} MHz)"),
            ),
            ("flags", self.flags.clone()),
            ("cores", self.cores.clone()),
            ("governor", self.governor.clone()),
            ("load", self.load.clone()),
            ("rustc", self.rustc.clone()),
            ("profile", self.profile.clone()),
            ("commit", self.commit.clone()),
        ]
    }
}

/// The first value of `name` in the format of /proc/cpuinfo.
fn field(cpuinfo: &str, name: &str) -> String {
    let values = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    let mut values = values.filter(|(label, _)| label.trim() == name);
    known(values.next().map_or("", |(_, value)| value))
}

fn line_of(path: &str) -> String {
    known(&fs::read_to_string(path).unwrap_or_default())
}

fn known(text: &str) -> String {
    match text.trim() {
        "" => "unknown".into(),
        text => text.into(),
    }
}

/// The day in UTC, as in 2026-11-21.
fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let (year, month, day) = civil(since.map_or(0, |time| time.as_secs() / 86_400));
    format!("{year}-{month:02}-{day:02}")
}

/// The date so many days after 1970-01-01, by counting years from March on in eras of 400.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = (from_march + 2) % 12 + 1;
    (year + era * 400 + u64::from(month < 3), month, day)
}

#[cfg(test)]
mod tests {
    use super::civil;

    #[test]
    fn days_are_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(20_778), (2026, 11, 21));
    }
}
