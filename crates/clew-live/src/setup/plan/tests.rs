use super::*;
use crate::setup::{Place, Programs, Route};
use std::net::IpAddr;
use std::path::PathBuf;

fn config(keys: &str, peers: &str) -> Config {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lan.toml");
    std::fs::write(&path, format!("key = \"k\"\n{keys}\n{peers}")).unwrap();
    Config::read(&path).unwrap()
}

const HOST: &str = "[[peer]]\nprefixes = [\"10.0.0.2/32\"]\ngroup = \"g\"\n";
const BOTH: &str = "[[peer]]\nprefixes = [\"10.0.0.2/32\", \"fd00::2/128\"]\ngroup = \"g\"\n";
const ALL: &str = "[[peer]]\nprefixes = [\"0.0.0.0/0\"]\ngroup = \"g\"\n";

fn facts(config: &Config) -> Facts {
    let route = |source: Option<IpAddr>| {
        let device = "eth0".to_owned();
        Some(Route { source, device })
    };
    let source = |net: &IpNet| match net {
        IpNet::V4(_) => "10.0.0.1".parse().ok(),
        IpNet::V6(_) => None,
    };
    Facts {
        programs: Programs {
            ip: "/usr/sbin/ip".into(),
            nft: Some("/usr/sbin/nft".into()),
        },
        user: 65534,
        has_offload: true,
        queue: QueueRule::Nft,
        routes: config.prefixes().map(|net| route(source(net))).collect(),
        strict: vec![(
            PathBuf::from("/proc/sys/net/ipv4/conf/eth0/rp_filter"),
            "1".into(),
        )],
    }
}

fn steps(config: &Config, facts: &Facts) -> Vec<String> {
    let plan = plan(config, facts);
    Place::describe(&plan)
}

fn planned(keys: &str, peers: &str) -> Vec<String> {
    let config = config(keys, peers);
    steps(&config, &facts(&config))
}

fn rules(planned: &[String], family: &str) -> Vec<String> {
    let begin = format!("ip {family} rule add ");
    let rules = planned.iter().filter_map(|step| step.strip_prefix(&begin));
    rules.map(str::to_owned).collect()
}

#[test]
fn a_host_is_set_up_in_order() {
    let planned = planned("sign-ntp = true\ninbound = \"off\"", HOST);
    let head: Vec<&str> = planned.iter().take(5).map(String::as_str).collect();
    assert_eq!(
        head,
        [
            "ip tuntap add dev clew-lan mode tun user 65534 multi_queue vnet_hdr",
            "ip link set dev clew-lan addrgenmode none",
            "ip link set dev clew-lan mtu 1500 txqueuelen 4000 up",
            "ip -4 route add 10.0.0.2/32 dev clew-lan table 4909 src 10.0.0.1",
            "write 2 to /proc/sys/net/ipv4/conf/eth0/rp_filter",
        ]
    );
    let rules = rules(&planned, "-4");
    assert_eq!(rules[0], "pref 4911 iif clew-lan nop");
    assert_eq!(
        rules[1],
        "pref 4909 iif lo ipproto udp sport 4909 goto 4911"
    );
    assert_eq!(rules[2], "pref 4909 fwmark 4909 goto 4911");
    // No filter drops what a peer sent for another one.
    assert!(rules.contains(&"pref 4910 iif clew-lan to 10.0.0.2/32 blackhole".to_owned()));
    assert_eq!(rules.last().unwrap(), "pref 4910 lookup 4909");
    // Two ends of two ports of DHCP.
    assert_eq!(rules.len(), 5 + 4);
    assert!(
        planned.last().unwrap().ends_with("lookup 4909"),
        "capture is last"
    );
}

#[test]
fn each_step_but_settings_has_its_undo() {
    let config = config("inbound = \"enforce\"\noutbound = \"require\"", BOTH);
    let plan = plan(&config, &facts(&config));
    for step in plan.steps() {
        let undone = step.undo.as_ref().map(Action::commands);
        let mut undone = undone.unwrap_or_default();
        // The last one goes first, so that nothing is captured any more.
        undone.reverse();
        let expected = |action: &String| match action.split(' ').collect::<Vec<_>>().as_slice() {
            ["ip", "tuntap", ..] => Some("ip link del dev clew-lan".to_owned()),
            ["ip", "link", ..] => None,
            ["nft", ..] => Some("nft delete table inet clew_lan".to_owned()),
            // The route may have another source by then.
            _ => Some(
                action
                    .replace(" add ", " del ")
                    .replace(" src 10.0.0.1", ""),
            ),
        };
        let expected: Vec<String> = step.action.commands().iter().filter_map(expected).collect();
        assert_eq!(undone, expected, "{}", step.action);
    }
}

/// However many prefixes there are, `ip` runs a few times.
#[test]
fn many_prefixes_are_few_steps() {
    let prefixes: Vec<String> = (0..2_000)
        .map(|n| format!("\"10.{}.{}.0/24\"", n / 250, n % 250))
        .collect();
    let peer = format!(
        "[[peer]]\nprefixes = [{}]\ngroup = \"g\"\n",
        prefixes.join(", ")
    );
    let config = config("inbound = \"off\"", &peer);
    let plan = plan(&config, &facts(&config));
    assert_eq!(
        plan.steps().count(),
        3 + 3,
        "interface, routes, a setting, rules"
    );
    assert!(Place::describe(&plan).len() > 4_000);
}

#[test]
fn families_without_a_prefix_are_left_alone() {
    assert!(rules(&planned("", HOST), "-6").is_empty());
    let both = planned("", BOTH);
    assert_eq!(rules(&both, "-6").len(), rules(&both, "-4").len());
    assert!(both.contains(&"ip -6 route add fd00::2/128 dev clew-lan table 4909".to_owned()));
}

#[test]
fn networks_without_hosts_are_skipped_in_wide_prefixes() {
    let throws = |planned: Vec<String>| planned.iter().filter(|s| s.contains(" throw ")).count();
    assert_eq!(throws(planned("", HOST)), 0);
    assert_eq!(throws(planned("", ALL)), 4);
}

#[test]
fn ntp_and_what_is_excluded_goes_around() {
    let keys =
        "exclude = [\"tcp/22 from 10.0.0.0/8\", \"icmp\", \"any from fd00::/8\", \"udp/67\"]";
    let planned = planned(keys, BOTH);
    let (v4, v6) = (rules(&planned, "-4"), rules(&planned, "-6"));
    let has = |rules: &[String], rest: &str| rules.contains(&format!("pref 4909 {rest} goto 4911"));
    for rest in [
        "ipproto udp sport 123",
        "ipproto udp dport 123",
        "to 10.0.0.0/8 ipproto tcp sport 22",
        "to 10.0.0.0/8 ipproto tcp dport 22",
        "ipproto icmp",
    ] {
        assert!(has(&v4, rest), "{rest}");
    }
    assert!(has(&v6, "ipproto ipv6-icmp") && has(&v6, "to fd00::/8"));
    assert!(
        !v4.iter().any(|rule| rule.contains("fd00")),
        "each family its own"
    );
    assert!(
        !v6.iter().any(|rule| rule.contains("10.0.0.0/8")),
        "each family its own"
    );
    let same = |rule: &&String| **rule == "pref 4909 ipproto udp dport 67 goto 4911";
    assert_eq!(
        v4.iter().filter(same).count(),
        1,
        "the kernel refuses a rule twice"
    );
}

#[test]
fn enforce_drops_and_leaves_the_path_filter_strict() {
    let table = |planned: &[String]| {
        let text = planned.iter().find(|step| step.starts_with("nft"));
        text.cloned().unwrap_or_default()
    };
    let monitor = planned("", HOST);
    let counted = table(&monitor);
    assert!(counted.contains("counter name unsigned_in\n"), "{counted}");
    let relayed = "counter name not_relayed drop";
    assert!(counted.contains(relayed), "{counted}");
    let spoofed = "fib saddr type local counter name spoofed drop";
    assert!(counted.contains(spoofed), "{counted}");
    assert_eq!(counted.matches("drop").count(), 3, "{counted}");
    let relays = table(&planned("relay = true", HOST));
    assert!(!relays.contains("not_relayed"), "{relays}");
    assert!(monitor.iter().any(|step| step.contains("rp_filter")));
    let enforce = planned("inbound = \"enforce\"", HOST);
    let refused = table(&enforce);
    assert!(
        refused.contains("counter name unsigned_in drop"),
        "{refused}"
    );
    assert!(refused.contains("counter name unsigned_out\n"), "{refused}");
    assert!(!enforce.iter().any(|step| step.contains("rp_filter")));
    let require = table(&planned("outbound = \"require\"", HOST));
    assert!(
        require.contains("counter name unsigned_out drop"),
        "{require}"
    );
    assert_eq!(table(&planned("inbound = \"off\"", HOST)), "");
}

#[test]
fn a_host_without_nftables_counts_less() {
    let config = config("", HOST);
    let mut facts = facts(&config);
    facts.programs.nft = None;
    assert!(
        !steps(&config, &facts)
            .iter()
            .any(|step| step.starts_with("nft"))
    );
}

#[test]
fn trailers_are_queued_before_the_filter_and_leave_by_their_mark() {
    let text = "key = \"k\"\ncarrier = \"trailer\"\ninbound = \"enforce\"\n\
        [[peer]]\nprefixes = [\"10.0.0.2/32\"]\ngroup = \"g\"\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lan.toml");
    std::fs::write(&path, text).unwrap();
    let config = Config::read(&path).unwrap();
    let mut facts = facts(&config);
    let said = |facts: &Facts| steps(&config, facts).join("\n");
    let by_nft = said(&facts);
    facts.queue = QueueRule::Target;
    let by_target = said(&facts);
    assert!(by_nft.contains("queue num 4909 bypass") && !by_nft.contains("NFQUEUE"));
    assert!(by_target.contains("target NFQUEUE 4909") && !by_target.contains("queue num"));
    for text in [by_nft, by_target] {
        assert!(
            text.contains("rule add pref 4909 fwmark 4909 goto 4911"),
            "{text}"
        );
        assert!(text.contains("meta mark 4909 notrack"), "{text}");
        assert!(text.contains("mtu 1057"), "{text}");
        assert!(text.contains("counter name unsigned_in drop"), "{text}");
        assert!(!text.contains("udp sport 4909"), "{text}");
        let places = ["priority -291", "priority -290"].map(|text_of| text.find(text_of));
        assert!(places[0].is_some() && places[0] < places[1], "{text}");
    }
}

/// The chains of a table, each with its text.
fn chains(table: &str) -> Vec<(&str, &str)> {
    let chains = table.split(" chain ").skip(1);
    chains.filter_map(|chain| chain.split_once(" {")).collect()
}

/// Kernels before 5.19 refuse the rest of the table with such a rule elsewhere.
#[test]
fn only_packets_that_just_arrived_are_asked_for_their_way_back() {
    for keys in ["", "others = \"refuse\"", "carrier = \"trailer\""] {
        let planned = planned(keys, HOST);
        let table = planned.iter().find(|step| step.starts_with("nft")).unwrap();
        let chains = chains(table);
        let from = |name: &str| {
            let whole = |text: &str| {
                ["goto", "jump"]
                    .map(|by| text.lines().any(|l| l.ends_with(&format!("{by} {name}"))))
            };
            let from = chains
                .iter()
                .filter(|(_, text)| whole(text).contains(&true));
            from.map(|(_, text)| *text).collect::<Vec<_>>()
        };
        let asking = chains
            .iter()
            .filter(|(_, text)| text.contains("saddr . iif oif"));
        let asking: Vec<_> = asking.collect();
        assert_eq!(asking.len(), 1, "{table}");
        for (name, text) in asking {
            let from = if text.contains(" hook ") {
                vec![*text]
            } else {
                from(name)
            };
            assert!(!from.is_empty(), "{name}: {table}");
            for text in from {
                assert!(text.contains("hook prerouting"), "{name}: {table}");
            }
        }
    }
}
