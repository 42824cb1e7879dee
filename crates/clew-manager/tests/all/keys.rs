//! Key files, sealed ones too, and how they are replaced.

use crate::common::*;
use clew_evidence::TextError;
use clew_group::Scheme;
use clew_keys::encryption::{self, DecryptError, Needs, Secret};
use clew_keys::files::{IfExists, MODE_SECRET, write_atomically};
use clew_keys::{IssuerKeyFile, MemberKeyFile, TextFile, TrusteeKeyFile};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use zeroize::Zeroizing;

/// The three keys of a group as texts, each with the word of its label.
fn texts(scheme: Scheme) -> [(&'static str, String); 3] {
    let mut acme = TestGroup::new(scheme);
    let member = acme.enrol("web-1").encode().to_string();
    [
        ("member", member),
        ("issuer", acme.issuer.encode().to_string()),
        ("trustee", acme.trustee(2).encode().to_string()),
    ]
}

fn decode(kind: &str, text: &str) -> Result<String, TextError> {
    Ok(match kind {
        "member" => MemberKeyFile::decode(text)?.encode().to_string(),
        "issuer" => IssuerKeyFile::decode(text)?.encode().to_string(),
        _ => TrusteeKeyFile::decode(text)?.encode().to_string(),
    })
}

#[test]
fn keys_are_read_back_as_they_were() {
    for scheme in BOTH {
        for (kind, text) in texts(scheme) {
            assert_eq!(decode(kind, &text).as_deref(), Ok(&text[..]));
        }
    }
}

#[test]
fn a_key_file_says_what_is_wrong_with_it() {
    for scheme in BOTH {
        for (kind, text) in texts(scheme) {
            for other in ["member", "issuer", "trustee"] {
                let Err(error) = decode(other, &text) else {
                    assert_eq!(kind, other);
                    continue;
                };
                let TextError::Label { found, wanted } = error else {
                    unreachable!("{error}")
                };
                assert_eq!(found, format!("clew-{kind}-key-1"));
                assert_eq!(wanted, format!("clew-{other}-key-1"));
            }
            for no_key in ["", "hello\n"] {
                let error = decode(kind, no_key).unwrap_err();
                assert_eq!(error, TextError::NotAKey);
            }
            every_letter_counts(kind, &text);
        }
    }
}

fn every_letter_counts(kind: &str, text: &str) {
    let start = text.find("-1 ").unwrap() + 3;
    for at in (start..text.len() - 2).step_by(11) {
        let mut bytes = text.as_bytes().to_vec();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(bytes).unwrap();
        assert_eq!(
            decode(kind, &changed),
            Err(TextError::Damaged),
            "{kind} at {at}"
        );
    }
}

#[test]
fn comments_say_who_can_do_what() {
    let [_, (_, xr), (_, trustee)] = texts(Scheme::Xr);
    let [_, (_, bbs04), _] = texts(Scheme::Bbs04);
    assert!(bbs04.contains("could sign as any machine"));
    assert!(!xr.contains("could sign as any machine"));
    assert!(trustee.contains("trustee 2") && trustee.contains("SECRET"));
}

#[test]
fn replacing_a_file_keeps_a_link_to_it() {
    let temp = tempfile::tempdir().unwrap();
    let (file, link) = (temp.path().join("real.key"), temp.path().join("link.key"));
    fs::write(&file, "old").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    assert!(write_atomically(&link, b"new", MODE_SECRET, IfExists::Refuse).is_err());
    write_atomically(&link, b"new", MODE_SECRET, IfExists::Replace).unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"new");
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn sealed_keys_open_with_their_secret_only() {
    let key = TestGroup::new(Scheme::Xr).enrol("web-1");
    let passphrase = |p: &str| Secret::Passphrase(Zeroizing::new(p.to_owned()));
    let key_file = |k: &[u8]| Secret::KeyFile(Zeroizing::new(k.to_vec()));
    let wrong = Err(DecryptError::WrongSecret);
    for (good, bad, needs) in [
        (
            passphrase("correct horse"),
            passphrase("battery"),
            Needs::Passphrase,
        ),
        (key_file(&[1; 32]), key_file(&[2; 32]), Needs::KeyFile),
    ] {
        let sealed = encryption::encrypt(&key.encode(), &key.comment(), &good, &mut rng(4));
        assert_eq!(encryption::needs(&sealed), Ok(needs));
        assert_eq!(encryption::decrypt(&sealed, &good), Ok(key.encode()));
        assert_eq!(encryption::decrypt(&sealed, &bad), wrong);
        let other = match needs {
            Needs::KeyFile => passphrase("x"),
            _ => key_file(&[1; 32]),
        };
        assert_eq!(encryption::decrypt(&sealed, &other), wrong);
        let mut bytes = sealed.as_bytes().to_vec();
        bytes[sealed.find("-1 ").unwrap() + 90] ^= 1;
        let changed = String::from_utf8(bytes).unwrap();
        assert_eq!(
            encryption::decrypt(&changed, &good),
            Err(DecryptError::Text(TextError::Damaged))
        );
    }
    assert_eq!(encryption::needs(&key.encode()), Ok(Needs::Nothing));
}
