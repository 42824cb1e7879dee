//! What can be tried with public data, and with keys of members, in every epoch: ended ones, the
//! present one in its grace time, and an announced one. Nothing but honest keys in their own epochs
//! signs. The forgery that the old revocation allowed is shown to work against the old equations.

use crate::common::xr::{Group, Member, NONCE};
use crate::common::xr_textbook::{self as xr_book, Gpk, Key, scalar};
use crate::common::{EPOCH, rng, textbook as book};
use clew_group::Step;
use clew_group::bbs04;
use clew_group::curve::{G1, G2, Scalar};
use clew_group::xr::{Nonces, PublicKey, Signature, VerifyingKey};

/// One epoch, as a forger and a verifier see it.
struct Epoch {
    public: PublicKey,
    gpk: Gpk,
    verifier: VerifyingKey,
}

impl Epoch {
    fn new(public: PublicKey) -> Self {
        Self {
            gpk: Gpk::of(&NONCE, &public, EPOCH),
            verifier: VerifyingKey::new(&public, EPOCH),
            public,
        }
    }

    /// Signs as the textbook does, without any check of the key; whether the product accepts it.
    fn accepts(&self, key: &Key) -> bool {
        let bytes = xr_book::sign(&self.gpk, key, &Nonces::random(&mut rng(3)), b"m");
        let signature = Signature::from_bytes(&bytes[..288]);
        signature.is_ok_and(|signature| self.verifier.verify(&[b"m"], &signature).is_ok())
    }
}

fn y(member: &Member) -> Scalar {
    scalar(&member.key.to_bytes()[80..])
}

/// Two ended epochs, the present one, and an announced one; the members a, and b and c who are
/// revoked by the first two steps.
struct History {
    epochs: Vec<Epoch>,
    steps: Vec<Step>,
    members: [Member; 3],
}

impl History {
    fn new(seed: u64) -> Self {
        let mut group = Group::new(seed);
        let members = [group.member.clone(), group.join(), group.join()];
        let announced = group.join();
        let mut epochs = vec![Epoch::new(group.public.clone())];
        for x in [members[1].x, members[2].x, announced.x] {
            group.revoke(&x);
            epochs.push(Epoch::new(group.public.clone()));
        }
        Self {
            epochs,
            steps: group.steps,
            members,
        }
    }

    fn nothing_signs(&self, what: &str, key: &Key) {
        for (e, epoch) in self.epochs.iter().enumerate() {
            assert!(!epoch.accepts(key), "{what} signs in epoch {e}");
        }
    }
}

/// The old revocation published g1' and h0': a credential of the epoch before, for any y. Its
/// equations are today's without V.
#[test]
fn the_old_revocation_was_a_credential() {
    let mut group = Group::new(1);
    let gamma = scalar(group.issuer.to_bytes().as_slice());
    let x = group.join().x;
    let mut old = Gpk::of(&NONCE, &group.genesis, EPOCH);
    old.v = G1::default();
    let inverse = (gamma + x).invert().unwrap();
    let published = [old.g1, old.h0].map(|p| p.mul(&inverse));
    let y = Scalar::from_u128(4711);
    let forged = Key {
        b: published[0] + published[1].mul(&y),
        x,
        y,
    };
    let mut bytes = xr_book::sign(&old, &forged, &Nonces::random(&mut rng(1)), b"evil");
    bytes.truncate(288);
    assert!(xr_book::verify(&old, &bytes, b"evil"));
}

/// With the group file alone: all V and the revoked x*.
#[test]
fn public_data_signs_in_no_epoch() {
    let history = History::new(2);
    let gpk = &history.epochs[0].gpk;
    let (one, r) = (Scalar::from_u128(1), Scalar::from_u128(4711));
    let mut vs: Vec<G1> = history.steps.iter().map(|s| *s.v()).collect();
    vs.insert(0, *history.epochs[0].public.v());
    for step in &history.steps {
        for v in &vs {
            for y in [Scalar::default(), one, r] {
                for b in [*v, *v + gpk.h0.mul(&y), gpk.g1 + *v, *v + *v] {
                    let x = *step.x();
                    history.nothing_signs("public data", &Key { b, x, y });
                }
            }
        }
    }
}

/// With the register too: each row's A and C, and the base that an opening of it gave; all but y.
#[test]
fn the_register_and_an_opening_sign_in_no_epoch() {
    let history = History::new(3);
    for (i, member) in history.members.iter().enumerate() {
        let opened = member.base();
        for v in history.epochs.iter().map(|epoch| *epoch.public.v()) {
            for y in [Scalar::default(), Scalar::from_u128(4711)] {
                for b in [opened, member.a, member.a + v] {
                    let x = member.x;
                    history.nothing_signs("a row", &Key { b, x, y });
                }
            }
        }
        // With the device's y, the row signs in the epochs of its member, and in no other.
        let completed = |e: usize| history.epochs.get(e + 1).map(|epoch| *epoch.public.v());
        let key = |b| Key {
            b,
            x: member.x,
            y: y(member),
        };
        for (e, epoch) in history.epochs.iter().enumerate() {
            let revived = completed(e).is_some_and(|v| epoch.accepts(&key(member.a + v)));
            assert_eq!(revived, i > 0 && e == i - 1, "{i} in {e}");
        }
    }
}

/// All combinations of three members' A, x and y, and of all witnesses there are.
#[test]
fn mixed_parts_sign_in_no_epoch() {
    let history = History::new(4);
    let [a, b, c] = &history.members;
    let later = |member: &Member, n: usize| member.witness.after(&member.x, &history.steps[..n]);
    let mut witnesses = vec![];
    for (m, member) in [a, b, c].into_iter().enumerate() {
        for e in 0..4 {
            if let Ok(witness) = later(member, e) {
                witnesses.push((Some((m, e)), xr_book::g1(&witness.to_bytes())));
            }
        }
    }
    assert_eq!(
        witnesses.len(),
        4 + 1 + 2,
        "b is revoked in epoch 1, c in epoch 2"
    );
    witnesses.extend(history.epochs.iter().map(|epoch| (None, *epoch.public.v())));
    let members = [a, b, c];
    let mut accepted = 0;
    for (of, w) in witnesses {
        for (i, j, k) in (0..27).map(|n| (n / 9, n / 3 % 3, n % 3)) {
            let key = Key {
                b: members[i].a + w,
                x: members[j].x,
                y: y(members[k]),
            };
            for (e, epoch) in history.epochs.iter().enumerate() {
                let is_whole = i == j && j == k;
                // V_(e+1) is the witness in epoch e of the machine that the step revokes.
                let own = w == *history.epochs[(e + 1).min(3)].public.v() && i > 0 && e == i - 1;
                let honest = is_whole && (of == Some((i, e)) || own);
                let quick = !is_whole && (e + i + k) % 4 != 0;
                if quick {
                    continue; // a quarter of what is wrong is tried, which takes a second
                }
                assert_eq!(epoch.accepts(&key), honest, "{of:?} {i} {j} {k} in {e}");
                accepted += usize::from(honest);
            }
        }
    }
    assert_eq!(accepted, 4 + 1 + 2 + 2);
}

fn signs_bbs04(public: &bbs04::PublicKey, key: &book::Key) -> bool {
    let gpk = book::Gpk::of(&NONCE, public, EPOCH);
    let bytes = book::sign(&gpk, key, &bbs04::Nonces::random(&mut rng(3)), b"m");
    let Ok(signature) = bbs04::Signature::from_bytes(&bytes) else {
        return false;
    };
    let verifier = bbs04::VerifyingKey::new(public, EPOCH);
    verifier.verify(&[b"m"], &signature).is_ok()
}

/// The old revocation of BBS04 (section 7 of the paper) published g1' and x*: the revoked machine's
/// own key.
#[test]
fn the_papers_revocation_is_a_key() {
    let mut group = crate::common::Group::new(5);
    let gamma = Scalar::from_bytes(group.issuer.to_bytes().as_slice()).unwrap();
    let x = *group.join().key.x();
    let mut old = book::Gpk::of(&NONCE, &group.genesis, EPOCH);
    old.g1 = G1::generator();
    let b = old.g1.mul(&(gamma + x).invert().unwrap());
    let bytes = book::sign(&old, &book::Key { b, x }, &nonces(), b"evil");
    assert!(book::verify(&old, &book::Values::of(&bytes), b"evil"));
    assert!(!signs_bbs04(&group.genesis, &book::Key { b, x }));
}

fn nonces() -> bbs04::Nonces {
    bbs04::Nonces::random(&mut rng(1))
}

/// Under `bbs04` no x is public: rows have A and X = G2^x, rebases the witnesses of all others.
#[test]
fn public_data_of_bbs04_signs_in_no_epoch() {
    let mut group = crate::common::Group::new(6);
    let revoked = group.join();
    let mut epochs = vec![group.public.clone()];
    let mut bases = vec![revoked.key.credential()];
    bases.push(group.in_epoch().base(&bases[0], revoked.key.x()).unwrap());
    for x in [vec![*revoked.key.x()], vec![]] {
        group.rebase(&x);
        epochs.push(group.public.clone());
        let (a, x) = (group.member.key.credential(), group.member.key.x());
        bases.push(group.in_epoch().base(&a, x).unwrap());
        bases.extend([a, a + *group.public.v(), *group.public.v()]);
    }
    let unknown = [0, 1, 4711].map(Scalar::from_u128);
    for public in &epochs {
        for b in &bases {
            for x in unknown {
                assert!(!signs_bbs04(public, &book::Key { b: *b, x }));
            }
        }
        // The revoked machine in its own epoch, and in no other.
        let key = book::Key::of(&revoked.key, &revoked.witness);
        assert_eq!(signs_bbs04(public, &key), *public == epochs[0]);
    }
    let row = G2::generator().mul(revoked.key.x());
    assert_eq!(row, revoked.key.public_x());
}
