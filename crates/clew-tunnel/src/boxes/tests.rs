//! Every backend that the machine has, against another implementation and what was published.

use std::format;
use std::vec;
use std::vec::Vec;

use crypto_secretbox::XSalsa20Poly1305;
use crypto_secretbox::aead::{AeadInPlace, KeyInit};
use proptest::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use super::*;
use crate::x25519::{self, Public, Secret};

/// *Cryptography in NaCl*, sections 7 to 10: Alice's secret, Bob's public key, the key of both, a nonce,
/// its stream's key, a text and its box.
const NACL: [&str; 7] = [
    "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a",
    "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f",
    "1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389",
    "69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37",
    "dc908dda0b9344a953629b733820778880f3ceb421bb61b91cbd4c3e66256ce4",
    "be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffc\
     e5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f41db66cce314adb31\
     0e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde\
     048977eb48f59ffd4924ca1c60902e52f0a089bc76897040e082f93776384864\
     5e0705",
    "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce\
     48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b4da7f011ec48c972\
     71d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae\
     90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b3\
     7973f622a43d14a6599b1f654cb45a74e355a5",
];

fn hex(text: &str) -> Vec<u8> {
    let byte = |i: usize| u8::from_str_radix(&text[i..i + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(byte).collect()
}

fn random(seed: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    ChaCha20Rng::seed_from_u64(seed).fill_bytes(&mut bytes);
    bytes
}

/// Text behind room for a tag.
fn roomy(text: &[u8]) -> Vec<u8> {
    [&[0; TAG][..], text].concat()
}

/// What another implementation makes of it.
fn expected(key: &[u8; KEY], nonce: &[u8; NONCE], text: &[u8]) -> Vec<u8> {
    let mut boxed = roomy(text);
    let cipher = XSalsa20Poly1305::new(key.into());
    let tag = cipher.encrypt_in_place_detached(nonce.into(), b"", &mut boxed[TAG..]);
    boxed[..TAG].copy_from_slice(&tag.unwrap());
    boxed
}

/// Packets of streams and nonces of their own.
struct Batch {
    keys: Vec<[u8; KEY]>,
    nonces: Vec<[u8; NONCE]>,
    streams: Vec<Stream>,
    texts: Vec<Vec<u8>>,
}

impl Batch {
    fn new(seed: u64, lens: &[usize]) -> Self {
        let seeds = (0..).map(|i| seed.wrapping_mul(1000).wrapping_add(i));
        let all = || seeds.clone().zip(lens);
        let keys: Vec<[u8; KEY]> = all()
            .map(|(seed, _)| random(seed, KEY).try_into().unwrap())
            .collect();
        let nonces: Vec<[u8; NONCE]> = all()
            .map(|(seed, _)| random(!seed, NONCE).try_into().unwrap())
            .collect();
        let stream = |(key, nonce): (&[u8; KEY], &[u8; NONCE])| {
            Key::from_bytes(*key).stream(nonce.first_chunk().unwrap())
        };
        Self {
            streams: keys.iter().zip(&nonces).map(stream).collect(),
            keys,
            nonces,
            texts: all().map(|(seed, len)| random(seed ^ 5, *len)).collect(),
        }
    }

    fn packets<'a>(&'a self, boxed: &'a mut [Vec<u8>]) -> Vec<Packet<'a>> {
        let all = self.streams.iter().zip(&self.nonces).zip(boxed);
        let packet = |((stream, nonce), boxed): ((&'a Stream, &[u8; NONCE]), &'a mut Vec<u8>)| {
            Packet::new(stream, *nonce.last_chunk().unwrap(), boxed).unwrap()
        };
        all.map(packet).collect()
    }

    fn expected(&self) -> Vec<Vec<u8>> {
        let all = self.keys.iter().zip(&self.nonces).zip(&self.texts);
        all.map(|((key, nonce), text)| expected(key, nonce, text))
            .collect()
    }

    /// Seals and decrypts in all ways.
    fn check(&self) {
        let expected = self.expected();
        for backend in Backend::all() {
            let mut boxed: Vec<_> = self.texts.iter().map(|text| roomy(text)).collect();
            seal_with(backend, &mut self.packets(&mut boxed));
            assert!(boxed == expected, "{} seals", backend.name());
            let mut are_good = vec![false; boxed.len()];
            decrypt_with(backend, &mut self.packets(&mut boxed), &mut are_good);
            assert!(
                are_good.iter().all(|good| *good),
                "{} decrypts",
                backend.name()
            );
            assert!(
                boxed.iter().map(|b| &b[TAG..]).eq(&self.texts),
                "{}",
                backend.name()
            );
        }
    }
}

#[test]
fn published_boxes() {
    let [secret, public, both, nonce, stream, text, boxed] = NACL.map(hex);
    let secret = Secret::from_bytes(secret.try_into().unwrap());
    let public = Public(public.try_into().unwrap());
    let mut shared = [None];
    x25519::shared(&[(&secret, &public)], &mut shared);
    let key = Key::between(shared[0].as_ref().unwrap());
    assert_eq!(key.to_bytes()[..], both);
    let nonce: [u8; NONCE] = nonce.try_into().unwrap();
    let words: [u32; 8] = salsa20::words(&stream);
    assert_eq!(key.stream(nonce.first_chunk().unwrap()).0, words);
    let mut ours = roomy(&text);
    assert!(key.seal(&nonce, &mut ours));
    assert_eq!(ours, boxed);
    assert!(key.decrypt(&nonce, &mut ours));
    assert_eq!(ours[TAG..], text);
}

#[test]
fn boxes_of_all_lengths() {
    for len in 0..=2000 {
        Batch::new(len as u64, &[len]).check();
    }
}

#[test]
fn many_boxes_of_one_length() {
    for len in [
        0, 1, 15, 16, 17, 31, 32, 33, 64, 95, 96, 97, 300, 1200, 1452,
    ] {
        for n in [2, 3, 8, 9, 15, 16, 17, 33] {
            Batch::new(len as u64, &vec![len; n]).check();
        }
    }
}

#[test]
fn nothing_is_too_short_to_be_refused() {
    let key = Key::from_bytes([1; KEY]);
    for len in 0..TAG {
        let mut boxed = vec![7; len];
        assert!(!key.seal(&[2; NONCE], &mut boxed));
        assert!(!key.decrypt(&[2; NONCE], &mut boxed));
        assert_eq!(boxed, vec![7; len]);
    }
    seal(&mut []);
    decrypt(&mut [], &mut []);
}

#[test]
fn secrets_do_not_show() {
    let key = Key::from_bytes([77; KEY]);
    let shown = format!("{key:?} {:?}", key.stream(&[0; 16]));
    assert_eq!(shown, "Key(..) Stream(..)");
}

fn lens() -> impl Strategy<Value = Vec<usize>> {
    let len = prop_oneof![0usize..100, 0usize..1500, Just(64), Just(1200)];
    prop::collection::vec(len, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn batches_of_any_lengths(seed: u64, lens in lens()) {
        Batch::new(seed, &lens).check();
    }

    /// One bit of some packets is another one: these are refused and stay as they are, the others are
    /// decrypted.
    #[test]
    fn what_was_tampered_with_is_refused(
        seed: u64,
        lens in lens(),
        bits in prop::collection::vec(any::<Option<u16>>(), 40),
    ) {
        let batch = Batch::new(seed, &lens);
        let mut sent = batch.expected();
        for (boxed, bit) in sent.iter_mut().zip(&bits) {
            if let Some(bit) = bit {
                let bit = usize::from(*bit) % (8 * boxed.len());
                boxed[bit / 8] ^= 1 << (bit % 8);
            }
        }
        for backend in Backend::all() {
            let mut boxed = sent.clone();
            let mut are_good = vec![true; boxed.len()];
            decrypt_with(backend, &mut batch.packets(&mut boxed), &mut are_good);
            for (i, is_good) in are_good.iter().enumerate() {
                prop_assert_eq!(*is_good, bits[i].is_none());
                let after = if *is_good { &batch.texts[i] } else { &sent[i][TAG..] };
                prop_assert_eq!(&boxed[i][TAG..], after);
            }
        }
    }

    /// Another nonce, another key.
    #[test]
    fn what_was_sealed_otherwise_is_refused(seed: u64, len in 0usize..300, bit in 0usize..448) {
        let batch = Batch::new(seed, &[len]);
        let mut boxed = batch.expected().remove(0);
        let (mut key, mut nonce) = (batch.keys[0], batch.nonces[0]);
        match bit {
            0..256 => key[bit / 8] ^= 1 << (bit % 8),
            _ => nonce[(bit - 256) / 8] ^= 1 << (bit % 8),
        }
        prop_assert!(!Key::from_bytes(key).decrypt(&nonce, &mut boxed));
        prop_assert!(Key::from_bytes(batch.keys[0]).decrypt(&batch.nonces[0], &mut boxed));
    }
}
