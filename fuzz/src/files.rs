//! The group file and the key files.

use clew_evidence::wire::Reader;
use clew_evidence::{GroupFile, GroupId, MAX_STEPS, armor};
use clew_keys::encryption::{Needs, Secret, decrypt, needs};
use clew_keys::join::{
    AcceptanceFile, CredentialFile, InvitationFile, Joining, OfferFile, RequestFile, round,
};
use clew_keys::witness_file::{self, Need};
use clew_keys::{IssuerKeyFile, MemberKeyFile, TextFile, TrusteeKeyFile};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use zeroize::Zeroizing;

/// A group file: what it promises of its epochs and keys holds.
pub fn group_file(data: &[u8]) {
    let Ok(file) = GroupFile::from_bytes(data) else {
        return;
    };
    let newest = file.newest_epoch();
    assert_eq!(file.id(), file.genesis().group_id());
    assert!(file.genesis().encode().len() < data.len());
    assert!((1..newest).all(|epoch| file.start(epoch) <= file.start(epoch + 1)));
    assert_eq!(file.public_key(newest + 1).map(|_| ()), None);
    let Ok(checked) = file.check_epochs(&mut ChaCha20Rng::seed_from_u64(1)) else {
        return;
    };
    for epoch in (0..=newest).rev().take(4) {
        let key = checked.public_key(epoch).map(|key| key.map(|key| *key.v()));
        assert!(key.is_none_or(|v| v.is_err() || v.ok() == checked.v(epoch)));
        assert!(checked.path(epoch, newest).is_some());
    }
    assert!(checked.steps_since_rebase() <= MAX_STEPS);
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

/// The payload of a file of a join, of whichever round, and of what the device keeps meanwhile.
pub fn join_file(data: &[u8]) {
    round_file::<InvitationFile>(data);
    round_file::<RequestFile>(data);
    round_file::<OfferFile>(data);
    round_file::<AcceptanceFile>(data);
    round_file::<CredentialFile>(data);
    let text = armor::encode("", "clew-joining-1", data);
    if let Ok(joining) = Joining::decode(&text) {
        let written = joining.encode();
        let payload = armor::decode(&written, "clew-joining-1").expect("it was written");
        assert_eq!(payload[..], *data);
    }
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = round(text);
    }
}

fn round_file<T: TextFile>(data: &[u8]) {
    let text = armor::encode("", T::LABEL, data);
    let decoded = T::decode(&text).ok();
    assert_eq!(decoded.is_some(), T::from_payload(data).is_some());
    assert!(decoded.is_none_or(|file| *file.payload() == data));
}

/// A group, an epoch and a row, then a bucket of witnesses in which that row is looked for.
pub fn witness_file(data: &[u8]) {
    let mut fields = Reader(data);
    let (Some(group), Some(epoch), Some(index)) = (fields.array(), fields.u32(), fields.u32())
    else {
        return;
    };
    let group = GroupId(group);
    let need = Need {
        group,
        epoch,
        index,
    };
    if let Ok(witness) = witness_file::find(fields.0, &need) {
        let bytes = witness.to_bytes();
        assert!(fields.0.windows(bytes.len()).any(|found| found == bytes));
    }
}

fn sealed(text: &str) {
    // Not with a passphrase: a file may ask for 1 GiB.
    if needs(text) == Ok(Needs::KeyFile) {
        let secret = Secret::KeyFile(Zeroizing::new(b"the content of a key file".to_vec()));
        let _ = decrypt(text, &secret);
    }
}
