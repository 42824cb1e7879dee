//! Ed25519 by AWS-LC, which signs in less than half the time of `ed25519-dalek`. Both accept the same
//! keys and signatures (`docs/decisions/0009-ed25519.md`).

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::signature::{self, Ed25519KeyPair, KeyPair, ParsedPublicKey};
use clew_flow::effs::{Assurance, Fault};
use clew_flow::{Algorithm, BlockSigner, BlockVerifier};
use rand_core::CryptoRng;

/// The ordinates of the eight points of small order, encoded; the sign of a point is not in them.
const SMALL_ORDER: [[u8; 32]; 5] = [
    ordinate("0000000000000000000000000000000000000000000000000000000000000000"),
    ordinate("0100000000000000000000000000000000000000000000000000000000000000"),
    ordinate("ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
    ordinate("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
    ordinate("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"),
];

/// What verifies by this public key, as `ed25519-dalek` does; none if there is no such key. Whether it has
/// small order is not asked.
pub fn verifier(public_key: &[u8]) -> Option<Box<dyn BlockVerifier>> {
    let key = ParsedPublicKey::new(&signature::ED25519, public_key).ok()?;
    Some(Box::new(Verifier(key)))
}

#[derive(Debug)]
struct Verifier(ParsedPublicKey);

impl BlockVerifier for Verifier {
    fn verify(&self, message: &[u8], signature: &[u8]) -> Option<Assurance> {
        // AWS-LC compares R's bytes with those that it computes: another encoding of R is none.
        let (r, _) = signature.split_first_chunk()?;
        let holds = !is_small_order(*r) && self.0.verify_sig(message, signature).is_ok();
        holds.then_some(Assurance::ENOUGH)
    }
}

/// Whether these bytes encode a point of small order.
fn is_small_order(mut point: [u8; 32]) -> bool {
    point[31] &= 0x7f;
    SMALL_ORDER.contains(&point)
}

/// Signs blocks. AWS-LC wipes the key when it is dropped; it is never printed.
#[derive(Clone)]
pub struct Signer(Arc<Ed25519KeyPair>);

impl Signer {
    /// A signer with this secret.
    pub fn from_secret(secret: &[u8; 32]) -> Self {
        let pair = Ed25519KeyPair::from_seed_unchecked(secret);
        Self(Arc::new(pair.expect("any 32 bytes are a secret")))
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signer(..)")
    }
}

impl BlockSigner for Signer {
    fn algorithm(&self) -> Algorithm {
        Algorithm::Ed25519
    }

    fn public_key(&self) -> Vec<u8> {
        self.0.public_key().as_ref().to_vec()
    }

    fn sign(
        &mut self,
        message: &[u8],
        _: &mut dyn CryptoRng,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        out.extend(self.0.sign(message).as_ref());
        Ok(())
    }
}

/// 32 bytes from their hexadecimal digits.
const fn ordinate(text: &str) -> [u8; 32] {
    let (digits, mut out, mut i) = (text.as_bytes(), [0; 32], 0);
    while i < 64 {
        let digit = match digits[i] {
            digit @ b'0'..=b'9' => digit - b'0',
            letter => letter - b'a' + 10,
        };
        out[i / 2] = out[i / 2] << 4 | digit;
        i += 1;
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]
mod tests {
    use super::*;
    use crate::flow::schemes::{Flows, verifier};
    use clew_flow::{
        Acceptance, Chaining, Descriptor, Distribution, Ed25519Signer, FlowSender, Reason, WallTime,
    };
    use curve25519_dalek::constants::{ED25519_BASEPOINT_POINT as BASE, EIGHT_TORSION};
    use curve25519_dalek::edwards::{CompressedEdwardsY, EdwardsPoint};
    use curve25519_dalek::scalar::Scalar;
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};
    use sha2::{Digest, Sha512};

    /// The order of the base point, and the field's prime.
    const L: &str = "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010";
    const P: &str = "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f";

    fn rng() -> ChaCha20Rng {
        ChaCha20Rng::seed_from_u64(9)
    }

    fn bytes(rng: &mut ChaCha20Rng) -> [u8; 32] {
        let mut bytes = [0; 32];
        rng.fill_bytes(&mut bytes);
        bytes
    }

    fn scalar(rng: &mut ChaCha20Rng) -> Scalar {
        Scalar::from_bytes_mod_order(bytes(rng))
    }

    fn descriptor(key: &[u8; 32]) -> Descriptor {
        Descriptor::new(Chaining::default(), Algorithm::Ed25519, key, "").unwrap()
    }

    /// What both say of a signature, which has to be the same.
    fn both(key: &[u8; 32], message: &[u8], signature: &[u8]) -> bool {
        let descriptor = descriptor(key);
        let theirs = verifier(&descriptor, u16::MAX).unwrap();
        let theirs = theirs.verify(message, signature);
        let dalek = descriptor.verifier().unwrap().verify(message, signature);
        assert_eq!(theirs, dalek, "{key:x?} {message:x?} {signature:x?}");
        theirs.is_some()
    }

    /// The sum of two numbers, little end first.
    fn sum(one: &[u8], other: [u8; 32]) -> [u8; 32] {
        let (mut out, mut carry) = (other, 0);
        for (sum, byte) in out.iter_mut().zip(one) {
            let all = u16::from(*sum) + u16::from(*byte) + carry;
            (*sum, carry) = (all as u8, all >> 8);
        }
        out
    }

    fn challenge(r: &[u8; 32], key: &[u8; 32], message: &[u8]) -> Scalar {
        let hash = Sha512::new_with_prefix(r).chain_update(key);
        Scalar::from_bytes_mod_order_wide(&hash.chain_update(message).finalize().into())
    }

    /// All bytes that are read as a point of small order, canonical or not.
    fn small_order() -> Vec<[u8; 32]> {
        let canonical = EIGHT_TORSION.map(|point| point.compress().0);
        let with_sign = canonical.map(|mut point| {
            point[31] ^= 0x80;
            point
        });
        let mut all = [canonical, with_sign].concat();
        for ordinate in [0, 1] {
            let mut point = sum(&[ordinate], self::ordinate(P));
            all.push(point);
            point[31] ^= 0x80;
            all.push(point);
        }
        all
    }

    #[test]
    fn signatures_are_the_same() {
        let rng = &mut rng();
        for length in 0..200 {
            let secret = bytes(rng);
            let (mut ours, mut dalek) = (
                Signer::from_secret(&secret),
                Ed25519Signer::from_secret(&secret),
            );
            assert_eq!(ours.public_key(), dalek.public_key());
            let message = vec![length; length.into()];
            let (mut one, mut other) = (Vec::new(), Vec::new());
            ours.sign(&message, rng, &mut one).unwrap();
            dalek.sign(&message, rng, &mut other).unwrap();
            assert_eq!(one, other);
            let key = ours.public_key().try_into().unwrap();
            assert!(both(&key, &message, &one));
            let bit = rng.next_u32() as usize % 512;
            one[bit / 8] ^= 1 << (bit % 8);
            assert!(!both(&key, &message, &one));
            assert!(!both(&key, b"another", &other));
            assert!(!both(&key, &message, &other[..63]));
            assert!(!both(&key, &message, &[&other[..], &[0]].concat()));
        }
    }

    #[test]
    fn blocks_are_signed_and_received() {
        let (signer, rng) = (Signer::from_secret(&[7; 32]), &mut rng());
        let descriptor = descriptor(&signer.public_key().try_into().unwrap());
        let mut sender = FlowSender::new(descriptor.clone(), signer, rng).unwrap();
        let mut outs = vec![Vec::new(); 2];
        let signed = sender.sign_block(
            &[b"one", b"two"],
            Distribution::Every,
            WallTime::default(),
            rng,
            &mut outs,
        );
        assert_eq!(signed, Ok(()));
        let mut receiver = Flows::new(vec![descriptor])
            .receiver(Acceptance::default())
            .unwrap();
        for signed in &outs {
            assert_eq!(
                receiver.receive(signed, WallTime::default(), 0).reason,
                Reason::Ok
            );
        }
    }

    #[test]
    fn one_signature_has_one_form() {
        let rng = &mut rng();
        for _ in 0..50 {
            let mut signer = Signer::from_secret(&bytes(rng));
            let key = signer.public_key().try_into().unwrap();
            let mut signature = Vec::new();
            signer.sign(b"message", rng, &mut signature).unwrap();
            let (r, s) = signature.split_at(32);
            let mut moved: [u8; 32] = s.try_into().unwrap();
            // Up to 15 times the order fits.
            for _ in 0..15 {
                moved = sum(&moved, ordinate(L));
                assert!(!both(&key, b"message", &[r, &moved].concat()));
            }
            for odd in [[0; 32], ordinate(L), [0xff; 32]] {
                assert!(!both(&key, b"message", &[r, &odd].concat()));
            }
        }
    }

    /// With keys that have a part of small order the equation holds for Rs of small order.
    #[test]
    fn no_r_of_small_order() {
        let (rng, mut would_hold) = (&mut rng(), 0);
        for round in 0..200u32 {
            let secret = scalar(rng);
            let key = (BASE * secret + EIGHT_TORSION[round as usize % 8])
                .compress()
                .0;
            let message = round.to_be_bytes();
            for r in small_order() {
                let s = challenge(&r, &key, &message) * secret;
                let signature = [r, s.to_bytes()].concat();
                assert!(!both(&key, &message, &signature));
                let alone = ParsedPublicKey::new(&signature::ED25519, key).unwrap();
                would_hold += u32::from(alone.verify_sig(&message, &signature).is_ok());
            }
        }
        assert!(would_hold > 50, "AWS-LC alone takes them: {would_hold}");
    }

    /// Rs of mixed order: the equation is that without a cofactor.
    #[test]
    fn parts_of_small_order_count() {
        let (rng, mut valid) = (&mut rng(), 0);
        for round in 0..200u32 {
            let (secret, nonce) = (scalar(rng), scalar(rng));
            let key = (BASE * secret + EIGHT_TORSION[round as usize % 8])
                .compress()
                .0;
            for part in EIGHT_TORSION {
                let r = (BASE * nonce + part).compress().0;
                let s = nonce + challenge(&r, &key, b"message") * secret;
                valid += u32::from(both(&key, b"message", &[r, s.to_bytes()].concat()));
            }
        }
        assert!(valid > 100 && valid < 800, "{valid}");
    }

    #[test]
    fn keys_have_one_encoding_and_no_small_order() {
        let refused = |key: &[u8; 32]| {
            let descriptor = descriptor(key);
            descriptor.verifier().is_err() && verifier(&descriptor, u16::MAX).is_err()
        };
        assert!(small_order().iter().all(refused));
        let mut others = 0;
        for small in 2..19 {
            for sign in [0, 0x80] {
                let mut key = sum(&[small], ordinate(P));
                key[31] |= sign;
                assert!(refused(&key), "{small}");
                others += u32::from(CompressedEdwardsY(key).decompress().is_some());
                // As R they are no more than noise.
                let good = (BASE * Scalar::from(7u8)).compress().0;
                assert!(!both(&good, b"", &[key, [1; 32]].concat()));
            }
        }
        assert!(others > 8, "some are points: {others}");
        let rng = &mut rng();
        for _ in 0..200 {
            let key = bytes(rng);
            let point = CompressedEdwardsY(key).decompress();
            assert_eq!(point.is_none(), refused(&key));
        }
        assert!(!refused(&EdwardsPoint::compress(&BASE).0));
    }
}
