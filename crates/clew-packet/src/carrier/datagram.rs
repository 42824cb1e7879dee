//! The payload of a carrier's UDP datagram, up to what its type says: sections 2, 2.3 and 5.

use alloc::vec::Vec;

use super::{COOKIE_BYTES, Carrier, MAGIC, SHIM_BYTES, VERSION, fragment::Fragment, packet};
use crate::reason::Reason;

/// What proves that a sender receives at its address.
pub type Cookie = [u8; COOKIE_BYTES];

/// What a sender knows its own datagram by when a cookie comes back.
pub type Echo = [u8; 16];

/// Length of a datagram of type 4 in bytes: the shortest one that is answered.
pub const COOKIE_DATAGRAM_BYTES: usize = SHIM_BYTES + 16 + COOKIE_BYTES;

/// Byte offsets in the shim.
mod shim {
    pub(super) const VERSION: usize = 4;
    pub(super) const TYPE: usize = 5;
    /// Set in the type if a cookie follows.
    pub(super) const HAS_COOKIE: u8 = 0x80;
}

/// Types of datagrams.
mod kind {
    pub(super) const UDP_TUNNEL: u8 = 1;
    pub(super) const UDP_TRANSPORT: u8 = 2;
    pub(super) const FRAGMENT: u8 = 3;
    pub(super) const COOKIE: u8 = 4;
}

/// A datagram, as far as its shim tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed<'a> {
    /// The cookie that it shows.
    pub cookie: Option<&'a Cookie>,
    /// What stands behind the shim.
    pub rest: Rest<'a>,
}

/// What stands behind the shim of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest<'a> {
    /// A packet, which is not read yet.
    Packet {
        /// How it travels: never [`Carrier::Trailer`].
        carrier: Carrier,
        /// Head, content and tail.
        bytes: &'a [u8],
    },
    /// A part of a datagram with a packet.
    Fragment(Fragment<'a>),
    /// A cookie for the sender of a datagram.
    Cookie {
        /// That of the datagram that is answered.
        echo: &'a Echo,
        /// What to show from now on.
        cookie: &'a Cookie,
    },
}

/// Reads the shim of a datagram, and all of a fragment or cookie. It allocates and hashes nothing.
///
/// # Errors
/// `bad-carrier` without the magic, `bad-carrier-length`, `unknown-version`, `unknown-carrier`,
/// `reserved-bits`, `bad-fragment`.
pub fn parse(payload: &[u8]) -> Result<Parsed<'_>, Reason> {
    if !payload.starts_with(&MAGIC) {
        return Err(Reason::BadCarrier);
    }
    let (shim, rest) = split(payload, SHIM_BYTES)?;
    if shim[shim::VERSION] != VERSION {
        return Err(Reason::UnknownVersion);
    }
    let has_cookie = shim[shim::TYPE] & shim::HAS_COOKIE != 0;
    let kind = shim[shim::TYPE] & !shim::HAS_COOKIE;
    if !(kind::UDP_TUNNEL..=kind::COOKIE).contains(&kind) {
        return Err(Reason::UnknownCarrier);
    }
    if kind == kind::COOKIE {
        return parse_cookie(rest, has_cookie);
    }
    let (cookie, rest) = match has_cookie {
        true => {
            let (cookie, rest) = rest.split_first_chunk().ok_or(Reason::BadCarrierLength)?;
            (Some(cookie), rest)
        }
        false => (None, rest),
    };
    let packet = |carrier| Rest::Packet {
        carrier,
        bytes: rest,
    };
    let rest = match kind {
        kind::UDP_TUNNEL => packet(Carrier::UdpTunnel),
        kind::UDP_TRANSPORT => packet(Carrier::UdpTransport),
        _ => Rest::Fragment(Fragment::parse(rest)?),
    };
    Ok(Parsed { cookie, rest })
}

fn parse_cookie(rest: &[u8], has_cookie: bool) -> Result<Parsed<'_>, Reason> {
    if has_cookie {
        return Err(Reason::ReservedBits);
    }
    let (echo, cookie) = rest.split_first_chunk().ok_or(Reason::BadCarrierLength)?;
    let cookie = cookie.try_into().map_err(|_| Reason::BadCarrierLength)?;
    let rest = Rest::Cookie { echo, cookie };
    Ok(Parsed { cookie: None, rest })
}

/// Returns what an answer to the datagram echoes. `None` if it is ill-formed so far, or a cookie.
pub fn echo(payload: &[u8]) -> Option<Echo> {
    match parse(payload).ok()?.rest {
        Rest::Packet { bytes, .. } => packet::echo(bytes).copied(),
        Rest::Fragment(fragment) => Some(*fragment.id),
        Rest::Cookie { .. } => None,
    }
}

/// Appends a datagram of type 4, which gives a sender its cookie.
pub fn write_cookie(echo: &Echo, cookie: &Cookie, out: &mut Vec<u8>) {
    write_shim(kind::COOKIE, None, out);
    out.extend_from_slice(echo);
    out.extend_from_slice(cookie);
}

/// Appends a datagram that a [`Sender`](crate::Sender) wrote, with the cookie if there is one.
///
/// # Panics
/// If the datagram has no shim.
pub fn write(datagram: &[u8], cookie: Option<&Cookie>, out: &mut Vec<u8>) {
    let (shim, rest) = datagram.split_at(SHIM_BYTES);
    write_shim(shim[shim::TYPE], cookie, out);
    out.extend_from_slice(rest);
}

/// Appends the shim of a packet.
pub(super) fn write_packet_shim(carrier: Carrier, out: &mut Vec<u8>) {
    let kind = match carrier {
        Carrier::UdpTransport => kind::UDP_TRANSPORT,
        Carrier::Trailer | Carrier::UdpTunnel => kind::UDP_TUNNEL,
    };
    write_shim(kind, None, out);
}

/// Appends the shim of a fragment.
pub(super) fn write_fragment_shim(cookie: Option<&Cookie>, out: &mut Vec<u8>) {
    write_shim(kind::FRAGMENT, cookie, out);
}

fn write_shim(kind: u8, cookie: Option<&Cookie>, out: &mut Vec<u8>) {
    let has_cookie = cookie.map_or(0, |_| shim::HAS_COOKIE);
    out.extend_from_slice(&MAGIC);
    out.extend([VERSION, kind | has_cookie]);
    out.extend_from_slice(cookie.map_or(&[], |cookie| cookie));
}

/// Tells whether bytes may be a datagram with a packet and without a cookie, as fragments have them.
pub(super) fn may_be_in_fragments(datagram: &[u8]) -> bool {
    let kind = datagram.get(shim::TYPE);
    let is_packet = matches!(kind, Some(&(kind::UDP_TUNNEL | kind::UDP_TRANSPORT)));
    datagram.starts_with(&MAGIC) && is_packet
}

/// Splits the first `length` bytes off.
pub(super) fn split(bytes: &[u8], length: usize) -> Result<(&[u8], &[u8]), Reason> {
    bytes
        .split_at_checked(length)
        .ok_or(Reason::BadCarrierLength)
}
