//! A manager that takes the group's log away: trustees refuse, and a judge says what is missing.

use crate::common::court::opened;
use crate::common::*;
use clew_evidence::GroupLog;
use clew_group::Scheme;
use clew_log::{KeyKind, VerifierKey};
use clew_manager::EpochStart;
use clew_trustee::approval::{Shown, Unapproved};
use clew_trustee::policy::{Policy, Waivable};
use clew_trustee::rules::{Case, Limits};
use clew_trustee::{Responder, TrusteeError};
use std::time::Duration;

/// What trustee 1 answers at a time.
fn answer(
    acme: &TestGroup,
    sent: &Sent,
    policy: Option<&Policy>,
    now: u64,
) -> Result<(), TrusteeError> {
    let (key, path) = (acme.trustee(1), acme.trustee_path(1));
    let (group, packet) = (acme.checked(), sent.packet());
    let request = sent.opening(&group);
    let case = Case {
        group: &group,
        request: &request,
        packet: &packet,
        shown: Shown {
            policy,
            ..Shown::default()
        },
    };
    let responder = Responder::new(&key, &path).unwrap();
    responder.open(case, now, &mut rng(7)).map(drop)
}

fn rule(answer: Result<(), TrusteeError>) -> Unapproved {
    match answer {
        Err(TrusteeError::Unapproved(rule)) => rule,
        other => unreachable!("{other:?}"),
    }
}

fn set_log(acme: &mut TestGroup, is_named: bool, start: EpochStart) {
    let key = acme.issuer.manager.verifying_key();
    let key = VerifierKey::new("log", KeyKind::Log, key).unwrap();
    let log = is_named.then(|| GroupLog::new(key).unwrap());
    acme.store.set_log(&acme.issuer, log, start).unwrap();
}

fn caveats(acme: &TestGroup, sent: &Sent) -> Vec<(&'static str, Option<u32>)> {
    let (_, judged) = opened(acme, sent).unwrap();
    let all = judged.caveats.iter();
    all.map(|own| (own.as_str(), own.epoch())).collect()
}

#[test]
fn a_log_that_was_given_up_is_still_demanded() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let sent = Sent::by(&acme.enrol("a"), b"m", 1);
    assert!(answer(&acme, &sent, None, NOW).is_ok(), "never had a log");
    assert!(
        !caveats(&acme, &sent)
            .iter()
            .any(|(name, _)| *name == "not-requested")
    );
    set_log(&mut acme, true, EpochStart::now(LATER));
    assert_eq!(
        rule(answer(&acme, &sent, None, LATER + 1)),
        Unapproved::NoPolicy
    );
    assert!(
        answer(&acme, &sent, None, NOW).is_ok(),
        "before its epoch began"
    );
    assert!(caveats(&acme, &sent).contains(&("not-requested", None)));
    set_log(&mut acme, false, EpochStart::now(LATER + 2));
    let refused = rule(answer(&acme, &sent, None, LATER + 3));
    assert_eq!((refused, refused.number()), (Unapproved::LogGivenUp, 32));
    let said = caveats(&acme, &sent);
    assert!(said.contains(&("log-given-up", Some(2))), "{said:?}");
    assert!(said.contains(&("not-requested", None)), "{said:?}");
    // A policy that does not waive the rule; and one that does, which still needs a warrant.
    let mut policy = Policy {
        author: None,
        issuers: Vec::new(),
        witnesses: Vec::new(),
        threshold: 1,
        max_age: Duration::from_secs(1),
        limits: Limits::default(),
        waived: [Waivable::WarrantExpired].into(),
    };
    let refused = rule(answer(&acme, &sent, Some(&policy), LATER + 3));
    assert_eq!(refused, Unapproved::LogGivenUp);
    policy.waived.insert(Waivable::LogGivenUp);
    let refused = rule(answer(&acme, &sent, Some(&policy), LATER + 3));
    assert_eq!(refused, Unapproved::WarrantMissing);
    // With a log again there is no such caveat and no such rule.
    set_log(&mut acme, true, EpochStart::now(LATER + 4));
    assert_eq!(
        rule(answer(&acme, &sent, None, LATER + 5)),
        Unapproved::NoPolicy
    );
    let said = caveats(&acme, &sent);
    assert!(
        !said.iter().any(|(name, _)| *name == "log-given-up"),
        "{said:?}"
    );
}
