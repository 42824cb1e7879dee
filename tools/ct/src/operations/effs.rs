//! eFFS, in the way that signers get: by AVX-512 where it is, which valgrind has not.
//!
//! Loading a key and signing end in what is public: n, v, the challenge, and verdicts on keys and signatures. Each becomes so in
//! one of the two functions of `clew_wire::disclose`, which `ct.supp` names.

use super::super::valgrind;
use super::{Draws, Operation, followed, nothing};
use clew_flow::effs::{Fault, Instance, PublicKey, SecretKey, Signer, Verifier};
use rand_core::{Rng, TryCryptoRng, TryRng};
use std::cell::Cell;
use std::convert::Infallible;
use std::sync::OnceLock;

const VECTORS: &str = include_str!("../../../../spec/vectors/effs.jsonl");

/// Cases with keys: drawing some would take valgrind minutes.
const WILLIAMS: &str = "signature";
const COMPACT: &str = "secret-paper";
const LARGE: &str = "signature-3072";

/// Room for a secret key, and for a signature, of the largest of these.
const SECRET_BYTES: usize = 3072 / 8 + 32;
const SIGNATURE_BYTES: usize = 560;

/// A key pair as bytes.
struct Key {
    public: PublicKey,
    secret: Vec<u8>,
}

impl Key {
    fn of(case: &str) -> Self {
        let public = PublicKey::from_bytes(&value(case, "public-key"));
        Self {
            public: public.expect("a key of the specification"),
            secret: value(case, "secret-key"),
        }
    }

    /// Its secret bytes, to be marked.
    fn bytes(&self) -> [u8; SECRET_BYTES] {
        let mut bytes = [0; SECRET_BYTES];
        bytes[..self.secret.len()].copy_from_slice(&self.secret);
        bytes
    }

    fn read(&self, bytes: &[u8; SECRET_BYTES]) -> SecretKey {
        let key = SecretKey::from_bytes(&self.public, &bytes[..self.secret.len()]);
        key.expect("the secret of the public key")
    }
}

/// The bytes of a value of a case.
fn value(case: &str, name: &str) -> Vec<u8> {
    let (case, name) = (
        format!("{{\"case\": \"{case}\","),
        format!("\"{name}\": \"0x"),
    );
    let line = VECTORS.lines().find(|line| line.starts_with(&case));
    let (_, value) = line
        .and_then(|line| line.split_once(&name))
        .expect("the case has it");
    let digits = value
        .split('"')
        .next()
        .unwrap_or_default()
        .as_bytes()
        .chunks(2);
    let byte = |digits: &[u8]| {
        let digits = str::from_utf8(digits).expect("hexadecimal digits");
        u8::from_str_radix(digits, 16).expect("hexadecimal digits")
    };
    digits.map(byte).collect()
}

fn signer(key: &SecretKey) -> Signer {
    Signer::new(key, || Instance([1; 32]))
}

/// Made by whichever operation is the first to need it, once for both codes of blst, which eFFS does not use:
/// loading a key takes valgrind ten seconds.
static SIGNERS: [OnceLock<Signer>; 3] = [const { OnceLock::new() }; 3];

pub struct Fixture {
    keys: [Key; 3],
    /// Of a message that nobody signed before: a challenge is public, and must not tell the class of its nonces by the
    /// entries of tables that it finds in the caches.
    message: Cell<u64>,
}

impl Fixture {
    pub fn new() -> Self {
        Self {
            keys: [WILLIAMS, COMPACT, LARGE].map(Key::of),
            message: Cell::new(0),
        }
    }

    /// Loads a key that is followed, unless it is loaded, and signs with nonces that nobody drew before.
    fn sign(&self, which: usize, fresh: [u8; 32]) -> Signature {
        let load = || {
            let mut bytes = self.keys[which].bytes();
            valgrind::mark_secret(&mut bytes);
            signer(&self.keys[which].read(&bytes))
        };
        let mut signer = SIGNERS[which].get_or_init(load).clone();
        self.message.set(self.message.get() + 1);
        let message = self.message.get().to_be_bytes();
        whole(signer.sign(&message, &mut Fresh(fresh)))
    }
}

pub fn all(f: &Fixture) -> Vec<Operation<'_>> {
    vec![
        // These load the keys.
        Operation::new("effs load and sign", fresh, |fresh| f.sign(0, fresh)),
        Operation::new("effs load, sign: rows", fresh, |fresh| f.sign(1, fresh)),
        Operation::new("effs load, sign: 3072", fresh, |fresh| f.sign(2, fresh)),
        Operation::new("effs sign", fresh, |fresh| f.sign(0, fresh)).timed(),
        Operation::new("effs sign, 3072", fresh, |fresh| f.sign(2, fresh)).timed(),
        Operation::new("effs prepare and sign", nothing, |()| {
            let mut signer = SIGNERS[0].get().expect("it is loaded").clone();
            let rng = &mut followed(5);
            signer.prepare(rng);
            whole(signer.sign(b"a message", rng))
        }),
        Operation::new(
            "effs key to bytes",
            |_| f.keys[1].bytes(),
            |bytes| {
                let mut out = [0; SECRET_BYTES];
                let own = f.keys[1].read(&bytes).to_bytes();
                out[..own.len()].copy_from_slice(&own);
                out
            },
        ),
    ]
}

fn fresh(draws: &mut Draws) -> [u8; 32] {
    let mut bytes = [0; 32];
    draws.fill_bytes(&mut bytes);
    bytes
}

type Signature = [u8; SIGNATURE_BYTES];

/// Without pointers, zeros behind it.
fn whole(signature: Result<Vec<u8>, Fault>) -> Signature {
    let signature = signature.expect("this machine computes right");
    let mut whole = [0; SIGNATURE_BYTES];
    whole[..signature.len()].copy_from_slice(&signature);
    whole
}

/// What a signer asks for once, to draw nonces with.
struct Fresh([u8; 32]);

impl TryRng for Fresh {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unreachable!("signers ask for bytes")
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        unreachable!("signers ask for bytes")
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        out.copy_from_slice(&self.0);
        Ok(())
    }
}

impl TryCryptoRng for Fresh {}

/// Whoever verifies may branch as a signature says: if it were a secret, that has to be found.
pub fn control<'a>() -> Operation<'a> {
    let signature = |_: &mut Draws| {
        let mut whole = [0; SIGNATURE_BYTES];
        let signature = value(WILLIAMS, "signature");
        whole[..signature.len()].copy_from_slice(&signature);
        whole
    };
    Operation::new("control: effs verify", signature, |signature| {
        let verifier = Verifier::new(&Key::of(WILLIAMS).public);
        let length = verifier.key().parameters().signature_bytes();
        let message = value(WILLIAMS, "message");
        let verified = verifier.verify(&message, &signature[..length], 1);
        verified.is_ok()
    })
}
