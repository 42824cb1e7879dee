//! The units of the services.

macro_rules! unit {
    ($name:literal) => {
        (
            concat!("clew-", $name, "@acme.service"),
            include_str!(concat!(
                "../../../../contrib/systemd/clew-",
                $name,
                "@.service"
            )),
        )
    };
}

#[test]
fn the_units_are_sound_and_sandboxed() {
    for unit in [
        unit!("manager"),
        unit!("log"),
        unit!("witness"),
        unit!("trustee"),
    ] {
        crate::systemd::check(&[unit], 22);
    }
}

const INSTALL: &str = include_str!("../../../../contrib/package/debian/postinst");

/// A system for the package's script: its programs write down how they are called. Services run.
const PROGRAMS: [(&str, &str); 10] = [
    (
        "systemctl",
        r#"echo "$*" >>"$CALLS"
           case "$*" in
               "try-restart clew-manager@acme.service") exit 1 ;;
               list-units*clew-manager@*.service) echo "clew-manager@acme.service loaded active running" ;;
               list-units*clew-observer@*.service*) echo "clew-observer@eth0.service loaded active running" ;;
           esac"#,
    ),
    ("clew", ""),
    ("systemd-sysusers", ""),
    ("getent", ""),
    ("useradd", ""),
    ("gpasswd", ""),
    ("id", "echo clew-observer"),
    ("install", ""),
    ("chown", ""),
    ("chmod", ""),
];

/// A service that goes on as the old program would work on a database that the new one has changed.
#[test]
fn an_upgrade_starts_services_again() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let calls = folder.path().join("calls");
    for (name, text) in PROGRAMS {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let script = INSTALL.replace("/run/systemd/system", folder.path().to_str().unwrap());
    let run = |version: &[&str]| {
        std::fs::write(&calls, "").unwrap();
        let path = std::env::var("PATH").unwrap();
        let done = std::process::Command::new("sh")
            .args(["-c", &script, "postinst", "configure"])
            .args(version)
            .env("PATH", format!("{}:{path}", folder.path().display()))
            .env("CALLS", &calls)
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
        let calls = std::fs::read_to_string(&calls).unwrap();
        (calls, String::from_utf8(done.stderr).unwrap())
    };
    let (calls, told) = run(&["0.0.1"]);
    assert!(
        calls.contains("try-restart clew-manager@acme.service\n"),
        "{calls}"
    );
    // One that does not start again, and one that goes on as it is, are named.
    assert!(
        told.contains("clew-manager@acme.service did not start again"),
        "{told}"
    );
    assert!(
        told.contains("clew-observer@eth0.service runs the version before"),
        "{told}"
    );
    let (calls, told) = run(&[]);
    assert!(
        !calls.contains("restart") && told.is_empty(),
        "{calls}{told}"
    );
}
