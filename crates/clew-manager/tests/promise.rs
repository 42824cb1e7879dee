//! The promise of xr: nothing in the issuer's store and the trustees' files together makes a
//! signature that opens to an enrolled machine. And what bbs04 does not promise: there the issuer can.
//!
//! No test proves that nobody can. These take all that a dishonest issuer and all trustees have, and
//! go the ways that the argument of `spec/group-signature.md` 6.2 says are closed, each beside a
//! control that shows the way itself works when it is not closed.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod common;

use clew_evidence::{
    CombineError, Fault, GroupFile, JudgeRule, Judgement, Opening, Proof, RegisterEntry,
    RegisterHead, Row, Share, Step, combine_opening, judge_opening,
};
use clew_group::curve::{G1, Scalar};
use clew_group::quorum::Set;
use clew_group::{MemberKey, Scheme, SigningKey, domain_separator};
use clew_manager::keys::{IssuerKey, MemberKeyFile, OpeningShare};
use common::*;
use ed25519_dalek::Signer;
use sha2::{Digest, Sha256};

/// x of a machine, from the issuer key and the machine's row in the database.
fn derived_x(office: &Office, name: &str) -> Scalar {
    let database = rusqlite::Connection::open(office.dir.join("issuer/store.db")).unwrap();
    let query = "SELECT salt FROM machine WHERE name = ?1";
    let salt: Vec<u8> = database.query_row(query, [name], |row| row.get(0)).unwrap();
    office.issuer.derive_x(&salt, name)
}

fn open(office: &Office, sent: &Sent) -> Result<(Opening, Judgement), CombineError> {
    let group = office.group();
    let request = sent.opening(&group);
    let shares = [1, 2].map(|i| share(office, i, sent, &request).unwrap());
    let find = |tag: &[u8; 32], _: &_| {
        let machine = office.store.find(tag).unwrap()?;
        Some(office.store.row(&machine).unwrap())
    };
    let opened = combine_opening(&group, &request, &shares, &sent.packet(), find)?;
    Ok((opened.evidence, opened.judgement))
}

/// What a judge says to an opening of `sent` that names the machine of `row` all the same.
fn blame(office: &Office, group: &GroupFile, sent: &Sent, row: Row) -> Result<Judgement, Fault> {
    let request = sent.opening(group);
    let shares = [1, 2].map(|i| match share(office, i, sent, &request) {
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
        row,
    };
    judge_opening(group, &opening, &sent.packet())
}

#[test]
fn with_bbs04_the_issuer_signs_as_any_machine() {
    let mut office = Office::new(Scheme::Bbs04);
    let victim = office.enrol("victim");
    let IssuerKey::Bbs04(gamma) = &office.issuer.issuer else {
        unreachable!("it is a bbs04 group")
    };
    let clew_group::PublicKey::Bbs04(public) = office.group().public_key(0).unwrap().unwrap()
    else {
        unreachable!("it is a bbs04 group")
    };
    let x = derived_x(&office, "victim");
    let key = MemberKey::Bbs04(gamma.issue(&public, x).unwrap());
    assert_eq!(
        key.to_bytes(),
        victim.key.to_bytes(),
        "the machine's key, without the machine"
    );
    let forged = Sent::by(&MemberKeyFile { key, ..victim }, b"never sent", 1);
    let (_, judgement) = open(&office, &forged).unwrap();
    assert_eq!(judgement.machine.as_str(), "victim");
    assert!(
        judgement
            .caveats
            .contains(&clew_evidence::Caveat::IssuerCouldSign)
    );
}

/// Everything that issuer and trustees have about one machine of an xr group.
struct Loot {
    office: Office,
    group: GroupFile,
    victim: MemberKeyFile,
    gamma: Scalar,
    xi: Scalar,
    /// Of the victim, but for y.
    a: G1,
    x: Scalar,
    commitment: G1,
    /// u, g1, h0, h of epoch 0.
    u: G1,
    g1: G1,
    h0: G1,
    h: G1,
}

impl Loot {
    fn new() -> Self {
        let mut office = Office::new(Scheme::Xr);
        office.enrol("other");
        let victim = office.enrol("victim");
        let (group, x) = (office.group(), derived_x(&office, "victim"));
        let row = office.candidate("victim", 0).0;
        let point = |bytes: &[u8]| G1::from_bytes(bytes).unwrap();
        let key = victim.public.to_bytes();
        let [g1, h0, u, h] = [0, 48, 96, 144].map(|at| point(&key[at..at + 48]));
        let xi = [1, 2].map(|i| match office.trustee(i).share {
            OpeningShare::Xr(share) => {
                let all: Set = set([1, 2]);
                let share = Scalar::from_bytes(share.to_bytes().as_slice()).unwrap();
                share * all.lagrange_at_zero(who(i))
            }
            OpeningShare::Bbs04(_) => unreachable!("it is an xr group"),
        });
        Self {
            gamma: Scalar::from_bytes(office.xr().to_bytes().as_slice()).unwrap(),
            xi: xi[0] + xi[1],
            a: point(&row.entry.credential),
            commitment: point(&row.entry.device.as_ref().unwrap().commitment),
            office,
            group,
            victim,
            x,
            u,
            g1,
            h0,
            h,
        }
    }

    /// The issuer's credential on messages y and z: (g1 h0^y h^z)^(1/(gamma+x)).
    fn credential(&self, x: &Scalar, y: &Scalar, z: &Scalar) -> G1 {
        let inverse = (self.gamma + *x).invert().unwrap();
        (self.g1 + self.h0.mul(y) + self.h.mul(z)).mul(&inverse)
    }

    /// Secrets that an issuer might try as y.
    fn guesses(&self) -> Vec<Scalar> {
        let one = Scalar::from_u128(1);
        let known = [one, -one, self.x, self.gamma, self.xi, self.gamma + self.x];
        let random = (0..4).map(|seed| Scalar::random(&mut rng(seed)));
        known.into_iter().chain(random).collect()
    }

    fn row(&self) -> Row {
        self.office.candidate("victim", 0).0
    }

    /// Spec 3.3 by hand, for a credential on (y, z): d = alpha x + z. `t2` in place of A h^alpha, if
    /// there is one. Each seed is another alpha: a trustee opens one T1 for one packet.
    fn sign(&self, seed: u64, a: &G1, [x, y, z]: [&Scalar; 3], t2: Option<G1>) -> Sent {
        let mut rng = rng(seed);
        let [alpha, ra, rx, rd, ry] = std::array::from_fn(|_| Scalar::random(&mut rng));
        let (t1, h_w) = (self.u.mul(&alpha), self.h.mul(&self.gamma));
        let t2 = t2.unwrap_or(*a + self.h.mul(&alpha));
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
    assert_eq!(loot.victim.key.to_bytes()[..48], loot.a.to_bytes());
    assert_eq!(loot.victim.key.to_bytes()[48..80], loot.x.to_bytes());
    let y = Scalar::from_bytes(&device_secret(&loot.victim)).unwrap();
    assert_eq!(loot.h0.mul(&y), loot.commitment);
    let zero = y - y;
    assert_eq!(loot.credential(&loot.x, &y, &zero), loot.a);
    let sent = loot.sign(1, &loot.a, [&loot.x, &y, &zero], None);
    assert!(sent.verify(&loot.group).is_ok());
    let (_, judgement) = open(&loot.office, &sent).unwrap();
    assert_eq!(judgement.machine.as_str(), "victim");
    assert!(blame(&loot.office, &loot.group, &sent, loot.row()).is_ok());
}

/// The machine's A and x with any other y are no member key, and the proof that they make does not
/// verify.
#[test]
fn the_machines_credential_takes_the_machines_secret() {
    let loot = Loot::new();
    for y in loot.guesses() {
        let bytes = [&loot.a.to_bytes()[..], &loot.x.to_bytes(), &y.to_bytes()].concat();
        let key = MemberKey::from_bytes(Scheme::Xr, &bytes).unwrap();
        assert!(SigningKey::new(&loot.victim.public, loot.victim.id, key).is_err());
        let zero = y - y;
        for z in [zero, y, loot.gamma * y] {
            let sent = loot.sign(1, &loot.a, [&loot.x, &y, &z], None);
            assert!(sent.verify(&loot.group).is_err());
        }
    }
}

/// The issuer makes credentials of its own as it likes, on one message or on two: their signatures
/// verify, and open to nobody in the register.
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
            let a = loot.credential(&x, &y, &z);
            assert_ne!(a, loot.a);
            let sent = loot.sign(seed, &a, [&x, &y, &z], None);
            assert!(
                sent.verify(&loot.group).is_ok(),
                "the issuer can enrol whom it likes"
            );
            let unknown = open(&loot.office, &sent).unwrap_err();
            assert!(matches!(unknown, CombineError::NoRow { .. }));
            let fault = blame(&loot.office, &loot.group, &sent, loot.row()).unwrap_err();
            assert_eq!(fault.rule, JudgeRule::Credential);
        }
    }
}

/// A credential on (y, z) that would encrypt to the machine's A: T2 = A_X h^alpha under a proof for
/// another A. The proof is bound to T2.
#[test]
fn encrypting_the_machines_credential_is_not_knowing_it() {
    let loot = Loot::new();
    let y = Scalar::from_u128(5);
    for z in [y - y, Scalar::from_u128(9)] {
        let own = loot.credential(&loot.x, &y, &z);
        let alpha = Scalar::random(&mut rng(11)); // the first that Loot::sign draws
        let t2 = loot.a + loot.h.mul(&alpha);
        let sent = loot.sign(11, &own, [&loot.x, &y, &z], Some(t2));
        let [t1, t2] = [0, 48].map(|at| G1::from_bytes(&sent.body[at..at + 48]).unwrap());
        assert_eq!(
            t2 - t1.mul(&loot.xi),
            loot.a,
            "it does encrypt the machine's credential"
        );
        assert!(sent.verify(&loot.group).is_err());
        // h = u^xi lets the issuer write A_X h^alpha in other ways; the exponents stay tied to T1.
        let shift = Scalar::from_u128(77);
        let moved = loot.sign(12, &(own + loot.h.mul(&shift)), [&loot.x, &y, &z], None);
        assert!(moved.verify(&loot.group).is_err());
    }
}

/// An entry in a register that the manager signs, alone in it.
fn registered(loot: &Loot, entry: RegisterEntry) -> Row {
    let head = RegisterHead {
        last: loot.group.last_id(),
        time: NOW,
        machines: 1,
        root: entry.leaf_hash(),
    };
    let head = head.seal(&loot.office.issuer.manager);
    let proof = Proof {
        hashes: Vec::new(),
        head,
    };
    Row { entry, proof }
}

/// The issuer rewrites the register: the machine's name and device key, over a credential of the
/// issuer's own. The register is the issuer's to sign, the device's word S is not.
#[test]
fn a_rewritten_entry_lacks_the_devices_word() {
    let loot = Loot::new();
    let y = Scalar::from_u128(31337);
    let a = loot.credential(&loot.x, &y, &(y - y));
    let sent = loot.sign(1, &a, [&loot.x, &y, &(y - y)], None);
    let genuine = loot.row().entry;
    let mut entry = RegisterEntry {
        index: 0,
        credential: a.to_bytes(),
        ..genuine
    };
    let mut device = entry.device.take().unwrap();
    let (own_commitment, true_commitment) = (loot.h0.mul(&y).to_bytes(), device.commitment);
    for commitment in [own_commitment, true_commitment] {
        device.commitment = commitment;
        let entry = RegisterEntry {
            device: Some(device.clone()),
            ..entry.clone()
        };
        let row = registered(&loot, entry);
        assert!(row.is_in_register_of(&loot.group));
        let fault = blame(&loot.office, &loot.group, &sent, row).unwrap_err();
        assert_eq!(fault.rule, JudgeRule::Device);
    }
    // The control, and what is left to know a device by: with a device key of the issuer's own the
    // entry holds, under a key that is not the machine's.
    let impostor = ed25519_dalek::SigningKey::from_bytes(&[1; 32]);
    device.commitment = own_commitment;
    let true_key = std::mem::replace(&mut device.key, impostor.verifying_key().to_bytes());
    let mut entry = RegisterEntry {
        device: Some(device),
        ..entry
    };
    let statement = entry.statement(loot.group.id());
    entry.device.as_mut().unwrap().signature = impostor.sign(&statement).to_bytes();
    let row = registered(&loot, entry);
    assert_ne!(row.entry.device.as_ref().unwrap().key, true_key);
    assert!(blame(&loot.office, &loot.group, &sent, row).is_ok());
}

/// The machine's own word S, moved to where it would help: another credential, epoch, name, group.
#[test]
fn the_devices_word_is_about_one_credential() {
    let loot = Loot::new();
    let genuine = loot.row().entry;
    assert!(genuine.check_device(loot.group.id()).is_ok());
    let other = Office::of(Scheme::Xr, quorum(1, 1), 5).group().id();
    assert!(genuine.check_device(other).is_err());
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
            credential: loot.g1.to_bytes(),
            ..genuine
        },
    ];
    for entry in moved {
        assert!(entry.check_device(loot.group.id()).is_err());
    }
}
