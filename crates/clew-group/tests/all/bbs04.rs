//! What a group signature promises, and every way to break one.

use crate::common::points::{bad_g1, bad_g2, bad_scalar, order, replaced};
use crate::common::{EPOCH, Group, Member, NONCE, rng};
use clew_group::bbs04::{
    INCREMENTAL_BYTES, IncrementalSignature, IssuerKey, MemberKey, Nonces, OpenerKey, PublicKey,
    SIGNATURE_BYTES, Signature,
};
use clew_group::curve::{G1, Scalar};
use clew_group::{DecodeError, FOUNDING_BYTES, Invalid, Revoked, Witness};
use std::collections::BTreeSet;

#[test]
fn a_signature_verifies_for_its_message_only() {
    let group = Group::new(1);
    let (signature, verifier) = (group.sign(b"message"), group.verifier());
    assert_eq!(verifier.verify(&[b"message"], &signature), Ok(()));
    assert_eq!(verifier.verify(&[b"mess", b"", b"age"], &signature), Ok(()));
    assert_eq!(verifier.verify(&[b"massage"], &signature), Err(Invalid));
    assert_eq!(verifier.verify(&[b""], &signature), Err(Invalid));
}

#[test]
fn a_signature_verifies_in_its_group_and_epoch_only() {
    let mut group = Group::new(2);
    let signature = group.sign(b"m");
    let before = group.verifier();
    assert_eq!(
        Group::new(3).verifier().verify(&[b"m"], &signature),
        Err(Invalid)
    );
    group.revoke_somebody();
    assert_eq!(group.verifier().verify(&[b"m"], &signature), Err(Invalid));
    assert_eq!(before.verify(&[b"m"], &group.sign(b"m")), Err(Invalid));
}

/// Every bit of a signature matters: a flip does not decode, or does not verify.
#[test]
fn every_flipped_bit_is_found() {
    let group = Group::new(4);
    let verifier = group.verifier();
    let good = group.sign(b"m").to_bytes();
    // All bits of c and of one bit per byte elsewhere: the whole would take minutes.
    let bits = (0..8 * SIGNATURE_BYTES).filter(|i| i % 8 == i / 8 % 8 || (1152..1408).contains(i));
    for i in bits {
        let mut bytes = good;
        bytes[i / 8] ^= 0x80 >> (i % 8);
        if let Ok(signature) = Signature::from_bytes(&bytes) {
            assert_eq!(
                verifier.verify(&[b"m"], &signature),
                Err(Invalid),
                "bit {i}"
            );
        }
    }
}

#[test]
fn incremental_form_is_the_same_signature() {
    let group = Group::new(5);
    let verifier = group.verifier();
    let incremental = group.sign_incremental(b"m");
    let mut order = rng(7);
    assert_eq!(
        verifier.verify_incremental(&[b"m"], &incremental, &mut order),
        Ok(())
    );
    assert_eq!(
        verifier.verify_incremental(&[b"n"], &incremental, &mut order),
        Err(Invalid)
    );
    assert_eq!(incremental.signature(), &group.sign(b"m"));
    let bytes = incremental.to_bytes();
    assert_eq!(IncrementalSignature::from_bytes(&bytes), Ok(incremental));
    assert_eq!(&bytes[..SIGNATURE_BYTES], group.sign(b"m").to_bytes());
}

/// Each R in turn is replaced by the signer itself, and challenge and responses made to fit: the
/// hash test passes, four equations hold, and the one that does not must be found in whatever order
/// they are tried.
#[test]
fn each_wrong_commitment_is_found_in_any_order() {
    let group = Group::new(6);
    let verifier = group.verifier();
    let good = group
        .signer()
        .precursor_from(&nonces())
        .sign_incremental(&[b"m"]);
    for last in [383, 431, 1007, 1055, 1103] {
        let mut bytes = good.to_bytes();
        bytes[last] ^= 1;
        refit(&mut bytes, &group, b"m");
        let forged = IncrementalSignature::from_bytes(&bytes).unwrap();
        for seed in 0..8 {
            let verdict = verifier.verify_incremental(&[b"m"], &forged, &mut rng(seed));
            assert_eq!(verdict, Err(Invalid), "R that ends at {last}, seed {seed}");
        }
    }
    // What is refitted without any change is a valid signature: the refitting itself is right.
    let mut bytes = good.to_bytes();
    refit(&mut bytes, &group, b"another message");
    let refitted = IncrementalSignature::from_bytes(&bytes).unwrap();
    let verdict = verifier.verify_incremental(&[b"another message"], &refitted, &mut rng(1));
    assert_eq!(verdict, Ok(()));
}

fn nonces() -> Nonces {
    Nonces::random(&mut rng(77))
}

/// Writes the c that the R's in `bytes` hash to, and the responses of the signer to it.
fn refit(bytes: &mut [u8; INCREMENTAL_BYTES], group: &Group, message: &[u8]) {
    use sha2::{Digest, Sha256};
    let mut hash = Sha256::new_with_prefix(b"clew-bbs04-sig-1");
    hash.update(EPOCH);
    hash.update(&bytes[..144]);
    hash.update(&bytes[336..]);
    hash.update(message);
    let mut digest: [u8; 32] = hash.finalize().into();
    digest[0] &= 0x3f;
    let c = Scalar::from_bytes(&digest).unwrap();
    let x = Scalar::from_bytes(&group.member.key.to_bytes()[48..]).unwrap();
    let n = nonces();
    let scalars = [
        c,
        n.r_alpha + c * n.alpha,
        n.r_beta + c * n.beta,
        n.r_x + c * x,
        n.r_delta1 + c * x * n.alpha,
        n.r_delta2 + c * x * n.beta,
    ];
    for (place, scalar) in bytes[144..336].chunks_exact_mut(32).zip(scalars) {
        place.copy_from_slice(&scalar.to_bytes());
    }
}

#[test]
fn signatures_of_one_member_share_nothing() {
    let group = Group::new(8);
    let signer = group.signer();
    let mut rng = rng(9);
    let mut seen = BTreeSet::new();
    for _ in 0..16 {
        let bytes = signer.precursor(&mut rng).sign(&[b"m"]).to_bytes();
        let (points, scalars) = bytes.split_at(144);
        assert!(points.chunks(48).all(|p| seen.insert(p.to_vec())));
        assert!(scalars.chunks(32).all(|s| seen.insert(s.to_vec())));
    }
}

/// The signer's row fits what its signatures open to, and nobody else's does.
#[test]
fn opening_names_the_signer_in_every_epoch() {
    let mut group = Group::new(10);
    let other = group.join();
    let (row, others) = (group.member.key.public_x(), other.key.public_x());
    let a = group.member.key.credential();
    assert!(group.public.certifies(&a, &row) && !group.public.certifies(&a, &others));
    for _ in 0..3 {
        let opened = group.opener.open(&group.sign(b"m"));
        assert_eq!(group.in_epoch().base(&a, group.member.key.x()), Ok(opened));
        assert!(group.public.names(&opened, &row));
        assert!(!group.public.names(&opened, &others));
        let before = group.public.clone();
        group.rebase(&[]);
        assert!(!group.public.names(&opened, &row), "a base is of one epoch");
        assert!(before.names(&opened, &row));
    }
}

#[test]
fn revocation_locks_out_one_member_and_nobody_else() {
    let mut group = Group::new(11);
    let victim = group.join();
    let before = group.verifier();
    group.rebase(&[*victim.key.x()]);

    assert_eq!(group.in_epoch().witness(victim.key.x()), Err(Revoked));
    let a = victim.key.credential();
    assert_eq!(group.in_epoch().base(&a, victim.key.x()), Err(Revoked));
    assert!(group.signer_of(&victim).is_err(), "the old witness");
    let borrowed = Member {
        witness: group.member.witness.clone(),
        ..victim
    };
    assert!(group.signer_of(&borrowed).is_err(), "another's witness");

    let signature = group.sign(b"m");
    assert_eq!(group.verifier().verify(&[b"m"], &signature), Ok(()));
    assert_eq!(before.verify(&[b"m"], &signature), Err(Invalid));
}

/// Many at once are what one at a time gives; revoked rows and an x without inverse are left out.
#[test]
fn witnesses_and_bases_of_many_rows() {
    let mut group = Group::new(12);
    let gamma = Scalar::from_bytes(group.issuer.to_bytes().as_slice()).unwrap();
    for n in [0usize, 1, 15, 16, 40] {
        let members: Vec<Member> = (0..n).map(|_| group.join()).collect();
        let revoked = members.iter().step_by(3).map(|m| *m.key.x());
        group.rebase(&revoked.collect::<Vec<_>>());
        let issuer = group.in_epoch();
        let mut rows: Vec<(G1, Scalar)> = members
            .iter()
            .map(|m| (m.key.credential(), *m.key.x()))
            .collect();
        rows.push((G1::generator(), -gamma));
        let xs: Vec<Scalar> = rows.iter().map(|(_, x)| *x).collect();
        let one_by_one: Vec<Option<[u8; 48]>> = xs
            .iter()
            .map(|x| Some(issuer.witness(x).ok()?.to_bytes()))
            .collect();
        assert_eq!(issuer.witness_bytes(&xs), one_by_one);
        let many = issuer.witnesses(&xs).into_iter();
        assert!(
            many.map(|w| w.map(|w| w.to_bytes()))
                .eq(one_by_one.iter().copied())
        );
        let bases: Vec<Option<[u8; 48]>> = rows
            .iter()
            .map(|(a, x)| Some(issuer.base(a, x).ok()?.to_bytes()))
            .collect();
        assert_eq!(issuer.bases(&rows), bases);
        let left_out = bases.iter().filter(|b| b.is_none()).count();
        assert_eq!(left_out, n.div_ceil(3) + 1);
    }
}

#[test]
fn a_doctored_key_is_refused() {
    let group = Group::new(13);
    let founding = group.genesis.founding_bytes();
    let read = PublicKey::founded(&NONCE, &founding).unwrap();
    assert_eq!(
        (&read, read.check_genesis(&NONCE)),
        (&group.genesis, Ok(()))
    );
    let other = PublicKey::founded(&[9; 32], &founding).unwrap();
    assert_eq!(other.check_genesis(&NONCE), Err(Invalid));
    let later = read
        .in_epoch(&PublicKey::rebased_v(&NONCE, 1, &crate::common::REBASED))
        .unwrap();
    assert_eq!(later.check_genesis(&NONCE), Err(Invalid));
    assert_eq!(later.founding_bytes(), founding);
    assert_eq!(read.in_epoch(&G1::default()), Err(Invalid));
    assert_eq!(
        read.in_epoch(&-G1::generator()),
        Err(Invalid),
        "g1 V is the identity"
    );
}

#[test]
fn a_bad_member_key_does_not_sign() {
    let mut group = Group::new(16);
    let other = group.join();
    let (mine, theirs) = (group.member.key.to_bytes(), other.key.to_bytes());
    for range in [0..48, 48..80] {
        let mixed = replaced(mine.as_slice(), range.start, &theirs[range]);
        let key = MemberKey::from_bytes(&mixed).unwrap();
        let witness = group.member.witness.clone();
        assert!(group.signer_of(&Member { key, witness }).is_err());
    }
    let key = group.member.key.clone();
    let witness = other.witness.clone();
    assert!(group.signer_of(&Member { key, witness }).is_err());
    assert!(Group::new(17).signer_of(&group.member).is_err());
}

/// A and W that are wrong by opposite factors: their product is the right base, and each equation
/// alone finds them.
#[test]
fn credential_and_witness_are_checked_each() {
    let group = Group::new(24);
    let t = G1::generator();
    let shifted = |bytes: &[u8], by: G1| (G1::from_bytes(bytes).unwrap() + by).to_bytes();
    let key = group.member.key.to_bytes();
    let key = replaced(key.as_slice(), 0, &shifted(&key[..48], t));
    let key = MemberKey::from_bytes(&key).unwrap();
    let witness = shifted(&group.member.witness.to_bytes(), -t);
    let witness = Witness::from_bytes(&witness).unwrap();
    assert!(group.signer_of(&Member { key, witness }).is_err());
}

#[test]
fn an_opener_key_knows_its_group() {
    let group = Group::new(18);
    assert!(group.opener.opens(&group.public));
    assert!(!group.opener.opens(&Group::new(19).public));
}

/// Each point of each encoding: off the curve, outside the subgroup, at infinity, uncompressed
/// flag.
#[test]
fn bad_points_are_refused_everywhere() {
    let group = Group::new(20);
    let signature = group.sign(b"m").to_bytes();
    let incremental = group.sign_incremental(b"m").to_bytes();
    for at in [0, 48, 96] {
        bad_g1(&signature, at, |b| Signature::from_bytes(b).err());
        bad_g1(&incremental, at, |b| {
            IncrementalSignature::from_bytes(b).err()
        });
    }
    let founding = group.public.founding_bytes();
    let read = |b: &[u8]| PublicKey::founded(&NONCE, b).err();
    bad_g1(&founding, 0, read);
    bad_g1(&founding, 48, read);
    bad_g2(&founding, 96, read);
    let witness = group.member.witness.to_bytes();
    bad_g1(&witness, 0, |b| Witness::from_bytes(b).err());
    bad_g1(group.member.key.to_bytes().as_slice(), 0, |b| {
        MemberKey::from_bytes(b).err()
    });
}

#[test]
fn scalars_that_are_not_reduced_are_refused_everywhere() {
    let order = order();
    let group = Group::new(21);
    let signature = group.sign(b"m").to_bytes();
    for at in (144..SIGNATURE_BYTES).step_by(32) {
        bad_scalar(&signature, at, &order, |b| Signature::from_bytes(b).err());
    }
    let mut wide_challenge = signature;
    wide_challenge[144..176].fill(0);
    wide_challenge[144] = 0x40; // 2^254 is below r, but no digest has that bit
    assert_eq!(
        Signature::from_bytes(&wide_challenge),
        Err(DecodeError::Scalar)
    );
    for bad in [order, [0; 32]] {
        let key = group.member.key.to_bytes();
        bad_scalar(key.as_slice(), 48, &bad, |b| MemberKey::from_bytes(b).err());
    }
    bad_scalar(group.issuer.to_bytes().as_slice(), 0, &order, |b| {
        IssuerKey::from_bytes(b).err()
    });
    for at in [0, 32] {
        let key = group.opener.to_bytes();
        bad_scalar(key.as_slice(), at, &order, |b| {
            OpenerKey::from_bytes(b).err()
        });
        bad_scalar(key.as_slice(), at, &[0; 32], |b| {
            OpenerKey::from_bytes(b).err()
        });
    }
    assert_eq!(
        IssuerKey::from_bytes(&[0; 32]).err(),
        Some(DecodeError::Scalar)
    );
}

#[test]
fn other_lengths_are_refused() {
    let group = Group::new(22);
    let long = [0; 2048];
    for n in [
        0,
        1,
        SIGNATURE_BYTES - 1,
        SIGNATURE_BYTES + 1,
        INCREMENTAL_BYTES,
    ] {
        assert_eq!(Signature::from_bytes(&long[..n]), Err(DecodeError::Length));
    }
    for n in [
        0,
        47,
        768,
        SIGNATURE_BYTES,
        INCREMENTAL_BYTES - 1,
        INCREMENTAL_BYTES + 1,
    ] {
        assert_eq!(
            IncrementalSignature::from_bytes(&long[..n]),
            Err(DecodeError::Length)
        );
    }
    for n in [0, FOUNDING_BYTES - 1, FOUNDING_BYTES + 1] {
        let read = PublicKey::founded(&NONCE, &long[..n]);
        assert_eq!(read, Err(DecodeError::Length));
    }
    for n in [0, 47, 49] {
        let read = Witness::from_bytes(&long[..n]);
        assert_eq!(read, Err(DecodeError::Length));
    }
    assert_eq!(
        MemberKey::from_bytes(&long[..79]).err(),
        Some(DecodeError::Length)
    );
    assert_eq!(
        OpenerKey::from_bytes(&long[..63]).err(),
        Some(DecodeError::Length)
    );
    let founding = group.genesis.founding_bytes();
    assert_eq!(PublicKey::founded(&NONCE, &founding), Ok(group.genesis));
}

#[test]
fn secrets_are_not_printed() {
    let group = Group::new(23);
    let precursor = group.signer().precursor(&mut rng(1));
    let printed = format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        group.issuer,
        group.in_epoch(),
        group.opener,
        group.member.key,
        group.member.witness,
        nonces(),
        group.signer(),
        precursor
    );
    assert_eq!(
        printed,
        "IssuerKey(..) EpochIssuer(..) OpenerKey(..) MemberKey(..) Witness(..) Nonces(..) \
         SigningKey(..) Precursor(..)"
    );
}
