//! Whose group files a daemon read last, and how new they were, so that no other or older one counts later.
//!
//! A file keeps that over restarts.

use super::lock;
use crate::failure::Failure;
use crate::newest::{Newest, NoSuccessor, follows};
use clew_engine::Keyring;
use clew_group::EpochId;
use clew_live::files;
use clew_live::unkept::{in_the_way, slow, unkept};
use clew_packet::GroupTag;
use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

/// Group, newest epoch, its id, time of the register: as the file keeps it.
type KeptGroup = ([u8; 8], u32, [u8; 32], u64);

/// The file, as JSON.
#[derive(Deserialize)]
#[serde(untagged)]
enum Kept {
    /// Version 2.
    All(KeptAll),
    /// Version 1 did not know whose file each path was.
    Groups(Vec<KeptGroup>),
}

#[derive(Serialize, Deserialize)]
struct KeptAll {
    version: u32,
    groups: Vec<KeptGroup>,
    /// The group of each file that was in force last.
    files: Vec<(String, [u8; 8])>,
}

/// The format of the file.
const VERSION: u32 = 2;

/// Longest file, in bytes: more than the longest paths of the most peers need.
const FILE_MAX: u64 = 8 << 20;

/// What helps whoever means another group.
const RENAME: &str =
    "if it is meant: another name for the file, and that name as the peer's `group`";

/// How long a write is waited for each time: the control socket is answered in between.
const WRITE_WAIT: Duration = Duration::from_millis(100);

/// Writes the file as a whole.
type Write = fn(&Path, &[u8]) -> io::Result<()>;

/// What is known of group files.
#[derive(Debug)]
pub(super) struct Memory {
    known: Mutex<Known>,
    file: PathBuf,
    write: Write,
}

/// A write that may hang: a thread of its own does it.
#[derive(Debug)]
struct Writing {
    /// Of [`Known::changes`], how many it has.
    changes: u64,
    done: Receiver<io::Result<()>>,
}

#[derive(Debug, Default)]
struct Known {
    /// The files in force, or at the start those of an earlier process, and their groups.
    files: Vec<(String, GroupTag)>,
    /// Whether this process took any files.
    is_running: bool,
    /// Of each group, what was read by this process or an earlier one.
    groups: Vec<Newest>,
    /// How often that changed.
    changes: u64,
    /// Whether the file has all that.
    is_kept: bool,
    writing: Option<Writing>,
}

impl Memory {
    /// Reads what earlier processes knew, if there were any.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(file: PathBuf) -> Result<Self, Failure> {
        let text = match files::read(&file, FILE_MAX) {
            // To another user than the daemon's and root it is as if there were none.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::NotFound | ErrorKind::PermissionDenied
                ) =>
            {
                "[]".into()
            }
            read => read.map_err(|error| unread(&file, &error))?,
        };
        let known = known_of(&text).ok_or_else(|| {
            Failure::file(&file, "damaged: it tells which group files are too old")
                .hint(format!("rm {}", file.display()))
        })?;
        Ok(Self {
            known: Mutex::new(known),
            file,
            // Synced: an empty file after a loss of power would be a damaged one.
            write: |file, content| files::replace_with(file, content, 0o600, true),
        })
    }

    /// Checks that the files in `paths` may take the place of those that were read before: each path has
    /// its group, and no group has another history or is older. Of files of one group the newest counts.
    ///
    /// # Errors
    /// They may not.
    pub fn check(&self, paths: &[(PathBuf, GroupTag)], keys: &Keyring) -> Result<(), Failure> {
        let known = self.known();
        for (path, found) in paths {
            let name = name_of(path);
            let before = known.files.iter().find(|(at, _)| *at == name);
            if let Some((_, group)) = before.filter(|(_, group)| group != found) {
                let (known_group, found) = (*group, *found);
                let other = NoSuccessor::OtherGroup {
                    known: known_group,
                    found,
                };
                return Err(self.hinted(Failure::file(path, other).hint(RENAME), &known));
            }
            let newest = known.groups.iter().find(|newest| newest.group == *found);
            if let Some((newest, group)) = newest.zip(keys.group(*found)) {
                follows(path, newest, group).map_err(|failure| self.hinted(failure, &known))?;
            }
        }
        Ok(())
    }

    /// At the start an administrator may mean it.
    fn hinted(&self, failure: Failure, known: &Known) -> Failure {
        if known.is_running {
            return failure;
        }
        let file = self.file.display();
        let hint = match failure.hint.as_deref() {
            Some(RENAME) => format!("{RENAME}; or rm {file}, which forgets all group files"),
            _ => format!("get the newest group file; if this one is right, rm {file}"),
        };
        failure.hint(hint)
    }

    /// Takes note of the files that are in force now, and keeps that for later processes. If it cannot be kept,
    /// [`Self::keep_again`] says why.
    pub fn take(&self, files: &[(PathBuf, GroupTag)], keys: &Keyring) {
        let newest = |(_, tag): &(PathBuf, GroupTag)| Newest::of(keys.group(*tag)?);
        let mut groups: Vec<Newest> = files.iter().filter_map(newest).collect();
        let mut known = self.known();
        // A peer that is taken out may come back, with an older file.
        let is_gone = |old: &&Newest| groups.iter().all(|new| new.group != old.group);
        let gone: Vec<Newest> = known.groups.iter().filter(is_gone).cloned().collect();
        groups.extend(gone);
        groups.sort_by_key(|newest| newest.group);
        groups.dedup_by_key(|newest| newest.group);
        let mut files: Vec<(String, GroupTag)> = { files.iter() }
            .map(|(path, group)| (name_of(path), *group))
            .collect();
        files.sort();
        files.dedup();
        let is_same = known.groups == groups && known.files == files;
        known.is_kept &= is_same;
        known.changes += u64::from(!is_same);
        known.is_running = true;
        (known.files, known.groups) = (files, groups);
        drop(known);
        // It is tried again every second, and said then.
        let _ = self.keep_again();
    }

    /// Keeps what is not kept yet. Returns why that fails, and what helps.
    pub fn keep_again(&self) -> Option<String> {
        let mut known = self.known();
        while !known.is_kept {
            let writing = known.writing.take().unwrap_or_else(|| self.begin(&known));
            match writing.done.recv_timeout(WRITE_WAIT) {
                Ok(Ok(())) => known.is_kept = writing.changes == known.changes,
                Ok(Err(error)) => return Some(unkept(&self.file, &error)),
                Err(RecvTimeoutError::Timeout) => {
                    known.writing = Some(writing);
                    return Some(slow(&self.file));
                }
                // Its thread is gone without a word.
                Err(RecvTimeoutError::Disconnected) => return Some(slow(&self.file)),
            }
        }
        None
    }

    /// Begins to write what is known now.
    fn begin(&self, known: &Known) -> Writing {
        let (said, done) = channel();
        let (file, write, content) = (self.file.clone(), self.write, content(known));
        let failed = said.clone();
        let write = move || {
            let written = content.and_then(|content| write(&file, &content));
            // Nobody listens if the daemon ends.
            let _ = said.send(written);
        };
        let begun = thread::Builder::new()
            .name("clew-groups".into())
            .spawn(write);
        if let Err(error) = begun {
            let _ = failed.send(Err(error));
        }
        Writing {
            changes: known.changes,
            done,
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        lock(&self.known)
    }
}

/// What the file is to have.
fn content(known: &Known) -> io::Result<Vec<u8>> {
    let kept = |newest: &Newest| -> KeptGroup {
        let Newest {
            group,
            epoch,
            id,
            time,
        } = *newest;
        (group.0, epoch, id.0, time)
    };
    let kept = KeptAll {
        version: VERSION,
        groups: known.groups.iter().map(kept).collect(),
        files: { known.files.iter() }
            .map(|(path, group)| (path.clone(), group.0))
            .collect(),
    };
    Ok(serde_json::to_vec(&kept)?)
}

/// Why a file of the daemon's folder cannot be read, and what helps.
fn unread(file: &Path, error: &io::Error) -> Failure {
    match in_the_way(file) {
        Some(other) => Failure::file(other, "need a folder, have a file")
            .hint(format!("rm {}", other.display())),
        None => Failure::io(file, error),
    }
}

/// What a file says that an earlier process kept. Returns `None` if it is damaged, or of a later version.
fn known_of(text: &str) -> Option<Known> {
    let (groups, files) = match serde_json::from_str(text).ok()? {
        Kept::All(all) if all.version == VERSION => (all.groups, all.files),
        Kept::All(_) => return None,
        Kept::Groups(groups) => (groups, Vec::new()),
    };
    let newest = |(group, epoch, id, time): KeptGroup| Newest {
        group: GroupTag(group),
        epoch,
        id: EpochId(id),
        time,
    };
    let files = files.into_iter();
    Some(Known {
        files: files.map(|(path, group)| (path, GroupTag(group))).collect(),
        is_running: false,
        groups: groups.into_iter().map(newest).collect(),
        changes: 0,
        // It is written at each start: a disk that takes nothing is noticed then.
        is_kept: false,
        writing: None,
    })
}

/// The name of a file wherever the program is started: links are not followed, since they may be changed.
fn name_of(path: &Path) -> String {
    let absolute = std::path::absolute(path);
    let path = absolute.as_deref().unwrap_or(path);
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: GroupTag = GroupTag([1; 8]);
    const TWO: GroupTag = GroupTag([2; 8]);

    struct Scene(tempfile::TempDir);

    impl Scene {
        fn memory(&self) -> Memory {
            Memory::read(self.0.path().join("groups")).unwrap()
        }

        /// A daemon that starts with these files, and ends.
        fn run(&self, files: &[(PathBuf, GroupTag)]) -> Result<(), Failure> {
            let memory = self.memory();
            memory.check(files, &Keyring::default())?;
            memory.take(files, &Keyring::default());
            Ok(())
        }
    }

    fn scene() -> Scene {
        Scene(tempfile::tempdir().unwrap())
    }

    fn path(name: &str) -> PathBuf {
        Path::new("/etc/clew").join(name)
    }

    /// Hangs until the file of the same name with `.go` is there, and writes then.
    fn hanging(file: &Path, content: &[u8]) -> io::Result<()> {
        while !file.with_extension("go").exists() {
            thread::sleep(Duration::from_millis(5));
        }
        files::replace(file, content)
    }

    #[test]
    fn a_disk_that_hangs_stops_nobody() {
        let scene = scene();
        let memory = Memory {
            write: hanging,
            ..scene.memory()
        };
        let began = std::time::Instant::now();
        memory.take(&[(path("a"), ONE)], &Keyring::default());
        let said = memory.keep_again().unwrap();
        assert!(said.contains("the disk is slow"), "{said}");
        // What comes meanwhile is kept, too.
        memory.take(&[(path("b"), TWO)], &Keyring::default());
        assert!(memory.keep_again().is_some());
        assert!(began.elapsed() < Duration::from_secs(5));
        std::fs::write(scene.0.path().join("groups.go"), "").unwrap();
        while memory.keep_again().is_some() {}
        assert_eq!(scene.memory().known().files, [(name_of(&path("b")), TWO)]);
    }

    #[test]
    fn another_group_needs_another_name_also_after_a_restart() {
        let scene = scene();
        scene.run(&[(path("a"), ONE), (path("b"), TWO)]).unwrap();
        let refused = scene
            .run(&[(path("a"), TWO), (path("b"), TWO)])
            .unwrap_err();
        assert_eq!(
            refused.message,
            "/etc/clew/a: this is another group's file now: group 0202020202020202 in the place of \
             group 0101010101010101"
        );
        let hint = refused.hint.unwrap();
        assert!(hint.starts_with(RENAME), "{hint}");
        assert!(hint.contains(&format!("rm {}", scene.0.path().join("groups").display())));
        // The ways out: another name; a start without the peer; to forget all.
        scene.run(&[(path("a2"), TWO), (path("b"), TWO)]).unwrap();
        scene.run(&[(path("a"), TWO)]).unwrap();
        scene.run(&[(path("a"), ONE)]).unwrap_err();
        std::fs::remove_file(scene.0.path().join("groups")).unwrap();
        scene.run(&[(path("a"), ONE)]).unwrap();
    }

    #[test]
    fn while_it_runs_there_is_nothing_to_remove() {
        let scene = scene();
        let memory = scene.memory();
        let keys = Keyring::default();
        memory.take(&[(path("a"), ONE)], &keys);
        let refused = memory.check(&[(path("a"), TWO)], &keys).unwrap_err();
        assert_eq!(refused.hint.as_deref(), Some(RENAME));
    }

    #[test]
    fn what_cannot_be_kept_is_said_until_it_can() {
        let scene = scene();
        let folder = scene.0.path().join("lan");
        let memory = Memory::read(folder.join("groups")).unwrap();
        memory.take(&[], &Keyring::default());
        let said = memory.keep_again().unwrap();
        assert!(
            said.contains("lan: folder does not exist: after a restart"),
            "{said}"
        );
        std::fs::create_dir(&folder).unwrap();
        assert_eq!(memory.keep_again(), None);
        assert!(folder.join("groups").is_file());
    }

    #[test]
    fn a_file_in_the_folder_s_place_is_named() {
        let scene = scene();
        std::fs::write(scene.0.path().join("lan"), "").unwrap();
        let refused = Memory::read(scene.0.path().join("lan/groups")).unwrap_err();
        assert!(
            refused
                .message
                .ends_with("/lan: need a folder, have a file"),
            "{}",
            refused.message
        );
        assert!(refused.hint.unwrap().starts_with("rm /"));
    }

    #[test]
    fn a_file_is_the_same_from_whatever_folder_it_is_named() {
        let scene = scene();
        let here = std::env::current_dir().unwrap();
        scene.run(&[("./a".into(), ONE)]).unwrap();
        scene.run(&[(here.join("a"), TWO)]).unwrap_err();
        scene.run(&[("a".into(), TWO)]).unwrap_err();
    }

    #[test]
    fn a_file_of_before_is_read_and_one_of_later_is_not() {
        let scene = scene();
        let file = scene.0.path().join("groups");
        let text = |id: u8| format!("[[{:?},3,{:?},7]]", [id; 8], [id; 32]);
        std::fs::write(&file, text(1)).unwrap();
        let newest = scene.memory().known().groups.clone();
        assert_eq!((newest.len(), newest[0].epoch, newest[0].time), (1, 3, 7));
        scene.run(&[(path("a"), TWO)]).unwrap();
        assert_eq!(scene.memory().known().groups, newest, "it is not forgotten");
        scene.run(&[(path("a"), ONE)]).unwrap_err();
        for damaged in [
            "",
            "{}",
            "[1]",
            "{\"version\":3,\"groups\":[],\"files\":[]}",
        ] {
            std::fs::write(&file, damaged).unwrap();
            let failure = Memory::read(file.clone()).unwrap_err();
            assert!(failure.message.contains("damaged"), "{}", failure.message);
        }
    }
}
