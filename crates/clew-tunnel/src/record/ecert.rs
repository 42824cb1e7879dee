//! The ephemeral certificate: `spec/tunnel.md` section 3.2.

use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::signing::{self, SigningSecret};
use super::{KEY_BYTES, SIGNATURE_BYTES, VERSION, split};
use crate::limits::{ADDRESSES_MAX, M_MAX, M_MIN, W_MAX};
use crate::reason::Reason;
use crate::x25519::{BYTES, Public};
use clew_wire::Reader;

/// Bytes of an ephemeral certificate without its addresses, signature included.
pub(crate) const ECERT_BYTES_FIXED: usize =
    SIGNATURE_BYTES + 2 + 1 + 1 + 2 + KEY_BYTES + 2 * BYTES + 16 + 1;

/// Least bytes of one: a single IPv4 address.
pub(crate) const ECERT_BYTES_MIN: usize = ECERT_BYTES_FIXED + 7;

/// Most bytes of one: eight IPv6 addresses.
pub const ECERT_BYTES_MAX: usize = ECERT_BYTES_FIXED + ADDRESSES_MAX * 19;

const LABEL: &[u8; 16] = b"clew-mlt-ecert\0\0";

/// Which user authenticators a service accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Authenticators(pub u8);

impl Authenticators {
    /// The paper's.
    pub const BOX: Self = Self(1);
    /// For one tunnel, connection and service.
    pub const BOUND: Self = Self(2);

    /// Whether it has all of the others.
    pub(crate) const fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }
}

/// What an ephemeral certificate says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EcertBody {
    /// Which user authenticators the service accepts.
    pub authenticators: Authenticators,
    /// The hardest puzzle in packet headers, in bits.
    pub w: u8,
    /// M: length of initiation packets.
    pub m: u16,
    /// The signing key of S.
    pub signing: [u8; KEY_BYTES],
    /// The boxing key of S.
    pub boxing: Public,
    /// S'.
    pub ephemeral: Public,
    /// Since when, in milliseconds since 1970.
    pub start: u64,
    /// Until when, in milliseconds since 1970.
    pub end: u64,
    /// 1 to 8, the preferred first.
    pub addresses: Vec<SocketAddr>,
}

/// An ephemeral certificate: what it says, and a signature that may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ecert {
    /// By `signing`.
    pub signature: [u8; SIGNATURE_BYTES],
    /// What is signed.
    pub body: EcertBody,
}

impl Ecert {
    /// Signs an ephemeral certificate. The signing key becomes that of the secret.
    ///
    /// # Errors
    /// `reserved-bits`, `bad-limits`, `bad-address`.
    pub fn sign(mut body: EcertBody, secret: &SigningSecret) -> Result<Self, Reason> {
        body.check()?;
        body.signing = secret.public();
        let signature = secret.sign(LABEL, &body.to_bytes());
        Ok(Self { signature, body })
    }

    /// Reads an ephemeral certificate.
    ///
    /// # Errors
    /// `record-length`, `record-version`.
    pub fn parse(bytes: &[u8]) -> Result<Self, Reason> {
        let (signature, body) = split(bytes)?;
        let body = EcertBody::read(body).ok_or(Reason::RecordLength)?;
        Ok(Self { signature, body })
    }

    /// Its bytes: a fixed number, and 7 or 19 for each address.
    pub fn to_bytes(&self) -> Vec<u8> {
        [&self.signature[..], &self.body.to_bytes()].concat()
    }

    /// Whether this key signed it.
    pub(super) fn is_signed(&self, key: &[u8; KEY_BYTES]) -> bool {
        signing::holds(key, LABEL, &self.body.to_bytes(), &self.signature)
    }

    /// Whether it is newer than the one that is held, of the same S.
    ///
    /// # Errors
    /// `not-newer`.
    pub fn check_newer(&self, held: &Self) -> Result<(), Reason> {
        let keys = |ecert: &Self| (ecert.body.signing, ecert.body.boxing);
        let newer = keys(self) == keys(held) && self.body.start > held.body.start;
        newer.then_some(()).ok_or(Reason::NotNewer)
    }
}

impl EcertBody {
    /// Authenticators, limits and addresses.
    ///
    /// # Errors
    /// `reserved-bits`, `bad-limits`, `bad-address`: the first that applies.
    pub(super) fn check(&self) -> Result<(), Reason> {
        let known = Authenticators::BOX.0 | Authenticators::BOUND.0;
        if self.authenticators.0 & !known != 0 {
            return Err(Reason::ReservedBits);
        }
        if self.w > W_MAX || !(M_MIN..=M_MAX).contains(&self.m) {
            return Err(Reason::BadLimits);
        }
        let count = (1..=ADDRESSES_MAX).contains(&self.addresses.len());
        let good = count && self.addresses.iter().all(is_reachable);
        good.then_some(()).ok_or(Reason::BadAddress)
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut at = Reader(bytes);
        at.array::<2>()?;
        let body = Self {
            authenticators: Authenticators(at.u8()?),
            w: at.u8()?,
            m: at.u16()?,
            signing: at.array()?,
            boxing: Public(at.array()?),
            ephemeral: Public(at.array()?),
            start: at.u64()?,
            end: at.u64()?,
            addresses: {
                let count = at.u8()?;
                let all = (0..count).map(|_| address(&mut at));
                all.collect::<Option<_>>()?
            },
        };
        at.0.is_empty().then_some(body)
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::from(VERSION);
        out.extend_from_slice(&[self.authenticators.0, self.w]);
        out.extend_from_slice(&self.m.to_be_bytes());
        for key in [&self.signing, &self.boxing.0, &self.ephemeral.0] {
            out.extend_from_slice(key);
        }
        for time in [self.start, self.end] {
            out.extend_from_slice(&time.to_be_bytes());
        }
        // Addresses that were read or signed have one byte for their number.
        out.push(self.addresses.len() as u8);
        for address in &self.addresses {
            match address.ip() {
                IpAddr::V4(ip) => {
                    out.push(4);
                    out.extend_from_slice(&ip.octets());
                }
                IpAddr::V6(ip) => {
                    out.push(6);
                    out.extend_from_slice(&ip.octets());
                }
            }
            out.extend_from_slice(&address.port().to_be_bytes());
        }
        out
    }
}

/// One address. An unknown family has no length that anybody knows.
fn address(at: &mut Reader<'_>) -> Option<SocketAddr> {
    let ip = match at.u8()? {
        4 => IpAddr::V4(Ipv4Addr::from(at.array::<4>()?)),
        6 => IpAddr::V6(Ipv6Addr::from(at.array::<16>()?)),
        _ => return None,
    };
    Some(SocketAddr::new(ip, at.u16()?))
}

fn is_reachable(address: &SocketAddr) -> bool {
    let mapped = match address.ip() {
        IpAddr::V4(_) => None,
        IpAddr::V6(ip) => ip.to_ipv4_mapped(),
    };
    let ip = address.ip();
    address.port() != 0 && !ip.is_unspecified() && !ip.is_multicast() && mapped.is_none()
}
