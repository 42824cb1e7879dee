//! Key files that others can read.
//!
//! A key is for its owner, and for one account more: a daemon whose group may read it, as `root:clew` 640.
//! Nobody may write it but its owner.

use nix::unistd::{Gid, Group, Uid, User};
use std::fs::Metadata;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// The group may read, and the owner anything.
const GROUP_READS: u32 = 0o040;

/// The account of daemons, unless they are given another one.
const DAEMON: &str = "clew";

/// Returns the command that gives a key file to a daemon of this group.
pub fn give_to(path: &Path, group: &str) -> String {
    let path = path.display();
    format!("chown root:{group} {path} && chmod 640 {path}")
}

/// Says who else can read a key file, or write it, and what helps. Returns `None` if nobody can but its owner
/// and `reader`, which is the group of the daemon that uses it. Without a reader that is the group of any one
/// account.
pub fn exposed_to_others_than(path: &Path, reader: Option<Gid>) -> Option<String> {
    let metadata = path.metadata().ok()?;
    let exposed = metadata.permissions().mode() & 0o077;
    let group = Gid::from_raw(metadata.gid());
    let account = account_of(group);
    let is_readers = match reader {
        Some(reader) => reader == group,
        None => account.is_some(),
    };
    if exposed & !GROUP_READS == 0 && (exposed == 0 || is_readers) {
        return None;
    }
    let name = |group: Gid| Group::from_gid(group).ok().flatten();
    let remedy = match reader.and_then(name) {
        Some(group) => give_to(path, &group.name),
        None => remedy(path, &metadata, account),
    };
    let path = path.display();
    Some(format!("{path}: other users can read it: run {remedy}"))
}

/// What helps if nobody knows who is to read a file.
fn remedy(path: &Path, metadata: &Metadata, account: Option<User>) -> String {
    let owner = Uid::from_raw(metadata.uid());
    let private = format!("chmod 600 {}", path.display());
    match account {
        // A daemon's key, most likely: it is not to lose it.
        Some(reader) if reader.uid != owner => give_to(path, &reader.name),
        _ if owner.is_root() && User::from_name(DAEMON).ok().flatten().is_some() => {
            format!("{private}, or for clew up {}", give_to(path, DAEMON))
        }
        _ => private,
    }
}

/// The account that a group is for: it has its name and no other members.
fn account_of(group: Gid) -> Option<User> {
    let group = Group::from_gid(group).ok().flatten()?;
    let user = User::from_name(&group.name).ok().flatten()?;
    let is_alone = group.mem.iter().all(|member| *member == user.name);
    (is_alone && user.gid == group.gid).then_some(user)
}

/// Warns of a key file that others can read.
pub fn warn_if_exposed(path: &Path) {
    if let Some(advice) = exposed_to_others_than(path, None) {
        mention!("clew: warning: {advice}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::unistd::chown;

    fn file(mode: u32) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(file.path(), permissions).expect("set");
        file
    }

    /// The daemon's group may read its key, and nobody else.
    #[test]
    fn a_key_is_for_its_owner_and_the_daemon_s_group() {
        let own = file(0o600).as_file().metadata().expect("its owner").gid();
        let (own, other) = (Gid::from_raw(own), Gid::from_raw(own + 1));
        for (mode, reader, is_fine) in [
            (0o600, None, true),
            (0o600, Some(other), true),
            (0o640, Some(own), true),
            (0o640, Some(other), false),
            (0o660, Some(own), false),
            (0o660, None, false),
            (0o644, Some(own), false),
            (0o644, None, false),
        ] {
            let advice = exposed_to_others_than(file(mode).path(), reader);
            assert_eq!(advice.is_none(), is_fine, "{mode:o} {reader:?} {advice:?}");
        }
        let group = Group::from_gid(own).expect("groups").expect("one's own");
        let advice = exposed_to_others_than(file(0o644).path(), Some(own)).expect("a warning");
        let wanted = format!("chown root:{} ", group.name);
        assert!(advice.contains(&wanted), "{advice}");
        assert!(advice.contains("chmod 640"), "{advice}");
    }

    /// Commands that do not know the daemon do not take its key away.
    #[test]
    fn a_key_of_one_other_account_is_left_to_it() {
        let Some(other) = ["clew", "www-data", "games", "daemon", "bin"]
            .into_iter()
            .filter_map(|name| User::from_name(name).ok().flatten())
            .find(|user| account_of(user.gid).is_some())
        else {
            return;
        };
        let given = |mode| {
            let file = file(mode);
            chown(file.path(), None, Some(other.gid)).map(|()| file)
        };
        // Only root gives files away.
        let Ok(fine) = given(0o640) else { return };
        assert_eq!(exposed_to_others_than(fine.path(), None), None);
        let bad = given(0o644).expect("as before");
        let advice = exposed_to_others_than(bad.path(), None).expect("a warning");
        assert!(
            advice.ends_with(&give_to(bad.path(), &other.name)),
            "{advice}"
        );
    }
}
