//! Units of systemd, as `systemd-analyze` sees them with this program in place of the installed one.

use std::fs;
use std::process::Command;

/// Checks units that belong together, each with its file's name, and that the first one's exposure is at
/// most this: 100 is a service without a sandbox.
pub fn check(units: &[(&str, &str)], exposure_max: u8) {
    let folder = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    for (name, unit) in units {
        let unit = unit.replace("/usr/bin/clew", env!("CARGO_BIN_EXE_clew"));
        let lines = unit
            .lines()
            .filter(|line| !line.starts_with("Documentation="));
        paths.push(folder.path().join(name));
        fs::write(
            folder.path().join(name),
            lines.collect::<Vec<_>>().join("\n"),
        )
        .unwrap();
    }
    let Ok(output) = Command::new("systemd-analyze")
        .arg("verify")
        .args(&paths)
        .output()
    else {
        return crate::skipped::skipped("systemd-analyze");
    };
    let said = String::from_utf8_lossy(&output.stderr);
    // Others' units on this machine are not ours.
    let ours: Vec<&str> = said.lines().filter(|line| line.contains("clew")).collect();
    assert!(ours.is_empty(), "{said}");
    let threshold = format!("--threshold={exposure_max}");
    let mut security = Command::new("systemd-analyze");
    security.args(["security", "--offline=true", "--no-pager", &threshold]);
    let output = security.arg(&paths[0]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("Overall exposure level"), "{said}");
}
