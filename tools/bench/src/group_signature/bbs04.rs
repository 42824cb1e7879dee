//! The rows of BBS04.
//!
//! Each case asserts its verdict once when it is made, so that nothing fast and wrong is measured.

use super::fixture::Fixture;
use crate::groups::{EPOCH, OTHER, PACKET, PROTOTYPE, rng};
use crate::measure::Case;
use crate::paper::{self, CLUE};
use clew_group::bbs04::{IncrementalSignature, Precursor, Signature, SigningKey, VerifyingKey};

/// All rows, in the order of the report.
pub fn all(fixture: &Fixture) -> Vec<Case<'_>> {
    [
        signing(fixture),
        verifying(fixture),
        incremental(fixture),
        opening(fixture),
        setup(fixture),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn signing(f: &Fixture) -> Vec<Case<'_>> {
    let (mut first, mut second) = (rng(3), rng(4));
    let online = |name, about, message: &'static [&'static [u8]]| {
        let precursor = || copy(f);
        Case::with_input(name, about, precursor, |p| p.sign(message))
    };
    vec![
        Case::new("bbs04-sign", "all of Sign, 1277 bytes", move || {
            f.signer.precursor(&mut first).sign(&[PACKET])
        }),
        Case::new(
            "bbs04-precursor",
            "Sign before the message is known",
            move || f.signer.precursor(&mut second),
        ),
        online("bbs04-sign-20", "with a precursor, 20 bytes", &[&[0; 20]]),
        online("bbs04-sign-1277", "with a precursor, 1277 bytes", &[PACKET]),
        online(
            "bbs04-sign-8x1277",
            "with a precursor, 8 x 1277 bytes",
            &[PACKET; 8],
        ),
    ]
}

/// A precursor of the fixture. Making one takes a thousand times what signing with it takes.
fn copy(f: &Fixture) -> Precursor {
    f.signer.precursor(&mut rng(5))
}

fn verifying(f: &Fixture) -> Vec<Case<'_>> {
    let bytes = f.signature.to_bytes();
    let decode = move || Signature::from_bytes(&bytes).expect("a good signature");
    assert!(f.verifier.verify(&[PACKET], &f.signature).is_ok());
    assert!(f.verifier.verify(&[OTHER], &f.signature).is_err());
    vec![
        Case::new("bbs04-verify", "decoded signature, 1277 bytes", || {
            f.verifier.verify(&[PACKET], &f.signature)
        })
        .quote(CLUE.name, paper::VERIFY)
        .quote(PROTOTYPE, 852.0),
        Case::new("bbs04-reject-message", "the same, wrong message", || {
            f.verifier.verify(&[OTHER], &f.signature)
        }),
        Case::new("bbs04-decode", "336 bytes to points, all checks", decode),
        Case::new("bbs04-verify-bytes", "decode and verify", move || {
            f.verifier.verify(&[PACKET], &decode())
        }),
    ]
}

fn incremental(f: &Fixture) -> Vec<Case<'_>> {
    const ONE_WRONG: [&str; 5] = [
        "bbs04-incr-r1",
        "bbs04-incr-r2",
        "bbs04-incr-r3",
        "bbs04-incr-r4",
        "bbs04-incr-r5",
    ];
    let mut cases = vec![
        incremental_case(
            f,
            "bbs04-incremental",
            "verify, R1..R5 carried",
            PACKET,
            &f.incremental,
        ),
        incremental_case(
            f,
            "bbs04-incr-message",
            "the same, wrong message",
            OTHER,
            &f.incremental,
        ),
        incremental_case(
            f,
            "bbs04-incr-forged",
            "c fits, no R holds",
            PACKET,
            &f.all_wrong,
        )
        .quote(CLUE.name, paper::CORRUPTED_INCREMENTAL[0]),
    ];
    cases.extend(
        ONE_WRONG
            .into_iter()
            .zip(&f.one_wrong)
            .map(|(name, forged)| {
                incremental_case(
                    f,
                    name,
                    "the signer's own forgery, only this R wrong",
                    PACKET,
                    forged,
                )
            }),
    );
    cases
}

fn incremental_case<'a>(
    f: &'a Fixture,
    name: &'static str,
    about: &'static str,
    message: &'static [u8],
    signature: &'a IncrementalSignature,
) -> Case<'a> {
    let mut order = rng(6);
    let mut verify = move || {
        f.verifier
            .verify_incremental(&[message], signature, &mut order)
    };
    assert_eq!(verify().is_ok(), name == "bbs04-incremental", "{name}");
    Case::new(name, about, verify)
}

fn opening(f: &Fixture) -> Vec<Case<'_>> {
    let (a, base) = (f.member.credential(), f.opener.open(&f.signature));
    let row = f.member.public_x();
    let names = move || f.group.certifies(&a, &row) && f.group.names(&base, &row);
    assert!(names());
    vec![
        Case::new("bbs04-open", "signature to base", || {
            f.opener.open(&f.signature)
        }),
        Case::new("bbs04-names", "a judge: both equations of a row", names),
        Case::new(
            "bbs04-member-check",
            "that key and witness fit their epoch",
            || f.member.check(&f.group, &f.witness),
        ),
    ]
}

fn setup(f: &Fixture) -> Vec<Case<'_>> {
    vec![
        Case::new("bbs04-verifying-key", "VerifyingKey::new", || {
            VerifyingKey::new(&f.group, EPOCH)
        }),
        Case::new(
            "bbs04-signing-key",
            "SigningKey::new, with the checks",
            || SigningKey::new(&f.group, EPOCH, f.member.clone(), &f.witness),
        ),
    ]
}
