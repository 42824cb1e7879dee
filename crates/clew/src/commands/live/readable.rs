//! Which file the data plane's user cannot read, and what makes it readable.

use crate::exposure::give_to;
use clew_live::config::Config;
use nix::unistd::{Group, User};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What a user needs: to read a file, or to go through a folder.
const READ: u32 = 4;
const SEARCH: u32 = 1;

/// Returns the user, and the command that lets it read the files of a configuration. Returns `None` if it
/// can read them.
pub(super) fn advice(path: &Path, config: &Config, user: &User) -> Option<(String, String)> {
    let secrets = [Some(&config.key), config.unlock_with.as_ref()];
    let secrets = secrets.into_iter().flatten().map(|path| (path, true));
    let groups = config.peers.iter().map(|peer| (&peer.group, false));
    let own = PathBuf::from(path);
    let all = [(&own, false)].into_iter().chain(secrets).chain(groups);
    let mut all = all.filter_map(|(path, is_secret)| repair(path, is_secret, user));
    Some((user.name.clone(), all.next()?))
}

/// Returns what makes a file readable. `None` if it is.
fn repair(path: &Path, is_secret: bool, user: &User) -> Option<String> {
    let absolute = fs::canonicalize(path).ok()?;
    let mut folders: Vec<&Path> = absolute.ancestors().skip(1).collect();
    folders.reverse();
    let shut = |folder: &&Path| fs::metadata(folder).is_ok_and(|is| !may(&is, user, SEARCH));
    if let Some(folder) = folders.into_iter().find(shut) {
        return Some(format!("chmod o+x {}", folder.display()));
    }
    let file = fs::metadata(&absolute).ok()?;
    if may(&file, user, READ) {
        return None;
    }
    let shown = path.display();
    let group = Group::from_gid(user.gid).ok().flatten();
    Some(match (is_secret, group) {
        (false, _) => format!("chmod o+r {shown}"),
        (true, _) if file.uid() == user.uid.as_raw() => format!("chmod 600 {shown}"),
        (true, Some(group)) => give_to(path, &group.name),
        (true, None) => give_to(path, &user.gid.to_string()),
    })
}

fn may(file: &Metadata, user: &User, wanted: u32) -> bool {
    let shift = if file.uid() == user.uid.as_raw() {
        6
    } else if file.gid() == user.gid.as_raw() {
        3
    } else {
        0
    };
    (file.mode() >> shift) & wanted == wanted
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::unistd::{Gid, Uid, geteuid};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_command_names_what_is_shut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.key");
        fs::write(&path, "").unwrap();
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let root = User::from_uid(Uid::from_raw(0)).unwrap().unwrap();
        let other = User {
            name: "clew".into(),
            uid: Uid::from_raw(61_234),
            gid: Gid::from_raw(61_234),
            ..root.clone()
        };
        let own = User {
            uid: geteuid(),
            ..other.clone()
        };
        let shown = path.display();
        mode(folder.path(), 0o700);
        mode(&path, 0o644);
        let wanted = format!("chmod o+x {}", folder.path().display());
        assert_eq!(repair(&path, true, &other), Some(wanted));
        mode(folder.path(), 0o755);
        assert_eq!(repair(&path, true, &other), None);
        mode(&path, 0o600);
        let wanted = format!("chown root:61234 {shown} && chmod 640 {shown}");
        assert_eq!(repair(&path, true, &other), Some(wanted));
        assert_eq!(
            repair(&path, false, &other),
            Some(format!("chmod o+r {shown}"))
        );
        assert_eq!(repair(&path, true, &own), None);
        mode(&path, 0o000);
        assert_eq!(
            repair(&path, true, &own),
            Some(format!("chmod 600 {shown}"))
        );
    }
}
