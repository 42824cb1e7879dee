//! How the holder of a key logs in to a service's pages (`spec/pages.md` section 3).

use clew_evidence::signed::{holds, strict_key};
use ed25519_dalek::{Signer, SigningKey};

/// How an answer begins, and the domain of its signature.
const LABEL: &[u8; 16] = b"clew-login-1\0\0\0\0";
/// Bytes of a challenge.
pub const CHALLENGE_BYTES: usize = 56;
/// Bytes of an answer.
pub const LOGIN_BYTES: usize = LABEL.len() + CHALLENGE_BYTES + 32 + 64;

/// An answer to a service's challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoginAnswer {
    /// The challenge.
    pub challenge: [u8; CHALLENGE_BYTES],
    /// The Ed25519 key that logs in.
    pub key: [u8; 32],
    signature: [u8; 64],
}

impl LoginAnswer {
    /// Signs a challenge for the service whose TLS key has that pin (zeros if it has none). So another
    /// service cannot pass a challenge on and log in with the answer.
    pub fn sign(challenge: [u8; CHALLENGE_BYTES], pin: &[u8; 32], key: &SigningKey) -> Self {
        let signature = key.sign(&message(&challenge, pin)).to_bytes();
        let key = key.verifying_key().to_bytes();
        Self {
            challenge,
            key,
            signature,
        }
    }

    /// Returns whether the signature holds for the service with that pin.
    pub fn is_signed(&self, pin: &[u8; 32]) -> bool {
        strict_key(&self.key)
            .is_some_and(|key| holds(&key, &message(&self.challenge, pin), &self.signature))
    }

    /// Returns the encoding: label (16), challenge (56), key (32), signature (64).
    pub fn encode(&self) -> Vec<u8> {
        [&LABEL[..], &self.challenge, &self.key, &self.signature].concat()
    }

    /// Reads an answer. Returns `None` if it is not one.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (label, rest) = bytes.split_first_chunk::<16>()?;
        let (challenge, rest) = rest.split_first_chunk()?;
        let (key, signature) = rest.split_first_chunk()?;
        let signature = signature.try_into().ok()?;
        (label == LABEL).then_some(Self {
            challenge: *challenge,
            key: *key,
            signature,
        })
    }
}

fn message(challenge: &[u8; CHALLENGE_BYTES], pin: &[u8; 32]) -> Vec<u8> {
    let mut domain = [0; 32];
    domain[..LABEL.len()].copy_from_slice(LABEL);
    [&domain[..], challenge, pin].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_for_one_service_and_one_challenge() {
        let key = SigningKey::from_bytes(&[3; 32]);
        let answer = LoginAnswer::sign([1; CHALLENGE_BYTES], &[2; 32], &key);
        assert!(answer.is_signed(&[2; 32]));
        assert!(!answer.is_signed(&[0; 32]));
        let bytes = answer.encode();
        assert_eq!(bytes.len(), LOGIN_BYTES);
        assert_eq!(LoginAnswer::decode(&bytes), Some(answer));
        for place in 0..bytes.len() {
            let mut other = bytes.clone();
            other[place] ^= 1;
            let holds = LoginAnswer::decode(&other).is_some_and(|read| read.is_signed(&[2; 32]));
            assert!(!holds, "byte {place}");
        }
        assert_eq!(LoginAnswer::decode(&bytes[1..]), None);
        assert_eq!(LoginAnswer::decode(&[&bytes[..], &[0]].concat()), None);
    }
}
