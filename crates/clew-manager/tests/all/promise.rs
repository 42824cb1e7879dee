//! The promise of xr: nothing in the issuer's store and the trustees' files together makes a
//! signature that opens to an enrolled machine. And what bbs04 does not promise: there the issuer can.
//!
//! No test proves that nobody can. These take all that a dishonest issuer and all trustees have, and
//! go the ways that the argument of `spec/security.md` says are closed, each beside a
//! control that shows the way itself works when it is not closed.

use crate::common::court::*;
use crate::common::*;
use clew_evidence::{
    Caveat, CheckedGroup, CombineError, EntryKey, Fault, GroupFile, HEADER, JudgeRule, Judgement,
    Opening, RegisterEntry, RegisterHead, Row, Share, Step, WallTime, judge_opening, sign_part,
};
use clew_group::curve::{G1, Scalar};
use clew_group::quorum::Set;
use clew_group::{MemberKey, Scheme, SigningKey, Witness, domain_separator, xr};
use clew_keys::join::Joining;
use clew_keys::{IssuerKey, MemberKeyFile, OpeningShare};
use ed25519_dalek::Signer;
use sha2::{Digest, Sha256};

/// x of a machine, from the issuer key and the machine's row in the database.
fn derived_x(acme: &TestGroup, name: &str) -> Scalar {
    acme.store.machine(name).unwrap().unwrap().x(&acme.issuer)
}

/// What a judge says to an opening of `sent` that names the machine of `row` all the same.
fn blame(
    loot: &Loot,
    group: &CheckedGroup,
    sent: &Sent,
    (row, x): (Row, Scalar),
) -> Result<Judgement, Fault> {
    let request = sent.opening(group);
    let shares = [1, 2].map(|i| match share(&loot.acme, i, sent, &request) {
        Ok(Share {
            trustee,
            step: Step::Opening(decryptions),
            ..
        }) => (trustee, decryptions),
        other => unreachable!("{other:?}"),
    });
    let opening = Opening {
        request,
        shares: shares.to_vec(),
        x: Some(x),
        row,
    };
    judge_opening(group, &opening, &sent.packet())
}

#[test]
fn with_bbs04_the_issuer_signs_as_any_machine() {
    let mut acme = TestGroup::new(Scheme::Bbs04);
    let victim = acme.enrol("victim");
    let IssuerKey::Bbs04(gamma) = &acme.issuer.issuer else {
        unreachable!("it is a bbs04 group")
    };
    let key = MemberKey::Bbs04(gamma.issue(&derived_x(&acme, "victim")).unwrap());
    assert_eq!(
        key.to_bytes(),
        victim.key.to_bytes(),
        "the machine's key, without the machine"
    );
    let forged = Sent::by(&MemberKeyFile { key, ..victim }, b"never sent", 1);
    let (_, judgement) = opened(&acme, &forged).unwrap();
    assert_eq!(judgement.machine.as_str(), "victim");
    assert!(judgement.caveats.contains(&Caveat::IssuerCouldSign));
}

/// Everything that issuer and trustees have about one machine of an xr group, which joined from its
/// own host.
struct Loot {
    acme: TestGroup,
    group: CheckedGroup,
    victim: MemberKeyFile,
    gamma: Scalar,
    xi: Scalar,
    /// Of the victim, but for y: B of epoch 0, and x.
    b: G1,
    x: Scalar,
    commitment: G1,
    /// g1 V of epoch 0, and u, h0, h.
    base: G1,
    u: G1,
    h0: G1,
    h: G1,
}

/// A join in which the issuer's host sees files only.
fn join(acme: &mut TestGroup, name: &str) -> MemberKeyFile {
    let (key, group) = (&acme.issuer, acme.store.group().clone());
    let group = checked(&group);
    let name = name.parse().unwrap();
    let invitation = acme.store.invite(key, name, LATER, &mut rng(50)).unwrap();
    let mut device = Joining::begin(invitation, &group, &mut rng(51)).unwrap();
    let offer = acme
        .store
        .offer(key, device.request(), LATER, &mut rng(52))
        .unwrap();
    let acceptance = device.accept(&offer, &group, &mut rng(53)).unwrap();
    let credential = acme.store.admit(key, &acceptance, LATER).unwrap();
    device.finish(&credential, &group).unwrap()
}

impl Loot {
    fn new() -> Self {
        let mut acme = TestGroup::new(Scheme::Xr);
        acme.enrol("other");
        let victim = join(&mut acme, "victim");
        let (group, x) = (acme.checked(), derived_x(&acme, "victim"));
        let row = acme.row("victim");
        let key = xr_key(&group, 0);
        let xr::Generators { u, g1, h0 } = xr::Generators::of(&group.genesis().nonce);
        let xi = [1, 2].map(|i| match acme.trustee(i).share {
            OpeningShare::Xr(share) => {
                let all: Set = set([1, 2]);
                let share = Scalar::from_bytes(share.to_bytes().as_slice()).unwrap();
                share * all.lagrange_at_zero(who(i))
            }
            OpeningShare::Bbs04(_) => unreachable!("it is an xr group"),
        });
        Self {
            gamma: Scalar::from_bytes(&acme.xr().to_bytes()).unwrap(),
            xi: xi[0] + xi[1],
            b: acme.base("victim", 0).unwrap(),
            commitment: G1::from_bytes(&row.entry.device().unwrap().commitment).unwrap(),
            base: g1 + *key.v(),
            h: *key.h(),
            acme,
            group,
            victim,
            x,
            u,
            h0,
        }
    }

    /// The issuer's base on messages y and z: (g1 V h0^y h^z)^(1/(gamma+x)).
    fn own_base(&self, x: &Scalar, y: &Scalar, z: &Scalar) -> G1 {
        let inverse = (self.gamma + *x).invert().unwrap();
        (self.base + self.h0.mul(y) + self.h.mul(z)).mul(&inverse)
    }

    /// Secrets that an issuer might try as y.
    fn guesses(&self) -> Vec<Scalar> {
        let one = Scalar::from_u128(1);
        let known = [one, -one, self.x, self.gamma, self.xi, self.gamma + self.x];
        let random = (0..4).map(|seed| Scalar::random(&mut rng(seed)));
        known.into_iter().chain(random).collect()
    }

    /// The victim's row and x.
    fn row(&self) -> (Row, Scalar) {
        (self.acme.row("victim"), self.x)
    }

    /// Spec 3.3 by hand, for a base on (y, z): d = alpha x + z. `t2` in place of B h^alpha, if
    /// there is one. Each seed is another alpha: a trustee opens one T1 for one packet.
    fn sign(&self, seed: u64, b: &G1, [x, y, z]: [&Scalar; 3], t2: Option<G1>) -> Sent {
        let mut rng = rng(seed);
        let [alpha, ra, rx, rd, ry] = std::array::from_fn(|_| Scalar::random(&mut rng));
        let (t1, h_w) = (self.u.mul(&alpha), self.h.mul(&self.gamma));
        let t2 = t2.unwrap_or(*b + self.h.mul(&alpha));
        let r1 = self.u.mul(&ra);
        let r3 = t2.mul(&rx) - self.h.mul(&rd) - self.h0.mul(&ry) - h_w.mul(&ra);
        let message = b"never sent".to_vec();
        let mut hash = Sha256::new_with_prefix(domain_separator("clew-xr-signature-1"));
        hash.update(self.group.epoch_id(0).unwrap().0);
        [t1, t2, r1, r3]
            .iter()
            .for_each(|p| hash.update(p.to_bytes()));
        hash.update(&message);
        let c: [u8; 16] = hash.finalize()[..16].try_into().unwrap();
        let value = Scalar::from_halves(&c);
        let d = alpha * *x + *z;
        let responses = [
            ra + value * alpha,
            rx + value * *x,
            rd + value * d,
            ry + value * *y,
        ];
        let points = [t1, t2, r3].map(|p| p.to_bytes());
        let responses = responses.map(|s| s.to_bytes());
        let body = [points.as_flattened(), &c, responses.as_flattened()].concat();
        Sent {
            epoch: 0,
            message,
            body,
        }
    }
}

/// The control of everything below: what is at hand is what it should be, and the hand-made signature
/// with the machine's own y opens to the machine.
#[test]
fn only_y_is_missing() {
    let loot = Loot::new();
    assert_eq!(
        loot.u.mul(&loot.xi),
        loot.h,
        "the trustees have xi together"
    );
    assert_eq!(loot.victim.key.to_bytes()[48..80], loot.x.to_bytes());
    let y = Scalar::from_bytes(&device_secret(&loot.victim)).unwrap();
    assert_eq!(loot.h0.mul(&y), loot.commitment);
    let zero = y - y;
    assert_eq!(loot.own_base(&loot.x, &y, &zero), loot.b);
    let sent = loot.sign(1, &loot.b, [&loot.x, &y, &zero], None);
    assert!(sent.verify(&loot.group).is_ok());
    let (_, judgement) = opened(&loot.acme, &sent).unwrap();
    assert_eq!(judgement.machine.as_str(), "victim");
    assert!(blame(&loot, &loot.group, &sent, loot.row()).is_ok());
}

/// The machine's A, x and W with any other y are no member key, and the proof that they make does not
/// verify.
#[test]
fn the_machines_credential_takes_the_machines_secret() {
    let loot = Loot::new();
    let held = loot.victim.newest().unwrap();
    let own = SigningKey::new(
        &held.public,
        held.id,
        loot.victim.key.clone(),
        &held.witness,
    );
    assert!(own.is_ok());
    for y in loot.guesses() {
        let a = loot.acme.row("victim").entry.credential;
        let bytes = [&a[..], &loot.x.to_bytes(), &y.to_bytes()].concat();
        let key = MemberKey::from_bytes(Scheme::Xr, &bytes).unwrap();
        assert!(SigningKey::new(&held.public, held.id, key, &held.witness).is_err());
        let zero = y - y;
        for z in [zero, y, loot.gamma * y] {
            let sent = loot.sign(1, &loot.b, [&loot.x, &y, &z], None);
            assert!(sent.verify(&loot.group).is_err());
        }
    }
}

/// The issuer makes bases of its own as it likes, on one message or on two: their signatures verify,
/// and open to nobody in the register.
#[test]
fn credentials_of_the_issuers_own_open_to_no_machine() {
    let loot = Loot::new();
    let other_x = Scalar::from_u128(12345);
    for (i, y) in loot.guesses().into_iter().enumerate() {
        let zero = y - y;
        // z = 0; arbitrary; and as if h0^y could be moved into h^z, h being u^xi.
        let z = [zero, Scalar::from_u128(9), y * loot.xi.invert().unwrap()][i % 3];
        for (j, x) in [loot.x, other_x].into_iter().enumerate() {
            let seed = (2 * i + j) as u64;
            let b = loot.own_base(&x, &y, &z);
            assert_ne!(b, loot.b);
            let sent = loot.sign(seed, &b, [&x, &y, &z], None);
            assert!(
                sent.verify(&loot.group).is_ok(),
                "the issuer can enrol whom it likes"
            );
            let unknown = opened(&loot.acme, &sent).unwrap_err();
            assert!(matches!(unknown, CombineError::NoRow { .. }));
            let fault = blame(&loot, &loot.group, &sent, loot.row()).unwrap_err();
            assert_eq!(fault.rule, JudgeRule::Signer);
            // An x under which the base would fit is not the x that the device signed for with A.
            let fault = blame(&loot, &loot.group, &sent, (loot.row().0, other_x)).unwrap_err();
            assert_eq!(fault.rule, JudgeRule::Credential);
        }
    }
}

/// A base on (y, z) that would encrypt to the machine's B: T2 = B_X h^alpha under a proof for another
/// base. The proof is bound to T2.
#[test]
fn encrypting_the_machines_base_is_not_knowing_it() {
    let loot = Loot::new();
    let y = Scalar::from_u128(5);
    for z in [y - y, Scalar::from_u128(9)] {
        let own = loot.own_base(&loot.x, &y, &z);
        let alpha = Scalar::random(&mut rng(11)); // the first that Loot::sign draws
        let t2 = loot.b + loot.h.mul(&alpha);
        let sent = loot.sign(11, &own, [&loot.x, &y, &z], Some(t2));
        let [t1, t2] = [0, 48].map(|at| G1::from_bytes(&sent.body[at..at + 48]).unwrap());
        assert_eq!(
            t2 - t1.mul(&loot.xi),
            loot.b,
            "it does encrypt the machine's base"
        );
        assert!(sent.verify(&loot.group).is_err());
        // h = u^xi lets the issuer write B_X h^alpha in other ways; the exponents stay tied to T1.
        let shift = Scalar::from_u128(77);
        let moved = loot.sign(12, &(own + loot.h.mul(&shift)), [&loot.x, &y, &z], None);
        assert!(moved.verify(&loot.group).is_err());
    }
}

/// A witness of the machine in every epoch, which the issuer can make: with A, x and another y it is
/// no key either.
#[test]
fn witnesses_are_no_keys() {
    let loot = Loot::new();
    let held = loot.victim.newest().unwrap();
    let inverse = (loot.gamma + loot.x).invert().unwrap();
    let made = Witness::from_bytes(&held.public.v().mul(&inverse).to_bytes()).unwrap();
    assert_eq!(made.to_bytes(), held.witness.to_bytes());
    let other = loot.acme.row("other").entry;
    let a = other.credential;
    let y = Scalar::from_u128(3);
    let bytes = [&a[..], &loot.x.to_bytes(), &y.to_bytes()].concat();
    let key = MemberKey::from_bytes(Scheme::Xr, &bytes).unwrap();
    assert!(SigningKey::new(&held.public, held.id, key, &made).is_err());
}

/// Another history of the group, which the manager signs: this entry alone in its register.
fn forked(loot: &Loot, entry: RegisterEntry) -> (CheckedGroup, Row) {
    let manager = &loot.acme.issuer.manager;
    let head = RegisterHead {
        last: loot.group.last_id(),
        time: WallTime::from_nanos(NOW),
        machines: 1,
        root: entry.leaf_hash(),
        hashes: Vec::new(),
    };
    let mut bytes = HEADER.to_vec();
    bytes.extend(sign_part(&loot.group.genesis().encode(), manager));
    bytes.extend(sign_part(&head.encode(), manager));
    let row = Row {
        entry,
        machines: 1,
        hashes: Vec::new(),
    };
    (checked(&GroupFile::from_bytes(&bytes).unwrap()), row)
}

/// The issuer rewrites the register: the machine's name and device key, over a credential of the
/// issuer's own. The register is the issuer's to sign, the device's word S is not; and under the group
/// file that everybody has the rewritten register does not count at all.
#[test]
fn a_rewritten_entry_lacks_the_devices_word() {
    let loot = Loot::new();
    let y = Scalar::from_u128(31337);
    let b = loot.own_base(&loot.x, &y, &(y - y));
    let sent = loot.sign(1, &b, [&loot.x, &y, &(y - y)], None);
    let inverse = (loot.gamma + loot.x).invert().unwrap();
    let g1 = xr::Generators::of(&loot.group.genesis().nonce).g1;
    let mut entry = RegisterEntry {
        index: 0,
        credential: (g1 + loot.h0.mul(&y)).mul(&inverse).to_bytes(),
        ..loot.row().0.entry
    };
    let own_commitment = loot.h0.mul(&y).to_bytes();
    for commitment in [own_commitment, loot.commitment.to_bytes()] {
        device_of(&mut entry).commitment = commitment;
        let (fork, row) = forked(&loot, entry.clone());
        assert!(row.is_in_register_of(&fork) && !row.is_in_register_of(&loot.group));
        let fault = blame(&loot, &fork, &sent, (row.clone(), loot.x)).unwrap_err();
        assert_eq!(fault.rule, JudgeRule::Device);
        let fault = blame(&loot, &loot.group, &sent, (row, loot.x)).unwrap_err();
        assert_eq!(fault.rule, JudgeRule::Register);
    }
    // The control, and what is left to know a device by: with a device key of the issuer's own the
    // entry holds in the fork, under a key that is not the machine's.
    let impostor = ed25519_dalek::SigningKey::from_bytes(&[1; 32]);
    let device = device_of(&mut entry);
    device.commitment = own_commitment;
    let true_key = std::mem::replace(&mut device.key, impostor.verifying_key().to_bytes());
    let statement = entry.statement(loot.group.id());
    device_of(&mut entry).signature = impostor.sign(&statement).to_bytes();
    let (x, y) = (loot.x.to_bytes(), y.to_bytes());
    let key = xr::MemberKey::from_bytes(&[&entry.credential[..], &x, &y].concat()).unwrap();
    let proof = key.prove_y(&xr_key(&loot.group, 0), &statement, &mut rng(2));
    device_of(&mut entry).proof = proof.to_bytes();
    let (fork, row) = forked(&loot, entry);
    assert_ne!(row.entry.device().unwrap().key, true_key);
    assert!(blame(&loot, &fork, &sent, (row.clone(), loot.x)).is_ok());
    let fault = blame(&loot, &loot.group, &sent, (row, loot.x)).unwrap_err();
    assert_eq!(fault.rule, JudgeRule::Register);
}

fn device_of(entry: &mut RegisterEntry) -> &mut clew_evidence::DeviceEntry {
    match &mut entry.key {
        EntryKey::Xr(device) => device,
        EntryKey::Bbs04(_) => unreachable!("it is an xr group"),
    }
}

/// The machine's own word S, moved to where it would help: another credential, epoch, name, group.
#[test]
fn the_devices_word_is_about_one_credential() {
    let loot = Loot::new();
    let genuine = loot.row().0.entry;
    assert!(genuine.check_device(&loot.group).is_ok());
    let other = TestGroup::of(Scheme::Xr, quorum(1, 1), 5).group();
    assert!(genuine.check_device(&other).is_err());
    let moved = [
        RegisterEntry {
            joined: 1,
            ..genuine.clone()
        },
        RegisterEntry {
            name: "other".parse().unwrap(),
            ..genuine.clone()
        },
        RegisterEntry {
            how: clew_evidence::KeyOrigin::Attested,
            ..genuine.clone()
        },
        RegisterEntry {
            replaces: Some(0),
            ..genuine.clone()
        },
        RegisterEntry {
            credential: loot.base.to_bytes(),
            ..genuine
        },
    ];
    for entry in moved {
        assert!(entry.check_device(&loot.group).is_err());
    }
}

/// The issuer's host while a device joins from its own: none of its files ever holds what the device
/// keeps to itself, and its database not even what it may know.
#[test]
fn the_issuers_host_never_has_what_the_device_keeps() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let group = acme.checked();
    let key = &acme.issuer;
    let mut rounds: Vec<Vec<u8>> = Vec::new();
    let mut look = || rounds.push(everything(&acme.dir));
    let name = "far".parse().unwrap();
    let invitation = acme.store.invite(key, name, LATER, &mut rng(1)).unwrap();
    look();
    let mut device = Joining::begin(invitation, &group, &mut rng(2)).unwrap();
    let offer = acme
        .store
        .offer(key, device.request(), LATER, &mut rng(3))
        .unwrap();
    look();
    let acceptance = device.accept(&offer, &group, &mut rng(4)).unwrap();
    let credential = acme.store.admit(key, &acceptance, LATER).unwrap();
    look();
    let member = device.finish(&credential, &group).unwrap();
    let (x, s) = (offer.offer.x().to_bytes(), *offer.offer.s());
    let y = Scalar::from_bytes(&device_secret(&member)).unwrap();
    let seed = member.device.as_ref().unwrap().to_bytes();
    let kept = [y.to_bytes(), (y - s).to_bytes(), seed, x, s.to_bytes()];
    for files in &rounds {
        for secret in &kept {
            assert!(!files.windows(32).any(|window| window == secret));
        }
    }
    let nonce = &acceptance.nonce[..];
    let finds = |files: &Vec<u8>| files.windows(32).any(|window| window == nonce);
    assert!(rounds.iter().all(finds), "the search finds what is there");
}

/// Every byte of every file under a folder.
fn everything(folder: &std::path::Path) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.path() {
            path if path.is_dir() => all.extend(everything(&path)),
            path => all.extend(std::fs::read(path).unwrap()),
        }
    }
    all
}
