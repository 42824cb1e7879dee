//! From a configuration and the facts of a host to the steps that set it up.

use super::programs::batch;
use super::{Action, Facts, Plan, QueueRule, Step, ruleset};
use crate::config::{Config, Exclude, InboundMode, Protocol};
use clew_packet::Carrier;
use ipnet::IpNet;
use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Packets that wait in the TUN. The kernel's 500 overflow at each burst of a TCP connection.
const QUEUE: &str = "4000";

/// Networks without hosts that a wide prefix may contain: the table for captured traffic skips them.
const NEVER: [&str; 6] = [
    "127.0.0.0/8",
    "169.254.0.0/16",
    "224.0.0.0/4",
    "255.255.255.255/32",
    "fe80::/10",
    "ff00::/8",
];

/// The ports of DHCP for IPv4, and for IPv6.
const DHCP: [[u16; 2]; 2] = [[67, 68], [546, 547]];
const NTP: u16 = 123;

/// The flags of `ip` for both families.
const FAMILIES: [&str; 2] = ["-4", "-6"];

/// Makes the plan.
pub fn plan(config: &Config, facts: &Facts) -> Plan {
    let maker = Maker { config, facts };
    let mut capture: Vec<Step> = maker.filter().into_iter().chain(maker.queue()).collect();
    capture.extend(maker.routes());
    capture.extend(maker.loosened());
    capture.extend(maker.rules());
    Plan {
        prepare: maker.interface(),
        capture,
    }
}

struct Maker<'a> {
    config: &'a Config,
    facts: &'a Facts,
}

impl Maker<'_> {
    fn ip(&self, arguments: &str) -> Action {
        run(&self.facts.programs.ip, arguments, "")
    }

    fn interface(&self) -> Vec<Step> {
        let (name, user) = (&self.config.interface, self.facts.user);
        let offload = if self.facts.has_offload {
            " vnet_hdr"
        } else {
            ""
        };
        let made = Step {
            action: self.ip(&format!(
                "tuntap add dev {name} mode tun user {user} multi_queue{offload}"
            )),
            undo: Some(self.ip(&format!("link del dev {name}"))),
        };
        let mtu = self.config.mtu;
        // Without addresses of its own the interface sends nothing of its own.
        let settings = [
            format!("link set dev {name} addrgenmode none"),
            format!("link set dev {name} mtu {mtu} txqueuelen {QUEUE} up"),
        ];
        let settings = settings.map(|arguments| Step {
            action: self.ip(&arguments),
            undo: None,
        });
        [made].into_iter().chain(settings).collect()
    }

    /// In `monitor` and `prefer` a host without nftables counts less.
    fn filter(&self) -> Option<Step> {
        let nft = self.facts.programs.nft.as_ref()?;
        if !ruleset::is_wanted(self.config) {
            return None;
        }
        let table = ruleset::table(self.config);
        Some(Step {
            action: run(
                nft,
                "-f -",
                &ruleset::ruleset(self.config, self.facts.user, self.facts.queue),
            ),
            undo: Some(run(nft, &format!("delete table inet {table}"), "")),
        })
    }

    /// The rule that `nft` cannot write. It goes with the table.
    fn queue(&self) -> Option<Step> {
        let wants = self.config.carrier == Carrier::Trailer;
        (wants && self.facts.queue == QueueRule::Target).then(|| Step {
            action: Action::Queue {
                table: ruleset::table(self.config),
                chain: ruleset::QUEUE_CHAIN.to_owned(),
                number: self.config.port,
            },
            undo: None,
        })
    }

    fn routes(&self) -> Vec<Step> {
        let routes = self.facts.routes.iter();
        let sources = routes.map(|route| route.as_ref().and_then(|route| route.source));
        let sources: Vec<Option<IpAddr>> = sources.collect();
        let mut steps = Vec::new();
        for (family, routes) in route_commands(self.config, &sources) {
            let undo: Vec<&str> = routes.iter().map(|route| route.which.as_str()).collect();
            let routes: Vec<String> = routes.iter().map(ToString::to_string).collect();
            steps.extend(self.list(family, "route", &routes, &undo));
        }
        steps
    }

    /// A step of many commands of `ip`, whose undo is the same with another verb, the last one first.
    fn list(&self, family: &str, object: &str, add: &[String], del: &[&str]) -> Option<Step> {
        let ip = &self.facts.programs.ip;
        let of = |verb: &str, rest: &str| format!("{object} {verb} {rest}");
        let done: Vec<String> = add.iter().map(|rest| of("add", rest)).collect();
        let undone: Vec<String> = del.iter().rev().map(|rest| of("del", rest)).collect();
        (!done.is_empty()).then(|| Step {
            action: batch(ip, family, false, &done),
            undo: Some(batch(ip, family, true, &undone)),
        })
    }

    /// Where unsigned packets of peers may arrive, the reverse path filter must not be strict: the
    /// way back leads through the TUN.
    fn loosened(&self) -> Vec<Step> {
        if self.config.inbound == InboundMode::Enforce {
            return Vec::new();
        }
        loosen(&self.facts.strict)
    }

    /// Three rules: what goes around, what is captured, and where the former goes on.
    fn rules(&self) -> Vec<Step> {
        let table = self.config.table;
        let [around, capture, on] = [table, table + 1, table + 2];
        let (name, port) = (&self.config.interface, self.config.port);
        let mut steps = Vec::new();
        for family in self.families() {
            let mut rules = vec![format!("pref {on} iif {name} nop")];
            let own = match self.config.carrier {
                Carrier::Trailer => format!("fwmark {table}"),
                Carrier::UdpTunnel | Carrier::UdpTransport => {
                    format!("iif lo ipproto udp sport {port}")
                }
            };
            rules.push(format!("pref {around} {own} goto {on}"));
            if self.config.carrier != Carrier::Trailer {
                // What routers say of datagrams is looked up by the socket's mark, without its port.
                rules.push(format!("pref {around} fwmark {table} goto {on}"));
            }
            let never = self.never(family).into_iter();
            rules.extend(never.map(|selector| format!("pref {around} {selector} goto {on}")));
            if !self.config.relay && self.filter().is_none() {
                // With the filter they are counted, too.
                let own = self
                    .config
                    .prefixes()
                    .filter(|net| self::family(net) == family);
                rules
                    .extend(own.map(|net| format!("pref {capture} iif {name} to {net} blackhole")));
            }
            rules.push(format!("pref {capture} lookup {table}"));
            let which: Vec<&str> = rules.iter().map(String::as_str).collect();
            steps.extend(self.list(family, "rule", &rules, &which));
        }
        steps
    }

    fn families(&self) -> impl Iterator<Item = &'static str> {
        let has = |wanted: &&str| self.config.prefixes().any(|net| family(net) == *wanted);
        FAMILIES.into_iter().filter(has)
    }

    /// Selectors of traffic that is never captured.
    fn never(&self, family: &str) -> Vec<String> {
        let udp = |port: u16| {
            let exclude = Exclude {
                protocol: Protocol::Udp(port),
                from: None,
            };
            selectors(&exclude, family)
        };
        let ntp = Some(NTP).filter(|_| !self.config.sign_ntp);
        let dhcp = DHCP[usize::from(family == "-6")];
        let mut all: Vec<String> = dhcp.into_iter().chain(ntp).flat_map(udp).collect();
        let excluded = self.config.exclude.iter();
        all.extend(excluded.flat_map(|rule| selectors(rule, family)));
        // A rule that is there already is an error.
        let mut once = Vec::new();
        all.retain(|selector| {
            let is_new = !once.contains(selector);
            once.push(selector.clone());
            is_new
        });
        all
    }
}

/// A route of the own table.
pub(super) struct OwnRoute {
    /// All that names it.
    pub which: String,
    source: Option<IpAddr>,
}

impl fmt::Display for OwnRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let which = &self.which;
        match self.source {
            Some(source) => write!(f, "{which} src {source}"),
            None => f.write_str(which),
        }
    }
}

/// The routes of each family, where each prefix has a source.
pub(super) fn route_commands(
    config: &Config,
    sources: &[Option<IpAddr>],
) -> [(&'static str, Vec<OwnRoute>); 2] {
    let (table, name) = (config.table, &config.interface);
    FAMILIES.map(|wanted| {
        let never = NEVER.iter().filter_map(|net| net.parse::<IpNet>().ok());
        let never = never.filter(|never| config.prefixes().any(|net| net.contains(never)));
        let throws = never
            .filter(|net| family(net) == wanted)
            .map(|never| OwnRoute {
                which: format!("throw {never} table {table}"),
                source: None,
            });
        let prefixes = config.prefixes().enumerate();
        let own = prefixes.filter(|(_, net)| family(net) == wanted);
        let own = own.map(|(at, net)| OwnRoute {
            which: format!("{net} dev {name} table {table}"),
            source: sources.get(at).copied().flatten(),
        });
        (wanted, throws.chain(own).collect())
    })
}

/// Steps that make reverse path filters loose, and put back what they held.
pub(super) fn loosen(strict: &[(PathBuf, String)]) -> Vec<Step> {
    let write = |path: &Path, text: &str| Action::Write {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    let step = |(path, was): &(PathBuf, String)| Step {
        action: write(path, "2"),
        undo: Some(write(path, was)),
    };
    strict.iter().map(step).collect()
}

fn run(program: &Path, arguments: &str, input: &str) -> Action {
    Action::Run {
        program: program.to_owned(),
        arguments: arguments.split_whitespace().map(str::to_owned).collect(),
        input: input.to_owned(),
    }
}

fn family(net: &IpNet) -> &'static str {
    match net {
        IpNet::V4(_) => "-4",
        IpNet::V6(_) => "-6",
    }
}

/// Selectors of `ip rule` for one line of `exclude`.
fn selectors(rule: &Exclude, of: &str) -> Vec<String> {
    if rule.from.is_some_and(|net| family(&net) != of) {
        return Vec::new();
    }
    let to = rule.from.map_or(String::new(), |net| format!("to {net} "));
    let port = |protocol: &str, port: u16| {
        ["sport", "dport"]
            .map(|end| format!("{to}ipproto {protocol} {end} {port}"))
            .into()
    };
    match rule.protocol {
        Protocol::Any => vec![to.trim_end().to_owned()],
        Protocol::Icmp if of == "-4" => vec![format!("{to}ipproto icmp")],
        Protocol::Icmp => vec![format!("{to}ipproto ipv6-icmp")],
        Protocol::Tcp(number) => port("tcp", number),
        Protocol::Udp(number) => port("udp", number),
    }
}

#[cfg(test)]
mod tests;
