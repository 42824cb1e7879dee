//! Enrolments that are bound to one TPM's endorsement key, and keys that a TPM keeps: `contrib/tpm`.

use super::Folder;
use super::manager::serve;
use super::sealing::{has, shell, tpm};

const TOOL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contrib/tpm/clew-tpm");
const PROGRAMS: &[&str] = &["swtpm", "tpm2_activatecredential", "openssl"];

#[test]
fn an_invitation_is_for_one_tpm() {
    if !has(PROGRAMS, "swtpm, tpm2-tools and openssl") {
        return;
    }
    let folder = Folder::new();
    let (_own, own) = tpm(&folder, "own");
    let (_other, other) = tpm(&folder, "other");
    shell(&folder, &format!("{own}{TOOL} public edge-1.tpm"));
    let seal = format!("{TOOL} seal-to edge-1.tpm edge-1.sealed");
    let invite = [
        "enrol",
        "acme",
        "edge-1",
        "--invite",
        "-o",
        "edge-1.invitation",
    ];
    folder.yes(&[&invite[..], &["--encrypt-command", &seal]].concat());
    let invitation = std::fs::read_to_string(folder.path("edge-1.invitation")).unwrap();
    assert!(invitation.contains("clew-sealed-1 "), "{invitation}");

    let served = serve(&folder, &[]);
    let join = |tools: &str, key: &str| {
        let opened = format!("{tools}{TOOL} open edge-1.sealed 2> /dev/null");
        let kept = format!("{tools}{TOOL} keep {key}.kept");
        let from = [
            "enrol",
            "--manager",
            &served.url,
            "--invitation",
            "edge-1.invitation",
        ];
        let with = [
            "--unlock-command",
            &opened,
            "--encrypt-command",
            &kept,
            "-o",
            key,
        ];
        folder.status(&[&from[..], &with].concat())
    };
    assert_eq!(join(&other, "stolen.key"), 2);
    assert!(!folder.path("stolen.key").exists());
    assert_eq!(join(&own, "edge-1.key"), 0);

    // The key is the TPM's, too.
    let sign = |tools: &str, to: &str| {
        let kept = format!("{tools}{TOOL} keep edge-1.key.kept 2> /dev/null");
        let of = ["sign", "--key", "edge-1.key", "in", "-w", to];
        folder.status(&[&of[..], &["--unlock-command", &kept]].concat())
    };
    super::beginning(
        &std::path::Path::new(super::CAPTURES).join("arkime--v6.pcap"),
        &folder.path("in"),
    );
    assert_eq!(sign(&other, "stolen.pcap"), 2);
    assert_eq!(sign(&own, "signed.pcap"), 0);
}

/// A maker's certificate holds for the key that it was made for, and no other.
#[test]
fn a_certificate_is_of_the_endorsement_key() {
    if !has(PROGRAMS, "swtpm, tpm2-tools and openssl") {
        return;
    }
    let folder = Folder::new();
    let (_own, own) = tpm(&folder, "own");
    let (_other, other) = tpm(&folder, "other");
    let certified = "tpm2_createek -Q -G rsa -c ek.ctx -f pem -u ek.pem; tpm2_flushcontext -t; \
         openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -subj /CN=maker -out ca.pem 2> /dev/null; \
         openssl req -new -newkey rsa:2048 -nodes -keyout x.key -subj / -out x.csr 2> /dev/null; \
         openssl x509 -req -in x.csr -force_pubkey ek.pem -CA ca.pem -CAkey ca.key -CAcreateserial \
           -outform DER -out ek.der 2> /dev/null; \
         openssl req -x509 -newkey rsa:2048 -nodes -keyout y.key -subj /CN=maker -out other-ca.pem 2> /dev/null";
    shell(&folder, &format!("{own}{certified}"));
    let with_certificate = |tools: &str, file: &str| {
        let put = format!(
            "{tools}{TOOL} public {file}.bare; \
             sed \"s|^certificate .*|certificate $(base64 -w 0 ek.der)|\" {file}.bare > {file}"
        );
        shell(&folder, &put);
    };
    with_certificate(&own, "own.tpm");
    with_certificate(&other, "other.tpm");
    let check = |file: &str, maker: &str, status: u8| {
        let script = format!("s=0; {TOOL} check {file} {maker} || s=$?; [ $s = {status} ]");
        shell(&folder, &script);
    };
    check("own.tpm", "ca.pem", 0);
    check("own.tpm", "other-ca.pem", 1);
    check("other.tpm", "ca.pem", 1);
    check("own.tpm.bare", "ca.pem", 2);
}
