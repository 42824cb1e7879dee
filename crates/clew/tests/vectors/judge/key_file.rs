//! Vectors of the key files.

use clew_group::Scheme;
use clew_keys::encryption::{Needs, Secret, decrypt, needs};
use clew_keys::{IssuerKey, IssuerKeyFile, MemberKeyFile, OpeningShare, TextFile, TrusteeKeyFile};
use zeroize::Zeroizing;

use super::{Stop, check_all, holds, join_file};
use crate::case::Case;

/// Those of texts, of what a device or an issuer checks in a join, and of buckets.
pub const RULES: [&str; 22] = [
    "valid",
    "not-a-key",
    "label",
    "damaged",
    "wrong-secret",
    "no-join",
    "other-group",
    "not-the-managers",
    "other-join",
    "how",
    "other-offer",
    "no-such-epoch",
    "other-history",
    "join",
    "no-offer",
    "witness",
    "device",
    "layout",
    "other-epoch",
    "other-rows",
    "no-witness",
    "point",
];

pub fn judge(case: &Case) -> Result<(), Stop> {
    let wanted = case.word("wanted")?;
    let text = case.joined("line")?;
    match wanted {
        "clew-member-key-1" => member(case, &text),
        "clew-issuer-key-1" => issuer(case, &text),
        "clew-trustee-key-1" => trustee(case, &text),
        "clew-sealed-1" => sealed(case, &text),
        _ => join_file::judge(case, wanted),
    }
}

fn member(case: &Case, text: &str) -> Result<(), Stop> {
    let key = MemberKeyFile::decode(text)?;
    says(case, &key)?;
    let times = case.all("time");
    check_all(case, "signs", times.iter().map(|time| signs(&key, time)))?;
    holds(*key.encode() == text, "the same text again")
}

/// What a member key says, and that it signs in each epoch that it holds.
fn says(case: &Case, key: &MemberKeyFile) -> Result<(), Stop> {
    case.check("scheme", [key.scheme().code()])?;
    case.check("group", key.group.0)?;
    case.check("nonce", key.nonce)?;
    case.check("machine", key.machine.as_str())?;
    case.check("index", key.index.to_be_bytes())?;
    case.check("member-key", key.key.to_bytes().as_slice())?;
    let device = key.device.iter().map(|device| device.to_bytes());
    check_all(case, "device-seed", device)?;
    let held = &key.epochs;
    check_all(case, "epoch", held.iter().map(|h| h.epoch.to_be_bytes()))?;
    check_all(case, "epoch-id", held.iter().map(|h| h.id))?;
    check_all(case, "start", held.iter().map(|h| h.start.to_be_bytes()))?;
    let founding = held.iter().map(|h| h.public.founding_bytes());
    check_all(case, "founding-key", founding)?;
    check_all(case, "v", held.iter().map(|h| h.public.v().to_bytes()))?;
    check_all(case, "witness", held.iter().map(|h| h.witness.to_bytes().to_vec()))?;
    let signs = held.iter().all(|held| key.signing_key(held).is_ok());
    holds(signs, "the key signs")
}

/// The epoch that signs at a time.
fn signs(key: &MemberKeyFile, time: &[u8]) -> Vec<u8> {
    let time = time.try_into().map_or(0, u64::from_be_bytes);
    let held = key.epoch_at(time).map(|held| held.epoch.to_be_bytes());
    held.into_iter().flatten().collect()
}

fn issuer(case: &Case, text: &str) -> Result<(), Stop> {
    let key = IssuerKeyFile::decode(text)?;
    let (scheme, gamma) = match &key.issuer {
        IssuerKey::Bbs04(key) => (Scheme::Bbs04, key.to_bytes()),
        IssuerKey::Xr(key) => (Scheme::Xr, key.to_bytes()),
    };
    case.check("scheme", [scheme.code()])?;
    case.check("group", key.group.0)?;
    case.check("gamma", gamma.as_slice())?;
    case.check("manager-seed", key.manager.to_bytes())?;
    case.check("seed", key.seed.as_slice())?;
    let x = key.derive_x(case.bytes("salt")?, case.word("machine")?);
    case.check("x", x.to_bytes())?;
    let s = key.derive_s(case.bytes("salt")?, case.word("machine")?);
    case.check("s", s.to_bytes())?;
    holds(*key.encode() == text, "the same text again")
}

fn trustee(case: &Case, text: &str) -> Result<(), Stop> {
    let key = TrusteeKeyFile::decode(text)?;
    let shares = match &key.share {
        OpeningShare::Bbs04([first, second]) => vec![first.to_bytes(), second.to_bytes()],
        OpeningShare::Xr(share) => vec![share.to_bytes()],
    };
    case.check("scheme", [key.share.scheme().code()])?;
    case.check("group", key.group.0)?;
    case.check("since", key.since.to_be_bytes())?;
    case.check("index", [key.trustee().index()])?;
    check_all(case, "share", shares.iter().map(|share| share.to_vec()))?;
    holds(*key.encode() == text, "the same text again")
}

fn sealed(case: &Case, text: &str) -> Result<(), Stop> {
    let needed = needs(text)?;
    let secret = if case.has("passphrase") {
        Secret::Passphrase(Zeroizing::new(case.word("passphrase")?.to_owned()))
    } else {
        Secret::KeyFile(Zeroizing::new(case.bytes("key-file")?.to_vec()))
    };
    let plain = decrypt(text, &secret)?;
    holds(*plain == case.joined("plain-line")?, "the text within")?;
    let asked = match secret {
        Secret::Passphrase(_) => Needs::Passphrase,
        Secret::KeyFile(_) => Needs::KeyFile,
    };
    holds(needed == asked, "what it asks for")
}
