//! Rules for what routers say of packets to peers.

use super::{COUNTER_IN, of_family};
use crate::config::{Config, Exclude, InboundMode, Protocol};
use clew_packet::Carrier;
use ipnet::IpNet;

/// The first bytes of a quoted IPv4 header without options. Behind options all that rules read of the quoted
/// packet's ports is elsewhere, while the kernel finds the ports.
pub(super) const PLAIN: &str = "@th,64,8 0x45";

/// Of each family: which packets are errors, which of those do not tell what they are about, and where the
/// destination of a quoted packet is.
///
/// All types of ICMPv6 below 128 are errors (RFC 4443 section 2.1), and those that Linux does not know end what
/// waits. Of IPv4 these are all on which Linux acts.
///
/// With IPv6 `nft` reads a later fragment's data as if it were a header, and Linux takes the destination of a quoted
/// packet from a routing header (RFC 8754). That may hide behind more extension headers than one.
const KINDS: [(bool, &str, &[&str], &str); 2] = [
    (
        true,
        "icmp type { destination-unreachable, source-quench, redirect, time-exceeded, parameter-problem }",
        &["ip frag-off & 0x2000 != 0 counter name unsigned_in drop"],
        "@th,192,32",
    ),
    (
        false,
        "icmpv6 type < 128",
        &[
            "frag frag-off != 0 return",
            "frag more-fragments 1 counter name unsigned_in drop",
            "@th,112,8 43 counter name unsigned_in drop",
            "@th,112,8 { 0, 44, 51, 60 } @th,384,8 { 0, 43, 44, 51, 60 } counter name unsigned_in drop",
        ],
        "@th,256,128",
    ),
];

/// Sizes that an honest path may have. Below 552 bytes Linux lets routers cut packets; IPv6 has at least 1280.
const SIZES: [&str; 2] = [
    "icmp type destination-unreachable icmp code frag-needed icmp mtu >= 576",
    "icmpv6 type packet-too-big icmpv6 mtu >= 1280",
];

/// The chain for unsigned errors of routers about packets to peers, and the rules that lead there. Such packets
/// leave in the carrier, so that no router sees them: an error about one is forged, and would make the
/// kernel cut packets of applications, or end what they wait for. With trailers they leave as themselves, so that
/// the kernel has to hear how long they may be, and nothing else.
///
/// An error in fragments hides what it is about, and the kernel puts it together behind the rules. Its first
/// fragment has its type in any case (the kernel refuses others), and without that one nothing is put together.
pub(super) fn errors(config: &Config) -> [String; 2] {
    if config.inbound != InboundMode::Enforce {
        return Default::default();
    }
    let needed = match config.carrier {
        Carrier::UdpTunnel | Carrier::UdpTransport => [
            format!(
                "meta l4proto icmp {PLAIN} @th,136,8 17 @th,224,16 {}",
                config.port
            ),
            format!(
                "meta l4proto ipv6-icmp @th,112,8 17 @th,384,16 {}",
                config.port
            ),
        ],
        Carrier::Trailer => SIZES.map(str::to_owned),
    };
    let needed = needed.map(|rule| format!("  {rule} accept\n"));
    let mut chain = format!(" chain check_errors {{\n{}", needed.concat());
    for rule in config.exclude.iter().flat_map(quoted) {
        chain.push_str(&format!("  {rule} accept\n"));
    }
    chain.push_str(&format!("  counter name {COUNTER_IN} drop\n }}\n"));
    let mut rules = String::new();
    for (is_v4, what, unclear, to) in KINDS {
        let Some(ranges) = peers(config, is_v4) else {
            continue;
        };
        let name = if is_v4 { "errors4" } else { "errors6" };
        rules.push_str(&format!("  {what} jump {name}\n"));
        chain.push_str(&format!(" chain {name} {{\n"));
        for unclear in unclear {
            chain.push_str(&format!("  {unclear}\n"));
        }
        chain.push_str(&format!("  {to} {{ {ranges} }} goto check_errors\n }}\n"));
    }
    [chain, rules]
}

/// The chain for routers' errors that a host gets itself and that refuses other packets of strangers, and the rules
/// that lead there: what is about excluded packets, and with trailers how long packets to peers may be.
pub(super) fn spared(config: &Config) -> [String; 2] {
    let mut chain = " chain spared_errors {\n".to_owned();
    if config.carrier == Carrier::Trailer {
        for ((is_v4, _, _, to), size) in KINDS.into_iter().zip(SIZES) {
            if let Some(ranges) = peers(config, is_v4) {
                chain.push_str(&format!("  {size} {to} {{ {ranges} }} accept\n"));
            }
        }
    }
    for rule in config.exclude.iter().flat_map(quoted) {
        chain.push_str(&format!("  {rule} accept\n"));
    }
    chain.push_str(" }\n");
    let jumps = KINDS.map(|(_, what, _, _)| format!("  {what} jump spared_errors\n"));
    [chain, jumps.concat()]
}

/// The addresses of peers in one family, as numbers. `None` if there are none.
fn peers(config: &Config, is_v4: bool) -> Option<String> {
    let ranges: Vec<String> = of_family(config.prefixes(), is_v4).map(range).collect();
    (!ranges.is_empty()).then(|| ranges.join(", "))
}

/// What an error says of a packet that the configuration excludes.
fn quoted(rule: &Exclude) -> Vec<String> {
    let kinds = [
        (true, "icmp", 136, 192, 224),
        (false, "ipv6-icmp", 112, 256, 384),
    ];
    let mut all = Vec::new();
    for (is_v4, icmp, protocol, to, ports) in kinds {
        let from = match rule.from {
            Some(net) if net.addr().is_ipv4() != is_v4 => continue,
            Some(net) => format!(" @th,{to},{} {}", if is_v4 { 32 } else { 128 }, range(&net)),
            None => String::new(),
        };
        let number = |number: u8| format!("meta l4proto {icmp}{from} @th,{protocol},8 {number}");
        let plain = if is_v4 {
            format!(" {PLAIN}")
        } else {
            String::new()
        };
        let either = |what: String, port: u16| {
            [ports, ports + 16].map(|at| format!("{what}{plain} @th,{at},16 {port}"))
        };
        match rule.protocol {
            Protocol::Any => all.push(format!("meta l4proto {icmp}{from}")),
            Protocol::Icmp => all.push(number(if is_v4 { 1 } else { 58 })),
            Protocol::Udp(port) => all.extend(either(number(17), port)),
            Protocol::Tcp(port) => all.extend(either(number(6), port)),
        }
    }
    all
}

/// A network's addresses as numbers, for what nft does not know to be an address.
fn range(net: &IpNet) -> String {
    match net {
        IpNet::V4(net) => format!(
            "{:#x}-{:#x}",
            u32::from(net.network()),
            u32::from(net.broadcast())
        ),
        IpNet::V6(net) => format!(
            "{:#x}-{:#x}",
            u128::from(net.network()),
            u128::from(net.broadcast())
        ),
    }
}
