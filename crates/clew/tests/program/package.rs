//! The Debian package: built by the command that CONTRIBUTING.md gives, around this program.

use std::path::Path;
use std::process::{Command, Output};

fn run(command: &mut Command) -> Output {
    let done = command.output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?}: {said}");
    done
}

fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

#[test]
fn the_package_has_what_an_administrator_needs() {
    if !["dpkg-deb", "strip", "dpkg"].into_iter().all(is_installed) {
        crate::skipped::skipped("dpkg-deb and strip");
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = tempfile::tempdir().unwrap();
    let mut build = Command::new(root.join("contrib/package/build"));
    build.args(["deb", "--binary", env!("CARGO_BIN_EXE_clew")]);
    // The test looks at what is in it, not at its size.
    build.env("DPKG_DEB_COMPRESSOR_TYPE", "none");
    let said = run(build.env("CARGO_TARGET_DIR", folder.path()));
    let package = String::from_utf8(said.stdout).unwrap();
    let tree = folder.path().join("tree");
    run(Command::new("dpkg-deb")
        .args(["-x", package.trim()])
        .arg(&tree));

    for file in [
        "etc/logrotate.d/clew-observer",
        "usr/lib/systemd/system/clew-observer@.service",
        "usr/lib/systemd/system/clew@.service",
        "usr/lib/sysusers.d/clew.conf",
        "usr/share/bash-completion/completions/clew",
        "usr/share/doc/clew/changelog.gz",
        "usr/share/doc/clew/copyright",
        "usr/share/doc/clew/crates",
        "usr/share/doc/clew/examples/gateway.toml",
        "usr/share/doc/clew/examples/host.toml",
        "usr/share/doc/clew/examples/observer.conf",
        "usr/share/doc/clew/wireshark/clew.lua",
        "usr/share/man/man1/clew-up.1.gz",
    ] {
        let metadata = tree.join(file).metadata();
        assert!(metadata.is_ok_and(|m| m.len() > 0), "{file} is missing");
    }
    let version = run(Command::new(tree.join("usr/bin/clew")).arg("--version"));
    let version = String::from_utf8(version.stdout).unwrap();
    let stated = run(Command::new("dpkg-deb").args(["-f", package.trim(), "Version"]));
    let stated = String::from_utf8(stated.stdout).unwrap();
    assert_eq!(version.trim(), format!("clew {}", stated.trim()));
}
