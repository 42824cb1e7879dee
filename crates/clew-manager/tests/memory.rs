//! What is left of secrets on the heap of this process after each use: nothing, whatever was dropped.
//! All of memory is read, by a thread that was there before. The stack is left out: what computes
//! with secrets is `clew-group`, whose own test has it.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

#[path = "all/common/mod.rs"]
#[allow(dead_code, reason = "this program uses a part")]
mod common;
#[path = "../../clew-group/tests/memory/scan.rs"]
mod scan;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clew_evidence::{GroupId, Search};
use clew_group::quorum::SecretShare;
use clew_group::{Scheme, xr};
use clew_keys::encryption::{self, Secret as Seal};
use clew_keys::{IssuerKey, IssuerKeyFile, OpeningShare, TextFile, TrusteeKeyFile};
use clew_manager::{Store, StoreError, keys_of};
use common::*;
use ed25519_dalek::SigningKey;
use scan::{Secret, Watch, overwritten};
use std::hint::black_box;
use zeroize::Zeroizing;

/// 32 bytes, which are a scalar.
#[inline(never)]
fn secret(seed: u8) -> Zeroizing<[u8; 32]> {
    let at = |i: usize| black_box(seed) ^ (i as u8).wrapping_mul(29);
    Zeroizing::new(std::array::from_fn(at))
}

/// The secrets as they are, and in base64 behind so many bytes of a payload.
fn forms(names: [&'static str; 2], seed: u8, before: usize) -> [Secret; 2] {
    let plain = secret(seed);
    let first = before.next_multiple_of(3) - before;
    let base64 = Zeroizing::new(STANDARD.encode(&plain[first..first + 30]));
    [
        Secret::bytes(names[0], &*plain),
        Secret::bytes(names[1], base64.as_bytes()),
    ]
}

/// Nothing of any of them.
#[track_caller]
fn nothing(watch: &Watch, when: &str) {
    overwritten();
    let found = watch.look();
    let left: Vec<_> = found.iter().map(|found| found.elsewhere).collect();
    assert!(left.iter().all(|left| *left == 0), "after {when}: {left:?}");
}

/// One test only, so that no other thread has secrets like these.
#[test]
fn nothing_stays_on_the_heap() {
    key_files();
    rows();
}

fn key_files() {
    let watch = Watch::new(|| {
        let of = [
            forms(["gamma", "gamma in base64"], 1, 17),
            forms(["seed of the manager", "the same in base64"], 2, 17 + 32),
            forms(["seed", "seed in base64"], 3, 17 + 64),
            forms(["share of xi1", "the same in base64"], 4, 22),
            forms(["share of xi2", "the same in base64"], 5, 22 + 32),
        ];
        of.into_iter().flatten().collect()
    });
    nothing(&watch, "nothing");
    let group = GroupId([6; 16]);
    let issuer = IssuerKeyFile {
        group,
        issuer: IssuerKey::Xr(xr::IssuerKey::from_bytes(secret(1).as_slice()).unwrap()),
        manager: SigningKey::from_bytes(&secret(2)),
        seed: secret(3),
    };
    let share = |seed| SecretShare::from_bytes(who(1), secret(seed).as_slice()).unwrap();
    let trustee = TrusteeKeyFile {
        group,
        since: 0,
        share: OpeningShare::Bbs04([share(4), share(5)]),
    };
    nothing(&watch, "decoding");
    let texts = [issuer.encode(), trustee.encode()];
    let by = Seal::KeyFile(Zeroizing::new(vec![7; 32]));
    let sealed = texts.each_ref();
    let sealed = sealed.map(|text| encryption::encrypt(text, "", &by, &mut rng(1)));
    drop(texts);
    nothing(&watch, "encoding and sealing");
    let [issuers, trustees] = sealed.map(|sealed| encryption::decrypt(&sealed, &by).unwrap());
    drop(IssuerKeyFile::decode(&issuers).unwrap());
    drop(TrusteeKeyFile::decode(&trustees).unwrap());
    drop((issuers, trustees));
    nothing(&watch, "unsealing and decoding");
}

/// With bbs04, x and the public A are a machine's whole key.
fn rows() {
    let mut acme = TestGroup::new(Scheme::Bbs04);
    let names = ["web-1", "web-2", "web-3"];
    acme.enrol_all(&names);
    // So many that lists of them are not in a place that the next allocation takes.
    let old: Vec<String> = (0..50).map(|i| format!("old-{i}")).collect();
    let old: Vec<&str> = old.iter().map(String::as_str).collect();
    acme.enrol_all(&old);
    let dir = acme.dir.clone();
    let watch = Watch::new(move || {
        let (store, issuer) = (Store::open(&dir).unwrap(), issuer(&dir));
        let x = |name| store.machine(name).unwrap().unwrap().x(&issuer);
        let old = ["old-20", "old-30", "old-40"];
        let all = names.into_iter().chain(old);
        all.map(|name| Secret::of(name, &x(name))).collect()
    });
    nothing(&watch, "enrolling");
    let base = acme.base("web-2", 0).unwrap();
    let epoch = acme.revoke_all(&[&["web-2"], &old[..]].concat(), true);
    nothing(&watch, "a rebase");
    drop(acme.store.epoch_issuer(&acme.issuer, epoch).unwrap());
    nothing(&watch, "the issuer in an epoch");
    for (of, base) in [(0, base), (epoch, acme.base("web-1", epoch).unwrap())] {
        let search = Search::new(&acme.checked(), of, &base).unwrap();
        let never = &mut |_, _| true;
        let found = acme.store.find_signer(&acme.issuer, of, search, never);
        assert!(found.unwrap().is_some());
        nothing(&watch, "a search");
    }
    let mut machines = Vec::new();
    let all = acme.store.machines(|machine| {
        machines.push(machine);
        Ok::<_, StoreError>(())
    });
    all.unwrap();
    drop(keys_of(&machines, &acme.issuer).unwrap());
    nothing(&watch, "an export");
}
