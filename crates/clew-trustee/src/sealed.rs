//! Encryption to one reader's public key: HPKE (RFC 9180), base mode, with DHKEM(X25519, HKDF-SHA256),
//! HKDF-SHA256 and ChaCha20Poly1305. Shares that dealers deal, and shares for a requester.

use hpke::aead::{AeadTag, ChaCha20Poly1305};
use hpke::inout::InOutBuf;
use hpke::kdf::HkdfSha256;
use hpke::kem::X25519HkdfSha256;
use hpke::{
    Deserializable, Kem, OpModeR, OpModeS, Serializable, single_shot_open_inout_detached,
    single_shot_seal_inout_detached_with_rng,
};
use rand_core::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

/// Bytes of an X25519 key, secret or public.
pub const KEY_BYTES: usize = 32;

const TAG_BYTES: usize = 16;

/// Bytes by which an encrypted text is longer: the encapsulated key before it, the tag behind it.
pub const SEALING_BYTES: usize = KEY_BYTES + TAG_BYTES;

/// A secret key that decrypts what was encrypted to its public key. Wiped when dropped.
pub struct SealKey(Zeroizing<[u8; KEY_BYTES]>);

impl SealKey {
    /// A random key.
    pub fn generate(rng: &mut impl CryptoRng) -> Self {
        let mut seed = Zeroizing::new([0; KEY_BYTES]);
        rng.fill_bytes(seed.as_mut_slice());
        let (secret, _) = X25519HkdfSha256::derive_keypair(seed.as_slice());
        let mut bytes = Zeroizing::new([0; KEY_BYTES]);
        secret.write_exact(bytes.as_mut_slice());
        Self(bytes)
    }

    /// The key with these 32 bytes.
    pub fn from_bytes(bytes: Zeroizing<[u8; KEY_BYTES]>) -> Self {
        Self(bytes)
    }

    /// Its 32 bytes. Secret.
    pub fn as_bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    /// Its public key.
    pub fn public(&self) -> [u8; KEY_BYTES] {
        let secret = self.secret();
        X25519HkdfSha256::sk_to_pk(&secret).to_bytes().into()
    }

    /// Decrypts; `None` if it was encrypted to another key, for another purpose (`info`), beside other
    /// bytes (`aad`), or changed.
    pub fn open(&self, sealed: &[u8], info: &[u8], aad: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (encapped, rest) = sealed.split_first_chunk::<KEY_BYTES>()?;
        let (text, tag) = rest.split_last_chunk::<TAG_BYTES>()?;
        let encapped = Deserializable::from_bytes(encapped).ok()?;
        let tag = AeadTag::<ChaCha20Poly1305>::from_bytes(tag).ok()?;
        let mut plain = Zeroizing::new(text.to_vec());
        single_shot_open_inout_detached::<ChaCha20Poly1305, HkdfSha256, X25519HkdfSha256>(
            &OpModeR::Base,
            &self.secret(),
            &encapped,
            info,
            InOutBuf::from(plain.as_mut_slice()),
            aad,
            &tag,
        )
        .ok()?;
        Some(plain)
    }

    fn secret(&self) -> <X25519HkdfSha256 as Kem>::PrivateKey {
        Deserializable::from_bytes(self.0.as_slice()).expect("32 bytes are a secret key")
    }
}

clew_wire::opaque!(SealKey);

/// Encrypts to a public key; `None` if the key is a point of small order. The result is
/// [`SEALING_BYTES`] longer than `plain`.
pub fn seal(
    to: &[u8; KEY_BYTES],
    plain: &[u8],
    info: &[u8],
    aad: &[u8],
    rng: &mut impl CryptoRng,
) -> Option<Vec<u8>> {
    let to = Deserializable::from_bytes(to).ok()?;
    let mut sealed = vec![0; plain.len() + SEALING_BYTES];
    let (encapped_place, rest) = sealed.split_at_mut(KEY_BYTES);
    let (text, tag_place) = rest.split_at_mut(plain.len());
    text.copy_from_slice(plain);
    let made =
        single_shot_seal_inout_detached_with_rng::<ChaCha20Poly1305, HkdfSha256, X25519HkdfSha256>(
            &OpModeS::Base,
            &to,
            info,
            InOutBuf::from(&mut *text),
            aad,
            rng,
        );
    let Ok((encapped, tag)) = made else {
        text.zeroize(); // it may be in clear still
        return None;
    };
    encapped.write_exact(encapped_place);
    tag.write_exact(tag_place);
    Some(sealed)
}
