//! Vectors of xr: signatures made with fixed nonces, pseudonyms, openings.

use clew_group::curve::{G1, Scalar};
use clew_group::quorum::{SecretShare, Set};
use clew_group::xr::{INCREMENTAL_BYTES, Signature};

use crate::case::Case;
use crate::make::damage::{Damage, bad_points};
use crate::make::group_signature::xr_keys::case;
use crate::make::groups::xr_group::{NEWEST, XR};
use crate::make::{flat, with_key, with_xr_nonces, xr_nonces};

pub const MESSAGE: &[u8] = b"a message";

const SCOPE: &[u8] = b"example.org, backup, 2026-11";

pub fn all() -> Vec<Case> {
    flat([signatures(), pseudonyms(), bad_pseudonyms(), openings()])
}

/// The incremental form of the signature that `web-1` makes with the nonces of `label`.
pub fn sign(epoch: usize, label: &str, message: &[u8]) -> [u8; INCREMENTAL_BYTES] {
    let precursor = XR.signer_of("web-1", epoch).precursor_from(&xr_nonces(label));
    precursor.sign_incremental(&[message]).to_bytes()
}

fn signatures() -> Vec<Case> {
    let long: Vec<u8> = (0..4096u32).map(|i| (i * i / 7) as u8).collect();
    vec![
        signed("sign", "Every secret and every value on the way.", 0, MESSAGE),
        signed("sign-epoch-1", "The same member after a revocation.", 1, MESSAGE),
        signed("sign-rebase", "After a new opening key, two more steps and a rebase.", NEWEST, MESSAGE),
        signed("sign-empty", "The empty message.", 0, b""),
        signed("sign-long", "A message of 4,096 bytes.", 0, &long),
    ]
}

/// Public key, id, member key of `web-1` and nonces.
fn secrets(check: &str, name: &str, comment: &str, epoch: usize, message: &[u8]) -> Case {
    let member = XR.machine("web-1").key.to_bytes();
    let case = with_key(case(check, name, "valid", comment), &XR.public[epoch])
        .hex("epoch-id", XR.records.epoch_id(epoch))
        .hex("a", &member[..48])
        .hex("x", &member[48..80])
        .hex("y", &member[80..])
        .hex("witness", XR.witness("web-1", epoch).to_bytes())
        .hex("message", message);
    with_xr_nonces(case, name)
}

fn signed(name: &str, comment: &str, epoch: usize, message: &[u8]) -> Case {
    let bytes = sign(epoch, name, message);
    let (t, r3, r1) = (&bytes[..96], &bytes[96..144], &bytes[288..]);
    let mut domain = [0; 32];
    domain[..19].copy_from_slice(b"clew-xr-signature-1");
    let id = XR.records.epoch_id(epoch);
    let before_message = [&domain, &id.0[..], t, r1, r3].concat();
    let mut case = secrets("sign", name, comment, epoch, message)
        .hex("t1", &t[..48])
        .hex("t2", &t[48..])
        .hex("r1", r1)
        .hex("r3", r3)
        .hex("before-message", before_message)
        .hex("c", &bytes[144..160]);
    for (s, bytes) in ["sa", "sx", "sd", "sy"].into_iter().zip(bytes[160..].chunks(32)) {
        case = case.hex(s, bytes);
    }
    case.hex("signature", &bytes[..288]).hex("incremental", bytes)
}

/// The signature of `web-1` with its name in a scope.
fn in_scope(epoch: usize, label: &str, scope: &[u8]) -> Vec<u8> {
    let signer = XR.signer_of("web-1", epoch);
    let precursor = signer.precursor_in_from(scope, &xr_nonces(label));
    precursor.sign(&[MESSAGE]).to_bytes().to_vec()
}

fn pseudonyms() -> Vec<Case> {
    [
        ("pseudonym", "A machine shows its name in a scope.", 0, SCOPE),
        ("pseudonym-rebase", "The same name in a later epoch.", NEWEST, SCOPE),
        ("pseudonym-other-scope", "Its name in another scope.", 0, b"another"),
        ("pseudonym-empty-scope", "The scope without a byte.", 0, b""),
    ]
    .map(|(name, comment, epoch, scope)| {
        let signature = in_scope(epoch, name, scope);
        secrets("pseudonym", name, comment, epoch, MESSAGE)
            .hex("scope", scope)
            .hex("nym", &signature[288..])
            .hex("signature", &signature)
    })
    .into()
}

fn verify_in(name: &str, expect: &str, comment: &str, scope: &[u8], signature: &[u8]) -> Case {
    let name = format!("nym-{name}");
    with_key(case("verify-pseudonym", &name, expect, comment), &XR.public[0])
        .hex("epoch-id", XR.records.epoch_id(0))
        .hex("scope", scope)
        .hex("message", MESSAGE)
        .hex("signature", signature)
}

fn bad_pseudonyms() -> Vec<Case> {
    let good = in_scope(0, "good pseudonym", SCOPE);
    let other = in_scope(0, "good pseudonym", b"another");
    let bad = |name: &str, rule: &str, comment: &str, bytes: &[u8]| verify_in(name, rule, comment, SCOPE, bytes);
    let mut cases = vec![
        bad("good", "valid", "The one that the next files break.", &good),
        bad("short", "length", "A byte is missing.", &good[..335]),
        bad("none", "length", "No name behind the signature.", &good[..288]),
        verify_in("other-scope", "invalid", "In another scope.", b"another", &good),
        bad("other", "invalid", "The name is another point.", &good.doubled(288, 48)),
        bad("of-other-scope", "invalid", "The machine's name in another scope.", &good.set(288, &other[288..])),
        bad("plain", "invalid", "A signature without a scope, and the name.", &{
            let plain = sign(0, "good pseudonym", MESSAGE);
            [&plain[..288], &good[288..]].concat()
        }),
    ];
    for (what, rule, comment, bytes) in bad_points(&good, "nym", 288..336) {
        cases.push(bad(&format!("point-{what}"), rule, &comment, &bytes));
    }
    cases
}

/// xi of an epoch, which nobody ever has: put together from shares.
fn xi(epoch: usize) -> Scalar {
    let (sharing, shares) = XR.sharing(epoch);
    let needed = usize::from(sharing.quorum().threshold());
    let set = Set::of(shares[..needed].iter().map(SecretShare::trustee)).unwrap();
    shares[..needed].iter().fold(Scalar::default(), |sum, share| {
        let value = Scalar::from_bytes(share.to_bytes().as_slice()).unwrap();
        sum + set.lagrange_at_zero(share.trustee()) * value
    })
}

fn openings() -> Vec<Case> {
    [0, 1, NEWEST]
        .map(|epoch| {
            let name = format!("open-epoch-{epoch}");
            let comment = "The base in a signature.";
            let bytes = &sign(epoch, &name, MESSAGE)[..288];
            let (signature, xi) = (Signature::from_bytes(bytes).unwrap(), xi(epoch));
            let base: G1 = *signature.t2() - signature.t1().mul(&xi);
            assert_eq!(base, XR.base("web-1", epoch));
            with_key(case("open", &name, "valid", comment), &XR.public[epoch])
                .hex("opener-key", xi.to_bytes())
                .hex("signature", bytes)
                .hex("b", base.to_bytes())
        })
        .into()
}
