//! Openings that somebody changed, and trustees who lie.

use super::*;

/// Where a share's first decryption starts: behind step, request and trustee.
const DECRYPTION: usize = 1 + REQUEST + 1;

/// Sizes of one trustee's part of an opening, and of the x behind all of them.
const SCHEMES: [(&str, usize, usize); 2] = [("xr", 1 + 112, 32), ("bbs04", 1 + 224, 0)];

#[test]
fn a_liar_is_named_and_left_out() {
    for scheme in ["xr", "bbs04"] {
        let court = Court::new(scheme);
        court.opened();
        // Trustee 2 hands in trustee 3's numbers as its own.
        court.altered("3.share", "lie.share", |payload| {
            payload[DECRYPTION - 1] = 2
        });
        let (status, _, error) = court.open(&["1.share", "lie.share"], "no");
        assert_eq!(status, 2);
        assert!(
            error.contains("trustee 2: decryption proof invalid"),
            "{error}"
        );
        assert!(!court.path("no").exists());
        let (status, out, error) = court.open(&["1.share", "lie.share", "3.share"], "despite");
        assert_eq!(status, 0, "{error}");
        assert!(out.starts_with("packet 1 was sent by web-1\n"));
        assert!(
            error.contains("trustee 2: decryption proof invalid"),
            "{error}"
        );
        assert_eq!(court.judge("despite").0, 0);
    }
}

/// Each field of an opening changed, with the rule that is named. Behind the shares of two trustees
/// come x (xr), the anchor's length, and the row: length, index, joined, how, replaces, A, name, and
/// what belongs to A; then the size of the register and the proof.
#[test]
fn altered_openings_break_the_rule_they_break() {
    for (scheme, each, x) in SCHEMES {
        let court = Court::new(scheme);
        court.opened();
        let anchor = REQUEST + 2 * each + x;
        let entry = anchor + 2 + 2;
        let name = entry + 4 + 4 + 1 + 4 + 48 + 1;
        let (behind, size) = match scheme {
            "xr" => (name + 5, 48 + 32 + 64 + 64),
            _ => (name + 5, 96),
        };
        let mut cases = vec![
            (16, "layout"),              // kind
            (20, "group"),               // group id
            (40, "group"),               // epoch id
            (PACKET + 32 + 9, "packet"), // asked
            (WARRANT + 16, "share"),     // another request id
            (REQUEST + each - 1, "share"),
            (anchor + 1, "layout"),
            (entry + 3, "register"),  // index
            (entry + 7, "register"),  // joined
            (entry + 12, "register"), // replaces
            (name, "register"),
        ];
        if scheme == "xr" {
            cases.push((anchor - 1, "credential")); // x
            cases.push((behind + 48 + 5, "register")); // the device key
            cases.push((behind + size - 1, "register")); // s of the proof of y
        }
        for (at, rule) in cases {
            court.altered("opening", "altered", |payload| payload[at] ^= 1);
            let (status, _, error) = court.judge("altered");
            assert_eq!(status, 1, "{scheme} byte {at}: {error}");
            let named = error.contains(&format!("(rule {rule})"));
            assert!(named, "{scheme} byte {at}: {error}");
            let answer = court.judged("altered", &[]);
            let said = (&answer["holds"], &answer["rule"]);
            assert_eq!(said, (&false.into(), &rule.into()));
        }
        // The size of the register: a smaller one has another root; a larger one may be to come.
        let size_at = behind + size + 3;
        court.altered("opening", "smaller", |payload| payload[size_at] = 1);
        assert!(court.judge("smaller").2.contains("(rule register)"));
        court.altered("opening", "larger", |payload| payload[size_at] = 3);
        let (status, _, error) = court.judge("larger");
        assert_eq!(status, 2, "{error}");
        assert!(error.contains("need a register of 3 machines"), "{error}");
        court.altered("opening", "longer", |payload| payload.push(0));
        assert!(court.judge("longer").2.contains("(rule layout)"));
        // Another packet: none of the capture has that digest.
        court.altered("opening", "other", |payload| payload[PACKET + 10] ^= 1);
        let (status, _, error) = court.judge("other");
        assert_eq!(status, 2);
        assert!(error.contains("does not contain the packet"), "{error}");
    }
}

/// A share that does not hold names its trustee, in words and in JSON.
#[test]
fn judges_name_the_trustee_whose_share_fails() {
    let court = Court::new("xr");
    court.opened();
    court.altered("opening", "altered", |payload| {
        payload[REQUEST + 113 + 112] ^= 1
    });
    let (status, _, error) = court.judge("altered");
    assert_eq!(status, 1);
    assert!(
        error.contains("trustee 2: invalid share (rule share)"),
        "{error}"
    );
    assert_eq!(court.judged("altered", &[])["trustee"], 2);
}

/// The row of another machine, which is in the register and whose device signed it: with its own x it
/// is not the signer's, with the signer's x it is no credential.
#[test]
fn an_opening_cannot_be_moved_to_another_machine() {
    for (scheme, each, x) in SCHEMES {
        let court = Court::new(scheme);
        court.opened();
        court.yes(&["sign", "--key", "web-2.key", CAPTURE, "-w", "other"]);
        for trustee in ["1", "2"] {
            let key = format!("acme/trustees/{trustee}.key");
            let to = format!("other-{trustee}");
            let of = ["share", "--trustee", &key, "--group", GROUP, "other"];
            court.yes(&[&of[..], &["--packet", "1", "-o", &to]].concat());
        }
        let open = ["open", "--group", GROUP, "--register", "acme", "other"];
        let shares = ["--share", "other-1", "--share", "other-2"];
        court.yes(&[&open[..], &shares, &["--packet", "1", "-o", "o2"]].concat());
        let moves = [(0, "signer"), (x, "credential")];
        for (kept, rule) in moves.into_iter().take(if x > 0 { 2 } else { 1 }) {
            let from = REQUEST + 2 * each + kept;
            let mut other = Vec::new();
            court.altered("o2", "scratch", |payload| other = payload[from..].to_vec());
            court.altered("opening", "moved", |payload| {
                payload.truncate(from);
                payload.extend_from_slice(&other);
            });
            let (status, _, error) = court.judge("moved");
            assert_eq!(status, 1);
            assert!(error.contains(&format!("(rule {rule})")), "{error}");
        }
    }
}

#[test]
fn the_packet_is_judged_too() {
    let court = Court::new("xr");
    court.opened();
    let mut signed = fs::read(court.path("signed")).unwrap();
    let at = signed.len() - 500; // in the last packet, not the first
    signed[at] ^= 1;
    fs::write(court.path("signed"), &signed).unwrap();
    assert_eq!(court.judge("opening").0, 0, "another packet was changed");
    signed[24 + 16 + 60] ^= 1;
    fs::write(court.path("signed"), &signed).unwrap();
    let (status, _, error) = court.judge("opening");
    assert_eq!(status, 2, "a changed packet is not the packet: {error}");
    let (status, _, error) = court.share(1, "1", &[], "x.share");
    assert_eq!(status, 1, "{error}");
    assert!(
        error.contains("packet 1: invalid, bad-signature"),
        "{error}"
    );
}

/// Whatever form travels, trustees and judges look at the plain one: an opening of a packet in the
/// incremental form is judged with the same packet in either.
#[test]
fn the_incremental_form_opens_as_the_plain_one() {
    for scheme in ["xr", "bbs04"] {
        let court = Court::new(scheme);
        let more = ["--incremental", "--nat", "--tolerant", "--force"];
        let sign = ["sign", "--key", "web-2.key", CAPTURE, "-w", "signed"];
        court.yes(&[&sign[..], &more].concat());
        court.opened();
        let (status, out, error) = court.judge("opening");
        assert_eq!(status, 0, "{error}");
        assert!(out.starts_with("packet 1 was sent by web-2\n"), "{out}");
        // Signed once more by another, which marks it: still the same packet.
        court.yes(&["sign", "--key", "web-1.key", "signed", "-w", "marked"]);
        court.yes(&["judge", "--group", GROUP, "opening", "marked"]);
    }
}
