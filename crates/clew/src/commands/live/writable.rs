//! Files that say whom to trust, and that every user of the host can change.

use super::material;
use clew_live::config::Config;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// In such a folder users change only what is theirs.
const STICKY: u32 = 0o1000;

/// Returns what everybody can write of a configuration, its files and their folders, and what helps.
pub(super) fn warning(path: &Path, config: &Config) -> Option<String> {
    let files: Vec<&Path> = material::files(config).chain([path]).collect();
    let folders = files.iter().filter_map(|file| file.parent());
    let folders = folders.map(|folder| match folder == Path::new("") {
        true => Path::new("."),
        false => folder,
    });
    let mut open: Vec<&Path> = folders.chain(files.iter().copied()).collect();
    open.retain(|path| is_open(path));
    open.sort_unstable();
    open.dedup();
    if open.is_empty() {
        return None;
    }
    let names: Vec<String> = open.iter().map(|path| path.display().to_string()).collect();
    let names = names.join(" ");
    Some(format!(
        "every user can change whom this host trusts: chmod o-w {names}"
    ))
}

fn is_open(path: &Path) -> bool {
    let mode = path.metadata().map_or(0, |is| is.permissions().mode());
    mode & 0o002 != 0 && mode & STICKY == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};

    #[test]
    fn what_everybody_can_write_is_named_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let peer = |prefix: &str| format!("[[peer]]\nprefixes = [\"{prefix}\"]\ngroup = \"g\"\n");
        let text = format!(
            "key = \"k\"\n{}{}",
            peer("10.1.0.0/16"),
            peer("10.2.0.0/16")
        );
        fs::write(path("lan.toml"), text).unwrap();
        fs::write(path("g"), "").unwrap();
        let set = |name: &str, mode| {
            fs::set_permissions(path(name), Permissions::from_mode(mode)).unwrap();
        };
        set("lan.toml", 0o644);
        set("g", 0o644);
        set("", 0o755);
        let config = Config::read(&path("lan.toml")).unwrap();
        let said = || warning(&path("lan.toml"), &config);
        assert_eq!(said(), None);
        set("g", 0o666);
        let wanted = format!("chmod o-w {}", path("g").display());
        assert!(said().unwrap().ends_with(&wanted), "{:?}", said());
        set("g", 0o644);
        set("", 0o1777);
        assert_eq!(said(), None);
        set("", 0o777);
        assert!(said().unwrap().contains("chmod o-w /"), "{:?}", said());
    }
}
