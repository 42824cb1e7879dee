//! From an opened signature to its row: by an index, by a register file, by Q.

use super::*;

const OPEN: [&str; 7] = [
    "open", "--group", GROUP, "signed", "--packet", "1", "--share",
];

impl Court {
    /// Opens packet 1 with the shares of trustees 1 and 2.
    pub fn open_with(&self, register: &str, more: &[&str], to: &str) -> (i32, String, String) {
        let rest = ["1.share", "--share", "2.share", "--register", register];
        self.said(&[&OPEN[..], &rest, more, &["-o", to]].concat())
    }

    fn register(&self, more: &[&str]) {
        self.yes(&[&["group", "register", "acme"][..], more].concat());
    }

    fn named(&self, register: &str, more: &[&str], to: &str) -> String {
        let (status, out, error) = self.open_with(register, more, to);
        assert_eq!(status, 0, "{register}: {error}");
        assert!(out.starts_with("packet 1 was sent by web-1\n"), "{out}");
        assert_eq!(self.judge(to).0, 0);
        error
    }
}

/// By hashes at once, without them or with a wrong one row by row: the answer is the same.
#[test]
fn a_register_file_names_the_machine() {
    for scheme in ["xr", "bbs04"] {
        let court = Court::new(scheme);
        court.opened();
        // A later epoch, by whatever the scheme has.
        court.yes(&["revoke", "acme", "web-2"]);
        let none = ["group", "register", "acme", "--epoch", "2", "-o", "none"];
        let (status, _, error) = court.said(&none);
        assert_eq!(status, 2);
        assert!(error.contains("the group's newest epoch is 1"), "{error}");
        court.register(&["--epoch", "0", "--epoch", "1", "-o", "hashes"]);
        court.register(&["--epoch", "0", "--points", "-o", "points"]);
        court.register(&["-o", "other-epoch"]);
        for register in ["hashes", "points", "other-epoch", "acme"] {
            let said = court.named(register, &[], &format!("by-{register}"));
            assert!(!said.contains("no value"), "{said}");
        }
        court.register(&["--machine", "web-1", "--epoch", "0", "-o", "one"]);
        court.named("one", &[], "by-one");
        let mut lie = fs::read(court.path("one")).unwrap();
        *lie.last_mut().unwrap() ^= 1;
        fs::write(court.path("one"), lie).unwrap();
        let said = court.named("one", &[], "by-lie");
        assert!(
            said.contains("no value of the register file matches"),
            "{said}"
        );
    }
}

/// A file in which the row cannot be found says what is wrong with it: rows are missing, a row has a
/// wrong x, or is another one than the group has.
#[test]
fn a_register_that_hides_a_row_is_named() {
    for scheme in ["xr", "bbs04"] {
        let court = Court::new(scheme);
        court.opened();
        court.register(&["--machine", "web-2", "-o", "some"]);
        court.register(&["-o", "all"]);
        let good = fs::read(court.path("all")).unwrap();
        let line = 16 + 16 + 2 + 4;
        let length = u32::from_be_bytes(good[line..line + 4].try_into().unwrap());
        let x = line + 4 + length as usize;
        let name = line + 4 + 2 + 4 + 4 + 1 + 4 + 48 + 1;
        let cases = match scheme {
            "xr" => vec![(x + 31, "row 0 (web-1) has a wrong x")],
            _ => vec![],
        };
        let credential = (name - 48, "row 0 (web-1) is not in the register of this");
        for (at, wanted) in [cases, vec![credential]].concat() {
            let mut bytes = good.clone();
            bytes[at] ^= 1;
            fs::write(court.path("all"), bytes).unwrap();
            let (status, _, error) = court.open_with("all", &[], "no");
            assert_eq!(status, 2);
            assert!(error.contains(wanted), "{error}");
        }
        let (status, _, error) = court.open_with("some", &[], "no");
        assert_eq!(status, 2);
        assert!(error.contains("it has 1 of the group's 2 rows"), "{error}");
        assert!(!court.path("no").exists());
    }
}

#[test]
fn an_auditor_finds_the_row_by_q() {
    let court = Court::new("xr");
    court.opened();
    court.named("acme", &["--write-q", "q"], "with-q");
    court.yes(&["revoke", "acme", "web-2"]);
    court.register(&["-o", "register"]);
    court.named("register", &["--q", "q"], "by-q");
    // A point that is not B^gamma; another base; another request.
    let q = 16 + 4 + 32 + 32 + 48;
    let base_of = |bytes: &mut Vec<u8>| bytes.copy_within(q - 48..q, q);
    court.altered("q", "not-q", base_of);
    court.altered("q", "other", |bytes| bytes[q - 10] ^= 1);
    court.altered("q", "request", |bytes| bytes[q - 60] ^= 1);
    for (file, wanted) in [
        ("not-q", "Q is not B^gamma"),
        ("other", "belongs to another opening"),
        ("request", "belongs to another opening"),
        ("opening", "have a clew-opening-1"),
    ] {
        let (status, _, error) = court.open_with("register", &["--q", file], "no");
        assert_eq!(status, 2);
        assert!(error.contains(wanted), "{file}: {error}");
    }
    let (status, _, error) = court.open_with("register", &["--write-q", "q2"], "no");
    assert_eq!(status, 2);
    assert!(
        error.contains("--write-q requires the issuer key"),
        "{error}"
    );
    assert!(!court.path("no").exists() && !court.path("q2").exists());
}

#[test]
fn bbs04_has_no_q() {
    let court = Court::new("bbs04");
    court.opened();
    let (status, _, error) = court.open_with("acme", &["--write-q", "q"], "no");
    assert_eq!(status, 2);
    assert!(error.contains("--write-q requires scheme xr"), "{error}");
}

/// Damaged and outdated indexes are made good, whoever it is that is looked for.
#[test]
fn indexes_are_extended_and_repaired() {
    let court = Court::new("xr");
    court.opened();
    let index = court.path("acme/issuer/index/0");
    let first = fs::read(&index).unwrap();
    court.yes(&["enrol", "acme", "web-3", "-o", "web-3.key"]);
    court.named("acme", &[], "grown");
    let grown = fs::read(&index).unwrap();
    assert_eq!(grown.len(), first.len() + 12);
    for at in [0, 30, 80, 110, grown.len() - 40, grown.len() - 1] {
        let mut bytes = grown.clone();
        bytes[at] ^= 0xff;
        fs::write(&index, bytes).unwrap();
        court.named("acme", &[], &format!("damaged-{at}"));
        fs::remove_file(court.path(&format!("damaged-{at}"))).unwrap();
    }
    fs::write(&index, &grown[..50]).unwrap();
    court.named("acme", &[], "cut");
    assert_eq!(fs::read(&index).unwrap(), grown);
}

#[test]
fn without_the_issuer_key_a_directory_names_nobody() {
    let court = Court::new("xr");
    court.opened();
    fs::remove_file(court.path("acme/issuer/issuer.key")).unwrap();
    let (status, _, error) = court.open_with("acme", &[], "no");
    assert_eq!(status, 2);
    assert!(
        error.contains("clew group register DIR -o REGISTER"),
        "{error}"
    );
}

/// The issuer key of a directory is unlocked as every other key.
#[test]
fn a_sealed_issuer_key_is_unlocked() {
    let court = Court(tempfile::tempdir().unwrap());
    fs::write(court.path("secret"), "correct horse battery staple\n").unwrap();
    let create = ["group", "create", "acme", "--name", "acme"];
    court.yes(&[&create[..], &["--new-passphrase-file", "secret"]].concat());
    let unlock = ["--passphrase-file", "secret"];
    court.yes(&[&["enrol", "acme", "web-1", "-o", "web-1.key"][..], &unlock].concat());
    court.yes(&[&["sign", "--mode", "each"][..], &KEY_AND_FILES].concat());
    for trustee in 1..=2 {
        let to = format!("{trustee}.share");
        assert_eq!(court.share(trustee, "1", &unlock, &to).0, 0);
    }
    court.named("acme", &unlock, "opening");
}
