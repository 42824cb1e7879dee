//! Vectors of warrants.

use clew_evidence::armor;
use clew_evidence::{GroupId, Question, Requester, Scope, WallTime, Warrant, WarrantDraft};
use clew_packet::SECOND_NS;
use ed25519_dalek::{Signer, SigningKey};

use crate::case::Case;
use crate::make::damage::Damage;
use crate::make::{flat, hash};

const LABEL: &str = "clew-warrant-1";
const ISSUED: u64 = 1_770_000_000 * SECOND_NS;
const DAY: u64 = 86_400 * SECOND_NS;

/// Where fields of the drafts below are.
const ASKS: usize = 16;
const EXPIRES: usize = ASKS + 1 + 8;
const REFERENCE: usize = EXPIRES + 8 + 16;
const KEY: usize = REFERENCE + 1 + "4 KLs 17/26".len();
const MACHINE: usize = KEY + 64 + 1 + "police".len();
const COUNT: usize = MACHINE + 32;

pub fn all() -> Vec<Case> {
    flat([good(), texts(), bad(), asked()])
}

fn key(label: &str) -> SigningKey {
    SigningKey::from_bytes(&hash(label.as_bytes()))
}

fn digest(number: usize) -> [u8; 32] {
    hash(format!("signature {number}").as_bytes())
}

fn draft(question: Question, count: usize) -> WarrantDraft {
    let digests = (0..count).map(digest).collect();
    WarrantDraft {
        group: GroupId(*b"clew vectors id."),
        issued: WallTime::from_nanos(ISSUED),
        expires: WallTime::from_nanos(ISSUED + 30 * DAY),
        nonce: *b"random, 16 bytes",
        reference: "4 KLs 17/26".parse().unwrap(),
        requester: Requester {
            key: key("police").verifying_key().to_bytes(),
            encryption: hash(b"police, X25519"),
            name: "police".parse().unwrap(),
        },
        scope: Scope::new(question, digests).unwrap(),
    }
}

fn opening() -> WarrantDraft {
    draft(Question::Opening, 2)
}

fn matching() -> WarrantDraft {
    draft(Question::Match { machine: hash(b"leaf") }, 1)
}

fn sign(draft: WarrantDraft) -> Warrant {
    draft.sign("court".parse().unwrap(), &key("court")).unwrap()
}

fn payload(warrant: &Warrant) -> Vec<u8> {
    armor::decode(&warrant.encode(), LABEL).unwrap().to_vec()
}

fn case(name: &str, expect: &str, comment: &str, text: &str) -> Case {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    Case::new("warrant", name, expect, comment).texts("line", lines)
}

fn good() -> Vec<Case> {
    let case = |name: &str, comment: &str, draft: WarrantDraft| {
        let (asks, machine) = match draft.scope.question {
            Question::Opening => (1, None),
            Question::Match { machine } => (2, Some(machine)),
        };
        case(name, "valid", comment, &sign(draft.clone()).encode())
            .hex("group", draft.group.0)
            .hex("asks", [asks])
            .hex("issued", draft.issued.as_nanos().to_be_bytes())
            .hex("expires", draft.expires.as_nanos().to_be_bytes())
            .hex("nonce", draft.nonce)
            .text("reference", draft.reference.as_str())
            .hex("requester", draft.requester.key)
            .hex("encryption", draft.requester.encryption)
            .text("requester-name", draft.requester.name.as_str())
            .each("machine", machine)
            .each("digest", draft.scope.digests)
            .hex("issuer", key("court").verifying_key().to_bytes())
            .text("issuer-name", "court")
    };
    let year = WarrantDraft { expires: WallTime::from_nanos(ISSUED + 366 * DAY), ..opening() };
    let tick = WarrantDraft { expires: WallTime::from_nanos(ISSUED + 1), ..opening() };
    vec![
        case("opening", "An opening of either of two signatures.", opening()),
        case("match", "A match of one signature with one machine.", matching()),
        case(
            "most",
            "256 signatures, in force for 366 days.",
            WarrantDraft { expires: year.expires, ..draft(Question::Opening, 256) },
        ),
        case("shortest", "In force for a nanosecond.", tick),
    ]
}

fn texts() -> Vec<Case> {
    let good = sign(opening()).encode();
    let line = good.lines().last().unwrap();
    let cut = format!("{}\n", &line[..line.len() - 4]);
    let draft = opening().encode();
    vec![
        case("draft", "label", "A draft, which nobody signed.", &draft),
        case("text-letter", "not-a-key", "A letter of the court.", "We allow it.\n"),
        case("text-cut", "damaged", "The last four characters are missing.", &cut),
    ]
}

/// A payload that somebody signed whatever it says.
fn signed(statement: &[u8]) -> String {
    let domain: [u8; 32] = std::array::from_fn(|at| LABEL.as_bytes().get(at).copied().unwrap_or(0));
    let signature = key("court").sign(&[&domain[..], statement].concat()).to_bytes();
    armor::encode("", LABEL, &[statement, &signature].concat()).to_string()
}

fn bad() -> Vec<Case> {
    let statement = payload(&sign(opening())).cut(64);
    let matched = payload(&sign(matching())).cut(64);
    let bad = |name: &str, rule: &str, comment: &str, statement: &[u8]| {
        case(&format!("{rule}-{name}"), &format!("warrant-{rule}"), comment, &signed(statement))
    };
    let expires = |time: u64| statement.set(EXPIRES, time.to_be_bytes());
    let digests = COUNT + 2;
    let swapped =
        statement.set(digests, &statement[digests + 32..digests + 64]).set(digests + 32, &statement[digests..digests + 32]);
    let twice = statement.set(digests + 32, &statement[digests..digests + 32]);
    let none = [&statement[..COUNT], &[0, 0], &statement[digests + 64..]].concat();
    let many: Vec<u8> = (0..257_u16).flat_map(|n| [&n.to_be_bytes()[..], &[0; 30]].concat()).collect();
    let many = [&statement[..COUNT], &[1, 1], &many, &statement[digests + 64..]].concat();
    let payload = payload(&sign(opening()));
    let end = payload.len();
    let raw = |name: &str, comment: &str, payload: &[u8]| {
        let text = armor::encode("", LABEL, payload).to_string();
        case(&format!("signature-{name}"), "warrant-signature", comment, &text)
    };
    let issuer = digests + 64;
    vec![
        bad("asks-0", "layout", "It asks for nothing.", &statement.set(ASKS, [0])),
        bad("asks-3", "layout", "It asks for 3.", &statement.set(ASKS, [3])),
        bad("machine", "layout", "A machine in an opening.", &statement.set(MACHINE, [1])),
        bad("reference", "layout", "An empty reference.", &statement.set(REFERENCE, [0])),
        bad("control", "layout", "The reference has a line end.", &statement.set(REFERENCE + 2, b"\n")),
        bad("key", "layout", "The requester's key has small order.", &statement.set(KEY, [0; 32])),
        bad("long", "layout", "A byte too many, and signed.", &statement.plus([0])),
        bad("short", "layout", "A byte is missing, and signed.", &statement.cut(1)),
        bad("none", "time", "It expires when it was issued.", &expires(ISSUED)),
        bad("backwards", "time", "It expires before it was issued.", &expires(ISSUED - 1)),
        bad("long", "time", "A nanosecond more than 366 days.", &expires(ISSUED + 366 * DAY + 1)),
        bad("none", "scope", "No signature.", &none),
        bad("many", "scope", "257 signatures.", &many),
        bad("order", "scope", "Two digests in the other order.", &swapped),
        bad("twice", "scope", "One digest twice.", &twice),
        bad("machine", "scope", "A match without a machine.", &matched.set(MACHINE, [0; 32])),
        raw("flipped", "The signature is one bit off.", &payload.flip(-1)),
        raw("statement", "A digest is one bit off.", &payload.set(digests + 31, [payload[digests + 31] ^ 1])),
        raw(
            "issuer",
            "The key of the requester in the place of the issuer's.",
            &payload.set(issuer, key("police").verifying_key().to_bytes()),
        ),
        raw("weak", "The issuer's key has small order.", &payload.set(issuer, [0; 32])),
        raw("domain", "The signature has no domain.", &payload.set(end - 64, key("court").sign(&payload[..end - 64]).to_bytes())),
    ]
}

/// What somebody asks under a warrant: group, asks, digest, machine, time.
fn asked() -> Vec<Case> {
    let of = |name: &str, rule: &str, comment: &str, draft: WarrantDraft| {
        let (asks, machine) = match draft.scope.question {
            Question::Opening => (1, [0; 32]),
            Question::Match { machine } => (2, machine),
        };
        let expect = if rule == "valid" { rule.to_owned() } else { format!("warrant-{rule}") };
        case(&format!("asked-{name}"), &expect, comment, &sign(draft.clone()).encode())
            .hex("asked-group", draft.group.0)
            .hex("asked-asks", [asks])
            .hex("asked-digest", digest(0))
            .hex("asked-machine", machine)
            .hex("asked-time", ISSUED.to_be_bytes())
    };
    let with = |case: Case, name: &str, value: Vec<u8>| case.without(name).hex(name, value);
    let time = |name: &str, rule: &str, comment: &str, time: u64| {
        with(of(name, rule, comment, opening()), "asked-time", time.to_be_bytes().to_vec())
    };
    let end = ISSUED + 30 * DAY;
    vec![
        of("opening", "valid", "An opening that the warrant allows.", opening()),
        of("match", "valid", "A match that the warrant allows.", matching()),
        with(of("group", "group", "About another group.", opening()), "asked-group", vec![7; 16]),
        with(of("question", "question", "A match is asked for.", opening()), "asked-asks", vec![2]),
        with(of("question-match", "question", "An opening is asked for.", matching()), "asked-asks", vec![1]),
        with(of("packet", "packet", "About another signature.", opening()), "asked-digest", vec![7; 32]),
        with(of("machine", "machine", "With another machine.", matching()), "asked-machine", vec![7; 32]),
        time("early", "early", "A nanosecond before it was issued.", ISSUED - 1),
        time("last", "valid", "In the last nanosecond.", end - 1),
        time("expired", "expired", "When it expires.", end),
    ]
}
