//! Did this machine send it?

use super::*;

#[test]
fn matches_answer_by_their_exit_status() {
    let court = Court::new("xr");
    for (machine, status, sent) in [("web-1", 0, true), ("web-2", 1, false)] {
        let shares = court.compared(machine);
        let result = format!("{machine}.match");
        let (found, out, error) = court.matched(&shares, machine, &result);
        assert_eq!(found, status, "{error}");
        let was = if sent { "was" } else { "was not" };
        assert!(
            out.starts_with(&format!("packet 1 {was} sent by {machine}\n")),
            "{out}"
        );
        // A judge says yes to evidence that holds, whichever answer it proves.
        assert_eq!(court.judge(&result).0, 0);
        let answer = court.judged(&result, &[]);
        let said = (&answer["holds"], &answer["sent"], &answer["asked"]);
        assert_eq!(said, (&true.into(), &sent.into(), &1.into()));
        let (few, _, error) = court.matched(&shares[..1], machine, "few");
        assert_eq!(few, 2, "{error}");
        let set = REQUEST + 4;
        let (base, x) = (set, set + 48);
        let blinds = x + 32;
        let cases = [
            (REQUEST - 1, "blind"), // another place in the log: another session
            (set - 1, "layout"),
            (WARRANT + 3, "blind"), // another session, for which no blind holds
            (MACHINE + 1, "register"),
            (base + 1, "layout"), // rarely a point
            (x + 31, "credential"),
            (blinds + 159, "blind"),
            (blinds + 2 * 160 + 111, "share"),
        ];
        for (at, rule) in cases {
            court.altered(&result, "altered", |payload| payload[at] ^= 1);
            let (status, _, error) = court.judge("altered");
            assert_eq!(status, 1, "byte {at}: {error}");
            assert!(
                error.contains(&format!("(rule {rule})"))
                    || at == base + 1 && error.contains("(rule signer)"),
                "byte {at}: {error}"
            );
        }
    }
}

/// A blind that is not the one committed to: the honest trustee answers nothing, and names who it was.
#[test]
fn a_trustee_who_changes_its_blind_is_named() {
    let court = Court::new("xr");
    let question = ["--match", "web-1", "--register", "acme"];
    let step = |trustee, more: &[&str], to: &str| {
        court.share(trustee, "1", &[&question[..], more].concat(), to)
    };
    for round in ["old", "new"] {
        for trustee in [1, 3] {
            let to = format!("{round}-{trustee}.commit");
            assert_eq!(step(trustee, &["--with", "1,3"], &to).0, 0);
        }
        let given = [1, 3].map(|t| format!("{round}-{t}.commit"));
        for trustee in [1, 3] {
            let to = format!("{round}-{trustee}.blind");
            assert_eq!(
                step(trustee, &["--share", &given[0], "--share", &given[1]], &to).0,
                0
            );
        }
    }
    let (status, _, error) = step(
        1,
        &["--share", "new-1.blind", "--share", "old-3.blind"],
        "no",
    );
    assert_eq!(status, 2);
    assert!(error.contains("trustee 3"), "{error}");
    assert!(!court.path("no").exists());
    let both = ["--share", "new-1.blind", "--share", "new-3.blind"];
    let (status, _, error) = step(1, &both, "late");
    assert_eq!(status, 2);
    assert!(error.contains("start again"), "{error}");
}

/// Only the issuer computes bases: in its directory, or beforehand in a register file with points.
#[test]
fn a_match_takes_points_of_the_packet_s_epoch() {
    let court = Court::new("xr");
    court.yes(&["revoke", "acme", "web-2"]);
    court.yes(&["update", "--key", "web-1.key", "--group", GROUP]);
    court.sign("web-1.key");
    let with = |register: &str, machine: &str, to: &str| {
        let question = ["--match", machine, "--register", register, "--with", "1,3"];
        court.share(1, "1", &question, to)
    };
    let register = ["group", "register", "acme"];
    court.yes(&[&register[..], &["--epoch", "1", "-o", "hashes"]].concat());
    court.yes(&[&register[..], &["--points", "--epoch", "0", "-o", "other"]].concat());
    let both = ["--points", "--epoch", "1", "--epoch", "0", "-o", "points"];
    court.yes(&[&register[..], &both].concat());
    for (register, wanted) in [
        (
            "hashes",
            "clew group register DIR --machine web-1 --epoch 1 --points",
        ),
        ("other", "does not have points of epoch 1"),
    ] {
        let (status, _, error) = with(register, "web-1", "no");
        assert_eq!(status, 2);
        assert!(error.contains(wanted), "{error}");
    }
    for register in ["acme", "points"] {
        let (status, _, error) = with(register, "web-2", "no");
        assert_eq!(status, 1, "it was revoked: {error}");
        assert!(error.contains("machine web-2 could not sign"), "{error}");
        let (status, _, error) = with(register, "web-9", "no");
        assert_eq!(status, 2);
        assert!(
            error.contains("machine web-9 is not in the register"),
            "{error}"
        );
        let (status, _, error) = with(register, "web-1", &format!("by-{register}"));
        assert_eq!(status, 0, "{error}");
    }
}
