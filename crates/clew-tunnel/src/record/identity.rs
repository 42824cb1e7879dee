//! The identity of a host: `spec/tunnel.md` section 12.

use alloc::vec::Vec;

use super::{KEY_BYTES, check_hostname};
use crate::reason::Reason;
use clew_wire::Reader;

/// Who a record is asked of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity<'a> {
    /// Its signing key, if it is known.
    pub signing: Option<[u8; KEY_BYTES]>,
    /// Its hostname.
    pub hostname: &'a str,
}

impl<'a> Identity<'a> {
    /// Reads an identity.
    ///
    /// # Errors
    /// `bad-identity`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Reason> {
        let mut at = Reader(bytes);
        let mut read = || {
            let signing = match at.u8()? {
                0 => None,
                32 => Some(at.array()?),
                _ => return None,
            };
            let length = at.u8()?;
            let hostname = at.take(length.into())?;
            check_hostname(hostname).ok()?;
            let hostname = core::str::from_utf8(hostname).ok()?;
            at.0.is_empty().then_some(Self { signing, hostname })
        };
        read().ok_or(Reason::BadIdentity)
    }

    /// Its bytes: 2 or 34 and the hostname's.
    ///
    /// # Errors
    /// `bad-identity`: the hostname is not well-formed.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Reason> {
        let hostname = self.hostname.as_bytes();
        check_hostname(hostname).map_err(|_| Reason::BadIdentity)?;
        let key = self.signing.as_ref().map_or(&[][..], |key| key);
        // Neither has more than 253 bytes.
        let lengths = [key.len() as u8, hostname.len() as u8];
        Ok([&lengths[..1], key, &lengths[1..], hostname].concat())
    }
}
