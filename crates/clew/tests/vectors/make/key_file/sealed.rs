//! Vectors of key files that are sealed.

use clew_keys::TextFile;
use clew_keys::encryption::{Secret, encrypt};
use zeroize::Zeroizing;

use crate::case::Case;
use crate::make::damage::Damage;
use crate::make::key_file::keys::{TRUSTEE, armored, case, payload, trustee};
use crate::make::rng;

const SEALED: &str = "clew-sealed-1";

const PASSPHRASE: &str = "correct horse battery staple";
const KEY_FILE: &[u8] = b"the content of a key file";

pub fn all() -> Vec<Case> {
    let (by_passphrase, by_key_file) =
        (Secret::Passphrase(Zeroizing::new(PASSPHRASE.to_owned())), Secret::KeyFile(Zeroizing::new(KEY_FILE.to_vec())));
    let (plain, comment) = (trustee().encode(), trustee().comment());
    let first = encrypt(&plain, &comment, &by_passphrase, &mut rng("sealed by passphrase"));
    let second = encrypt(&plain, &comment, &by_key_file, &mut rng("sealed by key file"));
    let bad = |name: &str, expect: &str, comment: &str, payload: &[u8]| {
        let text = armored(SEALED, payload);
        case(name, expect, comment, SEALED, &text).hex("key-file", KEY_FILE)
    };
    let (costly, head) = (payload(&first), payload(&second));
    let costly = |name: &str, comment: &str, at: usize, value: u32| {
        let text = armored(SEALED, &costly.set(at, value.to_be_bytes()));
        case(name, "damaged", comment, SEALED, &text).text("passphrase", PASSPHRASE)
    };
    let flipped = |at: usize| head.flip(at);
    vec![
        case("sealed-passphrase", "valid", "Sealed with a passphrase.", SEALED, &first)
            .text("passphrase", PASSPHRASE)
            .lines("plain-line", &plain),
        case("sealed-key-file", "valid", "Sealed with a key file.", SEALED, &second)
            .hex("key-file", KEY_FILE)
            .lines("plain-line", &plain),
        case("sealed-not-opened", "label", "A sealed key where the key itself is wanted.", TRUSTEE, &second),
        case("sealed-wrong-passphrase", "wrong-secret", "Another passphrase.", SEALED, &first)
            .text("passphrase", "correct horse battery stable"),
        case("sealed-wrong-key-file", "wrong-secret", "Another key file.", SEALED, &second)
            .hex("key-file", b"the content of a key fil3"),
        case("sealed-other-kind", "wrong-secret", "A key file for what a passphrase sealed.", SEALED, &first)
            .hex("key-file", KEY_FILE),
        bad("sealed-salt", "wrong-secret", "One bit of the salt is flipped.", &flipped(1)),
        bad("sealed-passes", "wrong-secret", "The passes, which a key file does not use, are covered too.", &flipped(24)),
        bad("sealed-nonce", "wrong-secret", "One bit of the nonce is flipped.", &flipped(29)),
        bad("sealed-ciphertext", "wrong-secret", "One bit of the ciphertext is flipped.", &flipped(60)),
        bad("sealed-cut", "wrong-secret", "The last byte is missing.", &head.cut(1)),
        bad("sealed-kind", "damaged", "Kind 3.", &head.set(0, [3])),
        bad("sealed-short", "damaged", "Less than the six fields.", &head[..52]),
        costly("sealed-memory", "More memory than a reader gives.", 17, (1 << 20) + 1),
        costly("sealed-many-passes", "More passes than a reader makes.", 21, 17),
        costly("sealed-lanes", "More lanes than a reader runs.", 25, 17),
        costly("sealed-no-passes", "No pass: not Argon2id.", 21, 0),
    ]
}
