//! Shares encrypted to the requester (`spec/request.md` section 4).

use crate::sealed::{self, SealKey};
use clew_evidence::{Request, Share};
use clew_group::domain_separator;
use rand_core::CryptoRng;

const LABEL: &str = "clew-sealed-share-1";

/// Encrypts a share to the requester's key. Only this author's post for this attempt (0 for an opening)
/// decrypts. Returns `None` if the key is a point of small order.
pub fn sealed_share(
    share: &Share,
    requester: &[u8; 32],
    author: &[u8; 32],
    attempt: u8,
    rng: &mut impl CryptoRng,
) -> Option<Vec<u8>> {
    let info = info(&share.request, author, share.trustee.index(), attempt);
    sealed::seal(requester, share.encode().as_bytes(), &info, &[], rng)
}

/// Decrypts what [`sealed_share`] made. Returns `None` if it was made for another reader, request,
/// author, trustee or attempt, or has a share of another request or trustee in it. The share itself is
/// not checked.
pub fn open_share(
    sealed: &[u8],
    key: &SealKey,
    request: &Request,
    (author, trustee, attempt): (&[u8; 32], u8, u8),
) -> Option<Share> {
    let info = info(request, author, trustee, attempt);
    let plain = key.open(sealed, &info, &[])?;
    let share = Share::decode(std::str::from_utf8(&plain).ok()?).ok()?;
    let is_of = share.request == *request && share.trustee.index() == trustee;
    is_of.then_some(share)
}

fn info(request: &Request, author: &[u8; 32], trustee: u8, attempt: u8) -> Vec<u8> {
    let label = domain_separator(LABEL);
    [&label[..], &request.id(), author, &[trustee, attempt]].concat()
}
