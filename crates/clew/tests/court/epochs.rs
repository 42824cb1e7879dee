//! Machines that come late, are revoked, or come again: evidence names them, and says what it cannot
//! say.

use super::*;
use clew_evidence::{CheckedGroup, Follow, GroupFile};
use clew_keys::{HeldEpoch, MemberKeyFile, TextFile};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use serde_json::json;

impl Court {
    fn group(&self) -> CheckedGroup {
        let bytes = fs::read(self.path(GROUP)).unwrap();
        let group = GroupFile::from_bytes(&bytes).unwrap();
        group
            .check_epochs(&mut ChaCha20Rng::seed_from_u64(1))
            .unwrap()
    }

    /// A copy of a key file that signs in an earlier epoch, which the chain leads back to.
    fn dated_back(&self, key: &str, epoch: u32, to: &str) {
        let (group, text) = (self.group(), fs::read_to_string(self.path(key)).unwrap());
        let mut file = MemberKeyFile::decode(&text).unwrap();
        let held = file.newest().unwrap();
        let Some(Follow::Back(steps)) = group.path(held.epoch, epoch) else {
            unreachable!("no way back");
        };
        file.epochs = vec![HeldEpoch {
            epoch,
            id: group.epoch_id(epoch).unwrap(),
            start: group.start(epoch).unwrap_or_default().as_nanos(),
            public: group.public_key(epoch).unwrap().unwrap(),
            witness: held.witness.before(file.key.x(), steps),
        }];
        fs::write(self.path(to), file.encode().as_bytes()).unwrap();
    }

    /// The caveats of an opening of packet 1, without those that all have.
    fn caveats(&self, evidence: &str) -> Vec<Value> {
        let answer = self.judged(evidence, &[]);
        let all = answer["caveats"].as_array().unwrap().clone();
        let of_all = ["trusted-dealer", "joined-on-issuer-host", "not-anchored"];
        let own = |caveat: &Value| !of_all.iter().any(|name| caveat["name"] == *name);
        all.into_iter().filter(own).collect()
    }

    fn opened_as(&self, to: &str) -> String {
        for trustee in 1..=2 {
            let share = format!("{to}-{trustee}");
            let (status, _, error) = self.share(trustee, "1", &[], &share);
            assert_eq!(status, 0, "{error}");
        }
        let shares = [format!("{to}-1"), format!("{to}-2")];
        let (status, out, error) = self.open(&[&shares[0], &shares[1]], to);
        assert_eq!(status, 0, "{error}");
        out
    }
}

/// A machine that joined in epoch 1 can date a packet back into epoch 0: it is named all the same, with
/// the sentence about it, by index and by register file.
#[test]
fn a_late_joiner_is_named() {
    let court = Court::new("xr");
    court.yes(&["revoke", "acme", "web-2"]);
    court.yes(&["enrol", "acme", "late", "-o", "late.key"]);
    court.dated_back("late.key", 0, "back.key");
    let sign = ["sign", "--key", "back.key", "--force", CAPTURE];
    court.yes(&[&sign[..], &["-w", "signed", "--mode", "each"]].concat());
    let out = court.opened_as("opening");
    assert!(out.starts_with("packet 1 was sent by late\n"), "{out}");
    let sentence =
        "the machine joined in epoch 1, after epoch 0 of the packet: the packet is backdated";
    assert!(out.contains(sentence), "{out}");
    assert_eq!(
        court.caveats("opening"),
        [json!({"name": "joined-later", "epoch": 1})]
    );
    let register = [
        "group", "register", "acme", "--epoch", "0", "-o", "register",
    ];
    court.yes(&register);
    let open = ["open", "--group", GROUP, "--register", "register", "signed"];
    let shares = ["--share", "opening-1", "--share", "opening-2"];
    let rest = ["--packet", "1", "-o", "by-file"];
    let out = court.yes(&[&open[..], &shares, &rest].concat());
    assert!(out.contains(sentence), "{out}");
}

#[test]
fn a_machine_that_was_revoked_since_is_named_with_the_epoch() {
    for scheme in ["xr", "bbs04"] {
        let court = Court::new(scheme);
        court.opened();
        assert_eq!(court.judge("opening").0, 0);
        court.yes(&["revoke", "acme", "web-1"]);
        let later = json!({"name": "revoked-later", "epoch": 1});
        assert!(court.caveats("opening").contains(&later));
        let out = court.judge("opening").1;
        assert!(
            out.contains("the machine is revoked in epoch 1, from "),
            "{out}"
        );
        // Its row is in the index of epoch 0, and in none of epoch 1.
        court.opened_as("again");
        let size = |epoch: &str| {
            let index = court.path("acme/issuer/index").join(epoch);
            index.metadata().map_or(0, |metadata| metadata.len())
        };
        let update = ["update", "--key", "web-2.key", "--group", GROUP];
        court.yes(&[&update[..], &["--witness", "acme/public/witnesses"]].concat());
        court.sign("web-2.key");
        let out = court.opened_as("other");
        assert!(out.starts_with("packet 1 was sent by web-2\n"), "{out}");
        assert_eq!(size("0"), size("1") + 12);
    }
}

/// Later enrolments and epochs void no opening; an old group file vouches for the machines that it
/// knows, and for no others.
#[test]
fn openings_stay_good_when_the_group_grows() {
    let court = Court::new("xr");
    court.opened();
    fs::copy(court.path(GROUP), court.path("old.clew")).unwrap();
    for name in ["web-3", "web-4", "web-5"] {
        court.yes(&["enrol", "acme", name, "-o", &format!("{name}.key")]);
    }
    court.yes(&["revoke", "acme", "web-4"]);
    assert_eq!(court.judge("opening").0, 0);
    court.opened_as("middle");
    court.yes(&["enrol", "acme", "web-6", "-o", "web-6.key"]);
    for opening in ["opening", "middle"] {
        assert_eq!(court.judge(opening).0, 0, "{opening}");
        court.yes(&["judge", "--group", "old.clew", opening, "signed"]);
    }
    let sign = ["sign", "--key", "web-3.key", "--force", CAPTURE];
    court.yes(&[&sign[..], &["-w", "signed", "--mode", "each"]].concat());
    court.opened_as("newer");
    let judge = ["judge", "--group", "old.clew", "newer", "signed"];
    let (status, _, error) = court.said(&judge);
    assert_eq!(status, 2);
    assert!(error.contains("use a newer group file"), "{error}");
    // Who opens with an old file is told which one judges need.
    let open = [
        "open",
        "--group",
        "old.clew",
        "--register",
        "acme",
        "signed",
    ];
    let shares = ["--share", "newer-1", "--share", "newer-2"];
    let rest = ["--packet", "1", "-o", "again"];
    let (status, _, error) = court.said(&[&open[..], &shares, &rest].concat());
    assert_eq!(status, 0, "{error}");
    assert!(
        error.contains("the register has grown since this group file"),
        "{error}"
    );
    assert_eq!(court.judge("again").0, 0);
}

/// The group file tells nobody that a packet was opened or compared, or a register file made, unless
/// it is about a machine that was enrolled since the last epoch.
#[test]
fn openings_leave_no_trace_in_the_group_file() {
    let court = Court::new("xr");
    let file = || fs::read(court.path(GROUP)).unwrap();
    court.yes(&["group", "rebase", "acme"]);
    court.yes(&["enrol", "acme", "late", "-o", "late.key"]);
    let before = file();
    court.opened();
    let shares = court.compared("web-2");
    assert_eq!(court.matched(&shares, "web-2", "match").0, 1, "it did not");
    let register = ["group", "register", "acme", "--force", "-o", "register"];
    court.yes(&[&register[..], &["--machine", "web-1"]].concat());
    assert!(file() == before, "not a byte");
    court.yes(&[&register[..], &["--machine", "late"]].concat());
    let after = file();
    assert!(after.len() > before.len(), "a checkpoint");
    court.yes(&register);
    court.opened_as("again");
    assert!(file() == after, "and only one");
    assert_eq!(court.group().checkpoints().len(), 2);
}

/// A judge whose group file ends before the packet's epoch cannot tell; one with another group's file
/// can.
#[test]
fn evidence_of_a_later_epoch_needs_a_newer_file() {
    let court = Court::new("xr");
    fs::copy(court.path(GROUP), court.path("old.clew")).unwrap();
    court.yes(&["revoke", "acme", "web-2"]);
    court.yes(&["update", "--key", "web-1.key", "--group", GROUP]);
    court.sign("web-1.key");
    court.opened();
    let shares = court.compared("web-1");
    assert_eq!(court.matched(&shares, "web-1", "match").0, 0);
    let create = ["group", "create", "other", "--name", "other"];
    court.yes(&create);
    for evidence in ["opening", "match"] {
        assert_eq!(court.judge(evidence).0, 0);
        let judge = ["judge", "--group", "old.clew", evidence, "signed"];
        let (status, out, error) = court.said(&[&judge[..], &["--json"]].concat());
        assert_eq!((status, out.as_str()), (2, ""));
        assert!(
            error.contains("is about epoch 1, but the group file ends at epoch 0")
                && error.contains("use a newer group file"),
            "{error}"
        );
        let other = "other/public/group.clew";
        let (status, _, error) = court.said(&["judge", "--group", other, evidence, "signed"]);
        assert_eq!(status, 1);
        assert!(error.contains("(rule group)"), "{error}");
        // Of the epochs that the file has, a wrong id is a no.
        court.altered(evidence, "altered", |payload| payload[38] ^= 1);
        assert_eq!(court.judge("altered").0, 1);
    }
}

/// The name is the manager's word; who knows the device's key holds the evidence to it.
#[test]
fn device_keys_can_be_pinned() {
    let court = Court::new("xr");
    court.opened();
    let device = court.judged("opening", &[])["device"].clone();
    let device = device.as_str().unwrap();
    assert!(device.starts_with("SHA256:"));
    assert!(court.judge("opening").1.contains(device));
    assert_eq!(
        court.judged("opening", &["--device", device])["holds"],
        true
    );
    court.sign("web-2.key");
    court.opened_as("other");
    let (status, _, error) = court.said(&[
        "judge", "--group", GROUP, "other", "signed", "--device", device,
    ]);
    assert_eq!(status, 1);
    assert!(error.contains("(rule device-pin)"), "{error}");
    let answer = court.judged("other", &["--device", device]);
    assert_eq!(
        (&answer["holds"], &answer["rule"]),
        (&false.into(), &"device-pin".into())
    );
    let judge = ["judge", "--group", GROUP, "other", "signed", "--device"];
    assert_eq!(court.said(&[&judge[..], &["SHA256:abc"]].concat()).0, 2);
    let bbs04 = Court::new("bbs04");
    bbs04.opened();
    let answer = bbs04.judged("opening", &["--device", device]);
    assert_eq!(answer["rule"], "device-pin", "no device vouched");
}

/// A lost key is replaced under the same name: evidence says which row it is, and that there was another.
#[test]
fn a_name_that_was_given_again_says_so() {
    let court = Court::new("xr");
    court.yes(&["revoke", "acme", "web-2"]);
    court.yes(&["enrol", "acme", "web-2", "-o", "again.key"]);
    court.sign("again.key");
    let out = court.opened_as("opening");
    assert!(out.starts_with("packet 1 was sent by web-2\n"), "{out}");
    assert_eq!(
        court.caveats("opening"),
        [json!({"name": "name-reissued", "row": 1})]
    );
    assert_eq!(court.judged("opening", &[])["row"], 2);
    // A match in epoch 1 is with the row of that time; the one of before is revoked.
    let shares = court.compared("web-2");
    let (status, _, error) = court.matched(&shares, "web-2", "result");
    assert_eq!(status, 0, "{error}");
    // In epoch 0 the name was the first row's.
    court.yes(&[
        "sign",
        "--key",
        "web-2.key",
        CAPTURE,
        "-w",
        "signed",
        "--force",
        "--mode",
        "each",
    ]);
    fs::remove_file(court.path("result")).unwrap();
    for path in fs::read_dir(court.0.path()).unwrap().flatten() {
        if path.file_name().to_string_lossy().starts_with("web-2-") {
            fs::remove_file(path.path()).unwrap();
        }
    }
    let shares = court.compared("web-2");
    let (status, _, error) = court.matched(&shares, "web-2", "result");
    assert_eq!(status, 0, "{error}");
    assert_eq!(court.judged("result", &[])["row"], 1);
}

/// Every epoch has its own index.
#[test]
fn packets_of_many_epochs_are_opened() {
    let court = Court::new("xr");
    for epoch in 1..=4 {
        let name = format!("gone-{epoch}");
        court.yes(&["enrol", "acme", &name, "-o", &format!("{name}.key")]);
        court.yes(&["revoke", "acme", &name]);
        court.yes(&["update", "--key", "web-1.key", "--group", GROUP]);
        court.sign("web-1.key");
        let out = court.opened_as(&format!("opening-{epoch}"));
        assert!(out.starts_with("packet 1 was sent by web-1\n"), "{out}");
        assert!(out.contains(&format!("epoch      {epoch}, ")), "{out}");
    }
}
