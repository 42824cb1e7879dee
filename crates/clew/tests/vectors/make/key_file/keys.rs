//! Vectors of the key files of both schemes.

use base64::{Engine, engine::general_purpose::STANDARD};
use clew_group::quorum::SecretShare;
use clew_group::{MemberKey, PublicKey, Scheme, bbs04, xr};
use clew_keys::{HeldEpoch, IssuerKey, IssuerKeyFile, MemberKeyFile, OpeningShare, TextFile, TrusteeKeyFile};
use zeroize::Zeroizing;

use crate::case::Case;
use crate::make::damage::{Damage, identity};
use crate::make::groups::bbs04_group::BBS04;
use crate::make::groups::records::NONCE;
use crate::make::groups::xr_group::{NEWEST, XR, trustee as index};
use crate::make::packet::frames::records;
use crate::make::{flat, hash};

pub const MEMBER: &str = "clew-member-key-1";
pub const ISSUER: &str = "clew-issuer-key-1";
pub const TRUSTEE: &str = "clew-trustee-key-1";

pub fn all() -> Vec<Case> {
    flat([members(), issuers(), trustees(), bad_text(), bad_members(), bad_payloads()])
}

pub fn case(name: &str, expect: &str, comment: &str, wanted: &str, text: &str) -> Case {
    Case::new("key-file", name, expect, comment).text("wanted", wanted).lines("line", text)
}

/// File of the vector that has the key of `web-1` for an epoch.
pub fn member_file(scheme: Scheme, epoch: usize) -> String {
    match scheme {
        Scheme::Bbs04 => format!("member-epoch-{epoch}"),
        Scheme::Xr => format!("xr-member-epoch-{epoch}"),
    }
}

/// The key file of `web-1` that holds these epochs.
pub fn member(scheme: Scheme, epochs: &[usize]) -> MemberKeyFile {
    let records = records(scheme);
    let key = match scheme {
        Scheme::Bbs04 => MemberKey::Bbs04(BBS04.member("web-1")),
        Scheme::Xr => MemberKey::Xr(XR.machine("web-1").key.clone()),
    };
    let held = |epoch: &usize| HeldEpoch {
        epoch: *epoch as u32,
        id: records.epoch_id(*epoch),
        start: if *epoch == 0 { 0 } else { records.start(*epoch) },
        public: match scheme {
            Scheme::Bbs04 => PublicKey::Bbs04(BBS04.public[*epoch].clone()),
            Scheme::Xr => PublicKey::Xr(XR.public[*epoch].clone()),
        },
        witness: match scheme {
            Scheme::Bbs04 => BBS04.witness("web-1", *epoch),
            Scheme::Xr => XR.witness("web-1", *epoch),
        },
    };
    MemberKeyFile {
        group: records.id(),
        nonce: NONCE,
        machine: "web-1".parse().unwrap(),
        index: 0,
        key,
        device: (scheme == Scheme::Xr).then(|| XR.machine("web-1").device.clone()),
        epochs: epochs.iter().map(held).collect(),
    }
}

/// A good key file, and what it says.
fn member_case(name: &str, comment: &str, key: &MemberKeyFile) -> Case {
    let case = case(name, "valid", comment, MEMBER, &key.encode());
    with_member(case, key)
}

/// What a member key file says.
pub fn with_member(case: Case, key: &MemberKeyFile) -> Case {
    let case = case
        .hex("scheme", [key.scheme().code()])
        .hex("group", key.group.0)
        .hex("nonce", key.nonce)
        .text("machine", key.machine.as_str())
        .hex("index", key.index.to_be_bytes())
        .hex("member-key", key.key.to_bytes().as_slice())
        .each("device-seed", key.device.iter().map(|d| d.to_bytes()));
    key.epochs.iter().fold(case, |case, held| {
        case.hex("epoch", held.epoch.to_be_bytes())
            .hex("epoch-id", held.id)
            .hex("start", held.start.to_be_bytes())
            .hex("founding-key", held.public.founding_bytes())
            .hex("v", held.public.v().to_bytes())
            .hex("witness", held.witness.to_bytes().as_slice())
    })
}

fn members() -> Vec<Case> {
    let one = |scheme: Scheme, epoch: usize| {
        let name = member_file(scheme, epoch);
        let comment = format!("Machine web-1 of {scheme} in epoch {epoch}.");
        member_case(&name, &comment, &member(scheme, &[epoch]))
    };
    let mut cases: Vec<Case> = (0..=2).map(|epoch| one(Scheme::Bbs04, epoch)).collect();
    cases.extend((0..=NEWEST).map(|epoch| one(Scheme::Xr, epoch)));
    cases.push(several("member", "Two epochs.", Scheme::Bbs04, &[1, 2]));
    let comment = "Four epochs, over two steps and a rebase, under two opening keys.";
    cases.push(several("xr-member", comment, Scheme::Xr, &[1, 2, 3, 4]));
    cases
}

/// A key of several epochs: `signs` is the one for each `time`.
fn several(name: &str, comment: &str, scheme: Scheme, epochs: &[usize]) -> Case {
    let key = member(scheme, epochs);
    let case = member_case(name, comment, &key);
    let first = &key.epochs[0];
    let case = case.hex("time", [0; 8]).hex("signs", first.epoch.to_be_bytes());
    key.epochs.iter().skip(1).fold(case, |case, held| {
        case.hex("time", (held.start - 1).to_be_bytes())
            .hex("signs", (held.epoch - 1).to_be_bytes())
            .hex("time", held.start.to_be_bytes())
            .hex("signs", held.epoch.to_be_bytes())
    })
}

fn issuer(scheme: Scheme) -> IssuerKeyFile {
    IssuerKeyFile {
        group: records(scheme).id(),
        issuer: match scheme {
            Scheme::Bbs04 => IssuerKey::Bbs04(bbs04::IssuerKey::from_bytes(&BBS04.issuer.to_bytes()[..]).unwrap()),
            Scheme::Xr => IssuerKey::Xr(xr::IssuerKey::from_bytes(&XR.issuer.to_bytes()[..]).unwrap()),
        },
        manager: records(scheme).manager.clone(),
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
            let comment = format!("The issuer's key file of {scheme}, and x and s of an offer.");
            case(name, "valid", &comment, ISSUER, &file.encode())
                .hex("scheme", [scheme.code()])
                .hex("group", file.group.0)
                .hex("gamma", gamma.as_slice())
                .hex("manager-seed", file.manager.to_bytes())
                .hex("seed", file.seed.as_slice())
                .hex("salt", salt)
                .text("machine", machine)
                .hex("x", file.derive_x(&salt, machine).to_bytes())
                .hex("s", file.derive_s(&salt, machine).to_bytes())
        })
        .into()
}

/// The key file of a trustee since an epoch.
fn trustee_of(scheme: Scheme, since: u32, i: u8) -> TrusteeKeyFile {
    let of = |shares: &[SecretShare]| shares[usize::from(i) - 1].clone();
    let [first, second] = [&BBS04.shares[0], &BBS04.shares[1]];
    TrusteeKeyFile {
        group: records(scheme).id(),
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
        ("xr-trustee", Scheme::Xr, 0, 2, "Trustee 2 of xr, since the ceremony."),
        ("xr-trustee-since-2", Scheme::Xr, 2, 4, "Trustee 4 of xr, since epoch 2."),
    ]
    .map(|(name, scheme, since, i, comment)| {
        let file = trustee_of(scheme, since, i);
        let shares = match &file.share {
            OpeningShare::Bbs04([first, second]) => vec![first.to_bytes(), second.to_bytes()],
            OpeningShare::Xr(share) => vec![share.to_bytes()],
        };
        assert_eq!(file.trustee(), index(i));
        case(name, "valid", comment, TRUSTEE, &file.encode())
            .hex("scheme", [scheme.code()])
            .hex("group", file.group.0)
            .hex("since", since.to_be_bytes())
            .hex("index", [i])
            .each("share", shares.iter().map(|share| share.to_vec()))
    })
    .into()
}

/// What is wrong before the payload is looked at.
fn bad_text() -> Vec<Case> {
    let good = trustee().encode();
    let key_line = good.lines().nth(1).unwrap();
    let base64 = key_line.split_once(' ').unwrap().1;
    let bad = |name: &str, expect: &str, comment: &str, text: &str| case(name, expect, comment, TRUSTEE, text);
    let unpadded = key_line.strip_suffix("==").expect("it has padding");
    // Of the last character, four bits are spare.
    let last = unpadded.chars().next_back().unwrap();
    let next = char::from_u32(u32::from(last) + 1).unwrap();
    let spare = format!("{}{next}==", unpadded.strip_suffix(last).unwrap());
    vec![
        case("wrong-label", "label", "A trustee's key where a member's is wanted.", MEMBER, &good),
        case("unknown-label", "label", "A version that nobody knows yet.", TRUSTEE, &format!("clew-trustee-key-2 {base64}")),
        bad("empty", "not-a-key", "Only a comment.", "# a comment"),
        bad("other-program", "not-a-key", "A line of another program.", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA=="),
        bad("no-base64", "not-a-key", "A label alone.", TRUSTEE),
        bad("two-keys", "not-a-key", "Two key lines.", &format!("{key_line}\n{key_line}")),
        bad("too-long", "not-a-key", "More than 16 KiB.", &format!("# {}\n{key_line}", "x".repeat(16_384))),
        bad("base64-unpadded", "damaged", "The padding is missing.", unpadded),
        bad("base64-spare-bits", "damaged", "A spare bit is set.", &spare),
        bad("base64-character", "damaged", "A character that is not of base64.", &format!("{TRUSTEE} !{}", &base64[1..])),
        bad("shorter-than-checksum", "damaged", "Seven bytes.", &format!("{TRUSTEE} AAAAAAAAAA==")),
        bad("checksum", "damaged", "The first character is another.", &format!("{TRUSTEE} B{}", &base64[1..])),
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
    let (issuer, trustee) = (payload(&issuer(Scheme::Bbs04).encode()), payload(&trustee().encode()));
    let xr_trustee = payload(&trustee_of(Scheme::Xr, 0, 2).encode());
    let zero = [0; 32];
    [
        ("issuer-scheme", "Scheme 0.", ISSUER, issuer.set(0, [0])),
        ("issuer-gamma", "gamma is zero.", ISSUER, issuer.set(17, zero)),
        ("issuer-long", "A byte behind the fields.", ISSUER, issuer.plus([0])),
        ("issuer-short", "A byte is missing.", ISSUER, issuer.cut(1)),
        ("trustee-scheme", "Scheme 3.", TRUSTEE, trustee.set(0, [3])),
        ("trustee-scheme-xr", "Scheme 2, with one share.", TRUSTEE, trustee.set(0, [2])),
        ("trustee-index", "Index 0.", TRUSTEE, trustee.set(21, [0])),
        ("trustee-index-33", "Index 33.", TRUSTEE, trustee.set(21, [33])),
        ("trustee-share-1", "The share of xi1 is zero.", TRUSTEE, trustee.set(22, zero)),
        ("trustee-share-2", "The share of xi2 is zero.", TRUSTEE, trustee.set(54, zero)),
        ("trustee-long", "A byte behind the fields.", TRUSTEE, trustee.plus([0])),
        ("xr-trustee-share", "The share is zero.", TRUSTEE, xr_trustee.set(22, zero)),
        ("xr-trustee-short", "A byte is missing.", TRUSTEE, xr_trustee.cut(1)),
    ]
    .map(|(name, comment, label, payload)| case(name, "damaged", comment, label, &armored(label, &payload)))
    .into()
}

/// A change to a member key's payload, and what it is.
type Damaged<'a> = (&'a str, &'a str, Vec<u8>);

fn bad_members() -> Vec<Case> {
    let mut cases = bad_members_of("member", Scheme::Bbs04, &[1, 2], 80);
    cases.extend(bad_members_of("xr-member", Scheme::Xr, &[1, 2, 3, 4], 112 + 32));
    let key = payload(&member(Scheme::Xr, &[1]).encode());
    // Of the key, A and x; then y and the seed of the device.
    let y = XR_KEY + 80;
    let no_device = key.replace(y + 32..y + 64, []);
    let other_w = {
        let two = payload(&member(Scheme::Xr, &[1, 2]).encode());
        let w = two.len() - 48 - 48 - 96;
        two.doubled(w, 96)
    };
    let more: [Damaged<'_>; 4] = [
        ("y", "y is zero.", key.set(y, [0; 32])),
        ("y-high", "y is not reduced.", key.set(y, [0xff; 32])),
        ("no-device", "No seed of the device.", no_device),
        ("other-w", "w of the second epoch is another.", other_w),
    ];
    cases.extend(more.map(|damage| bad_member("xr-member", damage)));
    cases
}

fn bad_member(prefix: &str, (name, comment, payload): Damaged<'_>) -> Case {
    let (name, text) = (format!("{prefix}-{name}"), armored(MEMBER, &payload));
    case(&name, "damaged", comment, MEMBER, &text)
}

/// Where the member key is: scheme, group, nonce, name `web-1`, index.
const XR_KEY: usize = 1 + 16 + 32 + 6 + 4;
const EPOCH: usize = 4 + 32 + 8 + 192 + 48 + 48;

/// `size` is that of the key, with the seed of a device.
fn bad_members_of(prefix: &str, scheme: Scheme, epochs: &[usize], size: usize) -> Vec<Case> {
    let key = payload(&member(scheme, epochs).encode());
    let count = XR_KEY + size;
    let first = count + 1;
    let no_name = key.replace(49..55, [0]);
    let swapped = [&key[..first], &key[first + EPOCH..first + 2 * EPOCH], &key[first..first + EPOCH], &key[first + 2 * EPOCH..]];
    let again = key.replace(first..first, &key[first..first + EPOCH]);
    let again = again.set(count, [epochs.len() as u8 + 1]);
    let none = [&key[..count], &[0]].concat();
    let many = [&key[..first], &key[first..first + EPOCH].repeat(17)].concat();
    let v = first + 44 + 192;
    let damages: [Damaged<'_>; 17] = [
        ("scheme", "Scheme 3.", key.set(0, [3])),
        ("scheme-other", "The scheme of the other group.", key.set(0, [3 - scheme.code()])),
        ("name", "The machine's name is empty.", no_name),
        ("a", "A is the identity.", key.set(XR_KEY, identity(48))),
        ("x", "x is not reduced.", key.set(XR_KEY + 48, [0xff; 32])),
        ("x-zero", "x is zero.", key.set(XR_KEY + 48, [0; 32])),
        ("epochs-none", "No epoch.", none),
        ("epochs-17", "17 epochs.", many.set(count, [17])),
        ("epochs-swapped", "The first two epochs in the other order.", swapped.concat()),
        ("epochs-equal", "The first epoch twice.", again),
        ("founding-key", "The first point of the key is the identity.", key.set(first + 44, identity(48))),
        ("w", "w is the identity.", key.set(first + 44 + 96, identity(96))),
        ("v", "V is the identity.", key.set(v, identity(48))),
        ("witness", "W is the identity.", key.set(v + 48, identity(48))),
        ("more", "One epoch more than it says.", key.set(count, [epochs.len() as u8 - 1])),
        ("long", "A byte behind the fields.", key.plus([0])),
        ("short", "A byte is missing.", key.cut(1)),
    ];
    damages.into_iter().map(|damage| bad_member(prefix, damage)).collect()
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
