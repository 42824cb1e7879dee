//! What the figures are to be compared with on any machine: the textbook's way, and single
//! operations of the curve library.

use super::fixture::Fixture;
use crate::groups::{EPOCH, NONCE, PACKET, PROTOTYPE};
use crate::measure::Case;
use crate::textbook::{self, Gpk, Values};
use blst::{blst_fp12, blst_p1_affine, blst_p2_affine, min_pk, min_sig};
use clew_group::curve::{G1, G2, Scalar};

/// The rows, in the order of the report.
pub fn all(fixture: &Fixture) -> Vec<Case<'_>> {
    let gpk = Gpk::of(&NONCE, &fixture.group, EPOCH);
    let values = Values::of(&fixture.signature.to_bytes());
    assert!(textbook::verify(&gpk, &values, PACKET));
    let textbook = Case::new(
        "bbs04-textbook-verify",
        "five pairings, five powers in GT",
        move || textbook::verify(&gpk, &values, PACKET),
    );
    [textbook].into_iter().chain(curve()).collect()
}

/// Single operations of the curve library.
pub fn curve() -> [Case<'static>; 2] {
    let (p, q) = generators();
    let scalar = Scalar::from_wide(&[0xc3; 64]);
    [
        Case::new(
            "blst-g1-mul",
            "one product in G1, constant time",
            move || G1::generator().mul(&scalar),
        )
        .quote(PROTOTYPE, 58.8),
        Case::new(
            "blst-pairing",
            "Miller loop and final exponentiation",
            move || blst_fp12::miller_loop(&q, &p).final_exp(),
        )
        .quote(PROTOTYPE, 470.0),
    ]
}

/// The generators in blst's own types, through its safe interface.
fn generators() -> (blst_p1_affine, blst_p2_affine) {
    let p = min_pk::PublicKey::from_bytes(&G1::generator().to_bytes());
    let q = min_sig::PublicKey::from_bytes(&G2::generator().to_bytes());
    (
        p.expect("the generator").into(),
        q.expect("the generator").into(),
    )
}
