use super::*;
use crate::config::SetupKeys;
use crate::sender::{Cover, WindowSize};

const GOOD: &str = r#"
key = "web-1.key"
exclude = ["tcp/22 from 10.0.0.0/8"]

[[peer]]
prefixes = ["10.0.0.2/32", "fd00::2/128"]
endpoint = "10.0.0.2"
group = "acme.clew"

[[peer]]
prefixes = ["192.0.2.0/24"]
group = "/etc/clew/acme.clew"
"#;

fn parsed(text: &str) -> Result<Config, Broken> {
    parse(text, Path::new("/etc/clew/lan.toml"))
}

#[test]
fn a_short_file_has_defaults() {
    let config = parsed(GOOD).unwrap();
    assert_eq!(config.name, "lan");
    assert_eq!(config.interface, "clew-lan");
    assert_eq!((config.port, config.table), (4909, 4909));
    assert_eq!((config.mtu, config.path_mtu), (1500, 1500));
    assert_eq!(config.inbound, InboundMode::Monitor);
    assert_eq!(config.outbound, OutboundMode::Prefer);
    assert_eq!(config.others, OthersMode::Pass);
    assert!(!config.fails_closed());
    assert_eq!(config.carrier, Carrier::UdpTunnel);
    assert!(config.offload && !config.sign_ntp);
    assert_eq!(config.key, Path::new("/etc/clew/web-1.key"));
    assert_eq!(config.peers[0].group, Path::new("/etc/clew/acme.clew"));
    assert_eq!(
        config.peers[0].endpoint,
        Some("10.0.0.2:4909".parse().unwrap())
    );
    assert_eq!(config.peers[1].endpoint, None);
    assert_eq!(config.prefixes().count(), 3);
}

#[test]
fn end_points_and_prefixes_have_their_forms() {
    for (text, wanted) in [
        ("fd00::2", "[fd00::2]:4909"),
        ("[fd00::2]", "[fd00::2]:4909"),
        ("[fd00::2]:7", "[fd00::2]:7"),
    ] {
        let good = GOOD.replace("\"10.0.0.2\"", &format!("\"{text}\""));
        let endpoint = parsed(&good).unwrap().peers[0].endpoint;
        assert_eq!(endpoint, Some(wanted.parse().unwrap()), "{text}");
    }
    let longer = GOOD.replace("10.0.0.2/32", "10.0.0.2/33");
    is_refused(&longer, Some(6), "prefix \"10.0.0.2/33\": write a network");
    let mapped = GOOD.replace("fd00::2/128", "::ffff:10.0.0.3/128");
    is_refused(
        &mapped,
        Some(6),
        "prefix ::ffff:10.0.0.3/128: no packet has IPv4 within",
    );
    assert!(parsed(&GOOD.replace("fd00::2/128", "::/0")).is_ok());
    let brackets = GOOD.replace("\"10.0.0.2\"", "\"[10.0.0.2]\"");
    is_refused(&brackets, Some(7), "endpoint \"[10.0.0.2]\": write");
}

#[test]
fn what_the_system_says_has_no_number() {
    let plain = |number| super::super::plain(&std::io::Error::from_raw_os_error(number));
    assert_eq!(plain(nix::libc::ENOENT), "does not exist");
    assert_eq!(plain(nix::libc::EADDRINUSE), "address already in use");
}

/// Compares what is said of a file, and of which line, with what is expected.
#[track_caller]
fn is_refused(text: &str, line: Option<usize>, said: &str) {
    let (span, rule) = parsed(text).unwrap_err();
    let found = span.map(|span| line_of(text, span.start));
    let rule = rule.to_string();
    assert!(rule.contains(said), "{rule:?} for {said:?}");
    assert!(!rule.contains('\n'), "{rule:?}");
    assert_eq!(found, line, "{rule}");
}

#[test]
fn each_mistake_is_one_sentence_with_its_line() {
    let with = |line: &str| format!("{line}\n{GOOD}");
    for (text, line, said) in [
        (with("nane = 1"), Some(1), "unknown field `nane`"),
        (with("mtu = "), Some(1), "string values must be quoted"),
        (
            with("inbound = \"block\""),
            Some(1),
            "unknown variant `block`",
        ),
        (with("name = \"No\""), Some(1), "name \"No\": need"),
        (with("interface = \"a/b\""), Some(1), "interface \"a/b\""),
        (with("port = 0"), Some(1), "port 0: need 1 to 65535"),
        (
            with("port = 40000"),
            Some(1),
            "port 40000 cannot number the routing table: add `table`, from 1000 to 32000",
        ),
        (with("table = 53"), Some(1), "table 53: need 1000 to 32000"),
        (
            with("port = \"4909\""),
            Some(1),
            "need a number, without quotes",
        ),
        (with("mtu = 1279"), Some(1), "mtu 1279: need 1280 to 65000"),
        (with("path-mtu = 575"), Some(1), "path-mtu 575"),
        (
            with("metrics = \"x\""),
            Some(1),
            "metrics \"x\": write an IP address",
        ),
        ("key = \"k\"".into(), None, "need at least one [[peer]]"),
        (
            "[[peer]]\nprefixes=[]\ngroup=\"g\"\n".into(),
            Some(1),
            "missing field `key`",
        ),
        (
            GOOD.replace("tcp/22 from", "tcp/22 to"),
            Some(3),
            "exclude \"tcp/22 to",
        ),
        (
            GOOD.replace("fd00::2/128", "fd00::2/64"),
            Some(6),
            "write fd00::/64",
        ),
        (
            GOOD.replace("fd00::2/128", "fd00::2"),
            Some(6),
            "prefix \"fd00::2\": an address needs a length: write fd00::2/128",
        ),
        (
            GOOD.replace("\"10.0.0.2\"", "\"b.example\""),
            Some(7),
            "endpoint \"b.example\"",
        ),
        (
            GOOD.replace("\"10.0.0.2\"", "\"0.0.0.0\""),
            Some(7),
            "endpoint 0.0.0.0:4909: need",
        ),
    ] {
        is_refused(&text, line, said);
    }
}

#[test]
fn mistakes_in_peers_are_one_sentence_with_their_line() {
    let peer = |lines: &str| format!("{GOOD}\n[[peer]]\n{lines}\ngroup = \"g\"\n");
    for (text, line, said) in [
        (peer("prefixes = []"), 15, "prefixes is empty"),
        (
            peer("prefixes = [\"192.0.2.7/32\"]"),
            15,
            "overlaps 192.0.2.0/24",
        ),
        (
            peer("prefixes = [\"192.0.0.0/16\"]"),
            15,
            "overlaps 192.0.2.0/24",
        ),
        (
            peer("prefixes = [\"224.0.0.0/8\"]"),
            15,
            "prefix 224.0.0.0/8: multicast",
        ),
        (
            peer("prefixes = [\"fe80::/64\"]"),
            15,
            "prefix fe80::/64: multicast",
        ),
        (
            peer("prefixes = [\"1.0.0.0/8\"]\nendpoint = \"10.0.0.2:4909\""),
            16,
            "given twice",
        ),
    ] {
        is_refused(&text, Some(line), said);
    }
}

#[test]
fn keepalive_is_off_unless_a_peer_has_it() {
    let config = parsed(&GOOD.replace("endpoint", "keepalive = 25\nendpoint")).unwrap();
    let keepalives: Vec<_> = config.peers.iter().map(|peer| peer.keepalive).collect();
    assert_eq!(keepalives, [Some(Duration::from_secs(25)), None]);
    for (bad, said) in [
        ("0", "keepalive 0: need 1 to 65535"),
        ("65536", "keepalive 65536: need 1 to 65535"),
        ("\"25s\"", "need a number, without quotes"),
    ] {
        let text = GOOD.replace("endpoint", &format!("keepalive = {bad}\nendpoint"));
        let found = parsed(&text).unwrap_err().1.to_string();
        assert!(found.contains(said), "{bad}: {found}");
    }
}

#[test]
fn signing_has_its_ranges() {
    let with = |line: &str| format!("{GOOD}\n[signing]\n{line}\n");
    let config = parsed(&with("mode = \"each\"\nblock = 16\npool = 10")).unwrap();
    assert_eq!(config.signing.cover, CoverMode::Each);
    assert_eq!((config.signing.block, config.signing.pool), (16, 10));
    for (bad, said) in [
        ("block = 0", "block 0: need 1 to 1024"),
        ("block = 1025", "block 1025: need 1 to 1024"),
        ("pool = 131073", "pool 131073: need 0 to 131072"),
        ("k = \"adaptive\"", "k requires mode = \"window\""),
        ("mode = \"window\"\nk = 8", "wanted string or table"),
    ] {
        assert_eq!(parsed(&with(bad)).unwrap_err().1.to_string(), said);
    }
}

#[test]
fn windows_are_fixed_or_follow_the_flight() {
    let cover = |lines: &str| {
        let text = format!("{GOOD}\n[signing]\nmode = \"window\"\n{lines}\n");
        parsed(&text).unwrap().signing.sender_cover()
    };
    assert_eq!(cover("block = 8"), Cover::Window(WindowSize::Fixed(8)));
    let adaptive = Cover::Window(WindowSize::Adaptive(64));
    assert_eq!(cover("k = \"adaptive\""), adaptive);
    assert!(!parsed(GOOD).unwrap().whole_windows);
    let whole = parsed(&format!("whole-windows = true\n{GOOD}")).unwrap();
    assert!(whole.whole_windows);
}

#[test]
fn queues_of_a_person_are_bounded() {
    let rules = vec!["\"icmp\""; EXCLUDES_MAX + 1].join(",");
    let text = GOOD.replace("\"tcp/22 from 10.0.0.0/8\"", &rules);
    assert!(matches!(parsed(&text), Err((_, Rule::Excludes))));
    let peers = |count| {
        let peer = |n| format!("[[peer]]\nprefixes = [\"{}\"]\ngroup = \"g\"\n", v4(n));
        let all: String = (0..count).map(peer).collect();
        format!("key = \"k\"\n{all}")
    };
    assert_eq!(parsed(&peers(PEERS_MAX)).unwrap().peers.len(), PEERS_MAX);
    assert!(matches!(
        parsed(&peers(PEERS_MAX + 1)),
        Err((_, Rule::Peers))
    ));
    let all: Vec<String> = (0..=PREFIXES_MAX)
        .map(|n| format!("\"{}\"", v4(n)))
        .collect();
    let text = format!(
        "key = \"k\"\n[[peer]]\nprefixes = [{}]\ngroup = \"g\"",
        all.join(",")
    );
    assert!(matches!(parsed(&text), Err((_, Rule::Prefixes))));
}

fn v4(number: usize) -> String {
    format!("10.{}.{}.0/24", number / 256, number % 256)
}

#[test]
fn a_mistake_is_said_in_words_that_fit_the_file() {
    let with = |line: &str| format!("{line}\n{GOOD}");
    for (text, wanted) in [
        (
            with("grace = -1"),
            "integer `-1`, need a whole number, 0 or more",
        ),
        (with("grace = 1.5"), "need a whole number, 0 or more"),
        (with("grace = \"5\""), "need a number, without quotes"),
        (
            format!("{GOOD}\ninbound = \"enforce\""),
            "`inbound` belongs above the first [[peer]] or [signing]",
        ),
        (
            format!("{GOOD}\n[signing]\ngrace = 5"),
            "`grace` belongs above the first [[peer]] or [signing]",
        ),
        (format!("{GOOD}\nnane = 1"), "unknown field `nane`"),
    ] {
        let said = parsed(&text).unwrap_err().1.to_string();
        assert!(said.contains(wanted), "{said}");
    }
}

/// What a running daemon can take over, and what needs another set-up.
#[test]
fn a_reload_may_change_peers_endpoints_but_not_their_prefixes() {
    let config = parsed(GOOD).unwrap();
    let other = |from: &str, to: &str| parsed(&GOOD.replace(from, to)).unwrap();
    let changed = |from: &str, to: &str| {
        let other = SetupKeys::of(&other(from, to));
        SetupKeys::of(&config).changed(&other).join(", ")
    };
    assert_eq!(
        changed("endpoint = \"10.0.0.2\"", "endpoint = \"10.9.9.9\""),
        ""
    );
    assert_eq!(changed("web-1.key", "web-2.key"), "");
    assert_eq!(changed("acme.clew", "other.clew"), "");
    assert_eq!(changed("10.0.0.2/32", "10.0.0.3/32"), "prefixes");
    assert_eq!(changed("\"tcp/22 from 10.0.0.0/8\"", ""), "exclude");
    for (line, expected) in [
        ("path-mtu = 1400", ""),
        ("grace = 5", ""),
        ("unlock-with = \"secret\"", ""),
        ("name = \"wan\"", "interface, name"),
        ("user = \"daemon\"", "user"),
        ("inbound = \"enforce\"", "inbound"),
        ("outbound = \"require\"", "outbound"),
        ("others = \"refuse\"", "others"),
        ("carrier = \"udp-transport\"", "carrier"),
        ("port = 5000", "port, table"),
        ("table = 5000", "table"),
        ("interface = \"tun7\"", "interface"),
        ("mtu = 1400", "mtu"),
        ("offload = \"off\"", "offload"),
        ("whole-windows = true", "whole-windows"),
        ("sign-ntp = true", "sign-ntp"),
        ("metrics = \"127.0.0.1:9909\"", "metrics"),
    ] {
        assert_eq!(changed("key =", &format!("{line}\nkey =")), expected);
    }
}

#[test]
fn the_grace_of_an_epoch_is_in_seconds() {
    let grace = |line: &str| parsed(&format!("{line}\n{GOOD}")).map(|config| config.grace);
    assert_eq!(grace("").unwrap(), Duration::from_secs(60));
    assert_eq!(grace("grace = 5").unwrap(), Duration::from_secs(5));
    assert_eq!(grace("grace = 0").unwrap(), Duration::ZERO);
    let said = grace("grace = 86401").unwrap_err().1.to_string();
    assert_eq!(said, "grace 86401: need 0 to 86400");
}

const TRAILER: &str =
    "key = \"k\"\ncarrier = \"trailer\"\n[[peer]]\nprefixes = [\"10.0.0.2/32\"]\ngroup = \"g\"\n";

#[test]
fn with_trailers_the_interface_leaves_room_for_the_longest() {
    let config = parsed(TRAILER).unwrap();
    assert_eq!(config.carrier, Carrier::Trailer);
    // 31 and 6 around a block of 22, three digests of 16, and a signature of 336.
    assert_eq!(config.mtu, 1_500 - 443);
    let each = parsed(&format!("{TRAILER}[signing]\nmode = \"each\"\n")).unwrap();
    assert_eq!(each.mtu, 1_500 - 373);
    let v6 = TRAILER.replace("10.0.0.2/32", "fd00::2/128");
    let large = parsed(&format!("path-mtu = 1723\n{v6}")).unwrap();
    assert_eq!(large.mtu, 1_280);
}

#[test]
fn mistakes_with_trailers_are_one_sentence() {
    let with = |line: &str| format!("{line}\n{TRAILER}");
    let v6 = TRAILER.replace("10.0.0.2/32", "fd00::2/128");
    let endpoint = TRAILER.replace("group =", "endpoint = \"10.0.0.2\"\ngroup =");
    let keepalive = TRAILER.replace("group =", "keepalive = 25\ngroup =");
    for (text, line, said) in [
        (with("inbound = \"off\""), None, "monitor or enforce"),
        (with("mtu = 1058"), Some(1), "at most 1057"),
        (with("mtu = 1057\npath-mtu = 1499"), Some(1), "at most 1056"),
        (with("path-mtu = 1000"), Some(1), "need 1019 to"),
        (v6.clone(), Some(4), "need path-mtu 1723 or more"),
        (format!("path-mtu = 1722\n{v6}"), Some(5), "and it is 1722"),
        (endpoint, Some(5), "remove it"),
        (keepalive, Some(5), "keepalive: carrier = \"trailer\" sends"),
    ] {
        is_refused(&text, line, said);
    }
}

#[test]
fn the_name_of_a_file_is_one_and_is_shown_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    for (file, shown) in [("-x.toml", "-x.toml:"), ("x\ny.toml", "x\\ny.toml:")] {
        let path = folder.path().join(file);
        std::fs::write(&path, GOOD).unwrap();
        let said = read(&path).unwrap_err().to_string();
        assert!(said.contains(shown) && !said.contains('\n'), "{said}");
        assert!(
            said.ends_with("need 1 to 10 of a-z, 0-9 and -, the first one not -"),
            "{said}"
        );
    }
}
