//! Vectors of eFFS: keys and signatures as they should be, with every rule, form and number of levels.

use std::sync::LazyLock;

use clew_flow::effs::{Form, Instance, Parameters, PublicKey, Rule, SecretKey, Signer, Size, Verifier};

use crate::case::Case;
use crate::drawn::Drawn;
use crate::make::damage::Damage;
use crate::make::{flat, hash, rng};

const FORMAT: &str = "effs";

/// What is signed, unless something else is said.
pub const MESSAGE: &[u8] = b"what is signed";

pub fn all() -> Vec<Case> {
    flat([public_keys(), secret_keys(), signatures()])
}

/// The key of 128 columns and one row, by Williams' rule: the shortest.
pub static SHORT: LazyLock<SecretKey> = LazyLock::new(|| secret(Size::N2048, (128, 1), Rule::Williams, Form::Paper));

/// By the paper's rule, of two rows, compact.
pub static TWO: LazyLock<SecretKey> = LazyLock::new(|| secret(Size::N2048, (64, 2), Rule::Paper, Form::Compact));

/// By Williams' rule, of two rows, in the paper's form.
pub static WHOLE: LazyLock<SecretKey> = LazyLock::new(|| secret(Size::N2048, (64, 2), Rule::Williams, Form::Paper));

/// Of four rows.
pub static FOUR: LazyLock<SecretKey> = LazyLock::new(|| secret(Size::N2048, (32, 4), Rule::Williams, Form::Compact));

fn secret(size: Size, (k, t): (u16, u8), rule: Rule, form: Form) -> SecretKey {
    let parameters = Parameters::new(size, k, t).unwrap().with_rule(rule);
    let parameters = match form {
        Form::Paper => parameters.in_papers_form(),
        Form::Compact => parameters,
    };
    let label = format!("effs {parameters} {rule:?} {form:?}");
    SecretKey::generate(parameters, &mut rng(&label))
}

pub fn case(check: &str, name: &str, expect: &str, comment: &str) -> Case {
    Case::new(FORMAT, name, expect, comment).text("check", check)
}

/// The same n with eight rows of 16, compact.
pub fn shortened(short: &[u8]) -> Vec<u8> {
    let mut key = short.set(0, [18, 8, 0, 2, 8]);
    key.truncate(5 + 256 + 4);
    key
}

pub fn pkid(key: &[u8]) -> [u8; 32] {
    hash(&[b"pk", key].concat())
}

fn public_keys() -> Vec<Case> {
    let good = |name: &str, comment: &str, key: &SecretKey| {
        let (key, parameters) = (key.public().as_bytes(), key.public().parameters());
        case("public-key", name, "valid", comment)
            .hex("public-key", key)
            .text("name", &parameters.to_string())
            .hex("pkid", pkid(key))
            .hex("signature-length", (parameters.signature_bytes() as u16).to_be_bytes())
    };
    vec![
        good("key-williams", "By Williams' rule.", &SHORT),
        good("key-compact", "By the paper's rule, and compact.", &TWO),
        good("key-whole", "Of two rows, in the paper's form.", &WHOLE),
    ]
}

fn secret_keys() -> Vec<Case> {
    let good = |name: &str, comment: &str, key: &SecretKey| {
        case("secret-key", name, "valid", comment).hex("public-key", key.public().as_bytes()).hex("secret-key", key.to_bytes())
    };
    vec![good("secret-paper", "By the paper's rule.", &TWO), good("secret-williams", "By Williams' rule.", &SHORT)]
}

/// Randomness that is drawn, and the signature that it gives.
pub struct Signed {
    fresh: [u8; 32],
    instance: [u8; 32],
    pub signature: Vec<u8>,
}

pub fn sign(key: &SecretKey, message: &[u8]) -> Signed {
    let label = format!("effs {} {}", key.public().parameters(), hex::encode(message));
    let fresh = hash(format!("{label} fresh").as_bytes());
    let instance = hash(format!("{label} instance").as_bytes());
    let mut signer = Signer::new(key, move || Instance(instance));
    let signature = signer.sign(message, &mut Drawn::new(&[&fresh])).unwrap();
    Signed { fresh, instance, signature }
}

/// A signature with what comes of it at each level, of which that of `level` is expected.
pub fn judged(name: &str, comment: &str, key: &[u8], (message, signature): (&[u8], &[u8]), level: u8) -> Case {
    let verifier = Verifier::new(&PublicKey::from_bytes(key).unwrap());
    let verify = |level| verifier.verify(message, signature, level);
    let outcome = verify(level);
    let expect = outcome.map_or_else(|refusal| refusal.name(), |_| "valid");
    let case = case("signature", name, expect, comment)
        .hex("public-key", key)
        .hex("message", message)
        .hex("signature", signature)
        .hex("level", [level]);
    let rows = verifier.key().parameters().t();
    let told = (1..=rows).map(|level| match verify(level) {
        Ok(assurance) => assurance.bits().to_string(),
        Err(refusal) => refusal.name().to_owned(),
    });
    let case = case.texts("outcome", told);
    match outcome {
        Ok(assurance) => case.hex("bits", assurance.bits().to_be_bytes()),
        Err(_) => case,
    }
}

fn signatures() -> Vec<Case> {
    let good = |name: &str, comment: &str, key: &SecretKey, message: &[u8], level: u8| {
        let signed = sign(key, message);
        let public = key.public().as_bytes();
        judged(name, comment, public, (message, &signed.signature), level)
            .hex("secret-key", key.to_bytes())
            .hex("fresh", signed.fresh)
            .hex("instance", signed.instance)
    };
    let of = |name: &str, comment: &str, size, kt, rule, form| {
        let key = secret(size, kt, rule, form);
        good(name, comment, &key, MESSAGE, kt.1)
    };
    use {Form::*, Rule::*, Size::*};
    vec![
        good("signature", "Of one row.", &SHORT, MESSAGE, 1),
        good("signature-empty", "Of no bytes.", &SHORT, b"", 1),
        good("signature-compact", "Of two rows, compact.", &TWO, MESSAGE, 2),
        good("signature-compact-1", "At level 1 it is worth 64 bits.", &TWO, b"another", 1),
        good("signature-whole", "Of two rows, with the whole of x_2.", &WHOLE, MESSAGE, 2),
        good("signature-4", "Of four rows.", &FOUR, MESSAGE, 4),
        of("signature-8", "Of eight rows.", N2048, (32, 8), Rule::Paper, Compact),
        of("signature-256", "Of 256 columns.", N2048, (256, 1), Rule::Paper, Form::Paper),
        of("signature-3072", "The default.", N3072, (128, 1), Rule::Paper, Form::Paper),
        of("signature-3072-256", "By Williams' rule.", N3072, (128, 2), Williams, Compact),
    ]
}
