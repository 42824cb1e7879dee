//! Vectors of the key files of both schemes.

use base64::{Engine, engine::general_purpose::STANDARD};
use clew_group::Scheme;
use clew_group::quorum::SecretShare;
use clew_manager::keys::{IssuerKey, IssuerKeyFile, OpeningShare, TrusteeKeyFile};
use zeroize::Zeroizing;

use super::bbs04_group::BBS04;
use super::damage::identity;
use super::records::Records;
use super::xr_group::{NEWEST, XR, trustee as index};
use super::{hash, replaced, with_all};
use crate::case::Case;

pub const MEMBER: &str = "clew-member-key-1";
pub const ISSUER: &str = "clew-issuer-key-1";
pub const TRUSTEE: &str = "clew-trustee-key-1";

pub fn all() -> Vec<Case> {
    let groups = [members(), issuers(), trustees(), bad_text(), bad_payloads()];
    groups.into_iter().flatten().collect()
}

pub fn case(name: &str, expect: &str, comment: &str, wanted: &str, text: &str) -> Case {
    Case::new("key-file", name, expect, comment)
        .text("wanted", wanted)
        .lines("line", text)
}

/// File of the vector that has the key of `web-1` for an epoch.
pub fn member_file(scheme: Scheme, epoch: usize) -> String {
    match scheme {
        Scheme::Bbs04 => format!("member-epoch-{epoch}.txt"),
        Scheme::Xr => format!("xr-member-epoch-{epoch}.txt"),
    }
}

fn members() -> Vec<Case> {
    let member = |scheme: Scheme, epoch: usize| {
        let key = match scheme {
            Scheme::Bbs04 => BBS04.key_file(epoch),
            Scheme::Xr => XR.key_file(epoch),
        };
        let file = member_file(scheme, epoch);
        let name = file.strip_suffix(".txt").unwrap();
        let comment = format!("Machine web-1 of {scheme} in epoch {epoch}.");
        let case = case(name, "valid", &comment, MEMBER, &key.encode())
            .hex("scheme", [scheme.code()])
            .hex("group", key.group.0)
            .hex("epoch", key.epoch.to_be_bytes())
            .hex("epoch-id", key.id)
            .text("machine", key.machine.as_str())
            .hex("public-key", key.public.to_bytes())
            .hex("member-key", key.key.to_bytes().as_slice());
        with_all(case, "device-seed", key.device.iter().map(|d| d.to_bytes()))
    };
    let of_bbs04 = (0..=2).map(|epoch| member(Scheme::Bbs04, epoch));
    of_bbs04
        .chain((0..=NEWEST).map(|epoch| member(Scheme::Xr, epoch)))
        .collect()
}

fn issuer(scheme: Scheme) -> IssuerKeyFile {
    let (records, gamma): (&Records, _) = match scheme {
        Scheme::Bbs04 => (&BBS04.records, BBS04.issuer.to_bytes()),
        Scheme::Xr => (&XR.records, XR.issuer.to_bytes()),
    };
    let gamma = gamma.as_slice();
    IssuerKeyFile {
        group: records.id(),
        issuer: match scheme {
            Scheme::Bbs04 => {
                IssuerKey::Bbs04(clew_group::bbs04::IssuerKey::from_bytes(gamma).unwrap())
            }
            Scheme::Xr => IssuerKey::Xr(clew_group::xr::IssuerKey::from_bytes(gamma).unwrap()),
        },
        manager: records.manager.clone(),
        seed: Zeroizing::new(hash(b"seed")),
    }
}

fn issuers() -> Vec<Case> {
    [("issuer", Scheme::Bbs04), ("xr-issuer", Scheme::Xr)]
        .map(|(name, scheme)| {
            let file = issuer(scheme);
            let gamma = match &file.issuer {
                IssuerKey::Bbs04(key) => key.to_bytes(),
                IssuerKey::Xr(key) => key.to_bytes(),
            };
            let (salt, machine) = ([7; 16], "web-1");
            let comment = format!("The issuer's key file of {scheme}, and the x of a machine.");
            case(name, "valid", &comment, ISSUER, &file.encode())
                .hex("scheme", [scheme.code()])
                .hex("group", file.group.0)
                .hex("gamma", gamma.as_slice())
                .hex("manager-seed", file.manager.to_bytes())
                .hex("seed", file.seed.as_slice())
                .hex("salt", salt)
                .text("machine", machine)
                .hex("x", file.derive_x(&salt, machine).to_bytes())
        })
        .into()
}

/// The key file of a trustee since an epoch.
fn trustee_of(scheme: Scheme, since: u32, i: u8) -> TrusteeKeyFile {
    let of = |shares: &[SecretShare]| shares[usize::from(i) - 1].clone();
    let [first, second] = [&BBS04.shares[0], &BBS04.shares[1]];
    TrusteeKeyFile {
        group: match scheme {
            Scheme::Bbs04 => BBS04.records.id(),
            Scheme::Xr => XR.records.id(),
        },
        since,
        share: match scheme {
            Scheme::Bbs04 => OpeningShare::Bbs04([of(first), of(second)]),
            Scheme::Xr => OpeningShare::Xr(of(&XR.sharing(since as usize).1)),
        },
    }
}

/// The one that most cases break.
pub fn trustee() -> TrusteeKeyFile {
    trustee_of(Scheme::Bbs04, 0, 1)
}

fn trustees() -> Vec<Case> {
    [
        ("trustee", Scheme::Bbs04, 0, 1, "Trustee 1 of bbs04."),
        ("trustee-3", Scheme::Bbs04, 0, 3, "Trustee 3 of bbs04."),
        (
            "xr-trustee",
            Scheme::Xr,
            0,
            2,
            "Trustee 2 of xr, since the ceremony.",
        ),
        (
            "xr-trustee-since-2",
            Scheme::Xr,
            2,
            4,
            "Trustee 4 of xr, since epoch 2.",
        ),
    ]
    .map(|(name, scheme, since, i, comment)| {
        let file = trustee_of(scheme, since, i);
        let shares = match &file.share {
            OpeningShare::Bbs04([first, second]) => vec![first.to_bytes(), second.to_bytes()],
            OpeningShare::Xr(share) => vec![share.to_bytes()],
        };
        assert_eq!(file.trustee(), index(i));
        let case = case(name, "valid", comment, TRUSTEE, &file.encode())
            .hex("scheme", [scheme.code()])
            .hex("group", file.group.0)
            .hex("since", since.to_be_bytes())
            .hex("index", [i]);
        with_all(case, "share", shares.iter().map(|share| share.to_vec()))
    })
    .into()
}

/// What is wrong before the payload is looked at.
fn bad_text() -> Vec<Case> {
    let good = trustee().encode();
    let key_line = good.lines().nth(1).unwrap();
    let base64 = key_line.split_once(' ').unwrap().1;
    let bad = |name: &str, expect: &str, comment: &str, text: &str| {
        case(name, expect, comment, TRUSTEE, text)
    };
    let unpadded = key_line.strip_suffix("==").expect("it has padding");
    // Of the last character, four bits are spare.
    let last = unpadded.chars().next_back().unwrap();
    let next = char::from_u32(u32::from(last) + 1).unwrap();
    let spare = format!("{}{next}==", unpadded.strip_suffix(last).unwrap());
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
        bad(
            "base64-unpadded",
            "damaged",
            "The padding is missing.",
            unpadded,
        ),
        bad(
            "base64-spare-bits",
            "damaged",
            "A spare bit is set.",
            &spare,
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
            &issuer(Scheme::Bbs04).encode().replace(ISSUER, TRUSTEE),
        ),
    ]
}

/// Fields that do not decode, under a checksum that holds.
fn bad_payloads() -> Vec<Case> {
    let member = payload(&BBS04.key_file(0).encode());
    let xr_member = payload(&XR.key_file(0).encode());
    let (issuer, trustee) = (
        payload(&issuer(Scheme::Bbs04).encode()),
        payload(&trustee().encode()),
    );
    let xr_trustee = payload(&trustee_of(Scheme::Xr, 0, 2).encode());
    let set = |payload: &[u8], at: usize, value: &[u8]| replaced(payload, at, value);
    let longer = |payload: &[u8]| [payload, &[0]].concat();
    let shorter = |payload: &[u8]| payload[..payload.len() - 1].to_vec();
    // The name of the machine, `web-1`, is at 53.
    let no_name = [&member[..53], &[0], &member[59..]].concat();
    let (point, zero, high) = (identity(48), [0; 32], [0xff; 32]);
    let (end, xr_end) = (member.len(), xr_member.len());
    [
        ("member-scheme", "Scheme 3.", MEMBER, set(&member, 0, &[3])),
        (
            "member-scheme-xr",
            "Scheme 2, whose fields are others.",
            MEMBER,
            set(&member, 0, &[2]),
        ),
        (
            "member-name",
            "The machine's name is empty.",
            MEMBER,
            no_name,
        ),
        (
            "member-public-key",
            "g1 is the identity.",
            MEMBER,
            set(&member, 59, &point),
        ),
        (
            "member-a",
            "A is the identity.",
            MEMBER,
            set(&member, end - 80, &point),
        ),
        (
            "member-x",
            "x is not reduced.",
            MEMBER,
            set(&member, end - 32, &high),
        ),
        (
            "member-long",
            "A byte behind the fields.",
            MEMBER,
            longer(&member),
        ),
        (
            "member-short",
            "A byte is missing.",
            MEMBER,
            shorter(&member),
        ),
        (
            "xr-member-public-key",
            "g1 is the identity.",
            MEMBER,
            set(&xr_member, 59, &point),
        ),
        (
            "xr-member-a",
            "A is the identity.",
            MEMBER,
            set(&xr_member, xr_end - 144, &point),
        ),
        (
            "xr-member-x",
            "x is zero.",
            MEMBER,
            set(&xr_member, xr_end - 96, &zero),
        ),
        (
            "xr-member-y",
            "y is zero.",
            MEMBER,
            set(&xr_member, xr_end - 64, &zero),
        ),
        (
            "xr-member-y-high",
            "y is not reduced.",
            MEMBER,
            set(&xr_member, xr_end - 64, &high),
        ),
        ("xr-member-no-device", "No seed of the device.", MEMBER, {
            xr_member[..xr_end - 32].to_vec()
        }),
        (
            "xr-member-long",
            "A byte behind the fields.",
            MEMBER,
            longer(&xr_member),
        ),
        ("issuer-scheme", "Scheme 0.", ISSUER, set(&issuer, 0, &[0])),
        (
            "issuer-gamma",
            "gamma is zero.",
            ISSUER,
            set(&issuer, 17, &zero),
        ),
        (
            "issuer-long",
            "A byte behind the fields.",
            ISSUER,
            longer(&issuer),
        ),
        (
            "issuer-short",
            "A byte is missing.",
            ISSUER,
            shorter(&issuer),
        ),
        (
            "trustee-scheme",
            "Scheme 3.",
            TRUSTEE,
            set(&trustee, 0, &[3]),
        ),
        (
            "trustee-scheme-xr",
            "Scheme 2, with one share.",
            TRUSTEE,
            set(&trustee, 0, &[2]),
        ),
        (
            "trustee-index",
            "Index 0.",
            TRUSTEE,
            set(&trustee, 21, &[0]),
        ),
        (
            "trustee-index-33",
            "Index 33.",
            TRUSTEE,
            set(&trustee, 21, &[33]),
        ),
        (
            "trustee-share-1",
            "The share of xi1 is zero.",
            TRUSTEE,
            set(&trustee, 22, &zero),
        ),
        (
            "trustee-share-2",
            "The share of xi2 is zero.",
            TRUSTEE,
            set(&trustee, 54, &zero),
        ),
        (
            "trustee-long",
            "A byte behind the fields.",
            TRUSTEE,
            longer(&trustee),
        ),
        (
            "xr-trustee-share",
            "The share is zero.",
            TRUSTEE,
            set(&xr_trustee, 22, &zero),
        ),
        (
            "xr-trustee-short",
            "A byte is missing.",
            TRUSTEE,
            shorter(&xr_trustee),
        ),
    ]
    .map(|(name, comment, label, payload)| {
        case(name, "damaged", comment, label, &armored(label, &payload))
    })
    .into()
}

/// The bytes in the line of a key file.
pub fn payload(text: &str) -> Vec<u8> {
    let base64 = text.lines().nth(1).unwrap().split_once(' ').unwrap().1;
    let mut bytes = STANDARD.decode(base64).unwrap();
    bytes.truncate(bytes.len() - 8);
    bytes
}

/// The line with these bytes.
pub fn armored(label: &str, payload: &[u8]) -> String {
    let digest = hash(&[label.as_bytes(), payload].concat());
    let base64 = STANDARD.encode([payload, &digest[..8]].concat());
    format!("{label} {base64}")
}
