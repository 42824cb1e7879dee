//! Names of IP protocols.

/// The protocol's name as Suricata writes it; its number if it is none of the common ones.
pub fn name(number: u8) -> String {
    match number {
        1 => "ICMP".into(),
        2 => "IGMP".into(),
        4 => "IP-in-IP".into(),
        6 => "TCP".into(),
        17 => "UDP".into(),
        41 => "IPv6".into(),
        47 => "GRE".into(),
        50 => "ESP".into(),
        51 => "AH".into(),
        58 => "IPv6-ICMP".into(),
        89 => "OSPF".into(),
        103 => "PIM".into(),
        112 => "VRRP".into(),
        132 => "SCTP".into(),
        other => other.to_string(),
    }
}

/// The protocol's name as Zeek's connection log has it; its number where that would be
/// `unknown_transport`, so that nothing is lost.
pub fn zeek(number: u8) -> String {
    match number {
        1 | 58 => "icmp".into(),
        6 => "tcp".into(),
        17 => "udp".into(),
        other => other.to_string(),
    }
}
