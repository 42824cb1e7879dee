//! Vectors of eFFS that are refused: keys, and signatures at one level or at all.

use clew_flow::effs::SecretKey;
use sha2::{Digest as _, Sha256};

use crate::case::Case;
use crate::make::damage::Damage;
use crate::make::effs::good::{FOUR, MESSAGE, SHORT, TWO, WHOLE, case, judged, pkid, shortened, sign};
use crate::make::flat;

/// Bytes before n, and of n.
const HEADER: usize = 5;
const N: usize = 256;

/// (2^1024 - 1)^2, of the residue of the paper's rule.
fn square() -> [u8; N] {
    let mut n = [0; N];
    n[..128].fill(0xff);
    n[127] = 0xfe;
    n[N - 1] = 1;
    n
}

pub fn all() -> Vec<Case> {
    flat([headers(), moduli(), small_numbers(), secrets(), lengths(), roots(), challenges(), forged()])
}

fn bytes(key: &SecretKey) -> Vec<u8> {
    key.public().as_bytes().to_vec()
}

fn bad_key(name: &str, expect: &str, comment: &str, key: impl AsRef<[u8]>) -> Case {
    case("public-key", name, expect, comment).hex("public-key", key)
}

fn headers() -> Vec<Case> {
    let (key, two) = (bytes(&SHORT), bytes(&TWO));
    let bad =
        |name: &str, expect: &str, comment: &str, at: usize, value: &[u8]| bad_key(name, expect, comment, key.set(at, value));
    vec![
        bad("rule-0", "rule", "The first byte is 0.", 0, &[0]),
        bad("rule-3", "rule", "There is no third rule.", 0, &[3]),
        bad("rule-16", "rule", "A form without a rule.", 0, &[16]),
        bad("rule-34", "rule", "There are no other forms.", 0, &[34]),
        bad("rule-first", "rule", "All is wrong: the first is named.", 0, &[9, 9, 9, 9, 9]),
        bad("size-1024", "modulus-size", "A modulus too short for this version.", 1, &[4, 0]),
        bad("size-4096", "modulus-size", "And one too long.", 1, &[16, 0]),
        bad("kt-64", "parameters", "64 bits of challenge.", 3, &[8, 1]),
        bad("kt-512", "parameters", "512 bits of challenge.", 3, &[32, 2]),
        bad("kt-0", "parameters", "No columns.", 3, &[0, 1]),
        bad("rows-0", "parameters", "No rows.", 3, &[16, 0]),
        bad("rows-16", "parameters", "16 rows of 8.", 3, &[1, 16]),
        bad("compact-1", "parameters", "One row has nothing to be compact about.", 0, &[18]),
        bad("length-other", "length", "The v of another number of columns.", 3, &[32, 1]),
        bad_key("key-short", "length", "A byte is missing.", key.cut(1)),
        bad_key("key-long", "length", "A byte too many.", two.plus([0])),
        bad_key("key-header", "length", "Nothing but the parameters.", &key[..HEADER]),
    ]
}

fn moduli() -> Vec<Case> {
    let (key, two) = (bytes(&SHORT), bytes(&TWO));
    let last = HEADER + N - 1;
    // n stays what it is but for its lowest bits.
    let ending = |key: &[u8], bits: u8| key.set(last, [key[last] & !7 | bits]);
    let of_paper = two[last] & 7;
    vec![
        bad_key("modulus-short", "modulus", "n has 2047 bits.", key.set(5, [key[5] & 0x7f])),
        bad_key("modulus-even", "modulus", "n is even.", ending(&two, 0)),
        bad_key("modulus-3", "modulus", "n is 3 modulo 4.", ending(&two, of_paper ^ 2)),
        bad_key("modulus-1", "modulus", "n is 1 modulo 8, by Williams' rule.", ending(&key, 1)),
        bad_key("modulus-7", "modulus", "n is 7 modulo 8, by Williams' rule.", ending(&key, 7)),
    ]
}

fn small_numbers() -> Vec<Case> {
    let two = bytes(&TWO);
    let (first, last) = (HEADER + N, two.len() - 2);
    let v = |number: u16| number.to_be_bytes();
    let own = &two[first..first + 4];
    let bad =
        |name: &str, expect: &str, comment: &str, at: usize, value: &[u8]| bad_key(name, expect, comment, two.set(at, value));
    let swapped = [&own[2..], &own[..2]].concat();
    let twice = own[..2].repeat(2);
    vec![
        bad("v-swapped", "v-order", "The second v is before the first.", first, &swapped),
        bad("v-twice", "v-order", "The first v is there twice.", first, &twice),
        bad("v-low", "v-order", "The last v is 0: they do not ascend.", last, &v(0)),
        bad("v-0", "v-prime", "The first v is 0.", first, &v(0)),
        bad("v-1", "v-prime", "The first v is 1.", first, &v(1)),
        bad("v-square", "v-prime", "The last v is the square of 251.", last, &v(63_001)),
        bad("v-composite", "v-prime", "The last v is 3 times 5 times 17 times 257.", last, &v(65_535)),
    ]
}

fn secrets() -> Vec<Case> {
    let bad = |name: &str, comment: &str, public: &[u8], secret: &[u8]| {
        case("secret-key", name, "secret", comment).hex("public-key", public).hex("secret-key", secret)
    };
    let (key, two) = (bytes(&SHORT), bytes(&TWO));
    let (own, own_two) = (SHORT.to_bytes(), TWO.to_bytes());
    let turned = [&own[128..256], &own[..128], &own[256..]].concat();
    // p = q = 2^1024 - 1.
    let twin = [&[0xff; 256][..], &[0; 32]].concat();
    let last = two.len() - 2;
    vec![
        bad("secret-other", "Of another public key.", &key, &FOUR.to_bytes()),
        bad("secret-changed", "A bit of q is another.", &key, &own.set(255, [own[255] ^ 8])),
        bad("secret-turned", "p is 7, and q 3 modulo 8.", &key, &turned),
        bad("secret-twin", "p is q.", &two.set(HEADER, square()), &twin),
        bad("secret-v", "A v that is prime, and not the one.", &two.set(last, 65_521u16.to_be_bytes()), &own_two),
        bad("secret-tweak", "The last v has the other sign.", &key.flip(-1), &own),
    ]
}

fn lengths() -> Vec<Case> {
    let (key, signature) = (bytes(&SHORT), sign(&SHORT, MESSAGE).signature);
    let (two, of_two) = (bytes(&TWO), sign(&TWO, MESSAGE).signature);
    let bad = |name: &str, comment: &str, key: &[u8], signature: &[u8], level: u8| {
        judged(name, comment, key, (MESSAGE, signature), level)
    };
    vec![
        bad("short", "A byte is missing.", &key, &signature[1..], 1),
        bad("long", "A byte too many.", &key, &signature.plus([0]), 1),
        bad("nothing", "The length is looked at before the level.", &key, &[], 9),
        bad("level-0", "There is no level 0.", &key, &signature, 0),
        bad("level-2", "There is no level 2 of one row.", &key, &signature, 2),
        bad("level-3", "Nor level 3 of two.", &two, &of_two, 3),
    ]
}

/// `n - y` of the i-th y, from 0, in the place of y.
fn mirrored(key: &[u8], signature: &[u8], i: usize) -> Vec<u8> {
    let at = 16 + i * N;
    let mut other = [0; N];
    let mut borrow = 0;
    for place in (0..N).rev() {
        let digit = i16::from(key[HEADER + place]) - i16::from(signature[at + place]) - borrow;
        other[place] = digit as u8;
        borrow = i16::from(digit < 0);
    }
    signature.set(at, other)
}

fn roots() -> Vec<Case> {
    let (key, signature) = (bytes(&SHORT), sign(&SHORT, MESSAGE).signature);
    let (two, of_two) = (bytes(&TWO), sign(&TWO, MESSAGE).signature);
    let (four, of_four) = (bytes(&FOUR), sign(&FOUR, MESSAGE).signature);
    let one = |name: &str, comment: &str, signature: &[u8]| judged(name, comment, &key, (MESSAGE, signature), 1);
    let second = |name: &str, comment: &str, signature: &[u8]| judged(name, comment, &two, (MESSAGE, signature), 2);
    let n = &key[HEADER..][..N];
    vec![
        one("mirrored", "n - y in the place of y.", &mirrored(&key, &signature, 0)),
        one("root-n", "y is n, which is 0.", &signature.set(16, n)),
        one("root-high", "y has all bits.", &signature.set(16, [0xff; N])),
        one("root-zero", "y is 0.", &signature.set(16, [0; N])),
        second("second-zero", "y_2 is 0: level 1 does not tell.", &of_two.set(16 + N, [0; N])),
        second("second-mirrored", "n - y_2 in the place of y_2.", &mirrored(&two, &of_two, 1)),
        judged("third-changed", "A bit of y_3 is another.", &four, (MESSAGE, &of_four.flip(16 + 3 * N - 1)), 3),
    ]
}

fn challenges() -> Vec<Case> {
    let (key, signature) = (bytes(&SHORT), sign(&SHORT, MESSAGE).signature);
    let (two, of_two) = (bytes(&TWO), sign(&TWO, MESSAGE).signature);
    let (whole, of_whole) = (bytes(&WHOLE), sign(&WHOLE, MESSAGE).signature);
    let flipped = |bytes: &[u8], at: usize| bytes.flip(at);
    let bad = |name: &str, comment: &str, key: &[u8], signature: Vec<u8>, level: u8| {
        judged(name, comment, key, (MESSAGE, &signature), level)
    };
    vec![
        judged("other-message", "Of another message.", &key, (b"what is not", &signature), 1),
        judged("longer-message", "A byte of the message too many.", &key, (b"what is signed\0", &signature), 1),
        bad("bit-of-b", "The last bit of b is another.", &key, flipped(&signature, 15), 1),
        bad("bit-of-y", "The last bit of y is another.", &key, flipped(&signature, 271), 1),
        bad("bit-of-row-2", "The last bit of b: level 1 looks at all.", &two, flipped(&of_two, 15), 1),
        bad("bit-of-part", "The last bit of what is carried of x_2.", &two, flipped(&of_two, 559), 1),
        bad("bit-of-x", "The last bit of x_2.", &whole, flipped(&of_whole, 783), 1),
        bad("other-key", "The v of another rule, of the same n.", &key.flip(-1), signature.clone(), 1),
    ]
}

/// b of these commitments, whose number is t.
fn challenge(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    let hash = Sha256::new_with_prefix(b"clew/effs/v1")
        .chain_update(&key[3..5])
        .chain_update(pkid(key))
        .chain_update((MESSAGE.len() as u64).to_be_bytes())
        .chain_update(MESSAGE);
    let hash = parts.iter().fold(hash, |hash, part| hash.chain_update(part));
    hash.finalize()[..usize::from(key[3]) * usize::from(key[4])].to_vec()
}

/// A number modulo n.
fn number(value: u8) -> [u8; N] {
    let mut number = [0; N];
    number[N - 1] = value;
    number
}

/// What the paper's scheme takes, and this does not.
fn forged() -> Vec<Case> {
    let key = bytes(&SHORT);
    let zero = number(0);
    let signature = [&challenge(&key, &[&zero])[..], &zero].concat();
    let everybodys = judged("forged-zero", "y = 0 fits everybody's key, and every message.", &key, (MESSAGE, &signature), 1);
    let two = bytes(&TWO);
    vec![everybodys, square_modulus(&two), low_level(&key)]
}

/// Of a modulus that is a square, and its root as y.
fn square_modulus(two: &[u8]) -> Case {
    let mut key = two.set(HEADER, square());
    key[0] = 1;
    let mut root = [0; N];
    root[128..].fill(0xff);
    let b = challenge(&key, &[&number(0), &number(1)]);
    let signature = [&b[..], &root, &number(1), &number(1)].concat();
    judged("commitment-zero", "z is 0, and y is not: n is a square.", &key, (MESSAGE, &signature), 1)
}

/// Of eight rows of 16: b_1 = 0 and y_1 = 2 fit z_1 = 4, and what is carried of x_8 is varied until the hash
/// begins with b_1. That takes 2^16 hashes.
fn low_level(short: &[u8]) -> Case {
    let key = shortened(short);
    let first = Sha256::new_with_prefix(b"clew/effs/v1/com")
        .chain_update(pkid(&key))
        .chain_update([1])
        .chain_update(number(4))
        .finalize();
    let forge = |i: u32| {
        let mut carried = [0; 7 * 32];
        carried[220..].copy_from_slice(&i.to_be_bytes());
        let b = challenge(&key, &[&first, &carried]);
        (b[..2] == [0, 0]).then(|| [&b[..], &number(2).repeat(8), &carried].concat())
    };
    let signature = (0..).find_map(forge).unwrap();
    let comment = "Level 1 of 16 bits is forged by 2^16 hashes; level 2 tells.";
    judged("forged-level", comment, &key, (MESSAGE, &signature), 2)
}
