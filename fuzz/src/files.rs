//! The group file and the key files.

use clew_evidence::{GroupFile, armor};
use clew_manager::keys::{IssuerKeyFile, MemberKeyFile, TrusteeKeyFile};
use clew_manager::sealed::{Needs, Secret, needs, unseal};
use zeroize::Zeroizing;

/// A group file: what it promises of its keys holds.
pub fn group_file(data: &[u8]) {
    let Ok(file) = GroupFile::from_bytes(data) else {
        return;
    };
    let newest = file.newest_epoch();
    assert_eq!(file.id(), file.genesis().group_id());
    assert!(file.genesis().encode().len() < data.len());
    assert!((1..newest).all(|epoch| file.start(epoch) < file.start(epoch + 1)));
    let first = file
        .public_key(0)
        .expect("epoch 0")
        .expect("it was checked");
    for epoch in 0..=newest.min(3) {
        if let Some(Ok(key)) = file.public_key(epoch) {
            assert!(key.check_descends_from(&first).is_ok());
        }
    }
    assert!(file.revoked_until(newest).len() <= newest as usize);
}

/// The text of a key file, of whatever kind; one that a key file sealed is opened.
pub fn key_file(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(key) = MemberKeyFile::decode(text) {
        let again = MemberKeyFile::decode(&key.encode()).expect("it was written");
        assert_eq!(again.encode(), key.encode());
    }
    if let Ok(key) = IssuerKeyFile::decode(text) {
        let again = IssuerKeyFile::decode(&key.encode()).expect("it was written");
        assert_eq!(again.encode(), key.encode());
    }
    if let Ok(key) = TrusteeKeyFile::decode(text) {
        let again = TrusteeKeyFile::decode(&key.encode()).expect("it was written");
        assert_eq!(again.encode(), key.encode());
    }
    sealed(text);
}

/// The payload of a key file, of whatever kind: behind the checksum.
pub fn key_payload(data: &[u8]) {
    let text = |kind: &str| match kind {
        "member" => armor::encode("", "clew-member-key-1", data),
        "issuer" => armor::encode("", "clew-issuer-key-1", data),
        _ => armor::encode("", "clew-trustee-key-1", data),
    };
    let same = |written: &str, label| {
        let payload = armor::decode(written, label).expect("it was written");
        assert_eq!(payload[..], *data);
    };
    if let Ok(key) = MemberKeyFile::decode(&text("member")) {
        same(&key.encode(), "clew-member-key-1");
    }
    if let Ok(key) = IssuerKeyFile::decode(&text("issuer")) {
        same(&key.encode(), "clew-issuer-key-1");
    }
    if let Ok(key) = TrusteeKeyFile::decode(&text("trustee")) {
        same(&key.encode(), "clew-trustee-key-1");
        assert_eq!(key.trustee().index(), data[21]);
    }
}

fn sealed(text: &str) {
    // Not with a passphrase: a file may ask for 1 GiB.
    if needs(text) == Ok(Needs::KeyFile) {
        let secret = Secret::KeyFile(Zeroizing::new(b"the content of a key file".to_vec()));
        let _ = unseal(text, &secret);
    }
}
