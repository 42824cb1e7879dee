//! Key and group files of a daemon.

use super::memory::Memory;
use crate::clock;
use crate::exposure::exposed_to_others_than;
use crate::failure::Failure;
use crate::groups::{check, read_group_file};
use crate::secrets::Unlock;
use clew_engine::Keyring;
use clew_evidence::GroupFile;
use clew_keys::update::{NoWitnesses, UpdateError, update};
use clew_keys::{MemberKeyFile, TextFile};
use clew_live::config::Config;
use clew_live::daemon::Material;
use clew_live::identity::{Identity, Limit, overlap};
use clew_live::sender::live_policy;
use clew_live::setup::account;
use clew_packet::GroupTag;
use clew_wire::nanos;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Reads all files of a configuration, if none is older than what was read before.
///
/// # Errors
/// One cannot be read or is older, or they do not fit together.
pub fn load(config: &Config, memory: &Memory) -> Result<Material<Arc<Keyring>>, Failure> {
    files(config).try_for_each(refuse_pipe)?;
    let unlock = Unlock {
        unlock_with: config.unlock_with.clone(),
        ..Unlock::default()
    };
    let text = unlock.read_unattended(&config.key)?;
    let key = MemberKeyFile::decode(&text).map_err(|e| Failure::file(&config.key, e))?;
    let groups = Groups::read(config)?;
    let overlap = overlap(config.grace);
    let own = groups.of(&key);
    let (key, limit) = match own {
        Some((path, group)) => follow(key, path, group.clone(), config, overlap)?,
        None => (key, None),
    };
    let policy = live_policy(key.scheme());
    let identity = Identity::new(key, policy, limit).with_overlap(overlap);
    // The first signature is not to wait for it. Trouble is told by whoever signs.
    let _ = identity.prepare(clock::now());
    let tags = groups.tags.clone();
    let keys = groups.keyring()?;
    memory.check(&by_path(config, &tags), &keys)?;
    Ok(Material {
        identity,
        groups: tags,
        keys: Arc::new(keys),
    })
}

/// Warns of a key that others can read than the user of the data plane.
pub fn warn_if_exposed(config: &Config) {
    let reader = account(config).ok().map(|user| user.gid);
    if let Some(advice) = exposed_to_others_than(&config.key, reader) {
        mention!("clew: warning: {advice}");
    }
}

/// The files that a configuration names.
pub fn files(config: &Config) -> impl Iterator<Item = &Path> {
    let secrets = [Some(&config.key), config.unlock_with.as_ref()];
    let groups = config.peers.iter().map(|peer| &peer.group);
    let all = secrets.into_iter().flatten().chain(groups);
    all.map(PathBuf::as_path)
}

/// Refuses what is not a file: whoever opens a pipe waits for another program.
fn refuse_pipe(path: &Path) -> Result<(), Failure> {
    match path.metadata() {
        Ok(is) if !is.is_file() && !is.is_dir() => {
            Err(Failure::file(path, "need a file, have a pipe or a device"))
        }
        _ => Ok(()),
    }
}

/// Reads all files of a configuration that is to be in force, and keeps how new they are.
///
/// # Errors
/// As [`load`].
pub fn take(config: &Config, memory: &Memory) -> Result<Material<Arc<Keyring>>, Failure> {
    let material = load(config, memory)?;
    warn_if_exposed(config);
    memory.take(&by_path(config, &material.groups), &material.keys);
    Ok(material)
}

/// Takes what was read before as what is in force. Returns what keeps how new it is.
///
/// # Errors
/// A group file is older than what another process read since.
pub fn adopt(
    config: &Config,
    memory: &Arc<Memory>,
    material: &Material<Arc<Keyring>>,
) -> Result<impl FnOnce() + Send + 'static, Failure> {
    let (paths, keys) = (
        by_path(config, &material.groups),
        Arc::clone(&material.keys),
    );
    memory.check(&paths, &keys)?;
    let memory = Arc::clone(memory);
    Ok(move || memory.take(&paths, &keys))
}

/// The group of each group file.
fn by_path(config: &Config, tags: &[GroupTag]) -> Vec<(PathBuf, GroupTag)> {
    let paths = config.peers.iter().map(|peer| peer.group.clone());
    paths.zip(tags.iter().copied()).collect()
}

/// The group files, each read once.
struct Groups {
    files: Vec<(PathBuf, GroupFile)>,
    /// The group of each peer.
    tags: Vec<GroupTag>,
}

impl Groups {
    fn read(config: &Config) -> Result<Self, Failure> {
        let mut groups = Self {
            files: Vec::new(),
            tags: Vec::new(),
        };
        for path in config.peers.iter().map(|peer| &peer.group) {
            if !groups.files.iter().any(|(known, _)| known == path) {
                groups.files.push((path.clone(), read_group_file(path)?));
            }
            let file = groups.files.iter().find(|(known, _)| known == path);
            groups.tags.extend(file.map(|(_, group)| group.id().tag()));
        }
        Ok(groups)
    }

    /// The file of the group that a key belongs to.
    fn of(&self, key: &MemberKeyFile) -> Option<(&Path, &GroupFile)> {
        let mut own = self
            .files
            .iter()
            .filter(|(_, group)| group.id() == key.group);
        own.next().map(|(path, group)| (path.as_path(), group))
    }

    fn keyring(self) -> Result<Keyring, Failure> {
        let mut keyring = Keyring::default();
        for (path, group) in self.files {
            keyring
                .add(group)
                .map_err(|error| Failure::file(&path, error))?;
        }
        Ok(keyring)
    }
}

/// Moves a key to the epochs of its group's file, in memory, and says how long it signs. It holds the epoch
/// that was in force an overlap ago, unless only the manager could give it that one again.
fn follow(
    key: MemberKeyFile,
    path: &Path,
    group: GroupFile,
    config: &Config,
    overlap: Duration,
) -> Result<(MemberKeyFile, Option<Limit>), Failure> {
    let group = check(path, group)?;
    let now = clock::now_ns();
    let at = |time| update(&key, &group, time, &mut NoWitnesses);
    let updated = match at(now.saturating_sub(nanos(overlap))) {
        Err(UpdateError::NeedsWitness(_)) => at(now),
        other => other,
    };
    match updated {
        Ok(updated) => {
            let limit = Limit::of(&updated.key, &group, updated.revoked);
            Ok((updated.key, limit))
        }
        Err(UpdateError::Revoked { epoch } | UpdateError::Ended { epoch }) => {
            let limit = Limit::of(&key, &group, Some(epoch));
            Ok((key, limit))
        }
        // It signs as far as it holds epochs.
        Err(UpdateError::NeedsWitness(_) | UpdateError::KeyIsNewer { .. }) => {
            let limit = Limit::of(&key, &group, None);
            Ok((key, limit))
        }
        Err(error) => Err(Failure::file(&config.key, error)),
    }
}
