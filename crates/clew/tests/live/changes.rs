//! Files that change while a daemon runs.

use super::hosts::both;
use super::lan::{Lan, ONE, TWO, text, until};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// What the first host's daemon tells its administrator, beside the clock that nothing keeps right here.
fn notices(lan: &Lan) -> Vec<String> {
    let status = lan.status(ONE);
    let notices = status["notices"].as_array().unwrap().iter();
    let texts = notices.map(|notice| {
        assert!(notice["time"].as_u64() > Some(1_000_000_000), "{notice}");
        notice["text"].as_str().unwrap().to_owned()
    });
    texts.filter(|text| !text.contains("clock")).collect()
}

/// Puts a file in the place of the group file, as an administrator does.
fn put(lan: &Lan, from: &str) {
    fs::copy(lan.path(from), lan.path("new.clew")).unwrap();
    fs::rename(lan.path("new.clew"), lan.path("group.clew")).unwrap();
}

/// Neither revives a revoked machine, and a restart does not help.
#[test]
fn an_older_or_foreign_group_file_does_not_count() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, "inbound = \"enforce\"");
    fs::copy(lan.path("group.clew"), lan.path("old.clew")).unwrap();
    let (group, foreign) = (lan.path("acme"), lan.path("foreign"));
    lan.clew(&[
        "group",
        "create",
        foreign.to_str().unwrap(),
        "--name",
        "acme",
    ]);
    lan.clew(&["revoke", group.to_str().unwrap(), "host-0"]);
    lan.publish();
    until("the news", || {
        notices(&lan)
            .iter()
            .any(|text| text.contains("was revoked"))
    });
    until("the news at the other one", || {
        lan.log(TWO).contains("read the files again")
    });
    for (file, said) in [
        (
            "old.clew",
            "this file is older than one read before: it ends with epoch 0",
        ),
        (
            "foreign/public/group.clew",
            "this is another group's file now",
        ),
    ] {
        put(&lan, file);
        until(said, || {
            notices(&lan).iter().any(|text| text.contains(said))
        });
        let again = lan.in_host(ONE, &["reload", &lan.name(ONE)]);
        assert_eq!(again.status.code(), Some(1), "{}", text(&again.stderr));
        let log = lan.log(ONE);
        assert_eq!(log.matches(said).count(), 1, "said once: {log}");
        let trouble = lan.status(ONE)["signer"]["trouble"].to_string();
        assert!(trouble.contains("was revoked"), "{trouble}");
        assert!(!lan.pings(ONE, &Lan::v4(TWO)));
    }
    put(&lan, "old.clew");
    lan.down(TWO);
    let config = lan.path(&format!("{}.toml", lan.name(TWO)));
    let up = lan.in_host(TWO, &["up", config.to_str().unwrap()]);
    let said = text(&up.stderr);
    assert_eq!(up.status.code(), Some(2), "{said}");
    assert!(
        said.contains("this file is older than one read before"),
        "{said}"
    );
    lan.publish();
    until("the newest file", || notices(&lan).len() == 1);
    lan.up(TWO, &config, &[]);
}

/// A peer's group is taken out of the configuration, and comes back with an older file.
#[test]
fn a_group_without_peers_is_remembered() {
    let Some(mut lan) = Lan::new() else { return };
    let other = lan.path("other");
    let other = other.to_str().unwrap();
    let key = lan.path("machine.key");
    lan.clew(&["group", "create", other, "--name", "other"]);
    lan.clew(&["enrol", other, "machine", "-o", key.to_str().unwrap()]);
    let take = |name: &str| {
        fs::copy(lan.path("other/public/group.clew"), lan.path(name)).unwrap();
        fs::set_permissions(lan.path(name), fs::Permissions::from_mode(0o644)).unwrap();
    };
    take("older.clew");
    lan.clew(&["revoke", other, "machine"]);
    take("newer.clew");
    let config = lan.configure(TWO, "inbound = \"enforce\"", false);
    let alone = fs::read_to_string(&config).unwrap();
    let with = |file: &str| {
        let peer = format!("[[peer]]\nprefixes = [\"10.99.0.0/24\"]\ngroup = \"{file}\"\n");
        fs::write(&config, format!("{alone}{peer}")).unwrap();
    };
    with("newer.clew");
    lan.up(TWO, &config, &[]);
    lan.down(TWO);
    fs::write(&config, &alone).unwrap();
    lan.up(TWO, &config, &[]);
    lan.down(TWO);
    with("older.clew");
    let up = lan.in_host(TWO, &["up", config.to_str().unwrap()]);
    let said = text(&up.stderr);
    assert_eq!(up.status.code(), Some(2), "{said}");
    let older = "older.clew: this file is older than one read before";
    assert!(said.contains(older), "{said}");
    with("newer.clew");
    lan.up(TWO, &config, &[]);
}

/// Starts both daemons. The first one's group file stays as it is when another is published. Returns the second
/// one's configuration.
fn up_with_group_files_of_their_own(lan: &mut Lan, grace: u64) -> PathBuf {
    fs::copy(lan.path("group.clew"), lan.path("one.clew")).unwrap();
    let one = lan.configure(ONE, "", true);
    let config = fs::read_to_string(&one).unwrap();
    fs::write(&one, config.replace("group.clew", "one.clew")).unwrap();
    let keys = format!("inbound = \"enforce\"\ngrace = {grace}");
    let two = lan.configure(TWO, &keys, false);
    lan.up(TWO, &two, &[]);
    lan.up(ONE, &one, &[]);
    until("a ping", || lan.pings(ONE, &Lan::v4(TWO)));
    two
}

/// A host whose group file was not replaced signs on in its old epoch, and others decide for how long.
#[test]
fn the_grace_of_an_epoch_is_chosen_and_changes_with_a_reload() {
    let Some(mut lan) = Lan::new() else { return };
    let two = up_with_group_files_of_their_own(&mut lan, 86_400);
    let group = lan.path("acme");
    lan.clew(&["revoke", group.to_str().unwrap(), "host-0"]);
    lan.publish();
    until("the news", || lan.log(TWO).contains("read the files again"));
    // In half a minute what the second host sends will be of an epoch that the first one does not know.
    let heard = |lan: &Lan| {
        let before = lan.status(TWO)["inbound"]["packets"].as_u64();
        lan.pings(ONE, &Lan::v4(TWO));
        lan.status(TWO)["inbound"]["packets"].as_u64() > before
    };
    until("the grace", || heard(&lan));
    let config = fs::read_to_string(&two).unwrap();
    fs::write(&two, config.replace("86400", "0")).unwrap();
    let done = lan.in_host(TWO, &["reload", &lan.name(TWO)]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    until("the end", || !heard(&lan));
    let verdicts = &lan.status(TWO)["inbound"]["verdicts"];
    assert!(verdicts["epoch-over"].as_u64() > Some(0), "{verdicts}");
}

/// A revocation reaches one host before the other: that goes on in the old epoch for a while.
#[test]
fn a_group_file_that_comes_later_costs_no_packet() {
    let Some(mut lan) = Lan::new() else { return };
    let group = lan.path("acme");
    let group = group.to_str().unwrap();
    let other = lan.path("other.key");
    lan.clew(&["enrol", group, "other", "-o", other.to_str().unwrap()]);
    let two = up_with_group_files_of_their_own(&mut lan, 600);
    lan.clew(&["revoke", group, "other"]);
    lan.publish();
    until("the news", || lan.log(TWO).contains("read the files again"));
    let unknown = || lan.status(ONE)["inbound"]["verdicts"]["unknown-epoch"].as_u64();
    assert_eq!(lan.status(TWO)["signer"]["epoch"], 0);
    assert!(lan.pings(ONE, &Lan::v4(TWO)) && lan.pings(TWO, &Lan::v4(ONE)));
    assert_eq!(unknown(), None);
    // Without a grace nobody waits.
    let config = fs::read_to_string(&two).unwrap();
    fs::write(&two, config.replace("600", "0")).unwrap();
    let done = lan.in_host(TWO, &["reload", &lan.name(TWO)]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    until("the new epoch", || lan.status(TWO)["signer"]["epoch"] == 1);
    assert!(!lan.pings(TWO, &Lan::v4(ONE)));
    assert!(unknown() > Some(0));
}

/// Whether a page of the first host's endpoint says yes.
fn page(lan: &Lan, path: &str) -> bool {
    let program = format!(
        "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:9909/{path}', timeout=10)"
    );
    let output = lan.python(ONE, &program).wait_with_output().unwrap();
    output.status.success()
}

#[test]
fn a_revoked_machine_is_not_started_unless_it_is_asked_for() {
    let Some(mut lan) = Lan::new() else { return };
    let group = lan.path("acme");
    let config = lan.configure(ONE, "metrics = \"127.0.0.1:9909\"", true);
    let path = config.to_str().unwrap();
    let fine = lan.in_host(ONE, &["up", "--check", path]);
    assert!(fine.status.success(), "{}", text(&fine.stderr));
    lan.clew(&["revoke", group.to_str().unwrap(), "host-0"]);
    lan.publish();
    let before = lan.state(ONE);
    for flags in [&["up", "--check", path][..], &["up", path]] {
        let output = lan.in_host(ONE, flags);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{flags:?}: {said}");
        assert!(
            said.contains("machine host-0 was revoked in epoch 1"),
            "{said}"
        );
        assert!(said.contains("get a new key"), "{said}");
    }
    assert_eq!(lan.state(ONE), before);
    lan.up(ONE, &config, &["--receive-only"]);
    until("a page", || page(&lan, "healthz"));
    assert!(!page(&lan, "readyz"), "it cannot sign");
}

#[test]
fn programs_are_told_in_json_that_no_daemon_answers() {
    let Some(mut lan) = Lan::new() else { return };
    let name = lan.name(ONE);
    let told = |lan: &Lan| {
        let output = lan.in_host(ONE, &["status", &name, "--json"]);
        assert_eq!(output.status.code(), Some(1));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let absent = told(&lan);
    assert_eq!(
        (&absent["running"], &absent["set_up"]),
        (&false.into(), &false.into())
    );
    assert!(
        absent["error"].as_str().unwrap().contains("is not up"),
        "{absent}"
    );
    let config = lan.configure(ONE, "inbound = \"enforce\"", true);
    lan.up(ONE, &config, &[]);
    assert_eq!(lan.status(ONE)["running"], true);
    for process in lan.processes(ONE) {
        let process = nix::unistd::Pid::from_raw(process);
        nix::sys::signal::kill(process, nix::sys::signal::Signal::SIGKILL).unwrap();
    }
    until("the end", || {
        let output = lan.in_host(ONE, &["status", &name, "--json"]);
        !output.status.success()
    });
    let dead = told(&lan);
    assert_eq!(
        (&dead["running"], &dead["set_up"]),
        (&false.into(), &true.into())
    );
}

#[test]
fn a_revoked_machine_is_refused_as_soon_as_the_group_file_says_so() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, "inbound = \"enforce\"");
    let group = lan.path("acme");
    lan.clew(&["revoke", group.to_str().unwrap(), "host-0"]);
    lan.publish();
    until("the news at the machine itself", || {
        lan.status(ONE)["signer"]["trouble"]
            .as_str()
            .is_some_and(|why| why.contains("revoked"))
    });
    until("silence", || !lan.pings(ONE, &Lan::v4(TWO)));
    let log = lan.log(ONE);
    assert_eq!(
        log.matches("nothing is signed: ").count(),
        1,
        "said once: {log}"
    );
}

#[test]
fn a_bad_file_keeps_the_old_one_and_is_named_once() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, "");
    let path = lan.path(&format!("{}.toml", lan.name(ONE)));
    let good = fs::read_to_string(&path).unwrap();
    let reload = |lan: &Lan| lan.in_host(ONE, &["reload", &lan.name(ONE)]);
    for (bad, said) in [
        (format!("nane = 1\n{good}"), "unknown field `nane`"),
        (
            good.replace("\"10.8.1.2/32\", ", ""),
            "prefixes changed: that needs clew down and clew up",
        ),
        (
            good.replace("endpoint = \"10.8.1.2\"", "endpoint = \"10.8.1.1\""),
            "endpoint 10.8.1.1:4909: 10.8.1.1 is this host's own address",
        ),
        (
            good.replace("0.key", "missing.key"),
            "missing.key: file does not exist",
        ),
    ] {
        fs::write(&path, bad).unwrap();
        for _ in 0..2 {
            let output = reload(&lan);
            let stderr = text(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{stderr}");
            assert!(stderr.contains(said), "{stderr}");
        }
        assert!(lan.pings(ONE, &Lan::v4(TWO)), "the old one stays in force");
        let log = lan.log(ONE);
        assert_eq!(log.matches(said).count(), 1, "said once: {log}");
    }
    // A data plane looks at its files each second.
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert_eq!(notices(&lan).len(), 1, "the last one counts");
    assert!(!lan.log(ONE).contains("read the files again"));
    fs::write(&path, &good).unwrap();
    assert!(reload(&lan).status.success());
    assert_eq!(notices(&lan), [""; 0], "it is over");
}

/// Pings go on while all files are read again, by SIGHUP.
#[test]
fn a_reload_loses_no_packet() {
    let Some(mut lan) = Lan::new() else { return };
    both(&mut lan, "inbound = \"enforce\"");
    let mut ping = lan.within(ONE, "ping");
    let ping = ping.args(["-q", "-c", "100", "-i", "0.03", "-W", "10", &Lan::v4(TWO)]);
    let ping = ping.stdout(std::process::Stdio::piped()).spawn().unwrap();
    for _ in 0..5 {
        let seen = lan.log(ONE).matches("read the files again").count();
        let [supervisor, _] = lan.processes(ONE);
        nix::sys::signal::kill(
            nix::unistd::Pid::from_raw(supervisor),
            nix::sys::signal::Signal::SIGHUP,
        )
        .unwrap();
        until("a reload", || {
            lan.log(ONE).matches("read the files again").count() > seen
        });
    }
    let output = ping.wait_with_output().unwrap();
    let said = text(&output.stdout);
    assert!(said.contains("100 received"), "{said}");
}
