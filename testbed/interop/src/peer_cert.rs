//! The peer's certificates: Ed25519 with the signature before the message, as NaCl's `crypto_sign` has it, no
//! labels, no start, one IPv4 address. A record of ours cannot be made of them by moving bytes, since its
//! signatures are over other bytes: towards our engine a stand-in key vouches for what was verified here, and
//! towards the peer our own server's signing key signs the peer's form.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use clew_tunnel::limits::{LIFETIME_MAX, M_MIN};
use clew_tunnel::record::{
    Authenticators, Cert, CertBody, Ecert, EcertBody, Record, SigningSecret,
};
use clew_tunnel::x25519::Public;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};

const SIGNATURE: usize = 64;

/// What the peer's cert says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerCert {
    pub signing: [u8; 32],
    pub boxing: Public,
    pub hostname: String,
}

impl PeerCert {
    /// Reads one, and verifies that its own signing key signed it.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let (_, mut at) = split(bytes)?;
        let cert = Self {
            signing: key(&mut at)?,
            boxing: Public(key(&mut at)?),
            hostname: String::from_utf8(short(&mut at)?.to_vec()).map_err(|e| e.to_string())?,
        };
        verify(bytes, &cert.signing)?;
        nothing_left(at).map(|()| cert)
    }
}

/// What the peer's ecert says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerEcert {
    pub address: SocketAddr,
    pub ephemeral: Public,
    pub end: u64,
}

impl PeerEcert {
    /// Reads one, and verifies that `signing` signed it.
    pub fn parse(bytes: &[u8], signing: &[u8; 32]) -> Result<Self, String> {
        let (_, mut at) = split(bytes)?;
        let ip = Ipv4Addr::from(array::<4>(&mut at)?);
        let port = u16::from_be_bytes(array(&mut at)?);
        let version = u16::from_be_bytes(array(&mut at)?);
        let padding = u16::from_be_bytes(array(&mut at)?);
        let named = key(&mut at)?;
        let ecert = Self {
            address: SocketAddr::new(IpAddr::V4(ip), port),
            ephemeral: Public(key(&mut at)?),
            end: u64::from_be_bytes(array(&mut at)?),
        };
        if (version, padding) != (0, 0) || named != *signing {
            return Err(format!("an ecert of version {version}, padding {padding}"));
        }
        verify(bytes, signing)?;
        nothing_left(at).map(|()| ecert)
    }
}

/// Translates records.
pub struct Book {
    /// Vouches for the peer's hosts towards our engines.
    pub stand_in: SigningSecret,
    /// Our own servers.
    pub own: Vec<SigningSecret>,
}

impl Book {
    /// Our record of the peer's cert and ecert, once they are verified.
    pub fn to_ours(&self, cert: &[u8], ecert: &[u8], now: u64) -> Result<Record, String> {
        let cert = PeerCert::parse(cert)?;
        let ecert = PeerEcert::parse(ecert, &cert.signing)?;
        let signing = self.stand_in.public();
        let start = now.saturating_sub(1_000);
        let body = CertBody {
            issuer: signing,
            signing,
            boxing: cert.boxing,
            start,
            end: start + LIFETIME_MAX.as_millis() as u64,
            hostname: cert.hostname.into_bytes(),
        };
        let ephemeral = EcertBody {
            authenticators: Authenticators::BOX,
            w: 0,
            m: M_MIN,
            signing,
            boxing: cert.boxing,
            ephemeral: ecert.ephemeral,
            start,
            end: ecert.end.min(start + LIFETIME_MAX.as_millis() as u64),
            addresses: vec![ecert.address],
        };
        let reason = |reason| format!("no record of ours: {reason:?}");
        Ok(Record {
            cert: Cert::sign(body, &self.stand_in).map_err(reason)?,
            ecert: Ecert::sign(ephemeral, &self.stand_in).map_err(reason)?,
        })
    }

    /// The peer's form of a record of one of our servers.
    pub fn to_peer(&self, record: &Record) -> Result<(Vec<u8>, Vec<u8>), String> {
        let (cert, ecert) = (&record.cert.body, &record.ecert.body);
        let mut own = self.own.iter();
        let secret = own.find(|secret| secret.public() == cert.signing);
        let secret = secret.ok_or("a record that is not of our server")?;
        let Some(SocketAddr::V4(address)) = ecert.addresses.first() else {
            return Err("the peer knows IPv4 alone".into());
        };
        let length = u8::try_from(cert.hostname.len()).map_err(|e| e.to_string())?;
        let long = [
            &[32][..],
            &cert.signing,
            &[32],
            &cert.boxing.0,
            &[length],
            &cert.hostname,
        ];
        let port = address.port().to_be_bytes();
        let ephemeral: [&[u8]; 9] = [
            &address.ip().octets(),
            &port,
            &[0; 2],
            &[0; 2],
            &[32],
            &ecert.signing,
            &[32],
            &ecert.ephemeral.0,
            &ecert.end.to_be_bytes(),
        ];
        Ok((
            sign(secret, &long.concat()),
            sign(secret, &ephemeral.concat()),
        ))
    }
}

fn sign(secret: &SigningSecret, message: &[u8]) -> Vec<u8> {
    let signature = SigningKey::from_bytes(secret.seed()).sign(message);
    [&signature.to_bytes()[..], message].concat()
}

fn split(bytes: &[u8]) -> Result<(&[u8; SIGNATURE], &[u8]), String> {
    bytes.split_first_chunk().ok_or_else(too_short)
}

fn verify(bytes: &[u8], signing: &[u8; 32]) -> Result<(), String> {
    let (signature, message) = split(bytes)?;
    let key = VerifyingKey::from_bytes(signing).map_err(|e| e.to_string())?;
    let signature = Signature::from_bytes(signature);
    key.verify_strict(message, &signature)
        .map_err(|e| format!("the peer's signature: {e}"))
}

fn array<const N: usize>(at: &mut &[u8]) -> Result<[u8; N], String> {
    let (taken, rest) = at.split_first_chunk().ok_or_else(too_short)?;
    *at = rest;
    Ok(*taken)
}

fn short<'a>(at: &mut &'a [u8]) -> Result<&'a [u8], String> {
    let [length] = array(at)?;
    let (taken, rest) = at.split_at_checked(length.into()).ok_or_else(too_short)?;
    *at = rest;
    Ok(taken)
}

fn key(at: &mut &[u8]) -> Result<[u8; 32], String> {
    short(at)?
        .try_into()
        .map_err(|_| "a key of another length".into())
}

fn nothing_left(at: &[u8]) -> Result<(), String> {
    at.is_empty()
        .then_some(())
        .ok_or("bytes behind a certificate".into())
}

fn too_short() -> String {
    "a certificate that is too short".into()
}
