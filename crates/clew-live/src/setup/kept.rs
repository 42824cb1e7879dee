//! What a later command has to know of a set-up, also one of another version (`docs/hand-over.md`).

use super::{Place, SetupError, ruleset};
use crate::config::{Config, SetupKeys};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::fs;
use std::os::unix::fs::MetadataExt;

/// The version of what supervisor, data plane and later commands exchange.
///
/// It changes with every change that the other side could take for something else.
pub const EXCHANGE: u32 = 1;

/// What a later command has to know of a set-up. `version`, `fails_closed` and `table` stay what they are
/// in every version, so that each can take down what another one set up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kept {
    /// [`EXCHANGE`] of whoever set up.
    pub version: u32,
    /// Whether packets stay away while no daemon runs.
    pub fails_closed: bool,
    /// The table of nftables.
    pub table: String,
    /// What was set up.
    pub setup: SetupKeys,
    /// The network namespace, by its inode.
    pub namespace: Option<u64>,
}

impl Kept {
    /// Returns what is kept of a configuration.
    pub fn of(config: &Config) -> Self {
        Self {
            version: EXCHANGE,
            fails_closed: config.fails_closed(),
            table: ruleset::table(config),
            setup: SetupKeys::of(config),
            namespace: namespace(),
        }
    }

    /// Checks that this is the set-up of a configuration, so that its daemon can be handed over or started
    /// again.
    ///
    /// # Errors
    /// Another version kept it, or keys differ.
    pub fn check(&self, config: &Config) -> Result<(), SetupError> {
        let name = config.name.clone();
        if self.version != EXCHANGE {
            let version = self.version;
            return Err(SetupError::OtherVersion { name, version });
        }
        let wanted = SetupKeys::of(config);
        let keys = self.setup.changed(&wanted);
        match keys.is_empty() {
            true => Ok(()),
            false => {
                let keys = keys.join(", ");
                Err(SetupError::OtherKeys { name, keys })
            }
        }
    }

    /// Returns two prefixes that overlap: one of this set-up, and one of another daemon in the same
    /// network namespace.
    fn overlap(&self, other: &Self) -> Option<(IpNet, IpNet)> {
        if self.namespace != other.namespace {
            return None;
        }
        let others = other.setup.prefixes();
        let overlaps = |one: IpNet| {
            let mut all = others.iter();
            let found = all.find(|net| net.contains(&one) || one.contains(*net));
            Some((one, *found?))
        };
        self.setup.prefixes().into_iter().find_map(overlaps)
    }
}

/// The network namespace of this process, by its inode.
pub(super) fn namespace() -> Option<u64> {
    let namespace = fs::metadata("/proc/self/ns/net").ok()?;
    Some(namespace.ino())
}

/// Refuses prefixes that another daemon has: of two routes the kernel would take one.
///
/// # Errors
/// Another daemon has one.
pub fn refuse_shared_prefixes(config: &Config) -> Result<(), SetupError> {
    let own = Kept::of(config);
    let others = Place::names()
        .into_iter()
        .filter(|name| *name != config.name);
    for other in others {
        let kept = Place::of(&other).kept();
        if let Some((one, its)) = kept.and_then(|kept| own.overlap(&kept)) {
            return Err(SetupError::Shared { one, its, other });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "key = \"k\"\nmtu = 1400\n[[peer]]\nprefixes = [\"10.0.0.0/24\"]\ngroup = \"g\"\n";

    fn config(text: &str) -> Config {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lan.toml");
        fs::write(&path, text).unwrap();
        Config::read(&path).unwrap()
    }

    fn refused(kept: &str, config: &Config) -> String {
        let kept: Kept = serde_json::from_str(kept).unwrap();
        kept.check(config).unwrap_err().to_string()
    }

    /// As version 1 writes it: when this fails, `EXCHANGE` has to change, and the page that describes it.
    #[test]
    fn what_is_kept_keeps_its_form() {
        let text = r#"{"version":1,"fails_closed":false,"table":"clew_lan","setup":{"carrier":"udp-tunnel",
            "inbound":"monitor","interface":"clew-lan","mtu":1400,"name":"lan","offload":true,
            "others":"pass","outbound":"prefer","port":4909,"prefixes":[["10.0.0.0/24"]],"table":4909}}"#;
        let kept: Kept = serde_json::from_str(text).unwrap();
        let of_config = Kept::of(&config(TEXT));
        let namespace = of_config.namespace;
        assert_eq!(of_config, Kept { namespace, ..kept });
        assert!(namespace.is_some());
    }

    #[test]
    fn another_set_up_is_refused_by_its_keys_and_another_version_by_its_number() {
        let config = config(TEXT);
        let kept = serde_json::to_string(&Kept::of(&config)).unwrap();
        Kept::of(&config).check(&config).unwrap();
        // A version that has one key more, and one field more.
        let more = kept.replace("\"mtu\":1400", "\"mtu\":1400,\"new\":null");
        let more = more.replacen('{', "{\"later\":1,", 1);
        let more: Kept = serde_json::from_str(&more).unwrap();
        more.check(&config).unwrap();
        let said = refused(&kept.replace("1400", "1300"), &config);
        assert!(said.ends_with("another set-up: mtu differs"), "{said}");
        let both = kept
            .replace("1400", "1300")
            .replace("\"port\":4909", "\"port\":4910");
        let said = refused(&both, &config);
        assert!(said.ends_with("another set-up: mtu, port differ"), "{said}");
        let said = refused(&kept.replace("\"version\":1", "\"version\":2"), &config);
        assert!(
            said.contains("version 2") && said.contains("version 1"),
            "{said}"
        );
    }

    #[test]
    fn prefixes_of_two_daemons_overlap_in_one_namespace_only() {
        let one = Kept::of(&config(TEXT));
        let other = Kept::of(&config(&TEXT.replace("10.0.0.0/24", "10.0.0.7/32")));
        let nets = ["10.0.0.0/24", "10.0.0.7/32"].map(|net| net.parse().unwrap());
        assert_eq!(one.overlap(&other), Some((nets[0], nets[1])));
        assert_eq!(other.overlap(&one), Some((nets[1], nets[0])));
        let elsewhere = Kept {
            namespace: Some(7),
            ..other
        };
        assert_eq!(one.overlap(&elsewhere), None);
        let apart = Kept::of(&config(&TEXT.replace("10.0.0.0/24", "10.0.1.0/24")));
        assert_eq!(one.overlap(&apart), None);
    }
}
