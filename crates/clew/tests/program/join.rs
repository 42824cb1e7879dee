//! A device joins from its own host: the five files, each command repeated, and what is refused.

use super::Desk;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

const GROUP: [&str; 2] = ["--group", "acme/public/group.clew"];

impl Desk {
    fn invite(&self, machine: &str, to: &str) {
        self.yes(&["enrol", "acme", machine, "--invite", "-o", to]);
    }

    /// A round of the device with its state in `state`.
    fn round(&self, file: &str, state: &str, to: &str) -> String {
        self.yes(&join(file, state, to))
    }

    fn answer(&self, file: &str, to: &str) -> String {
        self.yes(&["enrol", "acme", "--answer", file, "-o", to])
    }
}

fn join<'a>(file: &'a str, state: &'a str, to: &'a str) -> Vec<&'a str> {
    let of = ["join", file, "--state", state, "-o", to];
    [&of[..], &GROUP].concat()
}

#[test]
fn five_files_make_a_key_and_each_command_can_be_repeated() {
    let desk = Desk::new();
    desk.invite("far", "invitation");
    for _ in 0..2 {
        desk.round("invitation", "state", "request");
        desk.answer("request", "offer");
        desk.round("offer", "state", "acceptance");
        desk.answer("acceptance", "credential");
    }
    let mode = |name| fs::metadata(desk.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("state"), 0o600);
    let state = fs::read(desk.path("state")).unwrap();
    let told = desk.round("credential", "state", "far.key");
    assert!(told.starts_with("far joined, row 1: far.key\n"), "{told}");
    assert_eq!(mode("far.key"), 0o600);
    assert!(
        !desk.path("state").exists(),
        "removed once the key is on disk"
    );
    // As after a crash between the key and the removal of the state.
    let key = fs::read(desk.path("far.key")).unwrap();
    fs::write(desk.path("state"), state).unwrap();
    desk.round("credential", "state", "far.key");
    assert_eq!(fs::read(desk.path("far.key")).unwrap(), key);
    let (status, said) = desk.no(&join("credential", "state", "far.key"));
    assert!(
        status == 2 && said.contains("state: does not exist"),
        "{said}"
    );
    let list = desk.yes(&["group", "list", "acme"]);
    assert!(
        list.contains("own-host") && list.contains("SHA256:"),
        "{list}"
    );
    assert!(list.contains("issuer-host"), "{list}");
}

#[test]
fn a_key_is_never_overwritten_and_the_state_stays_until_there_is_one() {
    let desk = Desk::new();
    desk.invite("far", "invitation");
    desk.round("invitation", "state", "request");
    desk.answer("request", "offer");
    desk.round("offer", "state", "acceptance");
    desk.answer("acceptance", "credential");
    let other = fs::read(desk.path("web-1.key")).unwrap();
    let (status, said) = desk.no(&join("credential", "state", "web-1.key"));
    assert!(
        status == 2 && said.contains("web-1.key: already exists"),
        "{said}"
    );
    assert_eq!(fs::read(desk.path("web-1.key")).unwrap(), other);
    assert!(desk.path("state").exists());
    desk.round("credential", "state", "far.key");
}

#[test]
fn files_in_the_wrong_hands_are_refused_with_a_hint() {
    let desk = Desk::new();
    desk.invite("one", "one.invitation");
    desk.invite("two", "two.invitation");
    desk.round("one.invitation", "one.state", "one.request");
    let refused = |arguments: &[&str], reason: &str| {
        let (status, said) = desk.no(arguments);
        assert!(
            status == 2 && said.contains(reason),
            "{arguments:?}: {said}"
        );
    };
    refused(
        &join("two.invitation", "one.state", "x"),
        "belongs to another join",
    );
    refused(
        &join("one.request", "one.state", "x"),
        "this file is for the issuer",
    );
    refused(&join("web-1.key", "one.state", "x"), "not a file of a join");
    let answer = |file| ["enrol", "acme", "--answer", file, "-o", "x"];
    refused(
        &answer("one.invitation"),
        "not a device's request or acceptance",
    );
    desk.answer("one.request", "one.offer");
    desk.round("two.invitation", "two.state", "two.request");
    refused(
        &join("one.offer", "two.state", "x"),
        "belongs to another join",
    );
    desk.yes(&["group", "create", "other", "--name", "other"]);
    refused(
        &["enrol", "other", "--answer", "one.request", "-o", "x"],
        "this group did not send the invitation, or withdrew it",
    );
    let elsewhere = ["join", "one.invitation", "--state", "s", "-o", "x"];
    let other = ["--group", "other/public/group.clew"];
    refused(
        &[&elsewhere[..], &other].concat(),
        "invitation belongs to group",
    );
    // Somebody answers the invitation again, from another device.
    desk.round("one.invitation", "thief.state", "thief.request");
    refused(
        &answer("thief.request"),
        "another request already answered this invitation",
    );
    refused(
        &join("one.offer", "thief.state", "x"),
        "the offer does not match this state's request",
    );
    let list = desk.yes(&["group", "list", "acme"]);
    assert!(list.contains("\none: invited at "), "{list}");
    assert!(list.contains("\ntwo: invited at "), "{list}");
    desk.yes(&["enrol", "acme", "two", "--withdraw"]);
    refused(
        &answer("two.request"),
        "this group did not send the invitation, or withdrew it",
    );
    refused(
        &["enrol", "acme", "two", "--withdraw"],
        "machine two does not have an open invitation",
    );
    assert!(!desk.path("x").exists());
    refused(
        &["enrol", "acme", "one", "--answer", "one.request", "-o", "x"],
        "cannot be used with",
    );
    refused(&["enrol", "acme", "-o", "x"], "required");
}

/// Two runs of the first round at one time make one state: whoever comes second says so, or gives the
/// same request.
#[test]
fn runs_at_one_time_make_one_request() {
    let desk = Desk::new();
    desk.invite("far", "invitation");
    let run = || {
        let mut command = desk.command(&join("invitation", "state", "request"));
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let runs: Vec<_> = (0..8).map(|_| run()).collect();
    for run in runs {
        let output = run.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            said.is_empty()
                || said.contains(
                    "state: another run of this join is in progress or finished\nhint: run the"
                ),
            "{said}"
        );
    }
    desk.round("invitation", "state", "request");
    desk.answer("request", "offer");
}

#[test]
fn an_invitation_is_a_file_and_a_second_one_is_warned_of() {
    let desk = Desk::new();
    for more in [&["--invite"][..], &[]] {
        let to_standard_output = [&["enrol", "acme", "far", "-o", "-"], more].concat();
        let (status, said) = desk.no(&to_standard_output);
        assert!(
            status == 2 && said.contains("cannot go to standard output"),
            "{said}"
        );
    }
    assert!(!desk.path("-").exists());
    let invite = |to| {
        desk.clew(&["enrol", "acme", "far", "--invite", "-o", to])
            .stderr
    };
    assert_eq!(invite("one"), b"");
    let said = String::from_utf8(invite("two")).unwrap();
    assert!(
        said.starts_with("clew: warning: far has an open invitation already"),
        "{said}"
    );
}

/// What is encrypted when the join begins stays encrypted, the key too.
#[test]
fn a_sealed_join_ends_in_a_sealed_key() {
    let desk = Desk::new();
    fs::write(desk.path("secret"), [7; 32]).unwrap();
    desk.invite("far", "invitation");
    let seal = ["--encrypt-with", "secret"];
    let unlock = ["--unlock-with", "secret"];
    desk.yes(&[&join("invitation", "state", "request")[..], &seal].concat());
    let sealed = |name| {
        let text = fs::read_to_string(desk.path(name)).unwrap();
        text.contains("\nclew-sealed-1 ")
    };
    assert!(sealed("state"));
    desk.answer("request", "offer");
    desk.yes(&[&join("offer", "state", "acceptance")[..], &unlock].concat());
    assert!(sealed("state"));
    desk.answer("acceptance", "credential");
    desk.yes(&[&join("credential", "state", "far.key")[..], &unlock].concat());
    assert!(sealed("far.key"));
}
