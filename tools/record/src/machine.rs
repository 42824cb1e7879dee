//! The machine, the build and the command that figures come from.

use serde::{Deserialize, Serialize};
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// Extensions that decide how fast 384-bit arithmetic is.
const FLAGS: [&str; 2] = ["adx", "avx512ifma"];

/// Everything that a reader must know to compare a run's figures with others.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Run {
    /// The command line, without the path of the program.
    pub command: String,
    /// The day, in UTC.
    pub date: String,
    /// Its name, as Linux tells it.
    pub cpu: String,
    /// The processor's family.
    pub family: String,
    /// The processor's model.
    pub model: String,
    /// Its clock when the run began, in MHz.
    pub mhz: String,
    /// The revision of its microcode.
    pub microcode: String,
    /// How many cores Linux has.
    pub cores: String,
    /// Extensions that decide how fast 384-bit arithmetic is, each with yes or no.
    pub flags: String,
    /// The system and its version.
    pub os: String,
    /// How Linux chooses the clock.
    pub governor: String,
    /// What /proc/loadavg said before the run.
    pub load: String,
    /// The compiler.
    pub rustc: String,
    /// Profile and level of optimisation.
    pub profile: String,
    /// The commit of the repository, "-dirty" if files were changed.
    pub commit: String,
    /// What else somebody noted who recorded the run, such as a busy host.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remark: String,
}

/// How a benchmark was built: only its own build script knows.
pub struct Build {
    /// The name of the program.
    pub program: &'static str,
    /// The compiler.
    pub rustc: &'static str,
    /// Profile and level of optimisation.
    pub profile: &'static str,
    /// The commit of the repository.
    pub commit: &'static str,
}

impl Run {
    /// Reads what Linux says of itself; what it does not say is "unknown".
    pub fn read(build: &Build) -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let all_flags = field(&cpuinfo, "flags");
        let has = |flag: &str| all_flags.split_whitespace().any(|f| f == flag);
        let flag = |f: &str| format!("{f} {}", if has(f) { "yes" } else { "no" });
        let cores = cpuinfo.lines().filter(|l| l.starts_with("processor"));
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        Self {
            command: format!("{} {}", build.program, arguments.join(" ")),
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
            rustc: build.rustc.to_owned(),
            profile: build.profile.to_owned(),
            commit: build.commit.to_owned(),
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
