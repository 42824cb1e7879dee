//! What a set-up and a daemon's sockets follow from: kept while a daemon is up, and read by programs of
//! other versions (`docs/hand-over.md`).

use super::Config;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The keys of a configuration that a running daemon cannot change, with their values.
///
/// A key that is off (`null`, `false` or an empty list) is left out. So a program with a key more than
/// another one means the same set-up as long as that key is off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SetupKeys(BTreeMap<String, Value>);

impl SetupKeys {
    /// Returns those of a configuration.
    pub fn of(config: &Config) -> Self {
        let Config {
            name,
            key: _,
            unlock_with: _,
            user,
            inbound,
            outbound,
            others,
            carrier,
            port,
            table,
            interface,
            mtu,
            path_mtu: _,
            offload,
            whole_windows,
            sign_ntp,
            grace: _,
            relay,
            exclude,
            signing: _,
            metrics,
            peers,
        } = config;
        let exclude: Vec<String> = exclude.iter().map(ToString::to_string).collect();
        let prefixes: Vec<&Vec<IpNet>> = peers.iter().map(|peer| &peer.prefixes).collect();
        let all = [
            ("name", json!(name)),
            ("user", json!(user)),
            ("inbound", json!(inbound)),
            ("outbound", json!(outbound)),
            ("others", json!(others)),
            ("carrier", json!(carrier.as_str())),
            ("port", json!(port)),
            ("table", json!(table)),
            ("interface", json!(interface)),
            ("mtu", json!(mtu)),
            ("offload", json!(offload)),
            ("whole-windows", json!(whole_windows)),
            ("sign-ntp", json!(sign_ntp)),
            ("relay", json!(relay)),
            ("exclude", json!(exclude)),
            ("metrics", json!(metrics)),
            ("prefixes", json!(prefixes)),
        ];
        let all = all.into_iter().filter(|(_, value)| !is_off(value));
        Self(all.map(|(key, value)| (key.to_owned(), value)).collect())
    }

    /// Returns the keys that differ. None differ if a running daemon can take the other configuration.
    pub fn changed<'a>(&'a self, other: &'a Self) -> Vec<&'a str> {
        let of = |keys: &'a Self, key: &str| keys.0.get(key).filter(|value| !is_off(value));
        let mut keys: Vec<&str> = self
            .0
            .keys()
            .chain(other.0.keys())
            .map(String::as_str)
            .collect();
        keys.sort_unstable();
        keys.dedup();
        keys.retain(|key| of(self, key) != of(other, key));
        keys
    }

    /// Returns the prefixes of all peers, as far as they can be read.
    pub fn prefixes(&self) -> Vec<IpNet> {
        let of_peers = self.0.get("prefixes").cloned().unwrap_or_default();
        let of_peers: Vec<Vec<IpNet>> = serde_json::from_value(of_peers).unwrap_or_default();
        of_peers.concat()
    }
}

fn is_off(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(values) => values.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::String(_) | Value::Object(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> SetupKeys {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_key_that_only_one_version_knows_differs_unless_it_is_off() {
        let old = keys(r#"{"mtu": 1400, "relay": true}"#);
        let off = keys(r#"{"mtu": 1400, "relay": true, "new": false, "list": [], "none": null}"#);
        assert_eq!(old.changed(&off), Vec::<&str>::new());
        assert_eq!(off.changed(&old), Vec::<&str>::new());
        let on = keys(r#"{"mtu": 1400, "new": "something"}"#);
        assert_eq!(old.changed(&on), ["new", "relay"]);
        assert_eq!(on.changed(&old), ["new", "relay"]);
    }

    #[test]
    fn prefixes_are_read_back() {
        let kept = keys(r#"{"prefixes": [["10.0.0.2/32", "fd00::/64"], ["10.0.1.0/24"]]}"#);
        let expected = ["10.0.0.2/32", "fd00::/64", "10.0.1.0/24"];
        assert_eq!(kept.prefixes(), expected.map(|net| net.parse().unwrap()));
        assert_eq!(keys(r#"{"prefixes": 7}"#).prefixes(), []);
    }
}
