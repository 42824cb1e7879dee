//! Trustees who make a key are interrupted, impatient, or twice.

use super::folder::Folder;
use std::fs;
use std::os::unix::fs::PermissionsExt;

const PLAN: &str = "acme.plan";

/// Two trustees who have dealt, and a group with their key.
fn dealt() -> Folder {
    let folder = begun();
    for i in ["1", "2"] {
        deal(&folder, i, &format!("{i}.deal"));
    }
    let deals = ["--plan", PLAN, "--deal", "1.deal", "--deal", "2.deal"];
    folder.yes(&[&["group", "create", "acme"][..], &deals].concat());
    folder
}

fn begun() -> Folder {
    let folder = Folder(tempfile::tempdir().unwrap());
    let plan = ["group", "plan", "--name", "acme", "--trustees", "2"];
    folder.yes(&[&plan[..], &["-o", PLAN]].concat());
    for i in ["1", "2"] {
        let (state, hello) = (format!("{i}.state"), format!("{i}.hello"));
        let begin = ["trustee", "begin", PLAN, "--index", i, "--state", &state];
        folder.yes(&[&begin[..], &["-o", &hello]].concat());
    }
    folder
}

fn deal(folder: &Folder, index: &str, output: &str) {
    assert!(dealing(folder, index, output).status().unwrap().success());
}

fn dealing(folder: &Folder, index: &str, output: &str) -> std::process::Command {
    let state = format!("{index}.state");
    let deal = ["trustee", "deal", PLAN, "--state", &state, "-o", output];
    let hellos = ["--hello", "1.hello", "--hello", "2.hello"];
    let mut command = folder.command(&[&deal[..], &hellos].concat());
    command.stdout(std::process::Stdio::null());
    command
}

fn finish(folder: &Folder, output: &str) -> i32 {
    let finish = ["trustee", "finish", PLAN, "--state", "1.state"];
    let deals = ["--deal", "1.deal", "--deal", "2.deal"];
    let group = ["--group", "acme/public/group.clew", "-o", output];
    folder.status(&[&finish[..], &deals, &group].concat())
}

/// The same command again finds its key. A trustee that was handed another group's file finishes again.
#[test]
fn states_stay_until_their_trustees_delete_them() {
    let folder = dealt();
    assert_eq!(finish(&folder, "1.key"), 0);
    let key = fs::read(folder.path("1.key")).unwrap();
    assert_eq!(finish(&folder, "1.key"), 0);
    assert_eq!(fs::read(folder.path("1.key")).unwrap(), key);
    let deals = ["--deal", "1.deal", "--deal", "2.deal"];
    fs::rename(folder.path("acme"), folder.path("first")).unwrap();
    folder.yes(&[&["group", "create", "acme", "--plan", PLAN][..], &deals].concat());
    assert_eq!(finish(&folder, "1.key"), 2, "a key is never overwritten");
    assert_eq!(finish(&folder, "again.key"), 0);
    assert_ne!(fs::read(folder.path("again.key")).unwrap(), key);
}

#[test]
fn keys_are_written_whole_and_over_nothing() {
    let folder = dealt();
    let state = fs::read(folder.path("1.state")).unwrap();
    fs::write(folder.path("other"), "something else").unwrap();
    assert_eq!(finish(&folder, "other"), 2);
    assert_eq!(finish(&folder, "no-such-folder/1.key"), 2);
    assert_eq!(fs::read(folder.path("1.state")).unwrap(), state);
    assert_eq!(fs::read(folder.path("other")).unwrap(), b"something else");
    let mode = |name| {
        fs::metadata(folder.path(name))
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(finish(&folder, "1.key"), 0);
    assert_eq!((mode("2.state"), mode("1.key")), (0o600, 0o600));
}

/// Several runs at one time: one draws, all write the same deal.
#[test]
fn a_deal_is_drawn_once() {
    let folder = begun();
    let outputs: Vec<String> = (0..6).map(|i| format!("{i}.copy")).collect();
    let runs: Vec<_> = outputs
        .iter()
        .map(|output| dealing(&folder, "1", output).spawn().unwrap())
        .collect();
    for mut run in runs {
        assert!(run.wait().unwrap().success());
    }
    let deals: Vec<_> = outputs
        .iter()
        .map(|output| fs::read(folder.path(output)).unwrap())
        .collect();
    assert!(deals.windows(2).all(|pair| pair[0] == pair[1]));
}
