//! Vectors of the key files.

use clew_manager::keys::{IssuerKeyFile, MemberKeyFile, TrusteeKeyFile};
use clew_manager::sealed::{Needs, Secret, needs, unseal};
use zeroize::Zeroizing;

use super::{Stop, holds};
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
    case.check("group", key.group.0)?;
    case.check("epoch", key.epoch.to_be_bytes())?;
    case.check("machine", key.machine.as_str())?;
    case.check("public-key", key.public.to_bytes())?;
    case.check("member-key", key.key.to_bytes().as_slice())?;
    holds(key.key.check(&key.public).is_ok(), "the key signs")?;
    holds(*key.encode() == text, "the same text again")
}

fn issuer(case: &Case, text: &str) -> Result<(), Stop> {
    let key = IssuerKeyFile::decode(text)?;
    case.check("group", key.group.0)?;
    case.check("gamma", key.issuer.to_bytes().as_slice())?;
    case.check("manager-seed", key.manager.to_bytes())?;
    case.check("seed", key.seed.as_slice())?;
    holds(*key.encode() == text, "the same text again")
}

fn trustee(case: &Case, text: &str) -> Result<(), Stop> {
    let key = TrusteeKeyFile::decode(text)?;
    case.check("group", key.group.0)?;
    case.check("index", [key.index])?;
    case.check("opener-key", key.opener.to_bytes().as_slice())?;
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
