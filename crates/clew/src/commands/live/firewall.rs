//! Whether the host's own firewall lets the carrier's datagrams in.

use std::path::Path;
use std::process::Command;

/// Returns a word for `clew up --check` if a chain of nftables drops what it does not accept, and no
/// rule names the port. `None` if nothing is in the way, or nobody can tell.
pub(super) fn advice(nft: &Path, port: u16) -> Option<String> {
    let output = Command::new(nft).args(["list", "ruleset"]).output().ok()?;
    let ruleset = String::from_utf8_lossy(&output.stdout);
    let is_shut = drops_input(&ruleset) && !names_port(&ruleset, port);
    is_shut.then(|| format!("drops by default: accept udp dport {port}"))
}

fn drops_input(ruleset: &str) -> bool {
    let mut lines = ruleset.lines();
    lines.any(|line| line.contains("hook input") && line.contains("policy drop"))
}

fn names_port(ruleset: &str, port: u16) -> bool {
    let port = port.to_string();
    let is_number = |c: char| c.is_ascii_digit();
    let mut rules = ruleset.lines().filter(|line| line.contains("dport"));
    rules.any(|rule| rule.split(|c| !is_number(c)).any(|word| word == port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_firewall_without_the_port_is_noticed() {
        let ruleset = |policy: &str, rule: &str| {
            format!(
                "table inet filter {{\n chain input {{\n  type filter hook input priority filter; \
                 policy {policy};\n  {rule}\n }}\n}}\n"
            )
        };
        let (ssh, clew) = ("tcp dport 22 accept", "udp dport { 53, 4909 } accept");
        assert!(drops_input(&ruleset("drop", ssh)));
        assert!(!drops_input(&ruleset("accept", ssh)));
        assert!(!drops_input(""));
        assert!(names_port(&ruleset("drop", clew), 4909));
        assert!(!names_port(&ruleset("drop", clew), 490));
        assert!(!names_port(&ruleset("drop", ssh), 4909));
    }
}
