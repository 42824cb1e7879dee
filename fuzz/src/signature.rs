//! Encodings of `clew-group`: each value has one, so that what decodes encodes to the same bytes.

use clew_group::bbs04::{IncrementalSignature, MemberKey, PublicKey, Revocation, Signature};
use clew_group::xr;

/// Both forms of a signature, of both schemes.
pub fn signature(data: &[u8]) {
    xr_signature(data);
    if let Ok(signature) = Signature::from_bytes(data) {
        assert_eq!(signature.to_bytes(), data);
    }
    if let Ok(signature) = IncrementalSignature::from_bytes(data) {
        assert_eq!(signature.to_bytes(), data);
        let plain = signature.signature().to_bytes();
        assert!(data.starts_with(&plain));
        assert_eq!(
            Signature::from_bytes(&plain),
            Ok(signature.signature().clone())
        );
    }
}

fn xr_signature(data: &[u8]) {
    if let Ok(signature) = xr::Signature::from_bytes(data) {
        assert_eq!(signature.to_bytes(), data);
    }
    if let Ok(signature) = xr::IncrementalSignature::from_bytes(data) {
        assert_eq!(signature.to_bytes(), data);
        let plain = signature.signature().to_bytes();
        assert!(data.starts_with(&plain));
        let read = xr::Signature::from_bytes(&plain);
        assert_eq!(read.as_ref(), Ok(signature.signature()));
    }
}

/// A group public key.
pub fn public_key(data: &[u8]) {
    if let Ok(key) = xr::PublicKey::from_bytes(data) {
        assert_eq!(key.to_bytes(), data);
    }
    if let Ok(key) = PublicKey::from_bytes(data) {
        assert_eq!(key.to_bytes(), data);
        assert!(!key.is_genesis() || key.check_descends_from(&key).is_ok());
    }
}

/// A group public key, a revocation, and a member key: what the check lets pass is of one group.
pub fn revocation(data: &[u8]) {
    let Some((key, rest)) = data.split_at_checked(480) else {
        return;
    };
    let (revocation, member) = rest.split_at(rest.len().min(272));
    if let Ok(member) = MemberKey::from_bytes(member) {
        assert_eq!(member.to_bytes().as_slice(), &data[752..]);
    }
    let Ok(revocation) = Revocation::from_bytes(revocation) else {
        return;
    };
    assert_eq!(revocation.to_bytes(), rest[..272]);
    let Ok(key) = PublicKey::from_bytes(key) else {
        return;
    };
    let Ok(next) = key.after(&revocation) else {
        return;
    };
    assert!(!key.is_genesis() || next.check_descends_from(&key).is_ok());
    // A key that signed before either follows or is the revoked one.
    if let Ok(member) = MemberKey::from_bytes(member)
        && member.check(&key).is_ok()
    {
        assert!(
            member
                .after(&revocation)
                .is_ok_and(|m| m.check(&next).is_ok())
                || is_revoked(&member, data)
        );
    }
}

/// The same for xr, whose parts have other lengths.
pub fn revocation_xr(data: &[u8]) {
    let Some((key, rest)) = data.split_at_checked(432) else {
        return;
    };
    let (revocation, member) = rest.split_at(rest.len().min(224));
    let member = xr::MemberKey::from_bytes(member);
    if let Ok(member) = &member {
        assert_eq!(member.to_bytes()[..], data[656..]);
    }
    let Ok(revocation) = xr::Revocation::from_bytes(revocation) else {
        return;
    };
    assert_eq!(revocation.to_bytes(), rest[..224]);
    let Ok(key) = xr::PublicKey::from_bytes(key) else {
        return;
    };
    let (Ok(next), Ok(member)) = (key.after(&revocation), member) else {
        return;
    };
    // A key that signed before either follows or is the revoked one.
    if member.check(&key).is_ok() {
        let follows = member.after(&revocation);
        let revoked = data[704..736] == data[432..464];
        assert!(follows.is_ok_and(|m| m.check(&next).is_ok()) || revoked);
    }
}

fn is_revoked(member: &MemberKey, data: &[u8]) -> bool {
    member.to_bytes()[48..] == data[480..512]
}
