//! The rows of XR, the default scheme, and of XRR, its incremental form.
//!
//! Each case asserts its verdict once when it is made, so that nothing fast and wrong is measured.

use crate::groups::{EPOCH, NONCE, OTHER, PACKET, PROTOTYPE, XrGroup, rng};
use crate::measure::Case;
use crate::xr_textbook::{self, Gpk};
use clew_group::xr::{IncrementalSignature, Signature, SigningKey, VerifyingKey};

const SCOPE: &[u8] = b"a service and a period";

/// What the cases work on.
pub struct Fixture {
    group: XrGroup,
    plain: Signature,
    carrying: IncrementalSignature,
    by_stranger: IncrementalSignature,
    other_r1: IncrementalSignature,
}

impl Fixture {
    pub fn new() -> Self {
        let group = XrGroup::new();
        let (plain, carrying) = group.sign(2);
        Self {
            by_stranger: group.by_stranger(3),
            other_r1: group.with_other_r1(4),
            group,
            plain,
            carrying,
        }
    }
}

/// All rows, in the order of the report.
pub fn all(fixture: &Fixture) -> Vec<Case<'_>> {
    let parts = [signing, verifying, incremental, pseudonym, setup];
    parts.into_iter().flat_map(|part| part(fixture)).collect()
}

fn signing(f: &Fixture) -> Vec<Case<'_>> {
    let signer = &f.group.signer;
    let (mut first, mut second) = (rng(3), rng(4));
    let online = |name, about, message: &'static [&'static [u8]]| {
        let precursor = || signer.precursor(&mut rng(5));
        Case::with_input(name, about, precursor, |p| p.sign(message))
    };
    vec![
        Case::new("xr-sign", "all of Sign, 1277 bytes", move || {
            signer.precursor(&mut first).sign(&[PACKET])
        }),
        Case::new(
            "xr-precursor",
            "Sign before the message is known",
            move || signer.precursor(&mut second),
        )
        .quote(PROTOTYPE, 87.0),
        online("xr-sign-20", "with a precursor, 20 bytes", &[&[0; 20]]).quote(PROTOTYPE, 0.31),
        online("xr-sign-1277", "with a precursor, 1277 bytes", &[PACKET]).quote(PROTOTYPE, 0.85),
        online(
            "xr-sign-8x1277",
            "with a precursor, 8 x 1277 bytes",
            &[PACKET; 8],
        ),
    ]
}

fn verifying(f: &Fixture) -> Vec<Case<'_>> {
    let bytes = f.plain.to_bytes();
    let decode = move || Signature::from_bytes(&bytes).expect("a good signature");
    let verify =
        |message: &'static [u8], signature| move || f.group.verifier.verify(&[message], signature);
    let good = verify(PACKET, &f.plain);
    let other = verify(OTHER, &f.plain);
    let forged = verify(PACKET, f.by_stranger.signature());
    assert!(good().is_ok() && other().is_err() && forged().is_err());
    let gpk = Gpk::of(&NONCE, &f.group.public, EPOCH);
    assert!(xr_textbook::verify(&gpk, &bytes, PACKET));
    vec![
        Case::new("xr-verify", "decoded signature, 1277 bytes", good)
            .quote(PROTOTYPE, 670.0)
            .against("bbs04-verify"),
        Case::new("xr-verify-bytes", "decode and verify", move || {
            f.group.verifier.verify(&[PACKET], &decode())
        })
        .quote(PROTOTYPE, 790.0)
        .against("bbs04-verify-bytes"),
        Case::new("xr-decode", "288 bytes to points, all checks", decode),
        Case::new(
            "xr-reject-message",
            "wrong message: R1' and the hash",
            other,
        )
        .quote(PROTOTYPE, 42.0)
        .against("xr-verify"),
        Case::new(
            "xr-reject-forged",
            "a stranger's, its own c: costs the pairing",
            forged,
        )
        .against("xr-verify"),
        Case::new(
            "xr-textbook-verify",
            "two pairings, decoding too",
            move || xr_textbook::verify(&gpk, &bytes, PACKET),
        ),
    ]
}

fn incremental(f: &Fixture) -> Vec<Case<'_>> {
    let bytes = f.carrying.to_bytes();
    let decode = move || IncrementalSignature::from_bytes(&bytes).expect("a good signature");
    let verify = |message: &'static [u8], signature| {
        let mut order = rng(6);
        move || {
            let verifier = &f.group.verifier;
            verifier.verify_incremental(&[message], signature, &mut order)
        }
    };
    let mut good = verify(PACKET, &f.carrying);
    let mut other = verify(OTHER, &f.carrying);
    let mut forged = verify(PACKET, &f.by_stranger);
    let mut r1 = verify(PACKET, &f.other_r1);
    assert!(good().is_ok() && other().is_err() && forged().is_err() && r1().is_err());
    let mut whole = rng(7);
    vec![
        Case::new("xrr-verify", "R1 carried", good)
            .quote(PROTOTYPE, 690.0)
            .against("bbs04-incremental"),
        Case::new("xrr-verify-bytes", "decode and verify", move || {
            let verifier = &f.group.verifier;
            verifier.verify_incremental(&[PACKET], &decode(), &mut whole)
        }),
        Case::new("xrr-decode", "336 bytes to points, all checks", decode),
        Case::new("xrr-reject-message", "wrong message: the hash", other).against("xrr-verify"),
        Case::new("xrr-reject-r1", "R1 replaced, c fits, nothing holds", r1).against("xrr-verify"),
        Case::new(
            "xrr-reject-forged",
            "a stranger's, its own c: only the pairing fails",
            forged,
        )
        .against("xrr-verify"),
    ]
}

fn pseudonym(f: &Fixture) -> Vec<Case<'_>> {
    let mut nonces = rng(8);
    let sign = move || {
        let precursor = f.group.signer.precursor_in(SCOPE, &mut nonces);
        precursor.sign(&[PACKET])
    };
    let signature = sign.clone()();
    let verify = move || {
        let verifier = &f.group.verifier;
        verifier.verify_pseudonymous(SCOPE, &[PACKET], &signature)
    };
    assert!(verify().is_ok());
    vec![
        Case::new("xr-nym-sign", "all of Sign, with a pseudonym", sign).against("xr-sign"),
        Case::new("xr-nym-verify", "decoded, with a pseudonym", verify).against("xr-verify"),
    ]
}

fn setup(f: &Fixture) -> Vec<Case<'_>> {
    let XrGroup {
        public,
        member,
        witness,
        ..
    } = &f.group;
    vec![
        Case::new("xr-verifying-key", "VerifyingKey::new", move || {
            VerifyingKey::new(public, EPOCH)
        }),
        Case::new(
            "xr-signing-key",
            "SigningKey::new, with the checks",
            move || SigningKey::new(public, EPOCH, member.clone(), witness),
        ),
    ]
}
