//! Addresses of this host among those of peers: a mistake, mostly the other host's file.

use super::lock;
use crate::failure::Failure;
use clew_live::config::Config;
use clew_live::setup::own_networks;
use clew_packet::Carrier;
use ipnet::IpNet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Mutex;

/// Refuses a configuration whose peers are this host.
///
/// # Errors
/// An end point or a prefix is this host's.
pub(super) fn refuse_own(config: &Config) -> Result<(), Failure> {
    // A host that does not tell its addresses is not refused for that.
    let own = own_networks().unwrap_or_default().into_iter();
    let own = own.filter(|(interface, _)| *interface != config.interface);
    let own: Vec<IpNet> = own.map(|(_, net)| net).collect();
    match found(config, &own) {
        Some(what) => Err(Failure::new(what)
            .hint("a peer is another host: its file and this host's name each other")),
        None => Ok(()),
    }
}

/// The end points that were looked at: a reload may bring others.
pub(super) struct Endpoints(Mutex<Vec<Option<SocketAddr>>>);

impl Endpoints {
    /// Those of a configuration that is in force.
    pub fn of(config: &Config) -> Self {
        Self(Mutex::new(endpoints(config)))
    }

    /// Refuses other ones that are this host's. Those in force stay, whatever became of this host's addresses: a
    /// newer group file counts, too.
    ///
    /// # Errors
    /// As [`refuse_own`].
    pub fn refuse_own(&self, config: &Config) -> Result<(), Failure> {
        match *lock(&self.0) == endpoints(config) {
            true => Ok(()),
            false => refuse_own(config),
        }
    }

    /// Remembers those of a configuration that came into force.
    pub fn take(&self, config: &Config) {
        *lock(&self.0) = endpoints(config);
    }
}

fn endpoints(config: &Config) -> Vec<Option<SocketAddr>> {
    config.peers.iter().map(|peer| peer.endpoint).collect()
}

/// What is wrong. A prefix may be wider than the network that this host is on: the kernel delivers to
/// its own addresses first. With trailers it may also be that network.
fn found(config: &Config, own: &[IpNet]) -> Option<String> {
    let name = &config.name;
    let is_own = |ip: IpAddr| own.iter().any(|one| one.addr() == ip);
    let mut endpoints = config.peers.iter().filter_map(|peer| peer.endpoint);
    if let Some(at) = endpoints.find(|at| is_own(at.ip())) {
        return Some(format!(
            "{name}: endpoint {at}: {} is this host's own address",
            at.ip()
        ));
    }
    let is_broadcast = |ip: IpAddr| own.iter().any(|one| is_broadcast(one, ip));
    let mut endpoints = config.peers.iter().filter_map(|peer| peer.endpoint);
    if let Some(at) = endpoints.find(|at| is_broadcast(at.ip())) {
        return Some(format!(
            "{name}: endpoint {at}: {} is the broadcast address of this host's network",
            at.ip()
        ));
    }
    let is_narrow = |prefix: &IpNet, one: &IpNet| match config.carrier {
        Carrier::Trailer => prefix.prefix_len() == prefix.max_prefix_len(),
        Carrier::UdpTunnel | Carrier::UdpTransport => prefix.prefix_len() >= one.prefix_len(),
    };
    config.prefixes().find_map(|prefix| {
        let mut own = own.iter();
        let one = own.find(|one| prefix.contains(&one.addr()) && is_narrow(prefix, one))?;
        let ip = one.addr();
        Some(format!(
            "{name}: prefix {prefix}: {ip} is this host's own address"
        ))
    })
}

/// Whether all hosts of a network have an address. Links between two hosts have none like that.
fn is_broadcast(network: &IpNet, ip: IpAddr) -> bool {
    let has_one = matches!(network, IpNet::V4(_)) && network.prefix_len() <= 30;
    has_one && network.broadcast() == ip
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(peer: &str, first: &str, own: &[&str]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lan.toml");
        let text = format!("key = \"k\"\n{first}\n[[peer]]\ngroup = \"g\"\n{peer}\n");
        std::fs::write(&path, text).unwrap();
        let own: Vec<IpNet> = own.iter().map(|net| net.parse().unwrap()).collect();
        found(&Config::read(&path).unwrap(), &own)
    }

    #[test]
    fn a_peer_that_is_this_host_is_named() {
        let own = ["10.0.0.1/24", "fd00::1/64"];
        for (peer, wanted) in [
            (
                "prefixes = [\"10.0.0.2/32\"]\nendpoint = \"10.0.0.1\"",
                "lan: endpoint 10.0.0.1:4909: 10.0.0.1 is this host's own address",
            ),
            (
                "prefixes = [\"10.0.0.2/32\", \"fd00::1/128\"]",
                "lan: prefix fd00::1/128: fd00::1 is this host's own address",
            ),
            (
                "prefixes = [\"10.0.0.2/32\"]\nendpoint = \"10.0.0.255\"",
                "lan: endpoint 10.0.0.255:4909: 10.0.0.255 is the broadcast address of this host's network",
            ),
            (
                "prefixes = [\"10.0.0.0/24\"]",
                "lan: prefix 10.0.0.0/24: 10.0.0.1 is this host's own address",
            ),
        ] {
            assert_eq!(said(peer, "", &own).as_deref(), Some(wanted));
        }
    }

    #[test]
    fn other_hosts_and_wider_networks_are_fine() {
        let own = ["10.0.0.1/24", "192.0.2.1/32"];
        for peer in [
            "prefixes = [\"10.0.0.2/32\"]\nendpoint = \"10.0.0.2\"",
            "prefixes = [\"10.0.0.0/16\"]\nendpoint = \"10.0.0.2\"",
            "prefixes = [\"0.0.0.0/0\"]",
            "prefixes = [\"10.0.0.2/32\"]\nendpoint = \"192.0.2.255\"",
        ] {
            assert_eq!(said(peer, "", &own), None, "{peer}");
        }
        let network = "prefixes = [\"10.0.0.0/24\"]";
        assert_eq!(said(network, "carrier = \"trailer\"", &own), None);
        assert!(
            said(
                "prefixes = [\"10.0.0.1/32\"]",
                "carrier = \"trailer\"",
                &own
            )
            .is_some()
        );
    }
}
