//! Key files that others can read.

use nix::unistd::{Gid, Group};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// Who else than its owner and `reader` can read a key file, or write it, and what helps.
pub fn exposed_to_others_than(path: &Path, reader: Option<Gid>) -> Option<String> {
    let metadata = path.metadata().ok()?;
    let exposed = metadata.permissions().mode() & 0o077;
    let is_readers = reader.is_some_and(|group| group.as_raw() == metadata.gid());
    if exposed & !0o040 == 0 && (exposed == 0 || is_readers) {
        return None;
    }
    let name = |group: Gid| Group::from_gid(group).ok().flatten();
    let path = path.display();
    Some(match reader.and_then(name) {
        Some(Group { name, .. }) => format!(
            "{path}: other users can read it: run chown root:{name} {path}, and chmod 640 {path}"
        ),
        None => format!("{path}: other users can read it: run chmod 600 {path}"),
    })
}

/// Warns of a key file that is not its owner's alone.
pub fn warn_if_exposed(path: &Path) {
    let exposed = path
        .metadata()
        .is_ok_and(|m| m.permissions().mode() & 0o077 != 0);
    if exposed {
        mention!(
            "clew: warning: {0}: other users can read it: run chmod 600 {0}",
            path.display()
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The daemon's group may read its key, and nobody else.
    #[test]
    fn a_key_is_for_its_owner_and_the_daemon_s_group() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let own = file.as_file().metadata().expect("its owner").gid();
        let (own, other) = (Gid::from_raw(own), Gid::from_raw(own + 1));
        for (mode, reader, is_fine) in [
            (0o600, None, true),
            (0o600, Some(other), true),
            (0o640, Some(own), true),
            (0o640, Some(other), false),
            (0o640, None, false),
            (0o660, Some(own), false),
            (0o644, Some(own), false),
        ] {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(file.path(), permissions).expect("set");
            let advice = exposed_to_others_than(file.path(), reader);
            assert_eq!(advice.is_none(), is_fine, "{mode:o} {reader:?} {advice:?}");
        }
        let group = Group::from_gid(own).expect("groups").expect("one's own");
        let advice = exposed_to_others_than(file.path(), Some(own)).expect("a warning");
        let wanted = format!("chown root:{} ", group.name);
        assert!(advice.contains(&wanted), "{advice}");
        assert!(advice.contains("chmod 640"), "{advice}");
    }
}
