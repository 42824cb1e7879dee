//! Keys encrypted with what another program keeps: age, a security token (PKCS#11), a TPM.

use super::*;
use crate::skipped::skipped;
use std::process::Command;

/// Runs commands of the shell in a folder. Returns whether all went well.
pub(super) fn shell(folder: &Folder, script: &str) -> bool {
    let mut command = Command::new("/bin/sh");
    command.args(["-ec", script]).current_dir(folder.0.path());
    let done = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{script}: {said}");
    true
}

pub(super) fn has(programs: &[&str], need: &str) -> bool {
    let there = |program: &&str| {
        let found = Command::new("/bin/sh")
            .args(["-c", &format!("command -v {program}")])
            .output();
        found.is_ok_and(|found| found.status.success())
    };
    let all = programs.iter().all(there);
    if !all {
        skipped(need);
    }
    all
}

/// A program that ends with the test, whatever happens.
pub(super) struct Running(std::process::Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a TPM of swtpm in a folder's folder. A script that begins with the text finds this TPM.
pub(super) fn tpm(folder: &Folder, name: &str) -> (Running, String) {
    let state = folder.path(name);
    fs::create_dir(&state).unwrap();
    // A socket of the folder's own: ports may be taken.
    let socket = state.join("sock").display().to_string();
    let tpm = Command::new("swtpm")
        .args(["socket", "--tpm2", "--flags", "not-need-init,startup-clear"])
        .args(["--tpmstate", &format!("dir={}", state.display())])
        .args(["--server", &format!("type=unixio,path={socket}")])
        .args(["--ctrl", &format!("type=unixio,path={socket}.ctrl")])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let running = Running(tpm);
    let wait = format!(
        "for i in $(seq 100); do [ -S {socket} ] && [ -S {socket}.ctrl ] && exit 0; sleep 0.05; done; exit 1"
    );
    shell(folder, &wait);
    let tools = format!("export TPM2TOOLS_TCTI=swtpm:path={socket} TSS2_LOG=all+none; ");
    (running, tools)
}

/// Makes a trustee's key, encrypted with what `command` prints, and gives a share with it. Another
/// command does not open it.
fn opens(folder: &Folder, command: &str, other: &str) {
    assert_eq!(folder.sign(&[]), 0);
    let create = [
        "group",
        "create",
        "sealed",
        "--name",
        "sealed",
        "--trustees",
        "1",
        "--threshold",
        "1",
    ];
    folder.yes(&[&create[..], &["--encrypt-command", command]].concat());
    let key = fs::read_to_string(folder.path("sealed/trustees/1.key")).unwrap();
    assert!(key.contains("clew-sealed-1 "), "{key}");
    let enrol = [
        "enrol",
        "sealed",
        "web-1",
        "--unlock-command",
        command,
        "-o",
        "sealed.key",
    ];
    folder.yes(&enrol);
    let sign = ["sign", "--key", "sealed.key", "in", "-w", "sealed.pcap"];
    folder.yes(&sign);
    let share = |with: &str, to: &str| {
        let of = [
            "--group",
            "sealed/public/group.clew",
            "sealed.pcap",
            "--packet",
            "1",
            "-o",
            to,
        ];
        let first = [
            "share",
            "--trustee",
            "sealed/trustees/1.key",
            "--unlock-command",
            with,
        ];
        folder.status(&[&first[..], &of].concat())
    };
    assert_eq!(share(command, "1.share"), 0);
    assert_eq!(share(other, "2.share"), 2);
    assert!(!folder.path("2.share").exists());
}

#[test]
fn a_command_prints_the_unlock_file() {
    let folder = Folder::new();
    beginning(
        &Path::new(CAPTURES).join("arkime--v6.pcap"),
        &folder.path("in"),
    );
    assert!(shell(
        &folder,
        "head -c 32 /dev/urandom > secret; head -c 32 /dev/urandom > other"
    ));
    opens(&folder, "cat secret", "cat other");
    let bad = [
        ("false", "exit status: 1"),
        ("cat secret; exit 3", "exit status: 3"),
        ("no-such-program", "exit status: 127"),
        ("printf short", "need at least 16 bytes"),
        ("cat /dev/zero", "prints more than 64 KiB"),
        ("kill -9 $$", "signal: 9"),
    ];
    for (command, why) in bad {
        let (status, said) = folder.no(&[
            "enrol",
            "sealed",
            "web-2",
            "--unlock-command",
            command,
            "-o",
            "x.key",
        ]);
        assert_eq!(status, 2);
        assert!(said.contains(why), "{command}: {said}");
        assert!(!folder.path("x.key").exists());
    }
    let (status, said) = folder.no(&["enrol", "sealed", "web-2", "-o", "x.key"]);
    assert_eq!(status, 2);
    assert!(said.contains("--unlock-command COMMAND"), "{said}");
}

/// age, whose plugins reach YubiKeys, TPMs and FIDO2 tokens.
#[test]
fn age_keeps_the_secret() {
    if !has(&["age", "age-keygen"], "the command age") {
        return;
    }
    let folder = Folder::new();
    beginning(
        &Path::new(CAPTURES).join("arkime--v6.pcap"),
        &folder.path("in"),
    );
    shell(
        &folder,
        "age-keygen -o id.txt 2> /dev/null; age-keygen -o other.txt 2> /dev/null; \
         head -c 32 /dev/urandom | age -r $(age-keygen -y id.txt) -o secret.age",
    );
    opens(
        &folder,
        "age -d -i id.txt secret.age",
        "age -d -i other.txt secret.age",
    );
}

/// A key of RSA in a token of SoftHSM decrypts the secret.
#[test]
fn a_token_keeps_the_secret() {
    const MODULE: &str = "/usr/lib/softhsm/libsofthsm2.so";
    let is_there = Path::new(MODULE).exists();
    if !is_there
        || !has(
            &["softhsm2-util", "pkcs11-tool", "openssl"],
            "SoftHSM, pkcs11-tool and openssl",
        )
    {
        if !is_there {
            skipped("SoftHSM, pkcs11-tool and openssl");
        }
        return;
    }
    let folder = Folder::new();
    beginning(
        &Path::new(CAPTURES).join("arkime--v6.pcap"),
        &folder.path("in"),
    );
    let tool = format!("SOFTHSM2_CONF=$PWD/hsm.conf pkcs11-tool --module {MODULE} --id 01");
    shell(
        &folder,
        &format!(
            "mkdir tokens; echo \"directories.tokendir = $PWD/tokens\" > hsm.conf; \
             SOFTHSM2_CONF=$PWD/hsm.conf softhsm2-util --init-token --free --label clew --so-pin 1234 --pin 5678; \
             {tool} --login --pin 5678 --keypairgen --key-type rsa:2048; \
             {tool} --read-object --type pubkey -o public.der; \
             head -c 32 /dev/urandom | openssl pkeyutl -encrypt -pubin -inkey public.der -keyform DER \
             -pkeyopt rsa_padding_mode:oaep -out secret.enc"
        ),
    );
    let decrypt = |pin: &str| {
        format!(
            "{tool} --login --pin {pin} --decrypt --mechanism RSA-PKCS-OAEP --hash-algorithm SHA-1 \
             --input-file secret.enc 2> /dev/null"
        )
    };
    opens(&folder, &decrypt("5678"), &decrypt("0000"));
}

/// A TPM 2.0 unseals the secret: here the one of swtpm.
#[test]
fn a_tpm_keeps_the_secret() {
    if !has(&["swtpm", "tpm2_unseal"], "swtpm and tpm2-tools") {
        return;
    }
    let folder = Folder::new();
    beginning(
        &Path::new(CAPTURES).join("arkime--v6.pcap"),
        &folder.path("in"),
    );
    let (_running, tools) = tpm(&folder, "tpm");
    let tcti = format!("{tools}tpm2_createprimary -Q -C o -c p.ctx");
    shell(
        &folder,
        &format!(
            "{tcti}; head -c 32 /dev/urandom | tpm2_create -Q -C p.ctx -i - -u s.pub -r s.priv -p open; tpm2_flushcontext -t"
        ),
    );
    let unseal = |auth: &str| {
        format!(
            "{tcti} && tpm2_load -Q -C p.ctx -u s.pub -r s.priv -c s.ctx && tpm2_flushcontext -t && \
             tpm2_unseal -Q -c s.ctx -p {auth} && tpm2_flushcontext -t"
        )
    };
    opens(&folder, &unseal("open"), &unseal("wrong"));
}
