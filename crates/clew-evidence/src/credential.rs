//! The two equations by which a row is the one of a signature (`spec/opening.md` section 6).

use crate::register::{EntryKey, RegisterEntry};
use alloc::boxed::Box;
use clew_group::PublicKey;
use clew_group::curve::{G1, G2, Scalar};

/// The points of a register entry, decoded, with the x that belongs to them.
#[derive(Clone, Debug)]
pub(crate) struct Credential {
    a: G1,
    key: Key,
}

#[derive(Clone, Debug)]
enum Key {
    Bbs04(Box<G2>),
    Xr { c: G1, x: Scalar },
}

impl Credential {
    /// Decodes. Returns `None` if a point does not decode, or x is missing or one too many.
    pub(crate) fn of(entry: &RegisterEntry, x: Option<&Scalar>) -> Option<Self> {
        let key = match (&entry.key, x) {
            (EntryKey::Bbs04(x), None) => Key::Bbs04(Box::new(G2::from_bytes(&x[..]).ok()?)),
            (EntryKey::Xr(device), Some(x)) => Key::Xr {
                c: G1::from_bytes(&device.commitment).ok()?,
                x: *x,
            },
            _ => return None,
        };
        let a = G1::from_bytes(&entry.credential).ok()?;
        Some(Self { a, key })
    }

    /// Rule `credential`: A, which the device signed, is the issuer's credential on C for this x.
    pub(crate) fn is_certified(&self, group: &PublicKey) -> bool {
        match (group, &self.key) {
            (PublicKey::Bbs04(group), Key::Bbs04(x)) => group.certifies(&self.a, x),
            (PublicKey::Xr(group), Key::Xr { c, x }) => group.certifies(&self.a, c, x),
            _ => false,
        }
    }

    /// Rule `signer`: B is the base that this row signs with in the epoch of `group`.
    pub(crate) fn has_base(&self, group: &PublicKey, b: &G1) -> bool {
        match (group, &self.key) {
            (PublicKey::Bbs04(group), Key::Bbs04(x)) => group.names(b, x),
            (PublicKey::Xr(group), Key::Xr { c, x }) => group.names(b, c, x),
            _ => false,
        }
    }
}
