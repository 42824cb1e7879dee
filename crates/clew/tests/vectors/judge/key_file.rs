//! Vectors of the key files.

use clew_group::{Scheme, SigningKey};
use clew_manager::keys::{IssuerKey, IssuerKeyFile, MemberKeyFile, OpeningShare, TrusteeKeyFile};
use clew_manager::sealed::{Needs, Secret, needs, unseal};
use zeroize::Zeroizing;

use super::{Stop, check_all, holds};
use crate::case::Case;

pub fn judge(case: &Case) -> Result<(), Stop> {
    let text = case.joined("line")?;
    match case.word("wanted")? {
        "clew-member-key-1" => member(case, &text),
        "clew-issuer-key-1" => issuer(case, &text),
        "clew-trustee-key-1" => trustee(case, &text),
        "clew-sealed-1" => sealed(case, &text),
        _ => Err(Stop::Wrong("no such key file".to_owned())),
    }
}

fn member(case: &Case, text: &str) -> Result<(), Stop> {
    let key = MemberKeyFile::decode(text)?;
    case.check("scheme", [key.public.scheme().code()])?;
    case.check("group", key.group.0)?;
    case.check("epoch", key.epoch.to_be_bytes())?;
    case.check("epoch-id", key.id)?;
    case.check("machine", key.machine.as_str())?;
    case.check("public-key", key.public.to_bytes())?;
    case.check("member-key", key.key.to_bytes().as_slice())?;
    let device = key.device.iter().map(|device| device.to_bytes());
    check_all(case, "device-seed", device)?;
    let signs = SigningKey::new(&key.public, key.id, key.key.clone());
    holds(signs.is_ok(), "the key signs")?;
    holds(*key.encode() == text, "the same text again")
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
    let plain = unseal(text, &secret)?;
    holds(*plain == case.joined("plain-line")?, "the text within")?;
    let asked = match secret {
        Secret::Passphrase(_) => Needs::Passphrase,
        Secret::KeyFile(_) => Needs::KeyFile,
    };
    holds(needed == asked, "what it asks for")
}
