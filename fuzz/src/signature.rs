//! Encodings of `clew-group`: each value has one, so that what decodes encodes to the same bytes.

use clew_group::bbs04::{IncrementalSignature, MemberKey, PublicKey, Revocation, Signature};

/// Both forms of a signature.
pub fn signature(data: &[u8]) {
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

/// A group public key.
pub fn public_key(data: &[u8]) {
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

fn is_revoked(member: &MemberKey, data: &[u8]) -> bool {
    member.to_bytes()[48..] == data[480..512]
}
