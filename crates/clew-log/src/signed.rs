//! Ed25519 (RFC 8032), verified strictly: canonical encodings, no small-order keys
//! (`spec/group-file.md` section 1).

use ed25519_dalek::{Signature, VerifyingKey};

/// Size of a signature.
pub const SIGNATURE_BYTES: usize = 64;

/// Decodes a public key. Returns `None` if it is not the one encoding of its point, or the point is of
/// small order.
pub fn strict_key(bytes: &[u8; 32]) -> Option<VerifyingKey> {
    let key = VerifyingKey::from_bytes(bytes).ok()?;
    let canonical = key.to_edwards().compress().to_bytes() == *bytes;
    (canonical && !key.is_weak()).then_some(key)
}

/// Returns whether the signature over the message holds.
pub fn holds(key: &VerifyingKey, message: &[u8], signature: &[u8; SIGNATURE_BYTES]) -> bool {
    key.verify_strict(message, &Signature::from_bytes(signature))
        .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ed25519_dalek::{Signer, SigningKey};

    #[test]
    fn keys_are_canonical_and_not_weak() {
        let key = SigningKey::from_bytes(&[3; 32]);
        let good = key.verifying_key().to_bytes();
        let signature = key.sign(b"message").to_bytes();
        let read = strict_key(&good).unwrap();
        assert!(holds(&read, b"message", &signature));
        assert!(!holds(&read, b"massage", &signature));

        let mut one = [0; 32];
        one[0] = 1; // the identity
        assert_eq!(strict_key(&one), None);
        // y = p + 3, which is y = 3 written twice; y = 3 itself is a good key.
        let mut above = [0xff; 32];
        (above[0], above[31]) = (0xf0, 0x7f);
        let mut below = [0; 32];
        below[0] = 3;
        assert!(strict_key(&below).is_some());
        assert!(VerifyingKey::from_bytes(&above).is_ok());
        assert_eq!(strict_key(&above), None);
    }
}
