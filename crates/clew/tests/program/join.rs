//! A device joins from its own host: the five files, each command repeated, and what is refused.

use super::Folder;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

const GROUP: [&str; 2] = ["--group", "acme/public/group.clew"];

impl Folder {
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
    let folder = Folder::new();
    folder.invite("far", "invitation");
    for _ in 0..2 {
        folder.round("invitation", "state", "request");
        folder.answer("request", "offer");
        folder.round("offer", "state", "acceptance");
        folder.answer("acceptance", "credential");
    }
    let mode = |name| {
        fs::metadata(folder.path(name))
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(mode("state"), 0o600);
    let state = fs::read(folder.path("state")).unwrap();
    let told = folder.round("credential", "state", "far.key");
    assert!(told.starts_with("far joined, row 1: far.key\n"), "{told}");
    assert_eq!(mode("far.key"), 0o600);
    assert!(
        !folder.path("state").exists(),
        "removed once the key is on disk"
    );
    // As after a crash between the key and the removal of the state.
    let key = fs::read(folder.path("far.key")).unwrap();
    fs::write(folder.path("state"), state).unwrap();
    folder.round("credential", "state", "far.key");
    assert_eq!(fs::read(folder.path("far.key")).unwrap(), key);
    let (status, said) = folder.no(&join("credential", "state", "far.key"));
    assert!(
        status == 2 && said.contains("state: does not exist"),
        "{said}"
    );
    let list = folder.yes(&["group", "list", "acme"]);
    assert!(
        list.contains("own-host") && list.contains("SHA256:"),
        "{list}"
    );
    assert!(list.contains("issuer-host"), "{list}");
}

#[test]
fn a_key_is_never_overwritten_and_the_state_stays_until_there_is_one() {
    let folder = Folder::new();
    folder.invite("far", "invitation");
    folder.round("invitation", "state", "request");
    folder.answer("request", "offer");
    folder.round("offer", "state", "acceptance");
    folder.answer("acceptance", "credential");
    let other = fs::read(folder.path("web-1.key")).unwrap();
    let (status, said) = folder.no(&join("credential", "state", "web-1.key"));
    assert!(
        status == 2 && said.contains("web-1.key: already exists"),
        "{said}"
    );
    assert_eq!(fs::read(folder.path("web-1.key")).unwrap(), other);
    assert!(folder.path("state").exists());
    folder.round("credential", "state", "far.key");
}

#[test]
fn files_in_the_wrong_hands_are_refused_with_a_hint() {
    let folder = Folder::new();
    folder.invite("one", "one.invitation");
    folder.invite("two", "two.invitation");
    folder.round("one.invitation", "one.state", "one.request");
    let refused = |arguments: &[&str], reason: &str| {
        let (status, said) = folder.no(arguments);
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
    folder.answer("one.request", "one.offer");
    folder.round("two.invitation", "two.state", "two.request");
    refused(
        &join("one.offer", "two.state", "x"),
        "belongs to another join",
    );
    folder.yes(&["group", "create", "other", "--name", "other"]);
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
    folder.round("one.invitation", "thief.state", "thief.request");
    refused(
        &answer("thief.request"),
        "another request already answered this invitation",
    );
    refused(
        &join("one.offer", "thief.state", "x"),
        "the offer does not match this state's request",
    );
    let list = folder.yes(&["group", "list", "acme"]);
    assert!(list.contains("\none: invited at "), "{list}");
    assert!(list.contains("\ntwo: invited at "), "{list}");
    folder.yes(&["enrol", "acme", "two", "--withdraw"]);
    refused(
        &answer("two.request"),
        "this group did not send the invitation, or withdrew it",
    );
    refused(
        &["enrol", "acme", "two", "--withdraw"],
        "machine two does not have an open invitation",
    );
    assert!(!folder.path("x").exists());
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
    let folder = Folder::new();
    folder.invite("far", "invitation");
    let run = || {
        let mut command = folder.command(&join("invitation", "state", "request"));
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
    folder.round("invitation", "state", "request");
    folder.answer("request", "offer");
}

#[test]
fn an_invitation_is_a_file_and_a_second_one_is_warned_of() {
    let folder = Folder::new();
    for more in [&["--invite"][..], &[]] {
        let to_standard_output = [&["enrol", "acme", "far", "-o", "-"], more].concat();
        let (status, said) = folder.no(&to_standard_output);
        assert!(
            status == 2 && said.contains("cannot go to standard output"),
            "{said}"
        );
    }
    assert!(!folder.path("-").exists());
    let invite = |to| {
        folder
            .clew(&["enrol", "acme", "far", "--invite", "-o", to])
            .stderr
    };
    assert_eq!(invite("one"), b"");
    let said = String::from_utf8(invite("two")).unwrap();
    assert!(
        said.starts_with("clew: warning: far already has an open invitation"),
        "{said}"
    );
}

/// What is encrypted when the join begins stays encrypted, the key too.
#[test]
fn a_sealed_join_ends_in_a_sealed_key() {
    let folder = Folder::new();
    fs::write(folder.path("secret"), [7; 32]).unwrap();
    folder.invite("far", "invitation");
    let seal = ["--encrypt-with", "secret"];
    let unlock = ["--unlock-with", "secret"];
    folder.yes(&[&join("invitation", "state", "request")[..], &seal].concat());
    let sealed = |name| {
        let text = fs::read_to_string(folder.path(name)).unwrap();
        text.contains("\nclew-sealed-1 ")
    };
    assert!(sealed("state"));
    folder.answer("request", "offer");
    folder.yes(&[&join("offer", "state", "acceptance")[..], &unlock].concat());
    assert!(sealed("state"));
    folder.answer("acceptance", "credential");
    folder.yes(&[&join("credential", "state", "far.key")[..], &unlock].concat());
    assert!(sealed("far.key"));
}
