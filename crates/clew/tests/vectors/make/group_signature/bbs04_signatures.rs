//! Vectors of bbs04: signatures made, and verified.

use clew_group::EpochId;
use clew_group::bbs04::{INCREMENTAL_BYTES, PublicKey};

use crate::case::Case;
use crate::make::damage::{Damage, another};
use crate::make::group_signature::bbs04_keys::case;
use crate::make::groups::bbs04_group::BBS04;
use crate::make::groups::records::NONCE;
use crate::make::{nonces, rng, with_key, with_nonces};

pub const MESSAGE: &[u8] = b"a message";

/// Where a signature has its scalars.
pub const SCALARS: [&str; 6] = ["c", "s-alpha", "s-beta", "s-x", "s-delta1", "s-delta2"];
pub const SCALARS_AT: usize = 144;

/// Where the incremental form has R1..R5, and how long they are.
pub const COMMITMENTS: [(usize, usize); 5] = [(336, 48), (384, 48), (432, 576), (1008, 48), (1056, 48)];

pub fn all() -> Vec<Case> {
    [signatures(), bad_signatures()].into_iter().flatten().collect()
}

/// The incremental form of the signature that `web-1` makes with the nonces of `label`.
pub fn sign(epoch: usize, label: &str, message: &[u8]) -> [u8; INCREMENTAL_BYTES] {
    let precursor = BBS04.signer(epoch).precursor_from(&nonces(label));
    precursor.sign_incremental(&[message]).to_bytes()
}

fn signatures() -> Vec<Case> {
    let long: Vec<u8> = (0..4096u32).map(|i| (i * i / 7) as u8).collect();
    vec![
        signed("sign", "Every secret and every value on the way.", 0, MESSAGE),
        signed("sign-epoch-2", "The same member after two rebases.", 2, MESSAGE),
        signed("sign-empty", "The empty message.", 0, b""),
        signed("sign-long", "A message of 4,096 bytes.", 0, &long),
    ]
}

fn signed(name: &str, comment: &str, epoch: usize, message: &[u8]) -> Case {
    let (key, member) = (&BBS04.public[epoch], BBS04.member("web-1").to_bytes());
    let bytes = sign(epoch, name, message);
    let mut case = with_key(case("sign", name, "valid", comment), key)
        .hex("epoch-id", BBS04.records.epoch_id(epoch))
        .hex("a", &member[..48])
        .hex("x", &member[48..])
        .hex("witness", BBS04.witness("web-1", epoch).to_bytes())
        .hex("message", message);
    case = with_nonces(case, name);
    for (t, bytes) in ["t1", "t2", "t3"].into_iter().zip(bytes.chunks(48)) {
        case = case.hex(t, bytes);
    }
    for (r, (at, length)) in ["r1", "r2", "r3", "r4", "r5"].into_iter().zip(COMMITMENTS) {
        case = case.hex(r, &bytes[at..at + length]);
    }
    for (s, bytes) in SCALARS.into_iter().zip(bytes[SCALARS_AT..].chunks(32)) {
        case = case.hex(s, bytes);
    }
    case.hex("signature", &bytes[..336]).hex("incremental", bytes)
}

/// The signature that most cases break.
pub fn good() -> Vec<u8> {
    sign(0, "good", MESSAGE)[..336].to_vec()
}

pub fn verify(name: &str, expect: &str, comment: &str, signature: &[u8]) -> Case {
    verify_under("verify", name, expect, comment, first(), MESSAGE, signature)
}

pub fn verify_under(
    check: &str,
    name: &str,
    expect: &str,
    comment: &str,
    (key, id): (&PublicKey, EpochId),
    message: &[u8],
    signature: &[u8],
) -> Case {
    with_key(case(check, name, expect, comment), key).hex("epoch-id", id).hex("message", message).hex("signature", signature)
}

fn bad_signatures() -> Vec<Case> {
    let (good, longer) = (good(), sign(0, "good", MESSAGE));
    let (other, (_, id)) = (other_group(), first());
    let under = |name, comment, key, message| verify_under("verify", name, "invalid", comment, key, message, &good);
    let mut cases = vec![
        verify("verify", "valid", "The signature that the next files break.", &good),
        under("wrong-message", "A signature of another message.", first(), b"a massage"),
        under("wrong-epoch", "A signature of epoch 0 under the key of epoch 1.", (&BBS04.public[1], id), MESSAGE),
        under(
            "wrong-epoch-id",
            "A signature of epoch 0 under the id of epoch 1.",
            (&BBS04.public[0], BBS04.records.epoch_id(1)),
            MESSAGE,
        ),
        under("wrong-group", "A signature under the key of another group.", (&other, id), MESSAGE),
    ];
    for (name, signature) in [
        ("signature-empty", &[][..]),
        ("signature-short", &good[..335]),
        ("signature-long", &longer[..337]),
        ("signature-incremental-as-plain", &longer),
    ] {
        let comment = format!("{} bytes.", signature.len());
        cases.push(verify(name, "length", &comment, signature));
    }
    for (name, at) in ["t1", "t2", "t3"].into_iter().zip([0, 48, 96]) {
        let (file, comment) = (format!("signature-other-{name}"), format!("{name} is another point."));
        let signature = good.set(at, another(&good[at..at + 48]));
        cases.push(verify(&file, "invalid", &comment, &signature));
    }
    for (i, name) in SCALARS.into_iter().enumerate() {
        let (file, comment) = (format!("signature-other-{name}"), format!("{name} is one bit off."));
        let at = SCALARS_AT + 32 * i + 31;
        let signature = good.flip(at);
        cases.push(verify(&file, "invalid", &comment, &signature));
    }
    cases
}

fn other_group() -> PublicKey {
    use clew_group::bbs04::{IssuerKey, OpenerKey};
    let (_, opening) = OpenerKey::generate(&NONCE, &mut rng("other opener"));
    let (_, issuing) = IssuerKey::generate(&mut rng("other issuer"));
    PublicKey::genesis(&NONCE, &opening, &issuing)
}

/// The key and the id of epoch 0.
pub fn first() -> (&'static PublicKey, EpochId) {
    (&BBS04.public[0], BBS04.records.epoch_id(0))
}
