//! Every reason of section 15: where it is provoked, or why the engine has no such case.

use clew_tunnel::Reason;

/// A test of this directory that reads its counter, or what is in its way.
fn place(reason: Reason) -> Result<&'static str, &'static str> {
    use Reason as R;
    let codec =
        Err("of a record's reader: tests/record.rs; here only where an answer has a record");
    Ok(match reason {
        R::BadLength | R::BadFlags | R::UnknownTid | R::BadSize => "header: lengths_and_flags",
        R::BadTime | R::Replayed => "header: a_first_packet_is_taken_once",
        R::PuzzleAsked => "solutions: a_solution_opens_a_tunnel",
        R::OldSolution | R::BadSolution => "solutions: a_solution_is_for_one_address",
        R::BadBox | R::BadFirst | R::KeyMismatch | R::BadTid => "header: the_reasons_of_step_eight",
        R::TooManyRekeys => "paths: rekeys_are_rare",
        R::Misplaced => "peers: next_tid_without_its_flag",
        R::BadKey => "header: keys_of_small_order",
        R::Busy => {
            "peers: a_program_that_does_not_decide; bounds: questions_that_wait; solutions: who_has_worked"
        }
        R::DuplicateNonce | R::OldNonce => "peers: nonces_are_decrypted_once",
        R::DuplicateSeq | R::Ahead | R::OldWindow | R::UnknownRpc | R::ClosedConnection => {
            "peers: what_is_passed_over"
        }
        R::TooManyMoves => "paths: moves_are_rare",
        R::Truncated | R::UnknownType | R::TooLong | R::BadUtf8 | R::TooDeep | R::TooManyValues => {
            "peers: what_breaks_the_rules"
        }
        R::NotACall | R::TooManyRpcs | R::BadPadding | R::BadAck | R::Order => {
            "peers: what_breaks_the_rules"
        }
        R::BadArguments | R::BadConnection => "peers: what_breaks_the_rules",
        R::WrongSide | R::UnknownConnection => {
            "peers: what_breaks_the_rules; visits: servers_that_break_the_rules"
        }
        R::OverWindow => "peers: credit_is_exact; visits: servers_that_break_the_rules",
        R::Unasked => "visits: what_a_client_did_not_ask_for",
        R::BadService | R::NotOffered | R::StaleAuthenticator | R::Authenticator => {
            "peers: what_is_not_to_be"
        }
        R::TooManyConnections | R::TooFast => "bounds: connections_are_as_many",
        R::NoRoom => {
            return Err("each of CONNECTIONS_MAX connections has a claim to CREDIT within GRANT");
        }
        R::UnknownService | R::NotAuthorised => "peers: the_programs_refusals",
        R::NotAllowed => "bounds: a_tunnel_under_the_boxing_key; peers: what_is_not_to_be",
        R::BadIdentity => "peers: what_is_not_to_be",
        R::UnknownHost => "bounds: questions_that_wait",
        R::RecordLength => "services: a_record_that_is_none",
        R::RecordVersion | R::Untrusted | R::BadHostname | R::WrongHost => return codec,
        R::ReservedBits | R::BadLimits | R::BadAddress | R::Expired => return codec,
        R::RecordSignature | R::RecordKeys | R::BadLifetime | R::NotYetValid | R::NotNewer => {
            "visits: stale_key_answers_that_are_not_to_be"
        }
        R::UnexpectedAnswer => "visits: stale_key_answers_that_are_not_to_be",
        R::TooManyAnswers => "visits: stale_key_answers_are_followed_twice",
        R::TooManyPuzzles | R::Unsolvable | R::TooHard => "visits: interrogations_are_answered",
        R::NoAnswer => "visits: a_silent_server; bounds: authenticators_beyond_the_rate",
        R::WrongState => return Err("a defect; the states' own tests ask for impossible steps"),
        R::Idle => "paths: a_tunnel_that_was_heard_a_day_ago",
    })
}

#[test]
fn every_reason_is_provoked_or_has_a_reason_not_to_be() {
    let tests = [
        ("header", include_str!("header.rs")),
        ("bounds", include_str!("bounds.rs")),
        ("paths", include_str!("paths.rs")),
        ("peers", include_str!("peers.rs")),
        ("solutions", include_str!("solutions.rs")),
        ("visits", include_str!("visits.rs")),
        ("services", include_str!("services.rs")),
    ];
    for reason in Reason::ALL {
        let Ok(places) = place(reason) else { continue };
        for part in places.split("; ") {
            let (file, names) = part.split_once(": ").expect("file: tests");
            let text = tests.iter().find(|(name, _)| *name == file);
            let text = text.expect("a file of this directory").1;
            for name in names.split(", ") {
                assert!(
                    text.contains(&format!("fn {name}")),
                    "{reason}: {file} {name}"
                );
            }
            let variant = format!("Reason::{reason:?}");
            assert!(text.contains(&variant), "{variant} is not read in {file}");
        }
    }
}
