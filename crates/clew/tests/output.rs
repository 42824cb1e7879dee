//! Outputs from outside: whole or not at all, and never over something.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use clew::output::{Output, OutputError, open_input};
use clew_capture::Sink;
use clew_keys::files::{IfExists, write_atomically};
use tempfile::TempDir;

struct Folder {
    dir: TempDir,
    input: PathBuf,
}

fn folder() -> Folder {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let input = dir.path().join("in.pcap");
    fs::write(&input, "input").expect("a file");
    Folder { dir, input }
}

impl Folder {
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir.path()).expect("a folder").flatten();
        let mut names: Vec<_> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    fn create(&self, name: &str, force: bool) -> Result<Output, OutputError> {
        Output::create(&self.path(name), &self.input, force)
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("a file").permissions().mode() & 0o777
}

#[test]
fn appears_whole_when_committed() {
    let folder = folder();
    let mut output = folder.create("out.pcap", false).unwrap();
    output.write_all(b"0123456789").unwrap();
    assert!(output.can_patch());
    output.patch(2, b"AB").unwrap();
    output.write_all(b"end").unwrap();
    let names = folder.names();
    assert!(
        names[1].starts_with("out.pcap.clew-") && names[1].ends_with(".partial"),
        "{names:?}"
    );
    output.commit().unwrap();
    assert_eq!(folder.names(), ["in.pcap", "out.pcap"]);
    assert_eq!(fs::read(folder.path("out.pcap")).unwrap(), b"01AB456789end");
}

#[test]
fn disappears_when_dropped() {
    let folder = folder();
    let mut output = folder.create("out.pcap", false).unwrap();
    output.write_all(b"half").unwrap();
    drop(output);
    assert_eq!(folder.names(), ["in.pcap"]);
}

#[test]
fn refuses_to_replace_unless_forced() {
    let folder = folder();
    fs::write(folder.path("old"), "old").unwrap();
    let refused = folder.create("old", false).err().unwrap();
    assert!(refused.to_string().ends_with("old: already exists"));
    let mut output = folder.create("old", true).unwrap();
    output.write_all(b"new").unwrap();
    assert_eq!(fs::read(folder.path("old")).unwrap(), b"old");
    output.commit().unwrap();
    assert_eq!(fs::read(folder.path("old")).unwrap(), b"new");
}

#[test]
fn refuses_a_file_that_appeared_meanwhile() {
    let folder = folder();
    let output = folder.create("late", false).unwrap();
    fs::write(folder.path("late"), "someone else's").unwrap();
    assert!(matches!(output.commit(), Err(OutputError::Exists(_))));
    assert_eq!(fs::read(folder.path("late")).unwrap(), b"someone else's");
    assert_eq!(folder.names(), ["in.pcap", "late"]);
}

#[test]
fn refuses_the_input_under_any_name() {
    let folder = folder();
    symlink(&folder.input, folder.path("link")).unwrap();
    fs::hard_link(&folder.input, folder.path("hard")).unwrap();
    for name in ["in.pcap", "link", "hard", "../../proc/self/cwd"] {
        let refused = folder.create(name, true);
        assert_eq!(
            matches!(refused, Err(OutputError::IsInput(_))),
            !name.starts_with("../")
        );
    }
    assert_eq!(fs::read(&folder.input).unwrap(), b"input");
}

#[test]
fn a_link_stays_a_link() {
    let folder = folder();
    fs::write(folder.path("file"), "old").unwrap();
    symlink(folder.path("file"), folder.path("link")).unwrap();
    folder.create("link", true).unwrap().commit().unwrap();
    assert!(folder.path("link").is_symlink());
    assert_eq!(fs::read(folder.path("file")).unwrap(), b"");
}

#[test]
fn permissions_are_the_inputs_or_those_of_the_file_replaced() {
    let folder = folder();
    fs::set_permissions(&folder.input, Permissions::from_mode(0o600)).unwrap();
    folder.create("new", false).unwrap().commit().unwrap();
    assert_eq!(mode(&folder.path("new")), 0o600);
    fs::set_permissions(folder.path("new"), Permissions::from_mode(0o640)).unwrap();
    folder.create("new", true).unwrap().commit().unwrap();
    assert_eq!(mode(&folder.path("new")), 0o640);
}

#[test]
fn devices_are_streams() {
    let folder = folder();
    let mut output = Output::create(Path::new("/dev/null"), &folder.input, false).unwrap();
    assert!(!output.can_patch());
    output.write_all(b"gone").unwrap();
    output.commit().unwrap();
    assert!(fs::metadata("/dev/null").unwrap().permissions().mode() & 0o666 == 0o666);
}

#[test]
fn a_full_disk_is_an_error() {
    let folder = folder();
    let mut output = Output::create(Path::new("/dev/full"), &folder.input, false).unwrap();
    output.write_all(b"does not fit").unwrap();
    let error = output.commit().err().unwrap().to_string();
    assert!(
        error.starts_with("/dev/full: cannot write: No space left"),
        "{error}"
    );
}

#[test]
fn a_missing_folder_is_an_error() {
    let error = folder()
        .create("nowhere/out", false)
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("cannot write") && error.contains("nowhere/out"),
        "{error}"
    );
}

#[test]
fn small_files_are_private_from_the_start() {
    let folder = folder();
    let path = folder.path("machine.key");
    write_atomically(&path, b"secret", 0o600, IfExists::Refuse).unwrap();
    assert_eq!(
        (mode(&path), fs::read(&path).unwrap()),
        (0o600, b"secret".to_vec())
    );
    let refused = write_atomically(&path, b"other", 0o600, IfExists::Refuse);
    assert_eq!(
        refused.unwrap_err().kind(),
        std::io::ErrorKind::AlreadyExists
    );
    write_atomically(&path, b"next", 0o600, IfExists::Replace).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"next");
    assert_eq!(folder.names(), ["in.pcap", "machine.key"]);
}

#[test]
fn inputs() {
    let folder = folder();
    let mut text = String::new();
    open_input(&folder.input)
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert_eq!(text, "input");
    assert!(open_input(&folder.path("nothing")).is_err());
    assert!(open_input(folder.dir.path()).is_err());
}
