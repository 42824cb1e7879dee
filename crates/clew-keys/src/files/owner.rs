//! Whose a directory is.

use nix::unistd::{Uid, User};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Checks that a directory which one service keeps belongs to the user of this process: files that root
/// made in it would shut its service out.
///
/// # Errors
/// A sentence with what to do if it belongs to somebody else, or what the system says.
pub fn check_owner(folder: &Path) -> io::Result<()> {
    let owner = Uid::from_raw(folder.metadata()?.uid());
    if owner == Uid::effective() {
        return Ok(());
    }
    let known = User::from_uid(owner).ok().flatten();
    let owner = known.map_or_else(|| owner.to_string(), |user| user.name);
    Err(io::Error::other(format!(
        "belongs to user {owner}: run the command as this user, as with runuser -u {owner} -- clew"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_keeps_its_directory_for_itself() {
        let dir = tempfile::tempdir().unwrap();
        check_owner(dir.path()).unwrap();
        if !Uid::effective().is_root() {
            return; // only root can give a directory away
        }
        std::os::unix::fs::chown(dir.path(), Some(65_534), None).unwrap();
        let said = check_owner(dir.path()).unwrap_err().to_string();
        assert_eq!(
            said,
            "belongs to user nobody: run the command as this user, as with runuser -u nobody -- clew"
        );
    }
}
