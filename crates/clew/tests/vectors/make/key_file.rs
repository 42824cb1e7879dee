//! Vectors of the key files.

use clew_group::bbs04::{IssuerKey, OpenerKey};
use clew_manager::keys::{IssuerKeyFile, TrusteeKeyFile};
use clew_manager::sealed::{Secret, seal};
use zeroize::Zeroizing;

use super::group::GROUP;
use super::{hash, rng};
use crate::case::Case;

const MEMBER: &str = "clew-member-key-1";
const ISSUER: &str = "clew-issuer-key-1";
const TRUSTEE: &str = "clew-trustee-key-1";
const SEALED: &str = "clew-sealed-1";

const PASSPHRASE: &str = "correct horse battery staple";
const KEY_FILE: &[u8] = b"the content of a key file";

pub fn all() -> Vec<Case> {
    let mut cases = good();
    cases.extend(bad_text());
    cases.extend(bad_payloads());
    cases.extend(sealed());
    cases
}

fn case(name: &str, expect: &str, comment: &str, wanted: &str, text: &str) -> Case {
    Case::new("key-file", name, expect, comment)
        .text("wanted", wanted)
        .lines("line", text)
}

/// File of the vector that has the key of `web-1` for an epoch.
pub fn member_file(epoch: usize) -> String {
    format!("member-epoch-{epoch}.txt")
}

fn good() -> Vec<Case> {
    let member = |epoch: usize| {
        let (key, file) = (GROUP.key_file(epoch), member_file(epoch));
        let name = file.strip_suffix(".txt").unwrap();
        let comment = format!("Machine web-1 in epoch {epoch}.");
        case(name, "valid", &comment, MEMBER, &key.encode())
            .hex("group", key.group.0)
            .hex("epoch", key.epoch.to_be_bytes())
            .text("machine", key.machine.as_str())
            .hex("public-key", key.public.to_bytes())
            .hex("member-key", key.key.to_bytes().as_slice())
    };
    let issuer = issuer();
    let issuer_case = case(
        "issuer",
        "valid",
        "The issuer's key file.",
        ISSUER,
        &issuer.encode(),
    )
    .hex("group", issuer.group.0)
    .hex("gamma", issuer.issuer.to_bytes().as_slice())
    .hex("manager-seed", issuer.manager.to_bytes())
    .hex("seed", issuer.seed.as_slice());
    let trustee = trustee();
    let trustee_case = case(
        "trustee",
        "valid",
        "The one trustee's key file.",
        TRUSTEE,
        &trustee.encode(),
    )
    .hex("group", trustee.group.0)
    .hex("index", [trustee.index])
    .hex("opener-key", trustee.opener.to_bytes().as_slice());
    vec![member(0), member(1), member(2), issuer_case, trustee_case]
}

fn issuer() -> IssuerKeyFile {
    IssuerKeyFile {
        group: GROUP.id(),
        issuer: IssuerKey::from_bytes(GROUP.issuer.to_bytes().as_slice()).unwrap(),
        manager: GROUP.manager.clone(),
        seed: Zeroizing::new(hash(b"seed")),
    }
}

fn trustee() -> TrusteeKeyFile {
    TrusteeKeyFile {
        group: GROUP.id(),
        index: 1,
        opener: OpenerKey::from_bytes(GROUP.opener.to_bytes().as_slice()).unwrap(),
    }
}

/// What is wrong before the payload is looked at.
fn bad_text() -> Vec<Case> {
    let good = trustee().encode();
    let key_line = good.lines().nth(1).unwrap();
    let base64 = key_line.split_once(' ').unwrap().1;
    let bad = |name: &str, expect: &str, comment: &str, text: &str| {
        case(name, expect, comment, TRUSTEE, text)
    };
    let member = GROUP.key_file(0).encode();
    let unpadded = member.lines().nth(1).unwrap().trim_end_matches('=');
    assert!(!member.contains(&format!("{unpadded}\n")), "it had padding");
    vec![
        case(
            "wrong-label",
            "label",
            "A trustee's key where a member's is wanted.",
            MEMBER,
            &good,
        ),
        case(
            "unknown-label",
            "label",
            "A version that nobody knows yet.",
            TRUSTEE,
            &format!("clew-trustee-key-2 {base64}"),
        ),
        bad("empty", "not-a-key", "Only a comment.", "# a comment"),
        bad(
            "other-program",
            "not-a-key",
            "A line of another program.",
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA==",
        ),
        bad("no-base64", "not-a-key", "A label alone.", TRUSTEE),
        bad(
            "two-keys",
            "not-a-key",
            "Two key lines.",
            &format!("{key_line}\n{key_line}"),
        ),
        bad(
            "too-long",
            "not-a-key",
            "More than 16 KiB.",
            &format!("# {}\n{key_line}", "x".repeat(16_384)),
        ),
        case(
            "base64-unpadded",
            "damaged",
            "The padding is missing.",
            MEMBER,
            unpadded,
        ),
        bad(
            "base64-character",
            "damaged",
            "A character that is not of base64.",
            &format!("{TRUSTEE} !{}", &base64[1..]),
        ),
        bad(
            "shorter-than-checksum",
            "damaged",
            "Seven bytes.",
            &format!("{TRUSTEE} AAAAAAAAAA=="),
        ),
        bad(
            "checksum",
            "damaged",
            "The first character is another.",
            &format!("{TRUSTEE} B{}", &base64[1..]),
        ),
        bad(
            "checksum-of-other-label",
            "damaged",
            "The payload and checksum of an issuer's key.",
            &issuer().encode().replace(ISSUER, TRUSTEE),
        ),
    ]
}

/// Fields that do not decode, under a checksum that holds.
fn bad_payloads() -> Vec<Case> {
    let (member, issuer, trustee) = (
        payload(&GROUP.key_file(0).encode()),
        payload(&issuer().encode()),
        payload(&trustee().encode()),
    );
    let changed = |payload: &[u8], at: usize, value: &[u8]| super::replaced(payload, at, value);
    let bad = |name: &str, comment: &str, label: &str, payload: &[u8]| {
        case(name, "damaged", comment, label, &armored(label, payload))
    };
    vec![
        bad(
            "member-scheme",
            "Scheme 2.",
            MEMBER,
            &changed(&member, 0, &[2]),
        ),
        bad(
            "member-name",
            "The machine's name is empty.",
            MEMBER,
            &without_name(&member),
        ),
        bad(
            "member-public-key",
            "g1 of the public key is the identity.",
            MEMBER,
            &changed(&member, 27, &[&[0xc0][..], &[0; 47]].concat()),
        ),
        bad(
            "member-x",
            "x is not reduced.",
            MEMBER,
            &changed(&member, member.len() - 32, &[0xff; 32]),
        ),
        bad(
            "member-long",
            "A byte behind the fields.",
            MEMBER,
            &[&member[..], &[0]].concat(),
        ),
        bad(
            "member-short",
            "A byte is missing.",
            MEMBER,
            &member[..member.len() - 1],
        ),
        bad(
            "issuer-gamma",
            "gamma is zero.",
            ISSUER,
            &changed(&issuer, 16, &[0; 32]),
        ),
        bad(
            "issuer-long",
            "A byte behind the fields.",
            ISSUER,
            &[&issuer[..], &[0]].concat(),
        ),
        bad(
            "issuer-short",
            "A byte is missing.",
            ISSUER,
            &issuer[..issuer.len() - 1],
        ),
        bad(
            "trustee-scheme",
            "Scheme 2.",
            TRUSTEE,
            &changed(&trustee, 0, &[2]),
        ),
        bad(
            "trustee-index",
            "Index 0.",
            TRUSTEE,
            &changed(&trustee, 17, &[0]),
        ),
        bad(
            "trustee-xi1",
            "xi1 is zero.",
            TRUSTEE,
            &changed(&trustee, 18, &[0; 32]),
        ),
        bad(
            "trustee-long",
            "A byte behind the fields.",
            TRUSTEE,
            &[&trustee[..], &[0]].concat(),
        ),
    ]
}

/// The member's payload with a name of no bytes; `web-1` has five.
fn without_name(member: &[u8]) -> Vec<u8> {
    [&member[..21], &[0], &member[27..]].concat()
}

fn payload(text: &str) -> Vec<u8> {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let base64 = text.lines().nth(1).unwrap().split_once(' ').unwrap().1;
    let mut bytes = STANDARD.decode(base64).unwrap();
    bytes.truncate(bytes.len() - 8);
    bytes
}

fn armored(label: &str, payload: &[u8]) -> String {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let digest = hash(&[label.as_bytes(), payload].concat());
    format!(
        "{label} {}",
        STANDARD.encode([payload, &digest[..8]].concat())
    )
}

fn sealed() -> Vec<Case> {
    let (by_passphrase, by_key_file) = (
        Secret::Passphrase(Zeroizing::new(PASSPHRASE.to_owned())),
        Secret::KeyFile(Zeroizing::new(KEY_FILE.to_vec())),
    );
    let (plain, comment) = (trustee().encode(), trustee().comment());
    let first = seal(
        &plain,
        &comment,
        &by_passphrase,
        &mut rng("sealed by passphrase"),
    );
    let second = seal(
        &plain,
        &comment,
        &by_key_file,
        &mut rng("sealed by key file"),
    );
    let bad = |name: &str, expect: &str, comment: &str, payload: &[u8]| {
        let text = armored(SEALED, payload);
        case(name, expect, comment, SEALED, &text).hex("key-file", KEY_FILE)
    };
    let (costly, head) = (payload(&first), payload(&second));
    let costly = |name: &str, comment: &str, at: usize, value: u32| {
        let text = armored(SEALED, &super::replaced(&costly, at, &value.to_be_bytes()));
        case(name, "damaged", comment, SEALED, &text).text("passphrase", PASSPHRASE)
    };
    let flipped = |at: usize| super::patched(&head, at as isize, head[at] ^ 1);
    vec![
        case(
            "sealed-passphrase",
            "valid",
            "Sealed with a passphrase.",
            SEALED,
            &first,
        )
        .text("passphrase", PASSPHRASE)
        .lines("plain-line", &plain),
        case(
            "sealed-key-file",
            "valid",
            "Sealed with a key file.",
            SEALED,
            &second,
        )
        .hex("key-file", KEY_FILE)
        .lines("plain-line", &plain),
        case(
            "sealed-not-opened",
            "label",
            "A sealed key where the key itself is wanted.",
            TRUSTEE,
            &second,
        ),
        case(
            "sealed-wrong-passphrase",
            "wrong-secret",
            "Another passphrase.",
            SEALED,
            &first,
        )
        .text("passphrase", "correct horse battery stable"),
        case(
            "sealed-wrong-key-file",
            "wrong-secret",
            "Another key file.",
            SEALED,
            &second,
        )
        .hex("key-file", b"the content of a key fil3"),
        case(
            "sealed-other-kind",
            "wrong-secret",
            "A key file for what a passphrase sealed.",
            SEALED,
            &first,
        )
        .hex("key-file", KEY_FILE),
        bad(
            "sealed-salt",
            "wrong-secret",
            "One bit of the salt is flipped.",
            &flipped(1),
        ),
        bad(
            "sealed-passes",
            "wrong-secret",
            "The passes, which a key file does not use, are covered too.",
            &flipped(24),
        ),
        bad(
            "sealed-nonce",
            "wrong-secret",
            "One bit of the nonce is flipped.",
            &flipped(29),
        ),
        bad(
            "sealed-ciphertext",
            "wrong-secret",
            "One bit of the ciphertext is flipped.",
            &flipped(60),
        ),
        bad(
            "sealed-cut",
            "wrong-secret",
            "The last byte is missing.",
            &head[..head.len() - 1],
        ),
        bad(
            "sealed-kind",
            "damaged",
            "Kind 3.",
            &super::replaced(&head, 0, &[3]),
        ),
        bad(
            "sealed-short",
            "damaged",
            "Less than the six fields.",
            &head[..52],
        ),
        costly(
            "sealed-memory",
            "More memory than a reader gives.",
            17,
            (1 << 20) + 1,
        ),
        costly(
            "sealed-many-passes",
            "More passes than a reader makes.",
            21,
            17,
        ),
        costly("sealed-lanes", "More lanes than a reader runs.", 25, 17),
        costly("sealed-no-passes", "No pass: not Argon2id.", 21, 0),
    ]
}
