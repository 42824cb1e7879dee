//! The whole story, by commands and over the network.

use crate::folder::{Folder, GROUP, until, wait, yes};
use clew_log::entry::{Body, Seal};
use serde_json::Value;
use std::time::Duration;

#[test]
fn what_is_logged_is_proved_counted_and_audited() {
    let folder = Folder::new();
    let (log, _witnesses) = folder.whole();
    let client = log.log();
    folder.yes(&["log", "publish", "acme", &log.url]);
    // Again: the log has all of it.
    let said = folder.yes(&["log", "publish", "acme", &log.url]);
    assert!(said.starts_with("0 new entries"), "{said}");
    let court = folder.author("court", "requester", &log);
    let trustees =
        ["trustee:1", "trustee:2"].map(|role| folder.author(&role.replace(':', "-"), role, &log));
    let audit = folder.with(&[
        "log", "verify", &log.url, "--group", GROUP, "--state", "seen",
    ]);

    let entry = court.signs(court.request(1, Seal::Open(court.warrant())));
    let seconds = crate::folder::now().as_nanos() / 1_000_000_000;
    let proof = wait(client.add_cosigned(&entry, &folder.policy(), seconds)).unwrap();
    // The same statement at a later time has the same place.
    let again = court.signs(court.request(1, Seal::Open(court.warrant())));
    let (place, _) = wait(client.add(&again)).unwrap();
    assert_eq!(place, proof.index);
    assert!(folder.yes(&audit).starts_with("valid: "));

    let end = crate::folder::now() + Duration::from_secs(3);
    let sealed = wait(court.says(&client, court.request(2, Seal::Until(end)))).unwrap();
    for (trustee, index) in trustees.iter().zip(1..) {
        wait(trustee.says(&client, yes(sealed, index))).unwrap();
    }
    wait(trustees[0].says(&client, yes(proof.index, 1))).unwrap();
    // One yes of two is no opening; the sealed one counts from the start.
    let counted = |source: &str| {
        let line = folder.yes(&folder.with(&["log", "count", source, "--group", GROUP, "--json"]));
        serde_json::from_str::<Value>(&line).unwrap()
    };
    let counts = counted("log");
    assert_eq!(counts["threshold"], 2);
    assert_eq!(counts["months"][0]["openings"], 1, "{counts}");
    assert_eq!(counts["months"][0]["signatures"], 5);
    assert_eq!(counts["sealed"], 1);
    let overdue = || counted("log")["overdue"].clone();
    until("the seal ends", || overdue() == serde_json::json!([sealed]));
    // An audit sees what the witnesses have seen.
    let audited = |line: &str| folder.yes(&audit).contains(line);
    until("one is overdue", || audited("  requests  2, 1 overdue"));
    let unsealed = Body::Unsealed {
        place: sealed,
        warrant: court.warrant(),
    };
    let place = wait(trustees[1].says(&client, unsealed)).unwrap();
    assert_eq!(overdue(), serde_json::json!([]));

    // Until the witnesses have it, its proof is not there.
    let prove = |file: &str| {
        let place = place.to_string();
        folder.clew(&folder.with(&["log", "prove", &log.url, &place, "-o", file]))
    };
    until("the witnesses cosign", || prove("proof").status.success());
    let check = folder.with(&["log", "verify", "--proof", "proof"]);
    assert!(folder.yes(&check).contains("unsealed"));
    assert!(audited("  requests  2, 0 overdue"));
    assert_eq!(counted(&log.url)["requests"], 2);

    // A proof of another entry, or without a witness, is not one.
    let text = std::fs::read_to_string(folder.path("proof")).unwrap();
    let other = text.replacen(&format!("index {place}"), "index 1", 1);
    std::fs::write(folder.path("other"), other).unwrap();
    folder.ends(1, &folder.with(&["log", "verify", "--proof", "other"]));
    let alone: Vec<_> = text.lines().filter(|line| !line.contains(" w2 ")).collect();
    std::fs::write(folder.path("alone"), alone.join("\n") + "\n").unwrap();
    let said = folder.ends(2, &folder.with(&["log", "verify", "--proof", "alone"]));
    assert!(said.contains("need recent cosignatures of 2"), "{said}");
}

/// The log says by which rule it refuses.
#[test]
fn refusals_name_their_rule() {
    let folder = Folder::new();
    let log = folder.serve("log", &[]);
    let client = log.log();
    let court = folder.author("court", "requester", &log);
    let refused = |entry| {
        let error = wait(client.add(&entry)).unwrap_err();
        error.rule().map(str::to_owned)
    };
    let early = crate::folder::now() - Duration::from_secs(3_700);
    let open = || court.request(1, Seal::Open(court.warrant()));
    let rule = |rule: &str| Some(rule.to_owned());
    assert_eq!(refused(court.signs_at(open(), early)), rule("time"));
    assert_eq!(refused(court.signs(yes(0, 1))), rule("author"));
    let record = [0; 32];
    assert_eq!(refused(court.signs(Body::Group { record })), rule("author"));
    let far = crate::folder::now() + Duration::from_secs(367 * 86_400);
    assert_eq!(
        refused(court.signs(court.request(1, Seal::Until(far)))),
        rule("seal")
    );
    let evidence = [0; 32];
    let result = Body::Result { place: 0, evidence };
    assert_eq!(refused(court.signs(result)), rule("order"));
    let place = wait(court.says(&client, open())).unwrap();
    let unsealed = Body::Unsealed {
        place,
        warrant: court.warrant(),
    };
    assert_eq!(refused(court.signs(unsealed)), rule("order"));
    // Another statement about the same request.
    let end = crate::folder::now() + Duration::from_secs(60);
    assert_eq!(
        refused(court.signs(court.request(1, Seal::Until(end)))),
        rule("fork")
    );
}
