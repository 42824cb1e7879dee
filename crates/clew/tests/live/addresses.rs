//! The host's own addresses change while its daemon runs.

use super::lan::{Lan, ONE, TWO, text, until};
use std::fs;
use std::time::{Duration, Instant};

const ENFORCE: &str = "inbound = \"enforce\"\noutbound = \"require\"";

/// The first host's addresses after the change.
const NEW: [&str; 2] = ["10.8.1.77", "fd08::77"];

/// The second host knows both addresses of the first one, old and new, and learns where it is. The first one
/// speaks by itself.
fn both(lan: &mut Lan, keys: &str) {
    let two = lan.configure(TWO, keys, false);
    let known = format!("prefixes = [\"{}/32\", \"{}/128\", ", NEW[0], NEW[1]);
    let config = fs::read_to_string(&two).unwrap();
    fs::write(&two, config.replace("prefixes = [", &known)).unwrap();
    let one = lan.configure(ONE, keys, true);
    let config = fs::read_to_string(&one).unwrap();
    fs::write(&one, config + "keepalive = 1\n").unwrap();
    lan.up(TWO, &two, &[]);
    lan.up(ONE, &one, &[]);
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
}

fn status(lan: &Lan, host: usize) -> (Option<i32>, String) {
    let output = lan.in_host(host, &["status", &lan.name(host)]);
    (output.status.code(), text(&output.stdout))
}

/// Routes of the first host's own table, in both families.
fn routes(lan: &Lan) -> String {
    lan.ip(ONE, "-4 route show table 4909") + &lan.ip(ONE, "-6 route show table 4909")
}

fn take_addresses(lan: &Lan) {
    lan.ip(ONE, &format!("addr del {}/24 dev wire", Lan::v4(ONE)));
    lan.ip(ONE, &format!("addr del {}/64 dev wire", Lan::v6(ONE)));
}

#[test]
fn a_host_that_gets_another_address_goes_on() {
    for keys in ["", "\ncarrier = \"udp-transport\""] {
        let Some(mut lan) = Lan::new() else { return };
        let before = lan.state(ONE);
        both(&mut lan, &format!("{ENFORCE}{keys}"));
        let processes = lan.processes(ONE);
        take_addresses(&lan);
        lan.ip(ONE, &format!("addr add {}/24 dev wire", NEW[0]));
        lan.ip(ONE, &format!("addr add {}/64 dev wire nodad", NEW[1]));
        until("the new sources", || {
            let routes = routes(&lan);
            NEW.iter().all(|new| routes.contains(&format!("src {new}")))
        });
        // The first host has sent nothing yet but packets without content.
        for new in NEW {
            until(new, || lan.pings(TWO, new));
        }
        assert!(lan.pings(ONE, &Lan::v4(TWO)));
        assert!(lan.pings(ONE, &Lan::v6(TWO)));
        assert_eq!(status(&lan, ONE).0, Some(0));
        assert_eq!(lan.processes(ONE), processes, "{}", lan.log(ONE));
        lan.down(ONE);
        lan.ip(ONE, &format!("addr del {}/24 dev wire", NEW[0]));
        lan.ip(ONE, &format!("addr del {}/64 dev wire", NEW[1]));
        lan.ip(ONE, &format!("addr add {}/24 dev wire", Lan::v4(ONE)));
        lan.ip(ONE, &format!("addr add {}/64 dev wire nodad", Lan::v6(ONE)));
        assert_eq!(lan.state(ONE), before);
    }
}

/// Whoever does not hear of changes looks every ten seconds, so three changes would take more than twenty.
#[test]
fn changes_of_addresses_are_heard_of() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, ENFORCE);
    let (old, new) = (Lan::v6(ONE), NEW[1].to_owned());
    let change = |verb: &str, address: &str| {
        let flags = if verb == "add" { " nodad" } else { "" };
        lan.ip(ONE, &format!("addr {verb} {address}/64 dev wire{flags}"));
    };
    let is_source = |address: &str| {
        let source = format!("src {address} ");
        until(address, || routes(&lan).contains(&source));
    };
    let begin = Instant::now();
    // The host always has an address: without one it is looked at more often.
    change("add", &new);
    change("del", &old);
    is_source(&new);
    change("add", &old);
    is_source(&old);
    change("del", &old);
    is_source(&new);
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
}

#[test]
fn an_address_that_goes_is_said_and_comes_back() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, ENFORCE);
    let before = routes(&lan);
    take_addresses(&lan);
    until("the notice", || status(&lan, ONE).0 == Some(1));
    let (_, said) = status(&lan, ONE);
    let lost = format!(
        "NOT in force: no own address for packets to {}/32 and 1 other",
        Lan::v4(TWO)
    );
    until("both are lost", || status(&lan, ONE).1.starts_with(&lost));
    assert!(said.starts_with("NOT in force: "), "{said}");
    lan.ip(ONE, &format!("addr add {}/24 dev wire", Lan::v4(ONE)));
    lan.ip(ONE, &format!("addr add {}/64 dev wire nodad", Lan::v6(ONE)));
    until("the end of it", || status(&lan, ONE).0 == Some(0));
    assert_eq!(routes(&lan), before);
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
    until("a ping", || lan.pings(ONE, &Lan::v6(TWO)));
    until("the news", || lan.log(ONE).contains("in force again"));
}

/// However many prefixes there are: a crash in the middle is undone, and it takes no long time.
#[test]
fn many_prefixes_are_set_up_at_once_and_undone_after_a_crash() {
    let Some(mut lan) = Lan::new() else { return };
    let before = lan.state(ONE);
    let one = lan.configure(ONE, "", true);
    let config = fs::read_to_string(&one).unwrap();
    let many: Vec<String> = (0..2_000)
        .map(|n| format!("\"10.{}.{}.0/24\", ", 100 + n / 250, n % 250))
        .collect();
    let many = format!("prefixes = [{}", many.concat());
    fs::write(&one, config.replace("prefixes = [", &many)).unwrap();
    let daemon = lan.start(ONE, &one, &[]);
    let count = |lan: &Lan| {
        // There is no table before its first route.
        let mut ip = lan.within(ONE, "ip");
        let output = ip.args("-4 route show table 4909".split(' ')).output();
        text(&output.unwrap().stdout).lines().count()
    };
    until("the first routes", || count(&lan) > 0);
    lan.kill(daemon);
    lan.down(ONE);
    assert_eq!(lan.state(ONE), before);
    let begin = Instant::now();
    lan.up(ONE, &one, &[]);
    let took = begin.elapsed();
    assert_eq!(count(&lan), 2_001);
    let begin = Instant::now();
    (0..50).for_each(|_| drop(lan.ip(ONE, "link show dev lo")));
    // A program for each prefix would take that and more.
    let programs = begin.elapsed() * (2_000 / 50);
    assert!(
        took < programs / 2,
        "{took:?}, and {programs:?} for programs"
    );
    assert_eq!(status(&lan, ONE).0, Some(0));
    lan.down(ONE);
    assert_eq!(lan.state(ONE), before);
}
