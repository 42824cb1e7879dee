//! How a user shows who it is: `spec/tunnel.md` section 11.3.
//!
//! `box` is the paper's; who has the server's boxing key can make it for any user. `bound` is for one
//! tunnel, one connection and one service, and needs S' too.

use alloc::vec::Vec;

use crate::boxes::{Key, NONCE, TAG};
use crate::keys::{self, Binder};
use crate::reason::Reason;
use crate::x25519::{BYTES, Public, Shared};

/// Bytes of an authenticator `box`.
pub const BOX_BYTES: usize = NONCE + TAG + BYTES;

/// Bytes of an authenticator `bound`, without those of the service's name.
pub const BOUND_BYTES: usize = NONCE + TAG + 4;

const BOUND: &[u8; 16] = b"clew-mlt-bound-0";

/// Makes an authenticator `box` of the user for the server's boxing key, by shared(u, S). `nonce` is random, and
/// never used twice for one user.
pub fn seal(shared: &Key, boxing: &Public, nonce: [u8; NONCE]) -> [u8; BOX_BYTES] {
    let mut out = [0; BOX_BYTES];
    out[..NONCE].copy_from_slice(&nonce);
    out[NONCE + TAG..].copy_from_slice(&boxing.0);
    let sealed = shared.seal(&nonce, &mut out[NONCE..]);
    debug_assert!(sealed, "there is room for the tag");
    out
}

/// Verifies an authenticator `box` by shared(u, S), which may be one of many that were computed at once. U was
/// canonical. `boxing` is the server's boxing key.
///
/// # Errors
/// `authenticator`: it does not decrypt, or has another content.
pub fn check(shared: &Key, boxing: &Public, authenticator: &[u8; BOX_BYTES]) -> Result<(), Reason> {
    check_box(shared, authenticator, &boxing.0)
}

/// What an authenticator `bound` is for.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// B of the tunnel.
    pub binder: &'a Binder,
    /// U.
    pub user: &'a Public,
    /// The boxing key of S.
    pub boxing: &'a Public,
    /// The signing key of S: a host that has another one's boxing key in its certificate is another host.
    pub signing: &'a [u8; 32],
    /// S'.
    pub ephemeral: &'a Public,
    /// The connection that is created.
    pub connection: u32,
    /// The service that it is to.
    pub service: &'a str,
}

impl Context<'_> {
    /// kb, of DH(u, S) and DH(u, S').
    fn key(&self, [boxing, ephemeral]: [&Shared; 2]) -> Key {
        keys::hashed(&[
            BOUND,
            boxing.as_bytes(),
            ephemeral.as_bytes(),
            self.binder.as_bytes(),
            &self.user.0,
            &self.boxing.0,
            &self.ephemeral.0,
            self.signing,
        ])
    }

    fn content(&self) -> Vec<u8> {
        [&self.connection.to_be_bytes(), self.service.as_bytes()].concat()
    }

    /// Makes an authenticator `bound` of [`BOUND_BYTES`] and those of the service's name, by DH(u, S) and
    /// DH(u, S'). `nonce` is random.
    pub fn seal(&self, dhs: [&Shared; 2], nonce: [u8; NONCE]) -> Vec<u8> {
        let mut out = [&nonce[..], &[0; TAG], &self.content()].concat();
        let sealed = self.key(dhs).seal(&nonce, &mut out[NONCE..]);
        debug_assert!(sealed, "there is room for the tag");
        out
    }

    /// Verifies an authenticator `bound` by DH(u, S) and DH(u, S'), which may be some of many that were computed
    /// at once. U was canonical. Whether S' is live (`stale-authenticator`) is the caller's to know.
    ///
    /// # Errors
    /// `authenticator`: it does not decrypt, or has another content.
    pub fn check(&self, dhs: [&Shared; 2], authenticator: &[u8]) -> Result<(), Reason> {
        check_box(&self.key(dhs), authenticator, &self.content())
    }
}

/// Whether the box decrypts and has this content.
fn check_box(key: &Key, authenticator: &[u8], content: &[u8]) -> Result<(), Reason> {
    let (nonce, boxed) = authenticator
        .split_first_chunk()
        .ok_or(Reason::Authenticator)?;
    // Another length is another content: nothing larger is copied.
    if boxed.len() != TAG + content.len() {
        return Err(Reason::Authenticator);
    }
    let mut boxed = boxed.to_vec();
    let good = key.decrypt(nonce, &mut boxed) && boxed[TAG..] == *content;
    good.then_some(()).ok_or(Reason::Authenticator)
}
