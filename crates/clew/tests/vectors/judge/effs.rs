//! eFFS.

use clew_flow::effs::{BadKey, Instance, PublicKey, Refusal, SecretKey, Signer, Verifier};
use clew_simd::Backend;
use sha2::{Digest as _, Sha256};

use super::{Stop, check_all, holds};
use crate::case::Case;
use crate::drawn::Drawn;

pub const RULES: [&str; 15] = [
    "valid",
    "rule",
    "modulus-size",
    "parameters",
    "length",
    "modulus",
    "v-order",
    "v-prime",
    "secret",
    "level",
    "zero-root",
    "root-range",
    "zero-commitment",
    "challenge",
    "commitment",
];

impl From<BadKey> for Stop {
    fn from(bad: BadKey) -> Self {
        Self::Rule(bad.name())
    }
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Rule(refusal.name())
    }
}

pub fn judge(case: &Case) -> Result<(), Stop> {
    let key = PublicKey::from_bytes(case.bytes("public-key")?)?;
    match case.word("check")? {
        "public-key" => public_key(case, &key),
        "secret-key" => {
            let bytes = case.bytes("secret-key")?;
            let secret = SecretKey::from_bytes(&key, bytes)?;
            holds(*secret.public() == key, "the public key")?;
            holds(secret.to_bytes().as_slice() == bytes, "the same bytes")
        }
        "signature" => signature(case, &key),
        _ => Err(Stop::Wrong("no such check".to_owned())),
    }
}

fn public_key(case: &Case, key: &PublicKey) -> Result<(), Stop> {
    let parameters = key.parameters();
    case.check("name", parameters.to_string())?;
    case.check("pkid", Sha256::new_with_prefix(b"pk").chain_update(key.as_bytes()).finalize())?;
    case.check("signature-length", (parameters.signature_bytes() as u16).to_be_bytes())
}

/// The same in every way of computing; levels from the start, and raised one by one.
fn signature(case: &Case, key: &PublicKey) -> Result<(), Stop> {
    let (message, signature) = (case.bytes("message")?, case.bytes("signature")?);
    let [level] = case.array("level")?;
    let mut outcome = Err(Stop::Wrong("there is no way".to_owned()));
    for backend in Backend::multipliers() {
        let verifier = Verifier::on(key, backend);
        let levels = 1..=key.parameters().t();
        let told = levels.map(|level| match verifier.verify(message, signature, level) {
            Ok(assurance) => assurance.bits().to_string(),
            Err(refusal) => refusal.name().to_owned(),
        });
        let told: Vec<String> = told.collect();
        check_all(case, "outcome", &told)?;
        holds(raised(&verifier, message, signature) == told, "the same, raised")?;
        outcome = verifier.verify(message, signature, level).map_err(Stop::from);
    }
    case.check("bits", outcome?.bits().to_be_bytes())?;
    if case.has("secret-key") {
        signed(case, key)?;
    }
    Ok(())
}

/// Level after level; what fails once fails at all that are higher.
fn raised(verifier: &Verifier, message: &[u8], signature: &[u8]) -> Vec<String> {
    let rows = verifier.key().parameters().t();
    let mut progress = verifier.begin(message, signature);
    let told = (1..=rows).map(|level| {
        let assurance = match &mut progress {
            Ok(progress) => progress.raise(level),
            Err(refusal) => Err(*refusal),
        };
        match assurance {
            Ok(assurance) => assurance.bits().to_string(),
            Err(refusal) => refusal.name().to_owned(),
        }
    });
    told.collect()
}

/// The signer makes it, of what it draws.
fn signed(case: &Case, key: &PublicKey) -> Result<(), Stop> {
    let secret = SecretKey::from_bytes(key, case.bytes("secret-key")?)?;
    let (fresh, instance) = (case.bytes("fresh")?, case.array("instance")?);
    for backend in Backend::multipliers() {
        let mut signer = Signer::on(&secret, backend, move || Instance(instance));
        let signature = signer.sign(case.bytes("message")?, &mut Drawn::new(&[fresh]));
        let signature = signature.map_err(|fault| Stop::Wrong(fault.to_string()))?;
        case.check("signature", signature)?;
    }
    Ok(())
}
