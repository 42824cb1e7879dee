#[path = "../../../../clew/tests/common/skipped.rs"]
mod skipped;

use super::locks::whole;
use super::*;
use nix::fcntl::{FcntlArg, Flock, FlockArg, fcntl};
use nix::libc;
use nix::sys::signal::Signal;
use nix::unistd::{getgid, getuid};
use skipped::skipped;
use std::fs::{File, OpenOptions};
use std::process::{Command, Stdio};

fn shell(text: &str) -> Action {
    Action::Run {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), text.into()],
        input: String::new(),
    }
}

fn step(action: &str, undo: &str) -> Step {
    Step {
        action: shell(action),
        undo: Some(shell(undo)),
    }
}

struct Scene {
    folder: tempfile::TempDir,
    place: Place,
}

fn scene() -> Scene {
    scene_in(tempfile::tempdir().unwrap())
}

fn scene_in(folder: tempfile::TempDir) -> Scene {
    let place = Place::within(&folder.path().join("run"), "lan");
    Scene { folder, place }
}

impl Scene {
    fn make(&self) -> Result<Made, SetupError> {
        self.place.make(getuid(), getgid())
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn says(&self, word: &str) -> String {
        format!("echo {word} >> {}", self.log().display())
    }

    fn said(&self) -> Vec<String> {
        let text = fs::read_to_string(self.log()).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

#[test]
fn undo_goes_backwards_and_leaves_nothing() {
    let scene = scene();
    let _lock = scene.make().unwrap();
    let steps = ["a", "b", "c"].map(|word| step("true", &scene.says(word)));
    scene.place.carry_out(&steps).unwrap();
    assert!(scene.place.is_set_up());
    scene.place.undo().unwrap();
    assert_eq!(scene.said(), ["c", "b", "a"]);
    assert!(!scene.place.folder.exists());
    scene.place.undo().unwrap();
}

/// A step that fails every second would fill the disk. A line that the disk cut does not spoil the next one.
#[test]
fn the_journal_has_each_undo_once_and_whole() {
    let scene = scene();
    let _lock = scene.make().unwrap();
    let failing = [step("exit 1", &scene.says("a"))];
    for _ in 0..3 {
        scene.place.carry_out(&failing).unwrap_err();
    }
    let path = scene.place.undo_file();
    let journal = fs::read_to_string(&path).unwrap();
    assert_eq!(journal.lines().count(), 1);
    fs::write(&path, &journal[..journal.len() / 2]).unwrap();
    let other = [step("true", &scene.says("b"))];
    scene.place.carry_out(&other).unwrap();
    scene.place.undo().unwrap();
    assert_eq!(
        scene.said(),
        ["b"],
        "the step of the cut line was never begun"
    );
    assert!(!scene.place.folder.exists());
}

/// The undo of the step that failed is on the list, since it may have been half-done.
#[test]
fn a_half_made_set_up_is_undone() {
    let scene = scene();
    let _lock = scene.make().unwrap();
    let steps = [
        step("true", &scene.says("a")),
        step("echo no >&2; exit 1", &scene.says("b")),
        step("true", &scene.says("c")),
    ];
    let failed = scene.place.carry_out(&steps).unwrap_err();
    assert!(failed.to_string().ends_with(": no"), "{failed}");
    scene.place.undo().unwrap();
    assert_eq!(scene.said(), ["b", "a"]);
}

/// The undo is on the disk when the step begins: here the step reads it.
#[test]
fn the_undo_is_written_before_its_step() {
    let scene = scene();
    let _lock = scene.make().unwrap();
    let path = scene.place.undo_file();
    let action = format!("grep -q my-undo {}", path.display());
    scene
        .place
        .carry_out(&[step(&action, "true my-undo")])
        .unwrap();
}

#[test]
fn what_cannot_be_undone_stays_on_the_list() {
    let scene = scene();
    let _lock = scene.make().unwrap();
    let door = scene.folder.path().join("door");
    let stuck = format!(
        "test -e {} || {{ echo stuck >&2; exit 1; }}",
        door.display()
    );
    let steps = [step("true", &scene.says("a")), step("true", &stuck)];
    scene.place.carry_out(&steps).unwrap();
    scene.place.keep(&Kept::default()).unwrap();
    scene.place.keep_force(&Force::default()).unwrap();
    assert!(!scene.place.is_set_up_in_part());
    let failed = scene.place.undo().unwrap_err();
    assert!(failed.to_string().ends_with(": stuck"), "{failed}");
    assert_eq!(scene.said(), ["a"], "the others are undone");
    assert!(scene.place.is_set_up_in_part(), "nobody takes it for whole");
    assert!(scene.place.kept().is_some(), "its table is still known");
    fs::write(door, "").unwrap();
    scene.place.undo().unwrap();
    assert_eq!(scene.said(), ["a"], "and only once");
}

/// A crash cut the last line: its step was never begun.
#[test]
fn a_cut_line_is_not_a_step_and_another_text_is_named() {
    let scene = scene();
    let _lock = scene.make().unwrap();
    scene
        .place
        .carry_out(&[step("true", &scene.says("a"))])
        .unwrap();
    let path = scene.place.undo_file();
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{whole}{{\"run\":")).unwrap();
    scene.place.undo().unwrap();
    assert_eq!(scene.said(), ["a"]);
    let _lock = scene.make().unwrap();
    fs::write(&path, format!("{whole}other\n")).unwrap();
    let refused = scene.place.undo().unwrap_err();
    assert!(
        refused.to_string().ends_with("/undo:2: not an undo step"),
        "{refused}"
    );
    // What can be read is undone, and the rest stays for a program that can read it.
    assert_eq!(scene.said(), ["a", "a"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "other\n");
}

/// Locks of one process do not exclude each other, so another one holds it here.
#[test]
fn a_second_daemon_of_the_name_is_refused_with_the_process_of_the_first() {
    let scene = scene();
    drop(scene.make().unwrap());
    let path = scene.place.supervisor_lock();
    let program = "import fcntl, sys\nf = open(sys.argv[1], 'r+')\n\
                   fcntl.lockf(f, fcntl.LOCK_EX)\nprint('held', flush=True)\nsys.stdin.read()";
    let other = Command::new("python3")
        .args(["-c", program])
        .arg(&path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut other) = other else {
        return skipped("python3");
    };
    let mut line = [0; 5];
    io::Read::read_exact(other.stdout.as_mut().unwrap(), &mut line).unwrap();
    assert_eq!(scene.place.processes(), [Some(other.id() as i32), None]);
    let refused = scene.make().unwrap_err().to_string();
    assert_eq!(
        refused,
        format!("lan runs already, as process {}", other.id())
    );
    drop(other.stdin.take());
    other.wait().unwrap();
    assert_eq!(scene.place.processes(), [None, None]);
    scene.make().unwrap();
}

/// The lock's file belongs to the user of the data plane, and root sends signals to who holds it.
#[test]
fn a_lock_that_names_no_process_names_none() {
    let scene = scene();
    drop(scene.make().unwrap());
    let path = scene.place.supervisor_lock();
    let file = OpenOptions::new().write(true).open(path).unwrap();
    fcntl(&file, FcntlArg::F_OFD_SETLK(&whole(libc::F_WRLCK))).unwrap();
    assert_eq!(scene.place.processes(), [None, None]);
}

/// The data plane's user can have a lock name any process, and root sends signals to who holds it. Here the process is
/// of another user than the file.
#[test]
fn a_lock_of_another_user_s_process_names_none() {
    let scene = scene();
    drop(scene.make().unwrap());
    let path = scene.place.daemon_lock();
    let program = "import fcntl, sys\nf = open(sys.argv[1], 'r+')\nfcntl.lockf(f, fcntl.LOCK_EX)\n\
                   print('held', flush=True)\nsys.stdin.read()";
    let mut command = Command::new("python3");
    let command = command.args(["-c", program]).arg(&path);
    let Ok(mut other) = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
        return skipped("python3");
    };
    let mut line = [0; 5];
    io::Read::read_exact(other.stdout.as_mut().unwrap(), &mut line).unwrap();
    let process = other.id() as i32;
    assert_eq!(scene.place.processes(), [None, Some(process)]);
    if getuid().is_root() {
        chown(&path, Some(Uid::from_raw(65_534)), None).unwrap();
        assert_eq!(scene.place.processes(), [None, None]);
        assert!(!scene.place.signal(1, Signal::SIGKILL).unwrap());
        assert_eq!(other.try_wait().unwrap(), None, "it goes on");
        chown(&path, Some(getuid()), None).unwrap();
    }
    assert!(scene.place.signal(1, Signal::SIGKILL).unwrap());
    assert_eq!(other.wait().unwrap().code(), None, "killed");
    assert!(!scene.place.signal(1, Signal::SIGKILL).unwrap());
}

#[test]
fn a_set_up_that_was_left_is_told_with_what_it_was() {
    let scene = scene();
    let made = scene.make().unwrap();
    assert_eq!(made.left, None);
    scene.place.carry_out(&[]).unwrap();
    drop(made);
    assert_eq!(
        scene.make().unwrap().left,
        Some(Kept::default()),
        "nothing is known of it"
    );
    let kept = Kept {
        version: 7,
        fails_closed: true,
        table: "clew_lan".into(),
        ..Kept::default()
    };
    scene.place.keep(&kept).unwrap();
    assert_eq!(scene.make().unwrap().left, Some(kept));
    scene.place.undo().unwrap();
    assert_eq!(scene.make().unwrap().left, None);
}

/// A folder that somebody made counts as no daemon.
#[test]
fn names_are_those_of_daemons() {
    let scene = scene();
    let _lock = scene.make().unwrap();
    let run = scene.folder.path().join("run");
    fs::create_dir(run.join("stray")).unwrap();
    fs::write(run.join("file"), "").unwrap();
    assert_eq!(Place::names_in(&run), ["lan"]);
}

/// Every user can lock the folder of all daemons: it is to be readable.
#[test]
fn nobody_but_root_holds_up_an_undo() {
    let scene = scene();
    let _lock = scene.make().unwrap();
    let run = scene.folder.path().join("run");
    let folder = File::open(&run).unwrap();
    let _others = Flock::lock(folder, FlockArg::LockExclusive).unwrap();
    scene.place.carry_out(&[step("true", "true")]).unwrap();
    let place = scene.place.clone();
    let (done, undone) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(place.undo().is_ok()));
    assert_eq!(undone.recv_timeout(Duration::from_secs(60)), Ok(true));
    let mode = fs::metadata(run.join(".undo-lock")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
}

#[test]
fn two_undo_one_after_the_other_and_none_waits_for_ever() {
    let scene = scene();
    let _lock = scene.make().unwrap();
    let first = scene.place.undo_lock(Duration::ZERO).unwrap();
    assert!(scene.place.undo_lock(Duration::from_millis(100)).is_none());
    drop(first);
    assert!(scene.place.undo_lock(Duration::ZERO).is_some());
}

/// Folders in folders, as whoever has broken into the data plane can make them. They are made from the inside out: a
/// path to the innermost would be too long.
fn nest(within: &Path, depth: usize) {
    let (inner, outer) = (within.join("inner"), within.join("outer"));
    fs::create_dir(&inner).unwrap();
    fs::write(inner.join("deepest"), "").unwrap();
    for _ in 1..depth {
        fs::create_dir(&outer).unwrap();
        fs::write(outer.join("file"), "").unwrap();
        fs::rename(&inner, outer.join("d")).unwrap();
        fs::rename(&outer, &inner).unwrap();
    }
}

#[test]
fn folders_nested_by_the_thousand_are_removed() {
    // As `/run` is, it is no disk: one would take long.
    let memory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let scene = scene_in(memory.unwrap());
    let kept = scene.folder.path().join("kept");
    fs::create_dir(&kept).unwrap();
    fs::write(kept.join("file"), "").unwrap();
    let made = scene.make().unwrap();
    scene.place.carry_out(&[step("true", "true")]).unwrap();
    let daemon = scene.place.folder.join("daemon");
    nest(&daemon, 30_000);
    std::os::unix::fs::symlink(&kept, daemon.join("link")).unwrap();
    // What an earlier removal left.
    fs::create_dir_all(scene.place.folder.join("left-1/one/two")).unwrap();
    fs::write(scene.place.folder.join("left-2"), "").unwrap();
    drop(made);
    scene.place.remove_within(Duration::from_secs(600)).unwrap();
    assert!(!scene.place.folder.exists());
    assert!(kept.join("file").exists(), "links are not followed");
}

/// A removal without end, as if somebody filled the folder again and again.
#[test]
fn what_cannot_be_removed_in_time_is_left_and_nothing_is_set_up() {
    let scene = scene();
    let made = scene.make().unwrap();
    scene.place.carry_out(&[step("true", "true")]).unwrap();
    fs::create_dir(scene.place.folder.join("daemon/control")).unwrap();
    drop(made);
    assert!(scene.place.is_set_up());
    scene.place.remove_within(Duration::ZERO).unwrap();
    assert!(scene.place.folder.exists() && !scene.place.is_set_up());
    scene.make().unwrap();
    scene.place.remove_within(Duration::from_secs(600)).unwrap();
    assert!(!scene.place.folder.exists());
}
