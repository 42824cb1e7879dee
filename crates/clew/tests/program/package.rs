//! The Debian package and the container: built by the commands that CONTRIBUTING.md gives, around this
//! program.

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
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

/// Builds one kind of package, and returns its path. The test looks at what is in it, not at its size.
fn build(kind: &str, folder: &Path) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut build = Command::new(root.join("contrib/package/build"));
    build.args([kind, "--binary", env!("CARGO_BIN_EXE_clew")]);
    build.env("DPKG_DEB_COMPRESSOR_TYPE", "none");
    let said = run(build.env("CARGO_TARGET_DIR", folder));
    PathBuf::from(String::from_utf8(said.stdout).unwrap().trim())
}

/// What engines check: each blob has its digest, the configuration names the layer, and the layer has the
/// program and a directory that its user may write.
#[test]
fn the_container_is_an_image() {
    if !is_installed("strip") {
        crate::skipped::skipped("strip");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let archive = build("container", folder.path());
    let layout = folder.path().join("layout");
    fs::create_dir(&layout).unwrap();
    let unpack = |archive: &Path, to: &Path| {
        let mut tar = Command::new("tar");
        run(tar.arg("-xf").arg(archive).arg("-C").arg(to));
    };
    unpack(&archive, &layout);
    let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
    let blob = |described: &Value| {
        let digest = described["digest"].as_str().unwrap();
        let digest = digest.strip_prefix("sha256:").unwrap();
        let path = layout.join("blobs/sha256").join(digest);
        let bytes = fs::read(&path).unwrap();
        assert_eq!(hex::encode(Sha256::digest(&bytes)), digest);
        assert_eq!(described["size"].as_u64(), Some(bytes.len() as u64));
        (path, bytes)
    };
    let index = json(&fs::read(layout.join("index.json")).unwrap());
    let manifest = json(&blob(&index["manifests"][0]).1);
    let config = json(&blob(&manifest["config"]).1);
    assert_eq!(config["config"]["User"], "65532:65532");
    assert_eq!(config["config"]["Entrypoint"][0], "/usr/bin/clew");
    let layer = &manifest["layers"][0];
    assert_eq!(config["rootfs"]["diff_ids"][0], layer["digest"]);
    let docker = json(&fs::read(layout.join("manifest.json")).unwrap());
    let named = layout.join(docker[0]["Layers"][0].as_str().unwrap());
    assert_eq!(named, blob(layer).0);

    let list = run(Command::new("tar")
        .args(["--numeric-owner", "-tvf"])
        .arg(&named));
    let list = String::from_utf8(list.stdout).unwrap();
    let line = |name: &str| list.lines().find(|line| line.ends_with(name)).unwrap();
    assert!(
        line(" data/").starts_with("drwx------ 65532/65532"),
        "{list}"
    );
    assert!(
        line(" usr/bin/clew").starts_with("-rwxr-xr-x 0/0"),
        "{list}"
    );
    let mut again = Command::new("cmp");
    let first = folder.path().join("first");
    fs::rename(&archive, &first).unwrap();
    run(again.arg(first).arg(build("container", folder.path())));
}

#[test]
fn the_package_has_what_an_administrator_needs() {
    if !["dpkg-deb", "strip", "dpkg"].into_iter().all(is_installed) {
        crate::skipped::skipped("dpkg-deb and strip");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let package = build("deb", folder.path());
    let tree = folder.path().join("tree");
    run(Command::new("dpkg-deb").arg("-x").arg(&package).arg(&tree));

    for file in [
        "etc/logrotate.d/clew-observer",
        "usr/lib/systemd/system/clew-observer@.service",
        "usr/lib/clew/clew-tpm",
        "usr/lib/systemd/system/clew-log@.service",
        "usr/lib/systemd/system/clew-manager@.service",
        "usr/lib/systemd/system/clew-trustee@.service",
        "usr/lib/systemd/system/clew-witness@.service",
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
    let stated = run(Command::new("dpkg-deb")
        .arg("-f")
        .arg(&package)
        .arg("Version"));
    let stated = String::from_utf8(stated.stdout).unwrap();
    assert_eq!(version.trim(), format!("clew {}", stated.trim()));
}
