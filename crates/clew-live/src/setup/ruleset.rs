//! The table of nftables: what must not pass beside the carrier, or is counted.

use crate::config::{Config, Exclude, InboundMode, OthersMode, OutboundMode, Protocol};
use clew_packet::Carrier;
use ipnet::IpNet;

/// Routers' errors, which nobody signs.
mod errors;

use errors::{PLAIN, errors, spared};

/// Counts packets from peers' prefixes that came beside the carrier.
pub const COUNTER_IN: &str = "unsigned_in";

/// Counts packets to peers' prefixes that were to leave beside the carrier.
pub const COUNTER_OUT: &str = "unsigned_out";

/// Counts packets that came from an address of no peer, where such packets are refused.
pub const COUNTER_OTHERS_IN: &str = "others_in";

/// Counts packets to addresses of no peer that did not leave.
pub const COUNTER_OTHERS_OUT: &str = "others_out";

/// Counts packets that a peer signed for another peer's prefix: they would leave again, signed anew.
pub const COUNTER_RELAYED: &str = "not_relayed";

/// Counts forwarded packets that were to be signed, though no host behind this one sent them.
pub const COUNTER_SPOOFED: &str = "spoofed";

/// How long an NTP server may take to answer.
const NTP_WAIT: &str = "15s";

/// Requests of NTP that may wait for answers at once.
const NTP_ASKED_MAX: u32 = 16_384;

/// Users that may set clocks: up to `SYS_UID_MAX`, of `DynamicUser=`, and nobody. All others are persons, their
/// containers, or of a directory. A packet that is forwarded has no user.
const SERVICES: &str = "{ 0-999, 61184-65519, 65534 }";

/// DHCP's pairs of ports, in both versions.
const DHCP: &str = "{ 67 . 68, 68 . 67, 67 . 67, 546 . 547, 547 . 546, 547 . 547 }";

/// How packets come into the kernel's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueRule {
    /// By a rule of nftables.
    Nft,
    /// By the target of iptables in a rule that `nft` cannot write.
    Target,
}

/// The chain that ends in a queue.
pub(super) const QUEUE_CHAIN: &str = "queued";

/// The name of a daemon's table.
pub(super) fn table(config: &Config) -> String {
    format!("clew_{}", config.name.replace('-', "_"))
}

/// Whether packets are counted or dropped, so that there is a filter where there can be one.
pub(super) fn is_wanted(config: &Config) -> bool {
    let is_off = (InboundMode::Off, OutboundMode::Prefer);
    config.others == OthersMode::Refuse || (config.inbound, config.outbound) != is_off
}

/// Whether packets are dropped by the policy, so that there has to be a filter.
pub(super) fn is_needed(config: &Config) -> bool {
    let drops = config.inbound == InboundMode::Enforce || config.outbound == OutboundMode::Require;
    drops || config.others == OthersMode::Refuse || config.carrier == Carrier::Trailer
}

/// Chains of the carrier `trailer`. Packets that come back from the queue go on with later chains, so
/// this one is earlier than the one that counts. Where no process has the queue, all do.
///
/// Connection tracking has seen each packet that leaves without its trailer, and must not see it twice.
fn trailer_chains(config: &Config, queue: QueueRule, never_in: &str) -> String {
    let (interface, number, mark) = (&config.interface, config.port, config.table);
    let queue = match queue {
        QueueRule::Nft => format!("  queue num {number} bypass\n"),
        QueueRule::Target => String::new(),
    };
    format!(
        " chain {QUEUE_CHAIN} {{
{never_in}{queue} }}
 chain arriving {{
  type filter hook prerouting priority -291; policy accept;
  iifname {{ \"lo\", \"{interface}\" }} accept
  ip saddr @peers4 goto {QUEUE_CHAIN}
  ip6 saddr @peers6 goto {QUEUE_CHAIN}
 }}
 chain untracked {{
  type filter hook output priority -300; policy accept;
  meta mark {mark} notrack
 }}
"
    )
}

/// Chains for packets of hosts that are not peers.
struct Others {
    chains: String,
    /// Ends the chain of packets that leave, and that of forwarded ones.
    on_leaving: String,
    on_forwarding: String,
}

/// In `refuse` nothing passes that is not signed, but for what the host cannot do without: the link's
/// own protocols, exclusions, routers' answers about these and about the carrier's packets, and the host's own
/// answers about packets that are too long.
fn others(config: &Config, never_in: &str, never_out: &str) -> Others {
    if config.others == OthersMode::Pass {
        let [chains, on_leaving, on_forwarding] = Default::default();
        return Others {
            chains,
            on_leaving,
            on_forwarding,
        };
    }
    let (interface, port) = (&config.interface, config.port);
    let inbound = match config.inbound {
        InboundMode::Enforce => " drop",
        InboundMode::Monitor | InboundMode::Off => "",
    };
    let own_in = match config.carrier {
        Carrier::UdpTunnel | Carrier::UdpTransport => format!(
            "  udp dport {port} accept
  icmp type {{ destination-unreachable, time-exceeded }} {PLAIN} @th,136,8 17 @th,224,16 {port} accept
  icmpv6 type {{ destination-unreachable, packet-too-big, time-exceeded }} \
@th,112,8 17 @th,384,16 {port} accept
"
        ),
        Carrier::Trailer => String::new(),
    };
    let [spared_errors, about] = spared(config);
    let answers = config.exclude.iter().flat_map(|rule| excluded(rule, true));
    let answers: String = answers.map(|rule| format!("  {rule}\n")).collect();
    let chains = format!(
        " counter {COUNTER_OTHERS_IN} {{ }}
 counter {COUNTER_OTHERS_OUT} {{ }}
 chain others_out {{
{never_out}  icmp type destination-unreachable icmp code frag-needed accept
  icmpv6 type packet-too-big accept
  counter name {COUNTER_OTHERS_OUT} drop
 }}
 chain others_forwarded {{
{answers}  goto others_out
 }}
{spared_errors} chain local {{
  type filter hook input priority 0; policy accept;
  iifname {{ \"lo\", \"{interface}\" }} accept
  ip saddr @peers4 accept
  ip6 saddr @peers6 accept
{own_in}{about}{never_in}  counter name {COUNTER_OTHERS_IN}{inbound}
 }}
"
    );
    Others {
        chains,
        on_leaving: "  goto others_out\n".into(),
        on_forwarding: format!("  iifname \"{interface}\" accept\n  goto others_forwarded\n"),
    }
}

/// The text that makes the table. The user runs the data plane.
pub(super) fn ruleset(config: &Config, user: u32, queue: QueueRule) -> String {
    let verdict = |drops: bool| if drops { " drop" } else { "" };
    let inbound = verdict(config.inbound == InboundMode::Enforce);
    let outbound = verdict(config.outbound == OutboundMode::Require);
    let (interface, port, mark) = (&config.interface, config.port, config.table);
    let [v4, v6] = [true, false].map(|is_v4| elements(config, is_v4));
    let [never_in, never_out] = [true, false].map(|is_in| never(config, is_in));
    let (own_in, own_out, chains) = match config.carrier {
        Carrier::UdpTunnel | Carrier::UdpTransport => (
            format!("  udp dport {port} fib daddr type local accept\n"),
            // Of root and that user alone: while no daemon runs anybody may take the port.
            format!("udp sport {port} meta skuid {{ 0, {user} }}"),
            String::new(),
        ),
        Carrier::Trailer => (
            String::new(),
            format!("meta mark {mark}"),
            trailer_chains(config, queue, &never_in),
        ),
    };
    let Others {
        chains: others,
        on_leaving,
        on_forwarding,
    } = others(config, &never_in, &never_out);
    let [errors, about] = errors(config);
    let [relay_counter, relayed] = relayed(config);
    let [own_forwarded, spoofed] = spoofed(config, &never_out);
    let asked = asked(config);
    format!(
        "table inet {table} {{
 counter {COUNTER_IN} {{ }}
 counter {COUNTER_OUT} {{ }}
 counter {COUNTER_SPOOFED} {{ }}
{asked}{relay_counter} set peers4 {{ type ipv4_addr; flags interval; {v4}}}
 set peers6 {{ type ipv6_addr; flags interval; {v6}}}
 chain check_in {{
{own_in}{never_in}  counter name {COUNTER_IN}{inbound}
 }}
 chain check_out {{
{never_out}  counter name {COUNTER_OUT}{outbound}
 }}
{errors}{chains}{others}{spoofed} chain incoming {{
  type filter hook prerouting priority -290; policy accept;
  iifname {{ \"lo\", \"{interface}\" }} accept
{about}  ip saddr @peers4 goto check_in
  ip6 saddr @peers6 goto check_in
 }}
 chain outgoing {{
  type filter hook output priority 0; policy accept;
  oifname {{ \"lo\", \"{interface}\" }} accept
  {own_out} accept
  ip daddr @peers4 goto check_out
  ip6 daddr @peers6 goto check_out
{on_leaving} }}
 chain forwarded {{
  type filter hook forward priority 0; policy accept;
{relayed}{own_forwarded}  oifname \"{interface}\" accept
  ip daddr @peers4 goto check_out
  ip6 daddr @peers6 goto check_out
{on_forwarding} }}
}}
",
        table = table(config),
    )
}

/// A packet that arrived verified and would leave through the interface again, for another peer. Whoever
/// copies datagrams could have it delivered there twice, under two signatures.
fn relayed(config: &Config) -> [String; 2] {
    let interface = &config.interface;
    if config.relay {
        return Default::default();
    }
    [
        format!(" counter {COUNTER_RELAYED} {{ }}\n"),
        format!(
            "  iifname \"{interface}\" oifname \"{interface}\" counter name {COUNTER_RELAYED} drop\n"
        ),
    ]
}

/// A packet that would be forwarded and signed, from this host's own address, or from where its source is not. A
/// stranger outside could have this host sign it for a host inside: IPv6 has no reverse path filter, and that of
/// IPv4 may be off. The first rule is for the chain of forwarded packets, and the second text is chains.
///
/// Kernels before 5.19 tell where a source is in `prerouting` alone. There nobody knows yet whether a packet will be
/// captured: so its destination has to be a peer's, after all translation of addresses, and what goes around the
/// interface is left out.
fn spoofed(config: &Config, never_out: &str) -> [String; 2] {
    let interface = &config.interface;
    [
        format!(
            "  oifname \"{interface}\" fib saddr type local counter name {COUNTER_SPOOFED} drop\n"
        ),
        format!(
            " chain check_source {{
  fib daddr type {{ local, broadcast, multicast, anycast }} accept
  fib saddr . iif oif exists accept
{never_out}  counter name {COUNTER_SPOOFED} drop
 }}
 chain to_forward {{
  type filter hook prerouting priority 0; policy accept;
  iifname {{ \"lo\", \"{interface}\" }} accept
  ip daddr @peers4 goto check_source
  ip6 daddr @peers6 goto check_source
 }}
"
        ),
    ]
}

/// Who was asked for the time, from which port, and by whom it may be: any person could fill the sets for all.
fn asked(config: &Config) -> String {
    if config.sign_ntp {
        return String::new();
    }
    let set = |name: &str, kind: &str| {
        format!(
            " set {name} {{ type {kind} . inet_service; flags dynamic,timeout; timeout {NTP_WAIT}; \
             size {NTP_ASKED_MAX}; }}\n"
        )
    };
    let update =
        |name: &str, ip: &str| format!("  update @{name} {{ {ip} daddr . udp sport }} accept\n");
    let sets = set("asked4", "ipv4_addr") + &set("asked6", "ipv6_addr");
    let updates = update("asked4", "ip") + &update("asked6", "ip6");
    format!("{sets} chain ask_time {{\n  meta skuid != {SERVICES} return\n{updates} }}\n")
}

fn of_family<'a>(
    nets: impl Iterator<Item = &'a IpNet>,
    is_v4: bool,
) -> impl Iterator<Item = &'a IpNet> {
    nets.filter(move |net| net.addr().is_ipv4() == is_v4)
}

fn elements(config: &Config, is_v4: bool) -> String {
    let nets = of_family(config.prefixes(), is_v4);
    let all: Vec<String> = nets.map(IpNet::to_string).collect();
    match all.is_empty() {
        true => String::new(),
        false => format!("elements = {{ {} }} ", all.join(", ")),
    }
}

/// Rules for what is never captured: the link's own protocols, and what the configuration excludes.
fn never(config: &Config, is_in: bool) -> String {
    let mut rules = vec![
        "fib daddr type { broadcast, multicast } accept".to_owned(),
        "icmpv6 type { nd-router-solicit, nd-router-advert, nd-neighbor-solicit, \
         nd-neighbor-advert, nd-redirect } ip6 hoplimit 255 accept"
            .to_owned(),
        format!("udp sport . udp dport {DHCP} accept"),
    ];
    if !config.sign_ntp {
        // Requests and answers have a length between NTP's header alone and one with a digest. An answer
        // has to have been asked for: connection tracking, which knows, would cost all traffic.
        let mine = if is_in { "dport" } else { "sport" };
        rules.push(format!("udp {mine} 123 accept"));
        rules.extend(match is_in {
            true => [("ip", "asked4"), ("ip6", "asked6")]
                .map(|(ip, asked)| {
                    format!("udp sport 123 udp length 56-76 {ip} saddr . udp dport @{asked} accept")
                })
                .to_vec(),
            false => vec!["udp dport 123 udp length 56-76 jump ask_time".to_owned()],
        });
    }
    rules.extend(config.exclude.iter().flat_map(|rule| excluded(rule, is_in)));
    rules.iter().map(|rule| format!("  {rule}\n")).collect()
}

/// Rules for one line of `exclude`. A TCP connection may begin towards the port alone.
fn excluded(rule: &Exclude, is_in: bool) -> Vec<String> {
    let side = if is_in { "saddr" } else { "daddr" };
    let remote = rule.from.map_or(String::new(), |net| match net {
        IpNet::V4(_) => format!("ip {side} {net} "),
        IpNet::V6(_) => format!("ip6 {side} {net} "),
    });
    let what = match rule.protocol {
        Protocol::Any => vec![String::new()],
        Protocol::Icmp => vec!["meta l4proto { icmp, ipv6-icmp } ".to_owned()],
        Protocol::Udp(port) => ["sport", "dport"]
            .map(|end| format!("udp {end} {port} "))
            .into(),
        Protocol::Tcp(port) => vec![
            format!("tcp dport {port} "),
            format!("tcp sport {port} tcp flags & (syn | ack) != syn "),
        ],
    };
    let whole = what.iter().map(|what| format!("{remote}{what}accept"));
    whole.collect()
}
