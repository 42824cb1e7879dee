//! Key and group files, read at the start and whenever they change.

use crate::config::Config;
use crate::identity::Identity;
use clew_packet::GroupTag;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What a daemon reads from files.
pub struct Material<K> {
    /// What it signs with.
    pub identity: Identity,
    /// What it verifies with.
    pub keys: K,
    /// The group of each peer.
    pub groups: Vec<GroupTag>,
}

/// Reads the files of a configuration, or says in a sentence why that fails.
pub type Load<K> = Box<dyn Fn(&Config) -> Result<Material<K>, String> + Send + Sync>;

/// What was read from files, and how these were then.
pub struct Loaded<K> {
    pub(super) stamps: Stamps,
    pub(super) material: Material<K>,
}

impl<K> Loaded<K> {
    /// Reads the files of a configuration. One that changes meanwhile is read again when a daemon runs.
    ///
    /// # Errors
    /// Those of `load`.
    pub fn read<E>(
        config: &Config,
        load: impl FnOnce(&Config) -> Result<Material<K>, E>,
    ) -> Result<Self, E> {
        let stamps = Stamps::of(config);
        let material = load(config)?;
        Ok(Self { stamps, material })
    }

    /// Returns what was read.
    pub const fn material(&self) -> &Material<K> {
        &self.material
    }
}

/// A file as it was when it was read: another one has another stamp.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    path: PathBuf,
    /// Device, inode, length, and when contents, name, owner or permissions changed. `None` if the file
    /// is missing.
    state: Option<(u64, u64, u64, (i64, i64))>,
}

/// The files that are watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamps(Vec<Stamp>);

impl Stamps {
    /// Looks at key and group files.
    pub fn of(config: &Config) -> Self {
        let groups = config.peers.iter().map(|peer| &peer.group);
        let mut paths: Vec<&PathBuf> = groups.chain([&config.key]).collect();
        paths.sort_unstable();
        paths.dedup();
        Self(paths.into_iter().map(|path| stamp(path)).collect())
    }
}

fn stamp(path: &Path) -> Stamp {
    let state = fs::metadata(path).ok();
    Stamp {
        path: path.to_owned(),
        state: state.map(|is| {
            let changed = (is.ctime(), is.ctime_nsec());
            (is.dev(), is.ino(), is.len(), changed)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn another_file_has_another_stamp() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let text = "key = \"k\"\n[[peer]]\nprefixes = [\"10.0.0.2/32\"]\ngroup = \"g\"\n";
        fs::write(path("lan.toml"), text).unwrap();
        let config = Config::read(&path("lan.toml")).unwrap();
        let missing = Stamps::of(&config);
        fs::write(path("k"), "key").unwrap();
        fs::write(path("g"), "group").unwrap();
        let first = Stamps::of(&config);
        assert_ne!(first, missing);
        assert_eq!(Stamps::of(&config), first);
        // As clew writes files: another one takes the name.
        fs::write(path("new"), "group").unwrap();
        fs::rename(path("new"), path("g")).unwrap();
        let third = Stamps::of(&config);
        assert_ne!(third, first);
        // A daemon that could not read its key can read it now.
        let readable = fs::Permissions::from_mode(0o640);
        // Within one tick of the kernel's clock nothing is seen to change.
        let is_seen = (0..1_000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            fs::set_permissions(path("k"), readable.clone()).unwrap();
            Stamps::of(&config) != third
        });
        assert!(is_seen);
    }
}
