//! The machine and the build that the figures come from.

use serde_json::{Value, json};
use std::fs;

/// Extensions that decide how fast 384-bit arithmetic is.
const FLAGS: [&str; 2] = ["adx", "avx512ifma"];

/// What a reader must know to compare the figures with others.
pub struct Machine {
    cpu: String,
    flags: String,
    cores: usize,
    governor: String,
    load: String,
}

impl Machine {
    /// Reads what Linux says of itself; what it does not say is "unknown".
    pub fn read() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let all_flags = field(&cpuinfo, "flags");
        let has = |flag: &str| all_flags.split_whitespace().any(|f| f == flag);
        Self {
            cpu: known(format!(
                "{} (family {}, model {}, {} MHz)",
                field(&cpuinfo, "model name"),
                field(&cpuinfo, "cpu family"),
                field(&cpuinfo, "model"),
                field(&cpuinfo, "cpu MHz"),
            )),
            flags: FLAGS
                .map(|f| format!("{f} {}", if has(f) { "yes" } else { "no" }))
                .join(", "),
            cores: cpuinfo
                .lines()
                .filter(|l| l.starts_with("processor"))
                .count(),
            governor: line_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            load: line_of("/proc/loadavg"),
        }
    }

    /// Label and value of each fact, those of the build included.
    pub fn facts(&self) -> [(&'static str, String); 8] {
        [
            ("cpu", self.cpu.clone()),
            ("flags", self.flags.clone()),
            ("cores", self.cores.to_string()),
            ("governor", self.governor.clone()),
            ("load", self.load.clone()),
            ("rustc", env!("BENCH_RUSTC").to_owned()),
            ("profile", env!("BENCH_PROFILE").to_owned()),
            ("commit", env!("BENCH_COMMIT").to_owned()),
        ]
    }

    /// The facts as one JSON object.
    pub fn to_json(&self) -> Value {
        let facts = self
            .facts()
            .map(|(label, fact)| (label.to_owned(), json!(fact)));
        Value::Object(facts.into_iter().collect())
    }
}

/// The first value of `name` in the format of /proc/cpuinfo.
fn field<'a>(cpuinfo: &'a str, name: &str) -> &'a str {
    let values = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    let mut values = values.filter(|(label, _)| label.trim() == name);
    values.next().map_or("?", |(_, value)| value.trim())
}

fn line_of(path: &str) -> String {
    known(fs::read_to_string(path).unwrap_or_default())
}

fn known(text: String) -> String {
    match text.trim() {
        "" => "unknown".into(),
        text => text.into(),
    }
}
