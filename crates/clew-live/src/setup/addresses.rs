//! The host's own addresses.

use ipnet::IpNet;
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::SockaddrStorage;
use std::net::IpAddr;

/// Returns the host's addresses, each with the length of its network's prefix and the interface that has it. Returns
/// `None` if the host does not tell.
pub fn own_networks() -> Option<Vec<(String, IpNet)>> {
    let all = getifaddrs().ok()?;
    let networks = all.filter_map(|one| {
        let address = one.address.as_ref().and_then(ip)?;
        let mask = one.netmask.as_ref().and_then(ip);
        Some((one.interface_name, network(address, mask)))
    });
    Some(networks.collect())
}

/// Links between two hosts may have no mask.
fn network(address: IpAddr, mask: Option<IpAddr>) -> IpNet {
    let network = mask.and_then(|mask| IpNet::with_netmask(address, mask).ok());
    network.unwrap_or_else(|| IpNet::from(address))
}

fn ip(address: &SockaddrStorage) -> Option<IpAddr> {
    let v4 = address.as_sockaddr_in().map(|at| IpAddr::V4(at.ip()));
    v4.or_else(|| address.as_sockaddr_in6().map(|at| IpAddr::V6(at.ip())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_has_itself() {
        let own = own_networks().unwrap();
        let lo = own.iter().filter(|(interface, _)| interface == "lo");
        let nets: Vec<String> = lo.map(|(_, net)| net.to_string()).collect();
        assert!(nets.contains(&"127.0.0.1/8".to_owned()), "{nets:?}");
    }

    #[test]
    fn an_address_without_a_mask_is_alone() {
        let [address, mask] = ["10.0.0.1", "255.255.255.0"].map(|ip| ip.parse().unwrap());
        assert_eq!(network(address, Some(mask)).to_string(), "10.0.0.1/24");
        assert_eq!(network(address, None).to_string(), "10.0.0.1/32");
        let other = "255.0.255.0".parse().unwrap();
        assert_eq!(network(address, Some(other)).to_string(), "10.0.0.1/32");
    }
}
