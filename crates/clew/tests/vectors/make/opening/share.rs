//! Vectors of shares: all four steps, of both schemes, and what is wrong with them.

use clew_evidence::{Question, Request, Share, Step};
use clew_group::Scheme;
use clew_group::quorum::Trustee;

use crate::case::Case;
use crate::make::damage::{Damage, identity};
use crate::make::groups::xr_group::{XR, trustee};
use crate::make::key_file::keys::armored;
use crate::make::opening::good::{Sent, payload};
use crate::make::opening::matches::Asking;
use crate::make::packet::frames::*;
use crate::make::{flat, hash, rng};

const SHARE: &str = "clew-share-1";

/// Where the fields behind the step and the request are.
const TRUSTEE: usize = 1 + 206;
const REST: usize = TRUSTEE + 1;

pub fn all() -> Vec<Case> {
    flat([good_shares(), matches(), damaged(), damaged_matches(), wrong()])
}

/// The share of an opening.
fn share(sent: &Sent, i: u8) -> Share {
    let request = sent.request(Question::Opening, Some(hash(b"a warrant")));
    Share { trustee: trustee(i), step: Step::Opening(sent.decrypt(&sent.asked(&request), trustee(i))), request }
}

fn with_request(case: Case, request: &Request) -> Case {
    let bytes = request.to_bytes();
    case.hex("request", bytes).hex("request-id", request.id())
}

fn case(sent: &Sent, name: &str, expect: &str, comment: &str, text: &str) -> Case {
    sent.case("share", &format!("share-{name}"), expect, comment).lines("line", text)
}

fn good_case(sent: &Sent, name: &str, comment: &str, share: &Share, step: u8) -> Case {
    let case = case(sent, name, "valid", comment, &share.encode());
    with_request(case, &share.request).hex("step", [step]).hex("index", [share.trustee.index()])
}

fn good_shares() -> Vec<Case> {
    let comment = "A trustee's answer to a request for an opening.";
    [
        ("bbs04", Sent::new(Scheme::Bbs04, "web-1", 0, PLAIN), 2),
        ("xr", Sent::new(Scheme::Xr, "web-1", 0, PLAIN), 3),
        ("xr-epoch-4", Sent::new(Scheme::Xr, "web-1", 4, PLAIN), 4),
        ("xr-block", Sent::in_block(1), 2),
    ]
    .map(|(name, sent, i)| good_case(&sent, name, comment, &share(&sent, i), 1))
    .into()
}

fn asking() -> Asking {
    Asking::new(Sent::new(Scheme::Xr, "web-1", 0, PLAIN), "web-1", &[1, 3])
}

/// The shares of trustee 3 in steps 2 to 4.
fn steps(asking: &Asking) -> [Share; 3] {
    let (set, request, third) = (asking.set, asking.request(), trustee(3));
    let label = |i: Trustee| format!("evidence blind of {i}");
    let begun = asking.question().begin(third, &mut rng(&label(third)));
    let (_, commitment) = begun.unwrap();
    let blinds = asking.blinds();
    let decryption = asking.decryptions(&blinds)[1];
    let of = |step| Share { request: request.clone(), trustee: third, step };
    [
        of(Step::Commitment { set, commitment }),
        of(Step::Blind { set, blind: blinds[1] }),
        of(Step::Match { set, blinds, decryption }),
    ]
}

fn matches() -> Vec<Case> {
    let asking = asking();
    let [commitment, blind, answer] = steps(&asking);
    let base = asking.base().to_bytes();
    let blinds: Vec<_> = asking.blinds().iter().map(|b| b.to_bytes()).collect();
    let of =
        |name: &str, comment: &str, share: &Share, step: u8| good_case(&asking.sent, name, comment, share, step).hex("b", base);
    vec![
        of("commitment", "Step 2 of a match, and the blind that it binds.", &commitment, 2).hex("blind", blinds[1]),
        of("blind", "Step 3: the blind.", &blind, 3).each("blind", &blinds),
        of("match", "Step 4: all blinds, and the decryption of their product.", &answer, 4),
    ]
}

/// The payload of the share that cases break, and its packet.
fn good() -> (Sent, Vec<u8>) {
    let sent = Sent::new(Scheme::Xr, "web-1", 0, PLAIN);
    let bytes = payload(&share(&sent, 3).encode(), SHARE);
    (sent, bytes)
}

/// What does not decode.
fn damaged() -> Vec<Case> {
    let (sent, good) = good();
    let bad = |name: &str, comment: &str, payload: &[u8]| case(&sent, name, "damaged", comment, &armored(SHARE, payload));
    let one = |name: &str, comment: &str, at: usize, value: u8| bad(name, comment, &good.set(at, [value]));
    let text = |name: &str, rule: &str, comment: &str, text: &str| case(&sent, name, rule, comment, text);
    let line = armored(SHARE, &good);
    vec![
        text("not-a-key", "not-a-key", "Two lines.", &format!("{line}\n{line}")),
        text("label", "label", "An opening.", &armored("clew-opening-1", &good)),
        text(
            "checksum",
            "damaged",
            "The checksum is of another label.",
            &armored("clew-opening-1", &good).replace("clew-opening-1", SHARE),
        ),
        one("step-0", "Step 0.", 0, 0),
        one("step-5", "Step 5.", 0, 5),
        one("step-2", "Step 2 of a request for an opening.", 0, 2),
        one("domain", "The request has another domain.", 1, b'C'),
        one("kind", "The request has kind 3.", 17, 3),
        one("scheme", "The request has scheme 3.", 18, 3),
        one("scheme-bbs04", "The request has scheme 1, which has two decryptions.", 18, 1),
        one("machine", "The request for an opening names a machine.", 167, 1),
        one("index-0", "Trustee 0.", TRUSTEE, 0),
        one("index-33", "Trustee 33.", TRUSTEE, 33),
        bad("d", "D is the identity.", &good.set(REST, identity(48))),
        bad("s", "s is not reduced.", &good.set(REST + 80, [0xff; 32])),
        bad("long", "A byte too many.", &good.plus([0])),
        bad("cut", "The last byte is missing.", &good.cut(1)),
    ]
}

fn damaged_matches() -> Vec<Case> {
    let asking = asking();
    let [commitment, blind, answer] = steps(&asking).map(|share| payload(&share.encode(), SHARE));
    let bad = |name: &str, comment: &str, payload: &[u8]| case(&asking.sent, name, "damaged", comment, &armored(SHARE, payload));
    let without = |bytes: &[u8]| bytes.set(REST, [0, 0, 0, 3]);
    vec![
        bad("step-1-match", "Step 1 of a request for a match.", &answer.set(0, [1])),
        bad("match-scheme", "A match of scheme bbs04.", &commitment.set(18, [1])),
        bad("set-commitment", "A set without the trustee.", &without(&commitment)),
        bad("set-blind", "A set without the trustee.", &without(&blind)),
        bad("set-match", "A set without the trustee.", &without(&answer)),
        bad("set-size", "A set of three, with two blinds.", &answer.set(REST, [0, 0, 0, 7])),
        bad("commitment-cut", "A byte is missing.", &commitment.cut(1)),
        bad("blind-e", "E is the identity.", &blind.set(REST + 4, identity(48))),
        bad("match-f", "F of trustee 1 is the identity.", &answer.set(REST + 4 + 48, identity(48))),
        bad("match-long", "A byte too many.", &answer.plus([0])),
    ]
}

/// What decodes, and does not hold: the rules of `judge`.
fn wrong() -> Vec<Case> {
    let (sent, good) = good();
    let bad = |name: &str, rule: &str, comment: &str, payload: &[u8]| case(&sent, name, rule, comment, &armored(SHARE, payload));
    let of = |i: u8| move |case: Case| case.blames(i);
    let other = signed(&raw(packet()), "xr-ipv4-udp");
    let asking = asking();
    let [commitment, blind, answer] = steps(&asking);
    let [commitment, blind, answer] = [commitment, blind, answer].map(|share| payload(&share.encode(), SHARE));
    let blinds: Vec<_> = asking.blinds().iter().map(|b| b.to_bytes()).collect();
    let shown = blinds[1];
    let of_match = |name: &str, rule: &str, comment: &str, payload: &[u8]| {
        bad(name, rule, comment, payload).hex("b", asking.base().to_bytes())
    };
    let id = XR.records.epoch_id(1).0;
    vec![
        bad("group", "group", "Another group.", &good.flip(19)),
        bad("epoch-id", "group", "The id of another epoch.", &good.set(39, id)),
        sent.case_with("share", "share-packet", "packet", "Another packet.", &other).lines("line", &armored(SHARE, &good)),
        bad("asked", "packet", "Another packet is asked about.", &good.flip(1 + 133)),
        {
            let asked = share(&Sent::in_block(1), 2).encode();
            let comment = "Another packet of the block than the one asked about.";
            case(&Sent::in_block(2), "block-other", "packet", comment, &asked)
        },
        bad("index-4", "layout", "Trustee 4 of 3.", &good.set(TRUSTEE, [4])),
        of(3)(bad("other-d", "share", "D is another point.", &good.doubled(REST, 48))),
        of(3)(bad("other-s", "share", "s is one bit off.", &good.flip(-1))),
        of(2)(bad("relabelled", "share", "In the name of trustee 2.", &good.set(TRUSTEE, [2]))),
        of_match("set-few", "layout", "A set of one, where two open.", &commitment.set(REST, [0, 0, 0, 4])).hex("blind", shown),
        of_match("set-beyond", "layout", "Trustee 4 of 3 in the set.", &blind.set(REST, [0, 0, 0, 12])).each("blind", &blinds),
        of(3)(of_match("other-commitment", "blind", "It binds another blind.", &commitment.flip(-1))).hex("blind", shown),
        of(3)(of_match("other-blind", "blind", "E is another point.", &blind.doubled(REST + 4, 48))).each("blind", &blinds),
        of(1)(of_match("match-blind", "blind", "The blind of trustee 1 is damaged.", &answer.flip(REST + 4 + 159))),
        of(3)(of_match("match-share", "share", "The decryption is damaged.", &answer.flip(-1))),
        bad("match-base", "blind", "Asked about another machine.", &answer).hex("b", XR.base("web-2", 0).to_bytes()).blames(1),
    ]
}
