//! The schemes that eFFS stands beside: from bytes to bytes, each with keys of its own.

use super::design::{self, Quoted};
use super::{MESSAGES, messages};
use crate::effs::paper::work::{WARM, WARM_SIGNING, warm_for};
use crate::effs::primes::Factors;
use crate::effs::rsa::OfLibrary;
use crate::effs::scheme::{Hash, Scheme as _};
use crate::group::Group;
use crate::groups::rng;
use crate::measure::Case;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{self, EcdsaKeyPair, KeyPair as _, ParsedPublicKey, RsaKeyPair};
use blst::{BLST_ERROR, min_sig};
use clew::flow::ed25519;
use clew_flow::{BlockSigner, BlockVerifier, Chaining, Descriptor, Ed25519Signer};
use clew_group::curve::G1_BYTES;
use clew_group::{FOUNDING_BYTES, Scheme, Signed};
use std::cell::RefCell;
use std::hint::black_box;
use std::rc::Rc;

/// What everything is compared with.
pub const ED25519: &str = "ed25519-aws-lc";

/// A scheme that is not eFFS.
pub struct Other {
    /// As it stands in the names of rows.
    pub slug: &'static str,
    pub title: &'static str,
    /// Bits of RSA's modulus.
    pub modulus: Option<usize>,
    /// Of a signature and of a public key.
    pub bytes: [usize; 2],
    pub quoted: Quoted,
    pair: Rc<RefCell<dyn Pair>>,
}

/// Both sides of a scheme.
trait Pair {
    fn sign(&mut self, message: &[u8]) -> Vec<u8>;
    fn verify(&self, message: &[u8], signature: &[u8]) -> bool;
}

/// Two functions are one.
struct Functions<S, V>(S, V);

impl<S: FnMut(&[u8]) -> Vec<u8>, V: Fn(&[u8], &[u8]) -> bool> Pair for Functions<S, V> {
    fn sign(&mut self, message: &[u8]) -> Vec<u8> {
        (self.0)(message)
    }

    fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        (self.1)(message, signature)
    }
}

impl Other {
    fn new(
        (slug, title): (&'static str, &'static str),
        key_bytes: usize,
        mut sign: impl FnMut(&[u8]) -> Vec<u8> + 'static,
        verify: impl Fn(&[u8], &[u8]) -> bool + 'static,
    ) -> Self {
        let signature = sign(b"one");
        assert!(verify(b"one", &signature) && !verify(b"another", &signature));
        Self {
            slug,
            title,
            modulus: None,
            bytes: [signature.len(), key_bytes],
            quoted: design::quoted(slug),
            pair: Rc::new(RefCell::new(Functions(sign, verify))),
        }
    }

    fn with_modulus(self, bits: usize) -> Self {
        Self {
            modulus: Some(bits),
            ..self
        }
    }

    /// Signing and verifying.
    pub fn cases(&self) -> [Case<'static>; 2] {
        let (messages, pair) = (messages(), Rc::clone(&self.pair));
        let mut turn = (0..MESSAGES).cycle();
        let signatures: Vec<_> = messages.iter().map(|m| pair.borrow_mut().sign(m)).collect();
        let signed: Vec<_> = messages.clone().into_iter().zip(signatures).collect();
        let [sign, verify] = ["sign", "verify"].map(|side| format!("{}-{side}", self.slug));
        let signing = warm_for(sign, "signing", 1, WARM_SIGNING, move || {
            let message = &messages[turn.next().unwrap_or(0)];
            black_box(pair.borrow_mut().sign(message));
        });
        let (mut turn, pair) = ((0..MESSAGES).cycle(), Rc::clone(&self.pair));
        let verifying = warm_for(verify, "verifying", 1, WARM, move || {
            let (message, signature) = &signed[turn.next().unwrap_or(0)];
            assert!(pair.borrow().verify(message, signature), "it is good");
        });
        [signing, verifying]
    }
}

/// All of them.
pub fn all() -> Vec<Other> {
    let [aws, dalek] = ed25519s();
    let mut all = vec![aws, dalek, ecdsa()];
    for bits in [2048, 3072] {
        all.extend([rsa(bits), rsa_3(bits)]);
    }
    all.extend([bls(), xr()]);
    all
}

fn blocks(
    name: (&'static str, &'static str),
    mut signer: impl BlockSigner + 'static,
    verifier: Box<dyn BlockVerifier>,
) -> Other {
    let (key, mut rng) = (signer.public_key(), rng(1));
    let sign = move |message: &[u8]| {
        let mut out = Vec::new();
        let signed = signer.sign(message, &mut rng, &mut out);
        assert_eq!(signed, Ok(()));
        out
    };
    let verify =
        move |message: &[u8], signature: &[u8]| verifier.verify(message, signature).is_some();
    Other::new(name, key.len(), sign, verify)
}

fn ed25519s() -> [Other; 2] {
    let aws = ed25519::Signer::from_secret(&[7; 32]);
    let dalek = Ed25519Signer::from_secret(&[7; 32]);
    let key = aws.public_key();
    let flow = Descriptor::new(Chaining::default(), aws.algorithm(), &key, "clew-bench");
    let by_aws = ed25519::verifier(&key).expect("a key");
    let by_dalek = flow.and_then(|flow| flow.verifier()).expect("a key");
    [
        blocks((ED25519, "Ed25519, AWS-LC"), aws, by_aws),
        blocks(("ed25519-dalek", "Ed25519, dalek"), dalek, by_dalek),
    ]
}

fn ecdsa() -> Other {
    let pair = EcdsaKeyPair::generate(&signature::ECDSA_P256_SHA256_FIXED_SIGNING);
    let pair = pair.expect("AWS-LC draws keys");
    let key = pair.public_key().as_ref().to_vec();
    let parsed = ParsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, &key).expect("a key");
    let rng = SystemRandom::new();
    let sign = move |message: &[u8]| {
        let signature = pair.sign(&rng, message).expect("AWS-LC signs");
        signature.as_ref().to_vec()
    };
    let verify = move |m: &[u8], signature: &[u8]| parsed.verify_sig(m, signature).is_ok();
    Other::new(("p256", "ECDSA P-256, AWS-LC"), key.len(), sign, verify)
}

/// Bytes of RSA's public key: n, and 65537 or 3.
const fn rsa_key(bits: usize, exponent: usize) -> usize {
    bits / 8 + exponent
}

fn rsa(bits: usize) -> Other {
    let (size, name) = match bits {
        2048 => (KeySize::Rsa2048, ("rsa-2048", "RSA-2048, AWS-LC")),
        _ => (KeySize::Rsa3072, ("rsa-3072", "RSA-3072, AWS-LC")),
    };
    let pair = RsaKeyPair::generate(size).expect("AWS-LC draws keys");
    let key = pair.public_key().as_ref();
    let parsed = ParsedPublicKey::new(&signature::RSA_PKCS1_2048_8192_SHA256, key);
    let (parsed, rng) = (parsed.expect("a key"), SystemRandom::new());
    let sign = move |message: &[u8]| {
        let mut out = vec![0; pair.public_modulus_len()];
        pair.sign(&signature::RSA_PKCS1_SHA256, &rng, message, &mut out)
            .expect("AWS-LC signs");
        out
    };
    let verify = move |m: &[u8], signature: &[u8]| parsed.verify_sig(m, signature).is_ok();
    Other::new(name, rsa_key(bits, 3), sign, verify).with_modulus(bits)
}

fn rsa_3(bits: usize) -> Other {
    let name = match bits {
        2048 => ("rsa-2048-e3", "RSA-2048 e=3, AWS-LC"),
        _ => ("rsa-3072-e3", "RSA-3072 e=3, AWS-LC"),
    };
    let key = OfLibrary::new(&Factors::new(bits, &mut rng(bits as u64)));
    let signer = Rc::new(RefCell::new(key.expect("a key that it takes")));
    let verifier = Rc::clone(&signer);
    let digest = |message: &[u8]| Hash::Sha256.digest([message]);
    let sign = move |message: &[u8]| signer.borrow_mut().sign(&digest(message));
    let verify = move |m: &[u8], signature: &[u8]| verifier.borrow().verify(&digest(m), signature);
    Other::new(name, rsa_key(bits, 1), sign, verify).with_modulus(bits)
}

/// Signatures in G1 and keys in G2.
fn bls() -> Other {
    const DOMAIN: &[u8] = b"BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_";
    let secret = min_sig::SecretKey::key_gen(&[7; 32], &[]).expect("enough bytes");
    let key = secret.sk_to_pk();
    let bytes = key.compress().len();
    let sign = move |message: &[u8]| secret.sign(message, DOMAIN, &[]).compress().to_vec();
    let verify = move |message: &[u8], signature: &[u8]| {
        let signature = min_sig::Signature::uncompress(signature);
        signature.is_ok_and(|signature| {
            let found = signature.verify(true, message, DOMAIN, &[], &key, false);
            found == BLST_ERROR::BLST_SUCCESS
        })
    };
    Other::new(("bls", "BLS12-381 min-sig, blst"), bytes, sign, verify)
}

/// Clew's group signature: whole, with no precursor that was made before.
fn xr() -> Other {
    let group = Rc::new(Group::new(Scheme::Xr));
    let (verifier, order, mut random) = (Rc::clone(&group), RefCell::new(rng(6)), rng(2));
    let sign = move |message: &[u8]| {
        let mut body = vec![0; Scheme::Xr.signature_bytes(false)];
        let precursor = group.signer.precursor(&mut random);
        precursor.sign(&[message], false, &mut body);
        body
    };
    let verify = move |message: &[u8], body: &[u8]| {
        let signed = Signed {
            message,
            body,
            incremental: false,
        };
        let order = &mut *order.borrow_mut();
        verifier.verifier.verify(signed, order).is_ok()
    };
    // The founding key, the nonce that the generators are hashed from, and V of the epoch.
    let bytes = FOUNDING_BYTES + 32 + G1_BYTES;
    Other::new(("xr", "group signature XR"), bytes, sign, verify)
}
