//! Keys of servers and users in files (`spec/tunnel.md` section 3), and public keys as people write them.

use crate::random;
use clew_evidence::{TextError, armor};
use clew_tunnel::keys::{canonical, public};
use clew_tunnel::record::{
    Cert, CertBody, SERVER_LABEL, ServerSecret, SigningSecret, USER_LABEL, UserSecret,
};
use clew_tunnel::x25519::Secret;
use clew_tunnel::{Reason, record};
use clew_wire::Hex;
use rand_core::Rng;
use std::fmt;
use zeroize::Zeroizing;

/// Bytes of every public key.
const BYTES: usize = 32;

/// A public key: 64 hexadecimal digits. Of a server it is the signing key, of a user the name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey(pub [u8; BYTES]);

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Hex(&self.0), f)
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Reads a public key.
///
/// # Errors
/// What to write, for a command line.
pub fn parse_key(text: &str) -> Result<PublicKey, String> {
    let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
    let pairs = text.as_bytes().chunks(2);
    let bytes = pairs.map(|pair| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    });
    let bytes: Option<Vec<u8>> = bytes.collect();
    let key = bytes.and_then(|bytes| bytes.try_into().ok());
    key.map(PublicKey)
        .ok_or_else(|| "must be 64 hexadecimal digits, as keygen prints them".to_owned())
}

fn random_bytes() -> Zeroizing<[u8; BYTES]> {
    let mut bytes = Zeroizing::new([0; BYTES]);
    random::os().fill_bytes(bytes.as_mut_slice());
    bytes
}

/// A new key of a server, with a certificate from `start` to `end` (milliseconds since 1970) that the issuer
/// signs; none: the key itself.
///
/// # Errors
/// `bad-hostname`.
pub fn generate_server(
    host: &str,
    (start, end): (u64, u64),
    issuer: Option<&ServerSecret>,
) -> Result<ServerSecret, Reason> {
    record::check_hostname(host.as_bytes())?;
    let signing = SigningSecret::from_seed(&random_bytes());
    let boxing = Secret::from_bytes(*random_bytes());
    let body = CertBody {
        issuer: signing.public(),
        signing: signing.public(),
        boxing: public(&boxing),
        start,
        end,
        hostname: host.as_bytes().to_vec(),
    };
    let cert = Cert::sign(body, issuer.map_or(&signing, |issuer| &issuer.signing))?;
    Ok(ServerSecret {
        signing,
        boxing,
        cert,
    })
}

/// The host that a certificate is for.
pub fn host(cert: &Cert) -> String {
    String::from_utf8_lossy(&cert.body.hostname).into_owned()
}

/// What the first line of a server's file says.
pub fn server_comment(secret: &ServerSecret) -> String {
    let host = host(&secret.cert);
    format!("clew tunnel server {host}. SECRET: who has it is this server.")
}

/// The text of a server's file. Secret.
pub fn encode_server(secret: &ServerSecret) -> Zeroizing<String> {
    armor::encode(&server_comment(secret), SERVER_LABEL, &secret.to_bytes())
}

/// Reads the text of a server's file.
///
/// # Errors
/// It is none, or its certificate is of other keys.
pub fn decode_server(text: &str) -> Result<ServerSecret, TextError> {
    let payload = armor::decode(text, SERVER_LABEL)?;
    ServerSecret::from_bytes(&payload).map_err(|_| TextError::Damaged)
}

/// A new key of a user.
pub fn generate_user() -> UserSecret {
    UserSecret(Secret::from_bytes(*random_bytes()))
}

/// The name of a user.
pub fn user_key(secret: &UserSecret) -> PublicKey {
    PublicKey(public(&secret.0).0)
}

/// What the first line of a user's file says.
pub fn user_comment(secret: &UserSecret) -> String {
    let key = user_key(secret);
    format!("clew tunnel user {key}. SECRET: who has it is this user.")
}

/// The text of a user's file. Secret.
pub fn encode_user(secret: &UserSecret) -> Zeroizing<String> {
    armor::encode(&user_comment(secret), USER_LABEL, &*secret.to_bytes())
}

/// Reads the text of a user's file.
///
/// # Errors
/// It is none.
pub fn decode_user(text: &str) -> Result<UserSecret, TextError> {
    let payload = armor::decode(text, USER_LABEL)?;
    UserSecret::from_bytes(&payload).ok_or(TextError::Damaged)
}

/// Whether it can be a user's public key.
pub fn is_users(key: PublicKey) -> bool {
    canonical(key.0).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let issuer = generate_server("issuer.example", (1, 2), None).unwrap();
        let server = generate_server("web.example", (1, 2), Some(&issuer)).unwrap();
        assert_eq!(server.cert.body.issuer, issuer.signing.public());
        let text = encode_server(&server);
        assert!(text.starts_with("# clew tunnel server web.example. SECRET"));
        let read = decode_server(&text).unwrap();
        assert_eq!(read.to_bytes(), server.to_bytes());
        let user = generate_user();
        let text = encode_user(&user);
        assert_eq!(user_key(&decode_user(&text).unwrap()).0, user_key(&user).0);
        assert!(decode_server(&text).is_err());
        assert!(generate_server("Web", (1, 2), None).is_err());
    }

    #[test]
    fn keys_are_hexadecimal() {
        let key = PublicKey([0xa5; 32]);
        assert_eq!(parse_key(&key.to_string()), Ok(key));
        for bad in [
            "",
            "a5",
            &"a5".repeat(33),
            &"g5".repeat(32),
            &"é".repeat(32),
        ] {
            assert!(parse_key(bad).is_err(), "{bad}");
        }
    }
}
